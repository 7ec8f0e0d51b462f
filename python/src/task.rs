//! Rows, targets and weights that the library owns: for solvers and searches that go through all of them as they like.
//!
//! The online solver borrows Python's arrays; these need rows in order, in one precision and for as long as they run, so the rows are
//! copied once. What runs long runs on a thread of its own, with a pool of its own that ends with the call: Ctrl-C is seen at once, and
//! a process that Python forks later misses no threads.

use crate::errors::{LOOK_EVERY, raised};
use crate::learn::check_targets;
use crate::matrix::{Changed, Matrix, MatrixArrays};
use lazyglm::problem::task::Sets;
use lazyglm::search::strongest_l1;
use lazyglm::{
    Dataset, ElasticNet, Error, Features, HeadKind, Labels, Method, Order, Precision, Result, Rows, Settings,
    Start, Targets, UpdateName, loss, objective, schedule,
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
    solver: String,
    tolerance: f64,
    method: String,
    schedule: String,
    eta0: Option<f64>,
    epochs: u64,
    shuffle: bool,
    seed: u64,
    single: bool,
    intercept: bool,
    factors: Option<Vec<f64>>,
    start: Option<(Vec<f64>, f64)>,
    threads: usize,
}

impl Asked {
    /// The settings of the library.
    fn settings(&self) -> Result<Settings> {
        let start = |(weights, bias): &(Vec<f64>, f64)| Start::one(weights.clone(), *bias);
        Ok(Settings {
            penalty: ElasticNet::new(self.l1, self.l2)?,
            choose_penalty: self.choose,
            solver: self.solver.parse()?,
            tolerance: self.tolerance,
            start: self.start.as_ref().map(|given| Arc::new(start(given))),
            factors: self.factors.clone().map(Arc::new),
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

/// A copy of the data, aimed at one head or at all of them.
#[pyclass(module = "lazyglm._core")]
pub struct Task {
    /// The library's.
    pub task: Arc<lazyglm::Task>,
    codes: Option<Vec<f64>>, // of classes, if there are more than two
    /// The number of heads.
    pub heads: usize,
    kind: HeadKind,
    /// The mean weight of rows before it was made one.
    mean_weight: f64,
}

#[pymethods]
impl Task {
    /// Copies rows. `y` are targets for one head, or numbers of classes for several, which a softmax may couple.
    #[new]
    fn new(
        py: Python,
        x: MatrixArrays,
        y: PyReadonlyArray1<f64>,
        weights: Option<PyReadonlyArray1<f64>>,
        offsets: Option<PyReadonlyArray1<f64>>,
        loss: &str,
        heads: usize,
        coupled: bool,
    ) -> PyResult<Task> {
        let changed = Changed::default();
        let slices = x.slices()?;
        let targets = y.as_slice()?;
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let offsets = offsets.as_ref().map(|offsets| offsets.as_slice()).transpose()?;
        let made = py.detach(|| {
            changed.guard(|| {
                let loss = loss::parse(loss)?;
                let matrix = slices.checked(&changed)?;
                matrix.check_lengths(targets, weights)?;
                check_targets(targets, &*loss, heads)?;
                let features = Features::columns_from(0, matrix.columns());
                let aimed = if heads > 1 { aimed(targets, 0) } else { targets.to_vec() };
                let rows = copied(&matrix, &changed)?;
                let data = Dataset::made(rows, Labels::Numbers(aimed), features);
                let present: Vec<f64> = weights.unwrap_or(&[]).iter().copied().filter(|w| *w > 0.0).collect();
                let mean_weight = match weights {
                    None => 1.0,
                    Some(_) => present.iter().sum::<f64>() / present.len() as f64,
                };
                let codes = (heads > 1).then(|| {
                    let present = |row: &usize| weights.is_none_or(|weights| weights[*row] > 0.0);
                    (0..targets.len()).filter(present).map(|row| targets[row]).collect()
                });
                let task = lazyglm::Task::builder(data)
                    .loss(loss)
                    .sample_weights(weights.map(<[f64]>::to_vec))
                    .offsets(offsets.map(<[f64]>::to_vec))
                    .build()?;
                let kind = if coupled { HeadKind::Softmax } else { HeadKind::Ovr };
                Ok(Task { task: Arc::new(task), codes, heads, kind, mean_weight })
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
        let Some(codes) = &self.codes else { return };
        Arc::make_mut(&mut self.task).targets = match head {
            Some(head) => Targets::Binary { classes: ["-1".into(), "1".into()], signs: aimed(codes, head) },
            None => {
                let mut sets = Sets::default();
                codes.iter().for_each(|&code| sets.push(vec![code as u32]));
                let names = (0..self.heads).map(|head| head.to_string()).collect();
                Targets::Classes { kind: self.kind, names, sets }
            }
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
        let (send, receive) = channel();
        let (task, interrupt) = (self.task.clone(), Arc::new(AtomicBool::new(false)));
        let settings = asked.settings().map_err(raised)?;
        let settings = Settings { interrupt: Some(interrupt.clone()), ..settings };
        let threads = asked.threads;
        std::thread::spawn(move || {
            let done = alone(threads, || work(&task, &settings)).and_then(|done| done);
            drop(task); // before the answer: then its targets can be changed in place
            let _ = send.send(done); // nobody may be waiting any more
        });
        py.detach(move || {
            loop {
                match receive.recv_timeout(LOOK_EVERY) {
                    Ok(done) => return done.map_err(raised),
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())
                        .inspect_err(|_| interrupt.store(true, Ordering::Relaxed))?,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(raised(Error::call("the solver broke off", "report this")));
                    }
                }
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

fn aimed(codes: &[f64], head: usize) -> Vec<f64> {
    codes.iter().map(|&code| if code == head as f64 { 1.0 } else { -1.0 }).collect()
}

/// The rows as the library keeps them.
fn copied(matrix: &Matrix, changed: &Changed) -> Result<Rows> {
    let (mut rows, mut pairs) = (Rows::new(), Vec::new());
    matrix.for_each_batch(changed, &mut |batch| {
        for &row in batch.order {
            pairs.clear();
            batch.rows.for_each(row as usize, |id, x| pairs.push((id as u32, x)));
            rows.push(&pairs)?;
        }
        Ok(())
    })?;
    rows.declare_columns(matrix.columns());
    Ok(rows)
}
