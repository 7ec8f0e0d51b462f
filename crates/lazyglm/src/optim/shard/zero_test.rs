//! Decides which weights are zero at the optimum, from one full gradient.
//!
//! ```text
//! wⱼ ← 0  where  |hⱼwⱼ − gⱼ| ≤ λ₁          (hⱼwⱼ − gⱼ ≤ λ₁ where no weight may be below zero)
//! ```
//!
//! g is the gradient of the mean loss at w, and hⱼ is an upper bound on its curvature along weight j. So gⱼ(u
//! − wⱼ) + ½hⱼ(u − wⱼ)² bounds the change of the loss from above. With λ₁|u| + ½λ₂u² added, the bound is
//! smallest at u = 0 exactly if the test holds; λ₂ cancels. Stochastic steps leave weights near zero, and the
//! test sets them to zero without affecting those that matter.

use crate::problem::penalty::WeightedPenalty;

/// Sets the weights to zero that pass the test, and returns how many of them were non-zero.
///
/// ```
/// use lazyglm::{ElasticNet, WeightedPenalty, optim::shard};
/// let mut weights = [0.3, 0.3, 0.0];
/// let weighted_penalty = WeightedPenalty::of(ElasticNet::new(0.1, 1.0).unwrap());
/// let zeroed = shard::zero_test(&mut weights, &[0.25, 0.0, 9.0], &[1.0, 1.0, 1.0], &weighted_penalty);
/// assert_eq!((zeroed, weights), (1, [0.0, 0.3, 0.0]), "0.3 − 0.25 is within 0.1, 0.3 is not");
/// ```
pub fn zero_test(
    weights: &mut [f64],
    gradient: &[f64],
    curvature: &[f64],
    weighted_penalty: &WeightedPenalty,
) -> usize {
    let mut zeroed = 0;
    for (j, weight) in weights.iter_mut().enumerate() {
        let (from_zero, l1) = (curvature[j] * *weight - gradient[j], weighted_penalty.at(j).l1);
        let least_at_zero = weighted_penalty.one(j).steepness(-from_zero) <= l1;
        if *weight != 0.0 && least_at_zero {
            *weight = 0.0;
            zeroed += 1;
        }
    }
    zeroed
}
