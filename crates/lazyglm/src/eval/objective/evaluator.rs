//! Evaluates F, its gradient and derived quantities in one pass over rows that arrive block by block.

use super::{CHUNK, Evaluation, NullFigures, NullModel, Objective, Worst, largest};
use crate::data::rows::{Examples, ValuesRef};
use crate::problem::loss::Loss;
use crate::problem::penalty::WeightedPenalty;
use rayon::prelude::*;

/// Accumulates F and its gradient over blocks of rows.
pub(crate) struct Evaluator<'a> {
    loss: &'a dyn Loss,
    weights: &'a [f64],
    bias: Option<f64>,
    null: Option<NullModel>,     // set if the null model is evaluated too
    parts: Vec<PartialGradient>, // partial gradients, summed in a fixed order
    losses: f64,
    slopes: f64,
    rows: usize,
}

/// Gradients over some of the rows: at (w, b), and for the null model if that is evaluated too.
struct PartialGradient {
    here: Vec<[f64; 2]>, // (weight, gradient) pairs: scoring a row fetches the cache lines that its gradient updates
    null: Vec<f64>,
}

/// Maximum number of gradients that are summed in parallel. Data with more non-zeros per column use more.
const PARTS: usize = 8;

impl<'a> Evaluator<'a> {
    /// Creates an evaluator. `nonzeros` is the total number of non-zeros of all rows to come.
    pub fn new(loss: &'a dyn Loss, weights: &'a [f64], bias: Option<f64>, nonzeros: usize) -> Evaluator<'a> {
        let parts = (nonzeros / (8 * weights.len().max(1))).clamp(1, PARTS);
        let part =
            |_| PartialGradient { here: weights.iter().map(|&w| [w, 0.0]).collect(), null: Vec::new() };
        let (losses, slopes, rows) = (0.0, 0.0, 0);
        Evaluator {
            loss,
            weights,
            bias,
            null: None,
            parts: (0..parts).map(part).collect(),
            losses,
            slopes,
            rows,
        }
    }

    /// Also evaluates the null model in the same pass.
    pub fn with_null(mut self, null: NullModel) -> Evaluator<'a> {
        self.parts.iter_mut().for_each(|part| part.null = vec![0.0; part.here.len()]);
        Evaluator { null: Some(null), ..self }
    }

    /// Adds a block of rows. The sums do not depend on the number of threads.
    pub fn add(&mut self, examples: Examples) {
        let (loss, bias, null) = (self.loss, self.bias, self.null.as_ref());
        let chunks = examples.len().div_ceil(CHUNK);
        let of_part = chunks.div_ceil(self.parts.len());
        let sums = self.parts.par_iter_mut().enumerate().map(|(part, gradients)| {
            let one = |chunk: usize| {
                let (mut losses, mut slopes) = (0.0, 0.0);
                for i in chunk * CHUNK..((chunk + 1) * CHUNK).min(examples.len()) {
                    let (target, weight) = (examples.targets[i], examples.weight(i));
                    let score = dot(examples, i, &gradients.here) + bias.unwrap_or(0.0) + examples.offset(i);
                    losses += weight * loss.value(score, target);
                    let here = weight * loss.slope(score, target);
                    slopes += here;
                    examples.rows.for_each(i, |j, x| gradients.here[j][1] += here * x);
                    if let Some(null) = null {
                        let slope = weight * null.slope(loss, target, examples.offset(i));
                        examples.rows.for_each(i, |j, x| gradients.null[j] += slope * x);
                    }
                }
                (losses, slopes)
            };
            (part * of_part..((part + 1) * of_part).min(chunks)).map(one).collect::<Vec<_>>()
        });
        for (losses, slopes) in sums.collect::<Vec<_>>().into_iter().flatten() {
            self.losses += losses;
            self.slopes += slopes;
        }
        self.rows += examples.len();
    }

    /// Adds the gradient of a block of rows with the given loss derivatives, instead of those at (w, b).
    pub(crate) fn add_derivatives(&mut self, examples: Examples, slope: impl Fn(usize) -> f64 + Sync) {
        let of_part = examples.len().div_ceil(CHUNK).div_ceil(self.parts.len()) * CHUNK;
        self.parts.par_iter_mut().enumerate().for_each(|(part, gradients)| {
            for i in (part * of_part).min(examples.len())..((part + 1) * of_part).min(examples.len()) {
                let slope = slope(i);
                examples.rows.for_each(i, |j, x| gradients.here[j][1] += slope * x);
            }
        });
        self.rows += examples.len();
    }

    /// The mean gradient over all rows, per column.
    pub(crate) fn total_gradient(&self) -> Vec<f64> {
        let n = self.rows as f64;
        let total = |j: usize| self.parts.iter().map(|part| part.here[j][1]).sum::<f64>() / n;
        (0..self.weights.len()).into_par_iter().map(total).collect()
    }

    /// Computes the evaluation from the sums. `null` is the null model if it was not evaluated here.
    pub fn finish<'p>(
        self,
        weighted_penalty: impl Into<WeightedPenalty<'p>>,
        null: Option<NullFigures>,
    ) -> Evaluation {
        self.finish_with_worst(weighted_penalty.into(), null).0
    }

    /// Computes the evaluation, and the coordinate of the largest violation.
    pub fn finish_with_worst(
        self,
        weighted_penalty: WeightedPenalty,
        null: Option<NullFigures>,
    ) -> (Evaluation, Worst) {
        let n = self.rows as f64;
        let total = |j: usize, of: fn(&PartialGradient, usize) -> f64| {
            self.parts.iter().map(|part| of(part, j)).sum::<f64>() / n
        };
        let columns = 0..self.weights.len();
        let of_weights = columns.clone().into_par_iter().map(|j| {
            (
                weighted_penalty.violation(j, self.weights[j], total(j, |part, j| part.here[j][1])),
                Worst::Column(j),
            )
        });
        let of_bias = self.bias.map_or(0.0, |_| (self.slopes / n).abs());
        let (violation, worst) =
            larger(of_weights.reduce(|| (0.0, Worst::Nowhere), larger), (of_bias, Worst::Bias));
        let null = null.or_else(|| {
            let baseline = self.null.as_ref()?.baseline;
            let gradient = |j: usize| total(j, |part, j| part.null[j]);
            let l1_max = largest(columns.into_par_iter().map(|j| gradient(j).abs()));
            Some(NullFigures { baseline, l1_max })
        });
        let evaluation = Evaluation {
            objective: Objective { loss: self.losses / n, penalty: weighted_penalty.value(self.weights) },
            violation,
            l1_max: null.map_or(f64::NAN, |null| null.l1_max),
            baseline: null.map_or(f64::NAN, |null| null.baseline),
        };
        (evaluation, worst)
    }
}

/// The dot product Σ xⱼwⱼ of a row.
fn dot(examples: Examples, i: usize, weights: &[[f64; 2]]) -> f64 {
    match examples.rows.values() {
        ValuesRef::F32(values) => examples.rows.row(values, i).dot_in_four_sums(|j| weights[j][0]),
        ValuesRef::F64(values) => examples.rows.row(values, i).dot_in_four_sums(|j| weights[j][0]),
    }
}

/// The larger violation: the first of equal ones, or a NaN, so that a diverged run is visible.
pub(super) fn larger(a: (f64, Worst), b: (f64, Worst)) -> (f64, Worst) {
    if a.0.is_nan() || b.0 <= a.0 { a } else { b }
}
