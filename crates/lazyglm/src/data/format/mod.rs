//! Parsers, one module per format. Only columnar formats open files; all others parse blocks of bytes.
//!
//! A format is a [`FormatSpec`], plain data that describe how to read it, and a [`Parser`], which receives
//! blocks of whole records and appends to a [`Parsed`]. To add a format, write its module, its variant of
//! [`FormatSpec`] and its entry in [`TABLE`]. Byte sources, threads, errors, the cache and the tests are
//! shared.
//!
//! ```
//! use lazyglm::data::format::{Parsed, Parser, Svmlight};
//! let mut parsed = Parsed::default();
//! Svmlight::default().parse(b"spam 3:1 1:2 # unsorted\n", "mail.svm".as_ref(), &mut parsed).unwrap();
//! assert_eq!((parsed.labels.name(0), parsed.rows.ids()), ("spam".to_string(), &[1, 3][..]));
//! ```

mod columnar;
mod columns;
mod copied;
mod csv;
mod detect;
mod interact;
mod json;
mod jsonl;
mod jsonl_open;
mod lines;
mod names;
mod names_room;
mod parsed;
mod roles;
mod spec;
mod svmlight;
mod text;
mod vw;
mod vw_header;
pub mod write;
mod wrong_rows;

pub use columnar::{Holds, ParquetColumn};
pub use columns::{Column, ColumnKind, DirtyCells, Fill, Missing};
pub(crate) use copied::Copied;
pub use csv::Csv;
pub(crate) use detect::{check_compatible, check_options_apply, is_columnar, is_json, unfinished};
pub(crate) use interact::{ANY, Interact};
pub use lines::Lines;
pub use names_room::NamesRoom;
pub use parsed::{FoundIndex, Parsed, Span};
pub use spec::{Entry, FormatSpec, Opening, ReadOptions, TABLE, open};
pub use svmlight::Svmlight;
pub use text::{Case, Grams, Norm, Text, Worth};
pub(crate) use wrong_rows::Gathered;
pub use wrong_rows::WrongRows;

use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use std::path::Path;

/// A parser of one format.
///
/// ```
/// use lazyglm::data::format::{Parsed, Parser};
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
pub trait Parser: Send {
    /// Appends the rows of a block of whole lines. Error messages name `file`. Wrong rows are gathered in `into.wrong`, and
    /// one error at the end of the block names them.
    fn parse(&mut self, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()>;
}

/// A line and its position, for error messages.
pub(crate) struct Line<'a> {
    pub file: &'a Path,
    pub number: u64,
    pub text: &'a [u8],
}

impl Line<'_> {
    /// An error at a byte of the line, counted from 0.
    #[cold]
    pub fn wrong(&self, column: usize, what: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::data(Place::file(self.file).line(self.number).column(column as u64 + 1), what, hint)
    }

    /// The line as text. Invalid UTF-8 and NUL are errors.
    pub fn utf8(&self, format: &str) -> Result<&str> {
        let bad = match std::str::from_utf8(self.text) {
            Ok(text) => match text.find('\0') {
                None => return Ok(text),
                Some(at) => at,
            },
            Err(e) => e.valid_up_to(),
        };
        let what = format!("byte 0x{:02x} is not text", self.text[bad]);
        let hint = format!("this is no {format} file: give text (plain, gzip or zstd)");
        Err(self.wrong(
            bad,
            what,
            latin1_hint(self.text, bad).map_or(hint, |latin1| format!("save the file as UTF-8{latin1}")),
        ))
    }
}

/// A hint for text that seems to be UTF-16, by its first bytes, or Latin-1: a letter with an accent, beside an ASCII letter.
fn latin1_hint(text: &[u8], bad: usize) -> Option<&'static str> {
    if let Some([0xff, 0xfe] | [0xfe, 0xff]) = text.get(bad..bad + 2) {
        return Some("; it seems to be UTF-16: iconv -f UTF-16 -t UTF-8 OLD > NEW");
    }
    let letter = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_alphabetic);
    let accent = matches!(text.get(bad), Some(0xc0..=0xfe));
    (accent && (letter(bad.checked_sub(1)) || letter(Some(bad + 1))))
        .then_some("; it seems to be Latin-1: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW")
}

/// The UTF-8 byte order mark, which some editors write before the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Calls `see` with each line of a block, without its line end. A byte order mark is removed at the start of
/// any line, so that a line reads the same in any block.
fn for_each_line(
    block: &[u8],
    file: &Path,
    into: &mut Parsed,
    mut see: impl FnMut(&Line, &mut Parsed) -> Result<()>,
) -> Result<()> {
    let mut rest = block;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let text = &rest[..end];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let line = Line { file, number: into.lines.begin(), text };
        if let Err(error) = see(&line, into) {
            into.wrong.see(error)?;
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    into.result(file)
}

/// Some names in quotes, for a message.
fn quoted(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(QUOTED).map(|name| format!("'{}'", excerpt(name))).collect();
    let more = names.len() - shown.len();
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// Maximum number of names that a message quotes.
const QUOTED: usize = 12;

/// The error for an offset column that is also the target, or is to be left out.
#[cold]
fn two_roles(offset: &str) -> Error {
    let what = format!("the offset '{}' is also the target, or is to be left out", excerpt(offset));
    let [target, drop] = [Parameter::Target, Parameter::Drop];
    Error::call(what, format!("name another {}, {target} or {drop}", Parameter::OffsetColumn))
}
