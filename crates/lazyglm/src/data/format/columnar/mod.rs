//! Columnar tables: Parquet files, Arrow files (Feather, version 2) and Arrow streams.
//!
//! ```text
//! a column of numbers or booleans    ↦ column · number             zero ↦ nothing; null: see `Missing`
//! a column of text, or a dictionary  ↦ column=value · 1            null ↦ nothing (categorical: numbers as well)
//! a column of lists of text          ↦ column=item · 1             a repeated item counts twice
//! a column of text that is prose     ↦ column=word · value         see `text/`
//! a column of dates or timestamps    ↦ number and parts            see `columns/dates.rs`
//! a column of times of day           ↦ hours since midnight, column=hour:13 · 1
//! a column of durations              ↦ column · seconds
//! a column of lists of numbers       ↦ column^k · number           k = 0, 1, …
//! a column of lists of structs       ↦ each field as a column of lists: column.field=text · 1, column.field · sum of numbers
//! a struct                           ↦ its fields, as column.field
//! a map from text                    ↦ its entries, as column.key
//! lists of struct<index, value>      ↦ index · value               if it is the only column of features
//!                                    ↦ column^index · value        beside others
//! the target's column                ↦ the row's target            null: a row without a target
//! the offset's column                ↦ the row's offset            null: an error
//! ```
//!
//! A column of integers is one of names if some of the first are beyond 2⁵³.
//!
//! NaN is a missing number; a warning counts such values. Rejected by name: columns of any other type. Rejected with
//! the row, counted from 1: infinity, text that contains NUL, and pairs without an index.
//!
//! A columnar file is not a stream: it is read from its end and by random access, through a separate path in
//! `read_config.rs`. Standard input and pipes are saved to a temporary file first. Some thousand rows are read at a time, and only the columns that are needed.

#[cfg(feature = "parquet")]
mod arrow_file;
#[cfg(feature = "parquet")]
mod arrow_stream;
#[cfg(feature = "parquet")]
mod batches;
#[cfg(feature = "parquet")]
mod cells;
#[cfg(feature = "parquet")]
mod depth;
#[cfg(feature = "parquet")]
mod first_rows;
#[cfg(feature = "parquet")]
mod flat;
#[cfg(feature = "parquet")]
mod json_text;
#[cfg(feature = "parquet")]
mod known;
#[cfg(feature = "parquet")]
mod open;
#[cfg(feature = "parquet")]
mod page_checks;
#[cfg(feature = "parquet")]
mod page_header;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod thrift;
#[cfg(feature = "parquet")]
mod types;
#[cfg(feature = "parquet")]
mod unpack;
#[cfg(feature = "parquet")]
mod values;

#[cfg(feature = "parquet")]
pub(super) use batches::for_each_batch;
#[cfg(feature = "parquet")]
pub(super) use cells::{Cells, names};
#[cfg(feature = "parquet")]
pub(super) use open::open;

use super::{Column, ColumnKind, Fill, Parsed, Parser, Text};
use crate::util::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A column of features and its kind. The model keeps it, so that `predict` reads the column in the same way.
///
/// ```
/// use lazyglm::data::format::{ParquetColumn, Holds, FormatSpec};
/// let columns = vec![ParquetColumn::new("age", Holds::Numbers)];
/// let text = serde_json::to_string(&FormatSpec::Parquet { target: "y".into(), offset: None, columns, classes: false, dropped: vec![] }).unwrap();
/// assert_eq!(text, r#"{"format":"parquet","target":"y","columns":[{"name":"age","holds":"numbers"}]}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParquetColumn {
    /// Name of the column.
    pub name: String,
    /// Kind of the column's values.
    pub holds: Holds,
    /// What stands for a missing number. `None` for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Fill>,
    /// Words that stand for a missing number, beside the usual ones, where the model learnt from text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placeholders: Vec<String>,
    /// How text becomes features, in a column of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
}

impl ParquetColumn {
    /// A column whose missing values give no feature.
    ///
    /// ```
    /// use lazyglm::data::format::{Holds, ParquetColumn};
    /// assert_eq!(ParquetColumn::new("age", Holds::Numbers).missing, None);
    /// ```
    pub fn new(name: impl Into<String>, holds: Holds) -> ParquetColumn {
        ParquetColumn { name: name.into(), holds, missing: None, placeholders: Vec::new(), text: None }
    }

    /// The column as one of cells, for data in other formats. Lists have none.
    pub(super) fn as_cells(&self) -> Option<Column> {
        let kind = match self.holds {
            Holds::Numbers => ColumnKind::Number,
            Holds::Names => ColumnKind::Category,
            Holds::Texts => ColumnKind::Text,
            Holds::Dates => ColumnKind::Date,
            Holds::Times => ColumnKind::Time,
            Holds::Clocks => ColumnKind::Clock,
            Holds::Durations => ColumnKind::Duration,
            Holds::Lists | Holds::Sums | Holds::Pairs | Holds::Indices | Holds::Vectors | Holds::Maps => {
                return None;
            }
        };
        let (name, placeholders, text) = (self.name.clone(), self.placeholders.clone(), self.text.clone());
        Some(Column { name, kind, missing: self.missing, placeholders, text })
    }
}

/// Kind of the values in a feature column.
///
/// ```
/// use lazyglm::data::format::Holds;
/// assert_eq!(serde_json::to_string(&Holds::Names).unwrap(), r#""names""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holds {
    /// Numbers: one feature, `column`.
    Numbers,
    /// Text, or numbers that are names: one feature per distinct value, `column=value`.
    Names,
    /// Lists of text: one feature per distinct item, `column=item`.
    Lists,
    /// Text: one feature per word and pair of words, `column=word`.
    Texts,
    /// Dates: the number of years since 2000, and a feature each for year, month and weekday.
    Dates,
    /// Dates with a time: the hour in UTC as well.
    Times,
    /// Times of day: the number of hours since midnight, and a feature for the hour.
    Clocks,
    /// Durations: the number of seconds.
    Durations,
    /// Numbers in lists of structs: their sum.
    Sums,
    /// Lists of numbers: one feature per coordinate, `column^3`.
    Vectors,
    /// Maps from text to numbers or text: as one column `column.key` per key.
    Maps,
    /// Lists of (index, value) pairs beside other columns: features `column^index`.
    Pairs,
    /// Lists of (index, value) pairs as the only column: features are the indices.
    Indices,
}

/// Whether the first bytes are those of a Parquet or an Arrow file.
pub(super) fn looks_like(first: &[u8]) -> bool {
    first.starts_with(PARQUET) || first.starts_with(ARROW) || first.starts_with(STREAM)
}

/// Name of the column in which pandas keeps its index.
pub(super) const PANDAS_INDEX: &str = "__index_level_0__";

const PARQUET: &[u8] = b"PAR1";
const ARROW: &[u8] = b"ARROW1";
/// The mark before each message of an Arrow stream.
const STREAM: &[u8] = &[0xff; 4];

/// Placeholder parser, because columnar files are not read as a stream of bytes.
pub(super) struct NoStream;

impl Parser for NoStream {
    fn parse(&mut self, _: &[u8], _: &Path, _: &mut Parsed) -> Result<()> {
        Err(Error::call("Parquet cannot be read block by block", "open the file by its name"))
    }
}

#[cfg(not(feature = "parquet"))]
pub(super) fn open(opening: &super::Opening) -> Result<super::FormatSpec> {
    Err(built_without(opening.file))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn for_each_batch(
    file: &Path,
    _: [Option<&String>; 2],
    _: &[ParquetColumn],
    _: Vec<bool>,
    _: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    Err(built_without(file))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn names(file: &Path) -> Result<Vec<String>> {
    Err(built_without(file))
}

/// Placeholder for the cells of a columnar file.
#[cfg(not(feature = "parquet"))]
pub(crate) struct Cells;

#[cfg(not(feature = "parquet"))]
impl Cells {
    pub fn open(file: &Path, _: Vec<usize>) -> Result<Cells> {
        Err(built_without(file))
    }

    pub fn next(&mut self, _: usize, file: &Path) -> Result<Vec<String>> {
        Err(built_without(file))
    }
}

#[cfg(not(feature = "parquet"))]
fn built_without(file: &Path) -> Error {
    let what = "this lazyglm was built without Parquet";
    let hint = "build it with the feature `parquet` of its crate, or convert the file";
    Error::data(crate::util::error::Place::file(file), what, hint)
}
