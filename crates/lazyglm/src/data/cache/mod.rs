//! A binary cache of parsed data, which is read many times faster than the source.
//!
//! A cache consists of fragments of about 32,768 non-zeros. Each fragment is compact, checksummed and
//! readable on its own: see `fragment.rs` and `file.rs`. The cache stores rows as parsed from the source: ids
//! are indices as written, numbers of names, or buckets. Rows read from the cache therefore equal rows read
//! from the text, bit for bit.

mod file;
mod fragment;
mod numbers;
mod stamp;

#[cfg(test)]
pub(crate) use file::FragmentEntry;
pub(crate) use file::{Cache, CacheWriter, Meta};
pub(crate) use fragment::Scratch;
pub(crate) use stamp::Stamp;

use crate::data::bytes::Block;
use crate::data::format::Parsed;
use crate::util::error::Result;
use std::fs::File;
use std::path::Path;

/// Reads and checks every fragment of a cache, one after the other, and returns the number of rows. Tests with hostile
/// caches use it.
///
/// ```
/// let path = std::env::temp_dir().join("lazyglm-doc-read-through.cache");
/// std::fs::write(&path, "lazyglm cache 4\nnothing").unwrap();
/// let error = lazyglm::data::cache::read_through(std::fs::File::open(&path).unwrap(), &path).unwrap_err();
/// assert!(error.to_string().contains("it is cut short"));
/// ```
pub fn read_through(file: File, path: &Path) -> Result<usize> {
    let cache = Cache::of(file, path)?;
    let (mut bytes, mut scratch) = (Block::default(), Scratch::default());
    let mut rows = 0;
    for part in 0..cache.parts.len() {
        cache.read(part, &mut bytes)?;
        let mut block = Parsed::default();
        cache.decode(part, bytes.bytes(), &mut block, &mut scratch)?;
        rows += block.rows.len();
    }
    Ok(rows)
}
