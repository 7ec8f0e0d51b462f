//! Evaluates models with many heads: F is a sum over heads.
//!
//! ```text
//! ovr, labels   F = Σₖ ( (Σᵢ ωᵢ·ℓ(sᵢₖ, ±1))/n + λ₁‖wₖ‖₁ + ½λ₂‖wₖ‖² )        +1 where row i has k
//! softmax       F = (Σᵢ ωᵢ·(ln Σₖ e^sᵢₖ − sᵢᵧ))/n + Σₖ ( λ₁‖wₖ‖₁ + ½λ₂‖wₖ‖² )      y the class of row i
//! ```
//!
//! Without weights, a row's loss derivative depends only on whether the row has head k. So the gradient is
//! a·T + (b − a)·P. T is the sum of all rows, and P is the sum of the rows with k. The derivatives of rows
//! without and with k are a and b.

use super::{NullModel, null_head};
use crate::data::rows::{RowsRef, SideBySide};
use crate::problem::heads::{Head, HeadKind};
use crate::problem::loss::Loss;
use crate::problem::penalty::WeightedPenalty;
use crate::problem::source::Pooled;
use crate::problem::task::{HeadTargets, Sets, Task};
use crate::util::number::larger_or_nan;
use rayon::prelude::*;
use std::sync::OnceLock;

/// Number of heads that are evaluated together, with their weights side by side.
const WIDE: usize = 8;
type Wide = [f64; WIDE];
/// Number of rows whose scores are computed before their derivatives.
const BLOCK: usize = 128;

/// Input of a multi-head evaluation: rows, the heads of each row, and the loss.
#[derive(Clone, Copy)]
pub struct HeadsEvaluation<'a> {
    /// The rows.
    pub rows: RowsRef<'a>,
    /// Row weights; `None` if all are one.
    pub weights: Option<&'a [f64]>,
    /// The heads of each row.
    pub sets: &'a Sets,
    /// How the heads are combined.
    pub kind: HeadKind,
    /// The loss per head. Unused for softmax.
    pub loss: &'a dyn Loss,
    /// The penalty of each head.
    pub weighted_penalty: WeightedPenalty<'a>,
    /// Whether heads have a bias.
    pub with_bias: bool,
    /// Maximum number of groups of eight heads in memory at once; see [`HeadsEvaluation::bytes`].
    pub at_once: usize,
}

/// Evaluates each head: its part of F and its distance from optimality, as a [`super::Evaluation`].
pub fn of_heads(what: &HeadsEvaluation, heads: &[Head]) -> Vec<super::Evaluation> {
    let log_sums = (what.kind == HeadKind::Softmax).then(|| what.log_sums(heads));
    let (total, shares) = what.total_and_shares(heads.len());
    let independent = what.kind != HeadKind::Softmax;
    let rows_of = OnceLock::new();
    let (groups, at_once) = (heads.len().div_ceil(WIDE), what.at_once.max(1));
    let mut evaluations = Vec::with_capacity(heads.len());
    for start in (0..groups).step_by(at_once) {
        let some = (start..(start + at_once).min(groups)).into_par_iter().map(|group| {
            let first = group * WIDE;
            let some = &heads[first..heads.len().min(first + WIDE)];
            let group = Group {
                what,
                first,
                heads: some,
                log_sums: log_sums.as_deref(),
                total: &total,
                shares: &shares,
            };
            match independent && some.iter().all(|head| head.weights.is_empty()) {
                true => group.evaluations_of_biases(rows_of.get_or_init(|| what.sets.rows_of(heads.len()))),
                false => group.evaluations(),
            }
        });
        evaluations.extend(some.collect::<Vec<_>>().into_iter().flatten());
    }
    evaluations
}

impl<'a> HeadsEvaluation<'a> {
    /// The evaluation of the heads of a task; `None` for a task of one model.
    pub(crate) fn of(
        task: &'a Task,
        weighted_penalty: WeightedPenalty<'a>,
        with_bias: bool,
        at_once: usize,
    ) -> Option<HeadsEvaluation<'a>> {
        let HeadTargets { kind, sets, .. } = task.targets.heads()?;
        let (rows, weights, loss) = (task.data.rows.borrow(), task.weights.as_deref(), &*task.loss);
        Some(HeadsEvaluation { rows, weights, sets, kind, loss, weighted_penalty, with_bias, at_once })
    }

    /// Memory of a group of heads in bytes: weights and two sums per column.
    pub fn bytes(columns: usize) -> usize {
        3 * columns * size_of::<Wide>()
    }

    /// The weighted sum of all rows, and the weighted share of the rows of each head.
    fn total_and_shares(&self, heads: usize) -> (Vec<f64>, Vec<f64>) {
        let (rows, mut total) = (self.sets.len(), vec![0.0; self.rows.columns()]);
        for i in 0..rows {
            let weight = self.weight(i);
            self.rows.for_each(i, |j, x| total[j] += weight * x);
        }
        (total, self.sets.weights(heads, |i| self.weight(i) / rows as f64))
    }

    /// The best head without weights, for this share of the rows.
    fn null_head(&self, share: f64) -> Head {
        match self.kind {
            HeadKind::Softmax if self.with_bias && share > 0.0 => {
                Head { bias: share.ln(), ..Head::default() }
            }
            HeadKind::Softmax => Head::default(),
            HeadKind::Ovr | HeadKind::Labels => null_head(share, 1.0, self.loss, self.with_bias),
        }
    }

    /// The penalty of a head.
    pub(super) fn penalty_of(&self, head: &Head) -> f64 {
        match self.weighted_penalty.factors {
            None => self.weighted_penalty.penalty.value(&head.weights),
            Some(_) => {
                let one = |(j, w): (&u32, &f64)| self.weighted_penalty.at(*j as usize).value(&[*w]);
                head.columns.iter().zip(&head.weights).map(one).sum()
            }
        }
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    /// ln Σ e^s per row, one group of heads after another: the largest score so far, and the sum of e^(s −
    /// largest).
    fn log_sums(&self, heads: &[Head]) -> Vec<f64> {
        let mut so_far = vec![(f64::NEG_INFINITY, 0.0); self.sets.len()];
        for some in heads.chunks(WIDE) {
            let weights = side_by_side(some, self.rows.columns());
            so_far.par_chunks_mut(BLOCK).enumerate().for_each(|(block, so_far)| {
                let scores = &mut [[0.0; WIDE]; BLOCK][..so_far.len()];
                scores_of(self.rows, block * BLOCK, &weights, some, scores);
                for ((most, sum), scores) in so_far.iter_mut().zip(scores) {
                    for &score in &scores[..some.len()] {
                        let new = most.max(score);
                        *sum = *sum * (*most - new).exp() + (score - new).exp();
                        *most = new;
                    }
                }
            });
        }
        so_far.into_iter().map(|(most, sum)| most + sum.ln()).collect()
    }
}

/// The null model of many heads: their best biases, the largest gradient, and the units of a penalty.
pub(crate) struct NullHeads {
    /// A bias per head, and no weights.
    pub heads: Vec<Head>,
    /// λ₁_max, the smallest λ₁ at which all weights are zero.
    pub l1_max: f64,
    /// The sum of all squared components of the gradient.
    pub squares: f64,
    /// The objective of the null model.
    pub baseline: f64,
}

impl NullHeads {
    /// Evaluates the null model of so many heads. A class without rows keeps the bias 0.
    pub fn of(what: &HeadsEvaluation, count: usize) -> NullHeads {
        let none = vec![Head::default(); count];
        let (total, shares) = what.total_and_shares(count);
        let rows = what.sets.rows_of(count);
        let n = what.sets.len() as f64;
        let group = Group { what, first: 0, heads: &none, log_sums: None, total: &total, shares: &shares };
        let one = |k: usize| {
            let (baseline, others, these) = group.null(k);
            let mut own = vec![0.0; total.len()];
            for &i in &rows[k] {
                let weight = what.weight(i as usize);
                what.rows.for_each(i as usize, |j, x| own[j] += weight * x);
            }
            let gradient =
                own.iter().zip(&total).map(|(own, all)| (others * all + (these - others) * own) / n);
            let (most, squares) = gradient
                .fold((0.0, 0.0), |(most, squares), g: f64| (larger_or_nan(most, g.abs()), squares + g * g));
            (most, squares, baseline)
        };
        let all: Vec<(f64, f64, f64)> = (0..count).into_par_iter().map(one).collect();
        NullHeads {
            heads: shares.iter().map(|&share| what.null_head(share)).collect(),
            l1_max: all.iter().map(|head| head.0).fold(0.0, larger_or_nan),
            squares: all.iter().map(|head| head.1).sum(),
            baseline: all.iter().map(|head| head.2).sum(),
        }
    }
}

/// The weights of up to N heads, interleaved by column.
pub(crate) fn side_by_side<const N: usize>(heads: &[Head], columns: usize) -> SideBySide<N> {
    let mut weights = SideBySide::zeros(columns);
    for (l, head) in heads.iter().enumerate() {
        head.columns.iter().zip(&head.weights).for_each(|(&column, &w)| weights[column as usize][l] = w);
    }
    weights
}

/// The scores of the rows from `first` on.
fn scores_of(rows: RowsRef, first: usize, weights: &[Wide], heads: &[Head], scores: &mut [Wide]) {
    rows.gather(first, weights, scores);
    for scores in scores {
        heads.iter().zip(scores).for_each(|(head, score)| *score += head.bias);
    }
}

struct Group<'a> {
    what: &'a HeadsEvaluation<'a>,
    first: usize,
    heads: &'a [Head],
    log_sums: Option<&'a [f64]>,
    total: &'a [f64],
    shares: &'a [f64], // weighted share of rows, for every head
}

impl Group<'_> {
    fn evaluations(&self) -> Vec<super::Evaluation> {
        let (what, count) = (self.what, self.heads.len());
        let weights = side_by_side(self.heads, what.rows.columns());
        let [mut gradient, mut own] = [(); 2].map(|()| SideBySide::zeros(weights.len()));
        let (mut losses, mut slope_sums) = ([0.0; WIDE], [0.0; WIDE]);
        for first in (0..what.sets.len()).step_by(BLOCK) {
            let rows = first..(first + BLOCK).min(what.sets.len());
            let block = &mut [[0.0; WIDE]; BLOCK][..rows.len()];
            scores_of(what.rows, first, &weights, self.heads, block);
            for (i, numbers) in rows.zip(&mut *block) {
                let (scores, weight) = (std::mem::take(numbers), what.weight(i));
                let mut has = [false; WIDE];
                for &k in what.sets.of(i) {
                    let l = (k as usize).wrapping_sub(self.first);
                    if l < count {
                        has[l] = true;
                    }
                }
                for l in 0..count {
                    let (loss, slope) = self.loss(i, scores[l], has[l]);
                    losses[l] += weight * loss;
                    numbers[l] = weight * slope;
                    slope_sums[l] += numbers[l];
                }
                if has != [false; WIDE] {
                    what.rows.scatter(i, &[has.map(|has| if has { weight } else { 0.0 })], &mut own);
                }
            }
            what.rows.scatter(first, block, &mut gradient);
        }
        (0..count).map(|l| self.evaluation(l, &gradient, &own, losses[l], slope_sums[l])).collect()
    }

    /// Evaluates heads without weights from the rows of the heads alone. An interrupted run may have 10⁵ such heads.
    fn evaluations_of_biases(&self, rows_of: &[Vec<u32>]) -> Vec<super::Evaluation> {
        let (what, count, n) = (self.what, self.heads.len(), self.what.sets.len() as f64);
        let mut own = vec![[0.0; WIDE]; what.rows.columns()];
        let [mut others, mut these, mut losses, mut slope_sums] = [[0.0; WIDE]; 4];
        for l in 0..count {
            for &i in &rows_of[self.first + l] {
                let weight = what.weight(i as usize);
                what.rows.for_each(i as usize, |j, x| own[j][l] += weight * x);
            }
            let (bias, share) = (self.heads[l].bias, self.shares[self.first + l]);
            let [without, with] = [-1.0, 1.0].map(|y| (what.loss.value(bias, y), what.loss.slope(bias, y)));
            (others[l], these[l]) = (without.1, with.1);
            losses[l] = n * ((1.0 - share) * without.0 + share * with.0);
            slope_sums[l] = n * ((1.0 - share) * without.1 + share * with.1);
        }
        let of_column = |(own, total): (&Wide, &f64)| {
            let mut gradient = [0.0; WIDE];
            (0..count).for_each(|l| gradient[l] = others[l] * total + (these[l] - others[l]) * own[l]);
            gradient
        };
        let gradient: Vec<Wide> = own.iter().zip(self.total).map(of_column).collect();
        (0..count).map(|l| self.evaluation(l, &gradient, &own, losses[l], slope_sums[l])).collect()
    }

    /// Loss and loss derivative of a row for a head.
    fn loss(&self, i: usize, score: f64, has: bool) -> (f64, f64) {
        match self.log_sums {
            None => {
                let target = if has { 1.0 } else { -1.0 };
                (self.what.loss.value(score, target), self.what.loss.slope(score, target))
            }
            Some(sums) if has => (sums[i] - score, (score - sums[i]).exp() - 1.0),
            Some(sums) => (0.0, (score - sums[i]).exp()),
        }
    }

    fn evaluation(
        &self,
        l: usize,
        gradient: &[Wide],
        own: &[Wide],
        losses: f64,
        slopes: f64,
    ) -> super::Evaluation {
        let (n, penalty, head) = (self.what.sets.len() as f64, self.what.weighted_penalty, &self.heads[l]);
        let distance = |j: usize, w: f64| penalty.violation(j, w, gradient[j][l] / n);
        let mut weights =
            head.columns.iter().map(|&j| j as usize).zip(head.weights.iter().copied()).peekable();
        let violation = (0..gradient.len()).map(|j| match weights.next_if(|(column, _)| *column == j) {
            Some((_, w)) => distance(j, w),
            None => distance(j, 0.0),
        });
        let of_bias = if self.what.with_bias { (slopes / n).abs() } else { 0.0 };
        let (baseline, others, these) = self.null(l);
        let without = |j: usize| (others * self.total[j] + (these - others) * own[j][l]) / n;
        super::Evaluation {
            objective: super::Objective { loss: losses / n, penalty: self.what.penalty_of(head) },
            violation: larger_or_nan(greatest(violation), of_bias),
            l1_max: greatest((0..own.len()).map(|j| without(j).abs())),
            baseline,
        }
    }

    /// The null model of a head: its part of F, and the loss derivatives of rows without and with the head.
    fn null(&self, l: usize) -> (f64, f64, f64) {
        let (share, heads) = (self.shares[self.first + l], self.shares.len() as f64);
        if self.what.kind == HeadKind::Softmax {
            let p = if self.what.with_bias { share } else { 1.0 / heads };
            return (if share > 0.0 { -share * p.ln() } else { 0.0 }, p, p - 1.0);
        }
        let mut pooled = vec![Pooled::new(-1.0, 1.0 - share), Pooled::new(1.0, share)];
        pooled.retain(|rows| rows.weight > 0.0);
        let null = NullModel::new(&pooled, self.what.loss, self.what.with_bias);
        (null.baseline, null.slope(self.what.loss, -1.0, 0.0), null.slope(self.what.loss, 1.0, 0.0))
    }
}

/// The largest number, or NaN if any is NaN, so that a diverged run is visible.
fn greatest(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |a: f64, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}
