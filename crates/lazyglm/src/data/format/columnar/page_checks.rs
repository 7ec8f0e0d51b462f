//! What a page may claim. Memory is reserved by these claims before a byte of the values is looked at, and a failed
//! reservation ends the program: no error, no panic that could be caught. So a damaged number must not get that far.

use parquet::basic::Encoding;
use parquet::column::page::Page;

/// A page of lists has at most so many items. Writers end a page after a megabyte or so.
const ITEMS: usize = 1 << 26;

/// What is known of a column when its pages are read.
pub(super) struct Column {
    pub rows: usize,
    pub repeats: bool,
    pub defines: bool,
}

/// The first bytes of a page header, as they come in.
#[derive(Default)]
pub(super) struct Head {
    bytes: [u8; 20],
    count: usize,
}

impl Head {
    /// Takes more of the header; the sizes of the page, plain and compressed, as soon as both are known.
    pub fn sizes(&mut self, more: &[u8]) -> Option<(u64, u64)> {
        let room = more.len().min(self.bytes.len() - self.count);
        self.bytes[self.count..self.count + room].copy_from_slice(&more[..room]);
        self.count += room;
        // Three numbers, each after a byte that says so: the kind of page, its size, its compressed size.
        let (mut at, mut numbers) = (0, [0; 3]);
        for number in &mut numbers {
            if self.bytes[..self.count].get(at) != Some(&0x15) {
                return None;
            }
            *number = varint(&self.bytes[..self.count], at + 1, &mut at)?;
        }
        let [_, plain, packed] = numbers.map(|number| number >> 1); // zigzag; of negative numbers others complain
        Some((plain, packed))
    }
}

/// Whether a page can have the values it says it has.
pub(super) fn check(page: &Page, column: &Column) -> bool {
    let (values, bytes) = (page.num_values() as usize, page.buffer().as_ref());
    let most = if column.repeats { ITEMS } else { column.rows };
    let sequences = match page.encoding() {
        _ if page.is_dictionary_page() => return values <= bytes.len().saturating_mul(8),
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1, // lengths
        Encoding::DELTA_BYTE_ARRAY => 2, // lengths of what is shared with the text before, and of the rest
        _ => return values <= most,
    };
    let fits = |bytes: &[u8]| lengths_fit(bytes, sequences, values);
    values <= most && bytes.get(levels(page, column)..).is_some_and(fits)
}

/// How many bytes of a page come before its values: they say which rows have one.
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

/// Whether so many delta-packed sequences stand here, none longer than `most`.
fn lengths_fit(bytes: &[u8], sequences: usize, most: usize) -> bool {
    let mut at = 0;
    (0..sequences).all(|_| sequence(bytes, &mut at).is_some_and(|length| length <= most as u64))
}

/// Steps over a delta-packed sequence: a header, then blocks of a least delta, the bit widths of its parts, and the
/// parts. How many numbers it says it has.
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

/// A number in groups of seven bits, the lowest first; `end` is where it ends.
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
