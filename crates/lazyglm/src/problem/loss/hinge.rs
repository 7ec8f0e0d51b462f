//! hinge: ℓ(s, y) = max(0, 1 − ys), y = ±1. The support vector machine's loss.
//!
//! slope −y where ys < 1, else 0 · kink at s = y · conjugate uy for uy in [−1, 0]

use super::{Admits, LinearPieces, Loss, Make};
use crate::util::number::positive_part;
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> =
    Entry { name: "hinge", formula: "max(0, 1 - ys)", keys: &[], make: |_| Arc::new(Hinge) };

#[derive(Debug)]
struct Hinge;

impl Loss for Hinge {
    fn spec(&self) -> String {
        "hinge".into()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        positive_part(1.0 - target * score)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        if target * score < 1.0 { -target } else { 0.0 }
    }

    fn gradient_bound(&self) -> f64 {
        1.0
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        let uy = slope * target;
        super::inside((-1.0..=0.0).contains(&uy)) + uy
    }

    fn linear_pieces(&self, target: f64) -> Option<LinearPieces> {
        Some(LinearPieces::of_class(target, target))
    }

    fn kinks(&self, target: f64) -> Vec<f64> {
        vec![target]
    }

    fn admits(&self) -> Admits {
        Admits::Classes
    }
}
