//! Tables kept column by column: Parquet files, and Arrow files (Feather, version 2).
//!
//! ```text
//! a column of numbers or truth       ↦ column · number             null and zero ↦ nothing
//! a column of text, or a dictionary  ↦ column=value · 1            null ↦ nothing (categorical: numbers as well)
//! a column of lists of text          ↦ column=item · 1             an item said twice counts twice
//! lists of struct<index, value>      ↦ index · value               if it is the only column of features
//!                                    ↦ column^index · value        beside others
//! the target's column                ↦ the row's target            null: a row without a target
//! ```
//!
//! Refused by name: columns of any other type. Refused with the row, counted from 1: NaN and infinity, text with a NUL in
//! it, pairs without an index.
//!
//! Such a file is read from its end, and from many places: it is no stream, so it has its own door in `input.rs`. It is
//! read some thousand rows at a time, only in the columns that are needed.

#[cfg(feature = "parquet")]
mod arrow_file;
#[cfg(feature = "parquet")]
mod batches;
#[cfg(feature = "parquet")]
mod depth;
#[cfg(feature = "parquet")]
mod open;
#[cfg(feature = "parquet")]
mod page_checks;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod types;
#[cfg(feature = "parquet")]
mod values;

#[cfg(feature = "parquet")]
pub(super) use batches::for_each_batch;
#[cfg(feature = "parquet")]
pub(super) use open::open;

use super::{Parsed, Parser};
use crate::util::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A column of features and what was found in it: kept in the model, so that `predict` reads it in the same way.
///
/// ```
/// use lazyglm::data::format::{ParquetColumn, Holds, FormatSpec};
/// let columns = vec![ParquetColumn { name: "age".into(), holds: Holds::Numbers }];
/// let text = serde_json::to_string(&FormatSpec::Parquet { target: "y".into(), columns }).unwrap();
/// assert_eq!(text, r#"{"format":"parquet","target":"y","columns":[{"name":"age","holds":"numbers"}]}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParquetColumn {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub holds: Holds,
}

/// What a column of features holds.
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
    /// Text, or numbers that are names: a feature each, `column=value`.
    Names,
    /// Lists of text: a feature for each item, `column=item`.
    Lists,
    /// Lists of index and value beside other columns: `column^index`.
    Pairs,
    /// Lists of index and value and nothing else: features are the indices.
    Indices,
}

/// Whether a file begins like a Parquet or an Arrow file.
pub(super) fn looks_like(first: &[u8]) -> bool {
    first.starts_with(PARQUET) || first.starts_with(ARROW)
}

const PARQUET: &[u8] = b"PAR1";
const ARROW: &[u8] = b"ARROW1";

/// Stands where a parser is due: a table is no stream of bytes.
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
    _: &str,
    _: &[ParquetColumn],
    _: Vec<bool>,
    _: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    Err(built_without(file))
}

#[cfg(not(feature = "parquet"))]
fn built_without(file: &Path) -> Error {
    let what = "this lazyglm was built without Parquet";
    let hint = "build it with the feature `parquet` of its crate, or convert the file";
    Error::data(crate::util::error::Place::file(file), what, hint)
}
