//! Where records and cells begin and end.

use csv_core::{ReadFieldResult, ReadRecordResult, Reader, ReaderBuilder};
use memchr::{memchr, memrchr};
use std::sync::{Mutex, PoisonError};

/// Reads record after record of one block.
pub(super) struct Records {
    reader: Lent,
    text: Vec<u8>,
    ends: Vec<usize>,
    at: usize,
}

/// A record: its bytes in the block are `start..end`.
pub(super) struct Record<'a> {
    pub start: usize,
    pub end: usize,
    /// The cells without their quotes, end to end.
    pub text: &'a [u8],
    /// Where each cell ends in `text`.
    pub ends: &'a [usize],
}

impl Record<'_> {
    pub fn cells(&self) -> usize {
        self.ends.len()
    }
}

/// A reader that is used again when it is given back: to make one takes longer than to read a small file. (A clone of
/// one would do, but csv-core 0.1.13 leaves half of its tables out.)
struct Lent {
    reader: Option<Box<Reader>>,
    delimiter: u8,
}

/// Readers that nobody uses, with their delimiters; a few.
static SPARE: Mutex<Vec<(u8, Box<Reader>)>> = Mutex::new(Vec::new());
const FEW: usize = 8;

impl Lent {
    fn new(delimiter: u8) -> Lent {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let known = spare.iter().position(|(known, _)| *known == delimiter);
        let reader = known.map(|k| spare.swap_remove(k).1);
        drop(spare);
        let mut lent = Lent { reader, delimiter };
        prime(lent.reader());
        lent
    }

    fn reader(&mut self) -> &mut Reader {
        let delimiter = self.delimiter;
        self.reader.get_or_insert_with(|| Box::new(ReaderBuilder::new().delimiter(delimiter).build()))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < FEW {
            spare.extend(self.reader.take().map(|reader| (self.delimiter, reader)));
        }
    }
}

/// Puts a reader at the start of a record that is not the start of a file: U+FEFF is a character there. The reader leaves it
/// out where it starts, which may be any block: a blank line makes it start earlier.
fn prime(reader: &mut Reader) {
    reader.reset();
    reader.read_record(b"\n", &mut [0], &mut [0]);
}

impl Records {
    pub fn new(delimiter: u8) -> Records {
        Records { reader: Lent::new(delimiter), text: vec![0; 1024], ends: vec![0; 64], at: 0 }
    }

    /// Another block follows, which starts where a record starts.
    pub fn restart(&mut self) {
        prime(self.reader.reader());
        self.at = 0;
    }

    pub fn delimiter(&self) -> u8 {
        self.reader.delimiter
    }

    /// The next record of the block.
    pub fn next(&mut self, block: &[u8]) -> Option<Record<'_>> {
        let rest = block.get(self.at..)?;
        let start = self.at + rest.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
        let (mut bytes, mut cells) = (0, 0);
        self.at = start;
        let reader = self.reader.reader();
        loop {
            let (result, read, written, ended) =
                reader.read_record(&block[self.at..], &mut self.text[bytes..], &mut self.ends[cells..]);
            (self.at, bytes, cells) = (self.at + read, bytes + written, cells + ended);
            match result {
                ReadRecordResult::InputEmpty => {} // once more, and the reader knows that this is the end
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return None,
            }
        }
        Some(Record { start, end: self.at, text: &self.text[..bytes], ends: &self.ends[..cells] })
    }
}

/// Where cell `k` of a record starts among its bytes; for messages.
#[cold]
pub(super) fn cell_start(delimiter: u8, record: &[u8], k: usize) -> usize {
    let (mut lent, mut at, mut left) = (Lent::new(delimiter), 0, k);
    let reader = lent.reader();
    while left > 0 && at < record.len() {
        let (result, read, _) = reader.read_field(&record[at..], &mut [0; 64]);
        at += read;
        left -= usize::from(matches!(result, ReadFieldResult::Field { .. }));
    }
    at
}

/// How bytes that start with a record are cut into records.
pub(super) struct Cut {
    /// The end of the last record that ends with LF.
    pub whole: usize,
    /// Where the quote opens inside which the bytes end.
    pub inside: Option<usize>,
}

/// Finds the last LF outside quotes. A quote opens a cell only at its start, and `""` inside is text; so one walks from
/// quote to quote and never looks at the bytes between.
pub(super) fn cut(delimiter: u8, bytes: &[u8]) -> Cut {
    let next_quote = |from: usize| memchr(b'"', bytes.get(from..)?).map(|at| from + at);
    let last_end = |from: usize, to: usize| memrchr(b'\n', &bytes[from..to]).map(|at| from + at + 1);
    let (mut whole, mut outside, mut from) = (0, 0, 0);
    while let Some(quote) = next_quote(from) {
        let opens = quote
            .checked_sub(1)
            .is_none_or(|before| matches!(bytes[before], b'\r' | b'\n') || bytes[before] == delimiter);
        from = quote + 1;
        if !opens {
            continue;
        }
        whole = last_end(outside, quote).unwrap_or(whole);
        let open = quote;
        loop {
            let Some(quote) = next_quote(from) else { return Cut { whole, inside: Some(open) } };
            from = quote + 1;
            if bytes.get(from) != Some(&b'"') {
                break; // closed
            }
            from += 1;
        }
        outside = from;
    }
    Cut { whole: last_end(outside, bytes.len()).unwrap_or(whole), inside: None }
}

/// What is wrong with the quotes of a record, and where the quote opens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quotes {
    /// The file ends inside the quotes.
    Open(usize),
    /// So many lines stand inside the quotes, and text behind them: two stray quotes, and rows between them.
    Stray(usize, usize),
}

/// Looks for quotes that swallow rows.
#[cold]
pub(super) fn quotes(delimiter: u8, record: &[u8]) -> Option<Quotes> {
    let ends = |byte: &u8| matches!(byte, b'\r' | b'\n') || *byte == delimiter;
    let mut from = 0;
    while let Some(open) = memchr(b'"', record.get(from..)?).map(|at| from + at) {
        from = open + 1;
        if open.checked_sub(1).is_some_and(|before| !ends(&record[before])) {
            continue; // inside a bare cell
        }
        loop {
            let rest = record.get(from..).unwrap_or_default();
            let Some(at) = memchr(b'"', rest) else { return Some(Quotes::Open(open)) };
            from += at + 1;
            if record.get(from) != Some(&b'"') {
                break; // closed
            }
            from += 1;
        }
        let lines = memchr::memchr_iter(b'\n', &record[open..from]).count();
        let mut behind = record[from..].iter().skip_while(|byte| matches!(byte, b' ' | b'\t') && !ends(byte));
        if lines > 0 && behind.next().is_some_and(|byte| !ends(byte)) {
            return Some(Quotes::Stray(open, lines));
        }
    }
    None
}
