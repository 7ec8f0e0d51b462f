//! FoBoS: the proximal step, argmin over u of ½(u − w)² + η(λ₁|u| + ½λ₂u²) (Duchi & Singer 2009).
//!
//! m ← max(0, (m − ηλ₁)/(1 + ηλ₂)), for any η

use super::ElasticNet;

pub(super) fn shrink(penalty: ElasticNet, eta: f64, magnitude: f64) -> f64 {
    (magnitude - eta * penalty.l1) / (1.0 + eta * penalty.l2)
}
