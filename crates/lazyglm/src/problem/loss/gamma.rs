//! gamma: ℓ(s, y) = ye^(−s) + s, y > 0; the prediction is e^s.
//!
//! slope 1 − ye^(−s) · curvature unbounded · conjugate v·ln(v/y) − v with v = 1 − u ≥ 0
//!
//! This is half the unit deviance of the gamma distribution with log link, without the terms −ln y − 1, which
//! do not depend on the score.

use super::{Admits, Loss, Make};
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> =
    Entry { name: "gamma", formula: "ye^-s + s", keys: &[], make: |_| Arc::new(Gamma) };

#[derive(Debug)]
struct Gamma;

impl Loss for Gamma {
    fn spec(&self) -> String {
        "gamma".into()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        target * (-score).exp() + score
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        1.0 - target * (-score).exp()
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        Some(target * (-score).exp())
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        let v = 1.0 - slope;
        super::inside(v >= 0.0) + if v > 0.0 { v * (v.ln() - target.ln()) - v } else { 0.0 }
    }

    fn inverse_link(&self, score: f64) -> f64 {
        score.exp()
    }

    fn variance_power(&self) -> Option<f64> {
        Some(2.0)
    }

    fn admits(&self) -> Admits {
        Admits::Positive
    }
}
