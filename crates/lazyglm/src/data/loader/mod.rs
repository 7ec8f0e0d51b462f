//! Loads rows from a cache, or from the source while writing a cache.

mod cached;
mod file_cache;
mod make;
mod renumber;

pub(crate) use cached::from_cache;
pub(crate) use file_cache::{FileCache, known_cache, open_or_make, open_or_make_as};
pub(crate) use make::{from_input, keep};

use crate::data::bytes::{LONGEST, is_stream};
use crate::data::cache::{Cache, Meta, Stamp};
use crate::data::feature_ids::FeatureIds;
use crate::data::format::{Parsed, ReadOptions};
use crate::data::read_config::ReadConfig;
use crate::data::rows::Rows;
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::files;
use crate::util::parameter::Parameter;
use cached::{all_of_cache, from_cache_as, send_metadata};
use make::{ValueOptions, from_source};
use std::cell::Cell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// When to use a cache.
///
/// ```
/// use lazyglm::CacheMode;
/// assert_eq!(CacheMode::parse("auto"), CacheMode::Auto);
/// assert_eq!(CacheMode::parse("mail.cache"), CacheMode::File("mail.cache".into()));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum CacheMode {
    /// Use a cache beside the source, and make or update it as needed. If it cannot be written, use none.
    Auto,
    /// Use no cache.
    #[default]
    Off,
    /// Use only the cache beside the source. The source itself may be missing.
    Only,
    /// Use a cache at this path, and make or update it as needed.
    File(PathBuf),
}

impl CacheMode {
    /// Parses `auto`, `off`, `only` or a file name, which need not be UTF-8.
    pub fn parse(text: impl AsRef<OsStr>) -> CacheMode {
        match text.as_ref().to_str() {
            Some("auto") => CacheMode::Auto,
            Some("off") => CacheMode::Off,
            Some("only") => CacheMode::Only,
            _ => CacheMode::File(text.as_ref().into()),
        }
    }

    /// Path of the cache of a source, if one is to be used.
    fn place(&self, source: &Path) -> Option<PathBuf> {
        match self {
            CacheMode::Off => None,
            CacheMode::File(file) => Some(files::behind_links(file)), // the user gave this name, so a symbolic link is followed
            CacheMode::Auto if is_stream(source) => None,
            CacheMode::Auto | CacheMode::Only => {
                let mut name = source.as_os_str().to_owned();
                name.push(".lazyglm-cache");
                Some(name.into())
            }
        }
    }
}

/// Limits on memory use while reading. Each thread holds a record and its parsed rows.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub threads: usize,
    /// Maximum length of a record in bytes.
    pub longest: usize,
}

impl Limits {
    /// All threads, and the default maximum record length.
    pub const NONE: Limits = Limits { threads: usize::MAX, longest: LONGEST };
}

/// Receives rows that go into memory, block by block.
pub(crate) struct Gather<'a> {
    pub see: &'a mut dyn FnMut(&mut Parsed) -> Result<()>,
    /// Called when the blocks seen so far must be forgotten, because a cache proved to be damaged.
    pub start_over: &'a mut dyn FnMut(),
    /// Announces the bytes of rows that come in one block, or fails if they do not fit. Without it, blocks are small.
    pub announce: Option<&'a dyn Fn(usize) -> Result<()>>,
}

/// How rows were read, what their ids stand for, and notes for the user.
pub(crate) struct LoadInfo {
    pub reading: ReadConfig,
    pub feature_ids: FeatureIds,
    /// If features are renumbered: the original id of each new id.
    pub order: Option<Vec<u32>>,
    pub notes: Vec<String>,
}

/// Sees each block of a file, with global ids, from its cache if possible.
pub(crate) fn for_each(
    path: &Path,
    asked: &ReadOptions,
    mode: &CacheMode,
    absent: Vec<bool>,
    as_f32: bool,
    gather: Gather,
) -> Result<LoadInfo> {
    let Gather { see, start_over, announce } = gather;
    if asked.renumber && !absent.is_empty() {
        let renumber = Parameter::Renumber;
        let what = format!("{renumber} does not go with sample weights of 0, which leave rows out");
        return Err(Error::call(what, format!("leave out {renumber}, or the rows themselves")));
    }
    let Lookup { found, mut notes } = look_up(path, asked, mode, &absent)?;
    let place = match found {
        RowSource::GivenCache(cache) => {
            send_metadata(&cache, see)?;
            all_of_cache(&cache, as_f32, announce, see)?;
            return Ok(load_info(cache, notes));
        }
        RowSource::FreshCache(cache, place) => {
            send_metadata(&cache, see)?;
            let stopped_by_seer = Cell::new(false);
            let stopped = |_: &Error| stopped_by_seer.set(true);
            let announce = announce.map(|announce| move |bytes| announce(bytes).inspect_err(stopped));
            let announce = announce.as_ref().map(|announce| announce as &dyn Fn(usize) -> Result<()>);
            let done = all_of_cache(&cache, as_f32, announce, &mut |block| see(block).inspect_err(stopped));
            match done {
                Ok(()) => return Ok(load_info(cache, notes)),
                Err(e) if stopped_by_seer.get() || *mode == CacheMode::Only => return Err(e),
                Err(e) => {
                    start_over();
                    notes.push(again(&e));
                    Some(place)
                }
            }
        }
        RowSource::SourceOnly(place) => place,
    };
    let info = load_from_source(path, asked, place.as_deref(), absent, as_f32, see)?;
    notes.extend(info.notes);
    Ok(LoadInfo { notes, ..info })
}

fn load_info(cache: Cache, notes: Vec<String>) -> LoadInfo {
    let Cache { meta, feature_ids, order, .. } = cache;
    LoadInfo { reading: meta.reading, feature_ids, order, notes }
}

/// Reads rows from the source. Renumbered rows come from a cache, which is made first.
fn load_from_source(
    path: &Path,
    asked: &ReadOptions,
    place: Option<&Path>,
    absent: Vec<bool>,
    as_f32: bool,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<LoadInfo> {
    if !asked.renumber {
        let values = ValueOptions { as_f32, limits: Limits::NONE };
        let (info, word) = from_source(path, asked, place, absent, values, see)?;
        return Ok(LoadInfo { notes: word.into_iter().collect(), ..info });
    }
    let FileCache { cache, notes } = renumber::renumbered(path, asked, place, Limits::NONE)?;
    send_metadata(&cache, see)?;
    from_cache(&cache, as_f32, usize::MAX, see)?;
    Ok(load_info(cache, notes))
}

/// Sees the rows of an open cache, which stands for a source that can be read only once.
pub(crate) fn for_each_of(
    cache: &Cache,
    path: &Path,
    absent: &[bool],
    as_f32: bool,
    gather: Gather,
) -> Result<LoadInfo> {
    let Gather { see, announce, .. } = gather;
    if !absent.is_empty() {
        let what = format!("sample weights of 0, which leave rows out, with {}", Place::file(path));
        return Err(Error::call(what, "put the data into a file, or leave the rows themselves out"));
    }
    send_metadata(cache, see)?;
    all_of_cache(cache, as_f32, announce, see)?;
    let Cache { meta, feature_ids, order, .. } = cache;
    let (reading, feature_ids, order) = (meta.reading.clone(), feature_ids.clone(), order.clone());
    Ok(LoadInfo { reading, feature_ids, order, notes: Vec::new() })
}

/// Calls `see` with each block of a file in a single pass, without making a cache.
///
/// Ids are always original global ids, even if the data file is a cache with renumbered ids.
pub(crate) fn for_each_once(
    path: &Path,
    asked: &ReadOptions,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<LoadInfo> {
    if Cache::is_one(path) {
        let cache = of_cache(path, asked, &[])?;
        if let Some(order) = &cache.order {
            send_metadata(&cache, see)?;
            let change = |rows: &mut Rows| rows.renumber(&|id| order[id as usize]);
            from_cache_as(&cache, false, usize::MAX, &change, see)?;
            return Ok(LoadInfo { order: None, ..load_info(cache, Vec::new()) });
        }
    }
    let gather = Gather { see, start_over: &mut || {}, announce: None };
    for_each(path, asked, &CacheMode::Off, Vec::new(), false, gather)
}

/// Where to load rows from.
enum RowSource {
    /// The data file is itself a cache.
    GivenCache(Cache),
    /// A valid cache of the data, and its path.
    FreshCache(Cache, PathBuf),
    /// Only the source. A cache may be written to this path.
    SourceOnly(Option<PathBuf>),
}

/// Result of [`look_up`], with notes for the user.
struct Lookup {
    found: RowSource,
    notes: Vec<String>,
}

/// Decides between the source and its cache. With `absent` rows no cache is used, because it would hold other
/// rows.
fn look_up(path: &Path, asked: &ReadOptions, mode: &CacheMode, absent: &[bool]) -> Result<Lookup> {
    let mut notes = Vec::new();
    if Cache::is_one(path) {
        return Ok(Lookup { found: RowSource::GivenCache(of_cache(path, asked, absent)?), notes });
    }
    let place = match mode.place(path) {
        Some(_) if !absent.is_empty() && *mode == CacheMode::Only => {
            let only = Parameter::Cache.set("only");
            let what = format!("{only} does not go with sample weights of 0, which leave rows out");
            return Err(Error::call(what, format!("leave out {only}, or the rows themselves")));
        }
        Some(_) if !absent.is_empty() => None,
        place => place,
    };
    let Some(place) = place else { return Ok(Lookup { found: RowSource::SourceOnly(None), notes }) };
    if *mode == CacheMode::Auto
        && let Some(why) = not_ours(&place)
    {
        notes.push(format!("{}: no cache can be written there: {why}", place.display()));
        return Ok(Lookup { found: RowSource::SourceOnly(None), notes });
    }
    let found = match fresh(&place, path, mode, &|meta| meta.asked == *asked) {
        Ok(Some(cache)) => RowSource::FreshCache(cache, place),
        Ok(None) => RowSource::SourceOnly(Some(place)),
        Err(e) if *mode == CacheMode::Only || e.is_wrong_call() => return Err(e),
        Err(e) => {
            notes.push(again(&e));
            RowSource::SourceOnly(Some(place))
        }
    };
    Ok(Lookup { found, notes })
}

/// Why an automatic cache must not replace the file at `place`, if it must not.
///
/// The user did not name this file, and in a shared folder somebody else may have put it there.
fn not_ours(place: &Path) -> Option<&'static str> {
    match std::fs::symlink_metadata(place) {
        Err(_) => None,
        Ok(found) if found.is_symlink() => Some("a symbolic link is there"),
        Ok(found) if !found.is_file() => Some("what is there is not a file"),
        Ok(_) if !Cache::is_one(place) => Some("the file there is not a cache of lazyglm"),
        Ok(_) => None,
    }
}

/// Whether to trust a cache that the user did not name.
///
/// The cache must belong to this user, to the owner of the data or to the administrator, and nobody else may
/// write to it. In a shared folder, anybody can write a cache that claims to be of these data.
fn is_trusted(cache: &Cache, source: &Path) -> bool {
    let (Some(cache), Ok(source)) = (cache.metadata(), std::fs::metadata(source)) else { return false };
    let mine = |user: u32| files::is_me(user) || user == 0 || Some(user) == files::owner(&source);
    files::owner(&cache).is_none_or(mine) && !files::others_may_write(&cache, &source)
}

/// Opens a cache that was given as the data file. Its reading options are fixed.
fn of_cache(path: &Path, asked: &ReadOptions, absent: &[bool]) -> Result<Cache> {
    let cache = Cache::open(path)?;
    if *asked != ReadOptions::default() && *asked != cache.meta.asked || !absent.is_empty() {
        let what = format!("{} is a cache: how its rows are made is settled", path.display());
        return Err(Error::call(what, "leave the flags for reading out, or give the data themselves"));
    }
    Ok(cache)
}

fn again(e: &Error) -> String {
    let what = match e.kind() {
        Kind::Data { place, what, .. } => format!("{place}: {what}"),
        _ => e.marked(),
    };
    format!("{what}; it is made again from the data")
}

/// The cache at `place`, if it matches this source, and if its rows were read in the `same` way. An error if it exists but
/// cannot be used.
fn fresh(
    place: &Path,
    source: &Path,
    mode: &CacheMode,
    same: &dyn Fn(&Meta) -> bool,
) -> Result<Option<Cache>> {
    let only = *mode == CacheMode::Only;
    if !place.exists() {
        return match only {
            false => Ok(None),
            true => Err(Error::data(
                Place::file(place),
                format!("the cache does not exist, and {} needs it", Parameter::Cache.set("only")),
                format!("make it first: train once with {}", Parameter::Cache.set("auto")),
            )),
        };
    }
    if matches!(mode, CacheMode::File(_)) && !Cache::is_one(place) {
        let what = format!("{}: that file is not a cache of lazyglm", Parameter::Cache.set(place.display()));
        let hint = format!("give {} the name of a new file: this one would be overwritten", Parameter::Cache);
        return Err(Error::call(what, hint));
    }
    let cache = match mode {
        CacheMode::Auto => {
            let hint = format!("check what is there, or use {}", Parameter::Cache.set("off"));
            Cache::of(files::open_regular(place).map_err(|e| Error::io(place, e, hint))?, place)?
        }
        _ => Cache::open(place)?,
    };
    let stale = |what: &str| {
        let hint = format!("leave {} out: the cache is then made again", Parameter::Cache.set("only"));
        Error::data(Place::file(place), format!("the cache cannot be used: {what}"), hint)
    };
    let unseen = is_stream(source) || (only && !source.exists());
    if unseen && !only {
        return Ok(None); // a stream cannot be compared with a stamp, so its cache is written but never read
    }
    if *mode == CacheMode::Auto && !is_trusted(&cache, source) {
        return Err(stale("it belongs to another user, or others may write to it"));
    }
    if !unseen && cache.meta.source.as_ref() != Some(&Stamp::of(source)?) {
        return Err(stale("it was made from other data, or the data have changed or were copied since"));
    }
    if !same(&cache.meta) {
        return Err(stale("it was made with other settings for reading"));
    }
    Ok(Some(cache))
}
