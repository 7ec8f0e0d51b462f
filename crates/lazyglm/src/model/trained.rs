//! What a run has learnt, column by column, before features are named.

use super::report::Report;
use crate::data::features::Features;
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
    /// Takes the heads away; of one model, the only one.
    ///
    /// ```
    /// use lazyglm::{Settings, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let mut trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let weights = trained.weights.clone();
    /// assert_eq!(trained.take_heads()[0].dense(100), weights);
    /// ```
    pub fn take_heads(&mut self) -> Vec<Head> {
        match self.heads.is_empty() {
            true => vec![Head::of(std::mem::take(&mut self.weights).into_iter(), self.bias)],
            false => std::mem::take(&mut self.heads),
        }
    }

    /// The weights for values as they are in the data, of a model that was trained on values scaled as these features say.
    ///
    /// ```
    /// use lazyglm::{Features, Settings, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let weights = trained.weights.clone();
    /// assert_eq!(trained.in_data_units(&Features::columns_from(0, 100)).weights, weights, "nothing was scaled");
    /// ```
    pub fn in_data_units(mut self, features: &Features) -> Trained {
        let of_heads = self.heads.iter_mut().flat_map(|head| head.columns.iter().zip(&mut head.weights));
        of_heads.for_each(|(&column, weight)| *weight = features.in_data_units(column as usize, *weight));
        let all = self.weights.iter_mut().enumerate();
        all.for_each(|(column, weight)| *weight = features.in_data_units(column, *weight));
        self
    }

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
