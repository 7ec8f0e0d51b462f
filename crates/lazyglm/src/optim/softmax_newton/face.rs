//! Conjugate gradients on the face: the weights that are not zero, with their signs, and the biases. On a face,
//! Q is quadratic.
//!
//! ```text
//! A = XᵀHX + nλ₂, on the face        M = its diagonal, and its block of the biases
//! (A + εM)·e = −(slope + nλ₁·sign)                 v ← v + e, or a part of it if Q is lower there
//! ```
//!
//! If λ₁ = 0, the face is everything, and its minimum is that of Q. Otherwise the damping ε limits steps in
//! directions in which Q has little curvature: they would be long, and cross zero in many weights.

#![allow(clippy::needless_range_loop)] // inner loops go over indices: see `lanes`

use super::lanes::{Block, WIDE, by_columns, dot};
use super::model::{Effort, QuadraticModel};
use super::point::CHUNK;
use super::preconditioner::{Gram, Preconditioner};
use crate::data::rows::Value;
use crate::problem::penalty::one::clip;
use rayon::prelude::*;

/// The damping ε, unless the face is everything.
const DAMPING: f64 = 0.003;
/// Conjugate gradients on all weights reduce the norm of the gradient to this multiple of the ratio of its last two
/// squares,
const FORCING: f64 = 0.5;
/// but not below this share,
const FINEST: f64 = 0.01;
/// nor above this one.
const COARSEST: f64 = 0.3;
/// The step lengths that are tried.
const PARTS: [f64; 3] = [1.0, 0.5, 0.1];

/// When conjugate gradients stop: after some passes, or when the M⁻¹-norm of the gradient has fallen to a share.
struct Limits {
    passes: usize,
    share: f64,
    damping: f64,
    last_size: f64, // the squared norm before the last step, which lowers the share; or infinity
}

/// A direction: a vector per feature of the working set, and a number per bias.
struct Direction {
    weights: Vec<Block<f32>>,
    bias: Vec<f64>,
}

impl Direction {
    fn dot(&self, other: &Direction) -> f64 {
        let pieces: Vec<f64> = (self.weights.par_chunks(CHUNK).zip(other.weights.par_chunks(CHUNK)))
            .map(|(a, b)| {
                let mut sums = [0.0; WIDE];
                let b = &b[..a.len()];
                for at in 0..a.len() {
                    for l in 0..WIDE {
                        sums[l] += f64::from(a[at][l] * b[at][l]);
                    }
                }
                sums.iter().sum()
            })
            .collect();
        pieces.iter().sum::<f64>() + self.bias.iter().zip(&other.bias).map(|(a, b)| a * b).sum::<f64>()
    }

    /// Linear combination self ← c·self + a·other.
    fn combine(&mut self, c: f64, a: f64, other: &Direction) {
        combine(&mut self.weights, c as f32, a as f32, &other.weights);
        self.bias.iter_mut().zip(&other.bias).for_each(|(v, w)| *v = c * *v + a * w);
    }
}

fn combine(v: &mut [Block<f32>], c: f32, a: f32, w: &[Block<f32>]) {
    v.par_iter_mut().zip(w).with_min_len(CHUNK).for_each(|(v, w)| {
        for l in 0..WIDE {
            v[l] = c * v[l] + a * w[l];
        }
    });
}

impl<V: Value> QuadraticModel<'_, V> {
    /// Minimises Q if every weight is free.
    ///
    /// While the gradient falls slowly, Q is a poor model of F, and its exact minimum is not worth the passes (Eisenstat
    /// and Walker 1996).
    pub(super) fn minimise_all(&mut self, effort: Effort) {
        let limits = Limits { passes: 200, share: COARSEST, damping: 0.0, last_size: effort.last_size };
        let (step, moved) = self.conjugate_gradients(&limits);
        for (to, step) in self.to.iter_mut().zip(&step.weights) {
            for (to, step) in to.iter_mut().zip(step) {
                *to += f64::from(*step);
            }
        }
        (self.bias, self.t) = (step.bias, moved);
        self.m = self.own_scores(&self.t);
    }

    /// Moves towards the minimum of Q among points with the same signs, as far as Q decreases. Returns the
    /// decrease of Q.
    pub(super) fn minimise_on_face(&mut self) -> f64 {
        let limits = Limits { passes: 25, share: 0.1, damping: DAMPING, last_size: f64::INFINITY };
        let (step, moved) = self.conjugate_gradients(&limits);
        self.step_along(&step, &moved)
    }

    /// The approximate minimiser on the face, relative to the current point, and the scores of this move.
    fn conjugate_gradients(&mut self, limits: &Limits) -> (Direction, Vec<Block<f32>>) {
        let gram = self.gram.take().unwrap_or_else(|| Gram::of(self));
        let ridges = self.on_face(|block, l, _| {
            self.penalties[block / self.newton.blocks].l2 + limits.damping * self.second_derivative(block, l)
        });
        let inverse =
            self.on_face(|block, l, _| match self.second_derivative(block, l) * (1.0 + limits.damping) {
                second if second > 0.0 => 1.0 / second,
                _ => 0.0,
            });
        let preconditioner = Preconditioner::new(&gram, inverse, &ridges, self.newton.blocks);
        let mut left = self.negative_gradient();
        let mut way = self.precondition(&left, &preconditioner);
        let mut size = left.dot(&way);
        self.size = size;
        let share = match limits.last_size.is_finite() {
            true => (FORCING * size / limits.last_size).clamp(FINEST, limits.share),
            false => limits.share,
        };
        let enough = share * share * size;
        let mut step =
            Direction { weights: vec![[0.0; WIDE]; self.to.len()], bias: vec![0.0; self.bias.len()] };
        let mut moved = vec![[0.0f32; WIDE]; self.t.len()];
        for _ in 0..limits.passes {
            if size <= enough {
                break;
            }
            if self.newton.must_end() {
                self.unsolved = true;
                break;
            }
            self.newton.count_passes(2);
            let (curved, along) = self.hessian_product(&way, &ridges, &preconditioner.inverse);
            let alpha = size / way.dot(&curved);
            if !alpha.is_finite() || alpha <= 0.0 {
                break;
            }
            step.combine(1.0, alpha, &way);
            combine(&mut moved, 1.0, alpha as f32, &along);
            left.combine(1.0, -alpha, &curved);
            let next = self.precondition(&left, &preconditioner);
            let before = std::mem::replace(&mut size, left.dot(&next));
            way.combine(size / before, 1.0, &next);
        }
        self.gram = Some(gram);
        (step, moved)
    }

    /// The vectors Σᵢ xᵢⱼ·Hᵢtᵢ of all features of the set.
    fn curved_weights(&self, t: &[Block<f32>], m: &[f32]) -> Vec<Block<f32>> {
        let mut curved = vec![[0.0; WIDE]; self.to.len()];
        by_columns(self.columns, &self.set, &self.curved_scores(t, m), &mut curved);
        curved
    }

    /// The numbers mᵢ = pᵢ·tᵢ of all rows.
    fn own_scores(&self, t: &[Block<f32>]) -> Vec<f32> {
        let blocks = self.newton.blocks;
        let rows = t.par_chunks(blocks).zip(self.curvature.p.par_chunks(blocks)).with_min_len(CHUNK);
        rows.map(|(t, p)| dot(t, p)).collect()
    }

    /// The weights of a block, with a function of place, weight and feature that applies to those on the face.
    fn on_face(&self, one: impl Fn(usize, usize, f64) -> f64 + Sync) -> Vec<Block<f32>> {
        let free = |block: usize, l: usize| {
            let at = block / self.newton.blocks;
            let ([low, high], to) = (self.ranges[at], self.to[block][l]);
            let leaves_zero = self.penalties[at].l1 == 0.0 && low < 0.0 && high > 0.0;
            if to == 0.0 { leaves_zero } else { low < to && to < high }
        };
        let of_block = |block: usize| {
            std::array::from_fn(
                |l| if free(block, l) { one(block, l, self.to[block][l]) as f32 } else { 0.0 },
            )
        };
        (0..self.to.len()).into_par_iter().with_min_len(CHUNK).map(of_block).collect()
    }

    /// The negative gradient −(slope + nλ₁·sign) of the face and the biases.
    fn negative_gradient(&self) -> Direction {
        let curved = self.curved_weights(&self.t, &self.m);
        let weights = self.on_face(|block, l, to| {
            let penalty = self.penalties[block / self.newton.blocks];
            let sign = if to == 0.0 { 0.0 } else { to.signum() };
            -(self.gradient[block][l] + f64::from(curved[block][l]) + penalty.l2 * to + penalty.l1 * sign)
        });
        let bias = match self.newton.problem.bias {
            true => self.slopes_by_class().iter().map(|slope| -slope).collect(),
            false => vec![0.0; self.bias.len()],
        };
        Direction { weights, bias }
    }

    fn second_derivative(&self, block: usize, l: usize) -> f64 {
        self.squares[block][l] + self.penalties[block / self.newton.blocks].l2
    }

    /// The preconditioned direction M⁻¹·way.
    fn precondition(&self, way: &Direction, preconditioner: &Preconditioner) -> Direction {
        let bias = match self.newton.problem.bias {
            true => self.newton.bias_step(&self.bias_curvature, &way.bias).iter().map(|b| -b).collect(),
            false => way.bias.clone(),
        };
        Direction { weights: preconditioner.apply(&way.weights), bias }
    }

    /// The products (A + εM)·way and X·way. `inverse` is zero off the face.
    fn hessian_product(
        &self,
        way: &Direction,
        ridges: &[Block<f32>],
        inverse: &[Block<f32>],
    ) -> (Direction, Vec<Block<f32>>) {
        let mut vector = vec![[0.0f32; WIDE]; self.newton.blocks];
        vector.as_flattened_mut().iter_mut().zip(&way.bias).for_each(|(v, b)| *v = *b as f32);
        let mut along = vector.repeat(self.m.len());
        self.add_scores(&way.weights, &mut along);
        let curved = self.curved_scores(&along, &self.own_scores(&along));
        let bias = match self.newton.problem.bias {
            true => self.newton.class_sums(&curved),
            false => vec![0.0; way.bias.len()],
        };
        let mut weights = vec![[0.0; WIDE]; self.to.len()];
        by_columns(self.columns, &self.set, &curved, &mut weights);
        let others = way.weights.par_iter().zip(ridges).zip(inverse);
        weights.par_iter_mut().zip(others).with_min_len(CHUNK).for_each(
            |(product, ((way, ridge), inverse))| {
                for l in 0..WIDE {
                    let sum = product[l] + ridge[l] * way[l];
                    product[l] = if inverse[l] == 0.0 { 0.0 } else { sum };
                }
            },
        );
        (Direction { weights, bias }, along)
    }

    /// Takes the first step length at which Q is lower, and returns the decrease of Q or 0. A weight that would
    /// cross zero becomes zero, and one that would cross a bound stays there.
    fn step_along(&mut self, step: &Direction, moved: &[Block<f32>]) -> f64 {
        let before = self.predicted_decrease();
        let (to, bias, t, m) = (self.to.clone(), self.bias.clone(), self.t.clone(), self.m.clone());
        for part in PARTS {
            self.bias = bias.iter().zip(&step.bias).map(|(b, by)| b + part * by).collect();
            self.t.clone_from(&t);
            combine(&mut self.t, 1.0, part as f32, moved);
            for (block, (old, step)) in to.iter().zip(&step.weights).enumerate() {
                let at = block / self.newton.blocks;
                let (sign_stays, range) = (self.penalties[at].l1 > 0.0, self.ranges[at]);
                for (l, (&old, &by)) in old.iter().zip(step).enumerate() {
                    let new = old + part * f64::from(by);
                    let kept = if sign_stays && new * old < 0.0 { 0.0 } else { clip(new, range) };
                    self.to[block][l] = kept;
                    if kept != new {
                        self.add_to_scores(block, l, kept - new);
                    }
                }
            }
            self.m = self.own_scores(&self.t);
            let gain = self.predicted_decrease() - before;
            if gain > 0.0 {
                return gain;
            }
        }
        (self.to, self.bias, self.t, self.m) = (to, bias, t, m);
        0.0
    }

    /// Adds a move of one weight to t.
    fn add_to_scores(&mut self, block: usize, l: usize, by: f64) {
        let blocks = self.newton.blocks;
        let at = block / blocks;
        let by = self.units[at] * by;
        for (i, x) in self.columns.column(self.set[at] as usize) {
            self.t[*i as usize * blocks + block % blocks][l] += (by * x.to_f64()) as f32;
        }
    }
}
