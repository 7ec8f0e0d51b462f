//! huber: ℓ(s, y) = ½r² where |r| ≤ δ, else δ|r| − ½δ²; r = s − y.
//!
//! slope clip(r, −δ, δ) · curvature ≤ 1 · conjugate ½u² + uy for |u| ≤ δ

use super::{Admits, Loss, Make};
use crate::util::registry::{Entry, Key};
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "huber",
    formula: "½r² if |r| <= delta, else delta|r| - ½delta²",
    keys: &[Key::positive("delta", "1.35")],
    make: |given| Arc::new(Huber { delta: given[0].unwrap_or(1.35) }),
};

#[derive(Debug)]
struct Huber {
    delta: f64,
}

impl Loss for Huber {
    fn spec(&self) -> String {
        format!("huber:delta={}", self.delta)
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        let r = (score - target).abs();
        if r <= self.delta { 0.5 * r * r } else { self.delta * r - 0.5 * self.delta * self.delta }
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        (score - target).clamp(-self.delta, self.delta)
    }

    fn curvature(&self) -> Option<f64> {
        Some(1.0)
    }

    fn gradient_bound(&self) -> f64 {
        self.delta
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        Some(f64::from((score - target).abs() <= self.delta))
    }

    fn majoriser(&self, score: f64, target: f64) -> Option<f64> {
        Some((self.delta / (score - target).abs()).min(1.0))
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        super::inside(slope.abs() <= self.delta) + 0.5 * slope * slope + slope * target
    }

    fn admits(&self) -> Admits {
        Admits::Reals
    }
}
