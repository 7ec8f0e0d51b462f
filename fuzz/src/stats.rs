//! Statistics of data files: any bytes are counted or an error, whatever their names are. A JSON array is unpacked first.
//!
//! The first byte of an input chooses the format, the second the reading options.

use super::limits::limited_by;
use super::text::columns;
use super::{Choices, in_file};
use lazyglm::ReadOptions;

const FORMATS: [&str; 5] = ["csv", "jsonl", "svmlight", "vw", "text"];
/// Memory for a file of no length: blocks that threads read into, and counts of distinct values.
const CONSTANT: usize = 16 << 20;
/// All memory at once, per byte: a name of one byte has entries in a vocabulary, in counts and in the columns of a table.
const PER_BYTE: usize = 512;

/// Any bytes as a data file of which statistics are asked.
pub fn stats(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let format = FORMATS[choices.byte() % FORMATS.len()];
    let asked = ReadOptions { format: Some(format.to_string()), ..columns(choices.byte()) };
    in_file(choices.rest, |path| {
        let count = || lazyglm::stats::stats(path, &asked);
        if let Ok(stats) = limited_by(PER_BYTE, bytes.len(), CONSTANT, count) {
            assert!(stats.rows <= bytes.len() as u64 + 1, "a row takes a byte");
            let known = |column: &lazyglm::stats::ColumnStats| column.missing.unwrap_or(0) <= stats.rows;
            assert!(stats.columns.iter().all(known), "no column misses more values than there are rows");
        }
    });
}
