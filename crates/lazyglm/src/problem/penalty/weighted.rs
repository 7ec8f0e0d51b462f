//! What each weight costs: the elastic net, times a factor of the weight's own, and perhaps no weight below zero.
//!
//! ```text
//! R(w) = Σⱼ pⱼ(λ₁|wⱼ| + ½λ₂wⱼ²)          p = 1 unless given; with `nonnegative`, w ≥ 0
//! ```

use super::ElasticNet;

/// The penalty, weight by weight.
///
/// ```
/// use lazyglm::{ElasticNet, WeightedPenalty};
/// let penalty = ElasticNet::new(0.5, 2.0).unwrap();
/// let weighted_penalty = WeightedPenalty { factors: Some(&[1.0, 0.0]), ..WeightedPenalty::of(penalty) };
/// assert_eq!(weighted_penalty.value(&[3.0, 7.0]), 0.5 * 3.0 + 9.0, "the second weight costs nothing");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WeightedPenalty<'a> {
    /// λ₁ and λ₂.
    pub penalty: ElasticNet,
    /// p, from 0 up; 1 for all if not given.
    pub factors: Option<&'a [f64]>,
    /// Whether weights must not be below zero.
    pub nonnegative: bool,
}

impl<'a> WeightedPenalty<'a> {
    /// The same for all weights, of any sign.
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

    /// R(w).
    pub fn value(&self, weights: &[f64]) -> f64 {
        match self.factors {
            None => self.penalty.value(weights),
            Some(_) => weights.iter().enumerate().map(|(j, w)| self.at(j).value(&[*w])).sum(),
        }
    }

    /// The distance from 0 to what F can slope at weight `j`, where the gradient of the loss is `g`.
    pub fn violation(&self, j: usize, weight: f64, g: f64) -> f64 {
        let ElasticNet { l1, l2 } = self.at(j);
        match weight {
            0.0 if self.nonnegative => (-g - l1).max(0.0),
            0.0 => (g.abs() - l1).max(0.0),
            w => (g + l2 * w + l1.copysign(w)).abs(),
        }
    }

    /// How far the slope −g of weight `j` is beyond what λ₁ takes up; the box of the dual where it must be 0.
    pub fn beyond(&self, j: usize, g: f64) -> f64 {
        let steep = if self.nonnegative { -g } else { g.abs() };
        (steep - self.at(j).l1).max(0.0)
    }
}

impl From<ElasticNet> for WeightedPenalty<'_> {
    fn from(penalty: ElasticNet) -> Self {
        WeightedPenalty::of(penalty)
    }
}
