//! Checks the nesting depth of a Parquet schema before the schema is parsed.
//!
//! Third-party code parses the schema by recursion, and a stack overflow would abort the program. Arrow's
//! reader checks the depth of its schemas itself.
//!
//! ```text
//! footer        = version, schema, …                    in Thrift's compact protocol
//! schema        = list of elements, a tree in preorder: each says how many children follow it
//! field         = header (type, step of the id), value; known fields must have the type they have in the format
//! ```
//!
//! Third-party code reads known fields by their ids and ignores the types they claim. So a field of another
//! type is rejected here. Otherwise the two readers would see different trees in the same bytes.

use super::page_checks::varint;

/// Maximum nesting depth of columns.
const DEEPEST: usize = 100;

/// Maximum nesting depth of unknown fields, which third-party code also skips by recursion.
const DEEPEST_UNKNOWN: usize = 60;

/// The content of a field in the Thrift schema.
enum Holds {
    I32,
    Byte,
    Bool,
    Text,
    Struct(&'static [(i64, Holds)]),
}

use Holds::{Bool, Byte, I32, Struct, Text};

const EMPTY: Holds = Struct(&[]);
const UNIT: Holds = Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]);
const TIME: Holds = Struct(&[(1, Bool), (2, UNIT)]);

/// The fields of the logical types. Types that are not listed are empty or unknown.
const LOGICAL: Holds = Struct(&[
    (5, Struct(&[(1, I32), (2, I32)])),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Bool)])),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Text)])),
    (18, Struct(&[(1, Text), (2, I32)])),
]);

/// Field id of the number of children.
const CHILDREN: i64 = 5;
const ELEMENT: &[(i64, Holds)] = &[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, Text),
    (CHILDREN, I32),
    (6, I32),
    (7, I32),
    (8, I32),
    (9, I32),
    (10, LOGICAL),
];

/// Rejects a footer whose schema is nested too deeply or malformed.
pub(super) fn check(footer: &[u8]) -> Result<(), String> {
    let mut reader = Reader { bytes: footer, at: 0 };
    match reader.too_deep() {
        Some(false) => Ok(()),
        Some(true) => Err(format!("its columns are nested more than {DEEPEST} deep")),
        None => Err("its footer is damaged: the list of columns cannot be followed".to_string()),
    }
}

/// A position in bytes of Thrift's compact protocol. Its methods return `None` if the bytes are invalid.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn too_deep(&mut self) -> Option<bool> {
        if self.field(0)? != Some((1, 5)) {
            return None; // the version is the first field
        }
        self.varint()?;
        if self.field(1)? != Some((2, 9)) {
            return None; // the schema is the second field
        }
        let (elements, kind) = self.list()?;
        if kind != 12 {
            return None;
        }
        let mut open: Vec<i64> = Vec::new(); // number of missing children of each enclosing element
        for _ in 0..elements {
            let mut children = 0;
            self.fields(ELEMENT, 0, &mut |id, value| {
                if id == CHILDREN {
                    children = value;
                }
            })?;
            if children > 0 {
                open.push(children);
                if open.len() > DEEPEST {
                    return Some(true);
                }
                continue;
            }
            while let Some(left) = open.last_mut() {
                *left -= 1;
                if *left > 0 {
                    break;
                }
                open.pop();
            }
        }
        Some(false)
    }

    fn byte(&mut self) -> Option<u8> {
        self.at += 1;
        self.bytes.get(self.at - 1).copied()
    }

    fn varint(&mut self) -> Option<u64> {
        varint(self.bytes, self.at, &mut self.at)
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        (self.at <= self.bytes.len()).then_some(())
    }

    /// The id and the type of the next field of a struct, or `Some(None)` at the end of the struct.
    fn field(&mut self, last: i64) -> Option<Option<(i64, u8)>> {
        let head = self.byte()?;
        let (step, kind) = (i64::from(head >> 4), head & 15);
        match (kind, step) {
            (0, _) => Some(None),
            (_, 0) => self.varint().map(|id| Some((i64::from(zigzag(id) as i16), kind))),
            _ => Some(Some((last + step, kind))),
        }
    }

    /// The number of items of a list, and their type.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Some((count, head & 15))
    }

    /// Reads a struct and calls `see` with the id and value of each integer field.
    fn fields(&mut self, known: &[(i64, Holds)], depth: usize, see: &mut dyn FnMut(i64, i64)) -> Option<()> {
        let mut last = 0;
        while let Some((id, kind)) = self.field(last)? {
            last = id;
            match (known.iter().find(|(known, _)| *known == id).map(|(_, holds)| holds), kind) {
                (None, _) => self.skip(kind, depth + 1)?,
                (Some(Bool), 1 | 2) => {}
                (Some(Byte), 3) => self.pass(1)?,
                (Some(I32), 5) => see(id, i64::from(zigzag(self.varint()?) as i32)),
                (Some(Text), 8) => {
                    let length = self.varint()?;
                    self.pass(length)?;
                }
                (Some(Struct(known)), 12) => self.fields(known, depth + 1, &mut |_, _| {})?,
                (Some(_), _) => return None,
            }
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
                if matches!(kind, 1 | 2) {
                    return None; // Parquet has no list of this type, and readers differ on how to skip it
                }
                (0..count).try_for_each(|_| self.skip(kind, depth + 1))
            }
            12 => self.fields(&[], depth, &mut |_, _| {}),
            _ => None,
        }
    }
}

fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
