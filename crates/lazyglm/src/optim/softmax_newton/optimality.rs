//! How far a point is from the optimum: violation and duality gap. Also the shift of weights that the loss does
//! not see.

use super::SoftmaxNewton;
use super::lanes::Block;
use super::point::{CHUNK, Point};
use crate::data::rows::Value;
use crate::problem::penalty::one::clip;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::util::number::{larger_or_nan, positive_part};
use rayon::prelude::*;

/// Least margin of all rows at which a problem without a penalty counts as separable: it has no minimum.
const WIDE_MARGIN: f64 = 10.0;

/// Ratio λ₁_max/λ₁ above which many weights are expected.
const MANY: f64 = 3000.0;

impl<V: Value> SoftmaxNewton<'_, V> {
    /// Whether many weights are expected to be non-zero. `most` is the largest violation of the null model.
    pub(super) fn expects_many(&self, most: f64) -> bool {
        let l1 = self.n * self.problem.weighted_penalty.penalty.l1;
        l1 * MANY <= most + l1
    }

    /// Whether the duality gap is loose. If λ₂ = 0, the gap is of first order in the violation, and the
    /// distance of second order. For an unpenalised weight there is no gap.
    pub(super) fn gap_is_loose(&self) -> bool {
        let WeightedPenalty { penalty, factors, .. } = self.problem.weighted_penalty;
        penalty.l2 == 0.0 || factors.is_some_and(|factors| factors.contains(&0.0))
    }

    /// Whether the point shows that F has no minimum: without a penalty, the score of each row's class exceeds all others by a wide
    /// margin, and the loss still falls.
    pub(super) fn is_separated(&self, point: &Point) -> bool {
        let WeightedPenalty { penalty, bounds, .. } = self.problem.weighted_penalty;
        if !penalty.is_none() || bounds.is_some() || self.problem.weighted_penalty.nonnegative {
            return false;
        }
        let apart = |(i, scores): (usize, &[Block<f64>])| {
            let (own, scores) = (self.problem.classes[i] as usize, &scores.as_flattened()[..self.count]);
            let other = |(k, score): (usize, &f64)| k == own || scores[own] - score > WIDE_MARGIN;
            self.weight(i) == 0.0 || scores.iter().enumerate().all(other)
        };
        let falls = point.residuals.as_flattened().iter().any(|residual| *residual != 0.0);
        falls && point.scores.par_chunks(self.blocks).enumerate().all(apart)
    }

    /// The weights and gradients (means) of all features with their column, in parallel.
    fn weights_and_gradients<'p>(
        &self,
        point: &'p Point,
    ) -> impl IndexedParallelIterator<Item = (usize, &'p [f64], &'p [f64])> {
        let (blocks, count) = (self.blocks, self.count);
        let pairs = point.weights.par_chunks(blocks).zip(point.gradient.par_chunks(blocks));
        pairs.enumerate().map(move |(j, (w, g))| (j, &w.as_flattened()[..count], &g.as_flattened()[..count]))
    }

    /// The largest violation of the optimality conditions, times n. NaN if any is NaN.
    pub(super) fn largest_violation(&self, point: &Point) -> f64 {
        let penalty = &self.problem.weighted_penalty;
        let of_feature = |(j, weights, gradient): (usize, &[f64], &[f64])| {
            let one = |(w, g): (&f64, &f64)| penalty.violation(j, *w, g / self.n);
            weights.iter().zip(gradient).map(one).fold(0.0, larger_or_nan)
        };
        let features = self.weights_and_gradients(point).with_min_len(CHUNK).map(of_feature);
        features.reduce(|| 0.0, larger_or_nan) * self.n
    }

    /// The relative duality gap of the point, with its probabilities as dual variables.
    ///
    /// The biases are at their best, so the residuals nearly sum to zero. The bound of `eval::objective` is the
    /// rigorous one; this one needs no pass.
    pub(super) fn relative_gap(&self, point: &Point) -> f64 {
        let penalty = &self.problem.weighted_penalty;
        if penalty.penalty.is_none() {
            return f64::INFINITY;
        }
        let of_feature = |(j, weights, gradient): (usize, &[f64], &[f64])| {
            let ElasticNet { l1, l2 } = penalty.at(j);
            let (mut gap, mut along, mut share) = (0.0, 0.0, 1.0f64);
            for (&w, g) in weights.iter().zip(gradient) {
                let g = g / self.n;
                let one = penalty.one(j);
                share = share.min(one.share(g));
                gap += one.conjugate(g);
                if w != 0.0 {
                    gap += l1 * w.abs() + 0.5 * l2 * w * w + g * w;
                    along -= g * w;
                }
            }
            (gap, along, share)
        };
        let found: Vec<(f64, f64, f64)> =
            self.weights_and_gradients(point).with_min_len(CHUNK).map(of_feature).collect();
        let (mut gap, mut along, mut share) = (0.0, 0.0, 1.0f64);
        for (of_gap, of_along, of_share) in found {
            (gap, along, share) = (gap + of_gap, along + of_along, share.min(of_share));
        }
        let value = (point.value / self.n).abs().max(f64::MIN_POSITIVE);
        if share == 1.0 {
            return positive_part(gap) / value;
        }
        // D is concave in the share, so this is a lower bound on the gap, which usually suffices.
        let least = (gap + (1.0 - share) * along) / value;
        if least > self.options.tolerance || least.is_nan() {
            return least;
        }
        let beyond = |(j, _, gradient): (usize, &[f64], &[f64])| {
            let one = |g: &f64| penalty.one(j).conjugate(share * g / self.n);
            gradient.iter().map(one).sum::<f64>()
        };
        let beyond: Vec<f64> = self.weights_and_gradients(point).with_min_len(CHUNK).map(beyond).collect();
        let bound = self.entropy(&point.residuals, share) / self.n - beyond.iter().sum::<f64>();
        positive_part(point.value / self.n - bound) / value
    }

    /// The weighted entropy −Σᵢ ωᵢ Σₖ p ln p of the probabilities Y + c(P − Y), with c = `share`.
    fn entropy(&self, residuals: &[Block<f64>], share: f64) -> f64 {
        let of_row = |(i, row): (usize, &[Block<f64>])| {
            let (own, weight) = (self.problem.classes[i] as usize, self.weight(i));
            let one = |(k, r): (usize, &f64)| match share * r / weight {
                r if k == own => (1.0 + r) * r.max(-1.0 + f64::EPSILON).ln_1p(),
                p => p * p.max(f64::MIN_POSITIVE).ln(),
            };
            let all = row.as_flattened()[..self.count].iter().enumerate().map(one);
            if weight > 0.0 { -weight * all.sum::<f64>() } else { 0.0 }
        };
        let rows: Vec<f64> =
            residuals.par_chunks(self.blocks).enumerate().with_min_len(CHUNK).map(of_row).collect();
        rows.iter().sum()
    }

    /// Moves the weights of each feature by the same amount in all classes, which does not change the loss, to
    /// where the penalty is least.
    ///
    /// ```text
    /// λ₂ = 0: the median of the weights        λ₁ = 0: their mean        else λ₂Σ(w − c) + λ₁(#above − #below) = 0
    /// ```
    pub(super) fn shift(&self, point: &mut Point) {
        let penalty = &self.problem.weighted_penalty;
        let before = self.penalty(&point.weights);
        point.weights.par_chunks_mut(self.blocks).enumerate().with_min_len(CHUNK).for_each(|(j, vector)| {
            let weights = &mut vector.as_flattened_mut()[..self.count];
            let mut by = shift_of(weights, penalty.at(j));
            if penalty.is_bounded() {
                let ([low, high], of) = (penalty.range(j), weights.iter().copied());
                let (least, most) =
                    (of.clone().fold(f64::INFINITY, f64::min), of.fold(f64::NEG_INFINITY, f64::max));
                by = clip(by, [(most - high).min(0.0), (least - low).max(0.0)]);
            }
            if by != 0.0 && by.is_finite() {
                weights.iter_mut().for_each(|w| *w -= by);
            }
        });
        point.value += self.penalty(&point.weights) - before;
    }
}

/// The shift of the weights of one feature that makes their penalty least, or zero if the penalty does not gain
/// by it.
fn shift_of(weights: &[f64], ElasticNet { l1, l2 }: ElasticNet) -> f64 {
    let (above, below) =
        weights.iter().fold((0, 0), |(a, b), w| (a + usize::from(*w > 0.0), b + usize::from(*w < 0.0)));
    let half = weights.len() / 2;
    if l1 == 0.0 {
        return if l2 == 0.0 || above + below == 0 {
            0.0
        } else {
            weights.iter().sum::<f64>() / weights.len() as f64
        };
    }
    // The derivative of the penalty along the shift, at no shift.
    let sum: f64 = weights.iter().sum();
    let zeros = weights.len() - above - below;
    let slope = l2 * sum + l1 * (above as f64 - below as f64);
    if slope.abs() <= l1 * zeros as f64 || (l2 == 0.0 && above <= half && below <= half) {
        return 0.0;
    }
    let mut sorted = weights.to_vec();
    sorted.sort_by(f64::total_cmp);
    // At c between two weights the derivative is l2(Kc − Σw) + l1(#below − #above): find where it changes sign.
    let count = weights.len() as f64;
    let derivative = |c: f64, under: usize| l2 * (count * c - sum) + l1 * (2.0 * under as f64 - count);
    for (under, &w) in sorted.iter().enumerate() {
        if derivative(w, under) >= 0.0 {
            return w; // even without the kink at w
        }
        if derivative(w, under + 1) >= 0.0 {
            return w;
        }
        let next = sorted.get(under + 1).copied().unwrap_or(f64::INFINITY);
        let root = (sum - l1 / l2 * (2.0 * (under + 1) as f64 - count)) / count;
        if l2 > 0.0 && root < next {
            return root;
        }
    }
    0.0
}
