//! Follows bytes of Thrift's compact protocol, in which Parquet writes its footer and the headers of its pages.
//!
//! ```text
//! struct = fields, 0       field = header (type, step of the id), value       list = header (length, type), items
//! ```
//!
//! Third-party code reads known fields by their ids and ignores the types they claim. So a field of another type is
//! rejected here. Otherwise the two readers would see different fields in the same bytes.

/// Maximum nesting depth of unknown fields, which third-party code also skips by recursion.
const DEEPEST_UNKNOWN: usize = 60;

/// The content of a field that the format knows.
pub(super) enum Holds {
    Bool,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Text,
    List(&'static Holds),
    Struct(&'static [(i64, Holds)]),
}

use Holds::*;

/// A struct without fields.
pub(super) const EMPTY: Holds = Struct(&[]);

/// Minimum and maximum of a column or page, and counts.
pub(super) const STATISTICS: Holds =
    Struct(&[(1, Text), (2, Text), (3, I64), (4, I64), (5, Text), (6, Text), (7, Bool), (8, Bool), (9, I64)]);

/// A position in bytes of the protocol. Its methods return `None` if the bytes are invalid.
pub(super) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

/// Called with the path of a known number or boolean, and its value. The path of field 5 in field 10 is 1005.
pub(super) type See<'a> = &'a mut dyn FnMut(i64, i64);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        self.at += 1;
        self.bytes.get(self.at - 1).copied()
    }

    pub fn varint(&mut self) -> Option<u64> {
        varint(self.bytes, self.at, &mut self.at)
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        (self.at <= self.bytes.len()).then_some(())
    }

    /// The id and the type of the next field of a struct, or `Some(None)` at the end of the struct.
    pub fn field(&mut self, last: i64) -> Option<Option<(i64, u8)>> {
        let head = self.byte()?;
        let (step, kind) = (i64::from(head >> 4), head & 15);
        match (kind, step) {
            (0, _) => Some(None),
            (_, 0) => self.varint().map(|id| Some((i64::from(zigzag(id) as i16), kind))),
            _ => Some(Some((last + step, kind))),
        }
    }

    /// The number of items of a list, and their type.
    pub fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Some((count, head & 15))
    }

    /// Reads a struct whose fields begin behind `last`, the id of a field that was read already.
    pub fn fields(
        &mut self,
        known: &[(i64, Holds)],
        mut last: i64,
        path: i64,
        depth: usize,
        see: See,
    ) -> Option<()> {
        while let Some((id, kind)) = self.field(last)? {
            last = id;
            match known.iter().find(|(known, _)| *known == id) {
                None => self.skip(kind, depth + 1)?,
                Some((_, holds)) => self.known(holds, kind, 100 * path + id, depth, see)?,
            }
        }
        Some(())
    }

    /// Reads a known field, which must have the type that it has in the format.
    fn known(&mut self, holds: &Holds, kind: u8, path: i64, depth: usize, see: See) -> Option<()> {
        match (holds, kind) {
            (Bool, 1 | 2) => see(path, i64::from(kind == 1)),
            (Byte, 3) => self.pass(1)?,
            (I16, 4) | (I32, 5) | (I64, 6) => see(path, zigzag(self.varint()?)),
            (Double, 7) => self.pass(8)?,
            (Text, 8) => {
                let length = self.varint()?;
                self.pass(length)?;
            }
            (List(item), 9) => {
                let (count, kind) = self.list()?;
                if matches!(kind, 1 | 2) {
                    return None; // see `skip`
                }
                (0..count).try_for_each(|_| self.known(item, kind, path, depth + 1, see))?;
            }
            (Struct(known), 12) => self.fields(known, 0, path, depth + 1, see)?,
            _ => return None,
        }
        Some(())
    }

    /// Skips a value of any type.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEEPEST_UNKNOWN {
            return None;
        }
        match kind {
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.varint().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.varint()?;
                self.pass(length)
            }
            9 | 10 => {
                let (count, kind) = self.list()?;
                // Parquet has no list of booleans here, and readers differ on how to skip it: to some, a boolean in a list
                // has no bytes, so that six bytes stand for two billion items, which they skip one by one.
                if matches!(kind, 1 | 2) {
                    return None;
                }
                (0..count).try_for_each(|_| self.skip(kind, depth + 1))
            }
            12 => self.fields(&[], 0, 0, depth, &mut |_, _| {}),
            _ => None,
        }
    }
}

/// Decodes a signed number: 0, −1, 1, −2, …
pub(super) fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
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
