//! The starting point of Newton's method: a few passes of FTRL-Proximal, if many weights are expected to be
//! non-zero.

use super::Newton;
use super::point::Point;
use crate::data::rows::Value;
use crate::optim::ftrl::Ftrl;
use crate::optim::kernel::{ColumnStore, Columns};
use crate::optim::learner::Learner;

/// Ratio λ₁_max/λ₁ above which two passes over the rows are worthwhile.
const MANY: f64 = 300.0;
/// Ratio λ₁_max/λ₁ above which more passes are worthwhile, if rows are few.
const VERY_MANY: f64 = 3000.0;

/// The common factor of the learning rates.
const ETA: f64 = 0.15;
/// The initial accumulator s₀, which limits the first steps.
const S0: f64 = 0.03;

impl<V: Value> Newton<'_, V> {
    /// Whether many weights are expected to be non-zero. `most` is the largest violation of the null model.
    pub(super) fn expects_many(&self, most: f64) -> bool {
        let l1 = self.n * self.problem.weighted_penalty.penalty.l1;
        l1 * MANY <= most + l1
    }

    /// Moves from the null model to the result of some passes, if that is better.
    pub(super) fn warm_start(&self, null: &mut Point, most: f64, columns: &Columns<V>) {
        let Some((weights, bias)) = self.weights_of_passes(most) else { return };
        let mut warm = self.point_at(weights, bias, columns);
        if warm.value.is_nan() || warm.value >= null.value {
            return;
        }
        self.zero_test(&mut warm, columns);
        *null = warm;
    }

    /// The weights and the bias after some passes, if such passes suit the problem.
    pub(super) fn weights_of_passes(&self, most: f64) -> Option<(Vec<f64>, f64)> {
        let problem = self.problem;
        let l1 = self.n * problem.weighted_penalty.penalty.l1;
        let plain = problem.weighted_penalty.factors.is_none() && !problem.weighted_penalty.is_bounded();
        if !plain || !problem.loss.gradient_bound().is_finite() || self.n < 2000.0 {
            return None;
        }
        let more = if l1 * VERY_MANY > most + l1 { 2 } else { 6 };
        let passes = (150_000 / problem.examples.len() + 1).clamp(2, more);
        let columns_of_all = problem.examples.rows.columns();
        let mut ftrl = Ftrl::plain(columns_of_all, problem.weighted_penalty.penalty, ETA, S0, problem.bias);
        for pass in 0..passes {
            if self.bounds.interrupted() {
                return None;
            }
            ftrl.pass(problem.examples, problem.loss, pass as u64);
        }
        Some((ftrl.weights(), ftrl.bias()))
    }

    /// Sets a weight to zero if a single step on it would set it to zero.
    fn zero_test(&self, point: &mut Point, columns: &Columns<V>) {
        let l1 = self.n * self.problem.weighted_penalty.penalty.l1;
        let kept: Vec<u32> =
            (0..point.weights.len() as u32).filter(|&j| point.weights[j as usize] != 0.0).collect();
        let none = vec![u32::MAX; point.second_derivatives.len()];
        let (_, squares) = columns.to_f32(&kept, &none, &[], &point.second_derivatives);
        let mut weights = point.weights.clone();
        for (&j, [_, square]) in kept.iter().zip(&squares) {
            let j = j as usize;
            let unit = columns.unit(j);
            if (square * (weights[j] / unit) - unit * point.gradient[j]).abs() <= unit * l1 {
                weights[j] = 0.0;
            }
        }
        *point = self.point_at(weights, point.bias, columns);
    }
}
