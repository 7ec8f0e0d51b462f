//! Vowpal Wabbit text, one row per line:
//!
//! ```text
//! row       = [label [importance [base]]] [tag] namespace …     words apart by spaces
//! tag       = 'word, or a word that touches the first |
//! namespace = | [name [:scale]] feature …                       apart by spaces or tabs
//! feature   = name | name:value | :value | name:word
//!
//! name ↦ namespace^name, or name alone in the namespace without one       value ↦ scale · value, and 1 if not given
//! :value ↦ namespace^k, the k-th of these in its namespace, from 0         name:word ↦ namespace^name^word, value 1
//! ```
//!
//! A `^` inside a namespace, or inside a name or word of one, is escaped: see `names.rs`. A name without a
//! namespace is a whole name: `| a^b` is the feature of `|a b`.
//!
//! Accepted: a missing label (in prediction only), labels that are words, duplicate features (summed),
//! repeated namespaces, blank lines, CRLF, and a missing last line end. The base is the row's offset, which is
//! added to its score. The tag is ignored.
//!
//! Rejected, with the place: labels with costs, numbers that are malformed or not
//! finite, and a line without `|`. Syntax that Vowpal Wabbit reads in surprising ways is also rejected: a tab
//! before the first `|`, and an empty value.

use super::names::{push_last, push_part};
use super::vw_header::header;
use super::{Line, Parsed, Parser, for_each_line};
use crate::util::error::{Error, Result, excerpt};
use crate::util::number::{parse_number, short};
use memchr::memchr;
use std::fmt::Write;
use std::path::Path;

/// The Vowpal Wabbit parser, with reusable buffers.
#[derive(Debug, Default)]
pub(super) struct Vw {
    pairs: Vec<(u32, f64)>,
    name: String, // name of a feature; its prefix stays the same within a namespace
}

impl Parser for Vw {
    fn parse(&mut self, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()> {
        into.allow_names(block.len(), []);
        for_each_line(block, file, into, |line, into| self.line(line, into))
    }
}

/// The first byte from `at` on that ends a name.
#[inline(always)]
fn name_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && !matches!(text[at], b' ' | b'\t' | b'|' | b':') {
        at += 1;
    }
    at
}

/// The first byte from `at` on that ends a value.
#[inline(always)]
fn value_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && !matches!(text[at], b' ' | b'\t' | b'|') {
        at += 1;
    }
    at
}

impl Vw {
    fn line(&mut self, line: &Line, into: &mut Parsed) -> Result<()> {
        let text = line.utf8("Vowpal Wabbit")?;
        if line.text.iter().all(u8::is_ascii_whitespace) || !into.begin_row() {
            return Ok(()); // a blank line, or an absent row
        }
        if let Some(at) = memchr(b'\r', line.text) {
            let what = "a carriage return stands inside the line";
            return Err(line.wrong(at, what, "end each line with a line feed"));
        }
        let Some(bar) = memchr(b'|', line.text) else {
            let shape = "write a row as: label |namespace feature:value feature:value";
            return Err(line.wrong(0, "there is no '|' in the line", shape));
        };
        let (weight, base) = header(line, &text[..bar], into)?;
        self.pairs.clear();
        let mut at = bar;
        while at < text.len() {
            at = self.namespace(line, text, at + 1, into)?; // the next bar, or the end
        }
        into.push_row(&mut self.pairs).map_err(|id| {
            let name = into.names.as_ref().map_or("", |names| names.name(id));
            let what = format!("the values of feature '{}' sum to infinity", excerpt(name.as_bytes()));
            line.wrong(0, what, "scale the values down")
        })?;
        into.weigh(weight);
        into.shift(base);
        Ok(())
    }

    /// Parses the features from a bar to the next bar, and returns the position of that bar or of the end.
    fn namespace(&mut self, line: &Line, text: &str, start: usize, into: &mut Parsed) -> Result<usize> {
        let (bytes, mut scale) = (line.text, 1.0);
        let mut at = name_end(bytes, start);
        self.name.clear();
        if at > start {
            push_part(&mut self.name, &text[start..at], '^');
        }
        if bytes.get(at) == Some(&b':') {
            let end = value_end(bytes, at + 1);
            scale = namespace_scale(line, start, at, end)?;
            at = end;
        }
        let (stem, mut unnamed) = (self.name.len(), 0);
        loop {
            while matches!(bytes.get(at), Some(b' ' | b'\t')) {
                at += 1;
            }
            if matches!(bytes.get(at), None | Some(b'|')) {
                return Ok(at);
            }
            let end = name_end(bytes, at);
            let (value, next) = match bytes.get(end) {
                Some(b':') => value(line, text, at, end + 1)?,
                _ => (Some(1.0), end),
            };
            self.name.truncate(stem);
            let value = match value {
                Some(number) if stem == 0 => {
                    self.name.push_str(&text[at..end]); // a whole name
                    scale * number
                }
                Some(number) => {
                    push_last(&mut self.name, &text[at..end], '^');
                    scale * number
                }
                None => {
                    push_part(&mut self.name, &text[at..end], '^');
                    push_last(&mut self.name, &text[end + 1..next], '^');
                    1.0 // as in Vowpal Wabbit, the scale of a namespace does not apply to words
                }
            };
            if end == at && self.name.len() == stem {
                let _ = write!(self.name, "{unnamed}"); // writing to a String cannot fail
                unnamed += 1;
            }
            if !value.is_finite() {
                return Err(too_large(line, at, &self.name));
            }
            if value != 0.0 {
                self.pairs.push((into.name(&self.name), value)); // zeros are dropped and need no name
            }
            at = next;
        }
    }
}

/// Parses the value at `at`, and returns it with its end. The value is `None` for a word.
#[inline(always)]
fn value(line: &Line, text: &str, feature: usize, at: usize) -> Result<(Option<f64>, usize)> {
    if let Some((number, length)) = short(&line.text[at..])
        && matches!(line.text.get(at + length), None | Some(b' ' | b'\t' | b'|'))
    {
        return Ok((Some(number), at + length));
    }
    any_value(line, text, feature, at)
}

/// Parses a long number or a word.
#[inline(never)]
fn any_value(line: &Line, text: &str, feature: usize, at: usize) -> Result<(Option<f64>, usize)> {
    let end = value_end(line.text, at);
    let word = &line.text[at..end];
    let pair = || excerpt(&line.text[feature..end]);
    let hint = "write feature, feature:number or feature:word";
    match text[at..end].parse::<f64>() {
        Ok(number) if number.is_finite() => return Ok((Some(number), end)),
        Ok(_) => {
            let what = format!("the value in '{}' is not finite", pair());
            return Err(line.wrong(at, what, "remove the feature or give it a number"));
        }
        Err(_) => {}
    }
    // Text that starts like a number is an invalid number, not a word.
    let digits = word.strip_prefix(b"-").or(word.strip_prefix(b"+")).unwrap_or(word);
    let digits = digits.strip_prefix(b".").unwrap_or(digits);
    if word.is_empty() {
        Err(line.wrong(at, format!("'{}' has no value after the colon", pair()), hint))
    } else if digits.first().is_some_and(u8::is_ascii_digit) {
        Err(line.wrong(at, format!("'{}' has no valid number after the colon", pair()), hint))
    } else if line.text.get(end) == Some(&b'|') {
        Err(line.wrong(end, format!("'|' touches the word in '{}'", pair()), "put a space before the '|'"))
    } else {
        Ok((None, end))
    }
}

#[cold]
fn namespace_scale(line: &Line, start: usize, colon: usize, end: usize) -> Result<f64> {
    if colon == start {
        let what = "a ':' follows the '|', where a namespace or a space is due";
        return Err(line.wrong(colon, what, "write |namespace:scale, or a space after the '|'"));
    }
    match parse_number(&line.text[colon + 1..end]) {
        Some(number) if number.is_finite() => Ok(number),
        _ => {
            let what =
                format!("namespace '{}' has no finite number as its scale", excerpt(&line.text[start..end]));
            Err(line.wrong(colon + 1, what, "write |namespace or |namespace:number"))
        }
    }
}

#[cold]
fn too_large(line: &Line, at: usize, name: &str) -> Error {
    let what = format!("the value of '{}' times its namespace's scale is infinite", excerpt(name.as_bytes()));
    line.wrong(at, what, "scale the values down")
}
