//! Evaluates F, its gradient and derived quantities in one pass over rows that arrive block by block.

use super::gradients::Gradients;
use super::{Evaluation, NullFigures, NullModel, Objective, Worst, largest};
use crate::data::rows::{Examples, RowsRef, ValuesRef};
use crate::problem::loss::{Derivatives, Loss};
use crate::problem::penalty::WeightedPenalty;
use rayon::prelude::*;
use std::ops::Range;

/// Number of rows whose losses are computed together.
const BLOCK: usize = 128;

/// Accumulates F and its gradient over blocks of rows.
pub(crate) struct Evaluator<'a> {
    loss: &'a dyn Loss,
    weights: &'a [f64],
    bias: Option<f64>,
    null: Option<NullModel>, // set if the null model is evaluated too
    gradients: Gradients<2>, // at (w, b), and of the null model
    sums: [f64; 2],          // of losses and of their derivatives
    rows: usize,
}

impl<'a> Evaluator<'a> {
    /// Creates an evaluator. `nonzeros` is the total number of non-zeros of all rows to come.
    pub fn new(loss: &'a dyn Loss, weights: &'a [f64], bias: Option<f64>, nonzeros: usize) -> Evaluator<'a> {
        let gradients = Gradients::new(weights.len(), nonzeros);
        Evaluator { loss, weights, bias, null: None, gradients, sums: [0.0; 2], rows: 0 }
    }

    /// Also evaluates the null model in the same pass.
    pub fn with_null(self, null: NullModel) -> Evaluator<'a> {
        Evaluator { null: Some(null), ..self }
    }

    /// Adds a block of rows. The sums do not depend on the number of threads.
    pub fn add(&mut self, examples: Examples) {
        let (loss, weights, bias) = (self.loss, self.weights, self.bias.unwrap_or(0.0));
        let null = self.null.as_ref().map(|null| null.slopes(loss, examples));
        let sums = self.gradients.add(examples.rows, |rows, out, sums| {
            let (first, [losses, slopes]) = (rows.start, sums);
            let score = |i: usize| dot(examples.rows, i, weights) + bias + examples.offset(i);
            judge_rows(examples, loss, rows, score, |i, of_loss, here| {
                (*losses, *slopes) = (*losses + of_loss, *slopes + here);
                out[i - first] = [here, null.as_ref().map_or(0.0, |null| null(i))];
            });
        });
        sums.iter().for_each(|sums| (0..2).for_each(|k| self.sums[k] += sums[k]));
        self.rows += examples.len();
    }

    /// Adds the gradient of a block of rows with the given loss derivatives, instead of those at (w, b).
    pub(crate) fn add_derivatives(&mut self, examples: Examples, slope: impl Fn(usize) -> f64 + Sync) {
        self.gradients.add(examples.rows, |rows, out, _: &mut [f64; 0]| {
            rows.zip(out).for_each(|(i, out)| *out = [slope(i), 0.0]);
        });
        self.rows += examples.len();
    }

    /// The mean gradient over all rows, per column.
    pub(crate) fn total_gradient(&self) -> Vec<f64> {
        let n = self.rows as f64;
        self.gradients.of(0).into_iter().map(|here| here / n).collect()
    }

    /// Computes the evaluation from the sums.
    pub fn finish<'p>(self, weighted_penalty: impl Into<WeightedPenalty<'p>>) -> Evaluation {
        let (n, total) = (self.rows as f64, self.gradients.total());
        let null = self.null.map(|null| NullFigures {
            baseline: null.baseline,
            l1_max: largest(total.par_iter().map(|[_, null]| (null / n).abs())),
        });
        let found = Sums { total: &total, sums: self.sums, rows: self.rows };
        found.evaluation(weighted_penalty.into(), self.weights, self.bias.is_some(), null).0
    }

    /// Like [`Evaluator::finish`], for all rows that there are: λ₁_max is free of rounding errors. `known` are the figures of the
    /// null model, if it was not evaluated in this pass.
    pub(super) fn finish_all(
        self,
        examples: Examples,
        weighted_penalty: WeightedPenalty,
        known: Option<NullFigures>,
    ) -> (Evaluation, Worst) {
        let total = self.gradients.total();
        let gradient = || total.par_iter().map(|[_, null]| *null).collect();
        let null =
            self.null.map(|null| null.with_gradient(gradient(), examples, self.loss).figures()).or(known);
        let found = Sums { total: &total, sums: self.sums, rows: self.rows };
        found.evaluation(weighted_penalty, self.weights, self.bias.is_some(), null)
    }
}

/// Calls `see(row, loss, derivative)` for each of these rows, with the weight of the row as a factor of both.
#[inline(always)]
pub(super) fn judge_rows(
    examples: Examples,
    loss: &dyn Loss,
    rows: Range<usize>,
    score: impl Fn(usize) -> f64,
    mut see: impl FnMut(usize, f64, f64),
) {
    let [mut scores, mut values, mut slopes, mut second_derivatives] = [[0.0; BLOCK]; 4];
    for start in rows.clone().step_by(BLOCK) {
        let some = start..(start + BLOCK).min(rows.end);
        let n = some.len();
        some.clone().zip(&mut scores).for_each(|(i, to)| *to = score(i));
        let (values, slopes) = (&mut values[..n], &mut slopes[..n]);
        let out = Derivatives { values, slopes, second_derivatives: &mut second_derivatives[..n] };
        loss.taylor_of_rows(&scores[..n], &examples.targets[some.clone()], out);
        for ((i, value), slope) in some.zip(values).zip(slopes) {
            let weight = examples.weight(i);
            see(i, weight * *value, weight * *slope);
        }
    }
}

/// Sums over all rows. The first sum of each column is its gradient at (w, b).
pub(super) struct Sums<'a, const N: usize> {
    pub total: &'a [[f64; N]],
    pub sums: [f64; 2],
    pub rows: usize,
}

impl<const N: usize> Sums<'_, N> {
    /// The evaluation, and the coordinate of the largest violation.
    pub fn evaluation(
        &self,
        weighted_penalty: WeightedPenalty,
        weights: &[f64],
        with_bias: bool,
        null: Option<NullFigures>,
    ) -> (Evaluation, Worst) {
        let (n, [losses, slopes]) = (self.rows as f64, self.sums);
        let of_weights = (0..weights.len())
            .into_par_iter()
            .map(|j| (weighted_penalty.violation(j, weights[j], self.total[j][0] / n), Worst::Column(j)));
        let of_bias = if with_bias { (slopes / n).abs() } else { 0.0 };
        let (violation, worst) =
            larger(of_weights.reduce(|| (0.0, Worst::Nowhere), larger), (of_bias, Worst::Bias));
        let evaluation = Evaluation {
            objective: Objective { loss: losses / n, penalty: weighted_penalty.value(weights) },
            violation,
            l1_max: null.map_or(f64::NAN, |null| null.l1_max),
            baseline: null.map_or(f64::NAN, |null| null.baseline),
        };
        (evaluation, worst)
    }
}

/// The dot product Σ xⱼwⱼ of a row.
#[inline(always)]
pub(super) fn dot(rows: RowsRef, i: usize, weights: &[f64]) -> f64 {
    match rows.values() {
        ValuesRef::F32(values) => rows.row(values, i).dot_in_four_sums(|j| weights[j]),
        ValuesRef::F64(values) => rows.row(values, i).dot_in_four_sums(|j| weights[j]),
    }
}

/// The larger violation: the first of equal ones, or a NaN, so that a diverged run is visible.
pub(super) fn larger(a: (f64, Worst), b: (f64, Worst)) -> (f64, Worst) {
    if a.0.is_nan() || b.0 <= a.0 { a } else { b }
}
