//! Metrics of predictions, computed from scores and targets.
//!
//! ```
//! use lazyglm::{loss, eval::metrics::{ByKind, metrics}};
//! let figures = metrics(&*loss::parse("logistic").unwrap(), &[2.0, 1.0, -1.0], &[1.0, -1.0, -1.0]);
//! let ByKind::Classes { accuracy, auc, .. } = figures.by_kind else { panic!("logistic is for classes") };
//! assert_eq!((accuracy, auc), (2.0 / 3.0, Some(1.0)));
//! ```

mod bootstrap;
mod heads;
mod metric;

pub use bootstrap::{Interval, intervals};
pub use heads::{HeadFigures, HeadMetrics, Seen, Tally};
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
        /// Mean of the recalls of both classes, and of 0 if rows have another class.
        balanced_accuracy: Option<f64>,
        /// Share of predictions of the positive class that are correct.
        precision: Option<f64>,
        /// Share of positive rows that are predicted as such.
        recall: Option<f64>,
        /// Harmonic mean of precision and recall of the positive class.
        f1: Option<f64>,
        /// Mean −ln of the probability of the true class.
        log_loss: Option<f64>,
        /// Brier score: the mean squared difference of the probability of the positive class and the truth, 0 or 1.
        brier: Option<f64>,
        /// Expected calibration error: mean |share of positives − mean probability| over ten bins of equal
        /// width, weighted by rows.
        calibration_error: Option<f64>,
        /// Confusion matrix: weight of the rows of each class (negative, positive, another), by predicted class.
        #[serde(skip)]
        confusion: [[f64; 2]; 3],
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

/// Scores and targets of rows.
///
/// ```
/// use lazyglm::{loss, eval::metrics::{ByKind, Scored}};
/// let (scores, targets, weights) = (&[2.0, 1.0, -1.0], &[1.0, -1.0, 0.0], Some(&[3.0, 1.0, 1.0][..]));
/// let figures = Scored { scores, targets, weights }.metrics(&*loss::parse("logistic").unwrap());
/// let ByKind::Classes { accuracy, precision, .. } = figures.by_kind else { panic!("logistic is for classes") };
/// assert_eq!((accuracy, precision), (0.6, Some(0.75)), "one of five units is of another class");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Scored<'a> {
    /// The score of each row.
    pub scores: &'a [f64],
    /// The target of each row. For classes, ±1, or 0 for a class that the model does not know: such a row is an error,
    /// and losses and rankings leave it out.
    pub targets: &'a [f64],
    /// The weight of each row; 1 if not given.
    pub weights: Option<&'a [f64]>,
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
    Scored { scores, targets, weights: None }.metrics(loss)
}

impl Scored<'_> {
    /// Computes the metrics. All means are weighted.
    pub fn metrics(&self, loss: &dyn Loss) -> Metrics {
        let is_class = loss.admits() == Admits::Classes;
        let known: Vec<Row> = self.rows().filter(|row| !is_class || row.1 != 0.0).collect();
        let by_kind = if is_class { self.classes(loss, &known) } else { reals(loss, &known) };
        Metrics { rows: self.scores.len(), loss: mean(&known, |s, y| loss.value(s, y)), by_kind }
    }

    fn rows(&self) -> impl Iterator<Item = Row> {
        let weight = |i: usize| self.weights.map_or(1.0, |weights| weights[i]);
        self.scores.iter().zip(self.targets).enumerate().map(move |(i, (&s, &y))| (s, y, weight(i)))
    }

    fn classes(&self, loss: &dyn Loss, known: &[Row]) -> ByKind {
        let mut confusion = [[0.0; 2]; 3];
        for (s, y, weight) in self.rows() {
            let class = if y > 0.0 { 1 } else { 2 * usize::from(y == 0.0) };
            confusion[class][usize::from(s > 0.0)] += weight;
        }
        let [negative, positive, other] = confusion.map(|[down, up]| down + up);
        let (right, hits) = (confusion[0][0] + confusion[1][1], confusion[1][1]);
        let called: f64 = confusion.iter().map(|[_, up]| up).sum();
        let share = |part: f64, of: f64| (of > 0.0).then(|| part / of);
        let recalls = [share(confusion[0][0], negative), share(hits, positive)];
        let stranger = (other > 0.0).then_some(0.0); // rows of another class are never right
        let met: Vec<f64> = recalls.into_iter().chain([stranger]).flatten().collect();
        let probable: Option<Vec<Row>> = loss
            .gives_probability()
            .then(|| known.iter().map(|&(s, y, weight)| (loss.inverse_link(s), y, weight)).collect());
        let (auc, pr_auc) = ranking(known);
        ByKind::Classes {
            accuracy: right / (negative + positive + other),
            auc,
            pr_auc,
            balanced_accuracy: share(met.iter().sum(), met.len() as f64),
            precision: share(hits, called),
            recall: recalls[1],
            f1: share(2.0 * hits, called + positive),
            log_loss: probable.as_deref().map(log_loss),
            brier: probable.as_deref().map(|rows| mean(rows, |p, y| (p - f64::from(y > 0.0)).powi(2))),
            calibration_error: probable.as_deref().map(calibration_error),
            confusion,
        }
    }
}

/// Score (or probability), target and weight of a row.
type Row = (f64, f64, f64);

fn mean(rows: &[Row], of: impl Fn(f64, f64) -> f64) -> f64 {
    let total: f64 = rows.iter().map(|row| row.2).sum();
    rows.iter().filter(|row| row.2 > 0.0).map(|&(s, y, weight)| weight * of(s, y)).sum::<f64>() / total
}

/// Computes (AUC, average precision) in one pass over the sorted scores. Rows of equal score are taken
/// together.
fn ranking(rows: &[Row]) -> (Option<f64>, Option<f64>) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_unstable_by(|&a, &b| rows[b].0.total_cmp(&rows[a].0));
    let (mut above, mut below) = (0.0, 0.0); // weights of positives and negatives so far
    let (mut area, mut precision_sum) = (0.0, 0.0);
    for tied in order.chunk_by(|&a, &b| rows[a].0 == rows[b].0) {
        let (mut hits, mut misses) = (0.0, 0.0);
        for &i in tied {
            *(if rows[i].1 > 0.0 { &mut hits } else { &mut misses }) += rows[i].2;
        }
        area += misses * (above + 0.5 * hits);
        (above, below) = (above + hits, below + misses);
        if hits > 0.0 {
            precision_sum += hits * above / (above + below);
        }
    }
    let auc = (above > 0.0 && below > 0.0).then(|| area / (above * below));
    (auc, (above > 0.0).then(|| precision_sum / above))
}

fn log_loss(rows: &[Row]) -> f64 {
    // A probability of exactly 0 or 1 (modified-huber gives them) would make the mean infinite.
    let certain = |p: f64| p.max(1e-15);
    mean(rows, |p, y| -certain(if y > 0.0 { p } else { 1.0 - p }).ln())
}

fn calibration_error(rows: &[Row]) -> f64 {
    let (mut bins, mut total) = ([(0.0, 0.0); 10], 0.0); // Σ probability, Σ positives
    for &(p, y, weight) in rows {
        let bin = &mut bins[((p * 10.0) as usize).min(9)];
        *bin = (bin.0 + weight * p, bin.1 + weight * f64::from(y > 0.0));
        total += weight;
    }
    bins.iter().map(|(expected, found): &(f64, f64)| (expected - found).abs()).sum::<f64>() / total
}

fn reals(loss: &dyn Loss, rows: &[Row]) -> ByKind {
    let error = |s: f64, y: f64| loss.inverse_link(s) - y;
    let squared = mean(rows, |s, y| error(s, y) * error(s, y));
    let centre = mean(rows, |_, y| y);
    let variance = mean(rows, |_, y| (y - centre).powi(2));
    ByKind::Reals {
        rmse: squared.sqrt(),
        mae: mean(rows, |s, y| error(s, y).abs()),
        r2: (variance > 0.0).then(|| 1.0 - squared / variance),
    }
}

impl Metrics {
    /// The metrics by name, in the order in which they are shown; `None` for those that are undefined.
    pub fn named(&self) -> Vec<(&'static str, Option<f64>)> {
        let mut named = vec![("loss", Some(self.loss))];
        match &self.by_kind {
            ByKind::Classes {
                accuracy,
                auc,
                pr_auc,
                balanced_accuracy,
                precision,
                recall,
                f1,
                log_loss,
                brier,
                calibration_error,
                ..
            } => named.extend([
                ("accuracy", Some(*accuracy)),
                ("balanced_accuracy", *balanced_accuracy),
                ("auc", *auc),
                ("pr_auc", *pr_auc),
                ("precision", *precision),
                ("recall", *recall),
                ("f1", *f1),
                ("log_loss", *log_loss),
                ("brier", *brier),
                ("calibration_error", *calibration_error),
            ]),
            ByKind::Reals { rmse, mae, r2 } => {
                named.extend([("rmse", Some(*rmse)), ("mae", Some(*mae)), ("r2", *r2)])
            }
        }
        named
    }
}
