//! The elastic net with a penalty factor and an interval per weight.
//!
//! ```text
//! R(w) = Σⱼ pⱼ(λ₁|wⱼ| + ½λ₂wⱼ²), lowⱼ ≤ wⱼ ≤ highⱼ       p = 1 and no bounds unless given; with `nonnegative`, w ≥ 0
//! ```

use super::ElasticNet;
use super::one::OneWeight;

/// The lowest and the highest value of a weight without bounds.
const UNBOUNDED: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// The penalty and the bounds per weight.
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
    /// The lowest value ≤ 0 and the highest value ≥ 0 of each weight, or `None` without bounds.
    pub bounds: Option<&'a [[f64; 2]]>,
}

impl<'a> WeightedPenalty<'a> {
    /// A penalty without factors and bounds.
    pub fn of(penalty: ElasticNet) -> WeightedPenalty<'a> {
        WeightedPenalty { penalty, factors: None, nonnegative: false, bounds: None }
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

    /// The lowest and the highest value of one weight.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, WeightedPenalty};
    /// let plain = WeightedPenalty::of(ElasticNet::new(0.5, 0.0).unwrap());
    /// let bounded = WeightedPenalty { bounds: Some(&[[-1.0, 2.0]]), nonnegative: true, ..plain };
    /// assert_eq!(bounded.range(0), [0.0, 2.0]);
    /// ```
    #[inline]
    pub fn range(&self, j: usize) -> [f64; 2] {
        let [low, high] = self.bounds.map_or(UNBOUNDED, |bounds| bounds[j]);
        [if self.nonnegative { low.max(0.0) } else { low }, high]
    }

    /// Whether some weights have bounds.
    pub fn is_bounded(&self) -> bool {
        self.nonnegative || self.bounds.is_some()
    }

    /// Penalty and bounds of one weight.
    #[inline]
    pub(crate) fn one(&self, j: usize) -> OneWeight {
        OneWeight { penalty: self.at(j), range: self.range(j) }
    }

    /// Penalty and bounds of each weight, or `None` if the penalty is the same for all and there are no bounds.
    pub(crate) fn each(&self, columns: usize) -> Option<Vec<OneWeight>> {
        (self.factors.is_some() || self.is_bounded()).then(|| (0..columns).map(|j| self.one(j)).collect())
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
        self.one(j).violation(weight, g)
    }

    /// The excess of the gradient of weight `j` over λ₁. Dual feasibility requires 0 if λ₂ = 0 and there is no bound.
    pub fn excess_gradient(&self, j: usize, g: f64) -> f64 {
        self.one(j).excess_gradient(g)
    }
}

impl From<ElasticNet> for WeightedPenalty<'_> {
    fn from(penalty: ElasticNet) -> Self {
        WeightedPenalty::of(penalty)
    }
}
