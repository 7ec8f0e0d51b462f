//! Rows from an open cache.

use crate::data::bytes::Block;
use crate::data::cache::{Cache, Meta, Scratch};
use crate::data::format::Parsed;
use crate::data::reader::{self, ParseBlock, Pipeline};
use crate::data::rows::Rows;
use crate::util::error::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Passes data to `see` that the fragments do not contain.
pub(super) fn send_metadata(cache: &Cache, see: &mut dyn FnMut(&mut Parsed) -> Result<()>) -> Result<()> {
    let Meta { span, with_query, unlabelled, .. } = cache.meta;
    let dirty = cache.meta.dirty.clone();
    see(&mut Parsed { span, with_query, unlabelled, dirty, ..Parsed::default() })
}

/// Reads all rows of a cache: in one block if they are announced and their values are exact in f32, or else in small ones.
pub(super) fn all_of_cache(
    cache: &Cache,
    as_f32: bool,
    announce: Option<&dyn Fn(usize) -> Result<()>>,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    match (announce, cache.bytes_in_f32()) {
        (Some(announce), Some(bytes)) => {
            announce(bytes)?;
            see(&mut cache.decode_all()?)
        }
        _ => from_cache(cache, as_f32, usize::MAX, see),
    }
}

/// Reads rows from a cache and decodes them on all cores.
pub(crate) fn from_cache(
    cache: &Cache,
    as_f32: bool,
    threads: usize,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    from_cache_as(cache, as_f32, threads, &|_| Ok(()), see)
}

/// Reads rows from a cache and applies `change` to each block on the thread that decodes it.
pub(super) fn from_cache_as(
    cache: &Cache,
    as_f32: bool,
    threads: usize,
    change: &(dyn Fn(&mut Rows) -> Result<()> + Sync),
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let read = Box::new(|block: &mut Block| {
        let part = next.fetch_add(1, Ordering::Relaxed);
        if part >= cache.parts.len() {
            return Ok(false);
        }
        cache.read(part, block).map(|()| true)
    });
    let new_parser = || -> Box<ParseBlock> {
        let mut scratch = Scratch::default();
        Box::new(move |part, block, parsed| {
            cache.decode(part, block.bytes(), parsed, &mut scratch)?;
            change(&mut parsed.rows)
        })
    };
    reader::for_each(
        Pipeline { read, new_parser: &new_parser, lines_before: 0, as_f32, threads },
        Vec::new(),
        see,
    )
}
