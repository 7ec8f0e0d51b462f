//! epsilon-insensitive: ℓ(s, y) = max(0, |r| − ε), r = s − y. Errors below ε cost nothing. absolute: ε = 0.
//!
//! slope sgn(r) where |r| > ε, else 0 · kinks at y ± ε · conjugate uy + ε|u| for |u| ≤ 1

use super::{Admits, LinearPieces, Loss, Make};
use crate::util::number::positive_part;
use crate::util::registry::{Entry, Key};
use std::sync::Arc;

pub(super) const EPSILON: Key =
    Key { name: "epsilon", default: "0.1", low: 0.0, high: f64::INFINITY, open: false };

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "epsilon-insensitive",
    formula: "max(0, |r| - epsilon)",
    keys: &[EPSILON],
    make: |given| Arc::new(EpsilonInsensitive { epsilon: given[0].unwrap_or(0.1) }),
};

/// The absolute error, which is this loss with ε = 0.
pub(super) const ABSOLUTE: Entry<Make> = Entry {
    name: "absolute",
    formula: "|r|",
    keys: &[],
    make: |_| Arc::new(EpsilonInsensitive { epsilon: 0.0 }),
};

#[derive(Debug)]
struct EpsilonInsensitive {
    epsilon: f64,
}

impl Loss for EpsilonInsensitive {
    fn spec(&self) -> String {
        match self.epsilon == 0.0 {
            true => ABSOLUTE.name.to_string(),
            false => format!("epsilon-insensitive:epsilon={}", self.epsilon),
        }
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        positive_part((score - target).abs() - self.epsilon)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        let r = score - target;
        if r.abs() > self.epsilon { r.signum() } else { 0.0 }
    }

    fn gradient_bound(&self) -> f64 {
        1.0
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        super::inside(slope.abs() <= 1.0) + slope * target + self.epsilon * slope.abs()
    }

    fn linear_pieces(&self, target: f64) -> Option<LinearPieces> {
        Some(LinearPieces { centre: target, epsilon: self.epsilon, low: -1.0, high: 1.0 })
    }

    fn kinks(&self, target: f64) -> Vec<f64> {
        vec![target - self.epsilon, target + self.epsilon]
    }

    fn admits(&self) -> Admits {
        Admits::Reals
    }
}
