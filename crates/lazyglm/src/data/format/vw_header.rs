//! The part of a Vowpal Wabbit row before the first `|`, which is also used for format detection.
//!
//! ```text
//! [label [importance [base]]] [tag]      the last word is the tag if it starts with ' or touches the |
//! ```

use super::{BYTE_ORDER_MARK, Line, Parsed};
use crate::util::error::{Error, Result, excerpt};
use crate::util::number::parse_number;
use memchr::memchr;

/// Parses the part before the first bar, stores the label, and returns the weight and the base (offset) of the row.
pub(super) fn header(line: &Line, text: &str, into: &mut Parsed) -> Result<(f64, f64)> {
    let (words, count) = words(line, text)?;
    let number = |(at, word): (usize, &str), noun| match parse_number(word.as_bytes()) {
        Some(number) if number.is_finite() => Ok(number),
        _ => {
            let what = format!("the {noun} '{}' is not a finite number", excerpt(word.as_bytes()));
            Err(line.wrong(at, what, HEADER))
        }
    };
    let weight = if count > 1 { number(words[1], "importance")? } else { 1.0 };
    if weight < 0.0 {
        let what = format!("the importance '{}' is negative", excerpt(words[1].1.as_bytes()));
        return Err(line.wrong(words[1].0, what, "give a number from 0 up"));
    }
    let base = if count > 2 { number(words[2], "base")? } else { 0.0 };
    match words[..count].first() {
        None => into.no_target(),
        Some(_) if count > 3 => return Err(too_many(line, words[3].0, words[3].1)),
        Some(&(at, label)) => take_label(line, at, label, into)?,
    }
    Ok((weight, base))
}

/// The words of a header with their positions, and their number without the tag.
fn words<'a>(line: &Line, text: &'a str) -> Result<([(usize, &'a str); 4], usize)> {
    if let Some(at) = text.find('\t') {
        let hint = "write a space: Vowpal Wabbit passes over all that stands before a tab";
        return Err(line.wrong(at, "a tab stands before the first '|'", hint));
    }
    let mut words = [(0, ""); 4];
    let (mut count, mut at) = (0, 0);
    for word in text.split(' ') {
        if !word.is_empty() {
            *words.get_mut(count).ok_or_else(|| too_many(line, at, word))? = (at, word);
            count += 1;
        }
        at += word.len() + 1;
    }
    if let Some((at, last)) = words[..count].last() {
        let is_tag = at + last.len() == text.len() || last.starts_with('\'');
        count -= usize::from(is_tag);
    }
    Ok((words, count))
}

/// Hint that lists what may precede the first bar.
const HEADER: &str = "before the first '|' stand: label, importance, base, 'tag";

fn take_label(line: &Line, at: usize, label: &str, into: &mut Parsed) -> Result<()> {
    let shown = || excerpt(label.as_bytes());
    if label.starts_with('\'') {
        return Err(line.wrong(at, format!("the tag {} stands before other words", shown()), HEADER));
    }
    if label.contains([':', ',']) {
        let hint = "give one number or word: costs and many labels are not supported";
        return Err(line.wrong(at, format!("'{}' is not a simple label", shown()), hint));
    }
    let taken = into.labels.push(label.as_bytes());
    taken.map_err(|what| line.wrong(at, what, "labels are finite numbers or words"))
}

#[cold]
fn too_many(line: &Line, at: usize, word: &str) -> Error {
    line.wrong(at, format!("'{}' is one word too many before the '|'", excerpt(word.as_bytes())), HEADER)
}

/// Whether the first line that is not blank is Vowpal Wabbit text.
///
/// Before the bar are at most three numbers and a tag, and after it a namespace or a space. A tag that
/// touches the bar counts only after a number, because `name|age` is a table with bars.
pub(super) fn looks_like(first: &[u8]) -> bool {
    let mut lines = first.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let Some(bar) = memchr(b'|', line) else { return false };
    let (before, after) = (&line[..bar], &line[bar + 1..]);
    let words: Vec<&[u8]> = before.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&[u8]| parse_number(word).is_some();
    let numbers = words.iter().take_while(|word| is_number(word)).count();
    let header = match words.last() {
        None => true,
        Some(_) if numbers == words.len() => before.ends_with(b" "),
        Some(tag) => {
            numbers + 1 == words.len() && (tag.starts_with(b"'") || (numbers > 0 && !before.ends_with(b" ")))
        }
    };
    header
        && words.len() <= 4
        && numbers <= 3
        && !matches!(after.first(), None | Some(b':' | b'|' | b'"' | b','))
}
