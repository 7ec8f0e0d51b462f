//! Reads bytes as a reader of files would: opens, leaves out the header, cuts into blocks. For the laws of formats.

use lazyglm::Result;
use lazyglm::data::format::{FormatSpec, Opening, Parsed, ReadOptions, open};
use std::collections::BTreeMap;
use std::path::Path;

/// A row: the line on which it begins, and its features by name.
pub type Row = (u64, BTreeMap<String, f64>);

/// What was read.
#[derive(Debug, PartialEq, Default)]
pub struct Read {
    pub rows: Vec<Row>,
    pub labels: Vec<String>,
    /// The first row without a target.
    pub unlabelled: Option<usize>,
}

impl Read {
    pub fn features(&self, row: usize) -> Vec<(&str, f64)> {
        self.rows[row].1.iter().map(|(name, value)| (name.as_str(), *value)).collect()
    }

    /// Takes over what one block gave.
    fn append(&mut self, parsed: &Parsed) {
        if let Some(row) = parsed.unlabelled {
            self.unlabelled.get_or_insert(self.rows.len() + row);
        }
        let names = (0..parsed.labels.len()).map(|k| parsed.labels.name(k));
        self.labels.extend(names.filter(|name| !name.is_empty())); // a row without a target has an empty one
        for row in 0..parsed.rows.len() {
            let mut features = BTreeMap::new();
            parsed.rows.borrow().for_each(row, |id, value| {
                let name =
                    parsed.names.as_ref().map_or(String::new(), |names| names.name(id as u32).to_string());
                assert!(features.insert(name, value).is_none(), "a feature twice");
            });
            self.rows.push((parsed.lines.of(row), features));
        }
    }
}

/// What a file of this name with these bytes is.
pub fn spec(bytes: &[u8], file: &str, asked: &ReadOptions, known: Option<&FormatSpec>) -> Result<FormatSpec> {
    open(&Opening { first: bytes, file: Path::new(file), asked, known })
}

/// Reads in blocks of about `size` bytes, each into a `Parsed` of its own; the rows by name.
pub fn read_in_blocks(bytes: &[u8], file: &str, spec: &FormatSpec, size: usize) -> Result<Read> {
    let (mut read, mut parser) = (Read::default(), spec.parser());
    let mut at = spec.header(bytes);
    while at < bytes.len() {
        let mut window = size.max(1);
        let end = loop {
            if at + window >= bytes.len() {
                break bytes.len();
            }
            match spec.whole(&bytes[at..at + window]) {
                0 => window *= 2,
                whole => break at + whole,
            }
        };
        let mut parsed = Parsed::default();
        bytes[..at].iter().filter(|byte| **byte == b'\n').for_each(|_| {
            parsed.lines.begin();
        });
        parser.parse(&bytes[at..end], Path::new(file), &mut parsed)?;
        let lines = bytes[..end].iter().filter(|byte| **byte == b'\n').count() as u64;
        let open = u64::from(!bytes[..end].ends_with(b"\n"));
        assert_eq!(parsed.lines.begin(), lines + open + 1, "every line of the block was counted once");
        read.append(&parsed);
        at = end;
    }
    Ok(read)
}

/// Reads all in one block.
pub fn read(bytes: &[u8], file: &str, asked: &ReadOptions) -> Result<Read> {
    read_in_blocks(bytes, file, &spec(bytes, file, asked, None)?, bytes.len())
}

/// The error that reading gives.
pub fn error(bytes: &[u8], file: &str, asked: &ReadOptions) -> String {
    read(bytes, file, asked).expect_err("refused").to_string()
}
