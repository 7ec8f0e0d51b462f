//! `learn`: some learners, one lent matrix, without the interpreter's lock. The library's loop over epochs does the work.

use crate::errors::{Pythons, raised};
use crate::learner::Learner;
use crate::matrix::{MatrixArrays, optional};
use crate::task::order;
use lazyglm::loss;
use lazyglm::optim::bias_rate::BiasRule;
use lazyglm::optim::resumable::Resumable;
use lazyglm::optim::scikit_learn_rate::Rate;
use lazyglm::problem::lent::Lent;
use lazyglm::problem::source::Sequence;
use lazyglm::problem::task::check_targets;
use lazyglm::train::estimator::Call;
use lazyglm::train::plateau::{Course, EpochFigures};
use lazyglm::train::polish::Polished;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// What a call of `learn` depends on besides the data.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    loss: String,
    learning_rate: String,
    eta0: f64,
    alpha: f64,
    power_t: f64,
    epochs: u64,
    tol: Option<f64>,
    patience: u64,
    shuffle: bool,
    seed: u64,
    threads: usize,
    intercept_rate: Option<f64>, // as a multiple of the rate of the weights
    polish: bool,
}

/// Columns, their weights and the bias of a model that is polished: other weights are zero.
type PolishedArrays<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>, f64);

/// Running losses, held-out scores, and the polished model, if it was asked for.
type Outcome<'py> = (Vec<f64>, Vec<f64>, Option<PolishedArrays<'py>>);

/// Learns a matrix. `y` are targets for one learner, or numbers of classes for several, one class each. With `labels`, learner k learns a label
/// instead, whose rows are `labels[1][labels[0][k]..labels[0][k + 1]]`. Returns the running
/// losses and held-out scores of each learner, one entry per epoch, and its weights and bias after the last coordinate steps. The learner keeps
/// its own.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, by name")]
pub fn learn<'py>(
    py: Python<'py>,
    x: MatrixArrays,
    y: PyReadonlyArray1<f64>,
    weights: Option<PyReadonlyArray1<f64>>,
    offsets: Option<PyReadonlyArray1<f64>>,
    held_out: Option<PyReadonlyArray1<bool>>,
    learners: Vec<Bound<Learner>>,
    labels: Option<(Vec<usize>, Vec<usize>)>,
    class_weights: Option<Vec<f64>>,
    options: Options,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<Outcome<'py>>> {
    let pythons = Pythons::default();
    let (targets, weights, offsets) = (y.as_slice()?, optional(&weights)?, optional(&offsets)?);
    let held_out = optional(&held_out)?;
    let mut held: Vec<PyRefMut<Learner>> =
        learners.iter().map(|learner| learner.try_borrow_mut()).collect::<Result<_, _>>()?;
    let mut models: Vec<&mut Resumable> = held.iter_mut().map(|learner| &mut learner.0).collect();
    let rule = options.intercept_rate.map_or(BiasRule::ByDensity, BiasRule::Fixed);
    models.iter_mut().for_each(|model| model.set_bias_rule(rule));
    let loss = loss::clipped(loss::parse(&options.loss).map_err(raised)?);
    let Options { eta0, alpha, power_t, epochs, tol, patience, threads, .. } = options;
    let tell = |k: usize, figures: &EpochFigures| {
        let EpochFigures { epoch, loss, objective, score, norm, nonzeros, bias, steps } = *figures;
        let figures = (k, epoch, loss, objective, score, norm, nonzeros, bias, steps);
        pythons.keep(Python::attach(|py| {
            watch.as_ref().map_or(Ok(()), |watch| watch.call1(py, figures).map(drop))
        }))
    };
    let outcomes = x.detached(py, |matrix| {
        matrix.lend(|rows| {
            let lent = Lent { targets, weights, offsets, ..rows };
            lent.check_lengths(matrix.rows())?;
            let (subset, held_rows) = lent.split(held_out)?;
            check_targets(targets, &*loss, models.len())?;
            let call = Call {
                loss: &*loss,
                rate: Rate { name: &options.learning_rate, eta0, alpha, power_t },
                lent: Lent { subset: subset.as_deref(), ..lent },
                held_rows: held_rows.as_deref(),
                labels: labels.as_ref().map(|(ends, rows)| (&ends[..], &rows[..])),
                class_weights: class_weights.as_deref(),
                sequence: Sequence { order: order(options.shuffle), seed: options.seed },
                epochs,
                tol,
                patience,
                threads,
                tell: watch.is_some().then_some(&tell),
                look: &|| pythons.look(),
            };
            let courses = call.fit(&mut models)?;
            let polished = match options.polish {
                true => call.polished(&models)?.into_iter().map(Some).collect(),
                false => vec![None; models.len()],
            };
            Ok(courses.into_iter().zip(polished).collect::<Vec<_>>())
        })
    });
    let arrays = |polished: Polished| {
        let Polished { columns, weights, bias } = polished;
        (PyArray1::from_vec(py, columns), PyArray1::from_vec(py, weights), bias)
    };
    let outcomes = outcomes?.map_err(|error| pythons.or(error))?;
    let outcome =
        |(course, polished): (Course, Option<_>)| (course.losses, course.scores, polished.map(arrays));
    Ok(outcomes.into_iter().map(outcome).collect())
}
