//! Metrics of multiclass and multilabel predictions, computed row by row from counts.
//!
//! ```text
//! precision = hits/predicted      recall = hits/rows with the head      F1 = 2·hits/(predicted + rows with the head)
//! micro: from the summed counts of all heads      macro: the mean over heads that were predicted or occur
//! precision@k: the share of hits among the k largest scores, averaged over rows
//! ```

use crate::problem::heads::{HeadKind, Heads};
use crate::problem::loss::Loss;
use serde::Serialize;

/// The values of k for precision@k.
const AT: [usize; 3] = [1, 3, 5];

/// Running counts of a multiclass or multilabel evaluation.
///
/// ```
/// use lazyglm::{HeadKind, Heads, loss, eval::metrics::Tally};
/// let names = ["a", "b", "c"].map(String::from).to_vec();
/// let heads = Heads { kind: HeadKind::Softmax, names, biases: vec![0.0; 3], ends: vec![], ids: vec![], thresholds: None };
/// let logistic = loss::parse("logistic").unwrap();
/// let mut tally = Tally::new(&heads, &*logistic);
/// tally.see(&[2.0, 0.0, 0.0], &[0], 0);
/// tally.see(&[2.0, 0.0, 0.0], &[1], 0);
/// let figures = tally.figures();
/// assert_eq!((figures.accuracy, figures.heads[0].precision, figures.heads[1].recall), (Some(0.5), 0.5, 0.0));
/// ```
pub struct Tally<'a> {
    heads: &'a Heads,
    loss: &'a dyn Loss,
    rows: usize,
    right: usize,
    losses: f64,
    log_losses: f64,
    given: Vec<usize>,
    hits: Vec<usize>,
    support: Vec<usize>,
    unknown: usize,
    at: [f64; AT.len()],
    has: Vec<bool>, // reusable buffer
}

/// Metrics of a multiclass or multilabel evaluation. A metric that is undefined is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadMetrics {
    /// Number of rows.
    pub rows: usize,
    /// Mean training loss, summed over heads except for softmax.
    pub loss: f64,
    /// Share of rows whose class, or whose exact set of labels, is predicted correctly.
    pub accuracy: Option<f64>,
    /// Mean −ln of the probability of the true class.
    pub log_loss: Option<f64>,
    /// Macro-averaged precision: the mean over heads.
    pub macro_precision: f64,
    /// Macro-averaged recall: the mean over heads.
    pub macro_recall: f64,
    /// Macro-averaged F1: the mean over heads.
    pub macro_f1: f64,
    /// Micro-averaged precision, from the counts of all heads together.
    pub micro_precision: f64,
    /// Micro-averaged recall, from the counts of all heads together.
    pub micro_recall: f64,
    /// Micro-averaged F1, from the counts of all heads together.
    pub micro_f1: f64,
    /// For multilabel data: precision at 1, 3 and 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision_at: Option<[f64; AT.len()]>,
    /// Metrics per class or label.
    pub heads: Vec<HeadFigures>,
}

/// Metrics of one class or label. Undefined ratios are 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadFigures {
    /// Name of the class or label.
    pub name: String,
    /// Share of predictions of this class or label that are correct.
    pub precision: f64,
    /// Share of rows with this class or label for which it was predicted.
    pub recall: f64,
    /// Harmonic mean of precision and recall.
    pub f1: f64,
    /// Number of rows with this class or label.
    pub support: usize,
}

impl<'a> Tally<'a> {
    /// Creates a tally without rows.
    pub fn new(heads: &'a Heads, loss: &'a dyn Loss) -> Tally<'a> {
        let count = heads.names.len();
        let none = || vec![0; count];
        let (given, hits, support) = (none(), none(), none());
        let (rows, right, losses, log_losses, unknown) = (0, 0, 0.0, 0.0, 0);
        let (at, has) = ([0.0; AT.len()], vec![false; count]);
        Tally { heads, loss, rows, right, losses, log_losses, given, hits, support, unknown, at, has }
    }

    /// Adds a row: its scores, its true heads, and the number of its labels that no head represents.
    pub fn see(&mut self, scores: &[f64], truth: &[u32], unknown: usize) {
        self.rows += 1;
        self.unknown += unknown;
        truth.iter().for_each(|&k| self.has[k as usize] = true);
        truth.iter().for_each(|&k| self.support[k as usize] += 1);
        match self.heads.kind {
            HeadKind::Labels => self.see_labels(scores, truth, unknown),
            _ => self.see_class(scores, truth),
        }
        truth.iter().for_each(|&k| self.has[k as usize] = false);
    }

    fn see_class(&mut self, scores: &[f64], truth: &[u32]) {
        let best = self.heads.best(scores);
        self.given[best] += 1;
        self.hits[best] += usize::from(self.has[best]);
        self.right += usize::from(self.has[best]);
        let mut probabilities = scores.to_vec();
        self.heads.probabilities(self.loss, &mut probabilities);
        // A probability of exactly 0 would make the mean infinite.
        let own = truth.first().map_or(1.0, |&k| probabilities[k as usize]).max(1e-15);
        self.log_losses -= own.ln();
        self.losses += match self.heads.kind {
            HeadKind::Softmax => log_sum(scores) - truth.first().map_or(0.0, |&k| scores[k as usize]),
            _ => self.sum_of_losses(scores),
        };
    }

    fn see_labels(&mut self, scores: &[f64], truth: &[u32], unknown: usize) {
        let (mut given, mut hits) = (0, 0);
        for k in self.heads.chosen(scores) {
            self.given[k] += 1;
            self.hits[k] += usize::from(self.has[k]);
            (given, hits) = (given + 1, hits + usize::from(self.has[k]));
        }
        self.right += usize::from(given == hits && hits == truth.len() && unknown == 0);
        self.losses += self.sum_of_losses(scores);
        let greatest = greatest(scores, AT[AT.len() - 1]);
        for (sum, k) in self.at.iter_mut().zip(AT) {
            *sum += greatest.iter().take(k).filter(|&&head| self.has[head]).count() as f64 / k as f64;
        }
    }

    fn sum_of_losses(&self, scores: &[f64]) -> f64 {
        let target = |has: bool| if has { 1.0 } else { -1.0 };
        scores.iter().zip(&self.has).map(|(&score, &has)| self.loss.value(score, target(has))).sum()
    }

    /// Computes the metrics from the counts.
    pub fn figures(&self) -> HeadMetrics {
        let share = |part: usize, of: usize| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        let head = |k: usize| HeadFigures {
            name: self.heads.names[k].clone(),
            precision: share(self.hits[k], self.given[k]),
            recall: share(self.hits[k], self.support[k]),
            f1: share(2 * self.hits[k], self.given[k] + self.support[k]),
            support: self.support[k],
        };
        let heads: Vec<HeadFigures> = (0..self.given.len()).map(head).collect();
        let met: Vec<&HeadFigures> = heads
            .iter()
            .enumerate()
            .filter(|(k, _)| self.given[*k] + self.support[*k] > 0)
            .map(|(_, head)| head)
            .collect();
        let mean = |of: fn(&HeadFigures) -> f64| {
            met.iter().map(|head| of(head)).sum::<f64>() / met.len().max(1) as f64
        };
        let total = |of: &[usize]| of.iter().sum::<usize>();
        let (hits, given, rows) = (total(&self.hits), total(&self.given), self.rows as f64);
        let support = total(&self.support) + self.unknown;
        let labels = self.heads.kind == HeadKind::Labels;
        let knows = !labels && (self.heads.kind == HeadKind::Softmax || self.loss.gives_probability());
        HeadMetrics {
            rows: self.rows,
            loss: self.losses / rows,
            accuracy: (self.rows > 0).then(|| self.right as f64 / rows),
            log_loss: knows.then(|| self.log_losses / rows),
            macro_precision: mean(|head| head.precision),
            macro_recall: mean(|head| head.recall),
            macro_f1: mean(|head| head.f1),
            micro_precision: share(hits, given),
            micro_recall: share(hits, support),
            micro_f1: share(2 * hits, given + support),
            precision_at: labels.then(|| self.at.map(|sum| sum / rows)),
            heads,
        }
    }
}

fn log_sum(scores: &[f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + scores.iter().map(|score| (score - most).exp()).sum::<f64>().ln()
}

/// The heads with the largest scores. Among equal scores, lower heads come first.
fn greatest(scores: &[f64], count: usize) -> Vec<usize> {
    let mut greatest: Vec<usize> = Vec::with_capacity(count + 1);
    for (k, &score) in scores.iter().enumerate() {
        let at = greatest.partition_point(|&other| scores[other] >= score);
        if at < count {
            greatest.insert(at, k);
            greatest.truncate(count);
        }
    }
    greatest
}
