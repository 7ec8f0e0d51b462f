//! The elastic net with a penalty factor per weight and an optional lower bound of zero.
//!
//! ```text
//! R(w) = Σⱼ pⱼ(λ₁|wⱼ| + ½λ₂wⱼ²)          p = 1 unless given; with `nonnegative`, w ≥ 0
//! ```

use super::ElasticNet;
use crate::util::number::positive_part;

/// The penalty per weight.
///
/// ```
/// use lazyglm::{ElasticNet, WeightedPenalty};
/// let penalty = ElasticNet::new(0.5, 2.0).unwrap();
/// let weighted_penalty = WeightedPenalty { factors: Some(&[1.0, 0.0]), ..WeightedPenalty::of(penalty) };
/// assert_eq!(weighted_penalty.value(&[3.0, 7.0]), 0.5 * 3.0 + 9.0, "the second weight costs nothing");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WeightedPenalty<'a> {
    /// λ₁ and λ₂ before penalty factors.
    pub penalty: ElasticNet,
    /// The penalty factors p ≥ 0, or `None` if all are 1.
    pub factors: Option<&'a [f64]>,
    /// Whether weights must not be negative.
    pub nonnegative: bool,
}

impl<'a> WeightedPenalty<'a> {
    /// A penalty without factors and bounds.
    pub fn of(penalty: ElasticNet) -> WeightedPenalty<'a> {
        WeightedPenalty { penalty, factors: None, nonnegative: false }
    }

    /// λ₁ and λ₂ of one weight.
    #[inline]
    pub fn at(&self, j: usize) -> ElasticNet {
        match self.factors {
            None => self.penalty,
            Some(factors) => {
                ElasticNet { l1: factors[j] * self.penalty.l1, l2: factors[j] * self.penalty.l2 }
            }
        }
    }

    /// The penalty R(w).
    pub fn value(&self, weights: &[f64]) -> f64 {
        match self.factors {
            None => self.penalty.value(weights),
            Some(_) => weights.iter().enumerate().map(|(j, w)| self.at(j).value(&[*w])).sum(),
        }
    }

    /// The distance from 0 to the subdifferential of F at weight `j`, given the gradient `g` of the loss.
    pub fn violation(&self, j: usize, weight: f64, g: f64) -> f64 {
        let ElasticNet { l1, l2 } = self.at(j);
        match weight {
            0.0 if self.nonnegative => positive_part(-g - l1),
            0.0 => positive_part(g.abs() - l1),
            w => (g + l2 * w + l1.copysign(w)).abs(),
        }
    }

    /// The excess of the gradient of weight `j` over λ₁. Dual feasibility requires 0 if λ₂ = 0.
    pub fn excess_gradient(&self, j: usize, g: f64) -> f64 {
        let steep = if self.nonnegative { -g } else { g.abs() };
        positive_part(steep - self.at(j).l1)
    }
}

impl From<ElasticNet> for WeightedPenalty<'_> {
    fn from(penalty: ElasticNet) -> Self {
        WeightedPenalty::of(penalty)
    }
}
