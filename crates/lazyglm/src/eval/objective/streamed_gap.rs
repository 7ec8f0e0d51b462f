//! The duality gap from one pass over rows that are never in memory together, and without a number per row.
//!
//! ```text
//! uᵢ = ∂ℓ(sᵢ, yᵢ)      at the scores of (w, b). With a bias, Σ ωᵢuᵢ must be zero, so all positive uᵢ, or all others, shrink:
//!                      by α and β, one of which is 1 and both of which are 1 at the best bias
//! φ±(θ) = Σ ωᵢ·(ℓ*(θuᵢ, yᵢ) − θuᵢoᵢ)      over the rows with uᵢ > 0, and over the others
//! gⱼ = (α·Σ₊ ωᵢuᵢxᵢⱼ + β·Σ₋ ωᵢuᵢxᵢⱼ)/n
//! D = −(φ₊(θα) + φ₋(θβ))/n − Σⱼ rⱼ*(−θgⱼ)      a lower bound for any θ in [0, 1] with θ|gⱼ| ≤ λ₁ where λ₂ = 0
//! ```
//!
//! α, β and θ are known after the pass only. So the pass sums φ± at some shares, and a chord between two of them replaces φ± in
//! between: φ± is convex, so the chord is above it, and D remains a lower bound. For the same reason, a mixture of the
//! derivatives of two passes has at most the mixture of their φ, and its bound needs no pass.
//!
//! Shrinking the derivatives of one sign costs more than a better bias does. So a caller may add the curvature of the bias to
//! the sums, and take the bound from a second pass at b − Σωu/Σωℓ″.

use super::evaluator::{Sums, dot, judge_rows};
use super::gap::best_share;
use super::gradients::Gradients;
use super::{Certificate, Evaluation, NullFigures, NullModel, Worst, largest, sum};
use crate::data::rows::Examples;
use crate::problem::loss::Loss;
use crate::problem::penalty::WeightedPenalty;
use rayon::prelude::*;

/// The shares θ at which conjugates are summed, from 1 to 0. They are close together near 1, where the best share is near the
/// optimum.
pub(super) const SHARES: [f64; 6] = [1.0, 0.999, 0.99, 0.9, 0.5, 0.0];
/// Number of shares.
pub(super) const COUNT: usize = SHARES.len();
/// Number of rows whose conjugates are computed together.
const BLOCK: usize = 128;
/// Number of sums: loss, its derivative; per sign, Σ|ωu| and the conjugates; the magnitude of the conjugates, and Σωℓ″.
const SUMS: usize = 2 + 2 * (1 + COUNT) + 2;
/// The places of the last two.
const MAGNITUDE: usize = SUMS - 2;
const CURVATURE: usize = SUMS - 1;
/// A bias is at its best, for a bound, if the derivatives sum to at most this share of the sum of their magnitudes.
const BALANCED: f64 = 1e-5;

/// Accumulates F, its gradient and the dual value at the derivatives over blocks of rows.
pub(crate) struct StreamedGap<'a> {
    loss: &'a dyn Loss,
    weights: &'a [f64],
    bias: Option<f64>,
    null: Option<NullModel>,
    with_curvature: bool,
    smooth: Option<&'a dyn Loss>,
    gradients: Gradients<4>, // at (w, b), of the rows with u > 0, of the null model, and of all u
    sums: [f64; SUMS],
    rows: usize,
}

impl<'a> StreamedGap<'a> {
    /// Creates sums that are zero. `nonzeros` is the total number of non-zeros of all rows to come.
    pub fn new(
        loss: &'a dyn Loss,
        weights: &'a [f64],
        bias: Option<f64>,
        nonzeros: usize,
    ) -> StreamedGap<'a> {
        let gradients = Gradients::new(weights.len(), nonzeros);
        let (null, smooth, sums) = (None, None, [0.0; SUMS]);
        StreamedGap { loss, weights, bias, null, with_curvature: false, smooth, gradients, sums, rows: 0 }
    }

    /// Also evaluates the null model in the same pass.
    pub fn with_null(self, null: NullModel) -> StreamedGap<'a> {
        StreamedGap { null: Some(null), ..self }
    }

    /// Also sums the curvature of the bias, for [`StreamedGap::better_bias`].
    pub fn with_curvature(self) -> StreamedGap<'a> {
        StreamedGap { with_curvature: self.bias.is_some(), ..self }
    }

    /// Takes the derivatives of a smooth loss in place of its own, for a loss with kinks: between the slopes of both sides of a
    /// kink, they are a better dual point.
    pub fn with_derivatives_of(self, smooth: &'a dyn Loss) -> StreamedGap<'a> {
        StreamedGap { smooth: Some(smooth), ..self }
    }

    /// A bias for a second pass, unless this one is at its best already or the loss has kinks.
    pub fn better_bias(&self) -> Option<f64> {
        let size = self.sums[2] + self.sums[3 + COUNT];
        let (sum, curvature) = (self.sums[1], self.sums[CURVATURE]);
        let better = self.bias? - sum / curvature;
        (sum.abs() > BALANCED * size && curvature > 0.0 && better.is_finite()).then_some(better)
    }

    /// Adds a block of rows. The sums do not depend on the number of threads.
    pub fn add(&mut self, examples: Examples) {
        let (loss, weights, bias) = (self.loss, self.weights, self.bias.unwrap_or(0.0));
        let (with_curvature, smooth) = (self.with_curvature, self.smooth);
        let null = self.null.as_ref().map(|null| null.slopes(loss, examples));
        let sums = self.gradients.add(examples.rows, |rows, out, sums: &mut [f64; SUMS]| {
            let first = rows.start;
            let score = |i: usize| dot(examples.rows, i, weights) + bias + examples.offset(i);
            judge_rows(examples, loss, rows, score, |i, of_loss, here| {
                (sums[0], sums[1]) = (sums[0] + of_loss, sums[1] + here);
                let dual = match smooth {
                    None => here,
                    Some(smooth) => examples.weight(i) * smooth.slope(score(i), examples.targets[i]),
                };
                out[i - first] = [here, dual.max(0.0), null.as_ref().map_or(0.0, |null| null(i)), dual];
            });
            add_conjugates(examples, loss, first, out, sums);
            if with_curvature {
                let of_row = |i: usize| {
                    let curvature = loss.second_derivative(score(i), examples.targets[i]).unwrap_or(0.0);
                    examples.weight(i) * curvature
                };
                sums[CURVATURE] += (first..first + out.len()).map(of_row).sum::<f64>();
            }
        });
        sums.iter().for_each(|sums| (0..SUMS).for_each(|k| self.sums[k] += sums[k]));
        self.rows += examples.len();
    }

    /// The evaluation of all rows, its worst coordinate, and the dual point.
    pub fn finish(self, weighted_penalty: WeightedPenalty) -> (Evaluation, Worst, StreamedDual) {
        let (n, total, with_bias) = (self.rows as f64, self.gradients.total(), self.bias.is_some());
        let null = self.null.map(|null| NullFigures {
            baseline: null.baseline,
            l1_max: largest(total.par_iter().map(|sums| (sums[2] / n).abs())),
        });
        let found = Sums { total: &total, sums: [self.sums[0], self.sums[1]], rows: self.rows };
        let (evaluation, worst) = found.evaluation(weighted_penalty, self.weights, with_bias, null);
        let of = |sign: usize| SignSums::read(&self.sums[2 + sign * (1 + COUNT)..]);
        let (up, down) = (of(0), of(1));
        let [alpha, beta] = match with_bias {
            false => [1.0; 2],
            true => [down.size / up.size, up.size / down.size].map(|share| share.min(1.0)),
        }
        .map(|share| if share.is_nan() { 0.0 } else { share }); // all derivatives are zero
        let one = |sums: &[f64; 4]| (alpha * sums[1] + beta * (sums[3] - sums[1])) / n;
        let conjugates = std::array::from_fn(|k| (up.at(alpha * SHARES[k]) + down.at(beta * SHARES[k])) / n);
        let gradient = total.iter().map(one).collect();
        (evaluation, worst, StreamedDual { gradient, conjugates, size: self.sums[MAGNITUDE] / n })
    }
}

/// Adds the conjugates of some rows, from `first` on, whose last numbers in `slopes` are ωu.
fn add_conjugates(
    examples: Examples,
    loss: &dyn Loss,
    first: usize,
    slopes: &[[f64; 4]],
    sums: &mut [f64; SUMS],
) {
    let [mut own, mut shrunk, mut conjugates] = [[0.0; BLOCK]; 3];
    for (start, some) in (first..).step_by(BLOCK).zip(slopes.chunks(BLOCK)) {
        let targets = &examples.targets[start..start + some.len()];
        for (k, slope) in some.iter().enumerate() {
            let weight = examples.weight(start + k);
            own[k] = if weight > 0.0 { slope[3] / weight } else { 0.0 };
            let of_sign = if slope[3] > 0.0 { 2 } else { 3 + COUNT };
            sums[of_sign] += slope[3].abs();
        }
        for (s, share) in SHARES.into_iter().enumerate() {
            let (shrunk, conjugates) = (&mut shrunk[..some.len()], &mut conjugates[..some.len()]);
            shrunk.iter_mut().zip(&own).for_each(|(shrunk, u)| *shrunk = share * u);
            loss.conjugate_of_rows(shrunk, targets, conjugates);
            for (k, conjugate) in conjugates.iter().enumerate() {
                let weight = examples.weight(start + k);
                if weight == 0.0 {
                    continue;
                }
                let term = weight * (conjugate - shrunk[k] * examples.offset(start + k));
                let of_sign = if own[k] > 0.0 { 3 } else { 4 + COUNT };
                sums[of_sign + s] += term;
                sums[MAGNITUDE] += if s == 0 { term.abs() } else { 0.0 };
            }
        }
    }
}

/// Sums over the rows whose derivatives have one sign.
struct SignSums {
    size: f64,                // Σ|ωu|
    conjugates: [f64; COUNT], // φ at each share
}

impl SignSums {
    fn read(sums: &[f64]) -> SignSums {
        SignSums { size: sums[0], conjugates: std::array::from_fn(|k| sums[1 + k]) }
    }

    fn at(&self, share: f64) -> f64 {
        chord(&self.conjugates, share)
    }
}

/// An upper bound on a convex function of the share, given its values at `SHARES`.
pub(super) fn chord(values: &[f64; COUNT], share: f64) -> f64 {
    let k = SHARES.iter().position(|at| share >= *at).unwrap_or(COUNT - 1);
    if k == 0 || SHARES[k] == share {
        return values[k];
    }
    let part = (share - SHARES[k]) / (SHARES[k - 1] - SHARES[k]);
    part * values[k - 1] + (1.0 - part) * values[k]
}

/// A dual point of which only sums are known.
#[derive(Clone)]
pub(crate) struct StreamedDual {
    /// The mean gradient g of its derivatives, which sum to zero if there is a bias.
    gradient: Vec<f64>,
    conjugates: [f64; COUNT], // (φ₊(θα) + φ₋(θβ))/n at each share θ
    size: f64,
}

impl StreamedDual {
    /// The gradient.
    pub fn gradient(&self) -> &[f64] {
        &self.gradient
    }

    /// The certificate of a point with this objective and this violation.
    pub fn certify(
        &self,
        evaluation: &Evaluation,
        worst: Worst,
        weighted_penalty: WeightedPenalty,
    ) -> Certificate {
        let (objective, kkt) = (evaluation.objective.total(), evaluation.violation);
        let plain = Certificate { objective, dual: None, relative_gap: None, kkt, worst };
        match self.bound(weighted_penalty, objective) {
            Some(bound) => plain.with_bound(bound, self.size),
            None => plain,
        }
    }

    /// The best lower bound on F of this dual point. `None` without a penalty.
    pub fn bound(&self, weighted_penalty: WeightedPenalty, objective: f64) -> Option<f64> {
        if weighted_penalty.penalty.is_none() {
            return None;
        }
        let allowed = |j: usize| weighted_penalty.one(j).share(self.gradient[j]);
        let most = (0..self.gradient.len()).map(allowed).fold(1.0, f64::min);
        let dual = |share: f64| {
            let of_weights = |j: usize| weighted_penalty.one(j).conjugate(share * self.gradient[j]);
            -chord(&self.conjugates, share) - sum(self.gradient.len(), of_weights)
        };
        Some(best_share(most, dual(most), objective, dual)).filter(|bound| bound.is_finite())
    }

    /// The mixture of this share of the point and the rest of another one.
    pub fn mixed(&self, share: f64, other: &StreamedDual) -> StreamedDual {
        let mix = |a: f64, b: f64| share * a + (1.0 - share) * b;
        StreamedDual {
            gradient: self.gradient.iter().zip(&other.gradient).map(|(a, b)| mix(*a, *b)).collect(),
            conjugates: std::array::from_fn(|k| mix(self.conjugates[k], other.conjugates[k])),
            size: mix(self.size, other.size),
        }
    }
}
