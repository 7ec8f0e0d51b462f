//! modified-huber: ℓ(s, y) = max(0, 1 − ys)² where ys ≥ −1, else −4ys; y = ±1 (Zhang 2004).
//!
//! slope −2y·min(2, max(0, 1 − ys)) · curvature ≤ 2 · conjugate uy + u²/4 for uy in [−4, 0]
//! inverse link (1 + clip(s, −1, 1))/2, the probability of the positive class

use super::{Admits, Loss, Make};
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "modified-huber",
    formula: "max(0, 1 - ys)² if ys >= -1, else -4ys",
    keys: &[],
    make: |_| Arc::new(ModifiedHuber),
};

#[derive(Debug)]
struct ModifiedHuber;

impl Loss for ModifiedHuber {
    fn spec(&self) -> String {
        "modified-huber".into()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        let z = target * score;
        if z >= -1.0 { (1.0 - z).max(0.0).powi(2) } else { -4.0 * z }
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        -2.0 * target * (1.0 - target * score).clamp(0.0, 2.0)
    }

    fn curvature(&self) -> Option<f64> {
        Some(2.0)
    }

    fn gradient_bound(&self) -> f64 {
        4.0
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        Some(if (-1.0..1.0).contains(&(target * score)) { 2.0 } else { 0.0 })
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        let uy = slope * target;
        super::inside((-4.0..=0.0).contains(&uy)) + uy + slope * slope / 4.0
    }

    fn inverse_link(&self, score: f64) -> f64 {
        (1.0 + score.clamp(-1.0, 1.0)) / 2.0
    }

    fn gives_probability(&self) -> bool {
        true
    }

    fn admits(&self) -> Admits {
        Admits::Classes
    }
}
