//! The best objective and the best dual value found so far.
//!
//! ```text
//! n·D(a) = Σᵢ (aᵢtᵢ − ε|aᵢ|) − n·Σⱼ (|Aⱼ|/n − λ₁)₊²/(2λ₂)      A = Xᵀa, a in its box, Σa = 0 with a bias
//! ```
//!
//! For λ₂ = 0, |Aⱼ| ≤ nλ₁ is a constraint, which a common factor s ≤ 1 of all aᵢ satisfies. D is concave in s.

use super::super::Newton;
use super::pieces::Pieces;
use crate::data::rows::Value;
use crate::util::number::positive_part;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The best point and the best dual variables, found in any order. Values are n times those of F and D.
pub(super) struct Best {
    pub weights: Vec<f64>,
    pub bias: f64,
    pub objective: f64,
    pub dual: f64,
    duals: Vec<f64>, // those of `dual`
    /// Objective of the null model.
    pub null: f64,
    /// The estimated gap relative to F, if it made the solver stop. Infinite otherwise.
    pub estimate: f64,
    noise: f64, // a gap that rounding errors explain
}

/// A number per row, ordered for a heap.
#[derive(PartialEq)]
struct Key(f64, u32);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

impl Best {
    /// The null model, and the dual value 0 of dual variables that are all zero.
    pub fn new(pieces: &Pieces, columns: usize, with_bias: bool) -> Best {
        let scores = vec![0.0; pieces.centre.len()];
        let bias = if with_bias { pieces.best_bias(&scores) } else { 0.0 };
        let null = (0..scores.len()).map(|i| pieces.loss(i, bias)).sum();
        let size = |i: usize| {
            pieces.high[i].max(-pieces.low[i]) * (pieces.centre[i].abs() + pieces.epsilon + bias.abs())
        };
        let noise = f64::EPSILON * (0..scores.len()).map(size).sum::<f64>();
        let (weights, duals) = (vec![0.0; columns], scores);
        Best { weights, bias, objective: null, dual: 0.0, duals, null, estimate: f64::INFINITY, noise }
    }

    /// The gap, relative to F or to a thousandth of the null model's objective, whichever is larger.
    ///
    /// For separable classes F may be nearly zero, and a gap relative to F is needlessly strict.
    pub fn relative_gap(&self) -> f64 {
        let gap = positive_part(self.objective - self.dual);
        if gap <= self.noise { 0.0 } else { gap / self.scale() }
    }

    /// The objective to which gaps are relative.
    pub fn scale(&self) -> f64 {
        self.objective.max(1e-3 * self.null)
    }

    /// Takes weights if F is lower there, with the bias at its best. `scores` are without bias. Returns n·F.
    pub fn offer_weights<V: Value>(
        &mut self,
        newton: &Newton<V>,
        pieces: &Pieces,
        weights: &[f64],
        scores: &[f64],
    ) -> f64 {
        let bias = if newton.problem.bias { pieces.best_bias(scores) } else { 0.0 };
        let losses: f64 = scores.iter().enumerate().map(|(i, score)| pieces.loss(i, score + bias)).sum();
        let objective = losses + newton.n * newton.problem.weighted_penalty.value(weights);
        if objective < self.objective {
            (self.objective, self.bias) = (objective, bias);
            self.weights.copy_from_slice(weights);
        }
        objective
    }

    /// Takes dual variables if their dual value is higher, after moving them to a sum of zero. `products` are
    /// Xᵀa, and `scores` those of a nearby point with its bias. Returns n·D.
    pub fn offer_duals<V: Value>(
        &mut self,
        newton: &Newton<V>,
        pieces: &Pieces,
        duals: &[f64],
        products: &[f64],
        scores: &[f64],
    ) -> f64 {
        let excess: f64 = if newton.problem.bias { duals.iter().sum() } else { 0.0 };
        let size: f64 = duals.iter().map(|a| a.abs()).sum();
        let repaired = (excess.abs() > 1e-14 * size).then(|| {
            let (mut duals, mut products) = (duals.to_vec(), products.to_vec());
            balance(newton, pieces, &mut duals, &mut products, scores, excess);
            (duals, products)
        });
        let (duals, products) = repaired.as_ref().map_or((duals, products), |(a, b)| (a, b));
        let gains: f64 = duals.iter().enumerate().map(|(i, a)| pieces.gain(i, *a)).sum();
        let (dual, share) = best_share(newton, gains, products);
        if dual > self.dual {
            self.dual = dual;
            self.duals.clear();
            self.duals.extend(duals.iter().map(|a| share * a));
        }
        dual
    }

    /// The dual value, summed anew from the dual variables, without the rounding errors of updates.
    pub fn verified_dual<V: Value>(&self, newton: &Newton<V>, pieces: &Pieces) -> f64 {
        let mut products = vec![0.0; self.weights.len()];
        let rows = newton.problem.examples.rows;
        for (i, a) in self.duals.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            rows.row(newton.values, i).iter().for_each(|(j, x)| products[j] += a * x);
        }
        let gains: f64 = self.duals.iter().enumerate().map(|(i, a)| pieces.gain(i, *a)).sum();
        best_share(newton, gains, &products).0.max(0.0)
    }
}

/// Moves dual variables until their sum is zero: those whose rows lose least by it first.
fn balance<V: Value>(
    newton: &Newton<V>,
    pieces: &Pieces,
    duals: &mut [f64],
    products: &mut [f64],
    scores: &[f64],
    mut excess: f64,
) {
    let sign = excess.signum();
    let end = |i: usize| if sign > 0.0 { pieces.low[i] } else { pieces.high[i] };
    let loses = |i: usize, a: f64| {
        let passed = if a == 0.0 { -sign } else { a.signum() };
        Key(sign * (pieces.centre[i] - scores[i] - pieces.epsilon * passed), i as u32)
    };
    let free = (0..duals.len()).filter(|&i| duals[i] != end(i)).map(|i| Reverse(loses(i, duals[i])));
    let mut heap: BinaryHeap<Reverse<Key>> = free.collect();
    while let Some(Reverse(Key(_, i))) = heap.pop() {
        let i = i as usize;
        let a = duals[i];
        // With two kinks, aᵢ first moves to zero only: beyond it, the row loses at another rate.
        let target = if a * sign > 0.0 && pieces.epsilon > 0.0 { 0.0 } else { end(i) };
        let by = excess.abs().min((a - target).abs());
        duals[i] = if by == (a - target).abs() { target } else { a - sign * by };
        let moved = duals[i] - a;
        newton.problem.examples.rows.row(newton.values, i).iter().for_each(|(j, x)| products[j] += moved * x);
        excess -= sign * by;
        if excess * sign <= 0.0 {
            break;
        }
        if duals[i] != end(i) {
            heap.push(Reverse(loses(i, duals[i])));
        }
    }
}

/// The largest n·D over common factors s in [0, 1], and that s.
fn best_share<V: Value>(newton: &Newton<V>, gains: f64, products: &[f64]) -> (f64, f64) {
    const STEPS: usize = 8;
    if products.iter().any(|product| !product.is_finite()) {
        return (0.0, 0.0); // dual variables that are all zero
    }
    let (penalty, n) = (&newton.problem.weighted_penalty, newton.n);
    let mut share = 1.0f64;
    for (j, product) in products.iter().enumerate() {
        share = share.min(penalty.one(j).share(-product / n));
    }
    // Newton's method from the right: without bounds, D′ is concave and decreasing, so that steps never pass the
    // maximum. Any share gives a lower bound, and the best one counts.
    let mut best = (0.0, 0.0);
    for _ in 0..STEPS {
        let (mut value, mut slope, mut curve) = (share * gains, gains, 0.0);
        for (j, product) in products.iter().enumerate() {
            let (one, g) = (penalty.one(j), -share * product / n);
            let (reply, free) = (one.reply(g), one.excess_gradient(g) / one.penalty.l2);
            if reply > 0.0 && reply.is_finite() {
                value -= n * one.conjugate(g);
                slope -= reply * product.abs();
                curve += if reply == free { product * product / (n * one.penalty.l2) } else { 0.0 };
            }
        }
        if value > best.0 {
            best = (value, share);
        }
        let next = share + slope / curve;
        if !(slope < -1e-12 * gains.abs() && next > 0.0 && next < share) {
            break;
        }
        share = next;
    }
    best
}
