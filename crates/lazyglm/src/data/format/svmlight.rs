//! svmlight / LIBSVM text: `target index:value index:value … # comment`, one row per line.
//!
//! Accepted: comments, blank lines, CRLF, a missing last line end, tabs, `qid:` (counted), unsorted indices
//! (sorted), duplicate indices (summed), and a missing target. `predict` accepts rows without a target. In
//! multi-label training, such a row has no labels.
//!
//! Rejected, with the place: malformed pairs, indices that are negative or above 2³² − 1, NaN, infinity, and
//! invalid UTF-8.

use super::{FoundIndex, Line, Parsed, Parser};
use crate::simd;
use crate::util::error::{Error, Result, excerpt};
use crate::util::number::{parse_number, short};
use crate::util::scan;
use memchr::{memchr, memrchr};
use std::path::Path;

/// The svmlight parser, with reusable buffers.
///
/// ```
/// use lazyglm::data::format::{Parsed, Parser, Svmlight};
/// let (mut parser, mut parsed) = (Svmlight::default(), Parsed::default());
/// parser.parse(b"+1 qid:4 7:0.5 2:1 2:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
/// assert_eq!((parsed.rows.borrow().dot(0, &[1.0; 8]), parsed.with_query), (2.5, 1));
/// let error = parser.parse(b"1 2:x\n", "mail.svm".as_ref(), &mut parsed).unwrap_err();
/// assert!(error.to_string().starts_with("mail.svm:2:5: '2:x' has no valid number after the colon"));
/// ```
#[derive(Debug, Default)]
pub struct Svmlight {
    pairs: Vec<(u32, f64)>,
    ids: Vec<u32>,
    values: Vec<f64>,
    marks: Vec<u32>, // where words end
}

/// Number of bytes that are searched for word ends at a time, so that the results stay in the L1 cache.
const LOOK: usize = 1 << 14;

impl Parser for Svmlight {
    fn parse(&mut self, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()> {
        let mut at = 0;
        while at < block.len() {
            let look = (at + LOOK).min(block.len());
            let last = memrchr(b'\n', &block[at..look]).map(|end| at + end + 1);
            let end = last.or_else(|| memchr(b'\n', &block[look..]).map(|end| look + end + 1));
            let end = end.unwrap_or(block.len());
            let mut marks = std::mem::take(&mut self.marks);
            let count = simd::separators(block, at, end, &mut marks);
            let lines = Lines { parser: self, block, at, end, marks: &marks[..count], file, into };
            let done = simd::fastest(lines);
            self.marks = marks;
            done?;
            at = end;
        }
        into.wrong.result()
    }
}

/// The lines of `block[at..end]`, whose words end at `marks`.
struct Lines<'a> {
    parser: &'a mut Svmlight,
    block: &'a [u8],
    at: usize,
    end: usize,
    marks: &'a [u32],
    file: &'a Path,
    into: &'a mut Parsed,
}

impl simd::Work for Lines<'_> {
    type Answer = Result<()>;

    #[inline(always)]
    fn run(self) -> Result<()> {
        let Lines { parser, block, mut at, end, mut marks, file, into } = self;
        while at < end {
            let number = into.lines.begin();
            if let Some((next, used)) = parser.plain_line(block, at, marks, number, into) {
                (at, marks) = (next, &marks[used..]);
                continue;
            }
            let stop = memchr(b'\n', &block[at..end]).map_or(end, |length| at + length);
            let line = Line { file, number, text: &block[at..stop] };
            if let Err(error) = line.utf8("svmlight").and_then(|_| parser.line(&line, into)) {
                into.wrong.see(error)?;
            }
            at = stop + 1;
            marks = &marks[marks.partition_point(|&mark| (mark as usize) < at)..];
        }
        Ok(())
    }
}

/// The first byte from `at` on that is (or is not) a space, or the end.
#[inline(always)]
fn next(text: &[u8], mut at: usize, space: bool) -> usize {
    while at < text.len() && is_space(text[at]) != space {
        at += 1;
    }
    at
}

#[inline(always)]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

impl Svmlight {
    /// Parses a plain line in one pass: a target, then pairs with increasing indices, one space before each.
    ///
    /// Returns the start of the next line and the number of word ends used. Any other line has no effect here
    /// and is left to [`Svmlight::line`].
    #[inline(always)]
    fn plain_line(
        &mut self,
        text: &[u8],
        start: usize,
        marks: &[u32],
        number: u64,
        into: &mut Parsed,
    ) -> Option<(usize, usize)> {
        let target = &text[start..*marks.first()? as usize];
        let mut at = start + target.len();
        if target.is_empty() || target.contains(&b'#') {
            return None;
        }
        let most = marks.len() / 2;
        if self.ids.len() < most {
            self.ids.resize(most, 0);
            self.values.resize(most, 0.0);
        }
        let (mut least, mut last, mut count) = (0, at, 0);
        let pairs = marks[1..].chunks_exact(2).zip(self.ids.iter_mut().zip(&mut self.values));
        for (marks, (id_here, value_here)) in pairs {
            if text[at] != b' ' {
                break;
            }
            let (colon, end) = (marks[0] as usize, marks[1] as usize);
            let id = index_in(text, at + 1, colon)?;
            let value = match end - colon {
                2 => scan::count_in(text, colon)?,
                _ => value_in(text, colon + 1, end)?,
            };
            if text[colon] != b':' || id < least || value == 0.0 {
                return None;
            }
            (*id_here, *value_here) = (id as u32, value);
            (last, at, least) = (at, end, id + 1);
            count += 1;
        }
        let carriage = usize::from(text[at] == b'\r' && marks.get(1 + 2 * count) == Some(&(at as u32 + 1)));
        if text[at + carriage] != b'\n' || into.labels.is_wrong(target) {
            return None;
        }
        let (ids, values) = (&self.ids[..count], &self.values[..count]);
        if into.begin_row() {
            into.labels.push(target).ok()?;
            if let (Some(&low), Some(&high)) = (ids.first(), ids.last()) {
                let column = |at: usize| (at - start) as u64 + 2;
                into.see(FoundIndex { index: low, line: number, column: column(start + target.len()) });
                into.see(FoundIndex { index: high, line: number, column: column(last) });
            }
            into.lines.is_row(into.rows.len());
            into.rows.push_known(ids, values);
        }
        Some((at + carriage + 1, 1 + carriage + 2 * count))
    }

    #[cold]
    fn line(&mut self, line: &Line, into: &mut Parsed) -> Result<()> {
        let text = &line.text[..memchr(b'#', line.text).unwrap_or(line.text.len())];
        let mut at = next(text, 0, false);
        if at == text.len() || !into.begin_row() {
            return Ok(()); // a blank line, a comment, or an absent row
        }
        let end = next(text, at, true);
        let first = &text[at..end];
        if first.contains(&b':') {
            into.no_target();
        } else {
            let target = into.labels.push(first);
            target.map_err(|what| line.wrong(at, what, "targets are finite numbers or words"))?;
            at = next(text, end, false);
        }
        self.pairs.clear();
        while at < text.len() {
            let (pair, end) = match short_pair(&text[at..]) {
                Some((id, value, length)) => (Some((id, value)), at + length),
                None => {
                    let end = next(text, at, true);
                    (any_pair(line, at, &text[at..end])?, end)
                }
            };
            match pair {
                None => into.with_query += 1,
                Some((id, value)) => {
                    into.see(FoundIndex { index: id, line: line.number, column: at as u64 + 1 });
                    self.pairs.push((id, value));
                }
            }
            at = next(text, end, false);
        }
        into.push_row(&mut self.pairs).map_err(|id| infinite(line, id))
    }
}

#[cold]
fn infinite(line: &Line, id: u32) -> Error {
    line.wrong(0, format!("the values of feature {id} sum to infinity"), "scale the values down")
}

/// Parses all of `text[start..end]` as an index.
#[inline(always)]
fn index_in(text: &[u8], start: usize, end: usize) -> Option<u64> {
    match scan::whole_in(text, start, end) {
        None => digits(text.get(start..end)?).map(u64::from),
        short => short,
    }
}

/// Parses all of `text[start..end]` as a finite number, with the same bits as the standard library.
#[inline(always)]
fn value_in(text: &[u8], start: usize, end: usize) -> Option<f64> {
    let negative = *text.get(start)? == b'-';
    match scan::decimal_in(text, start + usize::from(negative), end) {
        Some(short) => Some(if negative { -short } else { short }),
        None => long_value(text.get(start..end)?),
    }
}

#[cold]
fn long_value(word: &[u8]) -> Option<f64> {
    parse_number(word).filter(|value| value.is_finite())
}

/// Parses a pair of an index and a short number, and returns (index, value, bytes used). Other pairs are left
/// to [`any_pair`].
#[inline(always)]
fn short_pair(text: &[u8]) -> Option<(u32, f64, usize)> {
    let (mut id, mut at) = (0u64, 0);
    while at < text.len() && text[at].is_ascii_digit() && at < 10 {
        id = id * 10 + u64::from(text[at] - b'0');
        at += 1;
    }
    if at == 0 || text.get(at) != Some(&b':') {
        return None;
    }
    let (value, length) = short(&text[at + 1..])?;
    let end = at + 1 + length;
    let ends = text.get(end).is_none_or(|&byte| is_space(byte));
    Some((u32::try_from(id).ok()?, value, end)).filter(|_| ends)
}

/// Parses `index:value`, or returns `None` for a query id.
#[cold]
fn any_pair(line: &Line, start: usize, word: &[u8]) -> Result<Option<(u32, f64)>> {
    let shape = "write index:value, the index a whole number and the value a number";
    let Some(colon) = word.iter().position(|&b| b == b':') else {
        return Err(line.wrong(start, format!("'{}' is not an index:value pair", excerpt(word)), shape));
    };
    let (index, value) = (&word[..colon], &word[colon + 1..]);
    if index == b"qid" {
        return Ok(None);
    }
    let id = digits(index).ok_or_else(|| bad_index(line, start, index, shape))?;
    match parse_number(value) {
        Some(number) if number.is_finite() => Ok(Some((id, number))),
        Some(_) => {
            let what = format!("the value of feature {id}, '{}', is not finite", excerpt(value));
            Err(line.wrong(start + colon + 1, what, "remove the pair or give it a number"))
        }
        None => Err(line.wrong(
            start + colon + 1,
            format!("'{}' has no valid number after the colon", excerpt(word)),
            shape,
        )),
    }
}

/// Parses an integer below 2³² that consists of digits only.
fn digits(text: &[u8]) -> Option<u32> {
    let mut number = 0u64;
    for &byte in text {
        number = number * 10 + u64::from(byte.wrapping_sub(b'0'));
        if !byte.is_ascii_digit() || number > u64::from(u32::MAX) {
            return None;
        }
    }
    if text.is_empty() { None } else { Some(number as u32) }
}

#[cold]
fn bad_index(line: &Line, start: usize, index: &[u8], shape: &str) -> Error {
    let shown = excerpt(index);
    let all_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    match index {
        [b'-', rest @ ..] if all_digits(rest) => {
            line.wrong(start, format!("index {shown} is negative"), "indices start at 0 or 1")
        }
        _ if all_digits(index) => line.wrong(
            start,
            format!("index {shown} is above 4294967295, the largest there is"),
            "renumber or hash the features into 32 bits",
        ),
        _ => line.wrong(start, format!("'{shown}' is not a feature index"), shape),
    }
}

/// Whether the first line that is not a comment has an `index:value` pair after at most one other word. A
/// preceding bar would make it Vowpal Wabbit text.
pub(super) fn looks_like(first: &[u8]) -> bool {
    let line = first
        .split(|&byte| byte == b'\n')
        .map(|line| line.split(|&byte| byte == b'#').next().unwrap_or(line));
    let mut words =
        line.map(|line| line.split(|&byte| is_space(byte)).filter(|word| !word.is_empty()).take(2));
    let is_pair = |word: &[u8]| matches!(short_pair(word), Some((_, _, length)) if length == word.len());
    words
        .find_map(|words| Some(words.collect::<Vec<_>>()).filter(|words| !words.is_empty()))
        .is_some_and(|words| words.iter().any(|word| is_pair(word)) && !words[0].contains(&b'|'))
}
