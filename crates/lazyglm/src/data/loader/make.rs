//! Reads rows from the source and writes them to a cache.

use super::{Limits, LoadInfo};
use crate::data::bytes::is_stream;
use crate::data::cache::{Cache, CacheWriter, Stamp};
use crate::data::feature_ids::FeatureIds;
use crate::data::format::{Parsed, ReadOptions};
use crate::data::read_config::{Input, ReadConfig};
use crate::util::error::{Error, Place, Result};
use crate::util::files;
use crate::util::parameter::Parameter;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// How to read values.
pub(super) struct ValueOptions {
    pub as_f32: bool,
    pub limits: Limits,
}

/// Reads rows from the source and writes a cache if there is a place for it. Returns a note about the cache.
pub(super) fn from_source(
    path: &Path,
    asked: &ReadOptions,
    place: Option<&Path>,
    absent: Vec<bool>,
    values: ValueOptions,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<(LoadInfo, Option<String>)> {
    let Some(place) = place.filter(|place| files::check_writable(place).is_ok()) else {
        let mut input = Input::open_within(path, asked, None, values.limits.longest)?;
        input.threads = values.limits.threads;
        let info = from_input(input, absent, values.as_f32, see)?;
        let word = place.map(|place| format!("{}: no cache can be written there", place.display()));
        return Ok((info, word));
    };
    let to = CacheTarget::Named(place);
    let reader = SourceOptions { absent, limits: values.limits, alone: false, known: None };
    let made = write(path, asked, to, reader, see)?;
    let word = match made.written {
        _ if made.rows == 0 => None,
        Ok(_) if made.changed => {
            to.remove();
            Some(format!("{}: the data changed while they were read: no cache was kept", place.display()))
        }
        Ok(_) => Some(wrote(place)),
        Err(e) => Some(format!("no cache was written: {}", e.marked())),
    };
    Ok((made.info, word))
}

/// Calls `see` with each block of an open file, with global ids.
pub(crate) fn from_input(
    mut input: Input,
    absent: Vec<bool>,
    as_f32: bool,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<LoadInfo> {
    let reading = input.reading.clone();
    let mut feature_ids = reading.hash_bits.map_or(Ok(FeatureIds::Indices), FeatureIds::hashed)?;
    // The exact digits are not needed. But values in the same hash bucket are summed before they are rounded.
    input.as_f32 = as_f32 && reading.hash_bits.is_none();
    input.for_each_named(absent, &mut feature_ids, see)?;
    Ok(LoadInfo { reading, feature_ids, order: None, notes: Vec::new() })
}

pub(super) fn wrote(place: &Path) -> String {
    let size = std::fs::metadata(place).map_or(0, |found| found.len());
    let size = format!("{:.1} MB", size as f64 / 1e6);
    let off = Parameter::Cache.set("off");
    format!("wrote {} ({size}), read instead of the data from now on; use {off} for none", place.display())
}

/// Reads a source into a cache at `place` and returns the number of rows.
///
/// The caller asked for the cache, so a failure to write it is an error.
pub(crate) fn keep(path: &Path, asked: &ReadOptions, place: &Path) -> Result<u64> {
    let reader = SourceOptions { absent: Vec::new(), limits: Limits::NONE, alone: true, known: None };
    let to = CacheTarget::Named(&files::behind_links(place)); // the user gave this name, so a symbolic link is followed
    let made = write(path, asked, to, reader, &mut |_| Ok(()))?;
    made.refuse_no_rows(path)?;
    made.refuse_change(path).inspect_err(|_| to.remove())?;
    made.written?;
    Ok(made.rows)
}

/// The file that a cache is written to.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum CacheTarget<'a> {
    Named(&'a Path),
    /// An unnamed temporary file.
    Unnamed,
}

impl CacheTarget<'_> {
    /// The name of the cache in messages.
    pub fn path(&self) -> PathBuf {
        match self {
            CacheTarget::Named(place) => place.to_path_buf(),
            CacheTarget::Unnamed => std::env::temp_dir(),
        }
    }

    /// Writes a cache and opens it through the same handle, so that nobody can replace the file in between.
    pub fn fill(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Cache> {
        let file = match self {
            CacheTarget::Named(place) => files::write_lightly(place, fill)?,
            CacheTarget::Unnamed => unnamed(fill).map_err(|e| {
                let cache = Parameter::Cache;
                let hint = format!(
                    "make room in the folder for temporary files (TMPDIR), or name a file with {cache}"
                );
                Error::io(self.path(), e, hint)
            })?,
        };
        Cache::of(file, &self.path())
    }

    /// Deletes the cache.
    pub fn remove(&self) {
        if let CacheTarget::Named(place) = self {
            let _ = std::fs::remove_file(place);
        }
    }
}

fn unnamed(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut to = BufWriter::new(tempfile::tempfile()?);
    fill(&mut to)?;
    Ok(to.into_inner()?)
}

/// The outcome of writing a cache.
pub(super) struct WrittenCache {
    pub info: LoadInfo,
    pub rows: u64,
    pub written: Result<Cache>,
    pub changed: bool, // whether the source changed while it was read; such a cache must not be kept
}

impl WrittenCache {
    /// Returns an error if the source changed while it was read, because the rows may mix old and new data.
    pub fn refuse_change(&self, path: &Path) -> Result<()> {
        let what = "the data changed while they were read";
        match self.changed {
            true => Err(Error::data(Place::file(path), what, "read them again when the file is complete")),
            false => Ok(()),
        }
    }

    /// Returns an error if the source has no rows.
    pub fn refuse_no_rows(&self, path: &Path) -> Result<()> {
        match self.rows {
            0 => Err(Error::data(Place::file(path), "there are no rows in it", "give a file with data")),
            _ => Ok(()),
        }
    }
}

/// How to read a source into a cache.
pub(super) struct SourceOptions<'a> {
    pub absent: Vec<bool>,
    pub limits: Limits,
    pub alone: bool, // nobody else needs the rows, so a full disk also stops the reading
    pub known: Option<&'a ReadConfig>, // how the training data of a model were read
}

/// Reads a source, writes its cache, and calls `see` with each block.
pub(super) fn write(
    path: &Path,
    asked: &ReadOptions,
    place: CacheTarget,
    reader: SourceOptions,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<WrittenCache> {
    let stamp = if is_stream(path) { None } else { Some(Stamp::of(path)?) };
    let mut input = Input::open_within(path, asked, reader.known, reader.limits.longest)?;
    input.threads = reader.limits.threads;
    let reading = input.reading.clone();
    let mut feature_ids = reading.hash_bits.map_or(Ok(FeatureIds::Indices), FeatureIds::hashed)?;
    let (mut outcome, mut rows, mut unread) = (Ok(()), 0, Some((input, reader.absent)));
    let written = place.fill(|to| {
        let mut failed = None;
        let mut writer = CacheWriter::new(to, stamp.clone(), asked.clone(), reading.clone())?;
        let Some((input, absent)) = unread.take() else { return Ok(()) }; // it is called once
        outcome = input.for_each_named(absent, &mut feature_ids, &mut |block| {
            rows += block.rows.len() as u64;
            if failed.is_none()
                && let Err(e) = writer.push(block)
            {
                if reader.alone {
                    return Err(Error::io(place.path(), e, "nothing was written: check the disk"));
                }
                failed = Some(e); // a full disk stops the cache, not the reading
            }
            see(block)
        });
        match (failed, &outcome, rows) {
            (Some(e), ..) => Err(e),
            (None, Ok(()), 1..) => writer.finish(&feature_ids, &[]),
            _ => Err(io::Error::other("there is nothing to keep")),
        }
    });
    let written = match (written, unread) {
        (Err(e), Some(_)) if reader.alone => return Err(e),
        // The cache could not even be begun, so no row was read yet.
        (written, Some((input, absent))) => {
            outcome = input.for_each_named(absent, &mut feature_ids, &mut |block| {
                rows += block.rows.len() as u64;
                see(block)
            });
            written
        }
        (written, None) => written,
    };
    outcome?;
    let (mut written, mut changed) = (written, false);
    if written.is_ok() && stamp.is_some() {
        match Stamp::of(path) {
            Ok(now) => changed = Some(now) != stamp,
            Err(e) => {
                place.remove();
                written = Err(e);
            }
        }
    }
    let info = LoadInfo { reading, feature_ids, order: None, notes: Vec::new() };
    Ok(WrittenCache { info, rows, written, changed })
}
