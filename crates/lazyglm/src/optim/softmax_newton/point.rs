//! The state of the solver at one point: weights, scores, residuals and the gradient.
//!
//! ```text
//! rᵢₖ = ωᵢ(pᵢₖ − yᵢₖ)        G = Xᵀr        n·F = Σᵢ ωᵢ(ln Σₖ e^sᵢₖ − sᵢᵧ) + n·R(W)
//! ```
//!
//! Scores are known up to one number per row, which changes neither loss nor residuals.

use super::lanes::{Block, Number, WIDE, add_by_rows, by_columns};
use super::{SoftmaxNewton, Solution};
use crate::data::rows::Value;
use crate::optim::kernel::Columns;
use crate::optim::newton::{NewtonStop, solve_by_cholesky};
use crate::problem::heads::Head;
use crate::problem::penalty::ElasticNet;
use rayon::prelude::*;

/// Number of rows per chunk. Sums run over chunks, so they do not depend on the number of threads.
pub(super) const CHUNK: usize = 1024;
/// How far the bias of a class without rows is below the others. Its probability is then nothing in f64.
const ABSENT: f64 = 40.0;

/// A point (W, b) and its derived quantities. Sums over rows, not means. A vector of one number per class takes
/// several blocks.
#[derive(Clone, Default)]
pub(super) struct Point {
    pub weights: Vec<Block<f64>>, // a vector per column
    pub biases: Vec<f64>,
    pub scores: Vec<Block<f64>>,    // a vector per row
    pub residuals: Vec<Block<f64>>, // a vector per row
    pub gradient: Vec<Block<f64>>,  // a vector per column
    pub value: f64,                 // n·F
}

impl<V: Value> SoftmaxNewton<'_, V> {
    /// Converts the point to a solution: biases sum to zero over the classes that have rows.
    pub(super) fn solved(&self, point: Point, stop: NewtonStop, steps: usize, decrease: f64) -> Solution {
        let present = self.sizes.iter().filter(|size| **size > 0.0).count().max(1) as f64;
        let sum: f64 = (0..self.count).filter(|k| self.sizes[*k] > 0.0).map(|k| point.biases[k]).sum();
        let head = |k: usize| {
            let weights = point.weights.chunks(self.blocks).map(|vector| vector[k / WIDE][k % WIDE]);
            let bias = if self.problem.bias { point.biases[k] - sum / present } else { 0.0 };
            Head::of(weights, bias)
        };
        let (heads, objective) = ((0..self.count).map(head).collect(), point.value / self.n);
        Solution { heads, objective, stop, steps, predicted_decrease: decrease }
    }

    /// The weighted loss at some scores. Writes the residuals.
    pub(super) fn loss(&self, scores: &[Block<f64>], residuals: &mut [Block<f64>]) -> f64 {
        let blocks = self.blocks;
        let pieces: Vec<f64> = (residuals
            .par_chunks_mut(CHUNK * blocks)
            .zip(scores.par_chunks(CHUNK * blocks)))
        .enumerate()
        .map(|(piece, (residuals, scores))| {
            let mut sum = 0.0;
            let rows = residuals.chunks_mut(blocks).zip(scores.chunks(blocks));
            for (at, (residuals, scores)) in rows.enumerate() {
                let i = piece * CHUNK + at;
                let (own, residuals) = (self.problem.classes[i] as usize, residuals.as_flattened_mut());
                let scores = &scores.as_flattened()[..self.count];
                sum += self.weight(i) * residuals_of_row(scores, own, self.weight(i), residuals);
            }
            sum
        })
        .collect();
        pieces.into_iter().sum()
    }

    /// The penalty n·R(W).
    pub(super) fn penalty(&self, weights: &[Block<f64>]) -> f64 {
        let of_feature = |(j, vector): (usize, &[Block<f64>])| {
            let ElasticNet { l1, l2 } = self.problem.weighted_penalty.at(j);
            let one = |w: &f64| if *w == 0.0 { 0.0 } else { l1 * w.abs() + 0.5 * l2 * w * w };
            vector.as_flattened().iter().map(one).sum::<f64>()
        };
        let chunks = weights.par_chunks(CHUNK * self.blocks).enumerate();
        let of_chunk = |(chunk, weights): (usize, &[Block<f64>])| {
            let features = weights.chunks(self.blocks).enumerate();
            features.map(|(at, vector)| of_feature((chunk * CHUNK + at, vector))).sum::<f64>()
        };
        let chunks: Vec<f64> = chunks.map(of_chunk).collect();
        self.n * (0.0 + chunks.iter().sum::<f64>())
    }

    /// The point at some weights and biases, with the biases moved to their best.
    pub(super) fn point_at(&self, weights: Vec<Block<f64>>, biases: Vec<f64>, columns: &Columns<V>) -> Point {
        let mut point = self.unscored(weights, biases);
        add_by_rows(self.problem.rows, self.values, &point.weights, &mut point.scores);
        self.settle(&mut point, 30);
        self.compute_gradient(&mut point, columns);
        point
    }

    /// The point of zero weights, with the logarithms of the class frequencies as biases. Its gradient is
    /// summed by rows, because columns may never be needed.
    pub(super) fn null_point(&self) -> Point {
        let present: f64 = self.sizes.iter().sum();
        let mut biases: Vec<f64> = self.sizes.iter().map(|size| (size / present).ln()).collect();
        self.lower_absent(&mut biases);
        let width = self.problem.rows.columns();
        let mut point = self.unscored(vec![[0.0; WIDE]; width * self.blocks], biases);
        self.settle(&mut point, 0);
        point.gradient = vec![[0.0; WIDE]; width * self.blocks];
        for (i, residuals) in point.residuals.chunks(self.blocks).enumerate() {
            for (j, x) in self.problem.rows.row(self.values, i).iter() {
                super::lanes::add_multiple(
                    &mut point.gradient[j * self.blocks..][..self.blocks],
                    x,
                    residuals,
                );
            }
        }
        point
    }

    /// Sets the biases of classes without rows far below the others, because their best is −∞. Without biases,
    /// all are zero.
    pub(super) fn lower_absent(&self, biases: &mut [f64]) {
        let present = biases.iter().zip(&self.sizes).filter(|(_, size)| **size > 0.0).map(|(b, _)| *b);
        let least = present.fold(f64::INFINITY, f64::min);
        for (bias, size) in biases.iter_mut().zip(&self.sizes) {
            *bias = match self.problem.bias && least.is_finite() {
                true if *size <= 0.0 => bias.min(least - ABSENT).max(least - 2.0 * ABSENT),
                true => *bias,
                false => 0.0,
            };
        }
    }

    /// A point whose scores are those of its biases alone, without residuals and gradient.
    pub(super) fn unscored(&self, weights: Vec<Block<f64>>, biases: Vec<f64>) -> Point {
        let mut vector = vec![[0.0; WIDE]; self.blocks];
        vector.as_flattened_mut()[..self.count].copy_from_slice(&biases);
        let scores = vector.repeat(self.problem.classes.len());
        Point { weights, biases, scores, residuals: Vec::new(), gradient: Vec::new(), value: 0.0 }
    }

    pub(super) fn compute_gradient(&self, point: &mut Point, columns: &Columns<V>) {
        let all: Vec<u32> = (0..self.problem.rows.columns() as u32).collect();
        point.gradient.resize(all.len() * self.blocks, [0.0; WIDE]);
        by_columns(columns, &all, &point.residuals, &mut point.gradient);
    }

    /// Computes the residuals. Takes at most `most` Newton steps on the biases while they decrease the loss.
    pub(super) fn settle(&self, point: &mut Point, most: usize) {
        let penalty = self.penalty(&point.weights);
        point.residuals.resize(point.scores.len(), [0.0; WIDE]);
        point.value = self.loss(&point.scores, &mut point.residuals) + penalty;
        let mut residuals = vec![[0.0; WIDE]; if most > 0 { point.residuals.len() } else { 0 }];
        for _ in 0..if self.problem.bias { most } else { 0 } {
            let slopes = self.class_sums(&point.residuals);
            let mut step = self.bias_step(&self.bias_curvature(&point.residuals), &slopes);
            let gain: f64 = -step.iter().zip(&slopes).map(|(a, b)| a * b).sum::<f64>();
            // Nothing to gain, within the tolerance or within the rounding error of the loss (or NaN).
            if gain.is_nan() || gain <= (2e-4 * self.enough()).max(1e-15) * point.value.abs() {
                break;
            }
            let moved = (0..30).find_map(|_| {
                let scores = shifted(&point.scores, &step, self.blocks);
                let value = self.loss(&scores, &mut residuals) + penalty;
                if value <= point.value {
                    return Some((scores, value));
                }
                step.iter_mut().for_each(|s| *s *= 0.25);
                None
            });
            let Some((scores, value)) = moved else { break };
            (point.scores, point.value) = (scores, value);
            std::mem::swap(&mut point.residuals, &mut residuals);
            point.biases.iter_mut().zip(&step).for_each(|(b, step)| *b += step);
        }
    }

    /// A decrease that is small relative to the tolerance.
    fn enough(&self) -> f64 {
        self.options.tolerance.clamp(1e-12, 1e-4)
    }

    /// The sum over rows, for each class.
    pub(super) fn class_sums<T: Number + Into<f64>>(&self, of: &[Block<T>]) -> Vec<f64> {
        let pieces: Vec<Vec<Block<f64>>> = of
            .par_chunks(CHUNK * self.blocks)
            .map(|rows| {
                let mut sums = vec![[0.0; WIDE]; self.blocks];
                for row in rows.chunks(self.blocks) {
                    for (sum, row) in sums.as_flattened_mut().iter_mut().zip(row.as_flattened()) {
                        *sum += (*row).into();
                    }
                }
                sums
            })
            .collect();
        (0..self.count).map(|k| pieces.iter().map(|sums| sums[k / WIDE][k % WIDE]).sum()).collect()
    }

    /// The second derivatives Σᵢ ωᵢ(diag(p) − ppᵀ) of the loss with respect to the biases, by rows.
    fn bias_curvature(&self, residuals: &[Block<f64>]) -> Vec<f64> {
        let count = self.count;
        let pieces: Vec<Vec<f64>> = residuals
            .par_chunks(CHUNK * self.blocks)
            .enumerate()
            .map(|(piece, rows)| {
                let (mut sums, mut p) = (vec![0.0; count * count], vec![0.0; count]);
                for (at, row) in rows.chunks(self.blocks).enumerate() {
                    let (i, weight) = (piece * CHUNK + at, self.weight(piece * CHUNK + at));
                    if weight > 0.0 {
                        p.iter_mut().zip(row.as_flattened()).for_each(|(p, r)| *p = r / weight);
                        p[self.problem.classes[i] as usize] += 1.0;
                        for k in 0..count {
                            let line = &mut sums[k * count..][..=k];
                            line.iter_mut().zip(&p).for_each(|(sum, other)| *sum -= weight * p[k] * other);
                            line[k] += weight * p[k];
                        }
                    }
                }
                sums
            })
            .collect();
        (0..count * count).map(|at| pieces.iter().map(|sums| sums[at]).sum()).collect()
    }

    /// The Newton step of the biases, given the lower triangle of their second derivatives. Classes without
    /// rows stay, and one class stays because all biases may move together.
    pub(super) fn bias_step(&self, curvature: &[f64], slopes: &[f64]) -> Vec<f64> {
        let moving: Vec<usize> =
            (0..self.count).filter(|&k| self.sizes[k] > 0.0 && curvature[k * self.count + k] > 0.0).collect();
        let mut solved: Vec<f64> = moving.iter().map(|&k| -slopes[k]).collect();
        let entry = |k: usize, l: usize| curvature[k.max(l) * self.count + k.min(l)];
        solve_by_cholesky(&moving, entry, &mut solved);
        let mut step = vec![0.0; self.count];
        moving.iter().zip(&solved).for_each(|(&k, &by)| step[k] = by);
        let mean = solved.iter().sum::<f64>() / moving.len().max(1) as f64;
        moving.iter().for_each(|&k| step[k] -= mean);
        step
    }
}

/// Writes ω(p − y) of one row and returns its loss ln Σ e^s − s_y, unweighted.
fn residuals_of_row(scores: &[f64], own: usize, weight: f64, residuals: &mut [f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut others = 0.0;
    for (k, (residual, score)) in residuals.iter_mut().zip(scores).enumerate() {
        *residual = (score - most).exp();
        others += if k == own { 0.0 } else { *residual };
    }
    let total = others + residuals[own];
    let (share, score) = (weight / total, scores[own] - most);
    residuals.iter_mut().for_each(|residual| *residual *= share);
    residuals[own] = -others * share; // exact where p is close to one
    if score == 0.0 { others.ln_1p() } else { total.ln() - score }
}

/// Scores after a move of the biases.
fn shifted(scores: &[Block<f64>], step: &[f64], blocks: usize) -> Vec<Block<f64>> {
    let mut scores = scores.to_vec();
    scores.par_chunks_mut(blocks).with_min_len(CHUNK).for_each(|row| {
        row.as_flattened_mut().iter_mut().zip(step).for_each(|(score, step)| *score += step);
    });
    scores
}
