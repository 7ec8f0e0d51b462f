//! Converts columnar batches to sparse rows.

mod moments;

use super::values::{Numbers, Ranges, Wholes, Words, lists, numbers, only_field, seconds, wholes, words};
use super::{Holds, ParquetColumn, types};
use crate::data::format::columns::{Column, NAN, fill_in};
use crate::data::format::names::push_part;
use crate::data::format::text::Terms;
use crate::data::format::{FoundIndex, Parsed};
use crate::util::error::{Error, Place, Result, excerpt};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::fmt::Write;
use std::path::Path;

/// A column of a batch, prepared for reading row by row.
struct View<'a> {
    name: &'a str,
    id: Option<u32>, // id of the column's own name, once it is needed
    values: Values<'a>,
}

enum Values<'a> {
    Numbers {
        array: &'a dyn Array,
        numbers: Numbers<'a>,
        column: &'a ParquetColumn,
    },
    /// Text that a model knows as numbers.
    WrittenNumbers {
        words: Words<'a>,
        column: Column,
    },
    Words {
        words: Words<'a>,
        decimal: bool,
    },
    Texts {
        words: Words<'a>,
        column: Column,
    },
    Lists(Ranges<'a>, Words<'a>),
    /// Seconds: since 1970-01-01, since midnight, or of a duration.
    Dates {
        array: &'a dyn Array,
        seconds: Numbers<'a>,
        column: &'a ParquetColumn,
    },
    Vectors {
        ranges: Ranges<'a>,
        items: &'a dyn Array,
        values: Numbers<'a>,
        summed: bool,
    },
    Maps {
        ranges: Ranges<'a>,
        keys: Words<'a>,
        values: MapValues<'a>,
    },
    Pairs {
        ranges: Ranges<'a>,
        items: &'a dyn Array,
        index: Wholes<'a>,
        values: Numbers<'a>,
        named: bool,
    },
}

/// The values of a map.
enum MapValues<'a> {
    Numbers(Numbers<'a>),
    Words(Words<'a>),
}

/// Positions of the columns in a batch.
#[derive(Default)]
pub(super) struct Places<'a> {
    pub target: Option<usize>,
    pub offset: Option<usize>,
    pub columns: Vec<(usize, &'a ParquetColumn)>,
}

/// Appends the rows of a batch. A column of an unsupported type has no values, because opening the file
/// rejects it.
pub(super) fn append(
    (batch, rows): (&[ArrayRef], usize),
    places: &Places,
    file: &Path,
    into: &mut Parsed,
) -> Result<()> {
    let target = places.target.and_then(|place| targets(batch[place].as_ref()));
    let offset = places.offset.map(|place| batch[place].as_ref());
    let offset = offset.and_then(|array| Some((array, numbers(array)?)));
    let views = places.columns.iter().filter_map(|&(place, column)| view(batch[place].as_ref(), column));
    let mut views: Vec<View> = views.collect();
    let mut reader =
        Reader { file, line: 0, name: String::new(), terms: Terms::default(), pairs: Vec::new() };
    for row in 0..rows {
        if into.names_are_full() {
            break;
        }
        reader.line = into.lines.begin();
        if !into.begin_row() {
            continue;
        }
        match target.as_ref().and_then(|target| target(row)) {
            None => into.no_target(),
            Some(word) => reader.target(&word, into).or_else(|error| into.wrong.see(error))?,
        }
        reader.pairs.clear();
        for view in &mut views {
            // And on with the row: other columns may have wrong values as well.
            reader.features(view, row, into).or_else(|error| into.wrong.see(error))?;
        }
        if into.push_row(&mut reader.pairs).is_err() {
            let what = "the values of a feature sum to infinity";
            into.wrong.see(reader.wrong(what, "scale the values down"))?;
        }
        if let Some((array, numbers)) = &offset {
            match reader.offset(array.is_valid(row).then(|| numbers(row))) {
                Ok(offset) if into.wrong.is_empty() => into.shift(offset),
                Ok(_) => {}
                Err(error) => into.wrong.see(error)?,
            }
        }
    }
    into.result(file)
}

fn view<'a>(array: &'a dyn Array, column: &'a ParquetColumn) -> Option<View<'a>> {
    let values = match column.holds {
        Holds::Numbers => match numbers(array) {
            Some(numbers) => Values::Numbers { array, numbers, column },
            None => Values::WrittenNumbers { words: words(array)?, column: column.as_cells()? },
        },
        Holds::Dates | Holds::Times | Holds::Clocks | Holds::Durations => match seconds(array) {
            Some(seconds) => Values::Dates { array, seconds, column },
            None => match numbers(array).filter(|_| column.holds == Holds::Durations) {
                Some(seconds) => Values::Dates { array, seconds, column },
                None => Values::WrittenNumbers { words: words(array)?, column: column.as_cells()? },
            },
        },
        Holds::Vectors | Holds::Sums => {
            let (ranges, items) = lists(array)?;
            let items = only_field(items);
            let (values, summed) = (numbers(items)?, column.holds == Holds::Sums);
            Values::Vectors { ranges, items, values, summed }
        }
        Holds::Maps => {
            let (ranges, entries) = lists(array)?;
            let entries = entries.as_struct_opt().filter(|entries| entries.num_columns() == 2)?;
            let (keys, values) = (words(entries.column(0).as_ref())?, entries.column(1).as_ref());
            let values = match numbers(values) {
                Some(numbers) => MapValues::Numbers(numbers),
                None => MapValues::Words(words(values)?),
            };
            Values::Maps { ranges, keys, values }
        }
        Holds::Texts => Values::Texts { words: words(array)?, column: column.as_cells()? },
        Holds::Names => Values::Words { words: words(array)?, decimal: types::is_decimal(array.data_type()) },
        Holds::Lists => {
            let (ranges, items) = lists(array)?;
            Values::Lists(ranges, words(only_field(items))?)
        }
        Holds::Pairs | Holds::Indices => {
            let (ranges, items) = lists(array)?;
            let (index, value) = types::pair(items.data_type())?;
            let fields = items.as_struct_opt()?;
            let (index, values) =
                (wholes(fields.column(index).as_ref())?, numbers(fields.column(value).as_ref())?);
            Values::Pairs { ranges, items, index, values, named: column.holds == Holds::Pairs }
        }
    };
    Some(View { name: &column.name, id: None, values })
}

/// The targets as words. 32-bit floats are converted to f64 first, so that 0.1 has its f64 value.
fn targets<'a>(array: &'a dyn Array) -> Option<Words<'a>> {
    match array.data_type() {
        DataType::Float16 | DataType::Float32 => {
            let numbers = numbers(array)?;
            Some(Box::new(move |row| array.is_valid(row).then(|| numbers(row).to_string().into())))
        }
        _ => words(array),
    }
}

/// A position in the file, with reusable buffers.
struct Reader<'a> {
    file: &'a Path,
    line: u64,
    name: String,
    terms: Terms,
    pairs: Vec<(u32, f64)>,
}

impl Reader<'_> {
    #[cold]
    fn wrong(&self, what: impl Into<String>, hint: &str) -> Error {
        Error::data(Place::file(self.file).line(self.line), what, hint)
    }

    fn target(&self, word: &str, into: &mut Parsed) -> Result<()> {
        let pushed = match word {
            "" => Err("the target is empty".to_string()),
            word => into.labels.push(word.as_bytes()),
        };
        pushed.map_err(|what| self.wrong(what, "targets are finite numbers, words, true or false"))
    }

    fn offset(&self, offset: Option<f64>) -> Result<f64> {
        offset.filter(|offset| offset.is_finite()).ok_or_else(|| {
            let what =
                offset.map_or("the row has no offset".into(), |x| format!("the offset {x} is not finite"));
            self.wrong(what, "give each row a number; 0 changes no score")
        })
    }

    /// Appends the features of one column in one row.
    fn features(&mut self, view: &mut View, row: usize, into: &mut Parsed) -> Result<()> {
        let View { name, id, values } = view;
        match values {
            Values::Numbers { array, column, .. } | Values::Dates { array, column, .. }
                if array.is_null(row) =>
            {
                fill_in(name, column.missing, &mut self.name, &mut self.pairs, into);
            }
            Values::Numbers { numbers, column, .. } => {
                let Some(x) = self.value(name, numbers(row), into)? else {
                    fill_in(name, column.missing, &mut self.name, &mut self.pairs, into);
                    return Ok(());
                };
                if x != 0.0 {
                    let id = *id.get_or_insert_with(|| into.name(name)); // zeros are dropped and need no name
                    self.pairs.push((id, x));
                }
            }
            Values::WrittenNumbers { words, column } => self.written(column, words(row), into)?,
            Values::Words { words, decimal } => {
                let Some(word) = words(row) else { return Ok(()) };
                let x: f64 = if *decimal { word.parse().unwrap_or(0.0) } else { 0.0 };
                if !x.is_nan() {
                    self.finite(name, x)?;
                    self.word(name, &word, into)?;
                }
            }
            Values::Dates { seconds, column, .. } => {
                self.time(column, seconds(row), into)?;
            }
            Values::Vectors { ranges, items, values, summed } => {
                for (k, item) in ranges(row).enumerate().filter(|&(_, item)| items.is_valid(item)) {
                    let Some(x) = self.value(name, values(item), into)? else { continue };
                    match summed {
                        true if x != 0.0 => self.pairs.push((into.name(name), x)), // a row sums equal features
                        true => {}
                        false => self.pair(name, k as i128, x, into),
                    }
                }
            }
            Values::Maps { ranges, keys, values } => {
                for item in ranges(row) {
                    let Some(key) = keys(item) else { continue };
                    let name = format!("{name}.{key}");
                    match values {
                        MapValues::Numbers(numbers) => {
                            let x = self.value(&name, numbers(item), into)?;
                            if let Some(x) = x.filter(|x| *x != 0.0) {
                                self.pairs.push((into.name(&name), x));
                            }
                        }
                        MapValues::Words(words) => {
                            if let Some(word) = words(item) {
                                self.word(&name, &word, into)?;
                            }
                        }
                    }
                }
            }
            Values::Texts { words, column } => {
                let Some(text) = words(row) else { return Ok(()) };
                self.check_text(&column.name, &text)?;
                column.push_terms(&text, &mut self.terms, &mut self.pairs, into);
            }
            Values::Lists(ranges, words) => {
                for word in ranges(row).filter_map(words) {
                    self.word(name, &word, into)?;
                }
            }
            Values::Pairs { ranges, items, index, values, named } => {
                for (k, item) in ranges(row).enumerate().filter(|&(_, item)| items.is_valid(item)) {
                    let Some(x) = self.value(name, values(item), into)? else { continue };
                    let index = index(item).ok_or_else(|| {
                        let what = format!("pair {} of '{}' has no index", k + 1, excerpt(name.as_bytes()));
                        self.wrong(what, "give it one, or take the pair out")
                    })?;
                    match named {
                        true => self.pair(name, index, x, into),
                        false => self.index(index, x, k, into)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// A number of a column, or `None` for NaN, which is a missing number.
    #[inline]
    fn value(&self, name: &str, x: f64, into: &mut Parsed) -> Result<Option<f64>> {
        self.check_room(into)?;
        if x.is_nan() {
            into.see_dirty(name, NAN, || (self.line, 0));
            return Ok(None);
        }
        self.finite(name, x).map(Some)
    }

    /// Ends a row of a million items, say, whose names take too much room.
    #[inline]
    fn check_room(&self, into: &mut Parsed) -> Result<()> {
        if into.names_are_full() { Err(into.refuse_names(self.file)) } else { Ok(()) }
    }

    #[inline]
    fn finite(&self, name: &str, x: f64) -> Result<f64> {
        if x.is_finite() {
            return Ok(x);
        }
        let what = format!("the value {x} in '{}' is not finite", excerpt(name.as_bytes()));
        Err(self.wrong(what, "write null for a value that is not known"))
    }

    fn check_text(&self, column: &str, text: &str) -> Result<()> {
        match text.as_bytes().contains(&0) {
            false => Ok(()),
            true => {
                let what = format!("the text in '{}' has a NUL character in it", excerpt(column.as_bytes()));
                Err(self.wrong(what, "take it out"))
            }
        }
    }

    fn word(&mut self, column: &str, word: &str, into: &mut Parsed) -> Result<()> {
        self.check_text(column, word)?;
        self.check_room(into)?;
        self.name.clear();
        push_part(&mut self.name, column, '=');
        self.name.push_str(word);
        self.pairs.push((into.name(&self.name), 1.0));
        Ok(())
    }

    fn pair(&mut self, column: &str, index: i128, x: f64, into: &mut Parsed) {
        if x != 0.0 {
            self.name.clear();
            push_part(&mut self.name, column, '^');
            let _ = write!(self.name, "{index}"); // writing to a String cannot fail
            self.pairs.push((into.name(&self.name), x));
        }
    }

    /// Appends a feature that is given by its index. `k` is its position in the list.
    fn index(&mut self, index: i128, x: f64, k: usize, into: &mut Parsed) -> Result<()> {
        let id = u32::try_from(index).map_err(|_| match index {
            ..0 => self.wrong(format!("index {index} is negative"), "indices start at 0 or 1"),
            _ => {
                let what = format!("index {index} is above 4294967295, the largest there is");
                self.wrong(what, "renumber or hash the features into 32 bits")
            }
        })?;
        into.see(FoundIndex { index: id, line: self.line, column: k as u64 + 1 });
        self.pairs.push((id, x));
        Ok(())
    }
}
