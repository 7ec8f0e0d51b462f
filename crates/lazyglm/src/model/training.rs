//! How a model was trained, and how its data counted features: what is kept to be told, not to predict.

use crate::model::report::Report;
use crate::problem::penalty::Method;
use crate::problem::settings::{Order, Precision, Settings, UpdateName};
use serde::{Deserialize, Serialize};

/// How training data counted features.
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
    /// The index of the first feature, 0 or 1.
    pub index_base: u32,
    /// d: how many features there are.
    pub count: usize,
}

/// How a model was trained.
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
    /// `sgd` or `fobos`.
    pub method: Method,
    /// How the penalty was paid.
    pub update: UpdateName,
    /// The schedule, as written.
    pub schedule: String,
    /// The order of rows.
    pub order: Order,
    /// The seed of the order.
    pub seed: u64,
    /// The weights' precision while learning.
    pub precision: Precision,
    /// Whether there is a bias.
    pub bias: bool,
    /// Whether rows had weights, their own or their class's.
    pub weighted: bool,
    /// Epochs asked for; the report has those run.
    pub epochs: u64,
    /// Epochs without a better held-out loss after which to stop.
    pub early_stop: Option<u64>,
    /// How many steps the tables of the table update hold.
    pub table_budget: usize,
    /// Steps left out of the mean, if weights are a mean over steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<u64>,
    /// The figures of the run; times are left out, so that the same run writes the same bytes.
    pub report: Report,
}

impl Training {
    /// What is kept of the settings and the figures of a run.
    pub(super) fn of(settings: &Settings, weighted: bool, report: Report) -> Training {
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
            epochs: settings.epochs,
            early_stop: settings.early_stop,
            table_budget: settings.table_budget,
            average: settings.average,
            report: Report { seconds_read: 0.0, seconds_train: 0.0, ..report },
        }
    }
}
