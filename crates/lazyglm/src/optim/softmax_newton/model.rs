//! The quadratic model around a point, on a working set of weights, and its minimisation.
//!
//! ```text
//! Q(V) = Σ G·(V − W) + ½Σᵢ (tᵢᵀdiag(hᵢ)tᵢ − mᵢ²) + n·R(V)        t = X(V − W) + β,  mᵢ = pᵢ·tᵢ
//! slope of weight (j, k) without λ₁: Gⱼₖ + Σᵢ xᵢⱼ(hᵢₖtᵢₖ − pᵢₖmᵢ) + nλ₂vⱼₖ
//! ```
//!
//! If values are far from one in magnitude, everything is in units of the column.

#![allow(clippy::needless_range_loop)] // inner loops go over indices: see `lanes`

use super::SoftmaxNewton;
use super::guard::{Curvature, Guard};
use super::lanes::{Block, Number, WIDE, add_by_rows, add_columns};
use super::point::{CHUNK, Point};
use super::preconditioner::Gram;
use super::sweep::Sweep;
use super::working_set::WorkingSet;
use crate::data::rows::Value;
use crate::optim::kernel::{ColumnStore, Columns};
use crate::optim::newton::{Gains, largest_gradients};
use crate::problem::penalty::ElasticNet;
use crate::simd::{self, Work};
use rayon::prelude::*;

/// Coordinate descent stops when the remaining decrease is this share of the decrease so far, while the last
/// predicted decrease exceeds `FAR` relative to F.
const FAR_LITTLE: f64 = 0.3;
/// Replaces `FAR_LITTLE` near the optimum.
const LITTLE: f64 = 0.02;
/// Predicted decrease, relative to F, above which the optimum is far.
const FAR: f64 = 3e-3;
/// Ratio of successive decreases above which conjugate gradients on the face are worth their passes.
const SLOW: f64 = 0.5;

/// How accurately to minimise Q.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// The last predicted decrease, relative to F. The smaller it is, the more accurately Q is minimised.
    pub last: f64,
    /// The squared norm of the gradient before the last step, or infinity.
    pub last_size: f64,
    /// Whether not to rely on sweeps alone, which may be slow, but to run conjugate gradients on the face as well.
    pub surely: bool,
}

/// The quadratic model and the current point of its minimisation.
pub(super) struct QuadraticModel<'m, V> {
    pub(super) newton: &'m SoftmaxNewton<'m, V>,
    pub(super) columns: &'m Columns<V>,
    /// The features of the working set.
    pub set: Vec<u32>,
    /// Whether the set is all features in order, each with all classes.
    pub all: bool,
    /// Whether the working set contains all weights that would move.
    pub whole: bool,
    /// Whether the minimisation gave up early, so that the predicted decrease is meaningless.
    pub unsolved: bool,
    /// Factors that convert `from` and `to` to weights, one per feature of the set.
    pub units: Vec<f64>,
    /// The initial weights, a vector per feature of the set, in the model's units.
    pub from: Vec<Block<f64>>,
    /// The current weights.
    pub to: Vec<Block<f64>>,
    /// The change of the biases.
    pub bias: Vec<f64>,
    /// The predicted decrease Q(from) − Q(to).
    pub predicted: f64,
    /// The squared norm of the gradient before conjugate gradients on all weights.
    pub size: f64,
    pub(super) classes: Vec<Vec<u16>>, // of each feature, the classes in the working set; empty if `all`
    pub(super) gradient: Vec<Block<f64>>,
    pub(super) squares: Vec<Block<f64>>,   // Σ x²(h − p²)
    pub(super) penalties: Vec<ElasticNet>, // times n
    pub(super) ranges: Vec<[f64; 2]>,      // the bounds of each feature's weights, in the model's units
    pub(super) bias_slopes: Vec<f64>,
    pub(super) bias_curvature: Vec<f64>, // lower triangle
    pub(super) curvature: Curvature,
    pub(super) gram: Option<Gram>,
    pub(super) t: Vec<Block<f32>>,
    pub(super) m: Vec<f32>,
}

impl<'m, V: Value> QuadraticModel<'m, V> {
    pub fn build(
        newton: &'m SoftmaxNewton<'m, V>,
        point: &Point,
        columns: &'m Columns<V>,
        guard: &mut Guard,
        most: f64,
    ) -> QuadraticModel<'m, V> {
        let (blocks, rows) = (newton.blocks, newton.problem.classes.len());
        let curvature = newton.curvature(point, guard, most);
        let WorkingSet { set, classes, all, whole } = newton.working_set(point, most);
        let units: Vec<f64> = set.iter().map(|&j| columns.unit(j as usize)).collect();
        let gather = |of: &[Block<f64>], factor: fn(f64) -> f64| -> Vec<Block<f64>> {
            let one = |at: usize| {
                let factor = factor(units[at / blocks]);
                of[set[at / blocks] as usize * blocks + at % blocks].map(|v| factor * v)
            };
            (0..set.len() * blocks).into_par_iter().with_min_len(CHUNK).map(one).collect()
        };
        let from = gather(&point.weights, |unit| 1.0 / unit);
        let times_n = |(&j, unit): (&u32, &f64)| {
            let ElasticNet { l1, l2 } = newton.problem.weighted_penalty.at(j as usize);
            // Not infinite, because infinity times a weight of zero is NaN.
            let [l1, l2] = [newton.n * l1 * unit, newton.n * l2 * unit * unit].map(|l| l.min(f64::MAX));
            ElasticNet { l1, l2 }
        };
        let range = |(&j, unit): (&u32, &f64)| {
            newton.problem.weighted_penalty.range(j as usize).map(|bound| bound / unit)
        };
        let mut model = QuadraticModel {
            newton,
            columns,
            all,
            whole,
            unsolved: false,
            to: from.clone(),
            from,
            gradient: gather(&point.gradient, |unit| unit),
            bias: vec![0.0; newton.count],
            predicted: 0.0,
            size: f64::INFINITY,
            squares: vec![[0.0; WIDE]; set.len() * blocks],
            penalties: set.iter().zip(&units).map(times_n).collect(),
            ranges: set.iter().zip(&units).map(range).collect(),
            bias_slopes: newton.class_sums(&point.residuals),
            bias_curvature: Vec::new(),
            gram: None,
            t: vec![[0.0; WIDE]; curvature.h.len()],
            m: vec![0.0; rows],
            curvature,
            classes,
            units,
            set,
        };
        model.compute_squares();
        if newton.problem.bias {
            model.compute_bias_curvature();
        }
        model
    }

    /// The change of a block of weights, in its original units.
    pub fn moved(&self, at: usize) -> Block<f64> {
        let unit = self.units[at / self.newton.blocks];
        std::array::from_fn(|l| unit * (self.to[at][l] - self.from[at][l]))
    }

    /// Adds the scores of some weights, a vector per feature of the set. Rows go through all of their non-zeros, on all
    /// threads, unless the set has only a few of these.
    pub(super) fn add_scores<T: Number>(&self, weights: &[Block<T>], out: &mut [Block<T>]) {
        let SoftmaxNewton { problem, values, blocks, .. } = *self.newton;
        let in_set: usize = self.set.iter().map(|&j| self.columns.count(j as usize)).sum();
        if !self.columns.are_usual() || in_set < problem.rows.nonzeros() / 2 {
            return add_columns(self.columns, &self.set, weights, out);
        }
        if self.all {
            return add_by_rows(problem.rows, values, weights, out);
        }
        let mut of_all = vec![[T::default(); WIDE]; problem.rows.columns() * blocks];
        for (&j, weights) in self.set.iter().zip(weights.chunks(blocks)) {
            of_all[j as usize * blocks..][..blocks].copy_from_slice(weights);
        }
        add_by_rows(problem.rows, values, &of_all, out);
    }

    /// A block of weights after a share of its change, in its original units.
    pub fn partly(&self, at: usize, alpha: f64) -> Block<f64> {
        let (unit, from, to) = (self.units[at / self.newton.blocks], &self.from[at], &self.to[at]);
        std::array::from_fn(|l| unit * (from[l] + alpha * (to[l] - from[l])))
    }

    /// The features of the set with the largest sums of second derivatives, at most `most` of them.
    pub(super) fn of_most_curvature(&self, most: usize) -> Vec<u32> {
        let total = |vector: &[Block<f64>]| vector.as_flattened().iter().sum::<f64>();
        let sums = self.squares.chunks(self.newton.blocks).map(total).zip(0..).collect();
        largest_gradients(sums, most).into_iter().map(|(_, at)| at).collect()
    }

    /// The diagonals h − p² of the curvature of all rows.
    pub(super) fn diagonals(&self) -> Vec<Block<f32>> {
        let Curvature { h, p } = &self.curvature;
        let one = |(h, p): (&Block<f32>, &Block<f32>)| std::array::from_fn(|l| (h[l] - p[l] * p[l]).max(0.0));
        h.par_iter().zip(p).with_min_len(CHUNK).map(one).collect()
    }

    /// The second derivatives of all weights of the set.
    fn compute_squares(&mut self) {
        let (blocks, diagonal) = (self.newton.blocks, self.diagonals());
        let features = self.squares.par_chunks_mut(blocks).zip(&self.set).with_min_len(64);
        features.for_each(|(out, &j)| {
            simd::fastest(Squares { columns: self.columns, j: j as usize, diagonal: &diagonal, out });
        });
    }

    fn compute_bias_curvature(&mut self) {
        let (blocks, count) = (self.newton.blocks, self.newton.count);
        let Curvature { h, p } = &self.curvature;
        let pieces: Vec<Vec<f64>> = (h.par_chunks(CHUNK * blocks).zip(p.par_chunks(CHUNK * blocks)))
            .map(|(h, p)| {
                let mut sums = vec![0.0; count * count];
                for (h, p) in h.chunks(blocks).zip(p.chunks(blocks)) {
                    let (h, p) = (h.as_flattened(), p.as_flattened());
                    for k in 0..count {
                        let line = &mut sums[k * count..][..=k];
                        line.iter_mut().zip(p).for_each(|(sum, other)| *sum -= f64::from(p[k] * other));
                        line[k] += f64::from(h[k]);
                    }
                }
                sums
            })
            .collect();
        self.bias_curvature = (0..count * count).map(|at| pieces.iter().map(|sums| sums[at]).sum()).collect();
    }

    /// Minimises Q to some accuracy, or until the solver must end.
    pub fn solve(&mut self, effort: Effort) {
        let Effort { last, surely, .. } = effort;
        let little = if last > FAR { FAR_LITTLE } else { LITTLE };
        if self.minimise_if_small() {
            return;
        }
        if self.all {
            self.minimise_all(effort);
            self.predicted = self.predicted_decrease();
            return;
        }
        let mut active: Vec<u32> = (0..self.set.len() as u32).collect();
        let (mut gains, mut since) = (Gains::default(), 0);
        let sweeps = if surely { 300 } else { 50 };
        self.unsolved = true;
        for _ in 0..sweeps {
            let gain = self.move_biases() + simd::fastest(Sweep { model: self, active: &mut active });
            let settled = gains.left_after(gain) <= little * gains.all;
            self.newton.count_passes(1);
            if self.newton.must_end() {
                break;
            }
            if settled && !surely {
                self.unsolved = false;
                break;
            }
            since += 1;
            if settled || (since >= 3 && gains.ratio() > SLOW) {
                let gain = self.minimise_on_face();
                gains.add_jump(gain);
                since = 1;
                if settled && gain <= little * gains.all {
                    self.unsolved = false;
                    break;
                }
            }
        }
        self.predicted = self.predicted_decrease();
    }

    /// Moves all biases to their minimum, and returns the decrease of Q.
    fn move_biases(&mut self) -> f64 {
        if !self.newton.problem.bias {
            return 0.0;
        }
        let slopes: Vec<f64> = self.slopes_by_class();
        let step = self.newton.bias_step(&self.bias_curvature, &slopes);
        self.add_to_biases(&step);
        -0.5 * step.iter().zip(&slopes).map(|(a, b)| a * b).sum::<f64>()
    }

    /// The derivative of Q with respect to the biases.
    pub(super) fn slopes_by_class(&self) -> Vec<f64> {
        let curved = self.newton.class_sums(&self.curved_scores(&self.t, &self.m));
        self.bias_slopes.iter().zip(curved).map(|(a, b)| a + b).collect()
    }

    fn add_to_biases(&mut self, step: &[f64]) {
        let blocks = self.newton.blocks;
        let mut vector = vec![[0.0f32; WIDE]; blocks];
        vector.as_flattened_mut().iter_mut().zip(step).for_each(|(v, s)| *v = *s as f32);
        self.bias.iter_mut().zip(step).for_each(|(b, s)| *b += s);
        let rows = self.t.par_chunks_mut(blocks).zip(&mut self.m).zip(self.curvature.p.par_chunks(blocks));
        rows.with_min_len(CHUNK).for_each(|((t, m), p)| {
            super::lanes::add_multiple(t, 1.0, &vector);
            *m += super::lanes::dot(p, &vector);
        });
    }

    /// The vectors Hᵢtᵢ of all rows.
    pub(super) fn curved_scores(&self, t: &[Block<f32>], m: &[f32]) -> Vec<Block<f32>> {
        let blocks = self.newton.blocks;
        let Curvature { h, p } = &self.curvature;
        let one = |at: usize| std::array::from_fn(|l| h[at][l] * t[at][l] - p[at][l] * m[at / blocks]);
        (0..t.len()).into_par_iter().with_min_len(CHUNK).map(one).collect()
    }

    /// The predicted decrease Q(from) − Q(to).
    pub(super) fn predicted_decrease(&self) -> f64 {
        let blocks = self.newton.blocks;
        let Curvature { h, .. } = &self.curvature;
        let pieces: Vec<f64> = (self.t.par_chunks(CHUNK * blocks).zip(h.par_chunks(CHUNK * blocks)))
            .zip(self.m.par_chunks(CHUNK))
            .map(|((t, h), m)| {
                let squares: f64 =
                    (t.as_flattened().iter().zip(h.as_flattened())).map(|(t, h)| f64::from(h * t * t)).sum();
                squares - m.iter().map(|m| f64::from(*m) * f64::from(*m)).sum::<f64>()
            })
            .collect();
        let predicted = -self.descent() - 0.5 * pieces.iter().sum::<f64>();
        if predicted < 0.0 { 0.0 } else { predicted } // NaN stays
    }

    /// The directional derivative of F along the move.
    pub fn descent(&self) -> f64 {
        let blocks = self.newton.blocks;
        let mut change: f64 = self.bias_slopes.iter().zip(&self.bias).map(|(a, b)| a * b).sum();
        for (at, penalty) in self.penalties.iter().enumerate() {
            for block in at * blocks..(at + 1) * blocks {
                let (from, to, gradient) = (&self.from[block], &self.to[block], &self.gradient[block]);
                for l in 0..WIDE {
                    change += gradient[l] * (to[l] - from[l]) + penalty.l1 * (to[l].abs() - from[l].abs());
                    change += 0.5 * penalty.l2 * (to[l] * to[l] - from[l] * from[l]);
                }
            }
        }
        change
    }
}

struct Squares<'a, V> {
    columns: &'a Columns<V>,
    j: usize,
    diagonal: &'a [Block<f32>],
    out: &'a mut [Block<f64>],
}

impl<V: Value> Work for Squares<'_, V> {
    type Answer = ();
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) {
        let (blocks, unit) = (self.out.len(), self.columns.unit(self.j));
        for (i, x) in self.columns.column(self.j) {
            let x = unit * x.to_f64();
            let d = &self.diagonal[*i as usize * blocks..][..blocks];
            for b in 0..blocks {
                for l in 0..WIDE {
                    self.out[b][l] += x * x * f64::from(d[b][l]);
                }
            }
        }
    }
}
