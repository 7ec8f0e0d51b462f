//! Safeguards against a curvature that is too small for a long step.
//!
//! ```text
//! H̃ᵢ = ωᵢ(diag(pᵢ + aᵢ) − pᵢpᵢᵀ)        a = θ(τ(p) − p(1 − p)) at a class that is badly wrong        τ(p) = tanh(|q|/2)/(2|q|),  q = ln(p/(1 − p))
//! ```
//!
//! A class is badly wrong if it is that of the row and p < ½, or another one and p > ½. There p(1 − p) is far
//! below the curvature that a long step encounters, and τ bounds it. The share θ fades as full steps succeed.
//! After a step that was too long, `repair` keeps the curvature that it encountered in each row.

use super::SoftmaxNewton;
use super::lanes::{Block, WIDE};
use super::point::Point;
use crate::data::rows::Value;
use rayon::prelude::*;

/// Minimum change of a score for its row to provide curvature information.
const FAR: f64 = 0.3;

#[derive(Clone)]
pub(super) struct Guard {
    pub theta: f64,
    pub repair: Vec<Block<f32>>, // extra curvature, a vector per row; empty if there is none
}

/// The curvature of all rows: H̃ = diag(h) − ppᵀ, where p has the factor √ω and h the factor ω.
pub(super) struct Curvature {
    pub h: Vec<Block<f32>>,
    pub p: Vec<Block<f32>>,
}

impl Guard {
    pub fn new() -> Guard {
        Guard { theta: 1.0, repair: Vec::new() }
    }

    /// A guard for a start that is close to the optimum.
    pub fn trusting() -> Guard {
        Guard { theta: 0.0, repair: Vec::new() }
    }

    /// Trusts the curvature more after a full step.
    pub fn relax(&mut self) {
        self.theta = if self.theta < 0.05 { 0.0 } else { 0.2 * self.theta };
        self.repair.as_flattened_mut().iter_mut().for_each(|a| *a *= 0.25);
    }
}

impl<V: Value> SoftmaxNewton<'_, V> {
    /// The guarded curvature. `most` is the largest violation.
    pub(super) fn curvature(&self, point: &Point, guard: &mut Guard, most: f64) -> Curvature {
        let l1 = self.n * self.problem.weighted_penalty.penalty.l1;
        if l1 > 0.0 && most >= 2.0 * l1 {
            guard.theta = guard.theta.max(0.1);
        }
        let (size, blocks) = (point.residuals.len(), self.blocks);
        let mut of = Curvature { h: vec![[0.0; WIDE]; size], p: vec![[0.0; WIDE]; size] };
        let rows = of.h.par_chunks_mut(blocks).zip(of.p.par_chunks_mut(blocks));
        rows.zip(point.residuals.par_chunks(blocks)).enumerate().for_each(|(i, ((h, p), residuals))| {
            let (weight, own) = (self.weight(i), self.problem.classes[i] as usize);
            if weight <= 0.0 {
                return;
            }
            let (h, p) = (h.as_flattened_mut(), p.as_flattened_mut());
            for (k, r) in residuals.as_flattened()[..self.count].iter().enumerate() {
                let probability = r / weight + if k == own { 1.0 } else { 0.0 };
                let mut extra = 0.0;
                if guard.theta > 0.0 && (probability < 0.5) == (k == own) {
                    let least = probability * (1.0 - probability);
                    extra = guard.theta * (bound(probability) - least).max(0.0);
                }
                if !guard.repair.is_empty() {
                    extra = extra.max(f64::from(guard.repair[i * blocks + k / WIDE][k % WIDE]));
                }
                h[k] = (weight * (probability + extra)) as f32;
                p[k] = (weight.sqrt() * probability) as f32;
            }
        });
        of
    }

    /// Learns, per row, the curvature that a full move `along` the scores encountered.
    pub(super) fn learn_curvature(&self, point: &Point, along: &[Block<f64>], guard: &mut Guard) {
        let (blocks, count) = (self.blocks, self.count);
        guard.repair.resize(along.len(), [0.0; WIDE]);
        let moved: Vec<Block<f64>> =
            along.iter().zip(&point.scores).map(|(u, s)| std::array::from_fn(|l| s[l] + u[l])).collect();
        let rows = guard.repair.par_chunks_mut(blocks).zip(along.par_chunks(blocks)).enumerate();
        rows.for_each(|(i, (repair, along))| {
            let along = &along.as_flattened()[..count];
            let square: f64 = along.iter().filter(|u| u.abs() > FAR).map(|u| u * u).sum();
            if square == 0.0 || self.weight(i) <= 0.0 {
                return;
            }
            let row = |of: &[Block<f64>]| {
                log_loss(
                    &of[i * blocks..][..blocks].as_flattened()[..count],
                    self.problem.classes[i] as usize,
                )
            };
            let slopes = &point.residuals[i * blocks..][..blocks].as_flattened()[..count];
            let linear: f64 = slopes.iter().zip(along).map(|(r, u)| r * u).sum::<f64>() / self.weight(i);
            let met = 2.0 * (row(&moved) - row(&point.scores) - linear) / square;
            if met.is_finite() {
                let far = repair.as_flattened_mut().iter_mut().zip(along).filter(|(_, u)| u.abs() > FAR);
                far.for_each(|(a, _)| *a = a.max(met as f32));
            }
        });
    }
}

/// A bound on the curvature of the logistic loss on both sides of a score (Jaakkola and Jordan).
fn bound(p: f64) -> f64 {
    let q = (p / (1.0 - p)).ln().abs();
    match q {
        q if q < 1e-4 => 0.25,
        q if q.is_finite() => (0.5 * q).tanh() / (2.0 * q),
        _ => 0.0,
    }
}

/// The loss ln Σ e^s − s_y of one row.
fn log_loss(scores: &[f64], own: usize) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter().map(|s| (s - most).exp()).sum::<f64>().ln() + most - scores[own]
}
