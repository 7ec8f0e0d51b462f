//! A writer for terminals that escapes control characters, so that file contents cannot control the terminal.

use lazyglm::escaped;
use std::io::{self, Write};

/// Escapes control characters, except line ends and tabs. Bytes that are no text are replaced by U+FFFD.
pub struct Harmless<W: Write> {
    to: W,
    rest: Vec<u8>, // the first bytes of a character whose other bytes are still to come
}

impl<W: Write> Harmless<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Harmless<W> {
        Harmless { to, rest: Vec::new() }
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        for piece in text.split_inclusive(['\n', '\t']) {
            let inside = piece.trim_end_matches(['\n', '\t']);
            self.to.write_all(escaped(inside).as_bytes())?;
            self.to.write_all(&piece.as_bytes()[inside.len()..])?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.rest);
        for chunk in all.utf8_chunks() {
            self.show(chunk.valid())?;
            let tail = chunk.invalid();
            let is_last = tail.as_ptr_range().end == all.as_ptr_range().end;
            let may_go_on = is_last && std::str::from_utf8(tail).is_err_and(|e| e.error_len().is_none());
            match may_go_on {
                true => self.rest = tail.to_vec(),
                false if tail.is_empty() => {}
                false => self.to.write_all("\u{fffd}".as_bytes())?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::Harmless;
    use std::io::Write;

    fn shown(parts: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut harmless = Harmless::new(&mut out);
        parts.iter().for_each(|part| harmless.write_all(part).expect("a Vec takes all"));
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn only_control_characters_are_escaped() {
        assert_eq!(shown(&[b"a\tb\nc\x1b[31m\x07\n"]), "a\tb\nc\\u{1b}[31m\\u{7}\n");
        assert_eq!(shown(&["é\u{9b}31m".as_bytes()]), "é\\u{9b}31m");
        assert_eq!(shown(&[b"plain\n", b"", b"text"]), "plain\ntext");
    }

    #[test]
    fn a_character_may_come_in_two_writes_and_other_bytes_are_replaced() {
        assert_eq!(shown(&[b"\xc3", b"\xa9\n"]), "é\n");
        assert_eq!(shown(&[b"\xc2", b"\x9b"]), "\\u{9b}");
        assert_eq!(shown(&[b"a\xff", b"b"]), "a\u{fffd}b");
    }
}
