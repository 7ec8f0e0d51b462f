//! Line search: the full step if F decreases enough, otherwise half of it, a quarter, …

use super::Newton;
use super::descend::Memory;
use super::model::QuadraticModel;
use super::point::{Point, Terms};
use crate::data::rows::Value;
use crate::optim::kernel::ColumnStore;
use crate::problem::penalty::one::clip;
use rayon::prelude::*;

/// F must decrease by this share of the decrease that its gradient predicts (Armijo).
const ARMIJO: f64 = 0.01;
/// Minimum change of a score for its row to provide curvature information.
const FAR: f64 = 0.3;

/// Relative rounding error of F.
pub(super) const ROUNDING: f64 = 1e-15;

/// A step of the line search.
pub(super) struct Step {
    /// Its length as a share of the full move, or 0 for no step.
    pub alpha: f64,
    /// An estimate of n(F − F*) after it, if the model was minimised exactly over all weights.
    pub left: f64,
    /// The loss derivatives that the model predicts after the step: a dual point.
    pub slopes: Option<Vec<f64>>,
}

impl Step {
    const NONE: Step = Step { alpha: 0.0, left: f64::INFINITY, slopes: None };
}

impl<V: Value> Newton<'_, V> {
    /// Takes a step. The gradient remains that of the point before.
    pub(super) fn line_search(
        &self,
        point: &mut Point,
        model: &QuadraticModel,
        columns: &impl ColumnStore,
        memory: &mut Memory,
    ) -> Step {
        let along = self.score_changes(model, columns);
        let slope = model.descent().min(0.0); // rounding must not allow an increase of F
        let mut alpha = 1.0;
        for _ in 0..40 {
            if self.bounds.interrupted() {
                return Step::NONE;
            }
            let scores: Vec<f64> = point.scores.iter().zip(&along).map(|(s, u)| s + alpha * u).collect();
            let terms = self.terms(&scores);
            let penalty = model.penalty(alpha);
            if terms.loss + penalty <= point.value + ARMIJO * alpha * slope {
                match alpha {
                    1.0 => memory.relax(),
                    _ => self.learn_curvature(point, &along, alpha, memory),
                }
                let left =
                    if alpha == 1.0 { distance_after(point, model, &terms, &along) } else { f64::INFINITY };
                let slopes =
                    (alpha == 1.0 && self.scope.is_none()).then(|| slopes_of_model(point, model, &along));
                self.move_weights(point, model, alpha);
                (point.scores, point.penalty) = (scores, penalty);
                point.enter(terms);
                self.settle_bias(point, 2, self.enough());
                return Step { alpha, left, slopes };
            }
            alpha *= 0.5;
        }
        self.learn_curvature(point, &along, alpha, memory);
        Step::NONE
    }

    /// The change of the scores by the full move.
    pub(super) fn score_changes(&self, model: &QuadraticModel, columns: &impl ColumnStore) -> Vec<f64> {
        let rows = self.problem.examples.rows;
        let moved = |k: &usize| model.to[*k] != model.from[*k];
        let changed: Vec<usize> = (0..model.set.len()).filter(moved).collect();
        let nonzeros: usize = changed.iter().map(|&k| columns.count(model.set[k] as usize)).sum();
        let only_columns = rows.nonzeros() == 0; // the rows are on disk, or all are empty
        if only_columns || nonzeros < rows.nonzeros() / 2 {
            let mut along = vec![model.bias; self.problem.examples.len()];
            for k in changed {
                columns.add(model.set[k] as usize, model.moved(k), &mut along);
            }
            return along;
        }
        let mut move_of = vec![0.0; rows.columns()];
        for k in changed {
            move_of[model.set[k] as usize] = model.moved(k);
        }
        let one = |i: usize| rows.row(self.values, i).dot(&move_of) + model.bias;
        (0..rows.len()).into_par_iter().with_min_len(1024).map(one).collect()
    }

    /// Moves the weights and the bias by this share of the move. Weights that the full move takes to zero are exactly zero.
    pub(super) fn move_weights(&self, point: &mut Point, model: &QuadraticModel, alpha: f64) {
        for (k, &j) in model.set.iter().enumerate() {
            let (moved, range) =
                (model.units[k] * model.at(k, alpha), self.problem.weighted_penalty.range(j as usize));
            point.weights[j as usize] = clip(moved, range); // rounding may go beyond a bound
        }
        point.bias += alpha * model.bias;
    }

    /// Learns, per row, the curvature that the full move encountered. If the curvature is unbounded
    /// (log link), it is not evaluated so far away: the last move that was too long is far enough.
    pub(super) fn learn_curvature(&self, point: &Point, along: &[f64], alpha: f64, memory: &mut Memory) {
        let (examples, loss) = (self.problem.examples, self.problem.loss);
        let share = if loss.curvature().is_some() { 1.0 } else { 2.0 * alpha };
        let far = along.iter().map(|u| share * u).enumerate().filter(|(_, u)| u.abs() > FAR);
        for (i, u) in far {
            let (target, weight) = (examples.targets[i], examples.weight(i));
            let rise =
                weight * (loss.value(point.scores[i] + u, target) - loss.value(point.scores[i], target));
            let met = 2.0 * (rise - point.slopes[i] * u) / (u * u);
            if met.is_finite() {
                memory.repair[i] = memory.repair[i].max(met);
            }
        }
    }
}

/// The loss derivatives ℓ′(s) + D·u that the model predicts after the full step. At its minimum, they satisfy the constraints of
/// the dual problem, which those of F after the step miss by what the model misses.
fn slopes_of_model(point: &Point, model: &QuadraticModel, along: &[f64]) -> Vec<f64> {
    let curvature = model.gram.as_ref().map_or(&point.second_derivatives, |kept| &kept.curvature);
    point.slopes.iter().zip(curvature).zip(along).map(|((slope, d), u)| slope + d * u).collect()
}

/// An upper bound on the distance n(F − F*) after a full step to the minimum of the model, as far as F is quadratic there.
///
/// ```text
/// e = ℓ′(s + u) − ℓ′(s) − D·u          what the model missed of the derivatives, so that the gradient there is Xᵀe
/// ½·(Xᵀe)ᵀ(XᵀD₊X)⁻¹(Xᵀe) ≤ ½·Σ e²/D₊   with D₊ after the step, because the left side is the length of a projection
/// ```
///
/// The model misses all of the change in rows that its sums omit.
fn distance_after(point: &Point, model: &QuadraticModel, terms: &Terms, along: &[f64]) -> f64 {
    let curvature = model.gram.as_ref().map_or(&point.second_derivatives, |kept| &kept.curvature);
    let one = |i: usize| {
        let kept = model.keep.as_ref().is_none_or(|keep| keep[i]);
        let seen = if kept { curvature[i] * along[i] } else { 0.0 };
        let missed = terms.slopes[i] - point.slopes[i] - seen;
        if missed == 0.0 { 0.0 } else { missed * missed / terms.second_derivatives[i] }
    };
    0.5 * (0..along.len()).map(one).sum::<f64>() + ROUNDING * point.value.abs()
}

impl Memory {
    /// Trusts the curvature more after a full step.
    pub(super) fn relax(&mut self) {
        self.theta *= 0.2;
        if self.theta < 0.01 {
            self.theta = 0.0;
        }
        self.repair.iter_mut().for_each(|second_derivative| *second_derivative *= 0.25);
    }
}
