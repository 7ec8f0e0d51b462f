//! A cache for repeated passes over data that are not kept in memory.

use super::make::{CacheTarget, SourceOptions, write, wrote};
use super::renumber::renumbered;
use super::{CacheMode, Limits, Lookup, RowSource, again, fresh, look_up, of_cache};
use crate::data::cache::Cache;
use crate::data::format::ReadOptions;
use crate::data::read_config::ReadConfig;
use crate::util::error::{Error, Place, Result};
use crate::util::files;
use std::path::Path;

/// The cache of a file. If the cache is not to be kept, it is an unnamed temporary file.
pub(crate) struct FileCache {
    pub cache: Cache,
    pub notes: Vec<String>,
}

/// Opens or makes the cache of a file, for repeated passes over it, and returns what `look` finds in it.
///
/// A cache that proves to be damaged is made again. If no cache can be made, that is an error, because
/// training must only see the rows of this file, read in this way.
pub(crate) fn open_or_make<T>(
    path: &Path,
    asked: &ReadOptions,
    mode: &CacheMode,
    limits: Limits,
    look: impl Fn(&Cache) -> Result<T>,
) -> Result<(FileCache, T)> {
    let Lookup { found, mut notes } = look_up(path, asked, mode, &[])?;
    let place = match found {
        RowSource::GivenCache(cache) => {
            let found = look(&cache)?;
            return Ok((FileCache { cache, notes }, found));
        }
        RowSource::FreshCache(cache, place) => match look(&cache) {
            Ok(found) => return Ok((FileCache { cache, notes }, found)),
            Err(e) if *mode == CacheMode::Only => return Err(e),
            Err(e) => {
                notes.push(again(&e));
                Some(place)
            }
        },
        RowSource::SourceOnly(place) => place,
    };
    let kept = match asked.renumber {
        true => renumbered(path, asked, place.as_deref(), limits)?,
        false => make_cache(path, asked, place.as_deref(), limits)?,
    };
    let found = look(&kept.cache)?;
    notes.extend(kept.notes);
    Ok((FileCache { notes, ..kept }, found))
}

/// The cache of a file whose rows are read as the training data of a model were: the file itself if it is a cache, or the cache
/// that training left beside it, or a temporary file.
pub(crate) fn open_or_make_as(
    path: &Path,
    asked: &ReadOptions,
    known: &ReadConfig,
    limits: Limits,
) -> Result<Cache> {
    if Cache::is_one(path) {
        return known_cache(path, asked, known);
    }
    if let Some(place) = CacheMode::Auto.place(path).filter(|_| *asked == ReadOptions::default())
        && let Ok(Some(cache)) = fresh(&place, path, &CacheMode::Auto, &|meta| meta.reading == *known)
    {
        return Ok(cache);
    }
    let reader = SourceOptions { absent: Vec::new(), limits, alone: true, known: Some(known) };
    let made = write(path, asked, CacheTarget::Unnamed, reader, &mut |_| Ok(()))?;
    made.refuse_no_rows(path)?;
    made.refuse_change(path)?;
    made.written
}

/// A cache that was given as the data file, whose rows were read as the training data of a model were.
pub(crate) fn known_cache(path: &Path, asked: &ReadOptions, known: &ReadConfig) -> Result<Cache> {
    let cache = of_cache(path, asked, &[])?;
    if cache.meta.reading != *known {
        let what = "the rows of this cache were read in another way than the training data of the model";
        return Err(Error::data(Place::file(path), what, "give the data that the cache was made from"));
    }
    Ok(cache)
}

/// Makes the cache of a file at `place`, or as a temporary file if `place` is not writable.
fn make_cache(path: &Path, asked: &ReadOptions, place: Option<&Path>, limits: Limits) -> Result<FileCache> {
    let mut notes = Vec::new();
    let mut to = CacheTarget::Unnamed;
    if let Some(place) = place {
        match files::check_writable(place) {
            Ok(()) => to = CacheTarget::Named(place),
            Err(_) => notes.push(format!("{}: no cache can be written there", place.display())),
        }
    }
    let reader = SourceOptions { absent: Vec::new(), limits, alone: true, known: None };
    let made = write(path, asked, to, reader, &mut |_| Ok(()))?;
    made.refuse_no_rows(path)?;
    made.refuse_change(path).inspect_err(|_| to.remove())?;
    let cache = made.written?;
    notes.extend(place.filter(|_| to != CacheTarget::Unnamed).map(wrote));
    Ok(FileCache { cache, notes })
}
