//! quantile: ℓ(s, y) = max(τ(y − s), (τ − 1)(y − s)). Its minimiser is the τ-quantile; τ = ½ the median.
//!
//! slope −τ where s < y, 1 − τ where s > y, 0 at y · kink at s = y · conjugate uy for u in [−τ, 1 − τ]

use super::{Admits, LinearPieces, Loss, Make};
use crate::util::registry::{Entry, Key};
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "quantile",
    formula: "max(tau(y - s), (tau - 1)(y - s))",
    keys: &[Key { name: "tau", default: "0.5", low: 0.0, high: 1.0, open: true }],
    make: |given| Arc::new(Quantile { tau: given[0].unwrap_or(0.5) }),
};

#[derive(Debug)]
struct Quantile {
    tau: f64,
}

impl Loss for Quantile {
    fn spec(&self) -> String {
        format!("quantile:tau={}", self.tau)
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        let short = target - score;
        (self.tau * short).max((self.tau - 1.0) * short)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        match score.partial_cmp(&target) {
            Some(std::cmp::Ordering::Less) => -self.tau,
            Some(std::cmp::Ordering::Greater) => 1.0 - self.tau,
            Some(std::cmp::Ordering::Equal) => 0.0,
            None => f64::NAN, // a NaN score must not have zero loss
        }
    }

    fn gradient_bound(&self) -> f64 {
        self.tau.max(1.0 - self.tau)
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        super::inside(-self.tau <= slope && slope <= 1.0 - self.tau) + slope * target
    }

    fn linear_pieces(&self, target: f64) -> Option<LinearPieces> {
        Some(LinearPieces { centre: target, epsilon: 0.0, low: self.tau - 1.0, high: self.tau })
    }

    fn kinks(&self, target: f64) -> Vec<f64> {
        vec![target]
    }

    fn admits(&self) -> Admits {
        Admits::Reals
    }
}
