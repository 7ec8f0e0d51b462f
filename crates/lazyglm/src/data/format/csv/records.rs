//! Splits bytes into records and cells.

use csv_core::{ReadFieldResult, ReadRecordResult, Reader, ReaderBuilder};
use memchr::{memchr, memrchr};
use std::sync::{Mutex, PoisonError};

/// Reads the records of one block.
pub(super) struct Records {
    reader: Lent,
    text: Vec<u8>,
    ends: Vec<usize>,
    at: usize,
}

/// A record. Its bytes in the block are `start..end`.
pub(super) struct Record<'a> {
    pub start: usize,
    pub end: usize,
    /// The unquoted cells, concatenated.
    pub text: &'a [u8],
    /// The end of each cell in `text`.
    pub ends: &'a [usize],
}

impl Record<'_> {
    pub fn cells(&self) -> usize {
        self.ends.len()
    }
}

/// A CSV reader borrowed from a pool, because creating one takes longer than reading a small file.
///
/// A clone would do, but csv-core 0.1.13 does not copy all of its tables.
struct Lent {
    reader: Option<Box<Reader>>,
    delimiter: u8,
}

/// The pool of unused readers, with their delimiters.
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

/// Moves a reader past the start of a file, so that it does not strip U+FEFF.
///
/// A reader strips U+FEFF from the first bytes it sees, but only at the start of a file is it a mark. Reading a
/// blank line first prevents that.
fn prime(reader: &mut Reader) {
    reader.reset();
    reader.read_record(b"\n", &mut [0], &mut [0]);
}

impl Records {
    pub fn new(delimiter: u8) -> Records {
        Records { reader: Lent::new(delimiter), text: vec![0; 1024], ends: vec![0; 64], at: 0 }
    }

    /// Prepares for the next block, which starts at the start of a record.
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
                ReadRecordResult::InputEmpty => {} // the next call tells the reader that this is the end
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return None,
            }
        }
        Some(Record { start, end: self.at, text: &self.text[..bytes], ends: &self.ends[..cells] })
    }
}

/// The start of cell `k` within a record's bytes, for error messages.
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

/// How bytes that start with a record are split into records.
pub(super) struct Cut {
    /// The end of the last record that ends with LF.
    pub whole: usize,
    /// The position of the opening quote, if the bytes end inside quotes.
    pub inside: Option<usize>,
}

/// Finds the last LF outside quotes.
///
/// A quote opens a cell only at its start, and `""` inside quotes is text. So the search jumps from quote to
/// quote and skips the bytes between.
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

/// An error in the quotes of a record, with the position of the opening quote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quotes {
    /// The file ends inside the quotes.
    Open(usize),
    /// The number of lines inside the quotes, which are followed by text: two stray quotes with rows between
    /// them.
    Stray(usize, usize),
}

/// Finds stray quotes that swallow rows.
#[cold]
pub(super) fn quotes(delimiter: u8, record: &[u8]) -> Option<Quotes> {
    let ends = |byte: &u8| matches!(byte, b'\r' | b'\n') || *byte == delimiter;
    let mut from = 0;
    while let Some(open) = memchr(b'"', record.get(from..)?).map(|at| from + at) {
        from = open + 1;
        if open.checked_sub(1).is_some_and(|before| !ends(&record[before])) {
            continue; // inside an unquoted cell
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
