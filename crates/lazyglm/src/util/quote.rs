//! Text of the input as messages quote it: short, and without characters that steer a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Characters of a value that an error quotes.
const QUOTED: usize = 60;

/// Characters of each part of an error: the last bound, for lists of names and the like.
const LONGEST_PART: usize = 2000;

/// Whether a terminal obeys the character, or a line is reordered or ended by it.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether the character marks a parameter in a message of this crate (see `parameter.rs`).
fn marks(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{e002}')
}

/// The text with its control characters escaped (`\\u{1b}`), so that no file can steer the terminal it is shown on.
/// Characters that reorder a line or end one (U+202A to U+202E, U+2066 to U+2069, U+2028, U+2029) are escaped too, and
/// those that mark parameters in messages of this crate (U+E000 to U+E002).
///
/// ```
/// use lazyglm::escaped;
/// assert_eq!([escaped("naïve"), escaped("a\x1b[31m\n")], ["naïve", "a\\u{1b}[31m\\n"]);
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_if(text, |c| steers(c) || marks(c))
}

fn escaped_if(text: &str, wrong: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&wrong) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match wrong(c) {
            true => plain.extend(c.escape_default()),
            false => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// A value of the input as an error quotes it: control characters escaped; of a long value, the start and its length.
///
/// ```
/// use lazyglm::excerpt;
/// assert_eq!(excerpt("2:x"), "2:x");
/// assert_eq!(excerpt("é".repeat(500)), "é".repeat(60) + "… (1000 bytes)");
/// ```
pub fn excerpt(value: impl AsRef<[u8]>) -> String {
    let value = value.as_ref();
    let text = String::from_utf8_lossy(&value[..value.len().min(4 * QUOTED + 4)]); // a character has up to four bytes
    match text.char_indices().nth(QUOTED) {
        None => escaped(&text).into_owned(),
        Some((end, _)) => {
            let mut start = escaped(&text[..end]).into_owned();
            let _ = write!(start, "… ({} bytes)", value.len()); // a String takes all that is written
            start
        }
    }
}

/// Bounds a part of an error, whatever was put into it. The marks of parameters stay.
pub(super) fn bounded(part: &mut String) {
    let end = part.char_indices().nth(LONGEST_PART).map(|(end, _)| end);
    if end.is_none() && !part.contains(steers) {
        return;
    }
    let rest = if end.is_some() { "…" } else { "" };
    *part = escaped_if(&part[..end.unwrap_or(part.len())], steers).into_owned() + rest;
}
