//! squared: ℓ(s, y) = ½r², r = s − y.
//!
//! slope r · curvature 1 · conjugate ½u² + uy · gradient flow for time h: to y + r·e^(−h)

use super::{Admits, Loss, Make};
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> =
    Entry { name: "squared", formula: "½r²", keys: &[], make: |_| Arc::new(Squared) };

#[derive(Debug)]
struct Squared;

impl Loss for Squared {
    fn spec(&self) -> String {
        "squared".into()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        0.5 * (score - target).powi(2)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        score - target
    }

    fn curvature(&self) -> Option<f64> {
        Some(1.0)
    }

    fn second_derivative(&self, _score: f64, _target: f64) -> Option<f64> {
        Some(1.0)
    }

    fn is_quadratic(&self) -> bool {
        true
    }

    fn slide(&self, score: f64, target: f64, time: f64) -> Option<f64> {
        Some((score - target) * -(-time).exp_m1())
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        0.5 * slope * slope + slope * target
    }

    fn admits(&self) -> Admits {
        Admits::Reals
    }
}
