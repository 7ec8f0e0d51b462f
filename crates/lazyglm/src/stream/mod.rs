//! Rows that are not held in memory: they are gone through a window at a time, while the next one is read.
//!
//! An epoch visits the fragments of the cache in random order and shuffles the rows of each window, so that a window is
//! a sample of the whole file, whatever order its rows are in. Both orders are functions of the seed and the epoch.
//! Memory holds two windows, the weights, and what is known of the features; see [`Stream::open`].

mod sizes;
#[cfg(test)]
mod tests;

use crate::blocks::{Blocks, Turn};
use crate::cache::{Cache, Scratch};
use crate::data::Dataset;
use crate::error::{Error, Place, Result};
use crate::features::{Declared, Features};
use crate::format::{Asked, Lines, Parsed};
use crate::input::Reading;
use crate::loss::Loss;
use crate::objective::{Judge, Nothing, Null};
use crate::random;
use crate::rows::{Examples, Rows};
use crate::scaling::{Columns, Scale, Scaling};
use crate::settings::{Order, Precision, Settings};
use crate::source::Block;
use crate::supply::{self, CacheMode, Kept};
use crate::survey::Survey;
use crate::task::{self, ClassWeight, Task, targets_of};
use rayon::ThreadPool;
use rayon::prelude::*;
use sizes::{ROW, bytes_of_value, copies, is_short, threads, window};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// A file to learn from in little memory.
///
/// ```
/// use lazyglm::{Settings, Stream, StreamOptions, train_stream};
/// let file = std::env::temp_dir().join("lazyglm-doc-stream.svm");
/// std::fs::write(&file, "spam 1:1 3:0.5\nham 2:1\n".repeat(500)).unwrap();
/// let settings = Settings::default();
/// let stream = Stream::open(&file, &StreamOptions { memory: 64 << 20, ..Default::default() }, &settings).unwrap();
/// let trained = train_stream(&stream, None, &settings, &mut |_| {}).unwrap();
/// assert!(trained.report.objective < 0.1);
/// ```
pub struct Stream {
    /// What the columns stand for.
    pub features: Features,
    /// Which of them occur.
    pub occurs: Vec<bool>,
    /// The loss to minimise.
    pub loss: Arc<dyn Loss>,
    /// The names of the classes −1 and +1.
    pub classes: Option<[String; 2]>,
    /// Whether rows have weights.
    pub weighted: bool,
    /// What was decided for the caller.
    pub notes: Vec<String>,
    kept: Kept,
    file: PathBuf,
    of_class: Option<[f64; 2]>,
    mean_weight: f64,
    pooled: Vec<(f64, f64)>,
    order: Order,
    seed: u64,
    narrow: bool,     // values are rounded to f32
    short: bool,      // values take four bytes
    window: usize,    // non-zeros, about
    copies: usize,    // of the rows, where they are all in memory
    pool: ThreadPool, // of its own: with few threads, few blocks are in memory
}

/// How to open a stream.
///
/// ```
/// assert_eq!(lazyglm::StreamOptions::default().memory, 0); // to be given
/// ```
#[derive(Clone, Debug, Default)]
pub struct StreamOptions {
    /// What is said of the format.
    pub asked: Asked,
    /// What is said of the features.
    pub declared: Declared,
    /// Where the cache is; where none is to be kept, one is made for the run alone.
    pub cache: CacheMode,
    /// The loss; auto if not given.
    pub loss: Option<Arc<dyn Loss>>,
    /// How much classes count.
    pub class_weight: Option<ClassWeight>,
    /// What values are divided by.
    pub scale: Scale,
    /// How much memory to use, in bytes, all told.
    pub memory: usize,
}

impl Stream {
    /// Opens a file, makes its cache if need be, and goes through it once to learn what is in it.
    pub fn open(path: &Path, options: &StreamOptions, settings: &Settings) -> Result<Stream> {
        let threads = threads(options.memory);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| Error::call(format!("no threads: {e}"), "give --threads fewer"))?;
        let look = |cache: &Cache| Survey::of(cache, path, threads);
        let (kept, survey) = supply::kept(path, &options.asked, &options.cache, threads, look)?;
        let meta = &kept.cache.meta;
        if let Some(row) = meta.unlabelled {
            let what = format!("row {} has no target", row + 1);
            return Err(Error::data(Place::file(path), what, "give each row its target"));
        }
        let (naming, order, span) = (kept.cache.naming.clone(), kept.cache.order.clone(), meta.span);
        meta.reading.check(&naming)?;
        options.declared.check(&naming)?;
        let mut features = Features::surveyed(naming, order, span, options.declared, path, &survey.occurs)?;
        features.scaling = Arc::new(scaling(&kept.cache, &features, options.scale)?);
        let window = window(options.memory, &features, &kept.cache, settings)?;
        let short = is_short(&features, &kept.cache, settings);
        let mut notes = kept.notes.clone();
        let (labels, file) = (&survey.labels, Place::file(path));
        let loss = match &options.loss {
            Some(loss) => loss.clone(),
            None => task::automatic(labels, file.clone(), &mut notes)?,
        };
        let (targets, classes) = task::targets(labels, &*loss, file.clone(), &|_| file.clone())?;
        let (mut counts, mut of_class) = ([0, 0], None);
        for (y, count) in targets.iter().zip(&survey.counts) {
            counts[usize::from(*y > 0.0)] += count;
        }
        if let Some(class_weight) = &options.class_weight {
            of_class = Some(class_weight.of_classes(classes.as_ref(), counts, &*loss)?);
        }
        let of = |y: f64| of_class.map_or(1.0, |of_class| of_class[usize::from(y > 0.0)]);
        let mut pooled: Vec<(f64, f64)> =
            targets.iter().zip(&survey.weights).map(|(&y, weight)| (y, weight * of(y))).collect();
        let rows = meta.rows;
        let mean_weight = pooled.iter().map(|(_, weight)| weight).sum::<f64>() / rows as f64;
        pooled.iter_mut().for_each(|(_, weight)| *weight /= mean_weight);
        crate::objective::pool(&mut pooled);
        let occurs = features.occurring_columns(&survey.occurs);
        let (order, seed) = (settings.order, settings.seed);
        Ok(Stream {
            features,
            occurs,
            loss,
            classes,
            weighted: meta.weighted || of_class.is_some(),
            notes,
            file: path.to_path_buf(),
            of_class,
            mean_weight,
            pooled,
            order,
            seed,
            narrow: settings.precision == Precision::F32,
            short,
            window,
            copies: copies(settings),
            pool,
            kept,
        })
    }

    /// How the rows were made.
    pub fn reading(&self) -> &Reading {
        &self.kept.cache.meta.reading
    }

    /// How many windows an epoch has: one if all rows fit.
    pub fn windows(&self) -> usize {
        self.groups(&self.fragments(0)).len()
    }

    /// Whether all rows would fit into the memory at once, as often as the solver wants them: then a full shuffle is to be had.
    pub fn fits(&self) -> bool {
        let meta = &self.cache().meta;
        self.copies * (meta.nonzeros + meta.rows * ROW / self.bytes_of_value()) <= 2 * self.window
    }

    /// Every target, and the weight of all its rows.
    pub(crate) fn pairs(&self) -> Vec<(f64, f64)> {
        self.pooled.clone()
    }

    /// Held-out rows of a file, which are held in memory.
    pub fn held_out(&self, path: &Path) -> Result<Task> {
        let data = Dataset::read_by(path, &self.features, &self.occurs, self.reading())?;
        let targets = Task::targets_like(&data, &*self.loss, self.classes.as_ref())?;
        let (loss, classes, notes) = (self.loss.clone(), self.classes.clone(), data.notes.clone());
        Ok(Task { data, loss, targets, weights: None, classes, notes })
    }

    fn cache(&self) -> &Cache {
        &self.kept.cache
    }

    /// The fragments in the order of an epoch.
    fn fragments(&self, epoch: u64) -> Vec<u32> {
        match self.order {
            Order::Shuffled => random::permutation(self.cache().parts.len(), self.seed, epoch),
            Order::Sequential => (0..self.cache().parts.len() as u32).collect(),
        }
    }

    /// Fragments, in this order, as many to a window as fit.
    fn groups(&self, fragments: &[u32]) -> Vec<Vec<u32>> {
        let (mut groups, mut filled) = (vec![Vec::new()], 0);
        for &part in fragments {
            let of_part = &self.cache().parts[part as usize];
            let size = of_part.nonzeros + of_part.rows * ROW / self.bytes_of_value();
            if filled > 0 && filled + size > self.window {
                groups.push(Vec::new());
                filled = 0;
            }
            filled += size;
            if let Some(group) = groups.last_mut() {
                group.push(part);
            }
        }
        groups
    }

    fn bytes_of_value(&self) -> usize {
        bytes_of_value(self.short)
    }

    /// Reads and decodes the fragments of a window, on all cores.
    fn fill(&self, parts: &[u32], window: &mut Window) -> Result<()> {
        window.clear();
        // Room for the largest window there can be, asked for once: pages that are not written to take no memory, and
        // arrays that grow in pieces would for a moment be there twice.
        let rows = (self.window * self.bytes_of_value() / ROW).min(self.rows());
        let nonzeros = self.window.min(self.cache().meta.nonzeros);
        window.rows.reserve(rows, nonzeros, self.short);
        window.targets.reserve_exact(rows);
        for some in parts.chunks(2 * self.pool.current_num_threads()) {
            let decode = || {
                some.par_iter()
                    .map_init(Scratch::default, |scratch, &part| self.fragment(part as usize, scratch))
                    .collect()
            };
            let decoded: Vec<Result<Parsed>> = self.pool.install(decode);
            for parsed in decoded {
                self.append(parsed?, window)?;
            }
        }
        window.rows.declare_columns(self.features.columns());
        Ok(())
    }

    fn fragment(&self, part: usize, scratch: &mut Scratch) -> Result<Parsed> {
        let (mut block, mut parsed) = (Block::default(), Parsed::default());
        if self.narrow {
            parsed.rows.round();
        }
        self.cache().read(part, &mut block)?;
        self.cache().decode(part, block.bytes(), &mut parsed, scratch)?;
        self.features.to_columns(&mut parsed.rows)?;
        self.features.scaling.apply(&mut parsed.rows, self.narrow);
        Ok(parsed)
    }

    fn append(&self, parsed: Parsed, window: &mut Window) -> Result<()> {
        let place = |i: usize| Place::file(&self.file).line(parsed.lines.of(i));
        let targets = targets_of(&parsed.labels, &*self.loss, self.classes.as_ref(), &place)?;
        if self.weighted {
            let weight = |i: usize| {
                let own = parsed.weights.get(i).copied().unwrap_or(1.0);
                own * self.of_class.map_or(1.0, |of| of[usize::from(targets[i] > 0.0)]) / self.mean_weight
            };
            window.weights.extend((0..targets.len()).map(weight));
        }
        window.rows.append(&parsed.rows, self.narrow).map_err(|row| {
            let what = "a value is too large for f32 (3.4e38)";
            Error::data(place(row), what, "scale the feature down, or train with --precision f64")
        })?;
        window.lines.push((window.targets.len(), parsed.lines));
        window.targets.extend(targets);
        Ok(())
    }

    /// Calls `see` with window after window, the next being read meanwhile.
    fn for_each(&self, groups: &[Vec<u32>], see: &mut dyn FnMut(usize, &Window) -> Result<()>) -> Result<()> {
        std::thread::scope(|scope| {
            let (full, filled): (SyncSender<Result<Window>>, Receiver<_>) = sync_channel(0);
            let (used, empty): (SyncSender<Window>, Receiver<_>) = sync_channel(2);
            scope.spawn(move || {
                for parts in groups {
                    let mut window = empty.try_recv().unwrap_or_default();
                    let done = self.fill(parts, &mut window).map(|()| window);
                    if full.send(done).is_err() {
                        return; // nobody waits any more
                    }
                }
            });
            for (number, window) in filled.iter().enumerate() {
                let window = window?;
                see(number, &window)?;
                let _ = used.try_send(window); // its memory is used again
            }
            Ok(())
        })
    }

    fn turn(&self, window: &Window, order: &[u32], see: &mut dyn FnMut(&Turn) -> Result<()>) -> Result<()> {
        let weights = self.weighted.then_some(window.weights.as_slice());
        let examples = Examples { rows: window.rows.borrow(), targets: &window.targets, weights };
        let place = |i: usize| {
            let group = window.lines.partition_point(|(first, _)| *first <= i) - 1;
            let (first, lines) = &window.lines[group];
            Place::file(&self.file).line(lines.of(i - first))
        };
        see(&Turn { examples, order, place: &place })
    }

    /// The order of rows in a window.
    fn order_in(&self, window: &Window, number: usize, epoch: u64) -> Vec<u32> {
        let rows = window.targets.len();
        match self.order {
            Order::Sequential => (0..rows as u32).collect(),
            Order::Shuffled => {
                random::permutation(rows, self.seed ^ (number as u64 + 1).rotate_left(32), epoch)
            }
        }
    }
}

/// Rows of several fragments.
#[derive(Default)]
struct Window {
    rows: Rows,
    targets: Vec<f64>,
    weights: Vec<f64>,
    lines: Vec<(usize, Lines)>, // of each fragment: its first row in the window, and where its rows were read
}

impl Window {
    fn clear(&mut self) {
        self.rows.clear();
        self.targets.clear();
        self.weights.clear();
        self.lines.clear();
    }
}

/// What is to be done to values, found by passes over all of them.
fn scaling(cache: &Cache, features: &Features, scale: Scale) -> Result<Scaling> {
    let idf = cache.meta.reading.idf();
    let mut scaling = Scaling { norm: idf == Some(true), ..Scaling::default() };
    let columns = |scaling: &Scaling| {
        let mut columns = Columns::new(features.columns());
        supply::from_cache(cache, false, 2, &mut |block| {
            features.to_columns(&mut block.rows)?;
            scaling.apply(&mut block.rows, false);
            columns.see(block.rows.borrow());
            Ok(())
        })?;
        Ok::<Columns, Error>(columns)
    };
    if idf.is_some() {
        scaling.idf = Some(columns(&Scaling::default())?.idf());
    }
    if scale != Scale::None {
        scaling.scale = columns(&scaling)?.scale(scale);
    }
    Ok(scaling)
}

impl Blocks for Stream {
    fn rows(&self) -> usize {
        self.cache().meta.rows
    }

    fn columns(&self) -> usize {
        self.features.columns()
    }

    fn nonzeros(&self) -> usize {
        // The judge's gradients are part of the memory that is spoken for: two, not more.
        self.cache().meta.nonzeros.min(16 * self.columns())
    }

    fn epoch(&self, epoch: u64, see: &mut dyn FnMut(&Turn) -> Result<()>) -> Result<()> {
        let groups = self.groups(&self.fragments(epoch));
        self.for_each(&groups, &mut |number, window| {
            self.turn(window, &self.order_in(window, number, epoch), see)
        })
    }

    fn beginning(&self, see: &mut dyn FnMut(&Turn) -> Result<()>) -> Result<()> {
        let groups = self.groups(&self.fragments(0));
        self.for_each(&groups[..1], &mut |number, window| {
            self.turn(window, &self.order_in(window, number, 0), see)
        })
    }

    fn pass(&self, see: &mut dyn FnMut(&Turn) -> Result<()>) -> Result<()> {
        let all: Vec<u32> = (0..self.cache().parts.len() as u32).collect();
        self.for_each(&self.groups(&all), &mut |_, window| self.turn(window, &[], see))
    }

    fn ready<'a>(&self, judge: Judge<'a>, loss: &dyn Loss, with_bias: bool) -> (Judge<'a>, Option<Nothing>) {
        (judge.with_null(Null::new(&self.pooled, loss, with_bias)), None)
    }

    fn file(&self) -> Place {
        Place::file(&self.file)
    }
}
