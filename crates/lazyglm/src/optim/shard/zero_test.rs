//! Which weights are zero at the minimum, judged by one full gradient.
//!
//! ```text
//! wⱼ ← 0  where  |hⱼwⱼ − gⱼ| ≤ λ₁          (hⱼwⱼ − gⱼ ≤ λ₁ where no weight may be below zero)
//! ```
//!
//! g is the gradient of the mean loss at w, hⱼ a bound of its curvature along weight j. Then gⱼ(u − wⱼ) + ½hⱼ(u − wⱼ)² is
//! above the loss, and with λ₁|u| + ½λ₂u² added it is least at u = 0 exactly where the test says so; λ₂ cancels. Weights
//! that steps of many rows leave near zero become zeros by it, and are left alone where they matter.

use crate::problem::penalty::WeightedPenalty;

/// Sets the weights to zero that the test finds, and says how many of them were not zero before.
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
        let least_at_zero =
            if weighted_penalty.nonnegative { from_zero <= l1 } else { from_zero.abs() <= l1 };
        if *weight != 0.0 && least_at_zero {
            *weight = 0.0;
            zeroed += 1;
        }
    }
    zeroed
}
