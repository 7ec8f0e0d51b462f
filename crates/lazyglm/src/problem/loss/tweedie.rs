//! tweedie: ℓ(s, y) = ye^(−as)/a + e^(bs)/b, with a = p − 1, b = 2 − p, 1 < p < 2, y ≥ 0; the prediction is e^s.
//!
//! slope e^(bs) − ye^(−as) · curvature unbounded · conjugate us − ℓ(s) at the s whose slope is u;
//! (u·ln u − u)/b for y = 0, where u ≥ 0
//!
//! This is half the unit deviance of the Tweedie distribution (compound Poisson-gamma) with variance μ^p and log
//! link, without the term y^b/(−ab), which does not depend on the score. The limits p → 1 and p → 2 are the losses
//! poisson and gamma, apart from such terms.

use super::{Admits, Loss, Make};
use crate::util::registry::{Entry, Key};
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "tweedie",
    formula: "ye^(-as)/a + e^(bs)/b, a = p - 1, b = 2 - p",
    keys: &[Key { name: "p", default: "1.5", low: 1.0, high: 2.0, open: true }],
    make: |given| Arc::new(Tweedie { power: given[0].unwrap_or(1.5) }),
};

#[derive(Debug)]
struct Tweedie {
    power: f64,
}

impl Tweedie {
    /// The exponents a = p − 1 and b = 2 − p.
    fn exponents(&self) -> (f64, f64) {
        (self.power - 1.0, 2.0 - self.power)
    }

    /// The terms ye^(−as) and e^(bs).
    fn terms(&self, score: f64, target: f64) -> (f64, f64) {
        let (a, b) = self.exponents();
        let falling = if target == 0.0 { 0.0 } else { target * (-a * score).exp() }; // not 0·∞
        (falling, (b * score).exp())
    }

    /// The score at which the slope is u, for y > 0, by Newton's method on the logarithm of the larger side of
    /// e^(bs) = ye^(−as) + u.
    ///
    /// The difference of logarithms is concave for u ≥ 0 and convex for u < 0, and its derivative is between
    /// min(a, b) and 1. So all steps from an outer bound of the root go one way and end at the root.
    fn score_of(&self, slope: f64, target: f64) -> f64 {
        let ((a, b), size) = (self.exponents(), slope.abs());
        let mut score = match slope >= 0.0 {
            true => target.ln().max(size.ln() / b),
            false => target.ln().min((target.ln() - size.ln()) / a),
        };
        for _ in 0..100 {
            let (falling, rising) = self.terms(score, target);
            let (off, rate) = match slope >= 0.0 {
                true => (b * score - (falling + size).ln(), b + a * falling / (falling + size)),
                false => ((rising + size).ln() + a * score - target.ln(), a + b * rising / (rising + size)),
            };
            let step = off / rate;
            score -= step;
            if step.abs() <= 1e-14 * (1.0 + score.abs()) {
                break;
            }
        }
        score
    }
}

impl Loss for Tweedie {
    fn spec(&self) -> String {
        format!("tweedie:p={}", self.power)
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        let ((a, b), (falling, rising)) = (self.exponents(), self.terms(score, target));
        falling / a + rising / b
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        let (falling, rising) = self.terms(score, target);
        rising - falling
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        let ((a, b), (falling, rising)) = (self.exponents(), self.terms(score, target));
        Some(a * falling + b * rising)
    }

    fn taylor(&self, score: f64, target: f64) -> [f64; 3] {
        let ((a, b), (falling, rising)) = (self.exponents(), self.terms(score, target));
        [falling / a + rising / b, rising - falling, a * falling + b * rising]
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        if target > 0.0 {
            let score = self.score_of(slope, target);
            return slope * score - self.value(score, target);
        }
        let (_, b) = self.exponents();
        super::inside(slope >= 0.0) + if slope > 0.0 { (slope * slope.ln() - slope) / b } else { 0.0 }
    }

    fn inverse_link(&self, score: f64) -> f64 {
        score.exp()
    }

    fn variance_power(&self) -> Option<f64> {
        Some(self.power)
    }

    fn admits(&self) -> Admits {
        Admits::NonNegative
    }
}
