//! Dates, times and durations of columnar files, and text that a model knows as numbers or times.

use super::Reader;
use crate::data::format::Parsed;
use crate::data::format::columnar::{Holds, ParquetColumn};
use crate::data::format::columns::{
    Column, ColumnKind, When, fill_in, is_clock, is_missing, is_silent, number, push_clock,
};
use crate::util::error::{Result, excerpt};
use std::borrow::Cow;

impl Reader<'_> {
    /// Appends the features of a text that a model knows as a number or a date.
    pub(super) fn written(
        &mut self,
        column: &Column,
        text: Option<Cow<str>>,
        into: &mut Parsed,
    ) -> Result<()> {
        let cell = text.as_deref().unwrap_or_default().trim_matches([' ', '\t']);
        let is_number = column.kind == ColumnKind::Number;
        let is_time = column.push_time(cell, &mut self.name, &mut self.pairs, into);
        match number(cell).filter(|x| is_number && x.is_finite()) {
            Some(x) => self.pairs.push((into.name(&column.name), x)),
            None if is_time => {}
            None if is_missing(cell) || column.is_placeholder(cell) => {
                if !is_silent(cell) {
                    into.see_dirty(&column.name, cell, || (self.line, 0));
                }
                fill_in(&column.name, column.missing, &mut self.name, &mut self.pairs, into);
            }
            None => {
                let (what, _) = column.no_number(cell);
                return Err(self.wrong(what, "mend the value, or write null for a value that is not known"));
            }
        }
        Ok(())
    }

    /// Appends the features of a date, a time of day or a duration, in seconds.
    pub(super) fn time(&mut self, column: &ParquetColumn, seconds: f64, into: &mut Parsed) -> Result<()> {
        let (name, holds) = (column.name.as_str(), column.holds);
        let out_of_range = |what: &str, reader: &Self| {
            let what = format!("the {what} in '{}' is out of range", excerpt(name.as_bytes()));
            Err(reader.wrong(what, "write null for a value that is not known"))
        };
        match holds {
            Holds::Durations if seconds.is_finite() => self.pairs.push((into.name(name), seconds)),
            Holds::Durations => return out_of_range("duration", self),
            Holds::Clocks if is_clock(seconds) => {
                push_clock(seconds, name, &mut self.name, &mut self.pairs, into);
            }
            Holds::Clocks => return out_of_range("time of day", self),
            _ => match When::after_1970(seconds) {
                Some(when) => when.push(name, holds == Holds::Times, &mut self.name, &mut self.pairs, into),
                None => return out_of_range("date", self),
            },
        }
        Ok(())
    }
}
