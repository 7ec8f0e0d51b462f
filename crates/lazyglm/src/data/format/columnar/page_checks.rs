//! Checks the sizes that a Parquet page claims.
//!
//! The decoder reserves memory by these sizes before it reads any values. A failed reservation aborts the
//! program, with no error or panic to catch. So wrong sizes must be rejected first. Sizes can also be true: one run of levels
//! says that a list has a billion equal items. Lists with more than a million items must have bytes for them.

use super::thrift::{varint, zigzag};
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescriptor;

/// Maximum number of items in a page of lists. Writers end a page after about a megabyte.
const ITEMS: usize = 1 << 26;

/// Items that a batch of rows may have whatever its pages contain: a batch has a quarter of it by what the footer says, and
/// a row may have a million equal items.
const FREE: usize = 1 << 20;

/// Bytes of text that a page may have whatever its length, if a text may repeat the beginning of the one before.
const TEXT: usize = 1 << 24;

/// What the checks know of a column.
pub(super) struct Column {
    rows: usize,
    repeats: bool,
    defines: bool,
    items: Items,
}

impl Column {
    pub fn new(rows: usize, batch: usize, column: &ColumnDescriptor) -> Column {
        let [repetitions, definitions] = [column.max_rep_level(), column.max_def_level()];
        let width = 16 - repetitions.max(0).leading_zeros() as usize;
        let items = Items { width, batch, ..Items::default() };
        Column { rows, repeats: repetitions > 0, defines: definitions > 0, items }
    }
}

/// Checks whether a page can contain as many values as it claims, and whether its lists fit in memory.
pub(super) fn check(page: &Page, column: &mut Column) -> Result<(), &'static str> {
    const TOO_MANY: &str = "a page says it has more values than it can have";
    let (values, bytes) = (page.num_values() as usize, page.buffer().as_ref());
    let most = if column.repeats { ITEMS } else { column.rows };
    let (most, lengths) = match page.encoding() {
        _ if page.is_dictionary_page() => {
            return if values <= bytes.len() { Ok(()) } else { Err(TOO_MANY) };
        }
        Encoding::DELTA_LENGTH_BYTE_ARRAY => (most.min(lengths_of(bytes)), 1), // lengths
        Encoding::DELTA_BYTE_ARRAY => (most.min(lengths_of(bytes)), 2), // lengths of the shared prefixes, and of the suffixes
        _ => (most, 0),
    };
    if values > most {
        return Err(TOO_MANY);
    }
    if lengths > 0 {
        let rest = bytes.get(levels(page, column)..).unwrap_or_default();
        let text = text_length(rest, lengths, values).ok_or(TOO_MANY)?;
        if text > bytes.len().saturating_mul(64).saturating_add(TEXT) as u64 {
            return Err("a few bytes stand for a long text in many rows");
        }
    }
    let repetitions = if column.repeats { repetitions(page) } else { None };
    let see = |levels| column.items.see(levels, values, bytes.len());
    match repetitions.is_none_or(see) {
        true => Ok(()),
        false => Err("a few bytes stand for lists of more than a million equal items"),
    }
}

/// Maximum number of lengths in a page. Memory is reserved for all of them, and a few bytes can claim any number.
fn lengths_of(bytes: &[u8]) -> usize {
    bytes.len().saturating_mul(4).saturating_add(FREE)
}

/// The bytes of a page that say where lists begin. `None` for dictionaries, and for the old encoding without runs.
fn repetitions(page: &Page) -> Option<&[u8]> {
    let bytes = page.buffer().as_ref();
    match page {
        Page::DataPage { rep_level_encoding: Encoding::RLE, .. } => {
            let (length, rest) = bytes.split_first_chunk()?;
            rest.get(..u32::from_le_bytes(*length) as usize)
        }
        Page::DataPageV2 { rep_levels_byte_len, .. } => bytes.get(..*rep_levels_byte_len as usize),
        _ => None,
    }
}

/// Counts the items of the lists in each batch of rows, which are decoded together.
///
/// A level of zero begins a row. Levels are encoded as runs, so that a few bytes can stand for any number of items.
#[derive(Default)]
struct Items {
    /// Bits per level.
    width: usize,
    /// Rows per batch.
    batch: usize,
    rows: usize,
    items: usize,
    /// Bytes of the pages that the batch touches.
    bytes: usize,
}

impl Items {
    /// Goes through the levels of a page. Returns false if a batch has too many items for the bytes of its pages.
    fn see(&mut self, levels: &[u8], values: usize, bytes: usize) -> bool {
        let (mut at, mut left) = (0, values);
        self.bytes = self.bytes.saturating_add(bytes);
        while left > 0 {
            let Some(head) = varint(levels, at, &mut at).filter(|&head| head > 0) else { break };
            let count = usize::try_from(head >> 1).unwrap_or(usize::MAX);
            if head & 1 == 0 {
                let Some(level) = levels.get(at..).and_then(|rest| rest.get(..self.width.div_ceil(8))) else {
                    break;
                };
                at += level.len();
                self.run(level.iter().all(|&byte| byte == 0), count.min(left), bytes);
                left -= count.min(left);
            } else {
                let end = at.saturating_add(count.saturating_mul(self.width)).min(levels.len());
                let packed = &levels[at..end]; // `varint` ends within the levels
                let count = (8 * packed.len() / self.width.max(1)).min(left);
                let bit = |k: usize| packed[k / 8] >> (k % 8) & 1 == 1;
                for level in 0..count {
                    let begins = !(level * self.width..(level + 1) * self.width).any(bit);
                    self.run(begins, 1, bytes);
                }
                (at, left) = (end, left - count);
                if packed.is_empty() {
                    break;
                }
            }
            if self.items > self.bytes.saturating_mul(8).saturating_add(FREE) {
                return false;
            }
        }
        true
    }

    /// Equal levels: rows that begin, or further items of the row.
    fn run(&mut self, begins: bool, count: usize, bytes: usize) {
        if begins && self.rows + count > self.batch {
            // The items of the last batch, which has just begun: one per row.
            self.rows = (self.rows + count - 1) % self.batch.max(1) + 1;
            (self.items, self.bytes) = (self.rows, bytes);
        } else {
            self.rows += if begins { count } else { 0 };
            self.items += count;
        }
    }
}

/// Number of bytes in a page before its values. They encode which rows have a value.
fn levels(page: &Page, column: &Column) -> usize {
    if let Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } = page {
        return (*def_levels_byte_len as usize).saturating_add(*rep_levels_byte_len as usize);
    }
    let (bytes, mut at) = (page.buffer().as_ref(), 0usize);
    for _ in 0..usize::from(column.repeats) + usize::from(column.defines) {
        let length = bytes.get(at..).and_then(|rest| rest.first_chunk());
        at = at.saturating_add(4 + length.map_or(0, |length| u32::from_le_bytes(*length)) as usize);
    }
    at
}

/// The sum of all lengths in this many delta-packed sequences. `None` if a sequence is invalid or longer than `most`.
fn text_length(bytes: &[u8], sequences: usize, most: usize) -> Option<u64> {
    let (mut at, mut sum) = (0, 0u64);
    for _ in 0..sequences {
        sum = sum.saturating_add(sequence(bytes, &mut at, most as u64)?);
    }
    Some(sum)
}

/// Reads a delta-packed sequence of at most so many numbers, and returns their sum; negative numbers count as zero.
///
/// The sequence is a header, then blocks of a minimum delta, the bit widths of its parts, and the parts.
fn sequence(bytes: &[u8], at: &mut usize, most: u64) -> Option<u64> {
    let mut header = || varint(bytes, *at, at);
    let (block, parts, length, first) = (header()?, header()?, header()?, zigzag(header()?));
    let part = usize::try_from(block.checked_div(parts)?).ok().filter(|&part| part > 0)?;
    let mut left = usize::try_from(length).ok().filter(|_| length <= most)?;
    let (mut number, mut sum) = (first, 0u64);
    let mut next = |delta: i64| {
        sum = sum.saturating_add(u64::try_from(number).unwrap_or(0));
        number = number.wrapping_add(delta);
    };
    while left > 1 {
        let least = zigzag(varint(bytes, *at, at)?);
        let widths = bytes.get(*at..at.checked_add(usize::try_from(parts).ok()?)?)?;
        *at += widths.len();
        for &width in widths.iter().take((left - 1).div_ceil(part)) {
            let end = at.checked_add(part.checked_mul(width.into())? / 8)?;
            let packed = bytes.get(*at..end.min(bytes.len()))?;
            for k in 0..part.min(left - 1) {
                next(least.wrapping_add(bits(packed, k * usize::from(width), width)));
            }
            (*at, left) = (end, left - part.min(left - 1));
        }
    }
    (0..left).for_each(|_| next(0));
    Some(sum)
}

/// The number of up to 64 bits that begins at this bit; bits beyond the end are zero.
fn bits(bytes: &[u8], from: usize, width: u8) -> i64 {
    let window = bytes.get(from / 8..).unwrap_or_default().iter().take(9);
    let all = window.rev().fold(0u128, |all, &byte| all << 8 | u128::from(byte)) >> (from % 8);
    (all & ((1 << width.min(64)) - 1)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_a_delta_packed_sequence_is_that_of_its_numbers() {
        // Blocks of 8 numbers in 2 parts. 5 numbers: 3, then deltas 1 + (0, 1, 2, 3), two bits each.
        let sequence_of = |length: u8| [&[8, 2, length, 6, 2, 2, 0], &[0b1110_0100][..]].concat();
        for (length, sum) in [(0, 0), (1, 3), (2, 3 + 4), (5, 3 + 4 + 6 + 9 + 13)] {
            let (bytes, mut at) = (sequence_of(length), 0);
            assert_eq!(sequence(&bytes, &mut at, 5), Some(sum), "{length} numbers");
            assert_eq!(at, if length > 1 { bytes.len() } else { 4 });
            assert_eq!(sequence(&bytes, &mut 0, u64::from(length).saturating_sub(1)).is_some(), length == 0);
        }
        // One block of a billion equal numbers.
        let billion = [0x80, 0x94, 0xeb, 0xdc, 0x03];
        let bytes = [&billion[..], &[1], &billion, &[200, 1, 0, 0]].concat();
        assert_eq!(sequence(&bytes, &mut 0, 1 << 20), None, "more than the page may have");
    }
}
