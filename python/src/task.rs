//! Rows, targets and weights that the library owns: for solvers and searches that go through all of them as they like.
//!
//! The online solver borrows Python's arrays; these need rows in order, in one precision and for as long as they run, so the rows are
//! copied once. What runs long runs on a thread of its own, with a pool of its own that ends with the call: Ctrl-C is seen at once, and
//! a process that Python forks later misses no threads.

use crate::errors::raised;
use crate::json::Json;
use crate::matrix::{MatrixArrays, optional};
use crate::model::read_config;
use lazyglm::problem::lent::Lent;
use lazyglm::problem::task::{ArrayTask, Arrays};
use lazyglm::search::strongest_l1;
use lazyglm::train::apart;
use lazyglm::train::plateau::RunningPlateau;
use lazyglm::{
    ElasticNet, Error, HeadKind, Method, Order, Precision, ReadConfig, Result, Settings, Start, loss,
    objective, schedule,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The order of rows.
pub fn order(shuffle: bool) -> Order {
    if shuffle { Order::Shuffled } else { Order::Sequential }
}

/// The precision of weights.
pub fn precision(single: bool) -> Precision {
    if single { Precision::F32 } else { Precision::F64 }
}

/// What a run depends on besides the data.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    l1: f64,
    l2: f64,
    #[pyo3(default)]
    choose: bool,
    /// Whether counts may be replaced by their tf-idf.
    #[pyo3(default)]
    pub scales: bool,
    solver: String,
    tolerance: f64,
    method: Json<Method>,
    /// That of the library unless it is given.
    pub schedule: Option<String>,
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
    limit_predictions: Option<bool>,      // None: where that lowers the held-out loss
    threads: usize,
}

impl Asked {
    /// The stop rule that was asked for.
    pub fn plateau(&self) -> RunningPlateau {
        RunningPlateau::new(self.plateau)
    }

    /// The settings of the library.
    pub fn settings(&self) -> Result<Settings> {
        let bounds = |(lower, upper): &(Vec<f64>, Vec<f64>)| {
            Arc::new(lower.iter().zip(upper).map(|(&low, &high)| [low, high]).collect())
        };
        let mut settings = Settings {
            penalty: ElasticNet::new(self.l1, self.l2)?,
            choose_penalty: self.choose,
            solver: self.solver.parse()?,
            tolerance: self.tolerance,
            start: self.start.clone().map(Start::of_heads).map(Arc::new),
            factors: self.factors.clone().map(Arc::new),
            bounds: self.bounds.as_ref().map(bounds),
            method: self.method.0,
            eta0: self.eta0,
            epochs: self.epochs,
            order: order(self.shuffle),
            seed: self.seed,
            precision: precision(self.single),
            bias: self.intercept,
            limit_predictions: self.limit_predictions,
            ..Settings::default()
        };
        if let Some(schedule) = &self.schedule {
            settings.schedule = schedule::Spec::parse(schedule)?;
        }
        Ok(settings)
    }
}

/// The share of the work that is done, the objective or running loss, the number of non-zeros, and the stage of the work.
pub type Figures = (f64, f64, usize, &'static str);

/// Tells Python of progress.
pub type Tell<'a> = dyn Fn(Figures) + Send + Sync + 'a;

/// A copy of the data, with the targets of one head or of all of them.
#[pyclass(module = "lazyglm._core")]
pub struct Task(pub ArrayTask);

#[pymethods]
impl Task {
    /// Copies rows. `y` are targets for one head, or numbers of classes for several heads of a kind (ovr, softmax or labels). With labels,
    /// those of row i are `labels[1][labels[0][i]..labels[0][i + 1]]` instead. `reading`: how rows from a file were read, and their names.
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
        kind: Json<HeadKind>,
        labels: Option<(PyReadonlyArray1<i64>, PyReadonlyArray1<i64>)>,
        reading: Option<(&str, Option<Vec<String>>)>,
    ) -> PyResult<Task> {
        let (targets, weights, offsets) = (y.as_slice()?, optional(&weights)?, optional(&offsets)?);
        let labels = match &labels {
            Some((ends, ids)) => Some((ends.as_slice()?, ids.as_slice()?)),
            None => None,
        };
        let made = x.detached(py, |matrix| {
            let (loss, kind) = (loss::parse(loss)?, kind.0);
            let rows = matrix.lend(|rows| {
                Lent { targets, weights, ..rows }.check_lengths(matrix.rows())?;
                rows.to_rows(0)
            })?;
            let (reading, names) = match reading {
                Some((text, names)) => (read_config(text)?, names),
                None if matrix.is_dense() => (ReadConfig::numbered_table(matrix.columns()), None),
                None => (ReadConfig::default(), None), // rows that list their features
            };
            Arrays { rows, reading, names, targets, labels, weights, offsets, loss, heads, kind }
                .task()
                .map(Task)
        });
        made?.map_err(raised)
    }

    /// The mean weight of the rows; a weight is divided by it, and so is the penalty of those who keep to theirs.
    #[getter]
    fn mean_weight(&self) -> f64 {
        self.0.mean_weight
    }

    /// λ₁_max, the smallest λ₁ at which all weights of all heads are zero.
    fn l1_max(&mut self, py: Python, asked: Asked) -> PyResult<f64> {
        self.0.select_head(None);
        self.run(py, &asked, None, |task, settings, _| Ok(strongest_l1(task, settings)))
    }

    /// The relative duality gap of weights and bias of a head; None where there is no bound.
    fn gap(
        &mut self,
        py: Python,
        head: usize,
        weights: PyReadonlyArray1<f64>,
        bias: f64,
        asked: Asked,
    ) -> PyResult<Option<f64>> {
        self.0.select_head(Some(head));
        let (weights, columns) = (weights.as_slice()?.to_vec(), self.0.task.data.rows.columns());
        if weights.len() != columns {
            let what = format!("{} weights for {columns} columns", weights.len());
            return Err(raised(Error::call(what, "give data like those the model was trained on")));
        }
        let bias = asked.intercept.then_some(bias);
        let proved = self.run(py, &asked, None, move |task, settings, _| {
            Ok(objective::certify(task.examples(), &*task.loss, settings.weighted_penalty(), &weights, bias))
        })?;
        Ok(proved.relative_gap)
    }
}

impl Task {
    /// Runs `work` with the threads and the settings that were asked for. Work tells `watch` of its progress. On Ctrl-C the work is told
    /// to end and left to itself, with its rows.
    pub fn run<T: Send + 'static>(
        &self,
        py: Python,
        asked: &Asked,
        watch: Option<Py<PyAny>>,
        work: impl FnOnce(&lazyglm::Task, &Settings, &Tell) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (task, interrupt, watched) =
            (self.0.task.clone(), Arc::new(AtomicBool::new(false)), watch.is_some());
        let settings = Settings { interrupt: Some(interrupt.clone()), ..asked.settings().map_err(raised)? };
        let work = move |tell: &Tell| work(&task, &settings, if watched { tell } else { &|_| {} });
        let mut see = |figures: Option<Figures>| {
            Python::attach(|py| {
                if let (Some(watch), Some(figures)) = (&watch, figures) {
                    watch.call1(py, figures)?;
                }
                py.check_signals()
            })
        };
        py.detach(|| apart(asked.threads, interrupt, work, &mut see))?.map_err(raised)
    }
}
