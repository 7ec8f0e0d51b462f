//! SGD: the subgradient of the penalty, clipped where it would cross zero.
//!
//! m ← max(0, (1 − ηλ₂)·m − ηλ₁), for ηλ₂ < 1 (Lipton & Elkan 2015, §5)

use super::ElasticNet;

pub(super) fn shrink(penalty: ElasticNet, eta: f64, magnitude: f64) -> f64 {
    (1.0 - eta * penalty.l2) * magnitude - eta * penalty.l1
}
