//! Line search: the full step if F decreases enough, otherwise half of it, a quarter, …

use super::model::QuadraticModel;
use super::point::Point;
use super::{Guard, Newton};
use crate::data::rows::Value;
use crate::optim::kernel::ColumnStore;
use rayon::prelude::*;

/// F must decrease by this share of the decrease that its gradient predicts (Armijo).
const ARMIJO: f64 = 0.01;
/// Minimum change of a score for its row to provide curvature information.
const FAR: f64 = 0.3;

impl<V: Value> Newton<'_, V> {
    /// Takes a step and returns its length as a share of the full move, or 0 for no step.
    pub(super) fn line_search(
        &self,
        point: &mut Point,
        model: &QuadraticModel,
        columns: &impl ColumnStore,
        guard: &mut Guard,
    ) -> f64 {
        let along = self.score_changes(model, columns);
        let slope = model.descent().min(0.0); // rounding must not allow an increase of F
        let mut alpha = 1.0;
        for _ in 0..40 {
            if self.bounds.interrupted() {
                return 0.0;
            }
            let scores: Vec<f64> = point.scores.iter().zip(&along).map(|(s, u)| s + alpha * u).collect();
            let terms = self.terms(&scores);
            let weights = self.moved(point, model, alpha);
            let value = terms.loss + self.n * self.problem.weighted_penalty.value(&weights);
            if value <= point.value + ARMIJO * alpha * slope {
                match alpha {
                    1.0 => guard.relax(),
                    _ => self.learn_curvature(point, &along, alpha, guard),
                }
                (point.weights, point.scores) = (weights, scores);
                point.bias += alpha * model.bias;
                self.enter(point, terms);
                self.settle_again(point);
                columns.products(&point.slopes, &mut point.gradient);
                return alpha;
            }
            alpha *= 0.5;
        }
        self.learn_curvature(point, &along, alpha, guard);
        0.0
    }

    /// Moves the bias to its best again, if the step left it noticeably off.
    fn settle_again(&self, point: &mut Point) {
        if self.problem.bias {
            self.settle(point, 2, self.enough());
        }
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

    /// The weights after this share of the move. Weights that the full move takes to zero are exactly zero.
    pub(super) fn moved(&self, point: &Point, model: &QuadraticModel, alpha: f64) -> Vec<f64> {
        let mut weights = point.weights.clone();
        for (k, &j) in model.set.iter().enumerate() {
            let (from, to) = (model.from[k], model.to[k]);
            weights[j as usize] = model.units[k] * (from + alpha * (to - from));
        }
        weights
    }

    /// Learns, per row, the curvature that the full move encountered. If the curvature is unbounded
    /// (Poisson), it is not evaluated so far away: the last move that was too long is far enough.
    fn learn_curvature(&self, point: &Point, along: &[f64], alpha: f64, guard: &mut Guard) {
        let (examples, loss) = (self.problem.examples, self.problem.loss);
        let share = if loss.curvature().is_some() { 1.0 } else { 2.0 * alpha };
        let far = along.iter().map(|u| share * u).enumerate().filter(|(_, u)| u.abs() > FAR);
        for (i, u) in far {
            let (target, weight) = (examples.targets[i], examples.weight(i));
            let rise =
                weight * (loss.value(point.scores[i] + u, target) - loss.value(point.scores[i], target));
            let met = 2.0 * (rise - point.slopes[i] * u) / (u * u);
            if met.is_finite() {
                guard.repair[i] = guard.repair[i].max(met);
            }
        }
    }
}

impl Guard {
    /// Trusts the curvature more after a full step.
    fn relax(&mut self) {
        self.theta *= 0.2;
        if self.theta < 0.01 {
            self.theta = 0.0;
        }
        self.repair.iter_mut().for_each(|second_derivative| *second_derivative *= 0.25);
    }
}
