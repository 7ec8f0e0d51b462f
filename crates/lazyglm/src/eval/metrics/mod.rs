//! Metrics of predictions, computed from scores and targets.
//!
//! ```
//! use lazyglm::{loss, eval::metrics::{ByKind, metrics}};
//! let figures = metrics(&*loss::parse("logistic").unwrap(), &[2.0, 1.0, -1.0], &[1.0, -1.0, -1.0]);
//! let ByKind::Classes { accuracy, auc, .. } = figures.by_kind else { panic!("logistic is for classes") };
//! assert_eq!((accuracy, auc), (2.0 / 3.0, Some(1.0)));
//! ```

mod heads;
mod metric;

pub use heads::{HeadFigures, HeadMetrics, Tally};
pub use metric::Metric;

use crate::problem::loss::{Admits, Loss};
use serde::Serialize;

/// Metrics of one evaluation. A metric that is undefined is `None`: no AUC with one class, no log-loss
/// without probabilities.
///
/// ```
/// use lazyglm::{loss, eval::metrics::metrics};
/// let figures = metrics(&*loss::parse("squared").unwrap(), &[1.0, 2.0], &[1.0, 4.0]);
/// let json = serde_json::to_value(&figures).unwrap(); // one flat object
/// assert_eq!((&json["rows"], &json["loss"], &json["mae"]), (&2.into(), &1.0.into(), &1.0.into()));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Number of rows.
    pub rows: usize,
    /// Mean of the loss the model was trained for.
    pub loss: f64,
    /// Metrics that depend on the kind of target.
    #[serde(flatten)]
    pub by_kind: ByKind,
}

/// Metrics of a classification or a regression.
///
/// ```
/// use lazyglm::{loss, eval::metrics::{ByKind, metrics}};
/// let figures = metrics(&*loss::parse("hinge").unwrap(), &[2.0, 1.0], &[1.0, 1.0]);
/// let ByKind::Classes { auc, log_loss, f1, .. } = figures.by_kind else { panic!("hinge is for classes") };
/// assert_eq!((auc, log_loss, f1), (None, None, Some(1.0)), "one class, and no probabilities");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ByKind {
    /// Two classes.
    Classes {
        /// Share of rows whose class is predicted correctly.
        accuracy: f64,
        /// Probability that a positive row scores above a negative one. Ties count half.
        auc: Option<f64>,
        /// Average precision: the area under the step-wise precision-recall curve.
        pr_auc: Option<f64>,
        /// Harmonic mean of precision and recall of the positive class.
        f1: Option<f64>,
        /// Mean −ln of the probability of the true class.
        log_loss: Option<f64>,
        /// Expected calibration error: mean |share of positives − mean probability| over ten bins of equal
        /// width, weighted by rows.
        calibration_error: Option<f64>,
    },
    /// Numeric targets.
    Reals {
        /// Root mean squared error.
        rmse: f64,
        /// Mean absolute error.
        mae: f64,
        /// 1 − squared error / variance of the targets.
        r2: Option<f64>,
    },
}

/// Computes the metrics of scores. Targets are ±1 for classes.
///
/// ```
/// use lazyglm::{loss, eval::metrics::{ByKind, metrics}};
/// let figures = metrics(&*loss::parse("squared").unwrap(), &[1.0, 2.0], &[1.0, 4.0]);
/// assert_eq!(figures.loss, 1.0);
/// assert!(matches!(figures.by_kind, ByKind::Reals { mae: 1.0, .. }));
/// ```
pub fn metrics(loss: &dyn Loss, scores: &[f64], targets: &[f64]) -> Metrics {
    let rows = scores.len();
    let mean_loss = mean(scores.iter().zip(targets).map(|(&s, &y)| loss.value(s, y)));
    let by_kind = match loss.admits() {
        Admits::Classes => classes(loss, scores, targets),
        Admits::Reals | Admits::NonNegative | Admits::Positive => reals(loss, scores, targets),
    };
    Metrics { rows, loss: mean_loss, by_kind }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn classes(loss: &dyn Loss, scores: &[f64], targets: &[f64]) -> ByKind {
    let pairs = || scores.iter().zip(targets);
    let right = pairs().filter(|&(&s, &y)| (s > 0.0) == (y > 0.0)).count();
    let hits = pairs().filter(|&(&s, &y)| s > 0.0 && y > 0.0).count();
    let called = scores.iter().filter(|s| **s > 0.0).count();
    let positive = targets.iter().filter(|y| **y > 0.0).count();
    let probability =
        || loss.gives_probability().then(|| scores.iter().map(|&s| loss.inverse_link(s)).collect::<Vec<_>>());
    let (auc, pr_auc) = ranking(scores, targets);
    ByKind::Classes {
        accuracy: right as f64 / scores.len() as f64,
        auc,
        pr_auc,
        f1: (called + positive > 0).then(|| 2.0 * hits as f64 / (called + positive) as f64),
        log_loss: probability().map(|p| log_loss(&p, targets)),
        calibration_error: probability().map(|p| calibration_error(&p, targets)),
    }
}

/// Computes (AUC, average precision) in one pass over the sorted scores. Rows of equal score are taken
/// together.
fn ranking(scores: &[f64], targets: &[f64]) -> (Option<f64>, Option<f64>) {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let (mut above, mut below) = (0.0, 0.0); // positives and negatives so far
    let (mut area, mut precision_sum) = (0.0, 0.0);
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let hits = tied.iter().filter(|&&i| targets[i] > 0.0).count() as f64;
        let misses = tied.len() as f64 - hits;
        area += misses * (above + 0.5 * hits);
        (above, below) = (above + hits, below + misses);
        precision_sum += hits * above / (above + below);
    }
    let auc = (above > 0.0 && below > 0.0).then(|| area / (above * below));
    (auc, (above > 0.0).then(|| precision_sum / above))
}

fn log_loss(probabilities: &[f64], targets: &[f64]) -> f64 {
    // A probability of exactly 0 or 1 (modified-huber gives them) would make the mean infinite.
    let certain = |p: f64| p.max(1e-15);
    mean(probabilities.iter().zip(targets).map(|(&p, &y)| -certain(if y > 0.0 { p } else { 1.0 - p }).ln()))
}

fn calibration_error(probabilities: &[f64], targets: &[f64]) -> f64 {
    let mut bins = [(0.0, 0.0); 10]; // Σ probability, Σ positives
    for (&p, &y) in probabilities.iter().zip(targets) {
        let bin = &mut bins[((p * 10.0) as usize).min(9)];
        *bin = (bin.0 + p, bin.1 + f64::from(y > 0.0));
    }
    bins.iter().map(|(expected, found)| (expected - found).abs()).sum::<f64>() / probabilities.len() as f64
}

fn reals(loss: &dyn Loss, scores: &[f64], targets: &[f64]) -> ByKind {
    let errors = || scores.iter().zip(targets).map(|(&s, &y)| loss.inverse_link(s) - y);
    let squared = mean(errors().map(|e| e * e));
    let centre = mean(targets.iter().copied());
    let variance = mean(targets.iter().map(|y| (y - centre).powi(2)));
    ByKind::Reals {
        rmse: squared.sqrt(),
        mae: mean(errors().map(f64::abs)),
        r2: (variance > 0.0).then(|| 1.0 - squared / variance),
    }
}
