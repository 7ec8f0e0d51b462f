//! Labelled text, one document per line.
//!
//! ```text
//! line   = label TAB text | ("__label__" name space)+ text      the second is fastText's
//! word   = a run of letters and digits, with apostrophes inside: don't
//! term   = words joined by one space | "~" characters of " word "
//! ```
//!
//! A feature is a term. Its value depends on its count in the document, and each row is normalised (see
//! [`Text`]). Several labels are joined by commas, and in fastText files they are a set of labels. A first line such as `label<TAB>text` is a
//! header, not a row.
//!
//! Accepted: blank lines, CRLF, a missing last line end, and an empty label in prediction only. In
//! prediction, a line may also be text without a label.
//!
//! Rejected, with the place: lines without a label in training, invalid UTF-8, and NUL.

mod options;
mod terms;

pub use options::{Case, Grams, Norm, Text, Worth};
pub(super) use options::{of_column, open, read as read_options};

use super::{Line, Parsed, Parser};
use crate::util::error::Result;
use memchr::memchr;
use std::path::Path;
pub(super) use terms::Terms;

/// Prefix of a label in fastText files.
const LABEL: &str = "__label__";

/// The text parser, with reusable buffers.
pub(super) struct TextParser {
    spec: Text,
    terms: Terms,
    label: String,
    pairs: Vec<(u32, f64)>,
}

impl TextParser {
    pub fn new(spec: &Text) -> TextParser {
        TextParser { spec: spec.clone(), terms: Terms::default(), label: String::new(), pairs: Vec::new() }
    }

    fn line(&mut self, line: &Line, into: &mut Parsed) -> Result<()> {
        let text = line.utf8("labelled text")?;
        if text.trim().is_empty() || !into.begin_row() {
            return Ok(());
        }
        let text = self.take_label(text, line)?;
        if self.label.is_empty() {
            into.no_target();
        } else {
            let target = into.labels.push(self.label.as_bytes());
            target.map_err(|what| line.wrong(0, what, "labels are words or finite numbers"))?;
        }
        self.pairs.clear();
        self.terms.of(text, &self.spec, into, &mut self.pairs);
        let pushed = into.push_row(&mut self.pairs);
        pushed.map_err(|_| line.wrong(0, "the document is too long", "split it"))
    }

    /// Moves the line's label into `self.label`, empty if there is none, and returns the text.
    fn take_label<'a>(&mut self, text: &'a str, line: &Line) -> Result<&'a str> {
        self.label.clear();
        if text.starts_with(LABEL) {
            let mut rest = text;
            while let Some(from_name) = rest.strip_prefix(LABEL) {
                let end = from_name.find(char::is_whitespace).unwrap_or(from_name.len());
                let (name, behind) = from_name.split_at(end);
                if !self.label.is_empty() && !name.is_empty() {
                    self.label.push(',');
                }
                self.label.push_str(name);
                rest = behind.trim_start();
            }
            return Ok(rest);
        }
        match text.split_once('\t') {
            Some((label, behind)) => {
                self.label.push_str(label.trim());
                Ok(behind)
            }
            None if self.spec.bare => Ok(text),
            None => {
                let hint = "write a line as label<TAB>text, or as __label__name text";
                Err(line.wrong(0, "the line has no label", hint))
            }
        }
    }
}

impl Parser for TextParser {
    fn parse(&mut self, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()> {
        into.names.get_or_insert_default(); // features have names, even if no document here has a word
        let mut rest = block;
        while !rest.is_empty() {
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            let (text, behind) = rest.split_at(end);
            let number = into.lines.begin();
            if let Err(error) = self.line(&Line { file, number, text }, into) {
                into.wrong.see(error)?;
            }
            rest = behind.get(1..).unwrap_or_default();
        }
        into.wrong.result()
    }
}

/// Length of the byte order mark at the start, or 0.
pub(super) fn mark(first: &[u8]) -> usize {
    let mark = "\u{feff}".as_bytes();
    if first.starts_with(mark) { mark.len() } else { 0 }
}

/// Number of bytes before the data: a byte order mark, and a header such as `label<TAB>text`.
///
/// A header is a default target name that is not a label of the next lines, then one word.
pub(super) fn header(first: &[u8]) -> usize {
    let start = mark(first);
    let mut lines = first[start..].split_inclusive(|&byte| byte == b'\n');
    let cells = |line: &'_ [u8]| {
        memchr(b'\t', line).map(|at| (line[..at].to_ascii_lowercase(), line[at + 1..].to_vec()))
    };
    let Some(line) = lines.next() else { return start };
    let Some((label, text)) = cells(line) else { return start };
    let usual = [&b"label"[..], b"target", b"class", b"y", b"category"].contains(&&label[..]);
    let one_word = text.trim_ascii().split(u8::is_ascii_whitespace).count() == 1;
    let again = lines.take(100).any(|line| cells(line).is_some_and(|(other, _)| other == label));
    start + if usual && one_word && !again { line.len() } else { 0 }
}

/// Whether a line starts with a fastText label, or nearly all lines are a word, a tab, and at least two words
/// on average.
pub(super) fn looks_like(first: &[u8]) -> bool {
    let lines = first[mark(first)..].split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).take(50).collect();
    if lines.iter().any(|line| line.starts_with(LABEL.as_bytes())) {
        return true;
    }
    let words_behind = |line: &&[u8]| {
        let at = memchr(b'\t', line)?;
        let (label, text) = (&line[..at], &line[at + 1..]);
        let fine = !label.contains(&b' ') && memchr(b'\t', text).is_none();
        fine.then(|| text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count())
    };
    let fine: Vec<usize> = lines.iter().filter_map(words_behind).collect();
    !fine.is_empty() && 10 * fine.len() >= 9 * lines.len() && fine.iter().sum::<usize>() >= 2 * fine.len()
}
