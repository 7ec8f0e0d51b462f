//! Rows from a cache, or from the source and into a cache.

mod kept;
mod make;
mod renumber;

pub(crate) use kept::{Kept, kept};
pub(crate) use make::keep;

use crate::data::bytes::{Block, LONGEST, is_stream};
use crate::data::cache::{Cache, Meta, Scratch, Stamp};
use crate::data::feature_ids::FeatureIds;
use crate::data::format::{Parsed, ReadOptions};
use crate::data::read_config::ReadConfig;
use crate::data::reader::{self, Make, Work};
use crate::data::rows::Rows;
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::files;
use crate::util::parameter::Parameter;
use make::{Values, from_source};
use std::ffi::OsStr;
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
    /// `auto`, `off`, `only` or the name of a file, which need not be UTF-8.
    pub fn parse(text: impl AsRef<OsStr>) -> CacheMode {
        match text.as_ref().to_str() {
            Some("auto") => CacheMode::Auto,
            Some("off") => CacheMode::Off,
            Some("only") => CacheMode::Only,
            _ => CacheMode::File(text.as_ref().into()),
        }
    }

    /// Where the cache of a source is, if there is to be one.
    fn place(&self, source: &Path) -> Option<PathBuf> {
        match self {
            CacheMode::Off => None,
            CacheMode::File(file) => Some(files::behind_links(file)), // asked for by name: a link is followed
            CacheMode::Auto if is_stream(source) => None,
            CacheMode::Auto | CacheMode::Only => {
                let mut name = source.as_os_str().to_owned();
                name.push(".lazyglm-cache");
                Some(name.into())
            }
        }
    }
}

/// How much is read at once: every thread holds a record and what is made of it.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub threads: usize,
    /// Bytes that a record may have.
    pub longest: usize,
}

impl Limits {
    /// All threads, and records as long as any may be.
    pub const NONE: Limits = Limits { threads: usize::MAX, longest: LONGEST };
}

/// How some rows were made, what their ids stand for, and what to tell the user.
pub(crate) struct Supplied {
    pub reading: ReadConfig,
    pub naming: FeatureIds,
    /// With features renumbered: what the ids 0, 1, … stand for.
    pub order: Option<Vec<u32>>,
    pub notes: Vec<String>,
}

/// Calls `see` with block after block of a file, ids those of the whole; from its cache where that may be. `start_over`
/// is called when what was seen must be forgotten: a damaged cache shows late.
pub(crate) fn for_each(
    path: &Path,
    asked: &ReadOptions,
    mode: &CacheMode,
    absent: Vec<bool>,
    rounds: bool,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
    start_over: &mut dyn FnMut(),
) -> Result<Supplied> {
    if asked.renumber && !absent.is_empty() {
        let renumber = Parameter::Renumber;
        let what = format!("{renumber} does not go with sample weights of 0, which leave rows out");
        return Err(Error::call(what, format!("leave out {renumber}, or the rows themselves")));
    }
    let Lookup { found, mut notes } = look_up(path, asked, mode, &absent)?;
    let place = match found {
        Found::Given(cache) => {
            tell(&cache, see)?;
            from_cache(&cache, rounds, usize::MAX, see)?;
            return Ok(supplied(cache, notes));
        }
        Found::Fresh(cache, place) => {
            tell(&cache, see)?;
            let mut stopped_by_seer = false;
            let done = from_cache(&cache, rounds, usize::MAX, &mut |block| {
                see(block).inspect_err(|_| stopped_by_seer = true)
            });
            match done {
                Ok(()) => return Ok(supplied(cache, notes)),
                Err(e) if stopped_by_seer || *mode == CacheMode::Only => return Err(e),
                Err(e) => {
                    start_over();
                    notes.push(again(&e));
                    Some(place)
                }
            }
        }
        Found::Nothing(place) => place,
    };
    let supplied = anew(path, asked, place.as_deref(), absent, rounds, see)?;
    notes.extend(supplied.notes);
    Ok(Supplied { notes, ..supplied })
}

fn supplied(cache: Cache, notes: Vec<String>) -> Supplied {
    let Cache { meta, naming, order, .. } = cache;
    Supplied { reading: meta.reading, naming, order, notes }
}

/// Rows from the source; renumbered ones from a cache, which is made first.
fn anew(
    path: &Path,
    asked: &ReadOptions,
    place: Option<&Path>,
    absent: Vec<bool>,
    rounds: bool,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<Supplied> {
    if !asked.renumber {
        let values = Values { rounds, limits: Limits::NONE };
        let (supplied, word) = from_source(path, asked, place, absent, values, see)?;
        return Ok(Supplied { notes: word.into_iter().collect(), ..supplied });
    }
    let Kept { cache, notes } = renumber::renumbered(path, asked, place, Limits::NONE)?;
    tell(&cache, see)?;
    from_cache(&cache, rounds, usize::MAX, see)?;
    Ok(supplied(cache, notes))
}

/// The same of a cache that is open, and stands for a source that can be read only once.
pub(crate) fn for_each_of(
    cache: &Cache,
    path: &Path,
    absent: &[bool],
    rounds: bool,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<Supplied> {
    if !absent.is_empty() {
        let what = format!("sample weights of 0, which leave rows out, with {}", Place::file(path));
        return Err(Error::call(what, "put the data into a file, or leave the rows themselves out"));
    }
    tell(cache, see)?;
    from_cache(cache, rounds, usize::MAX, see)?;
    let Cache { meta, naming, order, .. } = cache;
    let (reading, naming, order) = (meta.reading.clone(), naming.clone(), order.clone());
    Ok(Supplied { reading, naming, order, notes: Vec::new() })
}

/// The same once, without a cache of its own, and with the ids of the whole even where a cache that is given as the data
/// has others.
pub(crate) fn for_each_once(
    path: &Path,
    asked: &ReadOptions,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<Supplied> {
    if Cache::is_one(path) {
        let cache = of_cache(path, asked, &[])?;
        if let Some(order) = &cache.order {
            tell(&cache, see)?;
            let change = |rows: &mut Rows| rows.renumber(&|id| order[id as usize]);
            from_cache_as(&cache, false, usize::MAX, &change, see)?;
            return Ok(Supplied { order: None, ..supplied(cache, Vec::new()) });
        }
    }
    for_each(path, asked, &CacheMode::Off, Vec::new(), false, see, &mut || {})
}

/// Where rows are to be had from.
enum Found {
    /// The data file is itself a cache.
    Given(Cache),
    /// The cache of the data, in its place.
    Fresh(Cache, PathBuf),
    /// The source alone; a cache may be written to this place.
    Nothing(Option<PathBuf>),
}

/// What [`look_up`] found, and what to tell the user.
struct Lookup {
    found: Found,
    notes: Vec<String>,
}

/// Decides between the data and their cache. With `absent` rows no cache is used: it would be one of other rows.
fn look_up(path: &Path, asked: &ReadOptions, mode: &CacheMode, absent: &[bool]) -> Result<Lookup> {
    let mut notes = Vec::new();
    if Cache::is_one(path) {
        return Ok(Lookup { found: Found::Given(of_cache(path, asked, absent)?), notes });
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
    let Some(place) = place else { return Ok(Lookup { found: Found::Nothing(None), notes }) };
    if *mode == CacheMode::Auto
        && let Some(why) = not_ours(&place)
    {
        notes.push(format!("{}: no cache can be written there: {why}", place.display()));
        return Ok(Lookup { found: Found::Nothing(None), notes });
    }
    let found = match fresh(&place, path, asked, mode) {
        Ok(Some(cache)) => Found::Fresh(cache, place),
        Ok(None) => Found::Nothing(Some(place)),
        Err(e) if *mode == CacheMode::Only || e.is_wrong_call() => return Err(e),
        Err(e) => {
            notes.push(again(&e));
            Found::Nothing(Some(place))
        }
    };
    Ok(Lookup { found, notes })
}

/// Why an automatic cache must leave alone what is in its place, if anything: nobody asked for this file by name, and in
/// a shared folder somebody else may have put it there.
fn not_ours(place: &Path) -> Option<&'static str> {
    match std::fs::symlink_metadata(place) {
        Err(_) => None,
        Ok(found) if found.is_symlink() => Some("a symbolic link is there"),
        Ok(found) if !found.is_file() => Some("what is there is not a file"),
        Ok(_) if !Cache::is_one(place) => Some("the file there is no cache of lazyglm"),
        Ok(_) => None,
    }
}

/// Whether a cache may be believed that nobody asked for by name: one of this user's, of the data's owner or the
/// administrator's, that nobody else may write to. In a shared folder anybody can write a cache that claims to be of these
/// data.
fn is_trusted(cache: &Cache, source: &Path) -> bool {
    let (Some(cache), Ok(source)) = (cache.metadata(), std::fs::metadata(source)) else { return false };
    let mine = |user: u32| files::is_me(user) || user == 0 || Some(user) == files::owner(&source);
    files::owner(&cache).is_none_or(mine) && !files::others_may_write(&cache, &source)
}

/// A cache given as the data: how it was read is settled.
fn of_cache(path: &Path, asked: &ReadOptions, absent: &[bool]) -> Result<Cache> {
    let cache = Cache::open(path)?;
    if *asked != ReadOptions::default() && *asked != cache.meta.asked || !absent.is_empty() {
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

fn again(e: &Error) -> String {
    let what = match e.kind() {
        Kind::Data { place, what, .. } => format!("{place}: {what}"),
        _ => e.marked(),
    };
    format!("{what}; it is made again from the data")
}

/// The cache, if it is there and that of this source, read in this way; an error if it is there and cannot be used.
fn fresh(place: &Path, source: &Path, asked: &ReadOptions, mode: &CacheMode) -> Result<Option<Cache>> {
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
        let what = format!("{}: that file is no cache of lazyglm", Parameter::Cache.set(place.display()));
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
        return Ok(None); // a stream cannot be compared with anything: its cache is written, never read
    }
    if *mode == CacheMode::Auto && !is_trusted(&cache, source) {
        return Err(stale("it belongs to another user, or others may write to it"));
    }
    if !unseen && cache.meta.source.as_ref() != Some(&Stamp::of(source)?) {
        return Err(stale("it was made from other data, or the data have changed or were copied since"));
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
    from_cache_as(cache, rounds, threads, &|_| Ok(()), see)
}

/// The same, and `change` is done to the rows, there where they are decoded.
fn from_cache_as(
    cache: &Cache,
    rounds: bool,
    threads: usize,
    change: &(dyn Fn(&mut Rows) -> Result<()> + Sync),
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
        Box::new(move |part, block, parsed| {
            cache.decode(part, block.bytes(), parsed, &mut scratch)?;
            change(&mut parsed.rows)
        })
    };
    reader::for_each(Work { take, maker: &maker, lines_before: 0, rounds, threads }, Vec::new(), see)
}
