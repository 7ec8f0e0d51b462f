//! What distributed rounds ask of one shard: the library's verbs on lent arrays, other threads of Python running meanwhile.
//!
//! A shard is `(matrix, targets, weights or None)`, its rows in order (see `lazyglm.distributed`); answers are new arrays.

use crate::errors::raised;
use crate::matrix::{MatrixArrays, optional};
use lazyglm::optim::shard::{self, Local, Move, Point, check_columns, refused, smooth_loss};
use lazyglm::{ElasticNet, Examples, Loss, Result, WeightedPenalty, loss};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

type Array<'py> = Bound<'py, PyArray1<f64>>;
type LentArray<'py> = PyReadonlyArray1<'py, f64>;

/// Rows, targets and weights.
#[derive(FromPyObject)]
pub struct Shard<'py>(MatrixArrays<'py>, LentArray<'py>, Option<LentArray<'py>>);

/// Weights and bias.
#[derive(FromPyObject)]
pub struct Spot<'py>(LentArray<'py>, f64);

/// What a pass is told besides the point: see [`Local`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Told<'py> {
    zeroed: PyReadonlyArray1<'py, bool>,
    gradient: LentArray<'py>,
    bias_gradient: Option<f64>,
    metric: LentArray<'py>,
    bias_metric: f64,
    eta: f64,
    l1: f64,
    l2: f64,
    weight_scale: f64,
    seed: u64,
}

impl Shard<'_> {
    /// Checks everything and answers, without the lock of Python.
    fn ask<T: Send>(&self, py: Python, answer: impl FnOnce(Examples) -> Result<T> + Send) -> PyResult<T> {
        let (targets, weights) = (self.1.as_slice()?, optional(&self.2)?);
        let found = self.0.detached(py, |matrix| {
            let what = "the rows of a shard are not in order";
            let rows = matrix.sorted().ok_or_else(|| refused(what, "make it by lazyglm.distributed.pack"))?;
            let found = answer(Examples::new(rows, targets, weights)?);
            matrix.changed.check()?;
            found
        });
        found?.map_err(raised)
    }

    /// The same at a point, with a smooth loss; the point must have one weight per column.
    fn ask_at<T: Send>(
        &self,
        py: Python,
        loss: &str,
        at: &Spot,
        answer: impl FnOnce(Examples, &dyn Loss, Point) -> T + Send,
    ) -> PyResult<T> {
        let (loss, at) = (smooth_loss(loss).map_err(raised)?, at.point()?);
        self.ask(py, |examples| {
            check_columns(examples, &[at.weights.len()])?;
            Ok(answer(examples, &*loss, at))
        })
    }
}

impl Spot<'_> {
    fn point(&self) -> PyResult<Point<'_>> {
        Ok(Point { weights: self.0.as_slice()?, bias: self.1 })
    }
}

/// Rows, Σω, cⱼ and sⱼ: see [`shard::column_stats`].
#[pyfunction]
pub fn column_stats<'py>(py: Python<'py>, shard: Shard<'py>) -> PyResult<(u64, f64, Array<'py>, Array<'py>)> {
    let stats = shard.ask(py, |examples| Ok(shard::column_stats(examples)))?;
    let counts = PyArray1::from_iter(py, stats.counts.iter().map(|&count| f64::from(count)));
    Ok((stats.rows, stats.weight, counts, PyArray1::from_vec(py, stats.squares)))
}

/// Σωℓ, Σωℓ′, Σωℓ″ and the gradient: see [`shard::loss_gradient`].
#[pyfunction]
pub fn loss_gradient<'py>(
    py: Python<'py>,
    shard: Shard<'py>,
    loss: &str,
    at: Spot<'py>,
) -> PyResult<([f64; 3], Array<'py>)> {
    let sums = shard.ask_at(py, loss, &at, |examples, loss, at| {
        shard::loss_gradient(examples, loss, at.weights, at.bias)
    })?;
    Ok(([sums.loss, sums.slopes, sums.second_derivatives], PyArray1::from_vec(py, sums.gradient)))
}

/// How far one pass moves the weights and the bias: see [`shard::local_pass`].
#[pyfunction]
pub fn local_pass<'py>(
    py: Python<'py>,
    shard: Shard<'py>,
    loss: &str,
    at: Spot<'py>,
    told: Told<'py>,
) -> PyResult<(Array<'py>, f64)> {
    let loss = smooth_loss(loss).map_err(raised)?;
    let local = Local {
        at: at.point()?,
        zeroed: Some(told.zeroed.as_slice()?),
        gradient: told.gradient.as_slice()?,
        bias_gradient: told.bias_gradient,
        metric: told.metric.as_slice()?,
        bias_metric: told.bias_metric,
        eta: told.eta,
        weighted_penalty: WeightedPenalty::of(ElasticNet::new(told.l1, told.l2).map_err(raised)?),
        weight_scale: told.weight_scale,
        seed: told.seed,
    };
    let moved = shard.ask(py, |examples| {
        let zeroed = local.zeroed.map_or(local.metric.len(), <[bool]>::len);
        check_columns(examples, &[local.at.weights.len(), local.gradient.len(), local.metric.len(), zeroed])?;
        Ok(shard::local_pass(examples, &*loss, &local))
    })?;
    Ok((PyArray1::from_vec(py, moved.weights), moved.bias))
}

/// Σωℓ at shares of the way between two points: see [`shard::line_losses`].
#[pyfunction]
pub fn line_losses<'py>(
    py: Python<'py>,
    shard: Shard<'py>,
    loss: &str,
    start: Spot<'py>,
    to: Spot<'py>,
    thetas: Vec<f64>,
) -> PyResult<Array<'py>> {
    let to = to.point()?;
    let losses = shard.ask_at(py, loss, &start, |examples, loss, from| {
        check_columns(examples, &[to.weights.len()])?;
        Ok(shard::line_losses(examples, loss, from, to, &thetas))
    })?;
    Ok(PyArray1::from_vec(py, losses.map_err(raised)?))
}

/// Σωℓ′ at moves of the bias: see [`shard::slope_sums`].
#[pyfunction]
pub fn slope_sums<'py>(
    py: Python<'py>,
    shard: Shard<'py>,
    loss: &str,
    at: Spot<'py>,
    moves: Vec<f64>,
) -> PyResult<Array<'py>> {
    let sums =
        shard.ask_at(py, loss, &at, |examples, loss, at| shard::slope_sums(examples, loss, at, &moves))?;
    Ok(PyArray1::from_vec(py, sums))
}

/// ωℓ″ of each row: see [`shard::second_derivatives`].
#[pyfunction]
pub fn second_derivatives<'py>(
    py: Python<'py>,
    shard: Shard<'py>,
    loss: &str,
    at: Spot<'py>,
) -> PyResult<Array<'py>> {
    Ok(PyArray1::from_vec(py, shard.ask_at(py, loss, &at, shard::second_derivatives)?))
}

/// Σωu, Σωℓ* of shares, and the gradient of u: see [`shard::dual_sums`].
#[pyfunction]
pub fn dual_sums<'py>(
    py: Python<'py>,
    shard: Shard<'py>,
    loss: &str,
    at: Spot<'py>,
    by: (f64, f64, f64),
    shares: Vec<f64>,
) -> PyResult<(f64, Array<'py>, Array<'py>)> {
    let by = Move { low: by.0, high: by.1, share: by.2 };
    let sums = shard
        .ask_at(py, loss, &at, |examples, loss, at| shard::dual_sums(examples, loss, at, by, &shares))?;
    Ok((sums.slopes, PyArray1::from_vec(py, sums.conjugates), PyArray1::from_vec(py, sums.gradient)))
}

/// Weights with those at zero that are zero at the minimum: see [`shard::zero_test`].
#[pyfunction]
pub fn zero_test<'py>(
    py: Python<'py>,
    weights: LentArray<'py>,
    gradient: LentArray<'py>,
    curvature: LentArray<'py>,
    l1: f64,
    l2: f64,
) -> PyResult<Array<'py>> {
    let mut weights = weights.as_slice()?.to_vec();
    let (gradient, curvature) = (gradient.as_slice()?, curvature.as_slice()?);
    let weighted_penalty = WeightedPenalty::of(ElasticNet::new(l1, l2).map_err(raised)?);
    if gradient.len() != weights.len() || curvature.len() != weights.len() {
        let what = "weights, gradient and curvature differ in length";
        return Err(raised(refused(what, "give one number per column")));
    }
    py.detach(|| shard::zero_test(&mut weights, gradient, curvature, &weighted_penalty));
    Ok(PyArray1::from_vec(py, weights))
}

/// (curvature bound or None, whether its slope jumps) of a loss.
#[pyfunction]
pub fn loss_shape(loss: &str) -> PyResult<(Option<f64>, bool)> {
    let loss = loss::parse(loss).map_err(raised)?;
    Ok((loss.curvature(), !loss.kinks(1.0).is_empty()))
}
