//! Metrics of multiclass and multilabel predictions, computed row by row from counts.
//!
//! ```text
//! precision = hits/predicted      recall = hits/rows with the head      F1 = 2·hits/(predicted + rows with the head)
//! micro: from the summed counts of all heads      macro: the mean over heads that were predicted or occur
//! Classes or labels that no head represents are one more head together, which is never predicted: all its figures are 0.
//! precision@k: the share of hits among the k largest scores, averaged over rows
//! ```

use crate::problem::heads::{HeadKind, Heads};
use crate::problem::loss::Loss;
use serde::Serialize;
use std::collections::BTreeMap;

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
    weight: f64,
    known: f64, // weight of the rows whose classes are known
    right: f64,
    losses: f64,
    log_losses: f64,
    squares: f64,
    given: Vec<f64>,
    hits: Vec<f64>,
    own: Vec<f64>, // weight of the rows with each head
    support: Vec<usize>,
    unknown: f64,
    at: [f64; AT.len()],
    has: Vec<bool>, // reusable buffer
    confusion: BTreeMap<(Option<u32>, u32), f64>,
}

/// What one row adds to a tally.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    truth: Vec<u32>,
    given: Vec<u32>,
    hits: Vec<u32>,
    unknown: usize,
    loss: f64,
    log_loss: f64,
    square: f64, // Σₖ (pₖ − [k is the class])²
    at: [f64; AT.len()],
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
    /// Mean recall of the classes that occur. All classes that training never saw are one class, of recall 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<f64>,
    /// Mean −ln of the probability of the true class.
    pub log_loss: Option<f64>,
    /// Brier score: the mean over rows of Σₖ (pₖ − [k is the true class])², between 0 and 2. For two classes, it is twice the
    /// score of the positive class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brier: Option<f64>,
    /// Macro-averaged precision: the mean over heads, with one of precision 0 for all that training never saw.
    pub macro_precision: f64,
    /// Macro-averaged recall: the mean over heads, with one of recall 0 for all that training never saw.
    pub macro_recall: f64,
    /// Macro-averaged F1: the mean over heads, with one of F1 0 for all that training never saw.
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
        let none = || vec![0.0; count];
        Tally {
            heads,
            loss,
            rows: 0,
            weight: 0.0,
            known: 0.0,
            right: 0.0,
            losses: 0.0,
            log_losses: 0.0,
            squares: 0.0,
            given: none(),
            hits: none(),
            own: none(),
            support: vec![0; count],
            unknown: 0.0,
            at: [0.0; AT.len()],
            has: vec![false; count],
            confusion: BTreeMap::new(),
        }
    }

    /// Adds a row: its scores, its true heads, and the number of its labels that no head represents.
    pub fn see(&mut self, scores: &[f64], truth: &[u32], unknown: usize) {
        let seen = self.look(scores, truth, unknown);
        self.add(&seen, 1.0);
    }

    /// What a row would add: for another tally of the same heads, or with a weight.
    pub fn look(&mut self, scores: &[f64], truth: &[u32], unknown: usize) -> Seen {
        truth.iter().for_each(|&k| self.has[k as usize] = true);
        let mut seen = Seen { truth: truth.to_vec(), unknown, ..Seen::default() };
        match self.heads.kind {
            HeadKind::Labels => self.look_at_labels(scores, &mut seen),
            _ => self.look_at_class(scores, &mut seen),
        }
        seen.hits = seen.given.iter().copied().filter(|&k| self.has[k as usize]).collect();
        truth.iter().for_each(|&k| self.has[k as usize] = false);
        seen
    }

    fn look_at_class(&self, scores: &[f64], seen: &mut Seen) {
        seen.given.push(self.heads.best(scores) as u32);
        let Some(&own) = seen.truth.first() else { return }; // a class that no head represents has no loss
        let mut probabilities = scores.to_vec();
        self.heads.probabilities(self.loss, &mut probabilities);
        // A probability of exactly 0 would make the mean infinite.
        seen.log_loss = -probabilities[own as usize].max(1e-15).ln();
        let truth = |k: usize| f64::from(u8::from(k == own as usize));
        seen.square = probabilities.iter().enumerate().map(|(k, p)| (p - truth(k)).powi(2)).sum();
        seen.loss = match self.heads.kind {
            HeadKind::Softmax => log_sum(scores) - scores[own as usize],
            _ => self.sum_of_losses(scores),
        };
    }

    fn look_at_labels(&self, scores: &[f64], seen: &mut Seen) {
        seen.given.extend(self.heads.chosen(scores).map(|k| k as u32));
        seen.loss = self.sum_of_losses(scores);
        let greatest = greatest(scores, AT[AT.len() - 1]);
        for (share, k) in seen.at.iter_mut().zip(AT) {
            *share = greatest.iter().take(k).filter(|&&head| self.has[head]).count() as f64 / k as f64;
        }
    }

    /// Adds what one row adds, with a weight.
    pub fn add(&mut self, seen: &Seen, weight: f64) {
        let labels = self.heads.kind == HeadKind::Labels;
        self.rows += 1;
        self.weight += weight;
        self.unknown += weight * seen.unknown as f64;
        let exact = seen.hits.len() == seen.truth.len() && seen.hits.len() == seen.given.len();
        self.right += if exact && seen.unknown == 0 { weight } else { 0.0 };
        seen.truth.iter().for_each(|&k| self.own[k as usize] += weight);
        seen.truth.iter().for_each(|&k| self.support[k as usize] += 1);
        seen.given.iter().for_each(|&k| self.given[k as usize] += weight);
        seen.hits.iter().for_each(|&k| self.hits[k as usize] += weight);
        if labels || !seen.truth.is_empty() {
            self.known += weight;
            self.losses += weight * seen.loss;
            self.log_losses += weight * seen.log_loss;
            self.squares += weight * seen.square;
        }
        self.at.iter_mut().zip(seen.at).for_each(|(sum, share)| *sum += weight * share);
        if let (false, Some(&given)) = (labels, seen.given.first()) {
            *self.confusion.entry((seen.truth.first().copied(), given)).or_default() += weight;
        }
    }

    /// For classes, the confusion matrix: true class (`None` if no head represents it), predicted class, and the weight
    /// of the rows; without zeros.
    pub fn confusion(&self) -> impl Iterator<Item = (Option<u32>, u32, f64)> {
        self.confusion.iter().map(|(&(truth, given), &weight)| (truth, given, weight))
    }

    fn sum_of_losses(&self, scores: &[f64]) -> f64 {
        let target = |has: bool| if has { 1.0 } else { -1.0 };
        scores.iter().zip(&self.has).map(|(&score, &has)| self.loss.value(score, target(has))).sum()
    }

    /// Computes the metrics from the counts.
    pub fn figures(&self) -> HeadMetrics {
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        let head = |k: usize| HeadFigures {
            name: self.heads.names[k].clone(),
            precision: share(self.hits[k], self.given[k]),
            recall: share(self.hits[k], self.own[k]),
            f1: share(2.0 * self.hits[k], self.given[k] + self.own[k]),
            support: self.support[k],
        };
        let heads: Vec<HeadFigures> = (0..self.given.len()).map(head).collect();
        let strangers = usize::from(self.unknown > 0.0); // one more head, with figures of 0
        let mean = |occurs: &dyn Fn(usize) -> bool, of: fn(&HeadFigures) -> f64| {
            let met: Vec<f64> =
                heads.iter().enumerate().filter(|(k, _)| occurs(*k)).map(|(_, head)| of(head)).collect();
            met.iter().sum::<f64>() / (met.len() + strangers).max(1) as f64
        };
        let met = |k: usize| self.given[k] + self.own[k] > 0.0;
        let total = |of: &[f64]| of.iter().sum::<f64>();
        let (hits, given) = (total(&self.hits), total(&self.given));
        let support = total(&self.own) + self.unknown;
        let labels = self.heads.kind == HeadKind::Labels;
        let knows = !labels && (self.heads.kind == HeadKind::Softmax || self.loss.gives_probability());
        let balanced = || mean(&|k| self.own[k] > 0.0, |head| head.recall);
        HeadMetrics {
            rows: self.rows,
            loss: self.losses / self.known,
            accuracy: (self.weight > 0.0).then(|| self.right / self.weight),
            balanced_accuracy: (!labels && self.known > 0.0).then(balanced),
            log_loss: (knows && self.known > 0.0).then(|| self.log_losses / self.known),
            brier: (knows && self.known > 0.0).then(|| self.squares / self.known),
            macro_precision: mean(&met, |head| head.precision),
            macro_recall: mean(&met, |head| head.recall),
            macro_f1: mean(&met, |head| head.f1),
            micro_precision: share(hits, given),
            micro_recall: share(hits, support),
            micro_f1: share(2.0 * hits, given + support),
            precision_at: labels.then(|| self.at.map(|sum| sum / self.weight)),
            heads,
        }
    }
}

impl HeadMetrics {
    /// The metrics of all heads together by name, in the order in which they are shown; `None` for those that are undefined.
    pub fn named(&self) -> Vec<(&'static str, Option<f64>)> {
        let mut named = vec![("loss", Some(self.loss)), ("accuracy", self.accuracy)];
        if self.precision_at.is_none() {
            named.extend([("balanced_accuracy", self.balanced_accuracy), ("log_loss", self.log_loss)]);
            named.push(("brier", self.brier));
        }
        named.extend([
            ("macro_precision", Some(self.macro_precision)),
            ("macro_recall", Some(self.macro_recall)),
            ("macro_f1", Some(self.macro_f1)),
            ("micro_precision", Some(self.micro_precision)),
            ("micro_recall", Some(self.micro_recall)),
            ("micro_f1", Some(self.micro_f1)),
        ]);
        let at = self.precision_at.iter().flatten().copied().map(Some);
        named.extend(["precision_at_1", "precision_at_3", "precision_at_5"].into_iter().zip(at));
        named
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
