//! The duality gap: a certificate of how good (w, b) is, from a lower bound on F that does not need the
//! minimiser.
//!
//! ```text
//! D(u) = −(Σᵢ ωᵢ·(ℓ*(uᵢ, yᵢ) − uᵢoᵢ))/n − Σⱼ rⱼ*(−gⱼ),  r*(−g) = (|g| − λ₁)₊²/(2λ₂)        gⱼ = (Σᵢ ωᵢ·uᵢ·xᵢⱼ)/n
//! F(w, b) ≥ F* ≥ D(u)      for any u in the domain of ℓ*, with Σᵢ ωᵢ·uᵢ = 0 if there is a bias,
//!                          and with |gⱼ| ≤ λ₁ for all j if λ₂ = 0
//! ```
//!
//! Here λ₁ and λ₂ are those of weight j, and −gⱼ replaces |gⱼ| if weights must not be negative. If weight j has
//! bounds, r*(−g) is the largest −gw − λ₁|w| − ½λ₂w² within them, which needs no |gⱼ| ≤ λ₁. The bound holds because ℓ(s) ≥ us − ℓ*(u), with s = w·x + b + o for a row of offset o. The loss derivatives at the scores of (w, b) are a good u after two
//! corrections:
//!
//! - *The bias* moves to where the derivatives sum to zero, on stored scores and without another pass. If the
//!   sum jumps over zero at a kink, the derivatives of both sides are mixed.
//! - *The box* |gⱼ| ≤ λ₁, for λ₂ = 0: all derivatives shrink by one factor. This keeps the sum at zero. It
//!   also keeps them in the domain, because every loss here is bounded below, so the domain contains 0.
//!
//! For a piecewise-linear loss, dual ascent improves the derivatives of rows near a kink (`near_kinks`).
//!
//! docs/maths/optimality.md has the proofs, and judge.rs the passes over the rows.

use super::judge::Judge;
use super::{CHUNK, larger, sum};
use crate::data::rows::Examples;
use crate::problem::loss::{Derivatives, Loss};
use crate::problem::penalty::WeightedPenalty;
use crate::util::number::positive_part;
use rayon::prelude::*;

/// A certificate of optimality for (w, b).
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Rows, loss, objective};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], None).unwrap();
/// let (loss, penalty) = (loss::parse("squared").unwrap(), ElasticNet::new(2.0, 0.0).unwrap());
/// let at = |w: f64| objective::certify(examples, &*loss, penalty, &[w], None);
/// assert_eq!((at(1.0).objective, at(1.0).dual), (2.5, Some(2.5)), "½(2w − 3)² + 2|w| is least here");
/// let proof = at(0.5);
/// assert!(proof.objective - proof.dual.unwrap() >= 3.0 - 2.5, "F(½) = 3");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certificate {
    /// F(w, b).
    pub objective: f64,
    /// The dual value D, a lower bound on the objective. `None` if λ₁ = λ₂ = 0, where no bound is known.
    pub dual: Option<f64>,
    /// The relative duality gap (F − D)/|F|, an upper bound on the relative suboptimality.
    pub relative_gap: Option<f64>,
    /// The violation of the optimality (KKT) conditions: see [`super::violation`].
    pub kkt: f64,
    /// The coordinate with the largest violation.
    pub worst: Worst,
}

/// The coordinate that violates the optimality conditions most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Worst {
    /// The weight of this column.
    Column(usize),
    /// The bias.
    Bias,
    /// No coordinate: the violation is zero.
    #[default]
    Nowhere,
}

/// Relative gap at which the search for a better dual point ends.
pub(super) const CLOSE: f64 = 1e-4;
/// Most values of D, besides those at the ends, in the search for the best share of the derivatives,
const MOST_SHARES: usize = 14;
/// which ends where a parabola promises less than this share of the gap,
const LEFT: f64 = 1e-4;
/// and moves a maximum beyond an end of the interval into it by this part of its length.
const MARGIN: f64 = 0.02;
/// Number of rows whose conjugates are computed together.
const BLOCK: usize = 256;

/// Computes the certificate of weights and an optional bias.
pub fn certify<'p>(
    examples: Examples,
    loss: &dyn Loss,
    weighted_penalty: impl Into<WeightedPenalty<'p>>,
    weights: &[f64],
    bias: Option<f64>,
) -> Certificate {
    certify_with(examples, loss, weighted_penalty.into(), weights, bias, None)
}

/// Like [`certify`], with a lower bound that the solver found, if any. It saves the passes near kinks.
pub(crate) fn certify_with(
    examples: Examples,
    loss: &dyn Loss,
    weighted_penalty: WeightedPenalty,
    weights: &[f64],
    bias: Option<f64>,
    known: Option<f64>,
) -> Certificate {
    Judge { examples, loss, weighted_penalty, weights, bias, null: None }.certify(known).1
}

/// Whether dual ascent near kinks need not go on.
pub(super) fn close_enough(certificate: &Certificate) -> bool {
    certificate.relative_gap.is_none_or(|gap| gap <= CLOSE)
}

/// What a solver knows of a point. Sums over rows, not means.
pub(crate) struct Known<'a> {
    /// The score of each row.
    pub scores: &'a [f64],
    /// The loss derivative ωℓ′ of each row.
    pub slopes: &'a [f64],
    /// The gradient of the loss of all rows.
    pub gradient: &'a [f64],
    /// The loss of all rows.
    pub loss: f64,
}

/// Derivatives that sum to this share of their magnitudes count as balanced: it is their rounding error.
const BALANCED: f64 = 1e-12;

/// Like [`certify`], from the scores, derivatives and gradient that a solver has computed, so without a pass over the rows.
/// `None` if the derivatives do not sum to zero: then the bias is not optimal, and they prove nothing.
pub(crate) fn certify_known(
    examples: Examples,
    loss: &dyn Loss,
    weighted_penalty: WeightedPenalty,
    weights: &[f64],
    bias: Option<f64>,
    known: Known,
) -> Option<Certificate> {
    let (n, Known { scores, slopes, gradient, loss: losses }) = (examples.len() as f64, known);
    let of_bias = bias.map_or(0.0, |_| slopes.iter().sum::<f64>().abs());
    let balanced = of_bias <= BALANCED * slopes.iter().map(|slope| slope.abs()).sum::<f64>(); // false for NaN
    if loss.has_kinks() || !balanced {
        return None;
    }
    let gradient: Vec<f64> = gradient.iter().map(|g| g / n).collect();
    let optimal = |j: &usize| weights[*j] == 0.0 && gradient[*j].abs() <= weighted_penalty.at(*j).l1;
    let violation = |j: usize| (weighted_penalty.violation(j, weights[j], gradient[j]), Worst::Column(j));
    let rest = (0..weights.len()).filter(|j| !optimal(j));
    let of_weights = rest.map(violation).fold((0.0, Worst::Nowhere), larger);
    let (kkt, worst) = larger(of_weights, (of_bias / n, Worst::Bias));
    let objective = losses / n + weighted_penalty.value(weights);
    let certificate = Certificate { objective, dual: None, relative_gap: None, kkt, worst };
    if weighted_penalty.penalty.is_none() {
        return Some(certificate);
    }
    // Not ωℓ′/ω: rounding must not leave the domain of the conjugate.
    let slopes =
        if examples.weights.is_some() { slopes_at(scores, examples.targets, loss) } else { slopes.to_vec() };
    let (slopes, gradient) = (&slopes[..], &gradient[..]);
    Some(certificate.with_dual(Dual { examples, slopes, gradient, loss, weighted_penalty }))
}

/// The loss derivative of each row at its score.
fn slopes_at(scores: &[f64], targets: &[f64], loss: &dyn Loss) -> Vec<f64> {
    let [mut values, mut slopes, mut second_derivatives] = [(); 3].map(|()| vec![0.0; scores.len()]);
    let out =
        Derivatives { values: &mut values, slopes: &mut slopes, second_derivatives: &mut second_derivatives };
    loss.taylor_of_rows(scores, targets, out);
    slopes
}

impl Certificate {
    /// The certificate of independent models: objectives and lower bounds add up, and the worst coordinate is that of
    /// the first model with the largest violation.
    pub(crate) fn sum(all: &[Certificate]) -> Certificate {
        let objective = all.iter().map(|one| one.objective).sum();
        let dual: Option<f64> = all.iter().map(|one| one.dual).sum();
        let (kkt, worst) = all.iter().map(|one| (one.kkt, one.worst)).fold((0.0, Worst::Nowhere), larger);
        Certificate { objective, dual, relative_gap: dual.map(|dual| relative(objective, dual)), kkt, worst }
    }

    /// Adds the dual bound, unless it exceeds F by more than rounding. Such a bound is wrong, because F is
    /// above every lower bound.
    pub(crate) fn with_dual(self, dual: Dual) -> Certificate {
        let (bound, size) = dual.best(self.objective);
        self.with_bound(bound, size)
    }

    /// Adds a dual bound whose terms have magnitude `size`.
    pub(super) fn with_bound(self, bound: f64, size: f64) -> Certificate {
        let rounding = 1e-9 * self.objective.abs() + 1e-12 * size;
        let proves = self.objective.is_finite() && bound <= self.objective + rounding; // false for NaN
        if !proves {
            return self;
        }
        Certificate { dual: Some(bound), relative_gap: Some(relative(self.objective, bound)), ..self }
    }

    /// Takes another lower bound if it is higher, and not above F by more than rounding.
    pub(crate) fn at_least(self, bound: f64) -> Certificate {
        let higher = self.dual.is_none_or(|dual| bound > dual);
        if !(higher && bound <= self.objective + 1e-9 * self.objective.abs()) {
            return self;
        }
        Certificate { dual: Some(bound), relative_gap: Some(relative(self.objective, bound)), ..self }
    }
}

/// The relative gap (F − D)/|F|, clipped at zero, because rounding may make a closed gap negative.
fn relative(objective: f64, dual: f64) -> f64 {
    let gap = positive_part(objective - dual);
    if gap == 0.0 { 0.0 } else { gap / objective.abs() }
}

/// Stored values of one row.
pub(crate) struct ScoredRow {
    pub score: f64,
    pub target: f64,
    pub weight: f64,
    pub offset: f64, // part of the score
}

/// The dual bound of the corrected derivatives.
pub(crate) struct Dual<'a> {
    pub examples: Examples<'a>,
    pub slopes: &'a [f64],
    pub gradient: &'a [f64],
    pub loss: &'a dyn Loss,
    pub weighted_penalty: WeightedPenalty<'a>,
}

impl Dual<'_> {
    /// The sum of ω(ℓ*(θu) − θu·o) over the rows, for a share θ of their derivatives u, and the sum of magnitudes.
    fn conjugates(&self, share: f64) -> [f64; 2] {
        let examples = self.examples;
        let one = |(chunk, slopes): (usize, &[f64])| {
            let [mut shrunk, mut conjugates] = [[0.0; BLOCK]; 2];
            let (mut sum, mut size) = (0.0, 0.0);
            for (first, slopes) in (chunk * CHUNK..).step_by(BLOCK).zip(slopes.chunks(BLOCK)) {
                let rows = first..first + slopes.len();
                let (shrunk, conjugates) = (&mut shrunk[..rows.len()], &mut conjugates[..rows.len()]);
                shrunk.iter_mut().zip(slopes).for_each(|(shrunk, slope)| *shrunk = share * slope);
                self.loss.conjugate_of_rows(shrunk, &examples.targets[rows.clone()], conjugates);
                for ((i, slope), conjugate) in rows.zip(shrunk).zip(conjugates) {
                    let term = examples.weight(i) * (*conjugate - *slope * examples.offset(i));
                    (sum, size) = (sum + term, size + term.abs());
                }
            }
            [sum, size]
        };
        let chunks = self.slopes.par_chunks(CHUNK).enumerate();
        let sums: Vec<[f64; 2]> = chunks.map(one).collect();
        sums.iter().fold([0.0; 2], |all, one| [all[0] + one[0], all[1] + one[1]])
    }

    /// D of the derivatives times `share`, and the magnitude of its terms.
    fn at(&self, share: f64) -> (f64, f64) {
        let [of_rows, size] = self.conjugates(share).map(|sum| sum / self.slopes.len() as f64);
        let (penalty, gradient) = (self.weighted_penalty, self.gradient);
        let of_weights = match () {
            () if penalty.penalty.l2 == 0.0 && !penalty.is_bounded() => 0.0,
            () if penalty.factors.is_none() && !penalty.is_bounded() => {
                let one = penalty.one(0); // the same for all
                sum(gradient.len(), |j| one.conjugate(share * gradient[j]))
            }
            () => sum(gradient.len(), |j| penalty.one(j).conjugate(share * gradient[j])),
        };
        (-of_rows - of_weights, size)
    }

    /// The largest share at which weight `j` satisfies its box constraint, if it has one.
    fn allowed(&self, j: usize) -> f64 {
        self.weighted_penalty.one(j).share(self.gradient[j])
    }

    /// The best of several shares, and the magnitude of the terms in D. D is concave in the share, and near a
    /// minimum the largest allowed share is best.
    fn best(&self, objective: f64) -> (f64, f64) {
        let allowed = (0..self.gradient.len()).into_par_iter().with_min_len(CHUNK).map(|j| self.allowed(j));
        let most = allowed.reduce(|| 1.0, f64::min);
        let (at_most, size) = self.at(most);
        (best_share(most, at_most, objective, |share| self.at(share).0), size)
    }
}

/// The largest of some values of D, a concave function of a share between 0 and `most`, where it is `at_most`. Near a minimum of F,
/// the largest share is best. Else parabolas through three points find the maximum in a few values, each of which takes a pass over
/// all derivatives. A vertex beyond an end moves to a point beside it.
pub(super) fn best_share(most: f64, at_most: f64, objective: f64, dual: impl Fn(f64) -> f64) -> f64 {
    if relative(objective, at_most) < 1e-3 || most == 0.0 {
        return at_most;
    }
    let golden = 0.5 * (3.0 - 5f64.sqrt());
    let at = |share: f64| (share, dual(share));
    let (mut low, mut high) = (at(0.0), (most, at_most));
    let mut middle = at((1.0 - golden) * most);
    let mut idle = false; // whether the last value gained next to nothing
    for _ in 0..MOST_SHARES {
        let (vertex, enough) = (vertex([low, middle, high]), LEFT * (objective - middle.1));
        // The parabola says how much is left to gain. The first one is wide, and may be far from D. No concave function is above
        // the lines through two of its points, beyond them: that ends a search whose best share is an end.
        let [right, left] =
            [rise(low, middle) * (high.0 - middle.0), rise(middle, high) * (low.0 - middle.0)];
        let possible = middle.1 + right.max(left) - low.1.max(middle.1).max(high.1);
        if possible <= enough || (idle && vertex.is_some_and(|(_, gain)| gain <= enough)) {
            break;
        }
        let margin = MARGIN * (high.0 - low.0);
        let inside = |(share, _): (f64, f64)| match () {
            () if share <= low.0 => low.0 + margin,
            () if share >= high.0 => high.0 - margin,
            () => share,
        };
        let of_parabola = vertex.map(inside).filter(|share| (share - middle.0).abs() > 0.1 * margin);
        let of_section = match middle.0 - low.0 > high.0 - middle.0 {
            true => middle.0 - golden * (middle.0 - low.0),
            false => middle.0 + golden * (high.0 - middle.0),
        };
        let next = at(of_parabola.unwrap_or(of_section));
        idle = next.1 - middle.1 <= enough;
        let (below, above) = if next.0 < middle.0 { (next, middle) } else { (middle, next) };
        // D is concave: its maximum is beside the higher of the two.
        if below.1 > above.1 {
            (middle, high) = (below, above);
        } else {
            (low, middle) = (below, above);
        }
    }
    [low, middle, high].iter().fold(at_most, |best, (_, value)| best.max(*value))
}

/// The slope of the line through two points.
fn rise(from: (f64, f64), to: (f64, f64)) -> f64 {
    (to.1 - from.1) / (to.0 - from.0)
}

/// The maximum of the parabola through three points, the second of which is between the others: where it is, and how far above the
/// second point. `None` if the points are not those of a strictly concave function.
fn vertex([low, middle, high]: [(f64, f64); 3]) -> Option<(f64, f64)> {
    let (left, right) = (rise(low, middle), rise(middle, high));
    let bend = (right - left) / (high.0 - low.0);
    let slope = left + bend * (middle.0 - low.0); // at the second point
    let step = -0.5 * slope / bend;
    (bend < 0.0 && step.is_finite()).then_some((middle.0 + step, 0.5 * slope * step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_best_share_of_any_concave_function_is_found_in_a_few_values() {
        let entropy = |a: f64| if a > 0.0 { a * a.ln() } else { 0.0 };
        for best in [1e-5, 0.02, 0.3, 0.5, 0.77, 0.9999, 1.5] {
            let (slope, most) = (1.0 + f64::ln(best), 1.0);
            let functions: [&dyn Fn(f64) -> f64; 3] = [
                &|share| 1.0 - 3.0 * (share - best) * (share - best),
                &|share| slope * share - entropy(share),
                &|share| -(share - best).abs(),
            ];
            for (k, function) in functions.iter().enumerate() {
                let values = Cell::new(0);
                let counted = |share: f64| {
                    values.set(values.get() + 1);
                    function(share)
                };
                let (highest, objective) = (function(best.min(most)), 5.0);
                let found = best_share(most, function(most), objective, counted);
                let few = if k < 2 { 9 } else { 12 };
                assert!(values.get() <= few, "{best}, function {k}: {} values", values.get());
                let left = (highest - found) / (objective - highest);
                assert!((0.0..2e-3).contains(&(left + 1e-12)), "{best}, function {k}: {left}");
            }
        }
    }
}
