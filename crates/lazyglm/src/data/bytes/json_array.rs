//! A JSON array of objects, read as JSON Lines.
//!
//! ```text
//! [                            (empty line)
//!   {"a": 1,             ↦     {"a": 1,  "b": 2}
//!    "b": 2},                  (empty line)
//!   {"a": 3}                   {"a": 3}
//! ]                            (empty line)
//! ```
//!
//! An object stays on the line on which it begins, so that errors name its line. If several objects share a line, each
//! gets a line of its own, and later lines count the objects. Commas between objects and the brackets around them are
//! removed. A comma or a bracket where none belongs is kept, so that the parser rejects it with its place.

use std::io::{self, Read};

/// Number of bytes that are read at a time.
const CHUNK: usize = 1 << 16;

/// Whether bytes begin with an array that is empty, or whose first item is an object.
pub(crate) fn is_array(first: &[u8]) -> bool {
    let inside = first.trim_ascii_start().strip_prefix(b"[");
    inside.is_some_and(|inside| matches!(inside.trim_ascii_start().first(), Some(b'{' | b']')))
}

/// Reads the items of an array, one per line.
pub(super) struct JsonArray<R> {
    reader: R,
    input: Vec<u8>,
    output: Vec<u8>,
    taken: usize, // number of bytes of `output` that were returned
    ended: bool,
    state: State,
}

/// What was seen so far.
#[derive(Default)]
struct State {
    begun: bool,   // after the opening bracket
    closed: bool,  // after the closing bracket
    item: bool,    // after the start of an item, before the comma that follows it
    comma: bool,   // after a comma, before the next item
    first: bool,   // whether there was an item
    depth: usize,  // number of arrays and objects around the next byte, without the outermost
    quoted: bool,  // inside a text
    escaped: bool, // after a backslash inside a text
    lines: u64,    // line ends since the last item began, without those that the output has already
    blank: bool,   // whether the output has some of them
    ahead: u64,    // number of lines that the output is ahead of the input
}

impl<R: Read> JsonArray<R> {
    /// Reads the array that begins with the next bytes.
    pub fn new(reader: R) -> JsonArray<R> {
        let (input, output) = (vec![0; CHUNK], Vec::new());
        JsonArray { reader, input, output, taken: 0, ended: false, state: State::default() }
    }
}

impl<R: Read> Read for JsonArray<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.output.len() && !self.ended {
            self.output.clear();
            self.taken = 0;
            match self.reader.read(&mut self.input)? {
                0 if self.state.closed => self.ended = true,
                0 => {
                    let what = "the JSON array is not closed: ']' is missing at the end";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                count => self.input[..count].iter().for_each(|&byte| self.state.see(byte, &mut self.output)),
            }
        }
        let count = into.len().min(self.output.len() - self.taken);
        into[..count].copy_from_slice(&self.output[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

impl State {
    fn see(&mut self, byte: u8, output: &mut Vec<u8>) {
        if byte == b'\n' {
            self.lines += 1;
            if self.depth > 0 || self.quoted {
                // A line end inside a text is wrong: another control character is rejected just as well.
                output.push(if self.quoted { b'\t' } else { b' ' });
            } else if self.lines >= CHUNK as u64 {
                self.blank |= self.end_lines(0, output); // a file may have any number of blank lines
            }
            return;
        }
        if self.quoted {
            self.quoted = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return output.push(byte);
        }
        match byte {
            _ if self.depth > 0 => {}
            b' ' | b'\t' | b'\r' => return,
            b'[' if !self.begun => return self.begun = true,
            b',' if self.item => {
                (self.item, self.comma) = (false, true);
                return;
            }
            b']' if !self.closed => {
                if self.comma {
                    self.begin(output);
                    output.push(b','); // no item follows the last comma
                }
                (self.closed, self.item) = (true, false);
                return;
            }
            _ if !self.item => self.begin(output),
            _ => {}
        }
        match byte {
            b'"' => self.quoted = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        output.push(byte);
    }

    /// Ends the lines that have ended in the input, so many at least. Returns whether there were any.
    fn end_lines(&mut self, least: u64, output: &mut Vec<u8>) -> bool {
        let ends = self.lines.saturating_sub(self.ahead).max(least);
        output.extend(std::iter::repeat_n(b'\n', ends as usize));
        (self.ahead, self.lines) = (self.ahead + ends - self.lines, 0);
        ends > 0
    }

    /// Begins the line of an item.
    fn begin(&mut self, output: &mut Vec<u8>) {
        self.end_lines(u64::from(self.first && !self.blank), output);
        (self.item, self.comma, self.first, self.blank) = (true, false, true, false);
        if self.closed {
            output.push(b']'); // something follows the array
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::random::Random;

    /// Returns at most so many bytes at a time.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = into.len().min(self.1).min(self.0.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn lines(text: &[u8], size: usize) -> Option<String> {
        let mut lines = Vec::new();
        JsonArray::new(Slowly(text, size)).read_to_end(&mut lines).ok()?;
        Some(String::from_utf8_lossy(&lines).into_owned())
    }

    #[test]
    fn items_stay_on_their_lines_and_share_none() {
        for (text, expected) in [
            ("[]", ""),
            ("[{\"a\": 1}, {\"a\": [1, {}]},{}]\n", "{\"a\": 1}\n{\"a\": [1, {}]}\n{}"),
            ("[\n  {\n  \"a\": 1\n },\n{\"b\": 2}\n]\n", "\n{   \"a\": 1  }\n\n\n{\"b\": 2}"),
            ("[{\"a\": \"],[\\\"{\\\\\"},\n{}\n,\n\n{}]", "{\"a\": \"],[\\\"{\\\\\"}\n{}\n\n\n{}"),
            ("[{},{},\n{},\n\n{}]", "{}\n{}\n{}\n{}"), // the second item is a line ahead, the fourth is not
            ("[{}{}]", "{}{}"),
            ("[{},]", "{}\n,"),
            ("[{},,{}]", "{}\n,{}"),
            ("[{}]{}", "{}\n]{}"),
            ("[{\"a\n\"}]", "{\"a\t\"}"),
        ] {
            assert_eq!(lines(text.as_bytes(), 1000).as_deref(), Some(expected), "{text}");
        }
        for open in ["[", "[{}", "[{},", "[{\"a\": \"]\"", "[{\"a\": [1]"] {
            assert_eq!(lines(open.as_bytes(), 1000), None, "{open}");
        }
    }

    #[test]
    fn blank_lines_of_any_number_take_no_memory_and_keep_the_numbers_of_lines() {
        for blank in [CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 7] {
            let ends = "\n".repeat(blank);
            let text = format!("{ends}[{ends}{{}},{{}},{{}},{ends}{{}}{ends}]{ends}");
            let mut array = JsonArray::new(Slowly(text.as_bytes(), CHUNK));
            let (mut read, mut some) = (Vec::new(), vec![0; CHUNK]);
            loop {
                let count = array.read(&mut some).unwrap();
                assert!(array.output.capacity() <= 8 * CHUNK, "{} bytes", array.output.capacity());
                match count {
                    0 => break,
                    count => read.extend_from_slice(&some[..count]),
                }
            }
            let lines = String::from_utf8(read).unwrap();
            let found: Vec<usize> =
                lines.lines().enumerate().filter(|(_, line)| *line == "{}").map(|(k, _)| k).collect();
            assert_eq!(
                found,
                [2 * blank, 2 * blank + 1, 2 * blank + 2, 3 * blank],
                "two are ahead of the input"
            );
        }
    }

    #[test]
    fn any_bytes_in_any_pieces_give_the_same_lines() {
        let mut dice = Random::new(11);
        for _ in 0..5_000 {
            let mut text = b"[\n {\"a\": [1, \"]\\\"\"], \"b\": {\"c\": 2}},\r\n{\"a\": null}\n]\n".to_vec();
            for _ in 0..dice.below(6) {
                let at = dice.below(text.len() as u64) as usize;
                let byte = b"[]{},\"\\\n \t1a\xff"[dice.below(13) as usize];
                match dice.below(3) {
                    0 => text[at] = byte,
                    1 => text.insert(at, byte),
                    _ => drop(text.remove(at)),
                }
            }
            let size = 1 + dice.below(9) as usize;
            assert_eq!(lines(&text, size), lines(&text, 1000), "{:?}", String::from_utf8_lossy(&text));
        }
    }
}
