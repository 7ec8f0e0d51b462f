//! From bytes to rows: one file a format, pure, no files opened.
//!
//! A format is a [`Parser`]: it is fed blocks of whole lines and appends to a [`Parsed`]. To add one, write its
//! file and its line here; sources, errors and laws are shared.
//!
//! ```
//! use lazyglm::format::{Parsed, Parser, Svmlight};
//! let mut parsed = Parsed::default();
//! Svmlight::default().parse(b"spam 3:1 1:2 # unsorted\n", "mail.svm".as_ref(), &mut parsed).unwrap();
//! assert_eq!((parsed.labels.name(0), parsed.rows.ids()), ("spam".to_string(), &[1, 3][..]));
//! ```

mod svmlight;

pub use svmlight::Svmlight;

use crate::error::Result;
use crate::labels::Labels;
use crate::rows::Rows;
use std::path::Path;

/// What a parser has read so far. Ids are features as written, not columns yet.
///
/// ```
/// use lazyglm::format::{Parsed, Parser, Svmlight};
/// let mut parsed = Parsed { absent: vec![true], ..Parsed::default() }; // pass over the first row
/// Svmlight::default().parse(b"1 1:1\n2:1\n-1 3:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
/// assert_eq!((parsed.file_rows, parsed.rows.len(), parsed.unlabelled), (3, 2, Some(0)));
/// ```
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
///
/// ```
/// use lazyglm::format::{Parsed, Parser, Svmlight};
/// let mut parsed = Parsed::default();
/// Svmlight::default().parse(b"1 4:1 9:1\n-1 2:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
/// let span = parsed.span.unwrap();
/// assert_eq!((span.low.index, span.high.index), (2, 9));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The lowest.
    pub low: Found,
    /// The highest.
    pub high: Found,
}

/// A feature and where it stands.
///
/// ```
/// use lazyglm::format::{Found, Parsed, Parser, Svmlight};
/// let mut parsed = Parsed::default();
/// Svmlight::default().parse(b"1 4:1 9:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
/// assert_eq!(parsed.span.unwrap().high, Found { index: 9, line: 1, column: 7 });
/// ```
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
    ///
    /// ```
    /// let mut parsed = lazyglm::format::Parsed { absent: vec![false, true], ..Default::default() };
    /// assert_eq!([(); 3].map(|()| parsed.begin_row()), [true, false, true]);
    /// assert_eq!(parsed.file_rows, 3);
    /// ```
    pub fn begin_row(&mut self) -> bool {
        let absent = self.absent.get(self.file_rows).copied().unwrap_or(false);
        self.file_rows += 1;
        !absent
    }

    /// A feature was found.
    ///
    /// ```
    /// use lazyglm::format::{Found, Parsed};
    /// let mut parsed = Parsed::default();
    /// [5, 2, 7].iter().for_each(|&index| parsed.see(Found { index, line: 1, column: 3 }));
    /// assert_eq!(parsed.span.map(|span| (span.low.index, span.high.index)), Some((2, 7)));
    /// ```
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
    ///
    /// ```
    /// use lazyglm::format::{Parsed, Parser, Svmlight};
    /// let (mut parser, mut parsed) = (Svmlight::default(), Parsed::default());
    /// parser.parse(b"1 1:1\n-1 2:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
    /// parsed.clear_rows();
    /// parser.parse(b"1 3:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
    /// assert_eq!((parsed.rows.len(), parsed.lines.of(0)), (1, 3), "row 0 now, and line 3 of the file");
    /// ```
    pub fn clear_rows(&mut self) {
        let next = self.lines.next;
        *self = Parsed::default();
        self.lines.next = next;
    }
}

/// Which line each row came from, in the space of the lines that are no rows.
///
/// ```
/// let mut lines = lazyglm::format::Lines::default();
/// lines.begin(); // a comment
/// for row in 0..1000 {
///     lines.begin();
///     lines.is_row(row);
/// }
/// assert_eq!((lines.of(0), lines.of(999)), (2, 1001));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// (row, its line): every later row is on the line after its predecessor's, until the next entry.
    starts: Vec<(usize, u64)>,
    next: u64, // lines seen so far
}

impl Lines {
    /// Another line begins; its number, from 1.
    ///
    /// ```
    /// let mut lines = lazyglm::format::Lines::default();
    /// assert_eq!((lines.begin(), lines.begin()), (1, 2));
    /// ```
    pub fn begin(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The line just begun is row `row`.
    ///
    /// ```
    /// let mut lines = lazyglm::format::Lines::default();
    /// lines.begin();
    /// lines.is_row(0);
    /// lines.begin(); // blank: no row
    /// lines.begin();
    /// lines.is_row(1);
    /// assert_eq!(lines.of(1), 3);
    /// ```
    pub fn is_row(&mut self, row: usize) {
        if row == 0 || self.of(row) != self.next {
            self.starts.push((row, self.next));
        }
    }

    /// The line of a row, from 1.
    ///
    /// ```
    /// use lazyglm::format::{Parsed, Parser, Svmlight};
    /// let mut parsed = Parsed::default();
    /// Svmlight::default().parse(b"1 1:1\n# a word\n-1 2:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
    /// assert_eq!((parsed.lines.of(0), parsed.lines.of(1)), (1, 3));
    /// ```
    pub fn of(&self, row: usize) -> u64 {
        let after = self.starts.partition_point(|&(start, _)| start <= row);
        match after.checked_sub(1).map(|k| self.starts[k]) {
            Some((start, line)) => line + (row - start) as u64,
            None => row as u64 + 1,
        }
    }

    /// The lines of these rows alone.
    ///
    /// ```
    /// use lazyglm::format::{Parsed, Parser, Svmlight};
    /// let mut parsed = Parsed::default();
    /// Svmlight::default().parse(b"1 1:1\n2 1:1\n\n3 1:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
    /// let lines = parsed.lines.select(&[2, 0]);
    /// assert_eq!((lines.of(0), lines.of(1)), (4, 1));
    /// ```
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
///
/// ```
/// use lazyglm::format::{Parsed, Parser};
/// struct Counts; // one count a line: the target of a row without features
/// impl Parser for Counts {
///     fn parse(&mut self, block: &[u8], _: &std::path::Path, into: &mut Parsed) -> lazyglm::Result<()> {
///         for word in block.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
///             into.labels.push(word).map_err(|what| lazyglm::Error::call(what, "give counts"))?;
///             into.rows.push(&[])?;
///         }
///         Ok(())
///     }
/// }
/// let mut parsed = Parsed::default();
/// Counts.parse(b"3\n0\n7\n", "counts.txt".as_ref(), &mut parsed).unwrap();
/// assert_eq!((parsed.rows.len(), parsed.labels.name(2)), (3, "7".to_string()));
/// ```
pub trait Parser {
    /// Appends the rows of a block of whole lines. `file` is for error messages.
    fn parse(&mut self, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()>;
}
