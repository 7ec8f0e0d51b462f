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
    let nulls = Nulls { what, rows: what.sets.len(), total: &total, shares: &shares };
    let independent = what.kind != HeadKind::Softmax;
    let rows_of = OnceLock::new();
    let (groups, at_once) = (heads.len().div_ceil(WIDE), what.at_once.max(1));
    let mut evaluations = Vec::with_capacity(heads.len());
    for start in (0..groups).step_by(at_once) {
        let some = (start..(start + at_once).min(groups)).into_par_iter().map(|group| {
            let mut group = Group::new(heads, group, what.rows.columns());
            match independent && group.heads.iter().all(|head| head.weights.is_empty()) {
                true => group.see_biases(&nulls, rows_of.get_or_init(|| what.sets.rows_of(heads.len()))),
                false => group.see(what, log_sums.as_deref()),
            }
            group.evaluations(&nulls)
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
        self.add_to(&mut total);
        (total, self.sets.weights(heads, |i| self.weight(i) / rows as f64))
    }

    /// Adds the weighted sum of all rows.
    pub(super) fn add_to(&self, total: &mut [f64]) {
        for i in 0..self.sets.len() {
            let weight = self.weight(i);
            self.rows.for_each(i, |j, x| total[j] += weight * x);
        }
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

    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    /// Loss and loss derivative of a row for a head, given ln Σ e^s of a softmax.
    fn loss_of(&self, log_sum: Option<f64>, score: f64, has: bool) -> (f64, f64) {
        match log_sum {
            None => {
                let target = if has { 1.0 } else { -1.0 };
                (self.loss.value(score, target), self.loss.slope(score, target))
            }
            Some(sum) if has => (sum - score, (score - sum).exp() - 1.0),
            Some(sum) => (0.0, (score - sum).exp()),
        }
    }

    /// ln Σ e^s per row, one group of heads after another: the largest score so far, and the sum of e^(s −
    /// largest).
    pub(super) fn log_sums(&self, heads: &[Head]) -> Vec<f64> {
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
        let (total, shares) = what.total_and_shares(count);
        let rows = what.sets.rows_of(count);
        let nulls = Nulls { what, rows: what.sets.len(), total: &total, shares: &shares };
        let one = |k: usize| {
            let null = nulls.of(k);
            let mut own = vec![0.0; total.len()];
            for &i in &rows[k] {
                let weight = what.weight(i as usize);
                what.rows.for_each(i as usize, |j, x| own[j] += weight * x);
            }
            let gradient = (0..own.len()).map(|j| nulls.gradient(null, j, own[j]));
            let (most, squares) = gradient
                .fold((0.0, 0.0), |(most, squares), g: f64| (larger_or_nan(most, g.abs()), squares + g * g));
            (most, squares, null.0)
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
pub(super) fn scores_of(rows: RowsRef, first: usize, weights: &[Wide], heads: &[Head], scores: &mut [Wide]) {
    rows.gather(first, weights, scores);
    for scores in scores {
        heads.iter().zip(scores).for_each(|(head, score)| *score += head.bias);
    }
}

/// The null models of all heads on all rows.
pub(super) struct Nulls<'a> {
    pub what: &'a HeadsEvaluation<'a>,
    pub rows: usize,
    pub total: &'a [f64],  // the weighted sum of all rows
    pub shares: &'a [f64], // weighted share of rows, for every head
}

impl Nulls<'_> {
    /// The null model of a head: its part of F, and the loss derivatives of rows without and with the head.
    fn of(&self, k: usize) -> (f64, f64, f64) {
        let (what, share, heads) = (self.what, self.shares[k], self.shares.len() as f64);
        if what.kind == HeadKind::Softmax {
            let p = if what.with_bias { share } else { 1.0 / heads };
            return (if share > 0.0 { -share * p.ln() } else { 0.0 }, p, p - 1.0);
        }
        let mut pooled = vec![Pooled::new(-1.0, 1.0 - share), Pooled::new(1.0, share)];
        pooled.retain(|rows| rows.weight > 0.0);
        let null = NullModel::new(&pooled, what.loss, what.with_bias);
        (null.baseline, null.slope(what.loss, -1.0, 0.0), null.slope(what.loss, 1.0, 0.0))
    }

    /// A component of the gradient of a null model, given the weighted sum of the rows with the head.
    fn gradient(&self, (_, others, these): (f64, f64, f64), j: usize, own: f64) -> f64 {
        (others * self.total[j] + (these - others) * own) / self.rows as f64
    }
}

/// Sums over rows for up to eight heads.
pub(super) struct Group<'a> {
    first: usize,
    pub heads: &'a [Head],
    pub weights: SideBySide<WIDE>,
    pub gradient: SideBySide<WIDE>,
    pub own: SideBySide<WIDE>, // of the rows with the head
    losses: Wide,
    pub slopes: Wide,
}

impl<'a> Group<'a> {
    /// The group with this number, before any row.
    pub fn new(heads: &'a [Head], group: usize, columns: usize) -> Group<'a> {
        let first = group * WIDE;
        let heads = &heads[first..heads.len().min(first + WIDE)];
        let weights = side_by_side(heads, columns);
        let [gradient, own] = [(); 2].map(|()| SideBySide::zeros(columns));
        Group { first, heads, weights, gradient, own, losses: [0.0; WIDE], slopes: [0.0; WIDE] }
    }

    /// Adds the rows of `what`, whose ln Σ e^s are `log_sums` if heads are those of a softmax.
    pub fn see(&mut self, what: &HeadsEvaluation, log_sums: Option<&[f64]>) {
        let count = self.heads.len();
        for first in (0..what.sets.len()).step_by(BLOCK) {
            let rows = first..(first + BLOCK).min(what.sets.len());
            let block = &mut [[0.0; WIDE]; BLOCK][..rows.len()];
            scores_of(what.rows, first, &self.weights, self.heads, block);
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
                    let (loss, slope) = what.loss_of(log_sums.map(|sums| sums[i]), scores[l], has[l]);
                    self.losses[l] += weight * loss;
                    numbers[l] = weight * slope;
                    self.slopes[l] += numbers[l];
                }
                if has != [false; WIDE] {
                    what.rows.scatter(i, &[has.map(|has| if has { weight } else { 0.0 })], &mut self.own);
                }
            }
            what.rows.scatter(first, block, &mut self.gradient);
        }
    }

    /// Adds all rows, for heads without weights, from the rows of the heads alone. An interrupted run may have 10⁵ such heads.
    fn see_biases(&mut self, nulls: &Nulls, rows_of: &[Vec<u32>]) {
        let (what, n) = (nulls.what, nulls.rows as f64);
        let [mut others, mut these] = [[0.0; WIDE]; 2];
        for l in 0..self.heads.len() {
            for &i in &rows_of[self.first + l] {
                let weight = what.weight(i as usize);
                what.rows.for_each(i as usize, |j, x| self.own[j][l] += weight * x);
            }
            let (bias, share) = (self.heads[l].bias, nulls.shares[self.first + l]);
            let [without, with] = [-1.0, 1.0].map(|y| (what.loss.value(bias, y), what.loss.slope(bias, y)));
            (others[l], these[l]) = (without.1, with.1);
            self.losses[l] = n * ((1.0 - share) * without.0 + share * with.0);
            self.slopes[l] = n * ((1.0 - share) * without.1 + share * with.1);
        }
        for ((gradient, own), total) in self.gradient.iter_mut().zip(self.own.iter()).zip(nulls.total) {
            for l in 0..self.heads.len() {
                gradient[l] = others[l] * total + (these[l] - others[l]) * own[l];
            }
        }
    }

    /// The evaluations of the heads, after all rows.
    pub fn evaluations(&self, nulls: &Nulls) -> Vec<super::Evaluation> {
        (0..self.heads.len()).map(|l| self.evaluation(l, nulls)).collect()
    }

    fn evaluation(&self, l: usize, nulls: &Nulls) -> super::Evaluation {
        let (n, what, head) = (nulls.rows as f64, nulls.what, &self.heads[l]);
        let distance = |j: usize, w: f64| what.weighted_penalty.violation(j, w, self.gradient[j][l] / n);
        let mut weights =
            head.columns.iter().map(|&j| j as usize).zip(head.weights.iter().copied()).peekable();
        let violation = (0..self.gradient.len()).map(|j| match weights.next_if(|(column, _)| *column == j) {
            Some((_, w)) => distance(j, w),
            None => distance(j, 0.0),
        });
        let of_bias = if what.with_bias { (self.slopes[l] / n).abs() } else { 0.0 };
        let null = nulls.of(self.first + l);
        super::Evaluation {
            objective: super::Objective { loss: self.losses[l] / n, penalty: what.penalty_of(head) },
            violation: larger_or_nan(greatest(violation), of_bias),
            l1_max: greatest((0..self.own.len()).map(|j| nulls.gradient(null, j, self.own[j][l]).abs())),
            baseline: null.0,
        }
    }
}

/// The largest number, or NaN if any is NaN, so that a diverged run is visible.
fn greatest(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |a: f64, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}
