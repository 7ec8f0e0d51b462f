//! Tables: a header, then a row a record; CSV and TSV.
//!
//! ```text
//! table   = [mark] header record*           mark: U+FEFF, which some editors put first
//! record  = cell (delimiter cell)* end      delimiter: comma, tab or semicolon; end: LF, CRLF, CR or the end of file
//! cell    = bare | '"' quoted '"'           quoted: delimiters and line ends are text, "" is one quote
//! ```
//!
//! Tolerated: blank lines, spaces around a cell, a missing last line end. A cell that is empty or says NA, NaN, nan, null,
//! NULL or `?` is missing: it gives no feature, and as a target none. A cell of a number column is the feature `column`
//! with its value; one of a category column is the feature `column=value` with value 1.
//! Refused, with the place: names that are empty or given twice, rows with another number of cells than the header,
//! cells of a number column that are no finite number, bytes that are no text, a quote that is not closed, and text behind
//! the quote that closes a cell of several lines: there, a stray quote has swallowed rows.

mod open;
mod parser;
mod records;

pub(super) use open::{open, unfinished};
pub(super) use parser::CsvParser;

use crate::util::number::parse_number;
use records::{Records, cut};
use serde::{Deserialize, Serialize};

/// How to read a table: its delimiter and what each of its columns is for, in the order of the file.
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
    /// What stands between two cells.
    pub delimiter: char,
    /// The columns.
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
    /// As the header has it, without spaces around it.
    pub name: String,
    /// What its cells are.
    pub kind: ColumnKind,
}

/// What the cells of a column are.
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
    /// Names: a feature for each value.
    Category,
    /// Nothing to learn from.
    Dropped,
}

impl Csv {
    /// A recipe is plain data that anyone can write; a delimiter that is no byte counts as a comma.
    fn byte(&self) -> u8 {
        u8::try_from(self.delimiter).unwrap_or(b',')
    }

    /// How many bytes the header takes, its line end and what stands before it included.
    pub(super) fn header(&self, first: &[u8]) -> usize {
        let mark = first.len() - unmarked(first).len();
        let header = Records::new(self.byte()).next(unmarked(first)).map_or(0, |record| record.end);
        let end = mark + header;
        let half = end > 0 && first[..end].ends_with(b"\r") && first.get(end) == Some(&b'\n');
        end + usize::from(half)
    }

    /// How many bytes are whole records. A lone CR ends a record but no block: LF may follow it.
    pub(super) fn whole(&self, bytes: &[u8]) -> usize {
        cut(self.byte(), bytes).whole
    }
}

/// Whether the first line has a delimiter and the first records agree on the number of their cells.
pub(super) fn looks_like(first: &[u8]) -> bool {
    let bytes = unmarked(first);
    let delimiter = delimiter_of(bytes);
    let bytes = &bytes[..finished(delimiter, bytes)];
    let mut records = Records::new(delimiter);
    let cells = records.next(bytes).map_or(0, |header| header.cells());
    let agrees = |_| records.next(bytes).is_none_or(|record| record.cells() == cells);
    cells > 1 && std::str::from_utf8(bytes).is_ok() && (0..50).all(agrees)
}

/// Whichever of comma, tab and semicolon the first line has most of, outside quotes; a comma if it has none.
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
    let most = counts.iter().rev().max_by_key(|(_, count)| *count); // of equals, the one listed first
    most.map_or(b',', |(delimiter, _)| *delimiter)
}

/// Where the last record ends that can be judged: lines are whole when a file is opened, but a record of several lines
/// need not be.
fn finished(delimiter: u8, bytes: &[u8]) -> usize {
    let cut = cut(delimiter, bytes);
    if cut.inside.is_some() { cut.whole } else { bytes.len() }
}

/// Without the mark that some editors put first.
fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Spaces around a cell are no part of it: people write `1, 2, 3`.
fn trimmed(cell: &str) -> &str {
    cell.trim_matches([' ', '\t'])
}

/// Whether a cell, trimmed, says that there is nothing.
fn is_missing(cell: &str) -> bool {
    matches!(cell, "" | "NA" | "NaN" | "nan" | "null" | "NULL" | "?")
}

/// Whether a cell, trimmed, can stand in a number column. Infinity can: it is refused when the row is read, which is
/// better than taking all numbers of the column for names.
fn may_be_number(cell: &str) -> bool {
    is_missing(cell) || parse_number(cell.as_bytes()).is_some()
}
