//! perceptron: ℓ(s, y) = max(0, −ys), y = ±1.
//!
//! slope −y where ys ≤ 0, else 0 (so that training can start from zero weights) · kink at s = 0 · conjugate 0
//! for uy in [−1, 0]

use super::{Admits, LinearPieces, Loss, Make};
use crate::util::number::positive_part;
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> =
    Entry { name: "perceptron", formula: "max(0, -ys)", keys: &[], make: |_| Arc::new(Perceptron) };

#[derive(Debug)]
struct Perceptron;

impl Loss for Perceptron {
    fn spec(&self) -> String {
        "perceptron".into()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        positive_part(-target * score)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        if target * score <= 0.0 { -target } else { 0.0 }
    }

    fn gradient_bound(&self) -> f64 {
        1.0
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        super::inside((-1.0..=0.0).contains(&(slope * target)))
    }

    fn linear_pieces(&self, target: f64) -> Option<LinearPieces> {
        Some(LinearPieces::of_class(target, 0.0))
    }

    fn kinks(&self, _target: f64) -> Vec<f64> {
        vec![0.0]
    }

    fn admits(&self) -> Admits {
        Admits::Classes
    }
}
