//! SGD: the subgradient of the penalty, clipped where it would cross zero.
//!
//! m ← max(0, (1 − ηλ₂)·m − ηλ₁), for ηλ₂ < 1 (Lipton & Elkan 2015, §5)

use super::ElasticNet;

pub(super) fn shrink(net: ElasticNet, eta: f64, magnitude: f64) -> f64 {
    (1.0 - eta * net.l2) * magnitude - eta * net.l1
}
