//! A cache for repeated passes over data that are not kept in memory.

use super::make::{Reader, Target, write, wrote};
use super::renumber::renumbered;
use super::{CacheMode, Found, Limits, Lookup, again, look_up};
use crate::data::cache::Cache;
use crate::data::format::ReadOptions;
use crate::util::error::Result;
use crate::util::files;
use std::path::Path;

/// The cache of a file. If the cache is not to be kept, it is an unnamed temporary file.
pub(crate) struct Kept {
    pub cache: Cache,
    pub notes: Vec<String>,
}

/// Opens or makes the cache of a file, for repeated passes over it, and returns what `look` finds in it.
///
/// A cache that proves to be damaged is made again. If no cache can be made, that is an error, because
/// training must only see the rows of this file, read in this way.
pub(crate) fn kept<T>(
    path: &Path,
    asked: &ReadOptions,
    mode: &CacheMode,
    limits: Limits,
    look: impl Fn(&Cache) -> Result<T>,
) -> Result<(Kept, T)> {
    let Lookup { found, mut notes } = look_up(path, asked, mode, &[])?;
    let place = match found {
        Found::Given(cache) => {
            let found = look(&cache)?;
            return Ok((Kept { cache, notes }, found));
        }
        Found::Fresh(cache, place) => match look(&cache) {
            Ok(found) => return Ok((Kept { cache, notes }, found)),
            Err(e) if *mode == CacheMode::Only => return Err(e),
            Err(e) => {
                notes.push(again(&e));
                Some(place)
            }
        },
        Found::Nothing(place) => place,
    };
    let kept = match asked.renumber {
        true => renumbered(path, asked, place.as_deref(), limits)?,
        false => made(path, asked, place.as_deref(), limits)?,
    };
    let found = look(&kept.cache)?;
    notes.extend(kept.notes);
    Ok((Kept { notes, ..kept }, found))
}

/// Makes the cache of a file at `place`, or as a temporary file if `place` is not writable.
fn made(path: &Path, asked: &ReadOptions, place: Option<&Path>, limits: Limits) -> Result<Kept> {
    let mut notes = Vec::new();
    let mut to = Target::Nameless;
    if let Some(place) = place {
        match files::check_writable(place) {
            Ok(()) => to = Target::Named(place),
            Err(_) => notes.push(format!("{}: no cache can be written there", place.display())),
        }
    }
    let reader = Reader { absent: Vec::new(), limits, alone: true };
    let made = write(path, asked, to, reader, &mut |_| Ok(()))?;
    made.refuse_no_rows(path)?;
    made.refuse_change(path).inspect_err(|_| to.remove())?;
    let cache = made.written?;
    notes.extend(place.filter(|_| to != Target::Nameless).map(wrote));
    Ok(Kept { cache, notes })
}
