//! A metric by name, to compare models on held-out rows.

use super::{ByKind, HeadMetrics, Metrics};
use crate::util::error::{Error, Result};
use crate::util::registry::suggest;
use std::fmt;
use std::str::FromStr;

/// A metric by which models are compared.
///
/// ```
/// use lazyglm::eval::metrics::Metric;
/// assert_eq!("auc".parse::<Metric>().unwrap(), Metric::Auc);
/// assert!("auk".parse::<Metric>().unwrap_err().to_string().contains("did you mean 'auc'"));
/// assert!(Metric::Auc.is_gain() && !Metric::Rmse.is_gain());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Metric {
    /// The mean of the loss that is trained for.
    #[default]
    Loss,
    /// The mean of −ln of the probability of the true class.
    LogLoss,
    /// The share of rows whose class, or whose exact set of labels, is predicted.
    Accuracy,
    /// The area under the ROC curve, for two classes.
    Auc,
    /// The average precision, for two classes.
    PrAuc,
    /// The F1 score of the positive class, for two classes; the micro-averaged F1 for more classes and labels.
    F1,
    /// The mean F1 score over classes or labels.
    MacroF1,
    /// The root mean squared error.
    Rmse,
    /// The mean absolute error.
    Mae,
    /// The share of the variance that is explained.
    R2,
}

/// All metrics and their names.
const NAMES: [(Metric, &str); 10] = [
    (Metric::Loss, "loss"),
    (Metric::LogLoss, "log-loss"),
    (Metric::Accuracy, "accuracy"),
    (Metric::Auc, "auc"),
    (Metric::PrAuc, "pr-auc"),
    (Metric::F1, "f1"),
    (Metric::MacroF1, "macro-f1"),
    (Metric::Rmse, "rmse"),
    (Metric::Mae, "mae"),
    (Metric::R2, "r2"),
];

impl Metric {
    /// Whether larger values are better.
    pub fn is_gain(self) -> bool {
        !matches!(self, Metric::Loss | Metric::LogLoss | Metric::Rmse | Metric::Mae)
    }

    /// The metric of one model; `None` if it is undefined for its targets.
    pub fn of(self, metrics: &Metrics) -> Option<f64> {
        match (self, &metrics.by_kind) {
            (Metric::Loss, _) => Some(metrics.loss),
            (Metric::LogLoss, ByKind::Classes { log_loss, .. }) => *log_loss,
            (Metric::Accuracy, ByKind::Classes { accuracy, .. }) => Some(*accuracy),
            (Metric::Auc, ByKind::Classes { auc, .. }) => *auc,
            (Metric::PrAuc, ByKind::Classes { pr_auc, .. }) => *pr_auc,
            (Metric::F1, ByKind::Classes { f1, .. }) => *f1,
            (Metric::Rmse, ByKind::Reals { rmse, .. }) => Some(*rmse),
            (Metric::Mae, ByKind::Reals { mae, .. }) => Some(*mae),
            (Metric::R2, ByKind::Reals { r2, .. }) => *r2,
            _ => None,
        }
    }

    /// The metric of a model of many classes or labels; `None` if it is undefined for them.
    pub fn of_heads(self, metrics: &HeadMetrics) -> Option<f64> {
        match self {
            Metric::Loss => Some(metrics.loss),
            Metric::LogLoss => metrics.log_loss,
            Metric::Accuracy => metrics.accuracy,
            Metric::F1 => Some(metrics.micro_f1),
            Metric::MacroF1 => Some(metrics.macro_f1),
            _ => None,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(metric, _)| metric == self).map_or("loss", |(_, name)| name))
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(text: &str) -> Result<Metric> {
        let found = NAMES.iter().find(|(_, name)| *name == text).map(|(metric, _)| *metric);
        found.ok_or_else(|| {
            let names = NAMES.map(|(_, name)| name);
            Error::call(format!("there is no metric '{text}'"), suggest(text, &names))
        })
    }
}
