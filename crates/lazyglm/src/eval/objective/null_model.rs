//! The null model, which has no weights: its best bias, its loss, and λ₁_max.
//!
//! ```text
//! b₀: Σᵢ ωᵢ ∂ℓ(b₀ + oᵢ, yᵢ) = 0      F₀ = (Σᵢ ωᵢ ℓ(b₀ + oᵢ, yᵢ))/n      g₀ⱼ = (Σᵢ ωᵢ ∂ℓ(b₀ + oᵢ, yᵢ)·xᵢⱼ)/n
//! λ₁_max = maxⱼ |g₀ⱼ|                 o: row offsets, zero if there are none
//! ```

use super::gradients::Gradients;
use super::{largest, sum};
use crate::data::rows::Examples;
use crate::problem::heads::Head;
use crate::problem::loss::{Admits, Loss};
use crate::problem::source::{Pooled, pool, pooled_by_target};
use rayon::prelude::*;

/// A gradient above this share of its largest possible value is not rounding error.
const SURE: f64 = 1e-6;

/// The null model: no weights, and the bias at its best. Known before training.
pub(crate) struct NullModel {
    low: f64, // the best bias lies between `low` and `high`; loss derivatives mix those at both ends
    high: f64,
    share: f64,
    /// The mean loss.
    pub baseline: f64,
    /// The gradient of the mean loss. Empty if there were no rows to compute it from.
    pub gradient: Vec<f64>,
}

/// The figures of the null model that a report shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NullFigures {
    /// The mean loss.
    pub baseline: f64,
    /// λ₁_max, the smallest λ₁ at which all weights are zero.
    pub l1_max: f64,
}

impl NullModel {
    /// Finds the best bias and its loss.
    pub fn new(pooled: &[Pooled], loss: &dyn Loss, with_bias: bool) -> NullModel {
        let of = |k: usize, b: f64, function: fn(&dyn Loss, f64, f64) -> f64| {
            let Pooled { target, offset, weight } = pooled[k];
            weight * function(loss, b + offset, target)
        };
        let total = |b: f64| sum(pooled.len(), |k| of(k, b, |loss, s, y| loss.slope(s, y)));
        let (low, high) = if with_bias { bracket(total) } else { (0.0, 0.0) };
        let (below, above) = (total(low), total(high));
        let share = if with_bias && above > below { (-below / (above - below)).clamp(0.0, 1.0) } else { 0.0 };
        let rows = sum(pooled.len(), |k| pooled[k].weight);
        let baseline = sum(pooled.len(), |k| of(k, high, |loss, s, y| loss.value(s, y))) / rows;
        NullModel { low, high, share, baseline, gradient: Vec::new() }
    }

    /// Evaluates the null model of these rows, including its gradient.
    pub fn of(examples: Examples, loss: &dyn Loss, with_bias: bool) -> NullModel {
        let null = NullModel::new(&pooled_by_target(examples), loss, with_bias);
        let slope = null.slopes(loss, examples);
        let mut gradient = Gradients::<1>::new(examples.rows.columns(), examples.rows.nonzeros());
        gradient.add(examples.rows, |rows, out, _: &mut [f64; 0]| {
            rows.zip(out).for_each(|(i, out)| *out = [slope(i)]);
        });
        drop(slope);
        let gradient = gradient.total().iter().map(|[sum]| *sum).collect();
        null.with_gradient(gradient, examples, loss)
    }

    /// Adds the gradient, given its sums over the rows.
    pub(super) fn with_gradient(
        self,
        mut gradient: Vec<f64>,
        examples: Examples,
        loss: &dyn Loss,
    ) -> NullModel {
        let slope = self.slopes(loss, examples);
        let slopes: f64 = (0..examples.len()).map(|i| slope(i).abs()).sum();
        // Usually one component is far above rounding error, and no second pass is needed.
        let most = gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
        if most <= SURE * slopes * examples.rows.largest_magnitude() {
            zero_rounding_errors(&mut gradient, examples, loss, &self);
        }
        let n = examples.len() as f64;
        gradient.iter_mut().for_each(|g| *g /= n);
        NullModel { gradient, ..self }
    }

    /// The best bias.
    pub fn bias(&self) -> f64 {
        0.5 * self.low + 0.5 * self.high
    }

    /// The loss derivative of a row with this target and offset.
    pub fn slope(&self, loss: &dyn Loss, target: f64, offset: f64) -> f64 {
        let at = |bias: f64| loss.slope(bias + offset, target);
        match self.share {
            0.0 => at(self.low),
            share => (1.0 - share) * at(self.low) + share * at(self.high),
        }
    }

    /// The loss derivative of each row, times the weight of the row.
    pub(super) fn slopes<'a>(
        &'a self,
        loss: &'a dyn Loss,
        examples: Examples<'a>,
    ) -> impl Fn(usize) -> f64 + Sync {
        let two = loss.admits() == Admits::Classes && examples.offsets.is_none();
        let of_classes = two.then(|| [-1.0, 1.0].map(|target| self.slope(loss, target, 0.0)));
        move |i| {
            let target = examples.targets[i];
            let slope = match of_classes {
                Some([negative, positive]) => {
                    if target > 0.0 {
                        positive
                    } else {
                        negative
                    }
                }
                None => self.slope(loss, target, examples.offset(i)),
            };
            examples.weight(i) * slope
        }
    }

    /// The figures that a report shows.
    pub fn figures(&self) -> NullFigures {
        NullFigures { baseline: self.baseline, l1_max: self.l1_max() }
    }

    /// λ₁_max, the largest magnitude in the gradient.
    pub fn l1_max(&self) -> f64 {
        largest(self.gradient.par_iter().map(|g| g.abs()))
    }
}

/// Sets gradient components to zero that are within rounding error of zero:
///
/// ```text
/// |Σᵢ ωᵢ∂ℓᵢxᵢⱼ| ≤ ε(8 + √n)·Σᵢ ωᵢ(|∂ℓᵢ| + ∂²ℓᵢ·(|b| + |oᵢ|))·|xᵢⱼ|         the last digit of b moves a slope by ε·∂²ℓ·|b|
/// ```
///
/// A constant column has such a gradient, because the bias is at its best.
fn zero_rounding_errors(gradient: &mut [f64], examples: Examples, loss: &dyn Loss, null: &NullModel) {
    let (bias, mut sizes) = (null.bias(), vec![0.0; gradient.len()]);
    for i in 0..examples.len() {
        let (target, offset) = (examples.targets[i], examples.offset(i));
        let rounding =
            loss.second_derivative(bias + offset, target).unwrap_or(0.0) * (bias.abs() + offset.abs());
        let size = examples.weight(i) * (null.slope(loss, target, offset).abs() + rounding);
        examples.rows.for_each(i, |j, x| sizes[j] += size * x.abs());
    }
    let noise = f64::EPSILON * (8.0 + (examples.len() as f64).sqrt());
    for (g, size) in gradient.iter_mut().zip(sizes) {
        *g = if g.abs() <= noise * size { 0.0 } else { *g };
    }
}

/// The best head without weights: `own` is the weight of the rows of its class or label, `all` that of all rows.
pub(crate) fn null_head(own: f64, all: f64, loss: &dyn Loss, with_bias: bool) -> Head {
    if !with_bias {
        return Head::default();
    }
    let mut pooled = vec![Pooled::new(-1.0, all - own), Pooled::new(1.0, own)];
    pooled.retain(|rows| rows.weight > 0.0);
    Head { bias: NullModel::new(&pooled, loss, true).bias(), ..Head::default() }
}

/// The initial bias of training.
///
/// For numbers it is the best bias without weights, which is the mean for a squared loss. For classes it is
/// 0, which is near the best.
pub(crate) fn starting_bias(loss: &dyn Loss, mut pooled: Vec<Pooled>) -> f64 {
    if loss.admits() == Admits::Classes || pooled.is_empty() {
        return 0.0;
    }
    pool(&mut pooled);
    let size = |rows: &Pooled| rows.target.abs().max(rows.offset.abs());
    let largest = pooled.iter().map(size).fold(1.0, f64::max);
    let bias = NullModel::new(&pooled, loss, true).bias();
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
