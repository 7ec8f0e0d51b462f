//! Data that were read once, kept in a file that is read many times faster.
//!
//! A cache is made of fragments of some 32,768 non-zeros, each compact, checksummed and readable on its own: see
//! `fragment.rs` and `file.rs`. It holds rows as they were made of the source (ids are indices as written, numbers of
//! names, or buckets), so what is read from it is what is read from the text, bit for bit.

mod file;
mod fragment;
mod numbers;
mod stamp;

#[cfg(test)]
pub(crate) use file::Part;
pub(crate) use file::{Cache, CacheWriter, Meta};
pub(crate) use fragment::Scratch;
pub(crate) use stamp::Stamp;
