//! Rows, targets and weights that the library owns: for solvers and searches that go through all of them as they like.
//!
//! The online solver borrows Python's arrays; these need rows in order, in one precision and for as long as they run, so the rows are
//! copied once. What runs long runs on a thread of its own, with a pool of its own that ends with the call: Ctrl-C is seen at once, and
//! a process that Python forks later misses no threads.

use crate::errors::{LOOK_EVERY, raised};
use crate::matrix::{Changed, Matrix, MatrixArrays, Slices};
use crate::model::{kind, read_config};
use lazyglm::data::format::{Csv, FormatSpec};
use lazyglm::problem::lent::check_targets;
use lazyglm::problem::task::Sets;
use lazyglm::search::strongest_l1;
use lazyglm::train::plateau::RunningPlateau;
use lazyglm::{
    Dataset, ElasticNet, Error, Features, Head, HeadKind, Labels, Method, Order, Precision, ReadConfig,
    Result, Rows, Settings, Start, Targets, UpdateName, loss, objective, schedule,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};

/// What a run depends on besides the data.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    l1: f64,
    l2: f64,
    choose: bool,
    /// Whether counts may be replaced by their tf-idf.
    pub scales: bool,
    solver: String,
    tolerance: f64,
    method: String,
    schedule: String,
    eta0: Option<f64>,
    epochs: u64,
    plateau: Option<(f64, u64)>, // of stochastic solvers: the improvement that counts, and epochs without one before the end
    shuffle: bool,
    seed: u64,
    single: bool,
    intercept: bool,
    factors: Option<Vec<f64>>,
    bounds: Option<(Vec<f64>, Vec<f64>)>, // lower and upper, one number per column
    start: Option<Vec<(Vec<f64>, f64)>>,  // weights and bias of each head
    threads: usize,
}

impl Asked {
    /// The stop rule that was asked for.
    pub fn plateau(&self) -> RunningPlateau {
        RunningPlateau::new(self.plateau)
    }

    /// The settings of the library.
    fn settings(&self) -> Result<Settings> {
        let start = |heads: &Vec<(Vec<f64>, f64)>| match &heads[..] {
            [(weights, bias)] => Start::one(weights.clone(), *bias),
            heads => {
                let head = |(weights, bias): &(Vec<f64>, f64)| Head::of(weights.iter().copied(), *bias);
                Start { heads: heads.iter().map(head).collect(), ..Start::default() }
            }
        };
        let bounds = |(lower, upper): &(Vec<f64>, Vec<f64>)| {
            Arc::new(lower.iter().zip(upper).map(|(&low, &high)| [low, high]).collect())
        };
        Ok(Settings {
            penalty: ElasticNet::new(self.l1, self.l2)?,
            choose_penalty: self.choose,
            solver: self.solver.parse()?,
            tolerance: self.tolerance,
            start: self.start.as_ref().map(|given| Arc::new(start(given))),
            factors: self.factors.clone().map(Arc::new),
            bounds: self.bounds.as_ref().map(bounds),
            method: if self.method == "sgd" { Method::Sgd } else { Method::Fobos },
            update: UpdateName::Lazy,
            schedule: schedule::Spec::parse(&self.schedule)?,
            eta0: self.eta0,
            epochs: self.epochs,
            order: if self.shuffle { Order::Shuffled } else { Order::Sequential },
            seed: self.seed,
            precision: if self.single { Precision::F32 } else { Precision::F64 },
            bias: self.intercept,
            ..Settings::default()
        })
    }
}

/// The share of the work that is done, the objective or running loss, the number of non-zeros, and the stage of the work.
pub type Figures = (f64, f64, usize, &'static str);

/// Tells Python of progress.
pub type Tell = Box<dyn Fn(Figures) + Send + Sync>;

/// What a working thread sends.
enum Message<T> {
    Told(Figures),
    Done(Result<T>),
}

/// A copy of the data, aimed at one head or at all of them.
#[pyclass(module = "lazyglm._core")]
pub struct Task {
    /// The library's.
    pub task: Arc<lazyglm::Task>,
    sets: Option<Sets>, // the classes or labels of each row, for several heads
    /// The number of heads.
    pub heads: usize,
    kind: HeadKind,
    /// The mean weight of rows before it was made one.
    mean_weight: f64,
}

#[pymethods]
impl Task {
    /// Copies rows. `y` are targets for one head, or numbers of classes for several heads of a kind (ovr, softmax or labels). With labels,
    /// those of row i are `labels[1][labels[0][i]..labels[0][i + 1]]` instead. `reading` says how the rows were read, if from a file.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn new(
        py: Python,
        x: MatrixArrays,
        y: PyReadonlyArray1<f64>,
        weights: Option<PyReadonlyArray1<f64>>,
        offsets: Option<PyReadonlyArray1<f64>>,
        loss: &str,
        heads: usize,
        kind_name: &str,
        labels: Option<(PyReadonlyArray1<i64>, PyReadonlyArray1<i64>)>,
        reading: Option<&str>,
    ) -> PyResult<Task> {
        let changed = Changed::default();
        let slices = x.slices()?;
        let targets = y.as_slice()?;
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let offsets = offsets.as_ref().map(|offsets| offsets.as_slice()).transpose()?;
        let labels = match &labels {
            Some((ends, ids)) => Some((ends.as_slice()?, ids.as_slice()?)),
            None => None,
        };
        let made = py.detach(|| {
            changed.guard(|| {
                let loss = loss::parse(loss)?;
                let matrix = slices.checked(&changed)?;
                matrix.check_lengths(targets, weights)?;
                check_targets(targets, &*loss, if labels.is_some() { 2 } else { heads })?;
                let features = Features::columns_from(0, matrix.columns());
                let several = heads > 1 || labels.is_some();
                // Of several heads, `aim` sets the targets; until then, any two classes will do.
                let mut sign = -1.0;
                let mut turn = |row: usize| {
                    sign = if weights.is_none_or(|weights| weights[row] > 0.0) { -sign } else { sign };
                    sign
                };
                let aimed =
                    if several { (0..targets.len()).map(&mut turn).collect() } else { targets.to_vec() };
                let rows = copied(&matrix, &changed, 0)?;
                let mut data = Dataset::made(rows, Labels::Numbers(aimed), features);
                data.reading = match (reading, &slices) {
                    (Some(text), _) => read_config(text)?,
                    (None, Slices::Csr(_)) => ReadConfig::default(), // rows that list their features
                    (None, _) => ReadConfig {
                        recipe: FormatSpec::Csv(Csv { delimiter: ',', columns: Vec::new() }),
                        ..ReadConfig::default()
                    },
                };
                let present: Vec<f64> = weights.unwrap_or(&[]).iter().copied().filter(|w| *w > 0.0).collect();
                let mean_weight = match weights {
                    None => 1.0,
                    Some(_) => present.iter().sum::<f64>() / present.len() as f64,
                };
                let sets = several.then(|| {
                    let mut sets = Sets::default();
                    let present = |row: &usize| weights.is_none_or(|weights| weights[*row] > 0.0);
                    for row in (0..targets.len()).filter(present) {
                        match labels {
                            None => sets.push([targets[row] as u32]),
                            Some((ends, ids)) => {
                                let own = &ids[ends[row] as usize..ends[row + 1] as usize];
                                sets.push(own.iter().map(|&id| id as u32));
                            }
                        }
                    }
                    sets
                });
                let task = lazyglm::Task::builder(data)
                    .loss(loss)
                    .sample_weights(weights.map(<[f64]>::to_vec))
                    .offsets(offsets.map(<[f64]>::to_vec))
                    .build()?;
                Ok(Task { task: Arc::new(task), sets, heads, kind: kind(kind_name), mean_weight })
            })
        });
        made.map_err(raised)
    }

    /// The mean weight of the rows; a weight is divided by it, and so is the penalty of those who keep to theirs.
    #[getter]
    fn mean_weight(&self) -> f64 {
        self.mean_weight
    }

    /// λ₁_max, the smallest λ₁ at which all weights of all heads are zero.
    fn l1_max(&mut self, py: Python, asked: Asked) -> PyResult<f64> {
        self.aim(None);
        self.run(py, &asked, |task, settings| Ok(strongest_l1(task, settings)))
    }

    /// The relative duality gap of weights and bias of a head; None where there is no bound.
    #[pyo3(signature = (head, weights, bias, asked))]
    fn gap(
        &mut self,
        py: Python,
        head: usize,
        weights: PyReadonlyArray1<f64>,
        bias: f64,
        asked: Asked,
    ) -> PyResult<Option<f64>> {
        self.aim(Some(head));
        let weights = weights.as_slice()?.to_vec();
        if weights.len() != self.task.data.rows.columns() {
            let what = format!("{} weights for {} columns", weights.len(), self.task.data.rows.columns());
            return Err(raised(Error::call(what, "give data like those the model was trained on")));
        }
        let bias = asked.intercept.then_some(bias);
        let proved = self.run(py, &asked, move |task, settings| {
            Ok(objective::certify(task.examples(), &*task.loss, settings.weighted_penalty(), &weights, bias))
        })?;
        Ok(proved.relative_gap)
    }
}

impl Task {
    /// Turns to one of several heads, with +1 for its class and −1 for the rest, or to all of them.
    pub fn aim(&mut self, head: Option<usize>) {
        let Some(sets) = &self.sets else { return };
        let names = || (0..self.heads).map(|head| head.to_string()).collect();
        Arc::make_mut(&mut self.task).targets = match (head, self.kind) {
            (Some(head), _) => {
                let signs = (0..sets.len()).map(|row| if sets.has(row, head) { 1.0 } else { -1.0 }).collect();
                Targets::Binary { classes: ["-1".into(), "1".into()], signs }
            }
            (None, HeadKind::Labels) => Targets::Labels { names: names(), sets: sets.clone() },
            (None, kind) => Targets::Classes { kind, names: names(), sets: sets.clone() },
        };
    }

    /// Runs `work` with the threads and the settings that were asked for. On Ctrl-C the work is told to end and left to
    /// itself, with its rows.
    pub fn run<T: Send + 'static>(
        &self,
        py: Python,
        asked: &Asked,
        work: impl FnOnce(&lazyglm::Task, &Settings) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        self.run_told(py, asked, None, move |task, settings, _| work(task, settings))
    }

    /// The same for work that tells `watch` of its progress: the share that is done, the objective or running loss, and non-zeros.
    pub fn run_told<T: Send + 'static>(
        &self,
        py: Python,
        asked: &Asked,
        watch: Option<Py<PyAny>>,
        work: impl FnOnce(&lazyglm::Task, &Settings, &Tell) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (send, receive) = channel();
        let tell: Tell = match &watch {
            Some(_) => {
                let send = send.clone();
                Box::new(move |figures| drop(send.send(Message::Told(figures))))
            }
            None => Box::new(|_| {}),
        };
        let (task, interrupt) = (self.task.clone(), Arc::new(AtomicBool::new(false)));
        let settings = asked.settings().map_err(raised)?;
        let settings = Settings { interrupt: Some(interrupt.clone()), ..settings };
        let threads = asked.threads;
        std::thread::spawn(move || {
            let done = alone(threads, || work(&task, &settings, &tell)).and_then(|done| done);
            drop(task); // before the answer: then its targets can be changed in place
            let _ = send.send(Message::Done(done)); // nobody may be waiting any more
        });
        py.detach(move || {
            loop {
                let told = match receive.recv_timeout(LOOK_EVERY) {
                    Ok(Message::Done(done)) => return done.map_err(raised),
                    Ok(Message::Told(figures)) => Some(figures),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(raised(Error::call("the solver broke off", "report this")));
                    }
                };
                let seen = Python::attach(|py| {
                    if let (Some(watch), Some(figures)) = (&watch, told) {
                        watch.call1(py, figures)?;
                    }
                    py.check_signals()
                });
                seen.inspect_err(|_| interrupt.store(true, Ordering::Relaxed))?;
            }
        })
    }
}

/// With a pool of threads that ends with it.
fn alone<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    let pool = pool.map_err(|e| Error::call(format!("no threads: {e}"), "ask for fewer"))?;
    Ok(pool.install(work))
}

/// The rows as the library keeps them, their columns counted from `base`.
pub fn copied(matrix: &Matrix, changed: &Changed, base: u32) -> Result<Rows> {
    let (mut rows, mut pairs) = (Rows::new(), Vec::new());
    matrix.for_each_batch(changed, &mut |batch| {
        for &row in batch.order {
            pairs.clear();
            batch.rows.for_each(row as usize, |id, x| pairs.push((id as u32 + base, x)));
            rows.push(&pairs)?;
        }
        Ok(())
    })?;
    rows.declare_columns(matrix.columns() + base as usize);
    Ok(rows)
}
