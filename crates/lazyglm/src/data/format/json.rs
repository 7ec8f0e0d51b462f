//! A tokenizer of flat JSON objects whose errors name the position.
//!
//! ```text
//! object = { "key": value, "key": value, … }
//! value  = number | "text" | true | false | null | [value, …] | object
//! ```
//!
//! The structure is parsed here, so that an error points at its byte. serde_json parses numbers and escapes.

use super::Line;
use crate::util::error::{Error, Result, excerpt};
use crate::util::number::{parse_number, short};
use crate::util::parameter::Parameter;
use memchr::memchr2;
use std::borrow::Cow;

/// A JSON value, or the start of an array.
pub(super) enum Value<'a> {
    /// A number, as written and parsed.
    Number(&'a str, f64),
    Text(Cow<'a, str>),
    Bool(bool),
    Null,
    /// `NaN`, which JSON does not have and some programs write.
    Nan,
    /// An array, whose items follow: [`Scanner::item`].
    Array,
    /// An object, whose keys follow: [`Scanner::key`].
    Object,
}

/// A position in a JSON object.
pub(super) struct Scanner<'a> {
    line: &'a Line<'a>,
    text: &'a str,
    at: usize,
    fresh: bool,  // just after `{` or `[`, where no comma follows
    depth: usize, // number of objects around the object that is being read
}

/// Maximum depth of objects inside objects.
pub(super) const DEEPEST: usize = 50;

/// Hint for a line that is not an object.
const SHAPE: &str = "write one object a line: {\"key\": value, \"key\": value}";

impl<'a> Scanner<'a> {
    /// Opens the object of a line.
    pub fn open(line: &'a Line<'a>, text: &'a str) -> Result<Scanner<'a>> {
        let mut scanner = Scanner { line, text, at: 0, fresh: true, depth: 0 };
        if scanner.peek() != Some(b'{') {
            return Err(scanner.wrong("the line is no JSON object", SHAPE));
        }
        scanner.at += 1;
        Ok(scanner)
    }

    /// Position of the next token, after spaces.
    pub fn place(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// The next key with its position, after its colon. `None` at the end of the object. The end of the outermost object
    /// must end the line.
    pub fn key(&mut self) -> Result<Option<(usize, Cow<'a, str>)>> {
        if !self.another(b'}')? {
            if self.depth > 0 {
                self.depth -= 1;
                return Ok(None);
            }
            return match self.peek() {
                None => Ok(None),
                Some(_) => Err(self.wrong("something follows the object", SHAPE)),
            };
        }
        self.quoted_key().map(Some)
    }

    /// Whether another item of an array follows, which is then to be read with [`Scanner::value`] or skipped.
    pub fn has_item(&mut self) -> Result<bool> {
        self.another(b']')
    }

    /// Whether the next value is an array.
    pub fn is_array(&mut self) -> bool {
        self.peek() == Some(b'[')
    }

    /// Whether the next value is an object.
    pub fn is_object(&mut self) -> bool {
        self.peek() == Some(b'{')
    }

    /// The value of the last key.
    pub fn value(&mut self) -> Result<Value<'a>> {
        match self.peek() {
            Some(b'"') => self.string().map(Value::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'[') => {
                (self.at, self.fresh) = (self.at + 1, true);
                Ok(Value::Array)
            }
            Some(b'{') => {
                if self.depth == DEEPEST {
                    let hint = format!("leave the outer key out with {}", Parameter::Drop);
                    return Err(self.wrong(format!("objects are nested more than {DEEPEST} deep"), hint));
                }
                (self.at, self.fresh, self.depth) = (self.at + 1, true, self.depth + 1);
                Ok(Value::Object)
            }
            None => Err(self.wrong("the line ends inside the object", SHAPE)),
            Some(_) => {
                let word = self.word();
                let value = match word {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    "null" => Value::Null,
                    "NaN" => Value::Nan,
                    _ => return Err(self.no_value(word)),
                };
                self.at += word.len();
                Ok(value)
            }
        }
    }

    /// The value of the last key if it is a number, text, true, false, null or an object. Arrays are skipped, and so is
    /// anything that is no valid value: the parser reports it with its place.
    pub fn scalar(&mut self) -> Result<Option<Value<'a>>> {
        let start = self.place();
        match self.peek() {
            Some(b'[') => {}
            _ => match self.value() {
                Ok(value) => return Ok(Some(value)),
                Err(_) => self.at = start,
            },
        }
        self.skip().map(|()| None)
    }

    /// Skips the value of the last key, whatever its type.
    pub fn skip(&mut self) -> Result<()> {
        let mut open = Vec::new(); // what closes the arrays and objects around the next value
        loop {
            let close = match self.peek() {
                Some(b'[') => b']',
                Some(b'{') => b'}',
                _ => 0,
            };
            if close == 0 {
                self.value()?;
            } else {
                self.at += 1;
                if self.peek() != Some(close) {
                    self.inner_key(close)?;
                    open.push(close);
                    continue;
                }
                self.at += 1;
            }
            loop {
                let Some(&close) = open.last() else { return Ok(()) };
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.inner_key(close)?;
                        break;
                    }
                    Some(byte) if byte == close => {
                        self.at += 1;
                        open.pop();
                    }
                    None => return Err(self.wrong("the line ends inside the object", SHAPE)),
                    Some(_) => {
                        return Err(self.wrong(format!("',' or '{}' is due here", close as char), SHAPE));
                    }
                }
            }
        }
    }

    /// Reads a key and its colon, if the values here are those of an object.
    fn inner_key(&mut self, close: u8) -> Result<()> {
        if close == b'}' { self.quoted_key().map(|_| ()) } else { Ok(()) }
    }

    /// The key that is here with its position, after its colon.
    fn quoted_key(&mut self) -> Result<(usize, Cow<'a, str>)> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a key in quotes is due here", SHAPE));
        }
        let start = self.at;
        let key = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.wrong(format!("no ':' follows the key '{}'", excerpt(key.as_bytes())), SHAPE));
        }
        self.at += 1;
        Ok((start, key))
    }

    /// Consumes the comma before another key or item. Returns false at the closing bracket.
    fn another(&mut self, close: u8) -> Result<bool> {
        let fresh = std::mem::replace(&mut self.fresh, false);
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                return Ok(false);
            }
            Some(b',') if !fresh => self.at += 1,
            Some(_) if fresh => {}
            None => return Err(self.wrong("the line ends inside the object", SHAPE)),
            Some(_) => return Err(self.wrong(format!("',' or '{}' is due here", close as char), SHAPE)),
        }
        Ok(true)
    }

    /// The next byte that is not a space.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.line.text.get(self.at), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
        self.line.text.get(self.at).copied()
    }

    /// The text from here to the next comma, bracket, quote or space.
    fn word(&self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let ends =
            |byte| matches!(byte, b',' | b'}' | b']' | b'{' | b'[' | b':' | b'"' | b' ' | b'\t' | b'\r');
        &rest[..rest.bytes().position(ends).unwrap_or(rest.len())]
    }

    fn number(&mut self) -> Result<Value<'a>> {
        let word = self.word();
        let number = match short(word.as_bytes()) {
            Some((number, length)) if length == word.len() && is_strict(word.as_bytes()) => number,
            _ => serde_json::from_str::<f64>(word).map_err(|_| self.no_value(word))?,
        };
        self.at += word.len();
        Ok(Value::Number(word, number))
    }

    /// The string whose opening quote is here. It is copied only if it contains escapes.
    fn string(&mut self) -> Result<Cow<'a, str>> {
        let (start, mut end, mut escapes) = (self.at, self.at + 1, false);
        loop {
            let rest = self.line.text.get(end..).unwrap_or_default();
            let Some(found) = memchr2(b'"', b'\\', rest) else {
                return Err(self.wrong("the quote that opens here is not closed", SHAPE));
            };
            end += found;
            if rest[found] == b'"' {
                break;
            }
            (end, escapes) = (end + 2, true);
        }
        let inside = self.text.get(start + 1..end).unwrap_or_default();
        if !escapes && !inside.bytes().any(|byte| byte < b' ') {
            self.at = end + 1;
            return Ok(Cow::Borrowed(inside));
        }
        match serde_json::from_str::<String>(self.text.get(start..=end).unwrap_or_default()) {
            Ok(text) if !text.contains('\0') => {
                self.at = end + 1;
                Ok(Cow::Owned(text))
            }
            Ok(_) => Err(self.wrong("the text has a NUL character in it", "take it out")),
            Err(error) => {
                self.at = start + error.column().saturating_sub(1);
                let hint = "write control characters and quotes with a backslash: \\n, \\t, \\\", \\u00e9";
                Err(self.wrong("this is not valid JSON text", hint))
            }
        }
    }

    #[cold]
    fn no_value(&self, word: &str) -> Error {
        let shown = excerpt(word.as_bytes());
        match parse_number(word.as_bytes()) {
            Some(number) if !number.is_finite() => {
                self.wrong(format!("'{shown}' is not finite"), "write null for a value that is not known")
            }
            _ => {
                let hint = "values are numbers, \"text\", true, false, null, objects or arrays";
                self.wrong(format!("'{shown}' is not a JSON value"), hint)
            }
        }
    }

    /// An error at the current position.
    #[cold]
    fn wrong(&self, what: impl Into<String>, hint: impl Into<String>) -> Error {
        self.line.wrong(self.at, what, hint)
    }
}

/// Whether a decimal number is valid JSON: no leading zeros, and a digit on both sides of the point.
fn is_strict(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let leading = match digits {
        [b'0', next, ..] => *next == b'.',
        [first, ..] => first.is_ascii_digit(),
        [] => false,
    };
    leading && word.last().is_some_and(u8::is_ascii_digit)
}
