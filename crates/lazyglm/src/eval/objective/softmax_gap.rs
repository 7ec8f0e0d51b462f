//! The duality gap of softmax regression: a certificate of how good weights and biases are.
//!
//! ```text
//! F(W, b) = (Σᵢ ωᵢ(ln Σₖ e^sᵢₖ − sᵢᵧ))/n + Σₖ (λ₁‖wₖ‖₁ + ½λ₂‖wₖ‖²)        sᵢₖ = wₖ·xᵢ + bₖ, y the class of row i
//! D(P) = −(Σᵢ ωᵢ Σₖ pᵢₖ ln pᵢₖ)/n − Σⱼₖ (|gⱼₖ| − λ₁)₊²/(2λ₂)              g = Xᵀ diag(ω)(P − Y)/n
//! F(W, b) ≥ F* ≥ D(P)      for any P whose rows are probabilities, with Σᵢ ωᵢ(pᵢₖ − yᵢₖ) = 0 for all k if there
//!                          are biases, and with |gⱼₖ| ≤ λ₁ for all j and k if λ₂ = 0
//! ```
//!
//! Here Y has a one at the class of each row. The probabilities at the scores of (W, b) are a good P after two
//! corrections. Both keep every row a distribution:
//!
//! - *Redistribution*, with biases: a class that has too much probability gives up the same share of it in every
//!   row. What a row loses goes to the classes that have too little, in proportion to what they lack. The sums
//!   over rows are then exact, so no system for the biases has to be solved.
//! - *Shrinking* towards Y: P ← Y + c(P − Y) multiplies g by c and keeps the sums over rows. It meets the box
//!   |gⱼₖ| ≤ λ₁ for λ₂ = 0. D(Y) = 0 always holds as a bound.
//!
//! The certificate takes two passes over the rows: one for the scores, and one for both gradients.

use super::gap::best_share;
use super::heads::side_by_side;
use super::{CHUNK, Certificate, Worst, larger, sum};
use crate::data::rows::{RowsRef, SideBySide};
use crate::problem::heads::Head;
use crate::problem::penalty::WeightedPenalty;
use rayon::prelude::*;

/// Number of classes whose gradients are summed together.
const WIDE: usize = 8;
type Wide = [f64; WIDE];

/// A softmax regression problem: rows, the class of each row, and the penalty of all classes.
#[derive(Clone, Copy)]
pub struct SoftmaxProblem<'a> {
    /// The rows.
    pub rows: RowsRef<'a>,
    /// The class of each row, below the number of heads.
    pub classes: &'a [u32],
    /// Row weights with mean one; `None` if all are one.
    pub weights: Option<&'a [f64]>,
    /// The penalty, which is the same for each class.
    pub weighted_penalty: WeightedPenalty<'a>,
    /// Whether each class has a bias.
    pub bias: bool,
}

/// Computes the certificate of a softmax model with one head per class.
///
/// ```
/// use lazyglm::{ElasticNet, Head, Rows, WeightedPenalty, objective};
/// let mut rows = Rows::new();
/// (0..3).for_each(|class| rows.push(&[(class, 1.0)]).unwrap());
/// let weighted_penalty = WeightedPenalty::of(ElasticNet::new(1.0, 0.0).unwrap());
/// let problem = objective::SoftmaxProblem { rows: rows.borrow(), classes: &[0, 1, 2], weights: None, weighted_penalty, bias: true };
/// let proof = objective::certify_softmax(&problem, &vec![Head::default(); 3]);
/// assert!(proof.relative_gap.unwrap() < 1e-15, "at this λ₁, all weights are zero");
/// assert!((proof.objective - 3f64.ln()).abs() < 1e-15);
/// ```
pub fn certify_softmax(problem: &SoftmaxProblem, heads: &[Head]) -> Certificate {
    let (n, penalty) = (problem.classes.len() as f64, &problem.weighted_penalty);
    let terms = Terms::of(problem, heads);
    let dual = terms.redistributed(problem);
    let [gradient, dual_gradient] = [&terms.residuals, &dual].map(|of| terms.gradient(problem, of));
    let (kkt, worst) = terms.violation(problem, heads, &gradient);
    let value_of = |head: &Head| {
        let one = |(&j, &w): (&u32, &f64)| penalty.at(j as usize).value(&[w]);
        head.columns.iter().zip(&head.weights).map(one).sum::<f64>()
    };
    let objective = terms.loss / n + heads.iter().map(value_of).sum::<f64>();
    let certificate = Certificate { objective, dual: None, relative_gap: None, kkt, worst };
    if penalty.penalty.is_none() || problem.classes.is_empty() {
        return certificate;
    }
    let dual = Dual { problem, count: heads.len(), residuals: &dual, gradient: &dual_gradient };
    certificate.with_bound(dual.best(objective), 1.0)
}

impl SoftmaxProblem<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }
}

/// Quantities at the scores of (W, b). Rows of `residuals` have one number per class: p − y.
struct Terms {
    count: usize,
    loss: f64,
    residuals: Vec<f64>,
}

impl Terms {
    fn of(problem: &SoftmaxProblem, heads: &[Head]) -> Terms {
        let (count, n) = (heads.len(), problem.classes.len());
        let groups: Vec<SideBySide<WIDE>> =
            heads.chunks(WIDE).map(|some| side_by_side(some, problem.rows.columns())).collect();
        let mut residuals = vec![0.0; n * count];
        let losses: Vec<f64> = residuals
            .par_chunks_mut(CHUNK * count.max(1))
            .enumerate()
            .map(|(chunk, residuals)| {
                let mut loss = 0.0;
                for (at, scores) in residuals.chunks_mut(count).enumerate() {
                    let i = chunk * CHUNK + at;
                    for (group, some) in groups.iter().zip(scores.chunks_mut(WIDE)) {
                        let mut sums = [[0.0; WIDE]];
                        problem.rows.gather(i, group, &mut sums);
                        some.copy_from_slice(&sums[0][..some.len()]);
                    }
                    if problem.bias {
                        scores.iter_mut().zip(heads).for_each(|(score, head)| *score += head.bias);
                    }
                    loss += problem.weight(i) * to_residuals(scores, problem.classes[i] as usize);
                }
                loss
            })
            .collect();
        Terms { count, loss: losses.into_iter().sum(), residuals }
    }

    /// The residuals of probabilities whose weighted sums over rows are those of the classes.
    fn redistributed(&self, problem: &SoftmaxProblem) -> Vec<f64> {
        let count = self.count;
        if !problem.bias || count == 0 {
            return self.residuals.clone();
        }
        let over = column_sums(problem, &self.residuals, count, |r, _| r);
        let all = column_sums(problem, &self.residuals, count, |r, own| if own { 1.0 + r } else { r });
        // Rounding must not take more than all of it, and a class with nothing has nothing to give.
        let taken: Vec<f64> =
            over.iter().zip(&all).map(|(e, t)| if *e > 0.0 { (e / t).min(1.0) } else { 0.0 }).collect();
        let lack: f64 = over.iter().map(|e| (-e).max(0.0)).sum();
        if lack == 0.0 {
            return self.residuals.clone();
        }
        let shares: Vec<f64> = over.iter().map(|e| (-e).max(0.0) / lack).collect();
        let mut moved = self.residuals.clone();
        moved.par_chunks_mut(count).enumerate().for_each(|(i, row)| {
            let own = problem.classes[i] as usize;
            let mut lost = 0.0;
            for (k, r) in row.iter_mut().enumerate() {
                let by = taken[k] * if k == own { 1.0 + *r } else { *r };
                *r -= by;
                lost += by;
            }
            row.iter_mut().zip(&shares).for_each(|(r, share)| *r += share * lost);
        });
        moved
    }

    /// The gradient Xᵀ diag(ω)R/n, eight classes at a time.
    fn gradient(&self, problem: &SoftmaxProblem, residuals: &[f64]) -> Vec<SideBySide<WIDE>> {
        let (count, n) = (self.count, problem.classes.len() as f64);
        let groups = (0..count.div_ceil(WIDE)).into_par_iter().map(|group| {
            let mut sums = SideBySide::zeros(problem.rows.columns());
            for (i, row) in residuals.chunks(count).enumerate() {
                let (mut slopes, weight) = ([0.0; WIDE], problem.weight(i) / n);
                row.iter().skip(group * WIDE).zip(&mut slopes).for_each(|(r, slope)| *slope = weight * r);
                problem.rows.scatter(i, &[slopes], &mut sums);
            }
            sums
        });
        groups.collect()
    }

    fn violation(
        &self,
        problem: &SoftmaxProblem,
        heads: &[Head],
        gradient: &[SideBySide<WIDE>],
    ) -> (f64, Worst) {
        let n = problem.classes.len() as f64;
        let mut worst = (0.0, Worst::Nowhere);
        for (k, head) in heads.iter().enumerate() {
            let mut weights = head.columns.iter().zip(&head.weights).peekable();
            for (j, g) in gradient[k / WIDE].iter().enumerate() {
                let w = weights.next_if(|(column, _)| **column as usize == j).map_or(0.0, |(_, w)| *w);
                let by = problem.weighted_penalty.violation(j, w, g[k % WIDE]);
                worst = larger(worst, (by, Worst::Column(j)));
            }
        }
        if problem.bias && self.count > 0 {
            let sums = column_sums(problem, &self.residuals, self.count, |r, _| r);
            worst = sums.iter().fold(worst, |worst, sum| larger(worst, ((sum / n).abs(), Worst::Bias)));
        }
        worst
    }
}

/// Turns the scores of a row into p − y, and returns the loss ln Σ e^s − s_y.
///
/// The residual of the own class is minus the sum of the others, which is exact where p is close to one.
fn to_residuals(scores: &mut [f64], own: usize) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let score = scores[own] - most;
    scores.iter_mut().for_each(|s| *s = (*s - most).exp());
    let others: f64 = scores.iter().enumerate().map(|(k, e)| if k == own { 0.0 } else { *e }).sum();
    let total = others + scores[own];
    scores.iter_mut().for_each(|e| *e /= total);
    scores[own] = -others / total;
    // Where the own class is nearly certain, ln(total) − score loses all digits.
    if score == 0.0 { others.ln_1p() } else { total.ln() - score }
}

/// The weighted sums over rows of a function of the residuals and of whether the class is that of the row.
fn column_sums(
    problem: &SoftmaxProblem,
    residuals: &[f64],
    count: usize,
    term: impl Fn(f64, bool) -> f64 + Sync,
) -> Vec<f64> {
    let chunks: Vec<Vec<f64>> = residuals
        .par_chunks(CHUNK * count)
        .enumerate()
        .map(|(chunk, rows)| {
            let mut sums = vec![0.0; count];
            for (at, row) in rows.chunks(count).enumerate() {
                let (own, weight) =
                    (problem.classes[chunk * CHUNK + at] as usize, problem.weight(chunk * CHUNK + at));
                let terms = row.iter().enumerate().map(|(k, r)| weight * term(*r, k == own));
                sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
            sums
        })
        .collect();
    (0..count).map(|k| chunks.iter().map(|sums| sums[k]).sum()).collect()
}

/// The dual bound of corrected probabilities.
struct Dual<'a> {
    problem: &'a SoftmaxProblem<'a>,
    count: usize,
    residuals: &'a [f64],
    gradient: &'a [SideBySide<WIDE>],
}

impl Dual<'_> {
    /// D of the probabilities Y + c(P − Y), with c = `share`.
    fn at(&self, share: f64) -> f64 {
        let of_rows = sum(self.problem.classes.len(), |i| {
            let (own, row) =
                (self.problem.classes[i] as usize, &self.residuals[i * self.count..][..self.count]);
            let entropy = |(k, r): (usize, &f64)| match share * r {
                r if k == own => -(1.0 + r) * r.ln_1p(),
                p if p <= 0.0 => -0.0 * p, // a zero, or NaN
                p => -p * p.ln(),
            };
            // A residual of −1 is a probability of zero, and 0·ln 0 = 0.
            let terms = row.iter().enumerate().filter(|(k, r)| *k != own || share * **r > -1.0 || r.is_nan());
            self.problem.weight(i) * terms.map(entropy).sum::<f64>()
        });
        let penalty = &self.problem.weighted_penalty;
        let of_weights = |group: &SideBySide<WIDE>| {
            sum(group.len(), |j| group[j].iter().map(|g| penalty.one(j).conjugate(share * g)).sum::<f64>())
        };
        of_rows / self.problem.classes.len() as f64 - self.gradient.iter().map(of_weights).sum::<f64>()
    }

    /// The largest share at which every weight meets its box constraint, if it has one.
    fn most(&self) -> f64 {
        let penalty = &self.problem.weighted_penalty;
        let one = |(j, g): (usize, &Wide)| g.iter().map(|g| penalty.one(j).share(*g)).fold(1.0, f64::min);
        self.gradient.iter().flat_map(|group| group.iter().enumerate()).map(one).fold(1.0, f64::min)
    }

    fn best(&self, objective: f64) -> f64 {
        let most = self.most();
        best_share(most, self.at(most), objective, |share| self.at(share))
    }
}
