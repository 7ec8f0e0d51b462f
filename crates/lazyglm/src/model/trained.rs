//! What a run has learnt, column by column, before features are named.

use super::report::Report;
use crate::problem::heads::Head;
use crate::util::error::Place;

/// Trained weights by column.
///
/// ```
/// use lazyglm::{Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings { bias: false, ..Settings::default() }, &mut |_| {}).unwrap();
/// assert_eq!((trained.weights.len(), trained.bias), (100, 0.0));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trained {
    /// One weight per column; empty for many classes or labels, whose weights are in `heads`.
    pub weights: Vec<f64>,
    /// The bias; 0 without one, and for many classes or labels.
    pub bias: f64,
    /// One head per class or label; empty for one model.
    pub heads: Vec<Head>,
    /// Scores above which a label is given, if they were tuned.
    pub thresholds: Option<Vec<f64>>,
    /// The range of the training targets, if predictions are limited to it.
    pub limits: Option<[f64; 2]>,
    /// The held-out loss without and with limits, if it was measured.
    pub(crate) with_limits: Option<[f64; 2]>,
    /// The figures of the run.
    pub report: Report,
    /// The row that keeps a starting rate low that was found, not given: it is much longer than most rows.
    pub held_down_by: Option<Place>,
    /// What a reader may want to know: heads that diverged.
    pub notes: Vec<String>,
}

impl Trained {
    /// One trained model.
    pub(crate) fn one(weights: Vec<f64>, bias: f64, report: Report) -> Trained {
        let (heads, thresholds, notes) = (Vec::new(), None, Vec::new());
        Trained {
            weights,
            bias,
            heads,
            thresholds,
            limits: None,
            with_limits: None,
            report,
            held_down_by: None,
            notes,
        }
    }
}
