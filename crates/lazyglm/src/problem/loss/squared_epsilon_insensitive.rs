//! squared-epsilon-insensitive: ℓ(s, y) = max(0, |r| − ε)², r = s − y.
//!
//! slope 2·sgn(r)·max(0, |r| − ε) · curvature ≤ 2 · conjugate uy + ε|u| + u²/4

use super::epsilon_insensitive::EPSILON;
use super::{Admits, Loss, Make};
use crate::util::number::positive_part;
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "squared-epsilon-insensitive",
    formula: "max(0, |r| - epsilon)²",
    keys: &[EPSILON],
    make: |given| Arc::new(SquaredEpsilonInsensitive { epsilon: given[0].unwrap_or(0.1) }),
};

#[derive(Debug)]
struct SquaredEpsilonInsensitive {
    epsilon: f64,
}

impl Loss for SquaredEpsilonInsensitive {
    fn spec(&self) -> String {
        format!("squared-epsilon-insensitive:epsilon={}", self.epsilon)
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        positive_part((score - target).abs() - self.epsilon).powi(2)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        let r = score - target;
        2.0 * r.signum() * positive_part(r.abs() - self.epsilon)
    }

    fn curvature(&self) -> Option<f64> {
        Some(2.0)
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        Some(if (score - target).abs() > self.epsilon { 2.0 } else { 0.0 })
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        slope * target + self.epsilon * slope.abs() + slope * slope / 4.0
    }

    fn admits(&self) -> Admits {
        Admits::Reals
    }
}
