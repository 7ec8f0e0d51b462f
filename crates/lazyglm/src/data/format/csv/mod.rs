//! Tables with a header and one row per record: CSV and TSV.
//!
//! ```text
//! table   = [mark] header record*           mark: U+FEFF, which some editors put first
//! record  = cell (delimiter cell)* end      delimiter: comma, tab or semicolon; end: LF, CRLF, CR or the end of file
//! cell    = bare | '"' quoted '"'           quoted: delimiters and line ends are text, "" is one quote
//! ```
//!
//! Accepted: blank lines, spaces around a cell, a missing last line end. A cell is missing if it is empty,
//! NA, NaN, nan, null, NULL or `?`. A missing cell gives no feature, or no target. A missing offset is an error. A cell of a number column
//! is the feature `column` with its value. A cell of a category column is the feature `column=value` with
//! value 1.
//!
//! Rejected, with the place: empty or duplicate column names, rows with another number of cells than the
//! header, cells of a number column that are not finite numbers, invalid UTF-8, and unclosed quotes. Text
//! after the closing quote of a cell of several lines is also rejected, because a stray quote has swallowed
//! rows there.

mod open;
mod parser;
mod records;

pub(super) use open::{open, unfinished};
pub(super) use parser::CsvParser;

use crate::util::number::parse_number;
use records::{Records, cut};
use serde::{Deserialize, Serialize};

/// How to read a table: its delimiter and the kinds of its columns, in file order.
///
/// ```
/// use lazyglm::data::format::{ReadOptions, ColumnKind, Opening, FormatSpec, open};
/// let (first, asked) = (b"age,city,label\n31,Oslo,yes\n", ReadOptions::default());
/// let opening = Opening { first, file: "people.csv".as_ref(), asked: &asked, known: None };
/// let FormatSpec::Csv(csv) = open(&opening).unwrap() else { panic!("a table") };
/// assert_eq!((csv.delimiter, csv.columns[1].kind), (',', ColumnKind::Category));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Csv {
    /// The character between two cells.
    pub delimiter: char,
    /// The columns in file order.
    pub columns: Vec<Column>,
}

/// A column of a table.
///
/// ```
/// use lazyglm::data::format::{Column, ColumnKind};
/// let column = Column { name: "age".into(), kind: ColumnKind::Number };
/// assert_eq!(serde_json::to_string(&column).unwrap(), r#"{"name":"age","kind":"number"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name in the header, without surrounding spaces.
    pub name: String,
    /// Kind of the cells.
    pub kind: ColumnKind,
}

/// Kind of the cells of a column.
///
/// ```
/// use lazyglm::data::format::{Column, ColumnKind, Csv, Parsed, FormatSpec};
/// let kinds = [("y", ColumnKind::Target), ("age", ColumnKind::Number), ("city", ColumnKind::Category)];
/// let columns = kinds.map(|(name, kind)| Column { name: name.into(), kind }).into();
/// let mut parsed = Parsed::default();
/// let recipe = FormatSpec::Csv(Csv { delimiter: ',', columns });
/// recipe.parser().parse(b"1,31,Oslo\n", "people.csv".as_ref(), &mut parsed).unwrap();
/// assert_eq!(parsed.names.unwrap().iter().collect::<Vec<_>>(), ["age", "city=Oslo"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// The targets.
    Target,
    /// Numbers: one feature.
    Number,
    /// Names: one feature per distinct value.
    Category,
    /// Offsets of the rows, which are added to their scores.
    Offset,
    /// Ignored.
    Dropped,
}

impl Csv {
    /// The delimiter as a byte. A delimiter that is not a single byte counts as a comma, because callers can
    /// set any `char`.
    fn byte(&self) -> u8 {
        u8::try_from(self.delimiter).unwrap_or(b',')
    }

    /// Number of bytes in the header, including its line end and everything before it.
    pub(super) fn header(&self, first: &[u8]) -> usize {
        let mark = first.len() - without_mark(first).len();
        let header = Records::new(self.byte()).next(without_mark(first)).map_or(0, |record| record.end);
        let end = mark + header;
        let half = end > 0 && first[..end].ends_with(b"\r") && first.get(end) == Some(&b'\n');
        end + usize::from(half)
    }

    /// Number of bytes that form whole records. A lone CR ends a record but not a block, because LF may
    /// follow.
    pub(super) fn whole(&self, bytes: &[u8]) -> usize {
        cut(self.byte(), bytes).whole
    }
}

/// Whether the first line has a delimiter and the first records have equal numbers of cells.
pub(super) fn looks_like(first: &[u8]) -> bool {
    let bytes = without_mark(first);
    let delimiter = delimiter_of(bytes);
    let bytes = &bytes[..last_record_end(delimiter, bytes)];
    let mut records = Records::new(delimiter);
    let cells = records.next(bytes).map_or(0, |header| header.cells());
    let agrees = |_| records.next(bytes).is_none_or(|record| record.cells() == cells);
    cells > 1 && std::str::from_utf8(bytes).is_ok() && (0..50).all(agrees)
}

/// The most frequent of comma, tab and semicolon outside quotes in the first line, or a comma if none occurs.
fn delimiter_of(bytes: &[u8]) -> u8 {
    let (mut counts, mut quoted) = ([(b',', 0), (b'\t', 0), (b';', 0)], false);
    for &byte in bytes.iter().skip_while(|byte| matches!(byte, b'\r' | b'\n')) {
        match byte {
            b'"' => quoted = !quoted,
            b'\r' | b'\n' if !quoted => break,
            _ if quoted => {}
            _ => counts.iter_mut().filter(|(delimiter, _)| *delimiter == byte).for_each(|(_, n)| *n += 1),
        }
    }
    let most = counts.iter().rev().max_by_key(|(_, count)| *count); // among equals, the one listed first
    most.map_or(b',', |(delimiter, _)| *delimiter)
}

/// End of the last complete record. When a file is opened, lines are complete, but a record of several lines
/// may not be.
fn last_record_end(delimiter: u8, bytes: &[u8]) -> usize {
    let cut = cut(delimiter, bytes);
    if cut.inside.is_some() { cut.whole } else { bytes.len() }
}

/// The bytes without a byte order mark.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// The cell without surrounding spaces, because people write `1, 2, 3`.
fn trimmed(cell: &str) -> &str {
    cell.trim_matches([' ', '\t'])
}

/// Whether a trimmed cell means a missing value.
fn is_missing(cell: &str) -> bool {
    matches!(cell, "" | "NA" | "NaN" | "nan" | "null" | "NULL" | "?")
}

/// Whether a trimmed cell fits a number column.
///
/// Infinity fits: it is rejected when the row is read. Otherwise all numbers of the column would be taken for
/// names.
fn may_be_number(cell: &str) -> bool {
    is_missing(cell) || parse_number(cell.as_bytes()).is_some()
}
