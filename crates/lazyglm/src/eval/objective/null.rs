//! The model without weights: its bias at its best, its loss, and the λ₁ from which on no other is better.
//!
//! ```text
//! b₀: Σᵢ ωᵢ ∂ℓ(b₀, yᵢ) = 0      F₀ = (Σᵢ ωᵢ ℓ(b₀, yᵢ))/n      g₀ⱼ = (Σᵢ ωᵢ ∂ℓ(b₀, yᵢ)·xᵢⱼ)/n      λ₁_max = maxⱼ |g₀ⱼ|
//! ```

use super::{largest, sum};
use crate::data::rows::Examples;
use crate::problem::loss::{Admits, Loss};
use crate::problem::source::{pool, pooled_by_target};
use rayon::prelude::*;

/// A gradient above this share of what it could be at most is not made of rounding errors.
const SURE: f64 = 1e-6;

/// What can be said without any weights, and so before they are learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nothing {
    pub baseline: f64,
    pub l1_max: f64,
}

/// On one thread: it runs beside the learning.
pub(crate) fn nothing(examples: Examples, loss: &dyn Loss, with_bias: bool) -> Nothing {
    let NullPoint { baseline, gradient, .. } = null(examples, loss, with_bias);
    Nothing { baseline, l1_max: largest(gradient.par_iter().map(|g| g.abs())) }
}

/// The best there is without weights.
pub(crate) struct NullPoint {
    pub bias: f64,
    pub baseline: f64,
    pub gradient: Vec<f64>,
}

/// What the rows say before anything is learnt.
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
    // Mostly some slope is far above rounding errors, and the rows need not be seen again.
    let most = gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
    if most <= SURE * slopes * largest {
        silence(&mut gradient, examples, loss, &null);
    }
    let n = examples.len() as f64;
    gradient.iter_mut().for_each(|g| *g /= n);
    NullPoint { bias: null.bias(), baseline: null.baseline, gradient }
}

/// Sets to zero what is no more than rounding errors make of a gradient that is zero:
///
/// ```text
/// |Σᵢ ωᵢ∂ℓᵢxᵢⱼ| ≤ ε(8 + √n)·Σᵢ ωᵢ(|∂ℓᵢ| + ∂²ℓᵢ·|b|)·|xᵢⱼ|         b: its last digit moves a slope by ε·∂²ℓ·|b|
/// ```
///
/// A column that is the same in all rows has such a gradient, since the bias is at its best.
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

/// The model without weights, its bias at its best: slopes there are a mixture of those at `low` and `high`.
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

    /// b at its best.
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

/// b at its best without any weights, for two classes of these weights: +1 and −1.
pub(crate) fn best_bias(positive: f64, negative: f64, loss: &dyn Loss) -> f64 {
    let mut pooled = vec![(-1.0, negative), (1.0, positive)];
    pooled.retain(|(_, weight)| *weight > 0.0);
    Null::new(&pooled, loss, true).bias()
}

/// Where learning a bias begins: for numbers, at the best there is without weights, which for a squared loss is their mean;
/// for classes at 0, from where it has not far to go. Takes (target, weight) pairs.
pub(crate) fn starting_bias(loss: &dyn Loss, mut pairs: Vec<(f64, f64)>) -> f64 {
    if loss.admits() == Admits::Classes || pairs.is_empty() {
        return 0.0;
    }
    pool(&mut pairs);
    let largest = pairs.iter().fold(1.0, |most: f64, pair| most.max(pair.0.abs()));
    let bias = Null::new(&pairs, loss, true).bias();
    if bias.abs() <= 1e3 * largest { bias } else { 0.0 } // counts that are all zero have no best: −∞
}

/// Two numbers next to each other between which a rising function passes zero; where it never does (a separable
/// problem without both classes, say), the end of the search.
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
