//! Rows from a cache, or from the source and into a cache.

use crate::cache::{Cache, CacheWriter, Meta, Scratch, Stamp};
use crate::error::{Error, Kind, Place, Result};
use crate::files;
use crate::format::{Asked, Parsed};
use crate::input::{Input, Reading};
use crate::naming::Naming;
use crate::reader::{self, Make, Work};
use crate::source::Block;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// When to use a cache.
///
/// ```
/// use lazyglm::CacheMode;
/// assert_eq!(CacheMode::parse("auto"), CacheMode::Auto);
/// assert_eq!(CacheMode::parse("mail.cache"), CacheMode::File("mail.cache".into()));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CacheMode {
    /// One beside the source, made and made again as needed; where none can be written, none.
    Auto,
    /// None.
    #[default]
    Off,
    /// The one beside the source, and nothing else: the source need not even be there.
    Only,
    /// One in this place, made and made again as needed.
    File(PathBuf),
}

impl CacheMode {
    /// `auto`, `off`, `only` or the name of a file.
    pub fn parse(text: &str) -> CacheMode {
        match text {
            "auto" => CacheMode::Auto,
            "off" => CacheMode::Off,
            "only" => CacheMode::Only,
            file => CacheMode::File(file.into()),
        }
    }

    /// Where the cache of a source is, if there is to be one.
    fn place(&self, source: &Path) -> Option<PathBuf> {
        match self {
            CacheMode::Off => None,
            CacheMode::File(file) => Some(file.clone()),
            CacheMode::Auto if is_stream(source) => None,
            CacheMode::Auto | CacheMode::Only => {
                let mut name = source.as_os_str().to_owned();
                name.push(".lazyglm-cache");
                Some(name.into())
            }
        }
    }
}

/// Whether a source can be read only once: standard input, or a pipe under the name of a file.
fn is_stream(source: &Path) -> bool {
    source.as_os_str() == "-" || std::fs::metadata(source).is_ok_and(|found| !found.is_file())
}

/// How some rows were made, what their ids stand for, and what to tell the user.
pub(crate) struct Supplied {
    pub reading: Reading,
    pub naming: Naming,
    pub notes: Vec<String>,
}

/// Calls `see` with block after block of a file, ids those of the whole; from its cache where that may be. `start_over`
/// is called when what was seen must be forgotten: a damaged cache shows late.
pub(crate) fn for_each(
    path: &Path,
    asked: &Asked,
    mode: &CacheMode,
    absent: Vec<bool>,
    rounds: bool,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
    start_over: &mut dyn FnMut(),
) -> Result<Supplied> {
    let mut notes = Vec::new();
    if Cache::is_one(path) {
        let cache = of_cache(path, asked, &absent)?;
        tell(&cache, see)?;
        from_cache(&cache, rounds, usize::MAX, see)?;
        let Cache { meta, naming, .. } = cache;
        return Ok(Supplied { reading: meta.reading, naming, notes });
    }
    let place = match mode.place(path) {
        Some(_) if !absent.is_empty() && *mode == CacheMode::Only => {
            let what = "--cache only with sample weights of 0, which leave rows out";
            return Err(Error::call(what, "leave --cache only out, or the rows themselves"));
        }
        Some(_) if !absent.is_empty() => None, // rows are left out: that is no cache of the file
        place => place,
    };
    let Some(place) = place else {
        return from_source(path, asked, None, absent, Values { rounds, threads: usize::MAX }, see)
            .map(|(supplied, _)| supplied);
    };
    match fresh(&place, path, asked, mode) {
        Ok(Some(cache)) => {
            tell(&cache, see)?;
            let mut stopped_by_seer = false;
            let done = from_cache(&cache, rounds, usize::MAX, &mut |block| {
                see(block).inspect_err(|_| stopped_by_seer = true)
            });
            match done {
                Ok(()) => {
                    let Cache { meta, naming, .. } = cache;
                    return Ok(Supplied { reading: meta.reading, naming, notes });
                }
                Err(e) if stopped_by_seer || *mode == CacheMode::Only => return Err(e),
                Err(e) => {
                    start_over();
                    notes.push(again(&e));
                }
            }
        }
        Ok(None) => {}
        Err(e) if *mode == CacheMode::Only || e.is_wrong_call() => return Err(e),
        Err(e) => notes.push(again(&e)),
    }
    let (supplied, written) =
        from_source(path, asked, Some(&place), absent, Values { rounds, threads: usize::MAX }, see)?;
    notes.extend(written);
    Ok(Supplied { notes, ..supplied })
}

/// A cache given as the data: how it was read is settled.
fn of_cache(path: &Path, asked: &Asked, absent: &[bool]) -> Result<Cache> {
    let cache = Cache::open(path)?;
    if *asked != Asked::default() && *asked != cache.meta.asked || !absent.is_empty() {
        let what = format!("{} is a cache: how its rows are made is settled", path.display());
        return Err(Error::call(what, "leave the flags for reading out, or give the data themselves"));
    }
    Ok(cache)
}

/// Tells what fragments do not say of their rows.
fn tell(cache: &Cache, see: &mut dyn FnMut(&mut Parsed) -> Result<()>) -> Result<()> {
    let Meta { span, with_query, unlabelled, .. } = cache.meta;
    see(&mut Parsed { span, with_query, unlabelled, ..Parsed::default() })
}

/// A cache of a file, made first if need be; where none is to be kept, one that vanishes when it is dropped.
pub(crate) struct Kept {
    pub cache: Cache,
    pub notes: Vec<String>,
    _vanishing: Option<tempfile::TempPath>,
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
    let failed =
        |e| Error::io(std::env::temp_dir(), e, "make room in the folder for temporary files (TMPDIR)");
    let vanishing = match &place {
        Some(place) if files::check_writable(place).is_ok() => None,
        _ => Some(tempfile::NamedTempFile::with_prefix("lazyglm-").map_err(failed)?.into_temp_path()),
    };
    let place = match (&vanishing, &place) {
        (Some(vanishing), _) => vanishing.to_path_buf(),
        (None, Some(place)) => place.clone(),
        (None, None) => return Err(failed(io::ErrorKind::NotFound.into())), // not reached: one of them is there
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

fn again(e: &Error) -> String {
    let what = match e.kind() {
        Kind::Data { place, what, .. } => format!("{place}: {what}"),
        _ => e.to_string(),
    };
    format!("{what}; it is made again from the data")
}

/// The cache, if it is there and that of this source, read in this way; an error if it is there and cannot be used.
pub(crate) fn fresh(place: &Path, source: &Path, asked: &Asked, mode: &CacheMode) -> Result<Option<Cache>> {
    let only = *mode == CacheMode::Only;
    if !place.exists() {
        return match only {
            false => Ok(None),
            true => Err(Error::data(
                Place::file(place),
                "there is no such cache, and --cache only was asked for",
                "make it first: train once with --cache auto",
            )),
        };
    }
    if matches!(mode, CacheMode::File(_)) && !Cache::is_one(place) {
        let hint = "give --cache the name of a new file: this one would be overwritten";
        return Err(Error::call(
            format!("--cache {}: that file is no cache of lazyglm", place.display()),
            hint,
        ));
    }
    let cache = Cache::open(place)?;
    let stale = |what: &str| {
        let hint = "leave --cache only out: the cache is then made again";
        Error::data(Place::file(place), format!("the cache cannot be used: {what}"), hint)
    };
    let unseen = is_stream(source) || (only && !source.exists());
    if unseen && !only {
        return Ok(None); // a stream cannot be compared with anything: its cache is written, never read
    }
    if !unseen && cache.meta.source.as_ref() != Some(&Stamp::of(source)?) {
        return Err(stale("it was made from other data, or the data have changed since"));
    }
    if cache.meta.asked != *asked {
        return Err(stale("it was made with other settings for reading"));
    }
    Ok(Some(cache))
}

/// Rows from a cache, decoded on all cores.
pub(crate) fn from_cache(
    cache: &Cache,
    rounds: bool,
    threads: usize,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let take = Box::new(|block: &mut Block| {
        let part = next.fetch_add(1, Ordering::Relaxed);
        if part >= cache.parts.len() {
            return Ok(false);
        }
        cache.read(part, block).map(|()| true)
    });
    let maker = || -> Box<Make> {
        let mut scratch = Scratch::default();
        Box::new(move |part, block, parsed| cache.decode(part, block.bytes(), parsed, &mut scratch))
    };
    reader::for_each(Work { take, maker: &maker, lines_before: 0, rounds, threads }, Vec::new(), see)
}

/// How values are read.
struct Values {
    rounds: bool,
    threads: usize,
}

/// Rows from the source, and into a cache if there is a place for one; a word on the cache.
fn from_source(
    path: &Path,
    asked: &Asked,
    place: Option<&Path>,
    absent: Vec<bool>,
    values: Values,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<(Supplied, Option<String>)> {
    let stamp = match place {
        Some(_) if !is_stream(path) => Some(Stamp::of(path)?),
        _ => None,
    };
    let mut input = Input::open(path, asked, None)?;
    input.threads = values.threads;
    let reading = input.reading.clone();
    let mut naming = reading.hash_bits.map_or(Ok(Naming::Indices), Naming::hashed)?;
    let Some(place) = place.filter(|place| files::check_writable(place).is_ok()) else {
        // Nobody keeps the digits; but values that fall into one bucket are summed before they are rounded.
        input.rounds = values.rounds && reading.hash_bits.is_none();
        input.for_each_named(absent, &mut naming, see)?;
        let word = place.map(|place| format!("{}: no cache can be written there", place.display()));
        return Ok((Supplied { reading, naming, notes: Vec::new() }, word));
    };
    let mut outcome = Ok(());
    let mut rows = 0u64;
    let written = files::write_lightly(place, |to| {
        let mut failed = None;
        let mut writer = CacheWriter::new(to, stamp.clone(), asked.clone(), reading.clone())?;
        outcome = input.for_each_named(absent, &mut naming, &mut |block| {
            rows += block.rows.len() as u64;
            if failed.is_none() {
                failed = writer.push(block).err(); // a full disk stops the cache, not the reading
            }
            see(block)
        });
        match (failed, &outcome) {
            (Some(e), _) => Err(e),
            (None, Ok(())) if rows > 0 => writer.finish(&naming),
            _ => Err(io::Error::other("there is nothing to keep")),
        }
    });
    outcome?;
    let word = match written {
        _ if rows == 0 => None,
        Ok(()) if stamp.is_some() && Stamp::of(path).ok() != stamp => {
            let _ = std::fs::remove_file(place); // the source changed while it was read
            Some(format!("{}: the data changed while they were read: no cache was kept", place.display()))
        }
        Ok(()) => {
            let size = std::fs::metadata(place).map_or(0, |found| found.len());
            let size = format!("{:.1} MB", size as f64 / 1e6);
            Some(format!(
                "wrote {} ({size}), read instead of the data from now on; --cache off for none",
                place.display()
            ))
        }
        Err(e) => Some(format!("no cache was written: {e}")),
    };
    Ok((Supplied { reading, naming, notes: Vec::new() }, word))
}

/// Reads a source into a cache in this place, and does nothing else; how many rows it has. Here a cache that cannot be
/// written is an error: it is what was asked for.
pub(crate) fn keep(path: &Path, asked: &Asked, place: &Path) -> Result<u64> {
    let stamp = if is_stream(path) { None } else { Some(Stamp::of(path)?) };
    let input = Input::open(path, asked, None)?;
    let reading = input.reading.clone();
    let mut naming = reading.hash_bits.map_or(Ok(Naming::Indices), Naming::hashed)?;
    let (mut outcome, mut rows) = (Ok(()), 0);
    let written = files::write_lightly(place, |to| {
        let mut writer = CacheWriter::new(to, stamp.clone(), asked.clone(), reading)?;
        outcome = input.for_each_named(Vec::new(), &mut naming, &mut |block| {
            rows += block.rows.len() as u64;
            writer.push(block).map_err(|e| Error::io(place, e, "nothing was written: check the disk"))
        });
        match (&outcome, rows) {
            (Ok(()), 1..) => writer.finish(&naming),
            _ => Err(io::Error::other("there is nothing to keep")),
        }
    });
    outcome?;
    if rows == 0 {
        return Err(Error::data(Place::file(path), "there are no rows in it", "give a file with data"));
    }
    written?;
    if stamp.is_some() && Stamp::of(path).ok() != stamp {
        let _ = std::fs::remove_file(place); // a cache of neither the old data nor the new
        return Err(Error::data(Place::file(path), "the data changed while they were read", "convert again"));
    }
    Ok(rows)
}
