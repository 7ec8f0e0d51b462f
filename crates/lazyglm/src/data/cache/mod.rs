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
