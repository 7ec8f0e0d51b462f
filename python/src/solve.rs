//! Solvers by name, searches of penalties and paths, on a [`Task`].

use crate::errors::{keyword, raised};
use crate::json::{plain, text};
use crate::task::{Asked, Task};
use lazyglm::eval::metrics::Metric;
use lazyglm::search::{self as tune, Dropped, ExactPath, HeldOutRows, Point, Score, Search, Split};
use lazyglm::train::scaled_if_better;
use lazyglm::util::memory::room;
use lazyglm::{ElasticNet, Error, Head, Progress, Result, SOLVERS, Settings, Stage, spelled};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::Ordering;

/// The training rows and the held-out rows of each split.
type Splits<'py> = Vec<(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>)>;

/// The columns, the weights and the bias of a head.
type HeadArrays<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>, f64);

/// The table of solvers, one dict for each.
#[pyfunction]
pub fn solvers(py: Python) -> PyResult<Bound<PyAny>> {
    plain(py, &SOLVERS)
}

/// Of counts that became tf-idf values: whether they have a logarithm, and the idf of each column. And why values were scaled.
type Scaled<'py> = (Option<(bool, Bound<'py, PyArray1<f64>>)>, String);

/// The heads, the report, the objectives, how values were scaled, and the limits of predictions with their reason.
type Solved<'py> = (Vec<HeadArrays<'py>>, String, Vec<f64>, Option<Scaled<'py>>, Option<([f64; 2], String)>);

/// Trains one head, or all of them together: the heads, the report as JSON, the objective after each Newton step; how values were
/// scaled, if the penalty is chosen and they then predict held-out rows better; and the limits of predictions, if there are any.
#[pyfunction]
pub fn solve<'py>(
    py: Python<'py>,
    task: &mut Task,
    head: Option<usize>,
    asked: Asked,
    watch: Option<Py<PyAny>>,
) -> PyResult<Solved<'py>> {
    task.0.select_head(head);
    let (mut plateau, scales) = (asked.plateau(), asked.scales);
    let (mut trained, objectives, scaling) = task.run(py, &asked, watch, move |task, settings, tell| {
        let figures = |at: &Progress, stage| {
            let loss = at.validation_loss.unwrap_or(at.running_loss);
            tell((at.learnt as f64 / at.total.max(1) as f64, loss, at.nonzeros.unwrap_or(0), stage))
        };
        let scaled = match scales {
            true => scaled_if_better(task, None, settings, &mut |at| figures(at, "choosing"))?,
            false => None,
        };
        let task = scaled.as_ref().map_or(task, |(scaled, _)| scaled);
        let mut objectives = Vec::new();
        let trained = lazyglm::train(task, None, settings, &mut |at| match at.stage {
            _ if !at.epoch_ends => {}
            Stage::Choosing => figures(at, "choosing"),
            Stage::Minimising => {
                objectives.push(at.running_loss);
                figures(at, "minimising");
            }
            Stage::Learning => {
                figures(at, "learning");
                if let Some(flag) = settings.interrupt.as_ref().filter(|_| plateau.stops(at.running_loss)) {
                    flag.store(true, Ordering::Relaxed); // what has been learnt so far is the model
                }
            }
            _ => {}
        })?;
        let why = task.notes.last().map_or(String::new(), |note| spelled(note, keyword));
        let counts = task.tf_idf().map(|counts| (counts.log, counts.idf.to_vec()));
        let scaling = scaled.as_ref().map(|_| (counts, why));
        Ok((trained.in_data_units(&task.data.features), objectives, scaling))
    })?;
    let limits = trained.limits.map(|limits| {
        let why = trained.notes.iter().rfind(|note| note.starts_with("predictions are limited"));
        (limits, why.map_or(String::new(), |why| spelled(why, keyword)))
    });
    let scaling =
        scaling.map(|(counts, why)| (counts.map(|(log, idf)| (log, PyArray1::from_vec(py, idf))), why));
    Ok((arrays(py, trained.take_heads()), text(&trained.report)?, objectives, scaling, limits))
}

/// The minimiser for each penalty of each sequence, from strong to weak: a list of `sequence`, `heads`, `gap`, `steps`,
/// `stop`, and the held-out `losses` and minimisers of all splits (`of_splits`).
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place")]
pub fn exact_path<'py>(
    py: Python<'py>,
    task: &mut Task,
    sequences: Vec<Vec<(f64, f64)>>,
    splits: Splits,
    may_end: bool,
    max_features: Option<usize>,
    keep_folds: bool,
    asked: Asked,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    task.0.select_head(None);
    let sequences = sequences.iter().map(|penalties| nets(penalties)).collect::<PyResult<_>>()?;
    let held = held(&splits)?;
    let found = task.run(py, &asked, watch, move |task, settings, tell| {
        let path = ExactPath {
            task,
            held,
            settings,
            sequences,
            metric: Metric::Loss,
            may_end,
            max_features,
            refine: false,
            deadline: None,
            keep_folds,
        };
        path.run(&|at| tell((at.solved as f64 / at.total.max(1) as f64, f64::NAN, 0, "choosing")))
    })?;
    let by_fold = found.outcome.map_or(Vec::new(), |outcome| outcome.by_fold);
    let models = found.models.into_iter().zip(found.of_folds).zip(by_fold);
    let all = models.map(|((model, of_folds), losses)| {
        let entry = PyDict::new(py);
        entry.set_item("sequence", model.sequence)?;
        entry.set_item("gap", model.certificate.relative_gap)?;
        entry.set_item("steps", model.steps)?;
        entry.set_item("stop", text(&model.stop)?)?;
        entry.set_item("heads", arrays(py, model.heads))?;
        entry.set_item("losses", losses)?;
        let of_splits: Vec<_> =
            of_folds.into_iter().map(|heads| heads.map(|heads| arrays(py, heads))).collect();
        entry.set_item("of_splits", of_splits)?;
        Ok(entry)
    });
    all.collect()
}

fn arrays(py: Python, heads: Vec<Head>) -> Vec<HeadArrays> {
    let one =
        |head: Head| (PyArray1::from_vec(py, head.columns), PyArray1::from_vec(py, head.weights), head.bias);
    heads.into_iter().map(one).collect()
}

fn held(splits: &Splits) -> PyResult<HeldOutRows<'static>> {
    let rows = |numbers: &PyReadonlyArray1<i64>| -> PyResult<Vec<usize>> {
        Ok(numbers.as_slice()?.iter().map(|&i| usize::try_from(i).unwrap_or(usize::MAX)).collect())
    };
    let split = |(learnt, out): &(_, _)| Ok(Split { learnt: rows(learnt)?, held: rows(out)? });
    splits.iter().map(split).collect::<PyResult<_>>().map(HeldOutRows::Splits)
}

/// Evaluates penalties on held-out rows, with all models as lanes of SGD: `eta0`, `mean`, `se`, `nonzeros`, `by_fold`, `epochs`,
/// `dropped`. The losses of several heads are summed.
#[pyfunction]
pub fn search<'py>(
    py: Python<'py>,
    task: &mut Task,
    penalties: Vec<(f64, f64)>,
    splits: Splits,
    halving: bool,
    asked: Asked,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (nets, held) = (nets(&penalties)?, held(&splits)?);
    let mut eta0 = None;
    let mut outcomes = Vec::with_capacity(task.0.heads);
    for head in 0..task.0.heads {
        task.0.select_head(Some(head));
        let (nets, held, rate, heads) = (nets.clone(), held.clone(), eta0, task.0.heads as f64);
        let watch = watch.as_ref().map(|watch| watch.clone_ref(py));
        let (found, outcome) = task.run(py, &asked, watch, move |task, settings, tell| {
            let rate = rate.map_or_else(|| rate_for(task, settings, &nets), Ok)?;
            let points = points(nets, rate);
            let search = Search { task, held, settings, points, memory: room(), deadline: None, halving };
            let mut see =
                |at: &tune::Stage| tell(((head as f64 + at.share) / heads, f64::NAN, 0, "choosing"));
            Ok((rate, tune::search(&search, &mut see)?))
        })?;
        eta0 = Some(found);
        outcomes.push(outcome);
    }
    let outcome = tune::summed(outcomes).ok_or_else(|| {
        let hint = "lower eta0, or scale the features down";
        raised(Error::call("every penalty of the grid diverged (NaN or infinity)", hint))
    })?;
    let found = PyDict::new(py);
    let each = |of: &dyn Fn(&Score) -> f64| outcome.scores.iter().map(of).collect::<Vec<f64>>();
    found.set_item("eta0", eta0)?;
    found.set_item("nonzeros", each(&|score| score.nonzeros))?;
    found.set_item("epochs", each(&|score| score.epochs))?;
    let why = |score: &Score| match score.dropped {
        None => "",
        Some(Dropped::Hopeless(_)) => "hopeless",
        Some(Dropped::Diverged { .. }) => "diverged",
    };
    found.set_item("dropped", outcome.scores.iter().map(why).collect::<Vec<_>>())?;
    found.set_item("by_fold", outcome.by_fold)?;
    Ok(found)
}

/// The starting rate that was asked for, or the one that the learning-rate search finds for the middle of the penalties.
fn rate_for(task: &lazyglm::Task, settings: &Settings, nets: &[ElasticNet]) -> Result<f64> {
    let mut nets = nets.to_vec();
    nets.sort_by(|a, b| (a.l1 + a.l2).total_cmp(&(b.l1 + b.l2)));
    match (settings.eta0, nets.get(nets.len() / 2)) {
        (None, Some(&penalty)) => lazyglm::rate(task, &Settings { penalty, ..settings.clone() }),
        (given, _) => Ok(given.unwrap_or(f64::NAN)),
    }
}

/// The weights of one head at each penalty, trained by SGD.
#[pyfunction]
pub fn path<'py>(
    py: Python<'py>,
    task: &mut Task,
    head: usize,
    penalties: Vec<(f64, f64)>,
    asked: Asked,
) -> PyResult<Vec<HeadArrays<'py>>> {
    task.0.select_head(Some(head));
    let nets = nets(&penalties)?;
    let trained = task.run(py, &asked, None, move |task, settings, _| {
        let points = points(nets, settings.eta0.unwrap_or(f64::NAN));
        tune::path(task, None, settings, &points, room())
    })?;
    let head = |point: tune::TrainedPoint| {
        let (columns, weights) = point.weights.into_iter().unzip();
        Head { columns, weights, bias: point.bias }
    };
    Ok(arrays(py, trained.into_iter().map(head).collect()))
}

fn nets(penalties: &[(f64, f64)]) -> PyResult<Vec<ElasticNet>> {
    penalties.iter().map(|&(l1, l2)| ElasticNet::new(l1, l2).map_err(raised)).collect()
}

fn points(nets: Vec<ElasticNet>, eta0: f64) -> Vec<Point> {
    nets.into_iter().map(|penalty| Point { penalty, eta0 }).collect()
}
