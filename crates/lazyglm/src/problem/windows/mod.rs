//! Rows on disk, read one window at a time; the next window is read while the current one is in use.
//!
//! An epoch visits the fragments of the cache in random order and shuffles the rows of each window, so that a window is
//! a sample of the whole file for any order of its rows. Both orders are determined by the seed and the epoch.
//! Memory holds two windows, the weights and the features; see [`Windows::open`].

#[cfg(test)]
mod hostile;
mod passes;
mod sizes;
mod surveyed;
#[cfg(test)]
mod tests;

use crate::data::bytes::is_stream;
use crate::data::cache::Cache;
use crate::data::dataset::{Dataset, Load, scale_of_numbers};
use crate::data::features::{Declared, Features};
use crate::data::format::ReadOptions;
use crate::data::loader::{self, CacheMode, FileCache};
use crate::data::scaling::{Columns, Scale, Scaling};
use crate::data::survey::Survey;
use crate::problem::heads::HeadKind;
use crate::problem::loss::{self, Loss};
use crate::problem::settings::Settings;
use crate::problem::source::{self, Pooled, Problem, Source};
use crate::problem::task::{
    self, Asked, ClassWeight, Sets, Targets, Task, Unknown, class_names, odd_counts, sorted, too_few,
};
use crate::util::error::{Place, Result};
use passes::Window;
use rayon::ThreadPool;
use sizes::{bytes_of_value, rows_as_nonzeros};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
pub use surveyed::Surveyed;

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
    of_class: Option<Vec<f64>>, // the weights of the classes, −1 and +1 if there are two
    mean_weight: f64,
    pooled: Vec<Pooled>,
    first_rows: Vec<u64>,      // per fragment: the number of its first row in the data
    as_f32: bool,              // values are rounded to f32
    four_bytes: bool,          // values take four bytes
    of_row: usize,             // bytes per row without its non-zeros
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
    /// How heads are trained if there is one per class or label; the targets and the loss decide if `None`.
    pub heads: Option<HeadKind>,
    /// Whether numbers are classes.
    pub classify: bool,
    /// The weight of each class.
    pub class_weight: Option<ClassWeight>,
    /// The scaling of features.
    pub scale: Scale,
    /// The memory limit of the process, in bytes.
    pub memory: usize,
}

impl WindowsOptions {
    fn targets(&self) -> Asked<'_> {
        Asked { heads: self.heads, classify: self.classify, loss: self.loss.as_deref() }
    }
}

impl Windows {
    /// Opens a file, makes its cache if there is none, and surveys the rows in one pass.
    pub fn open(path: &Path, options: &WindowsOptions, settings: &Settings) -> Result<Windows> {
        Surveyed::open(path, options, settings)?.windows(options)
    }

    /// Rows on disk, after their survey. Their targets are `like` those of a model, if there is one.
    fn of_survey(surveyed: Surveyed, options: &WindowsOptions, like: Option<&Targets>) -> Result<Windows> {
        let Surveyed {
            kept,
            survey,
            features,
            file: path,
            room,
            as_f32,
            four_bytes,
            of_row,
            copies,
            pool,
            ..
        } = surveyed;
        let heads = surveyed.heads;
        let (path, meta) = (&path, &kept.cache.meta);
        let mut notes = kept.notes.clone();
        notes.extend(meta.reading.spec.roles_note());
        notes.extend(meta.dirty.iter().map(|cells| cells.note(path)));
        let (labels, file) = (&survey.labels, Place::file(path));
        let classes = options.classify || heads.is_some() || meta.reading.spec.has_text_targets();
        let loss = match &options.loss {
            Some(loss) => loss.clone(),
            None if classes => loss::parse("logistic")?,
            None => task::automatic(labels, file.clone(), &mut notes)?,
        };
        let (targets, class_of) = match (like, heads) {
            (None, Some((kind, note))) => {
                notes.extend(note);
                targets_of_survey(&survey, kind, meta.rows, &file, &mut notes)?
            }
            (like, _) => {
                let targets = match like {
                    None => Targets::one(labels, &*loss, file.clone(), &|_| file.clone())?,
                    Some(like) => like.like(labels, &*loss, &|_| file.clone(), &mut Unknown::default())?,
                };
                let class_of = targets.numbers().iter().map(|y| usize::from(*y > 0.0)).collect();
                (targets, class_of)
            }
        };
        let of_class = match &options.class_weight {
            Some(class_weight) => {
                let names = class_names(&targets, &*loss)?;
                let mut counts = vec![0; names.len()];
                class_of.iter().zip(&survey.counts).for_each(|(&class, count)| counts[class] += count);
                Some(class_weight.of_classes(names, &counts)?)
            }
            None => None,
        };
        let of = |class: usize| of_class.as_ref().map_or(1.0, |of_class| of_class[class]);
        let weighed = || survey.weights.iter().zip(&class_of).map(|(weight, &class)| weight * of(class));
        let mut pooled: Vec<Pooled> =
            targets.numbers().iter().zip(weighed()).map(|(&y, weight)| Pooled::new(y, weight)).collect();
        let rows = meta.rows;
        let all = match &targets {
            Targets::Labels { .. } => survey.weight,
            _ => weighed().sum(),
        };
        let mean_weight = all / rows as f64;
        if mean_weight == 0.0 {
            return Err(task::no_weight(file));
        }
        pooled.iter_mut().for_each(|rows| rows.weight /= mean_weight);
        source::pool(&mut pooled);
        let occurs = features.occurring_columns(&survey.occurs);
        let first_row = |sum: &mut u64, rows: usize| Some(std::mem::replace(sum, *sum + rows as u64));
        let first_rows = kept.cache.parts.iter().map(|part| part.rows).scan(0, first_row).collect();
        let mut windows = Windows {
            features,
            occurs,
            loss,
            targets,
            weighted: meta.weighted || of_class.is_some(),
            notes,
            file: path.clone(),
            of_class,
            mean_weight,
            pooled,
            first_rows,
            as_f32,
            four_bytes,
            of_row,
            window: room.window / bytes_of_value(four_bytes),
            held: room.held,
            copies,
            pool,
            spare: Mutex::default(),
            kept,
        };
        if windows.has_offsets() {
            windows.pooled = windows.pooled_with_offsets()?;
        }
        Ok(windows)
    }

    /// The distinct targets and offsets with the weight of their rows, found in one pass.
    fn pooled_with_offsets(&self) -> Result<Vec<Pooled>> {
        let mut pooled = Vec::with_capacity(self.rows());
        self.pass(&mut |batch| {
            let examples = batch.examples();
            let one = |i: usize| Pooled {
                target: examples.targets[i],
                offset: examples.offset(i),
                weight: examples.weight(i),
            };
            pooled.extend((0..examples.len()).map(one));
            Ok(())
        })?;
        source::pool(&mut pooled);
        Ok(pooled)
    }

    /// The number of windows per epoch.
    pub fn count(&self) -> usize {
        let all: Vec<u32> = (0..self.cache().parts.len() as u32).collect();
        self.groups(&all).len()
    }

    /// Whether all rows fit into the memory limit, with the copies that the solver needs. Then a full shuffle is possible.
    pub fn fits(&self) -> bool {
        let rows = rows_as_nonzeros(self.copies, self.cache(), self.of_row, self.four_bytes);
        rows <= 2 * self.window + self.held / self.bytes_of_value()
    }

    /// Replaces counts by tf-idf from now on, in one pass over the rows. The rows must not be scaled.
    pub(crate) fn scale_by_tf_idf(&mut self) -> Result<()> {
        let (scale, columns) = Scale::tf_idf(self.reading());
        let found = scaling(self.cache(), &self.features, scale, &columns)?;
        self.scale_by(found);
        Ok(())
    }

    /// Divides each column of numbers of a table by its standard deviation from now on, in one pass over the rows. Returns whether units
    /// are far apart. The rows must not be scaled.
    pub(crate) fn scale_numbers(&mut self) -> Result<bool> {
        let found = scaling(self.cache(), &self.features, Scale::Std, &[])?.scale;
        let found = found.and_then(|scale| scale_of_numbers(&self.features, self.reading(), scale));
        let scaled = found.is_some();
        found
            .into_iter()
            .for_each(|scale| self.scale_by(Scaling { scale: Some(scale), ..Scaling::default() }));
        Ok(scaled)
    }

    fn scale_by(&mut self, scaling: Scaling) {
        self.features.scaling = Arc::new(scaling);
        let bytes = self.window * self.bytes_of_value();
        self.four_bytes = self.as_f32; // the values are no longer whole numbers
        self.window = bytes / self.bytes_of_value();
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
        load_all(self.cache(), &self.file, load)
    }

    fn cache(&self) -> &Cache {
        &self.kept.cache
    }

    fn bytes_of_value(&self) -> usize {
        bytes_of_value(self.four_bytes)
    }
}

/// The classes or labels of a survey, without the rows, and the class of each of its targets.
fn targets_of_survey(
    survey: &Survey,
    kind: HeadKind,
    rows: usize,
    file: &Place,
    notes: &mut Vec<String>,
) -> Result<(Targets, Vec<usize>)> {
    let labels = &survey.labels;
    let names =
        sorted((0..labels.len()).map(|i| (labels.name(i), i)).filter(|(name, _)| !name.is_empty()).collect());
    let mut class_of = vec![0; labels.len()];
    names.iter().enumerate().for_each(|(class, (_, i))| class_of[*i] = class);
    let counts: Vec<usize> = names.iter().map(|(_, i)| survey.counts[*i]).collect();
    let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
    if names.len() < if kind == HeadKind::Labels { 1 } else { 2 } {
        return Err(too_few(file.clone(), kind, &names));
    }
    notes.extend(odd_counts(kind, &names, &counts, rows));
    Ok((Targets::of_sets(kind, names, Sets::default()), class_of))
}

/// All rows of a file in memory: from the file, or from the cache of a pipe, which can be read only once.
fn load_all(cache: &Cache, file: &Path, load: &Load) -> Result<(Dataset, Option<Vec<f64>>)> {
    match is_stream(file) {
        true => Dataset::of_cache(cache, file, load),
        false => Dataset::load(file, load),
    }
}

/// The scaling of values, computed by passes over all rows, with idf for the terms of these columns of text.
fn scaling(cache: &Cache, features: &Features, scale: Scale, columns: &[String]) -> Result<Scaling> {
    let terms = features.terms_of(&cache.meta.reading.spec, columns);
    Scaling::find(&cache.meta.reading, scale, terms, |scaling| {
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
