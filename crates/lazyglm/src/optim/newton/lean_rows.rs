//! What Newton steps know of each row if memory is short: its score, in f64 or f32, and its target. Everything else is computed
//! again when it is needed, some rows at a time.
//!
//! ```text
//! s + δ + αu      scores at which terms are computed: the bias moves by δ, and the weights by α of a move that changes scores by u
//! ```

use super::descend::{STRAIGHT, WIDE, side};
use super::point::total;
use crate::optim::kernel::CompactNumbers;
use crate::problem::loss::{Derivatives, Loss};
use rayon::prelude::*;
use std::ops::Range;

/// Number of rows whose terms are computed together. Sums run over such chunks, so they do not depend on the number of threads.
const CHUNK: usize = 1024;
/// Smallest change of a score for which `learn_curvature` computes the curvature of the row along a move. For smaller changes, the
/// second derivative at the score is close, and the quotient of differences loses digits.
const FAR: f64 = 0.3;

/// Targets, weights and offsets of all rows.
#[derive(Clone, Copy)]
pub(crate) struct RowNumbers<'a> {
    /// One target per row.
    pub targets: &'a CompactNumbers,
    /// Row weights; `None` if all are one.
    pub weights: Option<&'a CompactNumbers>,
    /// Row offsets; `None` if all are zero.
    pub offsets: Option<&'a CompactNumbers>,
}

/// How a score is stored.
pub(super) trait Score: Copy + Send + Sync {
    /// The nearest score.
    fn of(score: f64) -> Self;
    /// The score.
    fn get(self) -> f64;
}

impl Score for f64 {
    fn of(score: f64) -> f64 {
        score
    }
    fn get(self) -> f64 {
        self
    }
}

impl Score for f32 {
    fn of(score: f64) -> f32 {
        score as f32
    }
    fn get(self) -> f64 {
        f64::from(self)
    }
}

/// Scores, and what terms are computed from.
pub(super) struct LeanRows<'a, S> {
    pub numbers: RowNumbers<'a>,
    pub loss: &'a dyn Loss,
    pub scores: Vec<S>,
}

/// A change of the scores.
#[derive(Clone, Copy, Default)]
pub(super) struct Change<'u> {
    pub bias: f64,
    /// The change of each score by a full move, and the share of it.
    pub along: Option<(&'u [f32], f64)>,
}

/// Sums over all rows.
#[derive(Clone, Copy, Default)]
pub(super) struct RowSums {
    pub loss: f64,
    pub slope: f64,
    pub curvature: f64,
    /// Σ|ωℓ′|.
    pub size: f64,
}

/// Safeguards against a curvature that is too small.
pub(super) struct Guard {
    /// Share of the curvature bound in D.
    pub theta: f64,
    /// The least D of each row; empty if no step was too long.
    pub repair: Vec<f32>,
}

/// Numbers of some rows: their scores, targets and weights, and their weighted loss terms.
struct Chunk {
    scores: [f64; CHUNK],
    targets: [f64; CHUNK],
    weights: [f64; CHUNK],
    values: [f64; CHUNK],
    slopes: [f64; CHUNK],
    curvatures: [f64; CHUNK],
}

impl<S: Score> LeanRows<'_, S> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    fn ranges(&self) -> impl IndexedParallelIterator<Item = Range<usize>> {
        let rows = self.len();
        (0..rows.div_ceil(CHUNK)).into_par_iter().map(move |k| k * CHUNK..((k + 1) * CHUNK).min(rows))
    }

    /// The terms of some rows.
    fn chunk(&self, range: Range<usize>, change: &Change) -> Chunk {
        let [scores, targets, weights, values, slopes, curvatures] = [[0.0; CHUNK]; 6];
        let (mut chunk, n) = (Chunk { scores, targets, weights, values, slopes, curvatures }, range.len());
        for (k, i) in range.clone().enumerate() {
            let moved = change.along.map_or(0.0, |(along, alpha)| alpha * f64::from(along[i]));
            chunk.scores[k] = self.scores[i].get() + change.bias + moved;
        }
        self.numbers.targets.read(range.clone(), &mut chunk.targets[..n]);
        let out = Derivatives {
            values: &mut chunk.values[..n],
            slopes: &mut chunk.slopes[..n],
            second_derivatives: &mut chunk.curvatures[..n],
        };
        self.loss.taylor_of_rows(&chunk.scores[..n], &chunk.targets[..n], out);
        match self.numbers.weights {
            None => chunk.weights[..n].fill(1.0),
            Some(weights) => {
                weights.read(range, &mut chunk.weights[..n]);
                for k in 0..n {
                    let weight = chunk.weights[k];
                    chunk.values[k] *= weight;
                    chunk.slopes[k] *= weight;
                    chunk.curvatures[k] *= weight;
                }
            }
        }
        chunk
    }

    /// The sums after a change of the scores.
    pub fn sums(&self, change: Change) -> RowSums {
        let one = |range: Range<usize>| {
            let (n, chunk) = (range.len(), self.chunk(range, &change));
            let size = chunk.slopes[..n].iter().map(|slope| slope.abs()).sum();
            let [loss, slope, curvature] =
                [&chunk.values, &chunk.slopes, &chunk.curvatures].map(|numbers| total(&numbers[..n]));
            RowSums { loss, slope, curvature, size }
        };
        let chunks: Vec<RowSums> = self.ranges().map(one).collect();
        chunks.into_iter().fold(RowSums::default(), |all, one| RowSums {
            loss: all.loss + one.loss,
            slope: all.slope + one.slope,
            curvature: all.curvature + one.curvature,
            size: all.size + one.size,
        })
    }

    /// Changes the scores.
    pub fn change(&mut self, change: Change) {
        match change.along {
            None => self.scores.iter_mut().for_each(|score| *score = S::of(score.get() + change.bias)),
            Some((along, alpha)) => {
                let by = |u: &f32| change.bias + alpha * f64::from(*u);
                let one = |(score, u): (&mut S, &f32)| *score = S::of(score.get() + by(u));
                self.scores.iter_mut().zip(along).for_each(one);
            }
        }
    }

    /// The loss derivative of each row.
    pub fn slopes(&self) -> Vec<f64> {
        let mut slopes = vec![0.0; self.len()];
        slopes.par_chunks_mut(CHUNK).zip(self.ranges()).for_each(|(out, range)| {
            let n = range.len();
            out.copy_from_slice(&self.chunk(range, &Change::default()).slopes[..n]);
        });
        slopes
    }

    /// √D of each row with its safeguards, and ΣD.
    pub fn roots(&self, guard: &Guard) -> (Vec<f32>, f64) {
        let mut roots = vec![0.0; self.len()];
        let half = 0.5 * self.loss.gradient_bound();
        let one = |(out, range): (&mut [f32], Range<usize>)| {
            let (first, mut chunk) = (range.start, self.chunk(range, &Change::default()));
            for (k, root) in out.iter_mut().enumerate() {
                let (weight, curvature) = (chunk.weights[k], &mut chunk.curvatures[k]);
                let theta = if *curvature == 0.0 { guard.theta.max(STRAIGHT) } else { guard.theta };
                if theta > 0.0 && chunk.slopes[k].abs() > half * weight {
                    let bound =
                        self.loss.majoriser(chunk.scores[k], chunk.targets[k]).unwrap_or(0.0) * weight;
                    *curvature += theta * (bound - *curvature).max(0.0);
                }
                let least = guard.repair.get(first + k).map_or(0.0, |least| f64::from(*least));
                *curvature = curvature.max(least);
                *root = curvature.sqrt() as f32;
            }
            total(&chunk.curvatures[..out.len()])
        };
        let sums: Vec<f64> = roots.par_chunks_mut(CHUNK).zip(self.ranges()).map(one).collect();
        (roots, sums.into_iter().sum())
    }

    /// The sum of ω(ℓ*(θu) − θu·o) over the rows, for a share θ of their derivatives u.
    pub fn conjugates(&self, share: f64) -> f64 {
        let one = |range: Range<usize>| {
            let (first, n) = (range.start, range.len());
            let mut chunk = self.chunk(range, &Change::default());
            for k in 0..n {
                let weight = chunk.weights[k];
                chunk.slopes[k] = if weight > 0.0 { share * chunk.slopes[k] / weight } else { 0.0 };
            }
            let (slopes, targets) = (&chunk.slopes[..n], &chunk.targets[..n]);
            self.loss.conjugate_of_rows(slopes, targets, &mut chunk.values[..n]);
            let offset = |k: usize| self.numbers.offsets.map_or(0.0, |offsets| offsets.at(first + k));
            (0..n).map(|k| chunk.weights[k] * (chunk.values[k] - slopes[k] * offset(k))).sum()
        };
        let chunks: Vec<f64> = self.ranges().map(one).collect();
        chunks.into_iter().sum()
    }

    /// Moves the bias until the derivatives sum to at most this share of their magnitudes, as far as rounding allows, by at
    /// most `most` Newton steps that do not raise the loss; returns by how much it moved.
    pub fn balance(&mut self, share: f64, most: usize) -> f64 {
        let (mut here, mut moved) = (self.sums(Change::default()), 0.0);
        for _ in 0..most {
            let step = -here.slope / here.curvature.max(1e-9 * here.size.max(1e-300));
            if here.slope.abs() <= share * here.size || !step.is_finite() {
                break;
            }
            let lowers = |part: &f64| {
                let sums = self.sums(Change { bias: part * step, along: None });
                (sums.slope.abs() < here.slope.abs()).then_some((*part, sums))
            };
            let parts = [1.0, 0.25, 0.0625, 0.004];
            let Some((part, sums)) = parts.iter().find_map(lowers) else { break };
            self.change(Change { bias: part * step, along: None });
            (here, moved) = (sums, moved + part * step);
        }
        moved
    }

    /// Learns the curvature that a full move would encounter, as far as a share of it shows.
    pub fn learn_curvature(&self, along: &[f32], alpha: f64, guard: &mut Guard) {
        let share = if self.loss.curvature().is_some() { 1.0 } else { 2.0 * alpha };
        guard.repair.resize(self.len(), 0.0);
        let one = |(least, range): (&mut [f32], Range<usize>)| {
            let first = range.start;
            let chunk = self.chunk(range, &Change::default());
            for (k, least) in least.iter_mut().enumerate() {
                let u = share * f64::from(along[first + k]);
                if u.abs() <= FAR {
                    continue;
                }
                let far = chunk.weights[k] * self.loss.value(chunk.scores[k] + u, chunk.targets[k]);
                let met = (2.0 * (far - chunk.values[k] - chunk.slopes[k] * u) / (u * u)) as f32;
                if met.is_finite() {
                    *least = least.max(met);
                }
            }
        };
        guard.repair.par_chunks_mut(CHUNK).zip(self.ranges()).for_each(one);
    }

    /// Whether every row is on its side of the boundary by a wide margin.
    pub fn are_separated(&self) -> bool {
        let weight = |i: usize| self.numbers.weights.map_or(1.0, |weights| weights.at(i));
        let apart = |i: usize| self.scores[i].get() * side(self.loss, self.numbers.targets.at(i)) > WIDE;
        (0..self.len()).all(|i| apart(i) || weight(i) == 0.0)
    }
}

impl Guard {
    /// Before the first step.
    pub fn first() -> Guard {
        Guard { theta: 1.0, repair: Vec::new() }
    }

    /// Trusts the curvature more after a full step.
    pub fn relax(&mut self) {
        self.theta *= 0.2;
        if self.theta < 0.01 {
            self.theta = 0.0;
        }
        self.repair.iter_mut().for_each(|least| *least *= 0.25);
    }
}
