//! The state of the solver at one point: weights, scores, derivatives and the gradient.

use super::descend::Ending;
use super::{Newton, Problem, Solution};
use crate::data::rows::{Examples, RowsRef, Value, ValuesRef};
use crate::optim::kernel::ColumnStore;
use crate::problem::loss::Derivatives;
use crate::problem::source::{Pooled, few_kinds};
use crate::util::number::{larger_or_nan, positive_part};
use rayon::prelude::*;

/// Number of rows per chunk. Sums run over chunks, so they do not depend on the number of threads.
const CHUNK: usize = 4096;
/// Maximum number of step lengths for the bias, each a quarter of the last.
const QUARTERS: usize = 60;

/// Maximum number of steps that balance the derivatives.
const BALANCING_STEPS: usize = 5;

/// A point (w, b) and its derived quantities. Sums over rows, not means.
#[derive(Clone)]
pub(super) struct Point {
    pub weights: Vec<f64>,
    pub bias: f64,
    pub scores: Vec<f64>,
    pub slopes: Vec<f64>,             // ω∘ℓ′
    pub second_derivatives: Vec<f64>, // ω∘ℓ″
    pub gradient: Vec<f64>,
    pub penalty: f64, // n·R
    pub value: f64,   // n·F
}

impl Point {
    /// The point without weights, whose rows are not known yet.
    pub fn empty(width: usize) -> Point {
        let [weights, gradient] = [(); 2].map(|()| vec![0.0; width]);
        let [scores, slopes, second_derivatives] = [(); 3].map(|()| Vec::new());
        Point { weights, bias: 0.0, scores, slopes, second_derivatives, gradient, penalty: 0.0, value: 0.0 }
    }

    /// Enters the terms at the scores.
    pub fn enter(&mut self, terms: Terms) {
        self.value = terms.loss + self.penalty;
        (self.slopes, self.second_derivatives) = (terms.slopes, terms.second_derivatives);
    }

    /// Converts the point to a solution.
    pub fn solved(self, ending: Ending) -> Solution {
        let Ending { stop, steps, predicted_decrease, dual } = ending;
        Solution { weights: self.weights, bias: self.bias, stop, steps, predicted_decrease, dual }
    }
}

/// What the gradient tells about a point.
pub(super) struct Look {
    /// The relative duality gap, with the loss derivatives as dual variables.
    pub gap: f64,
    /// The largest violation of the optimality conditions, times n.
    pub most: f64,
    /// The number of non-zero weights.
    pub nonzeros: usize,
}

/// Loss terms at some scores.
pub(super) struct Terms {
    pub loss: f64,
    pub slopes: Vec<f64>,
    pub second_derivatives: Vec<f64>,
}

impl<V: Value> Newton<'_, V> {
    /// Computes the loss, its derivatives and second derivatives at some scores.
    pub(super) fn terms(&self, scores: &[f64]) -> Terms {
        let Problem { examples, loss, .. } = self.problem;
        let (mut slopes, mut second_derivatives) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
        let pieces: Vec<f64> = (slopes.par_chunks_mut(CHUNK).zip(second_derivatives.par_chunks_mut(CHUNK)))
            .enumerate()
            .map(|(piece, (slopes, second_derivatives))| {
                let span = piece * CHUNK..piece * CHUNK + slopes.len();
                let mut values = vec![0.0; slopes.len()];
                let out = Derivatives { values: &mut values, slopes, second_derivatives };
                loss.taylor_of_rows(&scores[span.clone()], &examples.targets[span.clone()], out);
                let Some(weights) = examples.weights else { return total(&values) };
                for (k, weight) in weights[span].iter().enumerate() {
                    values[k] *= weight;
                    slopes[k] *= weight;
                    second_derivatives[k] *= weight;
                }
                total(&values)
            })
            .collect();
        Terms { loss: pieces.into_iter().sum(), slopes, second_derivatives }
    }

    /// The point with zero weights and the best bias. Its gradient is summed by rows, because columns may
    /// never be needed.
    pub(super) fn null_point(&self) -> Point {
        let examples = self.problem.examples;
        let width = examples.rows.columns();
        let scores = examples.offsets.map_or_else(|| vec![0.0; examples.len()], <[f64]>::to_vec);
        let mut point = Point { scores, ..Point::empty(width) };
        if let Some(bias) = self.bias_of_few_kinds() {
            point.bias = bias;
            point.scores.iter_mut().for_each(|score| *score += bias);
        }
        self.settle(&mut point, 60, 1e-12); // λ₁_max depends on it
        self.gradient_by_rows(&mut point);
        point
    }

    /// The best bias without weights, on one row per kind of target and offset, with the total weight of its rows. `None` if
    /// there is no bias or if there are many kinds.
    fn bias_of_few_kinds(&self) -> Option<f64> {
        let Problem { examples, loss, weighted_penalty, bias } = *self.problem;
        let kinds = if bias { few_kinds(examples) } else { None }?;
        let numbers = |of: fn(&Pooled) -> f64| -> Vec<f64> { kinds.iter().map(of).collect() };
        let (targets, weights, offsets) =
            (numbers(|k| k.target), numbers(|k| k.weight), numbers(|k| k.offset));
        let rows = RowsRef::trusted(&[0], &[], ValuesRef::F32(&[]), 0);
        let examples = Examples { rows, targets: &targets, weights: Some(&weights), offsets: None };
        let problem = Problem { examples, loss, weighted_penalty, bias };
        let few = Newton::<f32> { n: self.n, ..Newton::new(&problem, &[], self.options, self.bounds) };
        let mut point = Point { scores: offsets, ..Point::empty(0) };
        few.settle(&mut point, 60, 1e-12);
        Some(point.bias)
    }

    /// Computes Xᵀr by rows, without the view by columns.
    pub(super) fn gradient_by_rows(&self, point: &mut Point) {
        let rows = self.problem.examples.rows;
        point.gradient.fill(0.0);
        for (i, slope) in point.slopes.iter().enumerate().filter(|(_, slope)| **slope != 0.0) {
            rows.row(self.values, i).iter().for_each(|(j, x)| point.gradient[j] += slope * x);
        }
    }

    /// The point at these weights, with the bias moved to its best.
    pub(super) fn point_at(&self, weights: Vec<f64>, bias: f64, columns: &impl ColumnStore) -> Point {
        let mut point = self.point_without_gradient(weights, bias);
        columns.products(&point.slopes, &mut point.gradient);
        point
    }

    /// The point at these weights, with the bias moved to its best and a gradient of zeros.
    pub(super) fn point_without_gradient(&self, weights: Vec<f64>, bias: f64) -> Point {
        let examples = self.problem.examples;
        let bias = if self.problem.bias { bias } else { 0.0 };
        let one = |i: usize| examples.rows.row(self.values, i).dot(&weights) + bias + examples.offset(i);
        let scores: Vec<f64> = (0..examples.len()).into_par_iter().with_min_len(1024).map(one).collect();
        let (slopes, second_derivatives, gradient) = (Vec::new(), Vec::new(), vec![0.0; weights.len()]);
        let penalty = self.n * self.problem.weighted_penalty.value(&weights);
        let mut point =
            Point { weights, bias, scores, slopes, second_derivatives, gradient, penalty, value: 0.0 };
        self.settle(&mut point, 30, self.enough());
        point
    }

    /// Computes the gradient of the columns that steps may move.
    pub(super) fn update_gradient(&self, point: &mut Point, columns: &impl ColumnStore) {
        let Some(scope) = self.scope else { return columns.products(&point.slopes, &mut point.gradient) };
        let one = |&j: &u32| columns.product(j as usize, &point.slopes);
        let found: Vec<f64> = scope.par_iter().with_min_len(512).map(one).collect();
        scope.iter().zip(found).for_each(|(&j, g)| point.gradient[j as usize] = g);
    }

    /// Computes the terms at the scores, and moves the bias to its best by at most `most` steps.
    pub(super) fn settle(&self, point: &mut Point, most: usize, enough: f64) {
        let terms = self.terms(&point.scores);
        point.enter(terms);
        self.settle_bias(point, most, enough);
    }

    /// Takes at most `most` Newton steps on the bias while they decrease the loss.
    pub(super) fn settle_bias(&self, point: &mut Point, most: usize, enough: f64) {
        for _ in 0..if self.problem.bias { most } else { 0 } {
            let (slope, second_derivative) = (total(&point.slopes), total(&point.second_derivatives));
            let size = total_size(&point.slopes);
            if slope.abs() <= 1e-13 * size
                || slope * slope <= 2e-4 * enough * second_derivative * point.value.abs()
            {
                break;
            }
            let floor = 1e-9 * size.max(1e-300);
            let mut step = -slope / second_derivative.max(floor);
            let mut moved = None;
            for _ in 0..QUARTERS {
                let scores: Vec<f64> = point.scores.iter().map(|score| score + step).collect();
                let terms = self.terms(&scores);
                if terms.loss + point.penalty <= point.value {
                    moved = Some((scores, terms));
                    break;
                }
                step *= 0.25;
                if step.abs() < 1e-15 * (1.0 + point.bias.abs()) || self.bounds.interrupted() {
                    break;
                }
            }
            let Some((scores, terms)) = moved else { break };
            (point.bias, point.scores) = (point.bias + step, scores);
            point.enter(terms);
        }
    }

    /// Moves the bias until the derivatives sum to at most this share of their magnitudes, as far as rounding allows.
    /// Returns whether the bias moved.
    pub(super) fn balance_bias(&self, point: &mut Point, share: f64) -> bool {
        let mut moves = false;
        for _ in 0..if self.problem.bias { BALANCING_STEPS } else { 0 } {
            let (slope, second_derivative) = (total(&point.slopes), total(&point.second_derivatives));
            let size = total_size(&point.slopes);
            let step = -slope / second_derivative;
            if slope.abs() <= share * size || !step.is_finite() {
                break;
            }
            let scores: Vec<f64> = point.scores.iter().map(|score| score + step).collect();
            let terms = self.terms(&scores);
            if total(&terms.slopes).abs() >= slope.abs() {
                break;
            }
            (point.bias, point.scores, moves) = (point.bias + step, scores, true);
            point.enter(terms);
        }
        moves
    }

    /// A decrease that is small relative to the tolerance.
    pub(super) fn enough(&self) -> f64 {
        self.options.tolerance.clamp(1e-12, 1e-4)
    }

    /// Computes what the gradient tells about a point.
    ///
    /// The bias is at its best, so the derivatives nearly sum to zero. The bound of `eval::objective` is the
    /// rigorous one; this one needs no pass.
    pub(super) fn look(&self, point: &Point) -> Look {
        self.look_with(point, |share| self.conjugates(&point.slopes, share))
    }

    /// Like [`Newton::look`], with a function for the conjugates of the rows' derivatives times a share.
    pub(super) fn look_with(&self, point: &Point, conjugates: impl Fn(f64) -> f64) -> Look {
        let weighted_penalty = &self.problem.weighted_penalty;
        let (mut gap, mut along, mut share) = (0.0, 0.0, 1.0f64);
        let (mut most, mut nonzeros) = (0.0, 0);
        self.for_each_column(|j| {
            let (penalty, w, g) = (weighted_penalty.at(j), point.weights[j], point.gradient[j] / self.n);
            if w == 0.0 && g.abs() <= penalty.l1 {
                return; // most weights: optimal, and without a part in the gap
            }
            let one = weighted_penalty.one(j);
            most = larger_or_nan(most, one.violation(w, g));
            share = share.min(one.share(g));
            gap += one.conjugate(g);
            if w != 0.0 {
                nonzeros += 1;
                gap += penalty.l1 * w.abs() + 0.5 * penalty.l2 * w * w + g * w;
                along -= g * w;
            }
        });
        let gap = self.relative_gap(point, [gap, along, share], conjugates);
        Look { gap, most: most * self.n, nonzeros }
    }

    /// The sum of ω(ℓ*(θu) − θu·o) over the rows, for a share θ of their derivatives ωu.
    pub(super) fn conjugates(&self, slopes: &[f64], share: f64) -> f64 {
        let examples = self.problem.examples;
        let of_row = |(i, conjugate): (usize, &f64)| match examples.weight(i) {
            0.0 => 0.0,
            weight => weight * conjugate - share * slopes[i] * examples.offset(i),
        };
        self.conjugates_of_rows(slopes, share).iter().enumerate().map(of_row).sum()
    }

    /// The conjugates ℓ*(θu) of the rows' derivatives ωu.
    fn conjugates_of_rows(&self, slopes: &[f64], share: f64) -> Vec<f64> {
        let Problem { examples, loss, .. } = self.problem;
        let unweighted = |(i, slope): (usize, &f64)| match examples.weight(i) {
            0.0 => 0.0,
            weight => share * slope / weight,
        };
        let slopes: Vec<f64> = slopes.iter().enumerate().map(unweighted).collect();
        let mut conjugates = vec![0.0; slopes.len()];
        loss.conjugate_of_rows(&slopes, examples.targets, &mut conjugates);
        conjugates
    }

    /// The relative gap, for derivatives that shrink by `share` to satisfy the constraints of the dual problem. `gap`
    /// is the gap without shrinking, and `along` is −Σ gⱼwⱼ.
    fn relative_gap(
        &self,
        point: &Point,
        [gap, along, share]: [f64; 3],
        conjugates: impl Fn(f64) -> f64,
    ) -> f64 {
        let weighted_penalty = &self.problem.weighted_penalty;
        if weighted_penalty.penalty.is_none() {
            return f64::INFINITY;
        }
        let value = (point.value / self.n).abs().max(f64::MIN_POSITIVE);
        if share == 1.0 {
            return positive_part(gap) / value;
        }
        // D is concave in the share, so this is a lower bound on the gap, which usually suffices.
        let least = (gap + (1.0 - share) * along) / value;
        if least > self.options.tolerance {
            return least;
        }
        let conjugates = conjugates(share);
        let beyond: f64 = (0..point.weights.len())
            .map(|j| weighted_penalty.one(j).conjugate(share * point.gradient[j] / self.n))
            .sum();
        positive_part((point.value + conjugates) / self.n + beyond) / value
    }
}

/// The sum in eight partial sums. A single sum would make each addition wait for the previous one.
pub(super) fn total(numbers: &[f64]) -> f64 {
    eight_sums(numbers, |number| number)
}

/// The sum of magnitudes.
pub(super) fn total_size(numbers: &[f64]) -> f64 {
    eight_sums(numbers, f64::abs)
}

fn eight_sums(numbers: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let (eights, rest) = numbers.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        for k in 0..8 {
            sums[k] += of(eight[k]);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|number| of(*number)).sum::<f64>()
}
