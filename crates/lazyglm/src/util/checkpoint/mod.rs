//! Checkpoints: a journal of the finished units of a run, from which the run goes on to the same bits.
//!
//! ```text
//! unit      a solve, an epoch, a candidate of a search: a pure function of its inputs
//! key       the hash of its inputs: data, settings, and where a chain of solves stands
//! resume    the program runs as before; a unit whose key is in the journal is read instead of computed
//! ```
//!
//! Runs are deterministic, so it does not matter which units are known: the result has the same bits. The result of an unfinished
//! unit is never kept, but the state of a long solve between two of its steps is ([`Unfinished`]). The file is written in one step, every so often and when a run is interrupted.

mod file;
mod key;
mod unfinished;

pub use key::Key;
pub use unfinished::{Keeper, Unfinished};

use crate::util::error::{Error, Place, Result};
use crate::util::files;
use crate::util::state::{Fields, State};
use file::Contents;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A journal of finished units, and its file.
///
/// ```
/// use lazyglm::util::checkpoint::{Checkpoint, Key};
/// use std::time::Duration;
/// let path = std::env::temp_dir().join("lazyglm-doc-checkpoint");
/// let open = |resume| Checkpoint::open(&path, Duration::ZERO, resume, (Key::of("rows"), 10), "l1: 0.1\n");
/// # let _ = std::fs::remove_file(&path);
/// open(false).unwrap().put(Key::of("the answer"), &mut 42.0);
/// let (later, mut answer) = (open(true).unwrap(), 0.0);
/// assert!(later.find(Key::of("the answer"), &mut answer).unwrap() && answer == 42.0);
/// assert!(open(false).is_err(), "without `resume`, a checkpoint is not replaced");
/// later.remove_file().unwrap();
/// ```
pub struct Checkpoint {
    path: PathBuf,
    every: Duration,
    data: Key,
    columns: usize,
    settings: String,
    existed: bool,
    begun: Instant,
    spent: Duration, // by earlier runs
    on_failure: Option<OnFailure>,
    store: Mutex<Store>,
}

/// Called with the error of a write that failed.
type OnFailure = Box<dyn Fn(&Error) + Send + Sync>;

struct Store {
    units: BTreeMap<Key, Vec<u8>>,
    written: Instant,
    failed: bool, // whether the last write failed
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checkpoint({:?})", self.path)
    }
}

impl Checkpoint {
    /// Begins a journal, or goes on with the one of the file if `resume`. The data are known by a hash and their number of
    /// columns; `settings` is one `name: value` per line.
    ///
    /// A checkpoint of other data or other settings is an error, and so is a file that exists if the run is not resumed.
    pub fn open(
        path: &Path,
        every: Duration,
        resume: bool,
        (data, columns): (Key, usize),
        settings: &str,
    ) -> Result<Checkpoint> {
        files::check_writable(path)?;
        let contents = Contents::read(path)?;
        if contents.is_some() && !resume {
            let hint = "resume from it, or delete it first";
            return Err(Error::call(format!("there is a checkpoint in {} already", path.display()), hint));
        }
        let (mut units, existed) = (BTreeMap::new(), contents.is_some());
        if let Some(contents) = contents {
            // Settings can follow from the data: the penalties of a search, for example.
            let is_same = contents.data == data;
            let (of, and) = if is_same { ("", "") } else { (" on other data", ", and") };
            if let Some(what) = difference(&contents.settings, settings) {
                let hint = "give the data and the settings of the interrupted run, or begin a new checkpoint";
                let what = format!("{} is of a run{of}{and} with other settings: {what}", path.display());
                return Err(Error::call(what, hint));
            }
            if !is_same {
                let hint = "give the data of the interrupted run, unchanged, or begin a new checkpoint";
                return Err(Error::call(format!("{} is of a run{of}", path.display()), hint));
            }
            units.extend(contents.units);
        }
        let mut seconds = 0.0;
        let known = units.get(&spent()).is_some_and(|bytes| Fields::read(bytes, &mut seconds));
        let spent = Duration::try_from_secs_f64(seconds).ok().filter(|_| known).unwrap_or_default();
        let store = Mutex::new(Store { units, written: Instant::now(), failed: false });
        Ok(Checkpoint {
            path: path.into(),
            every,
            data,
            columns,
            settings: settings.to_string(),
            existed,
            begun: Instant::now(),
            spent,
            on_failure: None,
            store,
        })
    }

    /// Calls `on_failure` when a write fails after one that succeeded, or after none: the run goes on, and the caller should
    /// warn at once. Without it, such a failure is silent until [`Checkpoint::write`].
    pub fn warning(self, on_failure: impl Fn(&Error) + Send + Sync + 'static) -> Checkpoint {
        Checkpoint { on_failure: Some(Box::new(on_failure)), ..self }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there was a file to go on from.
    pub fn existed(&self) -> bool {
        self.existed
    }

    /// The time that this run and those before it have taken, as far as the file knows: for time limits.
    pub fn spent(&self) -> Duration {
        self.spent + self.begun.elapsed()
    }

    /// Whether the journal has a unit.
    pub fn knows(&self, key: Key) -> bool {
        self.store().units.contains_key(&key)
    }

    /// Reads a unit into `state`; false if the journal does not have it.
    pub fn find(&self, key: Key, state: &mut (impl State + ?Sized)) -> Result<bool> {
        let Some(bytes) = self.store().units.get(&key).cloned() else { return Ok(false) };
        match Fields::read_within(&bytes, self.columns, state) {
            true => Ok(true),
            false => {
                let hint = "delete it and begin anew";
                Err(Error::data(Place::file(&self.path), "a state in this checkpoint is damaged", hint))
            }
        }
    }

    /// Keeps a unit, and writes the file if it is due.
    pub fn put(&self, key: Key, state: &mut (impl State + ?Sized)) {
        self.replace(&mut [(key, Fields::write(state))], &[]);
    }

    /// Keeps some units and drops others, at once; then writes the file if it is due.
    pub fn replace(&self, kept: &mut [(Key, Option<Vec<u8>>)], dropped: &[Key]) {
        let mut store = self.store();
        for key in dropped {
            store.units.remove(key);
        }
        for (key, bytes) in kept {
            if let Some(bytes) = bytes.take() {
                store.units.insert(*key, bytes);
            }
        }
        if store.written.elapsed() >= self.every {
            let done = self.write_store(&mut store);
            let first = done.is_err() && !store.failed;
            store.failed = done.is_err();
            drop(store);
            if let (true, Err(error), Some(on_failure)) = (first, &done, &self.on_failure) {
                on_failure(error);
            }
        }
    }

    /// Keeps a state without writing the file, as at an interruption, after which the file is written anyway.
    pub fn hold(&self, key: Key, state: &mut (impl State + ?Sized)) {
        if let Some(bytes) = Fields::write(state) {
            self.store().units.insert(key, bytes);
        }
    }

    /// The number of units in the journal.
    pub fn units(&self) -> usize {
        let store = self.store();
        store.units.len() - usize::from(store.units.contains_key(&spent()))
    }

    /// Whether the file is older than the time between two writes.
    pub fn is_due(&self) -> bool {
        self.store().written.elapsed() >= self.every
    }

    /// Writes the file now.
    pub fn write(&self) -> Result<()> {
        self.write_store(&mut self.store())
    }

    /// Removes the file, after the run has ended.
    pub fn remove_file(&self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(&self.path, e, "the run is done: delete the checkpoint yourself"))
            }
            _ => Ok(()),
        }
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_store(&self, store: &mut Store) -> Result<()> {
        let mut units = std::mem::take(&mut store.units);
        units.insert(spent(), Fields::write(&mut self.spent().as_secs_f64()).unwrap_or_default());
        let mut contents =
            Contents { data: self.data, settings: self.settings.clone(), units: units.into_iter().collect() };
        let done = contents.write(&self.path);
        store.units = contents.units.into_iter().collect();
        store.written = Instant::now();
        done
    }
}

/// The key of the time that all runs have taken.
fn spent() -> Key {
    Key::of("spent")
}

/// The first line in which two settings differ, as words.
fn difference(kept: &str, given: &str) -> Option<String> {
    if kept == given {
        return None;
    }
    let (mut kept, mut given) = (kept.lines(), given.lines());
    loop {
        match (kept.next(), given.next()) {
            (Some(a), Some(b)) if a == b => {}
            (a, b) => {
                let short = |line: Option<&str>| match line {
                    Some(line) => format!("'{}'", crate::util::error::excerpt(line)),
                    None => "nothing".to_string(),
                };
                return Some(format!("it has {}, and this run has {}", short(a), short(b)));
            }
        }
    }
}
