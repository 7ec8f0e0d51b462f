//! The start of the next solve along a path: the last two minimisers, extrapolated to the next penalty.
//!
//! ```text
//! w(λ₁) ≈ w + c·(w − w′)      c = (λ₁ − μ)/(μ − μ′)      the minimisers w at μ and w′ at μ′
//! s(λ₁) ≈ s + c·(s − s′)      the scores, without a pass
//! ```
//!
//! Between two penalties at which a weight reaches or leaves zero, minimisers of squared loss are on a line, those of other losses on
//! a curve. The start is taken if F is lower there, so it need not be near.

use super::Newton;
use super::path::Reached;
use super::point::Point;
use crate::data::rows::Value;
use crate::util::state::{Fields, State};

/// The largest c.
const FARTHEST: f64 = 1.5;

/// A minimiser along a path.
#[derive(Clone, Default)]
pub(super) struct Minimiser {
    pub weights: Vec<f64>,
    pub scores: Vec<f64>,
    pub bias: f64,
    /// Its λ₁.
    pub l1: f64,
}

impl Minimiser {
    fn at(point: &Point, l1: f64) -> Minimiser {
        let (weights, scores) = (point.weights.clone(), point.scores.clone());
        Minimiser { weights, scores, bias: point.bias, l1 }
    }
}

impl<V: Value> Newton<'_, V> {
    /// Moves from the last minimiser to the extrapolated one, if F is lower there, and returns whether it moved. The gradient remains
    /// that of the last minimiser.
    pub(super) fn extrapolate(&self, Reached { point, memory }: &mut Reached) -> bool {
        let (weighted_penalty, last) = (&self.problem.weighted_penalty, memory.l1);
        let l1 = std::mem::replace(&mut memory.l1, weighted_penalty.penalty.l1);
        // Squared loss needs one step from anywhere.
        if self.problem.loss.is_quadratic() || weighted_penalty.is_bounded() {
            return false;
        }
        let before = memory.before.replace(Minimiser::at(point, last));
        let Some(before) = before else { return false };
        let share = (weighted_penalty.penalty.l1 - l1) / (l1 - before.l1);
        if !(share > 0.0 && share <= FARTHEST) {
            return false; // also for NaN
        }
        let further = |(to, from): (&f64, &f64)| to + share * (to - from);
        let weights: Vec<f64> = point.weights.iter().zip(&before.weights).map(further).collect();
        let scores: Vec<f64> = point.scores.iter().zip(&before.scores).map(further).collect();
        let (terms, penalty) = (self.terms(&scores), self.n * weighted_penalty.value(&weights));
        let is_lower = terms.loss + penalty < point.value; // false for NaN
        if !is_lower {
            return false;
        }
        (point.weights, point.scores, point.penalty) = (weights, scores, penalty);
        point.bias = further((&point.bias, &before.bias));
        point.enter(terms);
        self.settle_bias(point, 2, self.enough());
        true
    }
}

impl State for Minimiser {
    fn fields(&mut self, fields: &mut Fields) {
        self.weights.fields(fields);
        self.scores.fields(fields);
        self.bias.fields(fields);
        self.l1.fields(fields);
    }
}
