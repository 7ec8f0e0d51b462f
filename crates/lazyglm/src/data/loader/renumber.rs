//! Renumbers features by the number of rows they occur in, the most frequent first.
//!
//! Frequent features then share cache lines, so scoring a row touches less memory. Ids in the cache are the
//! new numbers. The cache also stores the original ids, which models and messages use.

use super::file_cache::FileCache;
use super::make::{CacheTarget, SourceOptions, write, wrote};
use super::{Limits, from_cache_as, send_metadata};
use crate::data::cache::{Cache, CacheWriter};
use crate::data::feature_ids::FeatureIds;
use crate::data::format::{Parsed, ReadOptions};
use crate::util::error::{Error, Result};
use crate::util::files;
use crate::util::parameter::Parameter;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// Makes a renumbered cache of a file, at `place` or as a temporary file.
///
/// The source is read once into an ordinary cache and its ids are counted. The cache is then rewritten with
/// new ids.
pub(super) fn renumbered(
    path: &Path,
    asked: &ReadOptions,
    place: Option<&Path>,
    limits: Limits,
) -> Result<FileCache> {
    let mut counts = PerId::default();
    let plainly = ReadOptions { renumber: false, ..asked.clone() };
    let reader = SourceOptions { absent: Vec::new(), limits, alone: true, known: None };
    let made = write(path, &plainly, CacheTarget::Unnamed, reader, &mut |block| {
        block.rows.ids().iter().for_each(|&id| counts.add_one(id));
        Ok(())
    })?;
    made.refuse_no_rows(path)?;
    made.refuse_change(path)?;
    let plain = made.written?;
    let (mut notes, order) = (Vec::new(), counts.by_frequency(&plain.feature_ids));
    let ranks = counts.replaced_by_places(&order);
    let rewrite = |to| rewrite(&plain, asked, &order, &ranks, limits.threads, to);
    if let Some(place) = place {
        match files::check_writable(place) {
            Err(_) => notes.push(format!("{}: no cache can be written there", place.display())),
            Ok(()) => match rewrite(CacheTarget::Named(place)) {
                Ok(cache) => {
                    notes.push(wrote(place));
                    return Ok(FileCache { cache, notes });
                }
                Err(e) => notes.push(format!("no cache was written: {}", e.marked())),
            },
        }
    }
    Ok(FileCache { cache: rewrite(CacheTarget::Unnamed)?, notes })
}

/// Rewrites a cache so that ids are positions in `order`.
fn rewrite(
    plain: &Cache,
    asked: &ReadOptions,
    order: &[u32],
    ranks: &PerId,
    threads: usize,
    to: CacheTarget,
) -> Result<Cache> {
    let (place, mut outcome) = (to.path(), Ok(()));
    let written = to.fill(|to| {
        let (source, reading) = (plain.meta.source.clone(), plain.meta.reading.clone());
        let mut writer = CacheWriter::new(to, source, asked.clone(), reading)?;
        let mut push = |block: &mut Parsed| {
            let hint = || format!("make room on the disk, or use {}", Parameter::Cache);
            writer.push(block).map_err(|e| Error::io(&place, e, hint()))
        };
        outcome = send_metadata(plain, &mut push).and_then(|()| {
            from_cache_as(plain, false, threads, &|rows| rows.renumber(&|id| ranks.get(id)), &mut push)
        });
        match &outcome {
            Ok(()) => writer.finish(&plain.feature_ids, order),
            Err(e) => Err(io::Error::other(e.to_string())),
        }
    });
    outcome?;
    written
}

/// A number per id. Ids may be any of 2³², but most are small.
#[derive(Default)]
struct PerId {
    low: Vec<u32>,
    high: HashMap<u32, u32>,
}

/// Ids below this bound are stored in an array, and other ids in a map.
const LOW: usize = 1 << 24;

impl PerId {
    #[inline]
    fn add_one(&mut self, id: u32) {
        let place = id as usize;
        if place >= self.low.len() && place < LOW {
            self.low.resize((place + 1).next_power_of_two(), 0);
        }
        let count = match self.low.get_mut(place) {
            Some(count) => count,
            None => self.high.entry(id).or_default(),
        };
        *count = count.saturating_add(1);
    }

    fn get(&self, id: u32) -> u32 {
        self.low.get(id as usize).or_else(|| self.high.get(&id)).copied().unwrap_or_default()
    }

    /// The ids that occur, by descending frequency, then in ascending order.
    fn by_frequency(&self, feature_ids: &FeatureIds) -> Vec<u32> {
        let counted = (0..).zip(&self.low).filter(|(_, count)| **count > 0).map(|(id, _)| id);
        let mut ids: Vec<u32> = match feature_ids {
            FeatureIds::Words(words) => (0..words.len() as u32).collect(), // including words whose values are all 0
            _ => counted.chain(self.high.keys().copied()).collect(),
        };
        ids.sort_unstable_by_key(|&id| (Reverse(self.get(id)), id));
        ids
    }

    /// Replaces each id's number by the position of the id in `order`.
    fn replaced_by_places(mut self, order: &[u32]) -> PerId {
        for (place, &id) in (0..).zip(order) {
            match self.low.get_mut(id as usize) {
                Some(low) => *low = place,
                None => _ = self.high.insert(id, place),
            }
        }
        self
    }
}
