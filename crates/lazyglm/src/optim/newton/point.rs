//! The state of the solver at one point: weights, scores, derivatives and the gradient.

use super::{Newton, NewtonStop, Solution};
use crate::data::rows::Value;
use crate::optim::kernel::ColumnStore;
use crate::util::number::{larger_or_nan, positive_part};
use rayon::prelude::*;

/// Number of rows per chunk. Sums run over chunks, so they do not depend on the number of threads.
const CHUNK: usize = 4096;
/// Maximum number of step lengths for the bias, each a quarter of the last.
const QUARTERS: usize = 60;

/// A point (w, b) and its derived quantities. Sums over rows, not means.
pub(super) struct Point {
    pub weights: Vec<f64>,
    pub bias: f64,
    pub scores: Vec<f64>,
    pub slopes: Vec<f64>,             // ω∘ℓ′
    pub second_derivatives: Vec<f64>, // ω∘ℓ″
    pub gradient: Vec<f64>,
    pub value: f64, // n·F
}

impl Point {
    /// Converts the point to a solution.
    pub fn solved(self, stop: NewtonStop, steps: usize, predicted_decrease: f64) -> Solution {
        Solution { weights: self.weights, bias: self.bias, stop, steps, predicted_decrease, dual: None }
    }
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
        let examples = self.problem.examples;
        let loss = self.problem.loss;
        let (mut slopes, mut second_derivatives) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
        let pieces: Vec<f64> = (slopes.par_chunks_mut(CHUNK).zip(second_derivatives.par_chunks_mut(CHUNK)))
            .enumerate()
            .map(|(piece, (slopes, second_derivatives))| {
                let first = piece * CHUNK;
                let mut sum = 0.0;
                // Without weights and offsets all scores are equal, so two classes have only two results.
                let mut known = [([f64::NAN; 2], [0.0; 3]); 2];
                for k in 0..slopes.len() {
                    let weight = examples.weight(first + k);
                    let asked = [scores[first + k], examples.targets[first + k]];
                    let slot = &mut known[usize::from(asked[1] > 0.0)];
                    if slot.0 != asked {
                        *slot = (asked, loss.taylor(asked[0], asked[1]));
                    }
                    let [value, slope, second_derivative] = slot.1;
                    sum += weight * value;
                    (slopes[k], second_derivatives[k]) = (weight * slope, weight * second_derivative);
                }
                sum
            })
            .collect();
        Terms { loss: pieces.into_iter().sum(), slopes, second_derivatives }
    }

    /// The point with zero weights and the best bias. Its gradient is summed by rows, because columns may
    /// never be needed.
    pub(super) fn null_point(&self) -> Point {
        let examples = self.problem.examples;
        let width = examples.rows.columns();
        let mut point = Point {
            weights: vec![0.0; width],
            bias: 0.0,
            scores: examples.offsets.map_or_else(|| vec![0.0; examples.len()], <[f64]>::to_vec),
            slopes: Vec::new(),
            second_derivatives: Vec::new(),
            gradient: vec![0.0; width],
            value: 0.0,
        };
        self.settle(&mut point, 60, 1e-12); // λ₁_max depends on it
        self.gradient_by_rows(&mut point);
        point
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
        let examples = self.problem.examples;
        let bias = if self.problem.bias { bias } else { 0.0 };
        let one = |i: usize| examples.rows.row(self.values, i).dot(&weights) + bias + examples.offset(i);
        let scores: Vec<f64> = (0..examples.len()).into_par_iter().with_min_len(1024).map(one).collect();
        let (slopes, second_derivatives, gradient) = (Vec::new(), Vec::new(), vec![0.0; weights.len()]);
        let mut point = Point { weights, bias, scores, slopes, second_derivatives, gradient, value: 0.0 };
        self.settle(&mut point, 30, self.enough());
        columns.products(&point.slopes, &mut point.gradient);
        point
    }

    /// Computes the terms at the scores. Takes at most `most` Newton steps on the bias while they decrease
    /// the loss.
    pub(super) fn settle(&self, point: &mut Point, most: usize, enough: f64) {
        let terms = self.terms(&point.scores);
        self.enter(point, terms);
        let penalty = self.n * self.problem.weighted_penalty.value(&point.weights);
        for _ in 0..if self.problem.bias { most } else { 0 } {
            let (slope, second_derivative) = (total(&point.slopes), total(&point.second_derivatives));
            let size: f64 = point.slopes.iter().map(|slope| slope.abs()).sum();
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
                if terms.loss + penalty <= point.value {
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
            self.enter(point, terms);
        }
    }

    /// A decrease that is small relative to the tolerance.
    pub(super) fn enough(&self) -> f64 {
        self.options.tolerance.clamp(1e-12, 1e-4)
    }

    pub(super) fn enter(&self, point: &mut Point, terms: Terms) {
        point.value = terms.loss + self.n * self.problem.weighted_penalty.value(&point.weights);
        (point.slopes, point.second_derivatives) = (terms.slopes, terms.second_derivatives);
    }

    /// The largest violation of the optimality conditions, times n.
    pub(super) fn largest_violation(&self, point: &Point) -> f64 {
        let weighted_penalty = &self.problem.weighted_penalty;
        let one = |j: usize| weighted_penalty.violation(j, point.weights[j], point.gradient[j] / self.n);
        (0..point.weights.len()).map(one).fold(0.0, larger_or_nan) * self.n
    }

    /// The relative duality gap of the point, with its derivatives as dual variables.
    ///
    /// The bias is at its best, so the derivatives nearly sum to zero. The bound of `eval::objective` is the
    /// rigorous one; this one needs no pass.
    pub(super) fn relative_gap(&self, point: &Point) -> f64 {
        let weighted_penalty = &self.problem.weighted_penalty;
        if weighted_penalty.penalty.is_none() {
            return f64::INFINITY;
        }
        let (mut gap, mut along, mut share) = (0.0, 0.0, 1.0f64);
        for (j, (&w, g)) in point.weights.iter().zip(&point.gradient).enumerate() {
            let (penalty, g) = (weighted_penalty.at(j), g / self.n);
            let beyond = weighted_penalty.excess_gradient(j, g);
            if penalty.l2 > 0.0 {
                gap += beyond * beyond / (2.0 * penalty.l2);
            } else if beyond > 0.0 {
                share = share.min(penalty.l1 / (penalty.l1 + beyond));
            }
            if w != 0.0 {
                gap += penalty.l1 * w.abs() + 0.5 * penalty.l2 * w * w + g * w;
                along -= g * w;
            }
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
        let Newton { problem, .. } = self;
        let one = |i: usize| {
            let (weight, examples) = (problem.examples.weight(i), problem.examples);
            let slope = share * point.slopes[i] / weight;
            weight * (problem.loss.conjugate(slope, examples.targets[i]) - slope * examples.offset(i))
        };
        let conjugates: f64 = (0..point.slopes.len()).map(one).sum();
        let beyond: f64 = (0..point.weights.len())
            .filter(|&j| weighted_penalty.at(j).l2 > 0.0)
            .map(|j| {
                weighted_penalty.excess_gradient(j, share * point.gradient[j] / self.n).powi(2)
                    / (2.0 * weighted_penalty.at(j).l2)
            })
            .sum();
        positive_part((point.value + conjugates) / self.n + beyond) / value
    }
}

pub(super) fn total(numbers: &[f64]) -> f64 {
    numbers.iter().sum()
}
