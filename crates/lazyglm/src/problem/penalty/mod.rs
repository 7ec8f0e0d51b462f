//! The elastic-net penalty λ₁‖w‖₁ + ½λ₂‖w‖², and its step on one weight.
//!
//! Special cases are no penalty, ℓ₁ and ℓ₂². Both methods shrink the magnitude m = |w| by an affine map,
//! clipped at zero,
//!
//! ```text
//! m ← max(0, a·m − c)
//! ```
//!
//! and differ only in a and c: see [`Method::Sgd`] and [`Method::Fobos`]. `step` is the definition. The
//! ledger and the paper's tables are closed forms of many steps, and tests compare them with the definition.

mod fobos;
pub(crate) mod one;
mod sgd;
mod weighted;

pub use weighted::WeightedPenalty;

use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;
use serde::{Deserialize, Serialize};

/// The elastic-net penalty λ₁‖w‖₁ + ½λ₂‖w‖².
///
/// ```
/// use lazyglm::{ElasticNet, Method};
/// let (lasso, ridge) = (ElasticNet { l1: 0.1, l2: 0.0 }, ElasticNet { l1: 0.0, l2: 0.1 });
/// let thousand_steps = |penalty| (0..1000).fold(1.0, |w, _| Method::Fobos.step(penalty, 0.1, w));
/// assert_eq!(thousand_steps(lasso), 0.0, "λ₁ makes zeros");
/// assert!(thousand_steps(ridge) > 0.0, "λ₂ makes weights small");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElasticNet {
    /// λ₁ ≥ 0.
    pub l1: f64,
    /// λ₂ ≥ 0.
    pub l2: f64,
}

impl ElasticNet {
    /// Creates a penalty. Both parameters must be finite and non-negative.
    ///
    /// ```
    /// use lazyglm::ElasticNet;
    /// assert_eq!(ElasticNet::new(0.5, 2.0).unwrap().value(&[1.0, -2.0]), 0.5 * 3.0 + 0.5 * 2.0 * 5.0);
    /// assert!(ElasticNet::new(-1.0, 0.0).is_err());
    /// ```
    pub fn new(l1: f64, l2: f64) -> Result<ElasticNet> {
        for (parameter, value) in [(Parameter::L1, l1), (Parameter::L2, l2)] {
            if !value.is_finite() || value < 0.0 {
                return Err(Error::parameter(parameter, value, "a finite number, at least 0"));
            }
        }
        Ok(ElasticNet { l1, l2 })
    }

    /// The value λ₁Σ|wⱼ| + ½λ₂Σwⱼ².
    ///
    /// ```
    /// let penalty = lazyglm::ElasticNet::new(0.5, 2.0).unwrap();
    /// assert_eq!(penalty.value(&[3.0, 0.0, -1.0]), 0.5 * (3.0 + 1.0) + 0.5 * 2.0 * (9.0 + 1.0));
    /// ```
    pub fn value(&self, weights: &[f64]) -> f64 {
        0.0 + weights.iter().map(|w| self.l1 * w.abs() + 0.5 * self.l2 * w * w).sum::<f64>() // an empty sum is −0
    }

    /// Whether both λ₁ and λ₂ are zero.
    ///
    /// ```
    /// use lazyglm::ElasticNet;
    /// assert!(ElasticNet::new(0.0, 0.0).unwrap().is_none());
    /// assert!(!ElasticNet::new(0.0, 1e-9).unwrap().is_none());
    /// ```
    pub fn is_none(&self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }
}

/// How a step applies the penalty.
///
/// ```
/// use lazyglm::{ElasticNet, Method};
/// let penalty = ElasticNet::new(0.0, 1.0).unwrap();
/// assert_eq!(Method::Sgd.step(penalty, 0.5, 1.0), 0.5, "minus half of itself");
/// assert_eq!(Method::Fobos.step(penalty, 0.5, 1.0), 1.0 / 1.5, "minus half of what it becomes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The gradient step of the penalty, clipped at zero: m ← max(0, (1 − ηλ₂)m − ηλ₁). Needs ηλ₂ < 1.
    Sgd,
    /// The proximal step of the penalty: m ← max(0, (m − ηλ₁)/(1 + ηλ₂)).
    Fobos,
}

impl Method {
    /// Applies one penalty step to one weight. This is the definition that all faster forms must match.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method};
    /// let penalty = ElasticNet::new(0.1, 1.0).unwrap();
    /// assert_eq!(Method::Fobos.step(penalty, 0.5, -1.0), -(1.0 - 0.05) / 1.5);
    /// assert_eq!(Method::Sgd.step(penalty, 0.5, 0.01), 0.0, "what would cross zero stays there");
    /// ```
    pub fn step(self, penalty: ElasticNet, eta: f64, weight: f64) -> f64 {
        let shrunk = match self {
            Method::Sgd => sgd::shrink(penalty, eta, weight.abs()),
            Method::Fobos => fobos::shrink(penalty, eta, weight.abs()),
        };
        if shrunk > 0.0 { shrunk.copysign(weight) } else { 0.0 }
    }

    /// Rejects a learning rate at which the SGD step would overshoot zero. FoBoS has no such limit.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method};
    /// let penalty = ElasticNet::new(0.0, 10.0).unwrap();
    /// assert!(Method::Sgd.check(penalty, 0.05).is_ok());
    /// assert!(Method::Sgd.check(penalty, 0.2).is_err(), "a weight of 1 would become −1");
    /// assert!(Method::Fobos.check(penalty, 0.2).is_ok());
    /// ```
    pub fn check(self, penalty: ElasticNet, eta: f64) -> Result<()> {
        if self == Method::Sgd && eta * penalty.l2 >= 1.0 {
            return Err(Error::call(
                format!(
                    "SGD needs eta * l2 < 1, and eta = {eta:?} with l2 = {:?} gives {:?}",
                    penalty.l2,
                    eta * penalty.l2
                ),
                format!(
                    "lower {} below {:?}, or lower {}, or use {}, which has no such limit",
                    Parameter::Eta0,
                    1.0 / penalty.l2,
                    Parameter::L2,
                    Parameter::Method.set("fobos")
                ),
            ));
        }
        Ok(())
    }
}
