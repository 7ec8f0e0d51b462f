//! Loss derivatives as a point of the dual problem, and better points near them.
//!
//! ```text
//! D(u) ≤ F*      for u in the domain of ℓ*, Σωu = 0 if there is a bias, and |gⱼ| ≤ nλ₁, g = Xᵀωu, for each j without λ₂ and bounds
//! ωu ← ωu + D(Xδ + β)      (δ, β) = argmin ½Σ D(Xδ + β)² + Σ gⱼδⱼ + nrⱼ(wⱼ + δⱼ) + βΣωu      over the columns that cost D most
//! ```
//!
//! One factor for all derivatives satisfies all constraints, and costs D first order in the largest violation. Near a minimum, a few columns
//! violate theirs far more than all others, or cost D most by r*(−gⱼ) if λ₂ is small. A step of Newton's method on the weights of these columns
//! alone moves the derivatives to where their constraints hold. It costs second order in their violations.

mod few_columns;

use super::loss::Loss;
use super::penalty::one::OneWeight;
use super::penalty::{ElasticNet, WeightedPenalty};
use crate::data::rows::Examples;
pub(crate) use few_columns::FewColumns;
use few_columns::{Own, moves_to_minimum};
use rayon::prelude::*;
use std::collections::HashSet;

/// Maximum number of times that columns are added,
const ROUNDS: usize = 3;
/// so many each time,
const COLUMNS: usize = 128;
/// while the gap falls to this share of the last one.
const WORTH: f64 = 0.5;
/// Share of the tolerance up to which a violation does not count.
const LITTLE: f64 = 0.1;
/// Maximum cost of a matrix of columns, in passes over all rows. Fewer columns are added instead.
const PASSES: usize = 16;
/// Derivatives that sum to this share of their magnitudes are balanced: it is their rounding error.
const BALANCED: f64 = 1e-13;
/// Maximum number of shifts that balance them.
const SHIFTS: usize = 4;
/// Number of rows whose derivatives one thread looks at.
const CHUNK: usize = 1024;

/// The dual problem around a point of F.
pub(crate) struct DualPoint<'a> {
    pub examples: Examples<'a>,
    pub loss: &'a dyn Loss,
    pub weighted_penalty: WeightedPenalty<'a>,
    pub bias: bool,
    /// ωℓ′ at the point,
    pub own: &'a [f64],
    /// and D = ωℓ″.
    pub curvature: &'a [f64],
    /// The weights w of the point, and its F.
    pub weights: &'a [f64],
    pub objective: f64,
    /// Some columns by row; `None` if there is no memory for them.
    pub few: &'a dyn Fn(&[u32]) -> Option<FewColumns>,
}

impl DualPoint<'_> {
    /// Passes derivatives ωu near those of the point to `offer`, and then better ones, while the gap falls enough and is above `enough`.
    ///
    /// `gradient` computes Xᵀωu. `offer` takes ωu and Xᵀωu, and returns the relative gap. If Xᵀωu and the gap of the first derivatives
    /// are known, `known` has them, and the first offer is omitted.
    pub fn improve(
        &self,
        mut slopes: Vec<f64>,
        mut known: Option<(Vec<f64>, f64)>,
        enough: f64,
        gradient: impl Fn(&[f64]) -> Vec<f64>,
        mut offer: impl FnMut(&[f64], &[f64]) -> f64,
    ) {
        let (mut columns, mut best) = (Vec::new(), f64::INFINITY);
        for round in 0..=ROUNDS {
            let (gradient, gap) = match known.take() {
                Some(known) => known,
                None if !self.admit(&mut slopes) => return,
                None => {
                    let gradient = gradient(&slopes);
                    let gap = offer(&slopes, &gradient);
                    (gradient, gap)
                }
            };
            let pays = round < 2 || gap <= WORTH * best;
            best = gap.min(best);
            if best <= enough || !pays || round == ROUNDS || !gap.is_finite() {
                return;
            }
            if !self.approach(&mut slopes, &gradient, LITTLE * enough, &mut columns) {
                return;
            }
        }
    }

    /// Moves derivatives into the domain of ℓ*, where rows outside have their own again, and shifts them along D until they sum to zero.
    /// Returns whether they do.
    fn admit(&self, slopes: &mut [f64]) -> bool {
        let examples = self.examples;
        let one = |(i, slope): (usize, &mut f64)| {
            let weight = examples.weight(i);
            let inside =
                weight == 0.0 || self.loss.conjugate(*slope / weight, examples.targets[i]).is_finite();
            if !inside {
                *slope = self.own[i];
            }
        };
        slopes.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(one);
        let curvature: f64 = self.curvature.iter().sum();
        for _ in 0..SHIFTS {
            let (sum, size) = slopes.iter().fold((0.0, 0.0), |(sum, size), u| (sum + u, size + u.abs()));
            if !self.bias || sum.abs() <= BALANCED * size {
                return true;
            }
            let shift = -sum / curvature;
            slopes.iter_mut().zip(self.curvature).for_each(|(slope, d)| *slope += shift * d);
        }
        false
    }

    /// What column `j` costs D at a derivative of the loss, relative to F: by the factor that its constraint asks for, and by
    /// rⱼ(wⱼ) + gⱼwⱼ + rⱼ*(−gⱼ), which is zero at the minimum.
    fn cost(&self, j: usize, g: f64) -> [f64; 2] {
        let (one, w) = (self.weighted_penalty.one(j), self.weights[j]);
        let misses = match one.reply(g) {
            f64::INFINITY => 0.0,
            _ => one.penalty.value(&[w]) + g * w + one.conjugate(g),
        };
        [1.0 - one.share(g), misses / self.objective.abs()]
    }

    /// Moves derivatives to where the conditions of `columns` hold, to which it adds those that cost D most. Returns whether they moved.
    fn approach(&self, slopes: &mut [f64], gradient: &[f64], least: f64, columns: &mut Vec<u32>) -> bool {
        let n = self.examples.len() as f64;
        if self.examples.rows.nonzeros() == 0 {
            return false; // the rows are on disk
        }
        let mut worst: Vec<(f64, u32)> = Vec::new();
        for (j, g) in gradient.iter().enumerate() {
            let [factor, misses] = self.cost(j, g / n);
            if factor >= 1.0 {
                return false; // a derivative that must be zero never is, because of rounding
            }
            if factor > least || misses > least / COLUMNS as f64 {
                worst.push((factor + misses, j as u32));
            }
        }
        worst.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        columns.extend(worst.iter().take(COLUMNS).map(|(_, j)| *j));
        let mut seen = HashSet::new();
        columns.retain(|j| seen.insert(*j));
        let Some(mut chosen) = (self.few)(columns) else { return false };
        while chosen.cost() > PASSES * self.examples.rows.nonzeros() {
            columns.truncate(columns.len() / 2);
            let Some(fewer) = (self.few)(columns) else { return false };
            chosen = fewer;
        }
        let sum: f64 = slopes.iter().sum();
        let slope = columns.iter().map(|&j| gradient[j as usize]).chain([sum]).collect();
        let own = columns.iter().map(|&j| {
            let OneWeight { penalty: ElasticNet { l1, l2 }, range } = self.weighted_penalty.one(j as usize);
            let w = self.weights[j as usize];
            Own { from: w, penalty: ElasticNet { l1: n * l1, l2: n * l2 }, range }
        });
        let free = if self.bias { f64::INFINITY } else { 0.0 };
        let bias = Own { from: 0.0, penalty: ElasticNet { l1: 0.0, l2: 0.0 }, range: [-free, free] };
        let own: Vec<Own> = own.chain([bias]).collect();
        let moves = moves_to_minimum(&chosen.square(self.curvature), slope, &own);
        chosen.add(&moves, |i, along| slopes[i] += self.curvature[i] * along);
        moves.iter().any(|by| *by != 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::Rows;
    use crate::problem::loss;

    #[test]
    fn admitted_derivatives_are_in_the_domain_and_sum_to_zero() {
        let mut rows = Rows::new();
        (0..4).for_each(|j| rows.push(&[(j, 1.0)]).unwrap());
        let examples = Examples::new(rows.borrow(), &[1.0, -1.0, 1.0, -1.0], None).unwrap();
        let loss = loss::parse("logistic").unwrap();
        let near = DualPoint {
            examples,
            loss: &*loss,
            weighted_penalty: WeightedPenalty::of(ElasticNet { l1: 0.1, l2: 0.0 }),
            bias: true,
            own: &[-0.4, 0.3, -0.2, 0.3],
            curvature: &[0.24, 0.21, 0.16, 0.21],
            weights: &[0.0; 4],
            objective: 0.7,
            few: &|_| None,
        };
        let mut slopes = [-0.5, 0.2, 0.1, 0.4]; // the third is outside of (−1, 0)
        assert!(near.admit(&mut slopes));
        assert!(slopes.iter().sum::<f64>().abs() < 1e-15 && (-1.0..0.0).contains(&slopes[2]), "{slopes:?}");
        let mut free = [-0.5, 0.2, -0.1, 0.5];
        assert!(DualPoint { bias: false, ..near }.admit(&mut free) && free == [-0.5, 0.2, -0.1, 0.5]);
    }
}
