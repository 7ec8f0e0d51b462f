//! The null model, which has no weights: its best bias, its loss, and λ₁_max.
//!
//! ```text
//! b₀: Σᵢ ωᵢ ∂ℓ(b₀, yᵢ) = 0      F₀ = (Σᵢ ωᵢ ℓ(b₀, yᵢ))/n      g₀ⱼ = (Σᵢ ωᵢ ∂ℓ(b₀, yᵢ)·xᵢⱼ)/n      λ₁_max = maxⱼ |g₀ⱼ|
//! ```

use super::{largest, sum};
use crate::data::rows::Examples;
use crate::problem::loss::{Admits, Loss};
use crate::problem::source::{pool, pooled_by_target};
use rayon::prelude::*;

/// A gradient above this share of its largest possible value is not rounding error.
const SURE: f64 = 1e-6;

/// Loss and λ₁_max of the null model, which are known before training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nothing {
    pub baseline: f64,
    pub l1_max: f64,
}

/// Evaluates the null model on one thread, in parallel with training.
pub(crate) fn nothing(examples: Examples, loss: &dyn Loss, with_bias: bool) -> Nothing {
    let NullPoint { baseline, gradient, .. } = null(examples, loss, with_bias);
    Nothing { baseline, l1_max: largest(gradient.par_iter().map(|g| g.abs())) }
}

/// The null model with its gradient.
pub(crate) struct NullPoint {
    pub bias: f64,
    pub baseline: f64,
    pub gradient: Vec<f64>,
}

/// Computes the best bias, the loss and the gradient of the null model.
pub(crate) fn null(examples: Examples, loss: &dyn Loss, with_bias: bool) -> NullPoint {
    let null = Null::new(&pooled_by_target(examples), loss, with_bias);
    let mut gradient = vec![0.0; examples.rows.columns()];
    let (mut slopes, mut largest) = (0.0, 0.0f64);
    for i in 0..examples.len() {
        let slope = examples.weight(i) * null.slope(loss, examples.targets[i]);
        if slope != 0.0 {
            slopes += slope.abs();
            examples.rows.for_each(i, |j, x| {
                gradient[j] += slope * x;
                largest = largest.max(x.abs());
            });
        }
    }
    // Usually one component is far above rounding error, and no second pass is needed.
    let most = gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
    if most <= SURE * slopes * largest {
        silence(&mut gradient, examples, loss, &null);
    }
    let n = examples.len() as f64;
    gradient.iter_mut().for_each(|g| *g /= n);
    NullPoint { bias: null.bias(), baseline: null.baseline, gradient }
}

/// Sets gradient components to zero that are within rounding error of zero:
///
/// ```text
/// |Σᵢ ωᵢ∂ℓᵢxᵢⱼ| ≤ ε(8 + √n)·Σᵢ ωᵢ(|∂ℓᵢ| + ∂²ℓᵢ·|b|)·|xᵢⱼ|         b: its last digit moves a slope by ε·∂²ℓ·|b|
/// ```
///
/// A constant column has such a gradient, because the bias is at its best.
fn silence(gradient: &mut [f64], examples: Examples, loss: &dyn Loss, null: &Null) {
    let (bias, mut sizes) = (null.bias(), vec![0.0; gradient.len()]);
    for i in 0..examples.len() {
        let target = examples.targets[i];
        let second_derivative = loss.second_derivative(bias, target).unwrap_or(0.0);
        let size = examples.weight(i) * (null.slope(loss, target).abs() + second_derivative * bias.abs());
        examples.rows.for_each(i, |j, x| sizes[j] += size * x.abs());
    }
    let noise = f64::EPSILON * (8.0 + (examples.len() as f64).sqrt());
    for (g, size) in gradient.iter_mut().zip(sizes) {
        *g = if g.abs() <= noise * size { 0.0 } else { *g };
    }
}

/// The best bias of the null model, as a bracket. Its loss derivatives mix those at `low` and `high`.
#[derive(Clone, Copy)]
pub(crate) struct Null {
    low: f64,
    high: f64,
    share: f64,
    pub(super) baseline: f64,
}

impl Null {
    pub fn new(pooled: &[(f64, f64)], loss: &dyn Loss, with_bias: bool) -> Null {
        let total = |b: f64| sum(pooled.len(), |k| pooled[k].1 * loss.slope(b, pooled[k].0));
        let (low, high) = if with_bias { bracket(total) } else { (0.0, 0.0) };
        let (below, above) = (total(low), total(high));
        let share = if with_bias && above > below { (-below / (above - below)).clamp(0.0, 1.0) } else { 0.0 };
        let rows = sum(pooled.len(), |k| pooled[k].1);
        let baseline = sum(pooled.len(), |k| pooled[k].1 * loss.value(high, pooled[k].0)) / rows;
        Null { low, high, share, baseline }
    }

    /// The best bias.
    pub fn bias(&self) -> f64 {
        0.5 * self.low + 0.5 * self.high
    }

    pub fn slope(&self, loss: &dyn Loss, target: f64) -> f64 {
        match self.share {
            0.0 => loss.slope(self.low, target),
            share => (1.0 - share) * loss.slope(self.low, target) + share * loss.slope(self.high, target),
        }
    }
}

/// The best bias of the null model for two classes with these total weights: +1 and −1.
pub(crate) fn best_bias(positive: f64, negative: f64, loss: &dyn Loss) -> f64 {
    let mut pooled = vec![(-1.0, negative), (1.0, positive)];
    pooled.retain(|(_, weight)| *weight > 0.0);
    Null::new(&pooled, loss, true).bias()
}

/// The initial bias of training, from (target, weight) pairs.
///
/// For numbers it is the best bias without weights, which is the mean for a squared loss. For classes it is
/// 0, which is near the best.
pub(crate) fn starting_bias(loss: &dyn Loss, mut pairs: Vec<(f64, f64)>) -> f64 {
    if loss.admits() == Admits::Classes || pairs.is_empty() {
        return 0.0;
    }
    pool(&mut pairs);
    let largest = pairs.iter().fold(1.0, |most: f64, pair| most.max(pair.0.abs()));
    let bias = Null::new(&pairs, loss, true).bias();
    if bias.abs() <= 1e3 * largest { bias } else { 0.0 } // if all counts are zero, the best bias is −∞
}

/// Two adjacent numbers between which an increasing function crosses zero. If it never does (for example with
/// a single class), the end of the search.
fn bracket(rising: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut low, mut high) = (-1.0, 1.0);
    while rising(low) > 0.0 && low > -1e300 {
        low *= 2.0;
    }
    while rising(high) < 0.0 && high < 1e300 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if rising(middle) < 0.0 { low = middle } else { high = middle }
    }
    (low, high)
}
