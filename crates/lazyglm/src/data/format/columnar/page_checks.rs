//! Checks the sizes that a Parquet page claims.
//!
//! The decoder reserves memory by these sizes before it reads any values. A failed reservation aborts the
//! program, with no error or panic to catch. So wrong sizes must be rejected first.

use parquet::basic::Encoding;
use parquet::column::page::Page;

/// Maximum number of items in a page of lists. Writers end a page after about a megabyte.
const ITEMS: usize = 1 << 26;

/// Metadata of a column that the page checks use.
pub(super) struct Column {
    pub rows: usize,
    pub repeats: bool,
    pub defines: bool,
}

/// The first bytes of a page header, collected as they are read.
#[derive(Default)]
pub(super) struct Head {
    bytes: [u8; 20],
    count: usize,
}

impl Head {
    /// Adds bytes of the header. Returns the uncompressed and compressed size of the page once both are
    /// known.
    pub fn sizes(&mut self, more: &[u8]) -> Option<(u64, u64)> {
        let room = more.len().min(self.bytes.len() - self.count);
        self.bytes[self.count..self.count + room].copy_from_slice(&more[..room]);
        self.count += room;
        // Three numbers, each after a byte that announces it: the kind of page, its size, its compressed
        // size.
        let (mut at, mut numbers) = (0, [0; 3]);
        for number in &mut numbers {
            if self.bytes[..self.count].get(at) != Some(&0x15) {
                return None;
            }
            *number = varint(&self.bytes[..self.count], at + 1, &mut at)?;
        }
        let [_, plain, packed] = numbers.map(|number| number >> 1); // zigzag encoding; the reader rejects negative numbers
        Some((plain, packed))
    }
}

/// Whether a page can contain as many values as it claims.
pub(super) fn check(page: &Page, column: &Column) -> bool {
    let (values, bytes) = (page.num_values() as usize, page.buffer().as_ref());
    let most = if column.repeats { ITEMS } else { column.rows };
    let sequences = match page.encoding() {
        _ if page.is_dictionary_page() => return values <= bytes.len().saturating_mul(8),
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1, // lengths
        Encoding::DELTA_BYTE_ARRAY => 2,        // lengths of the shared prefixes, and of the suffixes
        _ => return values <= most,
    };
    let fits = |bytes: &[u8]| lengths_fit(bytes, sequences, values);
    values <= most && bytes.get(levels(page, column)..).is_some_and(fits)
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

/// Whether this many delta-packed sequences follow, none longer than `most`.
fn lengths_fit(bytes: &[u8], sequences: usize, most: usize) -> bool {
    let mut at = 0;
    (0..sequences).all(|_| sequence(bytes, &mut at).is_some_and(|length| length <= most as u64))
}

/// Skips a delta-packed sequence and returns how many numbers it claims to have.
///
/// The sequence is a header, then blocks of a minimum delta, the bit widths of its parts, and the parts.
fn sequence(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = || varint(bytes, *at, at);
    let (block, parts, length, _first) = (number()?, number()?, number()?, number()?);
    let part = usize::try_from(block.checked_div(parts)?).ok().filter(|&part| part > 0)?;
    let mut left = usize::try_from(length).ok()?.saturating_sub(1);
    while left > 0 {
        varint(bytes, *at, at)?;
        let widths = bytes.get(*at..at.checked_add(usize::try_from(parts).ok()?)?)?;
        *at += widths.len();
        for &width in widths.iter().take(left.div_ceil(part)) {
            *at = at.checked_add(part.checked_mul(width.into())? / 8)?;
        }
        left = left.saturating_sub(part.saturating_mul(widths.len()));
    }
    Some(length)
}

/// Decodes a varint (groups of seven bits, lowest first) and sets `end` to its end.
pub(super) fn varint(bytes: &[u8], start: usize, end: &mut usize) -> Option<u64> {
    let (mut number, mut shift) = (0u64, 0);
    for (k, &byte) in bytes.get(start..)?.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            *end = start + k + 1;
            return Some(number);
        }
        shift += 7;
    }
    None
}
