//! Checks a Parquet footer before third-party code parses it: the nesting depth of its schema, and that its fields can be
//! followed.
//!
//! Third-party code parses the schema by recursion, and a stack overflow would abort the program. Arrow's
//! reader checks the depth of its schemas itself.
//!
//! ```text
//! footer        = version, schema, …                    in Thrift's compact protocol: see `thrift.rs`
//! schema        = list of elements, a tree in preorder: each says how many children follow it
//! ```

use super::thrift::Holds::{self, Bool, Byte, Double, I16, I32, I64, List, Struct, Text};
use super::thrift::{EMPTY, Reader, STATISTICS};

/// Maximum nesting depth of columns.
const DEEPEST: usize = 100;

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

const KEY_VALUE: Holds = Struct(&[(1, Text), (2, Text)]);
const BOX: Holds = Struct(&[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
]);

/// What the footer says of the values of a column.
const COLUMN: Holds = Struct(&[
    (1, I32),
    (2, List(&I32)),
    (3, List(&Text)),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, List(&KEY_VALUE)),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, I32), (2, I32), (3, I32)]))),
    (14, I64),
    (15, I32),
    (16, Struct(&[(1, I64), (2, List(&I64)), (3, List(&I64))])),
    (17, Struct(&[(1, BOX), (2, List(&I32))])),
]);
const CHUNK: Holds = Struct(&[
    (1, Text),
    (2, I64),
    (3, COLUMN),
    (4, I64),
    (5, I32),
    (6, I64),
    (7, I32),
    (8, Struct(&[(1, EMPTY), (2, Struct(&[(1, List(&Text)), (2, Text)]))])),
    (9, Text),
]);
const GROUP: Holds = Struct(&[
    (1, List(&CHUNK)),
    (2, I64),
    (3, I64),
    (4, List(&Struct(&[(1, I32), (2, Bool), (3, Bool)]))),
    (5, I64),
    (6, I64),
    (7, I16),
]);

/// The fields behind the schema.
const FOOTER: &[(i64, Holds)] = &[
    (3, I64),
    (4, List(&GROUP)),
    (5, List(&KEY_VALUE)),
    (6, Text),
    (7, List(&Struct(&[(1, EMPTY)]))),
    (9, Text),
];

/// Rejects a footer whose schema is nested too deeply, or whose fields are malformed.
pub(super) fn check(footer: &[u8]) -> Result<(), String> {
    let mut reader = Reader { bytes: footer, at: 0 };
    let damaged = |what: &str| Err(format!("its footer is damaged: {what} cannot be followed"));
    match too_deep(&mut reader) {
        Some(false) => {}
        Some(true) => return Err(format!("its columns are nested more than {DEEPEST} deep")),
        None => return damaged("the list of columns"),
    }
    reader.fields(FOOTER, 2, 0, 0, &mut |_, _| {}).map_or_else(|| damaged("what is behind the columns"), Ok)
}

/// Reads the footer up to its schema, and says whether the schema is nested too deeply.
fn too_deep(reader: &mut Reader) -> Option<bool> {
    if reader.field(0)? != Some((1, 5)) {
        return None; // the version is the first field
    }
    reader.varint()?;
    if reader.field(1)? != Some((2, 9)) {
        return None; // the schema is the second field
    }
    let (elements, kind) = reader.list()?;
    if kind != 12 {
        return None;
    }
    let mut open: Vec<i32> = Vec::new(); // number of missing children of each enclosing element
    for _ in 0..elements {
        let mut children = 0;
        reader.fields(ELEMENT, 0, 0, 0, &mut |path, value| {
            if path == CHILDREN {
                children = value as i32; // as third-party code casts it
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
