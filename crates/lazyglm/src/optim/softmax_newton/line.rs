//! Line search: the full step if F decreases enough, otherwise half of it, a quarter, …

use super::SoftmaxNewton;
use super::guard::Guard;
use super::lanes::{Block, WIDE};
use super::model::QuadraticModel;
use super::point::{CHUNK, Point};
use crate::data::rows::Value;
use crate::optim::kernel::Columns;
use rayon::prelude::*;

/// F must decrease by this share of the decrease that its gradient predicts (Armijo).
const ARMIJO: f64 = 0.01;

impl<V: Value> SoftmaxNewton<'_, V> {
    /// Takes a step and returns its length as a share of the full move, or 0 for no step.
    pub(super) fn line_search(
        &self,
        point: &mut Point,
        model: &QuadraticModel<V>,
        columns: &Columns<V>,
        guard: &mut Guard,
    ) -> f64 {
        let along = self.score_changes(model);
        let slope = model.descent().min(0.0); // rounding must not allow an increase of F
        let mut residuals = vec![[0.0; WIDE]; along.len()];
        let mut alpha = 1.0;
        for _ in 0..30 {
            let mut scores = point.scores.clone();
            scores.par_iter_mut().zip(&along).with_min_len(CHUNK).for_each(|(s, u)| {
                for (s, u) in s.iter_mut().zip(u) {
                    *s += alpha * u;
                }
            });
            let weights = self.moved(point, model, alpha);
            let value = self.loss(&scores, &mut residuals) + self.penalty(&weights);
            if value <= point.value + ARMIJO * alpha * slope {
                match alpha {
                    1.0 => guard.relax(),
                    _ => self.learn_curvature(point, &along, guard),
                }
                (point.weights, point.scores, point.residuals) = (weights, scores, residuals);
                point.biases.iter_mut().zip(&model.bias).for_each(|(b, by)| *b += alpha * by);
                self.settle(point, 2);
                self.shift(point);
                self.compute_gradient(point, columns);
                return alpha;
            }
            alpha *= 0.5;
        }
        self.learn_curvature(point, &along, guard);
        0.0
    }

    /// The change of the scores by the full move.
    fn score_changes(&self, model: &QuadraticModel<V>) -> Vec<Block<f64>> {
        let mut bias = vec![[0.0; WIDE]; self.blocks];
        bias.as_flattened_mut()[..self.count].copy_from_slice(&model.bias);
        let mut along = bias.repeat(self.problem.classes.len());
        let moves: Vec<Block<f64>> =
            (0..model.to.len()).into_par_iter().with_min_len(CHUNK).map(|at| model.moved(at)).collect();
        model.add_scores(&moves, &mut along);
        along
    }

    /// The weights after this share of the move. Weights that the full move takes to zero are exactly zero.
    fn moved(&self, point: &Point, model: &QuadraticModel<V>, alpha: f64) -> Vec<Block<f64>> {
        let mut weights = point.weights.clone();
        let moved: Vec<Block<f64>> = (0..model.to.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|at| model.partly(at, alpha))
            .collect();
        for (&j, moved) in model.set.iter().zip(moved.chunks(self.blocks)) {
            weights[j as usize * self.blocks..][..self.blocks].copy_from_slice(moved);
        }
        weights
    }
}
