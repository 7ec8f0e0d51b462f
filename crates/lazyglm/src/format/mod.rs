//! From bytes to rows: one file a format, pure, no files opened.
//!
//! A format is a [`Parser`]: it is fed blocks of whole lines and appends to a [`Parsed`]. To add one, write its
//! file and its line here; sources, errors and laws are shared.

mod svmlight;

pub use svmlight::Svmlight;

use crate::error::Result;
use crate::labels::Labels;
use crate::rows::Rows;
use std::path::Path;

/// What a parser has read so far. Ids are features as written, not columns yet.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The rows.
    pub rows: Rows,
    /// One target a row, except for rows without one.
    pub labels: Labels,
    /// The first row without a target.
    pub unlabelled: Option<usize>,
    /// How many rows carried a query id, which is not used.
    pub with_query: usize,
    /// The line of each row.
    pub lines: Lines,
    /// The lowest and highest feature seen, explicit zeros included.
    pub span: Option<Span>,
    /// Rows to pass over, by their number in the file: `absent[k]`; rows beyond the end are present.
    pub absent: Vec<bool>,
    /// How many rows the file has, absent ones included.
    pub file_rows: usize,
}

/// The lowest and the highest feature of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The lowest.
    pub low: Found,
    /// The highest.
    pub high: Found,
}

/// A feature and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its index as written.
    pub index: u32,
    /// The line, from 1.
    pub line: u64,
    /// The byte of it, from 1.
    pub column: u64,
}

impl Parsed {
    /// A row begins; whether it is to be kept.
    pub fn begin_row(&mut self) -> bool {
        let absent = self.absent.get(self.file_rows).copied().unwrap_or(false);
        self.file_rows += 1;
        !absent
    }

    /// A feature was found.
    pub fn see(&mut self, found: Found) {
        let span = self.span.get_or_insert(Span { low: found, high: found });
        if found.index < span.low.index {
            span.low = found;
        }
        if found.index > span.high.index {
            span.high = found;
        }
    }

    /// Forgets the rows and keeps the place in the file, for reading a stream block by block.
    pub fn clear_rows(&mut self) {
        let next = self.lines.next;
        *self = Parsed::default();
        self.lines.next = next;
    }
}

/// Which line each row came from, in the space of the lines that are no rows.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// (row, its line): every later row is on the line after its predecessor's, until the next entry.
    starts: Vec<(usize, u64)>,
    next: u64, // lines seen so far
}

impl Lines {
    /// Another line begins; its number, from 1.
    pub fn begin(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The line just begun is row `row`.
    pub fn is_row(&mut self, row: usize) {
        if row == 0 || self.of(row) != self.next {
            self.starts.push((row, self.next));
        }
    }

    /// The line of a row, from 1.
    pub fn of(&self, row: usize) -> u64 {
        let after = self.starts.partition_point(|&(start, _)| start <= row);
        match after.checked_sub(1).map(|k| self.starts[k]) {
            Some((start, line)) => line + (row - start) as u64,
            None => row as u64 + 1,
        }
    }

    /// The lines of these rows alone.
    pub fn select(&self, rows: &[usize]) -> Lines {
        let mut lines = Lines::default();
        for (new, &old) in rows.iter().enumerate() {
            lines.next = self.of(old);
            lines.is_row(new);
        }
        lines
    }
}

/// Reads one format.
pub trait Parser {
    /// Appends the rows of a block of whole lines. `file` is for error messages.
    fn parse(&mut self, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()>;
}
