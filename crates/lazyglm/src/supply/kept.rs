//! A cache to go through many times, for rows that are not held in memory.

use super::make::{Values, from_source};
use super::renumber::renumbered;
use super::{CacheMode, again, fresh, of_cache};
use crate::cache::Cache;
use crate::error::{Error, Kind, Place, Result};
use crate::files;
use crate::format::Asked;
use std::path::Path;

/// A cache of a file, made first if need be; where none is to be kept, one that vanishes when it is dropped.
pub(crate) struct Kept {
    pub cache: Cache,
    pub notes: Vec<String>,
    pub(super) _vanishing: Option<tempfile::TempPath>,
}

/// The cache of a file, for going through it many times without holding it in memory, and what `look` finds in it: a
/// cache that turns out to be damaged then is made again.
pub(crate) fn kept<T>(
    path: &Path,
    asked: &Asked,
    mode: &CacheMode,
    threads: usize,
    look: impl Fn(&Cache) -> Result<T>,
) -> Result<(Kept, T)> {
    let mut notes = Vec::new();
    if Cache::is_one(path) {
        let cache = of_cache(path, asked, &[])?;
        let found = look(&cache)?;
        return Ok((Kept { cache, notes, _vanishing: None }, found));
    }
    let place = mode.place(path);
    if let Some(place) = &place {
        match fresh(place, path, asked, mode) {
            Ok(Some(cache)) => match look(&cache) {
                Ok(found) => return Ok((Kept { cache, notes, _vanishing: None }, found)),
                Err(e) if *mode == CacheMode::Only => return Err(e),
                Err(e) => notes.push(again(&e)),
            },
            Ok(None) => {}
            Err(e) if *mode == CacheMode::Only || e.is_wrong_call() => return Err(e),
            Err(e) => notes.push(again(&e)),
        }
    }
    if asked.renumber {
        let kept = renumbered(path, asked, place.as_deref(), threads)?;
        let found = look(&kept.cache)?;
        notes.extend(kept.notes);
        return Ok((Kept { notes, ..kept }, found));
    }
    let place = place.filter(|place| files::check_writable(place).is_ok());
    let vanishing = if place.is_some() { None } else { Some(vanishing()?) };
    let place = match &vanishing {
        Some(vanishing) => vanishing.to_path_buf(),
        None => place.unwrap_or_default(),
    };
    let (_, written) =
        from_source(path, asked, Some(&place), Vec::new(), Values { rounds: false, threads }, &mut |_| {
            Ok(())
        })?;
    notes.extend(written.filter(|_| vanishing.is_none()));
    let cache = Cache::open(&place).map_err(|e| match e.kind() {
        Kind::Data { .. } | Kind::Io { .. } => {
            let what = "no row of it could be kept in a cache, which --memory needs";
            Error::data(
                Place::file(path),
                what,
                "give a file with data, and room for its cache (see --cache)",
            )
        }
        _ => e,
    })?;
    let found = look(&cache)?;
    Ok((Kept { cache, notes, _vanishing: vanishing }, found))
}

/// A file that is gone when this is dropped.
pub(super) fn vanishing() -> Result<tempfile::TempPath> {
    let file = tempfile::NamedTempFile::with_prefix("lazyglm-").map_err(|e| {
        Error::io(std::env::temp_dir(), e, "make room in the folder for temporary files (TMPDIR)")
    })?;
    Ok(file.into_temp_path())
}
