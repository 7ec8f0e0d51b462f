//! poisson: ℓ(s, y) = e^s − ys, y ≥ 0 (counts); the prediction is e^s.
//!
//! slope e^s − y · curvature unbounded · conjugate v·ln v − v with v = u + y ≥ 0

use super::{Admits, Loss, Make};
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> =
    Entry { name: "poisson", formula: "e^s - ys", keys: &[], make: |_| Arc::new(Poisson) };

#[derive(Debug)]
struct Poisson;

impl Loss for Poisson {
    fn spec(&self) -> String {
        "poisson".into()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        score.exp() - target * score
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        score.exp() - target
    }

    fn second_derivative(&self, score: f64, _target: f64) -> Option<f64> {
        Some(score.exp())
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        let v = slope + target;
        super::inside(v >= 0.0) + if v > 0.0 { v * v.ln() - v } else { 0.0 }
    }

    fn inverse_link(&self, score: f64) -> f64 {
        score.exp()
    }

    fn variance_power(&self) -> Option<f64> {
        Some(1.0)
    }

    fn admits(&self) -> Admits {
        Admits::NonNegative
    }
}
