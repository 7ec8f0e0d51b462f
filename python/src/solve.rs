//! Solvers by name, searches of penalties and paths, on a [`Task`].

use crate::errors::raised;
use crate::task::{Asked, Task};
use lazyglm::train::search::{self as tune, Dropped, Folds, Held, Point, Score, Search};
use lazyglm::util::memory::available;
use lazyglm::{ElasticNet, Error, Result, SOLVERS, Settings, Stop};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The names of the solvers there are, and whether each knows factors of the penalty.
#[pyfunction]
pub fn solvers() -> Vec<(&'static str, bool)> {
    SOLVERS.iter().map(|row| (row.solver.name(), row.factors)).collect()
}

/// Trains one head: `weights`, `bias` and what the report says.
#[pyfunction]
pub fn solve<'py>(
    py: Python<'py>,
    task: &mut Task,
    head: usize,
    asked: Asked,
) -> PyResult<Bound<'py, PyDict>> {
    task.aim(head);
    let settings = asked.settings().map_err(raised)?;
    let trained = task.run(py, asked.threads, move |task, interrupt| {
        let settings = Settings { interrupt: Some(interrupt), ..settings };
        lazyglm::train(task, None, &settings, &mut |_| {})
    })?;
    let report = &trained.report;
    let found = PyDict::new(py);
    found.set_item("weights", PyArray1::from_vec(py, trained.weights))?;
    found.set_item("bias", trained.bias)?;
    found.set_item("objective", report.objective)?;
    found.set_item("gap", report.relative_gap)?;
    found.set_item("epochs", report.epochs)?;
    found.set_item("eta0", report.eta0)?;
    found.set_item(
        "losses",
        report.history.iter().filter_map(|epoch| epoch.running_loss).collect::<Vec<_>>(),
    )?;
    found.set_item("reached", !matches!(report.stop, Stop::NoMinimum | Stop::Precision | Stop::Steps))?;
    Ok(found)
}

/// The starting rate for these settings, found on a sample of the rows.
#[pyfunction]
pub fn starting_rate(py: Python, task: &mut Task, head: usize, asked: Asked) -> PyResult<f64> {
    task.aim(head);
    let settings = asked.settings().map_err(raised)?;
    task.run(py, asked.threads, move |task, _| lazyglm::rate(task, &settings))
}

/// Judges penalties on rows held out, as lanes: `mean`, `se`, `nonzeros`, `by_fold`, `epochs`, `dropped`, `best`, `one_se`. Of several
/// heads the losses are summed.
#[pyfunction]
pub fn search<'py>(
    py: Python<'py>,
    task: &mut Task,
    penalties: Vec<(f64, f64)>,
    folds: PyReadonlyArray1<u16>,
    halving: bool,
    asked: Asked,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = asked.settings().map_err(raised)?;
    let points = points(&penalties, asked_rate(&settings)).map_err(raised)?;
    let folds = Folds::given(folds.as_slice()?.to_vec()).map_err(raised)?;
    let mut outcomes = Vec::with_capacity(task.heads);
    for head in 0..task.heads {
        task.aim(head);
        let (settings, points, folds) = (settings.clone(), points.clone(), folds.clone());
        outcomes.push(task.run(py, asked.threads, move |task, _| {
            if folds_differ(task, &folds) {
                return Err(Error::call("folds for other rows", "give the fold of each row of some weight"));
            }
            let held = Held::Folds(folds);
            let search =
                Search { task, held, settings: &settings, points, memory: room(), deadline: None, halving };
            tune::search(&search, &mut |_| {})
        })?);
    }
    let outcome = tune::summed(outcomes).ok_or_else(|| {
        let hint = "lower eta0, or scale the features down";
        raised(Error::call("every penalty of the grid left the finite numbers", hint))
    })?;
    let found = PyDict::new(py);
    let each = |of: &dyn Fn(&Score) -> f64| outcome.scores.iter().map(of).collect::<Vec<f64>>();
    found.set_item("mean", each(&|score| score.mean))?;
    found.set_item("se", each(&|score| score.se))?;
    found.set_item("nonzeros", each(&|score| score.nonzeros))?;
    found.set_item("epochs", each(&|score| score.epochs))?;
    let why = |score: &Score| match score.dropped {
        None => "",
        Some(Dropped::Hopeless(_)) => "hopeless",
        Some(Dropped::Diverged { .. }) => "diverged",
    };
    found.set_item("dropped", outcome.scores.iter().map(why).collect::<Vec<_>>())?;
    found.set_item("by_fold", outcome.by_fold)?;
    found.set_item("best", outcome.best)?;
    found.set_item("one_se", outcome.one_se)?;
    Ok(found)
}

/// The weights of one head at each penalty, as (columns, weights, bias).
#[pyfunction]
#[expect(clippy::type_complexity, reason = "columns, weights, bias")]
pub fn path<'py>(
    py: Python<'py>,
    task: &mut Task,
    head: usize,
    penalties: Vec<(f64, f64)>,
    asked: Asked,
) -> PyResult<Vec<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>, f64)>> {
    task.aim(head);
    let settings = asked.settings().map_err(raised)?;
    let points = points(&penalties, asked_rate(&settings)).map_err(raised)?;
    let stops =
        task.run(py, asked.threads, move |task, _| tune::path(task, None, &settings, &points, room()))?;
    let arrays = stops.into_iter().map(|stop| {
        let (columns, weights): (Vec<u32>, Vec<f64>) = stop.weights.into_iter().unzip();
        (PyArray1::from_vec(py, columns), PyArray1::from_vec(py, weights), stop.bias)
    });
    Ok(arrays.collect())
}

fn asked_rate(settings: &Settings) -> f64 {
    settings.eta0.unwrap_or(f64::NAN)
}

fn points(penalties: &[(f64, f64)], eta0: f64) -> Result<Vec<Point>> {
    penalties.iter().map(|&(l1, l2)| Ok(Point { penalty: ElasticNet::new(l1, l2)?, eta0 })).collect()
}

fn folds_differ(task: &lazyglm::Task, folds: &Folds) -> bool {
    (0..folds.count()).map(|fold| folds.rows(fold).len()).sum::<usize>() != task.len()
}

/// Bytes that weights may take: most of what the machine has left.
fn room() -> usize {
    available().map_or(2 << 30, |bytes| bytes / 4 * 3)
}
