//! The report of a training run, as plain data.

use crate::problem::solvers::Solver;
use serde::{Deserialize, Serialize};

/// Results of a finished run. A figure that was not measured, because the rows were no longer available, is
/// NaN.
///
/// ```
/// use lazyglm::{Report, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let report = train(&task, None, &Settings::default(), &mut |_| {}).unwrap().report;
/// assert_eq!(report.objective, report.loss + report.penalty);
/// assert_eq!((report.rows, report.epochs, report.history.len()), (500, 5, 5));
/// let json = serde_json::to_string(&report).unwrap();
/// assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The objective F on all training rows: loss plus penalty.
    #[serde(with = "measured")]
    pub objective: f64,
    /// The mean loss.
    #[serde(with = "measured")]
    pub loss: f64,
    /// The penalty λ₁‖w‖₁ + ½λ₂‖w‖².
    #[serde(with = "measured")]
    pub penalty: f64,
    /// The objective of the null model: see [`crate::eval::objective::baseline`].
    #[serde(with = "measured")]
    pub baseline: f64,
    /// The violation of the optimality conditions: see [`crate::eval::objective::violation`].
    #[serde(with = "measured")]
    pub violation: f64,
    /// The dual value, a lower bound on the objective: see [`crate::eval::objective::Certificate`]. `None`
    /// without a penalty, and if no certificate was asked for.
    #[serde(default)]
    pub dual: Option<f64>,
    /// The relative duality gap (F − dual)/|F|.
    #[serde(default)]
    pub relative_gap: Option<f64>,
    /// For Newton's method: the predicted decrease of its last step, relative to F.
    #[serde(default, rename = "promise")]
    pub predicted_decrease: Option<f64>,
    /// λ₁, as given or as chosen.
    #[serde(default, with = "measured")]
    pub l1: f64,
    /// λ₂, as given or as chosen.
    #[serde(default, with = "measured")]
    pub l2: f64,
    /// The penalties that were tried, in order, if the penalty was chosen automatically.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// λ₁_max, the smallest λ₁ at which all weights are zero: see [`crate::eval::objective::l1_max`].
    #[serde(with = "measured")]
    pub l1_max: f64,
    /// Number of non-zero weights, without the bias.
    pub nonzeros: usize,
    /// d: the number of features.
    pub features: usize,
    /// Number of training rows.
    pub rows: usize,
    /// Number of epochs, or of steps for Newton's method.
    pub epochs: u64,
    /// Number of passes over the rows, if Newton's method had rows on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u64>,
    /// Number of runs whose weights were averaged, each with its own row order.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub runs: u64,
    /// The initial learning rate, or 0 for a solver without one.
    #[serde(with = "measured")]
    pub eta0: f64,
    /// Time to read the data, in seconds.
    pub seconds_read: f64,
    /// Time to choose a penalty or a learning rate, and to prepare training otherwise, in seconds.
    #[serde(default)]
    pub seconds_search: f64,
    /// Time to train, from the first row to final weights, in seconds.
    pub seconds_train: f64,
    /// Time to evaluate the trained weights on all rows, and to certify them, in seconds.
    #[serde(default)]
    pub seconds_evaluate: f64,
    /// Time to write the model, in seconds.
    #[serde(default)]
    pub seconds_write: f64,
    /// The solver.
    pub solver: Solver,
    /// Why the run stopped.
    pub stop: Stop,
    /// Results on the validation data, if there are any.
    pub validation: Option<Validation>,
    /// One entry per epoch, with losses of sampled rows before each row was learnt.
    pub history: Vec<Epoch>,
    /// Results per head, for many classes or labels. Objective, loss and penalty are then sums over heads,
    /// and violation and l1_max are maxima.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<HeadsReport>,
}

impl Default for Report {
    /// Nothing measured.
    fn default() -> Report {
        Report {
            objective: f64::NAN,
            loss: f64::NAN,
            penalty: f64::NAN,
            baseline: f64::NAN,
            violation: f64::NAN,
            dual: None,
            relative_gap: None,
            predicted_decrease: None,
            l1: f64::NAN,
            l2: f64::NAN,
            tried: Vec::new(),
            l1_max: f64::NAN,
            nonzeros: 0,
            features: 0,
            rows: 0,
            epochs: 0,
            passes: None,
            runs: 1,
            eta0: f64::NAN,
            seconds_read: 0.0,
            seconds_search: 0.0,
            seconds_train: 0.0,
            seconds_evaluate: 0.0,
            seconds_write: 0.0,
            solver: Solver::Sgd,
            stop: Stop::Epochs,
            validation: None,
            history: Vec::new(),
            heads: None,
        }
    }
}

fn one() -> u64 {
    1
}

fn is_one(runs: &u64) -> bool {
    *runs == 1
}

/// Results of a run with one head per class or label.
///
/// ```
/// use lazyglm::{Dataset, Declared, HeadKind, Settings, Task, train};
/// let file = std::env::temp_dir().join("lazyglm-doc-heads-report.svm");
/// std::fs::write(&file, "a 1:1\nb 2:1\nc 3:1\n".repeat(50)).unwrap();
/// let data = Dataset::read(&file, Declared::default()).unwrap();
/// let task = Task::builder(data).heads(HeadKind::Ovr).build().unwrap();
/// let report = train(&task, None, &Settings::default(), &mut |_| {}).unwrap().report;
/// let heads = report.heads.unwrap();
/// assert_eq!((heads.heads[2].name.as_str(), heads.heads[2].rows), ("c", 50));
/// assert_eq!(report.nonzeros, heads.heads.iter().map(|head| head.nonzeros).sum::<usize>());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeadsReport {
    /// `ovr`, `softmax` or `labels`.
    pub kind: String,
    /// Heads that diverged and therefore have no weights.
    pub dropped: Vec<String>,
    /// One entry per class or label.
    pub heads: Vec<HeadReport>,
}

/// Results of one head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeadReport {
    /// Name of the class or label.
    pub name: String,
    /// Number of training rows with this class or label.
    pub rows: usize,
    /// Number of non-zero weights of the head.
    pub nonzeros: usize,
    /// The head's part of the mean loss. For softmax, the part of the rows of its class.
    #[serde(with = "measured")]
    pub loss: f64,
}

/// A penalty that was tried.
///
/// ```
/// use lazyglm::{Settings, Solver, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let settings = Settings { solver: Solver::Auto, choose_penalty: true, ..Settings::default() };
/// let report = train(&task, None, &settings, &mut |_| {}).unwrap().report;
/// let chosen = report.tried.iter().find(|point| point.chosen).unwrap();
/// assert_eq!((chosen.l1, chosen.l2), (report.l1, report.l2));
/// assert!(report.tried.iter().all(|point| chosen.loss < 1.01 * point.loss));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The solver that was used.
    pub solver: Solver,
    /// λ₁.
    #[serde(with = "measured")]
    pub l1: f64,
    /// λ₂.
    #[serde(with = "measured")]
    pub l2: f64,
    /// The mean loss on held-out rows.
    #[serde(with = "measured")]
    pub loss: f64,
    /// The standard error of this mean, over rows.
    #[serde(default, with = "measured")]
    pub se: f64,
    /// Number of non-zero weights.
    pub nonzeros: usize,
    /// Number of training rows.
    pub rows: usize,
    /// Time that it took, in seconds, while others ran at the same time; NaN if models were trained together.
    #[serde(default, with = "measured")]
    pub seconds: f64,
    /// Whether this penalty was chosen.
    pub chosen: bool,
}

/// Serialises a figure that was not measured as null, because JSON has no NaN.
mod measured {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(figure: &f64, to: S) -> Result<S::Ok, S::Error> {
        Some(*figure).filter(|figure| figure.is_finite()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
    }
}

/// Why a run stopped.
///
/// ```
/// use lazyglm::{Settings, Stop, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let report = train(&task, None, &Settings::default(), &mut |_| {}).unwrap().report;
/// assert_eq!(report.stop, Stop::Epochs);
/// assert_eq!(serde_json::to_value(Stop::EarlyStop).unwrap(), "early-stop");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stop {
    /// All requested epochs were run.
    Epochs,
    /// The validation loss did not improve for the requested number of epochs.
    EarlyStop,
    /// The relative duality gap is within the tolerance, which certifies the distance from the optimum.
    Gap,
    /// The estimated distance from the optimum is below a third of the tolerance. Used if λ₂ = 0, where the
    /// gap is loose.
    #[serde(rename = "promise")]
    PredictedDecrease,
    /// F stopped decreasing in this precision before the tolerance was reached.
    Precision,
    /// The maximum number of Newton steps was reached before the tolerance.
    Steps,
    /// The objective has no minimum: there is no penalty, and the weights separate the classes, or all counts are zero.
    NoMinimum,
    /// The run was interrupted.
    Interrupted,
}

/// Results of a run on validation data.
///
/// ```
/// use lazyglm::{Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 600, features: 100, ..Default::default() }).task;
/// let (learnt, held_out): (Vec<_>, Vec<_>) = ((0..500).collect(), (500..600).collect());
/// let (learnt, held_out) = (task.select(&learnt), task.select(&held_out));
/// let report = train(&learnt, Some(&held_out), &Settings::default(), &mut |_| {}).unwrap().report;
/// let validation = report.validation.unwrap();
/// let best = &report.history[validation.best_epoch as usize - 1];
/// assert!(report.history.iter().all(|epoch| best.validation_loss <= epoch.validation_loss));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Mean validation loss of the returned model.
    #[serde(with = "measured")]
    pub loss: f64,
    /// The epoch (counted from 1) with the lowest validation loss.
    pub best_epoch: u64,
}

/// Results of one epoch.
///
/// ```
/// use lazyglm::{Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let history = train(&task, None, &Settings::default(), &mut |_| {}).unwrap().report.history;
/// assert!(history[4].running_loss < history[0].running_loss, "it learns");
/// assert_eq!(history[0].validation_loss, None, "nothing was held out");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// The running loss: the mean over sampled rows, each before it was learnt. `None` if the mean is not
    /// finite.
    pub running_loss: Option<f64>,
    /// The validation loss after the epoch.
    pub validation_loss: Option<f64>,
}
