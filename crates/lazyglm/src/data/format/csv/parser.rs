//! Converts CSV records to sparse rows.

use super::records::{Quotes, Record, Records, cell_start, quotes};
use super::{Csv, trimmed};
use crate::data::format::columns::{Column, ColumnKind, fill_in, is_missing, is_silent, number};
use crate::data::format::names::push_part;
use crate::data::format::text::Terms;
use crate::data::format::{Parsed, Parser, latin1_hint};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::number::parse_number;
use memchr::{memchr, memchr_iter};
use std::path::Path;

/// The CSV parser: the column kinds, with reusable buffers.
pub(in crate::data::format) struct CsvParser {
    columns: Vec<Column>,
    has_target: bool,
    records: Records,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    /// Ids of the number columns' names, once known. They are valid for one block.
    ids: Vec<Option<u32>>,
    name: String,
    terms: Terms,
    pairs: Vec<(u32, f64)>,
}

impl CsvParser {
    pub fn new(csv: &Csv) -> CsvParser {
        CsvParser {
            columns: csv.columns.clone(),
            has_target: csv.columns.iter().any(|column| column.kind == ColumnKind::Target),
            records: Records::new(csv.byte()),
            scratch: Scratch::default(),
        }
    }
}

impl Parser for CsvParser {
    fn parse(&mut self, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()> {
        let CsvParser { columns, has_target, records, scratch } = self;
        let Some(last) = block.len().checked_sub(1) else { return Ok(()) };
        into.names.get_or_insert_default(); // features have names, even if all cells here are missing
        into.allow_names(block.len(), &*columns);
        scratch.ids.clear();
        scratch.ids.resize(columns.len(), None);
        records.restart();
        let delimiter = records.delimiter();
        let (mut line, mut seen) = (into.lines.begin(), 0);
        while let Some(record) = records.next(block).filter(|_| !into.names_are_full()) {
            // Count the lines of the previous record and blank lines. A row's line is the first line of its
            // record.
            memchr_iter(b'\n', &block[seen..record.start]).for_each(|_| line = into.lines.begin());
            seen = record.start;
            let spot = Spot { file, line, bytes: &block[record.start..record.end], delimiter };
            if let Err(error) = spot.quotes(record.end == block.len()) {
                let mut wrong = std::mem::take(&mut into.wrong);
                wrong.see(error)?;
                return wrong.result(); // nobody knows where the next record begins
            }
            if !into.begin_row() {
                continue;
            }
            let text = match spot.utf8(&record) {
                Ok(text) if record.cells() == columns.len() => text,
                Ok(_) => {
                    into.wrong.see(spot.count(record.cells(), columns.len()))?;
                    continue;
                }
                Err(error) => {
                    into.wrong.see(error)?;
                    continue;
                }
            };
            if !*has_target {
                into.no_target();
            }
            if let Err(error) = scratch.row(columns, text, record.ends, &spot, into) {
                into.wrong.see(error)?;
            }
        }
        memchr_iter(b'\n', &block[seen..last]).for_each(|_| line = into.lines.begin());
        into.result(file)
    }
}

impl Scratch {
    fn row(
        &mut self,
        columns: &[Column],
        text: &str,
        ends: &[usize],
        spot: &Spot,
        into: &mut Parsed,
    ) -> Result<()> {
        self.pairs.clear();
        let (mut start, mut offset) = (0, 0.0);
        for (k, (column, &end)) in columns.iter().zip(ends).enumerate() {
            let cell = trimmed(text.get(start..end).unwrap_or_default());
            start = end;
            match column.kind {
                ColumnKind::Dropped => {}
                ColumnKind::Target if is_missing(cell) => {
                    into.no_target();
                }
                ColumnKind::Target => {
                    let target = into.labels.push(cell.as_bytes());
                    if let Err(what) = target {
                        into.wrong.see(spot.cell(k, what, "targets are finite numbers or words"))?;
                    }
                }
                ColumnKind::Offset => {
                    let number = parse_number(cell.as_bytes()).filter(|number| number.is_finite());
                    match number {
                        Some(number) => offset = number,
                        None => into.wrong.see(spot.no_offset(k, cell, &column.name))?,
                    }
                }
                ColumnKind::Number => match number(cell).filter(|value| value.is_finite()) {
                    Some(value) => {
                        let id = *self.ids[k].get_or_insert_with(|| into.name(&column.name));
                        self.pairs.push((id, value));
                    }
                    None => self.no_number(k, cell, column, spot, into)?,
                },
                ColumnKind::Date | ColumnKind::Time | ColumnKind::Clock | ColumnKind::Duration => {
                    if !column.push_time(cell, &mut self.name, &mut self.pairs, into) {
                        self.no_number(k, cell, column, spot, into)?;
                    }
                }
                _ if is_missing(cell) => {}
                ColumnKind::Text => column.push_terms(cell, &mut self.terms, &mut self.pairs, into),
                ColumnKind::Category => {
                    self.name.clear();
                    push_part(&mut self.name, &column.name, '=');
                    self.name.push_str(cell);
                    self.pairs.push((into.name(&self.name), 1.0));
                }
            }
        }
        let pushed = into.push_row(&mut self.pairs);
        pushed
            .map_err(|_| spot.byte(0, "the values of a feature sum to infinity", "scale the values down"))?;
        into.shift(offset);
        Ok(())
    }

    /// A cell of a column of numbers or dates that is empty, or holds a word. Words that do not stand for a missing
    /// value are errors.
    fn no_number(
        &mut self,
        k: usize,
        cell: &str,
        column: &Column,
        spot: &Spot,
        into: &mut Parsed,
    ) -> Result<()> {
        match is_silent(cell) {
            true => {}
            false if is_missing(cell) || column.is_placeholder(cell) => {
                into.see_dirty(&column.name, cell, || spot.place(k));
            }
            false => into.wrong.see(spot.no_number(k, cell, column))?, // and on with the row: see `WrongRows`
        }
        fill_in(&column.name, column.missing, &mut self.name, &mut self.pairs, into);
        Ok(())
    }
}

/// A record and its position, for error messages.
pub(super) struct Spot<'a> {
    pub file: &'a Path,
    /// The line on which the record starts.
    pub line: u64,
    pub bytes: &'a [u8],
    pub delimiter: u8,
}

impl Spot<'_> {
    /// An error at a byte of the record, counted from 0.
    #[cold]
    pub fn byte(&self, at: usize, what: impl Into<String>, hint: impl Into<String>) -> Error {
        let (line, column) = self.line_and_column(at);
        Error::data(Place::file(self.file).line(line).column(column), what, hint)
    }

    fn line_and_column(&self, at: usize) -> (u64, u64) {
        let before = &self.bytes[..at.min(self.bytes.len())];
        let lines = memchr_iter(b'\n', before).count() as u64;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
        (self.line + lines, column + 1)
    }

    /// Line and byte of a cell, counted from 1.
    #[cold]
    fn place(&self, k: usize) -> (u64, u64) {
        self.line_and_column(cell_start(self.delimiter, self.bytes, k))
    }

    /// An error at a cell, counted from 0.
    #[cold]
    pub fn cell(&self, k: usize, what: impl Into<String>, hint: impl Into<String>) -> Error {
        self.byte(cell_start(self.delimiter, self.bytes, k), what, hint)
    }

    /// Rejects stray quotes that swallow rows. Only a record of several lines, or the last one of a file, can
    /// have them.
    #[inline]
    pub fn quotes(&self, last: bool) -> Result<()> {
        let several = || memchr(b'\n', self.bytes).is_some_and(|at| at + 1 < self.bytes.len());
        if last || several() {
            return quotes(self.delimiter, self.bytes).map_or(Ok(()), |found| Err(self.swallows(found)));
        }
        Ok(())
    }

    #[cold]
    fn swallows(&self, found: Quotes) -> Error {
        let hint = "close the quote, or take it out; a quote inside a quoted cell is written as \"\"";
        match found {
            Quotes::Open(at) => self.byte(at, "the quote that opens here is not closed", hint),
            Quotes::Stray(at, lines) => {
                let lines = if lines == 1 { "1 line end".to_string() } else { format!("{lines} line ends") };
                let what = format!("the quote that opens here closes after {lines}, and text follows it");
                self.byte(at, what, hint)
            }
        }
    }

    /// The record's cells as text. Invalid UTF-8 and NUL are errors.
    pub fn utf8<'a>(&self, record: &Record<'a>) -> Result<&'a str> {
        let bad = std::str::from_utf8(self.bytes).err().map(|e| e.valid_up_to());
        match bad.or(memchr(0, self.bytes)) {
            None => Ok(std::str::from_utf8(record.text).unwrap_or_default()),
            Some(at) => {
                let what = format!("byte 0x{:02x} is not text", self.bytes.get(at).unwrap_or(&0));
                let latin1 = latin1_hint(self.bytes, at).unwrap_or_default();
                let hint = format!("save the table as UTF-8 (plain, gzip or zstd){latin1}");
                Err(self.byte(at, what, hint))
            }
        }
    }

    #[cold]
    fn count(&self, cells: usize, columns: usize) -> Error {
        let cell = |n: usize| if n == 1 { "1 cell".to_string() } else { format!("{n} cells") };
        let what = format!("the row has {}, the header {}", cell(cells), cell(columns));
        let delimiter = char::from(self.delimiter);
        self.byte(
            0,
            what,
            format!("put double quotes around a cell that has {delimiter:?} or a line end in it"),
        )
    }

    #[cold]
    fn no_offset(&self, k: usize, cell: &str, column: &str) -> Error {
        let what =
            format!("the offset '{}' in column '{}' is not a finite number", excerpt(cell), excerpt(column));
        self.cell(k, what, "give each row a number; 0 changes no score")
    }

    #[cold]
    fn no_number(&self, k: usize, cell: &str, column: &Column) -> Error {
        let (what, hint) = column.no_number(cell);
        self.cell(k, what, hint)
    }
}
