//! Rows on disk, read one window at a time; the next window is read while the current one is in use.
//!
//! An epoch visits the fragments of the cache in random order and shuffles the rows of each window, so that a window is
//! a sample of the whole file for any order of its rows. Both orders are determined by the seed and the epoch.
//! Memory holds two windows, the weights and the features; see [`Windows::open`].

#[cfg(test)]
mod hostile;
mod passes;
mod sizes;
#[cfg(test)]
mod tests;

use crate::data::bytes::is_stream;
use crate::data::cache::Cache;
use crate::data::dataset::{Dataset, Load, vanishes};
use crate::data::features::{Declared, Features};
use crate::data::format::ReadOptions;
use crate::data::loader::{self, CacheMode, FileCache, Limits};
use crate::data::scaling::{Columns, Scale, Scaling};
use crate::data::survey::Survey;
use crate::problem::loss::{self, Loss};
use crate::problem::settings::{Precision, Settings};
use crate::problem::source::{self, Pooled, Problem};
use crate::problem::task::{self, ClassWeight, Targets, Task, class_names};
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use passes::Window;
use rayon::ThreadPool;
use sizes::{ROW, bytes_of_value, copies, is_short, longest_record, room, threads};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A data file to train on within a memory limit.
///
/// ```
/// use lazyglm::{Settings, Windows, WindowsOptions, train};
/// let file = std::env::temp_dir().join("lazyglm-doc-windows.svm");
/// std::fs::write(&file, "spam 1:1 3:0.5\nham 2:1\n".repeat(500)).unwrap();
/// let settings = Settings::default();
/// let windows = Windows::open(&file, &WindowsOptions { memory: 64 << 20, ..Default::default() }, &settings).unwrap();
/// let trained = train(&windows, None, &settings, &mut |_| {}).unwrap();
/// assert!(trained.report.objective < 0.1);
/// ```
pub struct Windows {
    /// The features of the columns.
    pub features: Features,
    /// Whether each column occurs in some row.
    pub occurs: Vec<bool>,
    /// The loss to minimise.
    pub loss: Arc<dyn Loss>,
    /// The kind of targets; the targets themselves are read with the rows.
    pub targets: Targets,
    /// Notes about choices that were made automatically.
    pub notes: Vec<String>,
    kept: FileCache,
    file: PathBuf,
    weighted: bool,
    of_class: Option<Vec<f64>>, // the weights of the classes −1 and +1
    mean_weight: f64,
    pooled: Vec<Pooled>,
    narrow: bool,              // values are rounded to f32
    short: bool,               // values take four bytes
    window: usize,             // approximate number of non-zeros per window
    held: usize,               // bytes that the solver may hold beside the windows
    copies: usize,             // copies of the rows that the solver needs if all fit into memory
    pool: ThreadPool,          // a pool of its own: with few threads, few blocks are in memory
    spare: Mutex<Vec<Window>>, // at most two windows to reuse: freed memory might not be free for the next ones
}

/// Options of [`Windows::open`].
///
/// ```
/// assert_eq!(lazyglm::WindowsOptions::default().memory, 0); // to be given
/// ```
#[derive(Clone, Debug, Default)]
pub struct WindowsOptions {
    /// Options of the format.
    pub asked: ReadOptions,
    /// The declared number of features and the index of the first.
    pub declared: Declared,
    /// The place of the cache; a temporary cache if none is kept.
    pub cache: CacheMode,
    /// The loss; chosen automatically if `None`.
    pub loss: Option<Arc<dyn Loss>>,
    /// The weight of each class.
    pub class_weight: Option<ClassWeight>,
    /// The scaling of features.
    pub scale: Scale,
    /// The memory limit of the process, in bytes.
    pub memory: usize,
}

impl Windows {
    /// Opens a file, makes its cache if there is none, and surveys the rows in one pass.
    pub fn open(path: &Path, options: &WindowsOptions, settings: &Settings) -> Result<Windows> {
        let threads = threads(options.memory);
        let limits = Limits { threads, longest: longest_record(options.memory, threads) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| {
            Error::call(
                format!("cannot start {threads} threads: {e}"),
                format!("lower {}", Parameter::Threads),
            )
        })?;
        let look = |cache: &Cache| Survey::of(cache, path, threads);
        let (kept, survey) = loader::open_or_make(path, &options.asked, &options.cache, limits, look)?;
        let meta = &kept.cache.meta;
        if let Some(row) = meta.unlabelled {
            let what = format!("row {} has no target", row + 1);
            return Err(Error::data(Place::file(path), what, "give each row its target"));
        }
        let (naming, order, span) = (kept.cache.naming.clone(), kept.cache.order.clone(), meta.span);
        meta.reading.check(&naming)?;
        let narrow = settings.precision == Precision::F32;
        if let Some(id) = survey.vanishing.filter(|_| narrow) {
            return Err(vanishes(Place::file(path), &naming.text(id)));
        }
        options.declared.check(&naming)?;
        let mut features = Features::surveyed(naming, order, span, options.declared, path, &survey.occurs)?;
        features.scaling = Arc::new(scaling(&kept.cache, &features, options.scale)?);
        let room = room(options.memory, &features, &kept.cache, settings)?;
        let short = is_short(&features, &kept.cache, settings);
        let mut notes = kept.notes.clone();
        notes.extend(meta.reading.recipe.roles_note());
        notes.extend(meta.dirty.iter().map(|cells| cells.note(path)));
        let (labels, file) = (&survey.labels, Place::file(path));
        let loss = match &options.loss {
            Some(loss) => loss.clone(),
            None if meta.reading.recipe.has_text_targets() => loss::parse("logistic")?,
            None => task::automatic(labels, file.clone(), &mut notes)?,
        };
        let targets = Targets::one(labels, &*loss, file.clone(), &|_| file.clone())?;
        let of_class = match &options.class_weight {
            Some(class_weight) => {
                let mut counts = [0, 0];
                for (y, count) in targets.numbers().iter().zip(&survey.counts) {
                    counts[usize::from(*y > 0.0)] += count;
                }
                Some(class_weight.of_classes(class_names(&targets, &*loss)?, &counts)?)
            }
            None => None,
        };
        let of = |y: f64| of_class.as_ref().map_or(1.0, |of_class| of_class[usize::from(y > 0.0)]);
        let mut pooled: Vec<Pooled> = (targets.numbers().iter().zip(&survey.weights))
            .map(|(&y, weight)| Pooled::new(y, weight * of(y)))
            .collect();
        let rows = meta.rows;
        let mean_weight = pooled.iter().map(|rows| rows.weight).sum::<f64>() / rows as f64;
        if mean_weight == 0.0 {
            return Err(task::no_weight(file));
        }
        pooled.iter_mut().for_each(|rows| rows.weight /= mean_weight);
        source::pool(&mut pooled);
        let occurs = features.occurring_columns(&survey.occurs);
        Ok(Windows {
            features,
            occurs,
            loss,
            targets,
            weighted: meta.weighted || of_class.is_some(),
            notes,
            file: path.to_path_buf(),
            of_class,
            mean_weight,
            pooled,
            narrow,
            short,
            window: room.window / bytes_of_value(short),
            held: room.held,
            copies: copies(settings),
            pool,
            spare: Mutex::default(),
            kept,
        })
    }

    /// The number of windows per epoch.
    pub fn count(&self) -> usize {
        let all: Vec<u32> = (0..self.cache().parts.len() as u32).collect();
        self.groups(&all).len()
    }

    /// Whether all rows fit into the memory limit, with the copies that the solver needs. Then a full shuffle is possible.
    pub fn fits(&self) -> bool {
        let meta = &self.cache().meta;
        let bytes = self.bytes_of_value();
        self.copies * (meta.nonzeros + meta.rows * ROW / bytes) <= 2 * self.window + self.held / bytes
    }

    /// Reads held-out rows from a file into memory.
    pub fn held_out(&self, path: &Path) -> Result<Task> {
        let data = Dataset::read_by(path, &self.features, &self.occurs, self.reading())?;
        self.targets.task_of(data, &self.loss)
    }

    /// Loads all rows into memory: from the file, or from the cache of a pipe, which can be read only once.
    ///
    /// ```
    /// use lazyglm::{Load, Settings, Windows, WindowsOptions};
    /// let file = std::env::temp_dir().join("lazyglm-doc-stream-load.svm");
    /// std::fs::write(&file, "1 1:1\n-1 2:1\n").unwrap();
    /// let options = WindowsOptions { memory: 1 << 26, ..Default::default() };
    /// let windows = Windows::open(&file, &options, &Settings::default()).unwrap();
    /// assert_eq!(windows.load(&Load::default()).unwrap().0.rows.len(), 2);
    /// ```
    pub fn load(&self, load: &Load) -> Result<(Dataset, Option<Vec<f64>>)> {
        match is_stream(&self.file) {
            true => Dataset::of_cache(self.cache(), &self.file, load),
            false => Dataset::load(&self.file, load),
        }
    }

    fn cache(&self) -> &Cache {
        &self.kept.cache
    }

    fn bytes_of_value(&self) -> usize {
        bytes_of_value(self.short)
    }
}

/// The scaling of values, computed by passes over all rows.
fn scaling(cache: &Cache, features: &Features, scale: Scale) -> Result<Scaling> {
    Scaling::find(&cache.meta.reading, scale, |scaling| {
        let mut columns = Columns::new(features.columns());
        loader::from_cache(cache, false, 2, &mut |block| {
            features.to_columns(&mut block.rows)?;
            scaling.apply(&mut block.rows, false);
            columns.see(block.rows.borrow());
            Ok(())
        })?;
        Ok(columns)
    })
}
