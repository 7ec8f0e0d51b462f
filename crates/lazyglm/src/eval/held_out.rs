//! Losses and metrics of trained heads on held-out rows.
//!
//! ```text
//! loss of a row     one model ℓ(s, y)      ovr, labels Σₖ ℓ(sₖ, ±1)      softmax ln Σₖ e^sₖ − sᵧ
//! ```

use crate::data::rows::RowsRef;
use crate::eval::metrics::{Metric, Tally, metrics};
use crate::problem::heads::{Head, HeadKind, Heads};
use crate::problem::task::{HeadTargets, Task};
use rayon::prelude::*;

/// Number of rows per chunk; sums over chunks do not depend on the number of threads.
const CHUNK: usize = 1024;

/// The weights of several heads, feature by feature.
pub(crate) struct HeadScorer<'a> {
    ends: Vec<usize>,
    weights: Vec<(u32, f64)>,
    heads: &'a [Head],
}

impl<'a> HeadScorer<'a> {
    /// Gathers the weights of the heads by feature.
    pub fn new(heads: &'a [Head], columns: usize) -> HeadScorer<'a> {
        let mut ends = vec![0; columns];
        heads.iter().flat_map(|head| &head.columns).for_each(|&column| ends[column as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            (sum, *end) = (sum + *end, sum); // the start, until the weights are in place
        }
        let mut weights = vec![(0, 0.0); sum];
        for (k, head) in (0..).zip(heads) {
            for (&column, &weight) in head.columns.iter().zip(&head.weights) {
                let at = &mut ends[column as usize];
                weights[*at] = (k, weight);
                *at += 1;
            }
        }
        HeadScorer { ends, weights, heads }
    }

    /// Computes the scores of row `i` by all heads.
    pub fn score(&self, rows: RowsRef, i: usize, scores: &mut [f64]) {
        scores.iter_mut().zip(self.heads).for_each(|(score, head)| *score = head.bias);
        rows.for_each(i, |j, x| {
            let first = if j == 0 { 0 } else { self.ends[j - 1] };
            self.weights[first..self.ends[j]].iter().for_each(|&(k, w)| scores[k as usize] += w * x);
        });
    }
}

/// The loss of each row, without its weight.
pub(crate) fn row_losses(task: &Task, heads: &[Head]) -> Vec<f64> {
    limited_losses(task, heads, [f64::NEG_INFINITY, f64::INFINITY])
}

/// The loss of each row, without its weight, if the scores of one model are limited to a range.
pub(crate) fn limited_losses(task: &Task, heads: &[Head], [low, high]: [f64; 2]) -> Vec<f64> {
    let rows = task.data.rows.borrow();
    let scorer = HeadScorer::new(heads, rows.columns());
    let mut losses = vec![0.0; task.len()];
    losses.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, losses)| {
        let mut scores = vec![0.0; heads.len()];
        for (k, loss) in losses.iter_mut().enumerate() {
            let i = chunk * CHUNK + k;
            scorer.score(rows, i, &mut scores);
            if task.targets.heads().is_none() {
                scores[0] = scores[0].clamp(low, high);
            }
            *loss = row_loss(task, i, &scores);
        }
    });
    losses
}

fn row_loss(task: &Task, i: usize, scores: &[f64]) -> f64 {
    let Some(HeadTargets { kind, sets, .. }) = task.targets.heads() else {
        return task.loss.value(scores[0] + task.examples().offset(i), task.numbers()[i]);
    };
    let own = sets.of(i);
    if kind == HeadKind::Softmax {
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
        return most + sum.ln() - own.first().map_or(0.0, |&k| scores[k as usize]);
    }
    let negative: f64 = scores.iter().map(|&score| task.loss.value(score, -1.0)).sum();
    let changed = |&k: &u32| {
        let score = scores[k as usize];
        task.loss.value(score, 1.0) - task.loss.value(score, -1.0)
    };
    negative + own.iter().map(changed).sum::<f64>()
}

/// The mean held-out loss, its standard error over rows, and a metric; NaN if the metric is undefined here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldOut {
    pub loss: f64,
    pub se: f64,
    pub metric: f64,
}

/// Evaluates heads on held-out rows. The loss counts each row by its weight; other metrics count all rows alike.
pub(crate) fn held_out(task: &Task, heads: &[Head], metric: Metric) -> HeldOut {
    let mut losses = row_losses(task, heads);
    losses.iter_mut().enumerate().for_each(|(i, loss)| *loss *= task.weight(i));
    let (n, sum) = (losses.len() as f64, losses.iter().sum::<f64>());
    let squares: f64 = losses.iter().map(|loss| (loss - sum / n).powi(2)).sum();
    let metric = match metric {
        Metric::Loss => sum / n,
        metric => measured(task, heads, metric).unwrap_or(f64::NAN),
    };
    HeldOut { loss: sum / n, se: (squares / n).sqrt() / n.sqrt(), metric }
}

fn measured(task: &Task, heads: &[Head], metric: Metric) -> Option<f64> {
    let rows = task.data.rows.borrow();
    let scorer = HeadScorer::new(heads, rows.columns());
    let mut scores = vec![0.0; heads.len()];
    let Some(targets) = task.targets.heads() else {
        let one = |i: usize| {
            scorer.score(rows, i, &mut scores);
            scores[0] + task.examples().offset(i)
        };
        let all: Vec<f64> = (0..task.len()).map(one).collect();
        return metric.of(&metrics(&*task.loss, &all, task.numbers()));
    };
    let names = targets.names.to_vec();
    let (biases, ends, ids, thresholds) = (Vec::new(), Vec::new(), Vec::new(), None);
    let known = Heads { kind: targets.kind, names, biases, ends, ids, thresholds };
    let mut tally = Tally::new(&known, &*task.loss);
    for i in 0..task.len() {
        scorer.score(rows, i, &mut scores);
        tally.see(&scores, targets.sets.of(i), 0);
    }
    metric.of_heads(&tally.figures())
}
