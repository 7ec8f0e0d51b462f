//! squared-hinge: ℓ(s, y) = max(0, 1 − ys)², y = ±1.
//!
//! slope −2y·max(0, 1 − ys) · curvature ≤ 2 · conjugate uy + u²/4 for uy ≤ 0

use super::{Admits, Loss, Make};
use crate::util::number::positive_part;
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> =
    Entry { name: "squared-hinge", formula: "max(0, 1 - ys)²", keys: &[], make: |_| Arc::new(SquaredHinge) };

#[derive(Debug)]
struct SquaredHinge;

impl Loss for SquaredHinge {
    fn spec(&self) -> String {
        "squared-hinge".into()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        positive_part(1.0 - target * score).powi(2)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        -2.0 * target * positive_part(1.0 - target * score)
    }

    fn curvature(&self) -> Option<f64> {
        Some(2.0)
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        Some(if target * score < 1.0 { 2.0 } else { 0.0 })
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        let uy = slope * target;
        super::inside(uy <= 0.0) + uy + slope * slope / 4.0
    }

    fn admits(&self) -> Admits {
        Admits::Classes
    }
}
