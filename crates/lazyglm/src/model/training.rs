//! How a model was trained, and the features of its data. Kept for information, not for prediction.

use crate::model::report::Report;
use crate::problem::penalty::Method;
use crate::problem::settings::{Order, Precision, Settings, UpdateName};
use crate::problem::source::Problem;
use serde::{Deserialize, Serialize};

/// Base and number of the features in the training data.
///
/// ```
/// use lazyglm::{Counting, Model, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let model = Model::new(&task, &Settings::default(), trained);
/// assert_eq!(model.counting, Counting { index_base: 0, count: 100 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counting {
    /// The index of the first feature: 0 or 1.
    pub index_base: u32,
    /// d: the number of features.
    pub count: usize,
}

/// The training settings and results of a model.
///
/// ```
/// use lazyglm::{Model, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let training = Model::new(&task, &Settings::default(), trained).training;
/// assert_eq!((training.l1, training.schedule.as_str(), training.seed), (1e-6, "cosine", 1));
/// assert_eq!(training.report.seconds_train, 0.0, "left out");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// λ₁, as given.
    pub l1: f64,
    /// λ₂, as given.
    pub l2: f64,
    /// The method that applied the penalty: `sgd` or `fobos`.
    pub method: Method,
    /// The algorithm of the penalty updates.
    pub update: UpdateName,
    /// The learning rate schedule, as written.
    pub schedule: String,
    /// The order of rows.
    pub order: Order,
    /// Seed of the row permutation.
    pub seed: u64,
    /// Precision of the weights during training.
    pub precision: Precision,
    /// Whether the model has a bias.
    pub bias: bool,
    /// Whether rows had sample weights or class weights.
    pub weighted: bool,
    /// Whether rows had offsets, which predictions then need too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offsets: bool,
    /// The requested number of epochs. The report has the actual number.
    pub epochs: u64,
    /// The number of epochs without a better validation loss after which training stops.
    pub early_stop: Option<u64>,
    /// Number of steps in the tables of the table update.
    pub table_budget: usize,
    /// If weights are averaged over steps: the number of initial steps that the average omits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<u64>,
    /// Results of the run, without times, so that the same run writes the same bytes.
    pub report: Report,
}

impl Training {
    /// The settings and results of a run that a model keeps.
    pub(super) fn of(settings: &Settings, problem: &dyn Problem, report: Report) -> Training {
        Training::new(settings, problem.is_weighted(), problem.has_offsets(), report)
    }

    /// The same, given whether rows had weights and whether they had offsets.
    pub fn new(settings: &Settings, weighted: bool, offsets: bool, mut report: Report) -> Training {
        // Without times, the same run gives the same file.
        report.tried.iter_mut().for_each(|tried| tried.seconds = 0.0);
        Training {
            l1: settings.penalty.l1,
            l2: settings.penalty.l2,
            method: settings.method,
            update: settings.update,
            schedule: settings.schedule.text().to_string(),
            order: settings.order,
            seed: settings.seed,
            precision: settings.precision,
            bias: settings.bias,
            weighted,
            offsets,
            epochs: settings.epochs,
            early_stop: settings.early_stop,
            table_budget: settings.table_budget,
            average: settings.average,
            report: Report {
                seconds_read: 0.0,
                seconds_search: 0.0,
                seconds_train: 0.0,
                seconds_evaluate: 0.0,
                seconds_write: 0.0,
                ..report
            },
        }
    }
}
