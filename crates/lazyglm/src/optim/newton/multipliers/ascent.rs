//! Proximal stochastic dual coordinate ascent (SDCA): one dual variable at a time goes to its best.
//!
//! ```text
//! V = A/nλ₂,  w = clip(soft(V, λ₁/λ₂))            s = xᵢ·w + b,  q = ‖xᵢ‖²/nλ₂ + β
//! aᵢ′ = clip(soft(aᵢ + (tᵢ − s)/q; ε/q))     V ← V + (aᵢ′ − aᵢ)xᵢ/nλ₂,  b ← b + (aᵢ′ − aᵢ)β
//! ```
//!
//! The bias is the multiplier of Σa = 0 in an augmented Lagrangian: b = bₖ + βΣa, and bₖ ← b after each epoch.
//! A small β costs few extra epochs; β ≥ mean‖x‖²/nλ₂ costs many.
//!
//! Shrinking omits rows whose dual variable is at a bound and would stay there even if scores changed by a tenth of
//! the largest violation of the last epoch. Every evaluation considers all rows again, so that this may be bold.

use super::super::Newton;
use super::bound::Best;
use super::pieces::Pieces;
use crate::data::rows::{Row, Value};
use crate::problem::penalty::one::clip;
use crate::problem::penalty::one::shrunk;
use crate::util::random::Random;

/// β as a share of mean‖x‖²/nλ₂.
const KAPPA: f64 = 0.03;
/// Rows that a change of scores by this share of the largest violation would not move are omitted. The whole violation
/// takes twice as many passes.
const BOLD: f64 = 0.1;

/// Dual variables, the weights that follow from them, and the list of rows that may still change.
pub(super) struct Ascent {
    pub duals: Vec<f64>,
    /// A/nλ₂ per column. The λ₂ here may be larger than that of the problem.
    scaled: Vec<f64>,
    l2: PerColumn,
    /// λ₁/λ₂ per column.
    threshold: PerColumn,
    ranges: Option<Vec<[f64; 2]>>, // bounds per column
    squares: Vec<f64>,             // Σ xⱼ²/nλ₂ per row
    active: Vec<u32>,
    beta: f64,
    bias: f64,
    held: f64, // bₖ
    sum: f64,  // Σa
    /// The largest violation of the last epoch.
    pub violation: f64,
    random: Random,
}

/// One number for all columns, or one per column.
enum PerColumn {
    Same(f64),
    Each(Vec<f64>),
}

impl PerColumn {
    #[inline(always)]
    fn at(&self, j: usize) -> f64 {
        match self {
            PerColumn::Same(number) => *number,
            PerColumn::Each(numbers) => numbers[j],
        }
    }
}

impl Ascent {
    /// Starts from a bias and dual variables that are all zero. Columns with less than `least` of nλ₂ have that instead.
    /// `squares` has ‖x‖² of each row.
    pub fn new<V: Value>(newton: &Newton<V>, squares: Vec<f64>, least: f64, bias: f64) -> Ascent {
        let (penalty, rows) = (&newton.problem.weighted_penalty, newton.problem.examples.rows);
        let (n, width) = (newton.n, rows.columns());
        let l2_of = |j: usize| (n * penalty.at(j).l2).max(least);
        let threshold_of = |j: usize| n * penalty.at(j).l1 / l2_of(j);
        let (l2, threshold) = match penalty.factors {
            None => (PerColumn::Same(l2_of(0)), PerColumn::Same(threshold_of(0))),
            Some(_) => (
                PerColumn::Each((0..width).map(l2_of).collect()),
                PerColumn::Each((0..width).map(threshold_of).collect()),
            ),
        };
        let squares: Vec<f64> = match &l2 {
            PerColumn::Same(l2) => squares.into_iter().map(|square| square / l2).collect(),
            PerColumn::Each(l2) => {
                let square = |i: usize| rows.row(newton.values, i).iter().map(|(j, x)| x * x / l2[j]).sum();
                (0..rows.len()).map(square).collect()
            }
        };
        let mean = squares.iter().sum::<f64>() / n;
        let beta = match newton.problem.bias {
            false => 0.0,
            true if mean > 0.0 => KAPPA * mean,
            true => 1.0,
        };
        Ascent {
            duals: vec![0.0; rows.len()],
            scaled: vec![0.0; width],
            l2,
            threshold,
            ranges: penalty.is_bounded().then(|| (0..width).map(|j| penalty.range(j)).collect()),
            squares,
            active: (0..rows.len() as u32).collect(),
            beta,
            bias,
            held: bias,
            sum: 0.0,
            violation: f64::INFINITY,
            random: Random::new(rows.len() as u64),
        }
    }

    /// Goes on from dual variables and a bias.
    pub fn begin_at<V: Value>(&mut self, newton: &Newton<V>, duals: Vec<f64>, bias: f64) {
        for (i, a) in duals.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            self.add(newton.problem.examples.rows.row(newton.values, i), *a);
        }
        self.sum = if newton.problem.bias { duals.iter().sum() } else { 0.0 };
        (self.duals, self.held) = (duals, bias);
        self.bias = self.held + self.beta * self.sum;
    }

    /// Visits all active rows once, in random order. Returns the number of non-zeros visited.
    pub fn epoch<V: Value>(&mut self, newton: &Newton<V>, pieces: &Pieces) -> usize {
        let mut active = std::mem::take(&mut self.active);
        self.random.shuffle(&mut active);
        let slack = BOLD * std::mem::replace(&mut self.violation, 0.0);
        let plain = matches!((&self.l2, &self.threshold), (PerColumn::Same(_), PerColumn::Same(0.0)));
        let touched = match plain && self.ranges.is_none() {
            true => self.visit(newton, pieces, &mut active, slack, |ascent, j| ascent.scaled[j]),
            false => self.visit(newton, pieces, &mut active, slack, |ascent, j| {
                let (scaled, threshold) = (ascent.scaled[j], ascent.threshold.at(j));
                let weight =
                    if scaled > threshold { scaled - threshold } else { (scaled + threshold).min(0.0) };
                ascent.bounded(j, weight)
            }),
        };
        self.active = active;
        self.held += self.beta * self.sum;
        self.bias = self.held + self.beta * self.sum;
        touched
    }

    /// One epoch. `weight` gives the weight of a column.
    fn visit<V: Value>(
        &mut self,
        newton: &Newton<V>,
        pieces: &Pieces,
        active: &mut Vec<u32>,
        slack: f64,
        weight: impl Fn(&Ascent, usize) -> f64,
    ) -> usize {
        let rows = newton.problem.examples.rows;
        let mut touched = 0;
        active.retain(|&i| {
            let i = i as usize;
            let row = rows.row(newton.values, i);
            let score = row.dot_in_four_sums(|j| weight(self, j)) + self.bias;
            let (a, g, q) = (self.duals[i], pieces.centre[i] - score, self.squares[i] + self.beta);
            touched += row.ids.len();
            if pieces.stays(i, a, g, slack) {
                return false;
            }
            self.violation = self.violation.max(pieces.projected(i, a, g).abs());
            let new = match q > 0.0 {
                true => pieces.step(i, a, g, q),
                false => pieces.step(i, 0.0, g, f64::MIN_POSITIVE), // no features and no bias: an end of the box
            };
            let moved = new - a;
            if moved != 0.0 && moved.is_finite() {
                self.duals[i] = new;
                self.sum += moved;
                self.bias += self.beta * moved;
                self.add(row, moved);
            }
            true
        });
        touched
    }

    /// A weight, clipped to its bounds.
    #[inline(always)]
    fn bounded(&self, j: usize, weight: f64) -> f64 {
        match &self.ranges {
            None => weight,
            Some(ranges) => clip(weight, ranges[j]),
        }
    }

    #[inline(always)]
    fn add<V: Value>(&mut self, row: Row<V>, by: f64) {
        match &self.l2 {
            PerColumn::Same(l2) => {
                let by = by / l2;
                row.iter().for_each(|(j, x)| self.scaled[j] += by * x);
            }
            PerColumn::Each(l2) => row.iter().for_each(|(j, x)| self.scaled[j] += by * x / l2[j]),
        }
    }

    /// The weights.
    pub fn weights(&self) -> Vec<f64> {
        let free = [f64::NEG_INFINITY, f64::INFINITY];
        let one = |(j, v): (usize, &f64)| self.bounded(j, shrunk(*v, self.threshold.at(j), free));
        self.scaled.iter().enumerate().map(one).collect()
    }

    /// The products A = Xᵀa.
    fn products(&self) -> Vec<f64> {
        self.scaled.iter().enumerate().map(|(j, v)| v * self.l2.at(j)).collect()
    }

    /// Offers the current point and dual variables, and makes all rows active again that may change. One pass.
    pub fn evaluate<V: Value>(&mut self, newton: &Newton<V>, pieces: &Pieces, best: &mut Best) {
        let weights = self.weights();
        let mut scores = newton.scores(&weights);
        best.offer_weights(newton, pieces, &weights, &scores);
        scores.iter_mut().for_each(|score| *score += self.bias);
        best.offer_duals(newton, pieces, &self.duals, &self.products(), &scores);
        let mut violation = 0.0f64;
        for (i, score) in scores.iter().enumerate() {
            violation = violation.max(pieces.projected(i, self.duals[i], pieces.centre[i] - score).abs());
        }
        let slack = BOLD * std::mem::replace(&mut self.violation, violation);
        let moves = |&i: &u32| {
            let i = i as usize;
            !pieces.stays(i, self.duals[i], pieces.centre[i] - scores[i], slack)
        };
        self.active = (0..self.duals.len() as u32).filter(moves).collect();
    }

    /// The bias of the augmented Lagrangian.
    pub fn bias(&self) -> f64 {
        self.bias
    }
}
