//! Tables with a header and one row per record: CSV and TSV.
//!
//! ```text
//! table   = [mark] header record*           mark: U+FEFF, which some editors put first
//! record  = cell (delimiter cell)* end      delimiter: comma, tab, semicolon or bar; end: LF, CRLF, CR or the end of file
//! cell    = bare | '"' quoted '"'           quoted: delimiters and line ends are text, "" is one quote
//! ```
//!
//! Accepted: blank lines, spaces around a cell, a missing last line end. A cell is missing if it is empty,
//! NA, NaN, nan, null, NULL or `?`. A missing category gives no feature, and a missing target no target. A missing
//! offset is an error. A cell of a number column is the feature `column` with its value; true is 1 and false is 0.
//! A missing number, or a word that stands for one (`-`, `unknown`), becomes what [`Missing`](super::Missing) says. A
//! cell of a category column is the feature `column=value` with value 1.
//!
//! A column is one of numbers if all its first cells are, but for a few words that stand for missing numbers. Digits
//! with leading zeros (00501) and integers beyond 2⁵³ are names.
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

use super::Column;
use crate::util::error::Result;
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

    /// Calls `see` with the cells of each record of a block that has been parsed.
    pub(super) fn for_each_record(
        &self,
        block: &[u8],
        see: &mut dyn FnMut(&[&str]) -> Result<()>,
    ) -> Result<()> {
        let mut records = Records::new(self.byte());
        while let Some(record) = records.next(block) {
            let (text, mut start) = (std::str::from_utf8(record.text).unwrap_or_default(), 0);
            let cell =
                |&end: &usize| trimmed(text.get(std::mem::replace(&mut start, end)..end).unwrap_or_default());
            see(&record.ends.iter().map(cell).collect::<Vec<_>>())?;
        }
        Ok(())
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

/// Whether the first line has three or more cells between tabs, one of them with a name of the target column.
pub(super) fn has_header_with_tabs(first: &[u8], target: Option<&str>) -> bool {
    let line = without_mark(first).split(|&byte| byte == b'\n').next().unwrap_or_default();
    let cells: Vec<&[u8]> = line.split(|&byte| byte == b'\t').map(<[u8]>::trim_ascii).collect();
    let is_target = |cell: &&[u8]| match target {
        Some(target) => *cell == target.as_bytes(),
        None => open::TARGETS.iter().any(|usual| cell.eq_ignore_ascii_case(usual.as_bytes())),
    };
    cells.len() >= 3 && cells.iter().any(is_target) && delimiter_of(without_mark(first)) == b'\t'
}

/// The most frequent of comma, tab, semicolon and bar outside quotes in the first line, or a comma if none occurs.
fn delimiter_of(bytes: &[u8]) -> u8 {
    let (mut counts, mut quoted) = ([(b',', 0), (b'\t', 0), (b';', 0), (b'|', 0)], false);
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
