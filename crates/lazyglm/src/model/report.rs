//! What a training run has to say: plain data, printed elsewhere.

use crate::problem::solvers::Solver;
use serde::{Deserialize, Serialize};

/// Figures of a finished run. What has not been measured, because the rows were not at hand any more, is NaN.
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
    /// F on all training rows: loss + penalty.
    #[serde(with = "measured")]
    pub objective: f64,
    /// The mean loss.
    #[serde(with = "measured")]
    pub loss: f64,
    /// λ₁‖w‖₁ + ½λ₂‖w‖².
    #[serde(with = "measured")]
    pub penalty: f64,
    /// F without any weights: see [`crate::eval::objective::baseline`].
    #[serde(with = "measured")]
    pub baseline: f64,
    /// How far the weights are from a minimum: see [`crate::eval::objective::violation`].
    #[serde(with = "measured")]
    pub violation: f64,
    /// A value that no weights can get F below: see [`crate::eval::objective::Certificate`]; `None` without a penalty, and for
    /// rows that were not held in memory.
    #[serde(default)]
    pub dual: Option<f64>,
    /// (F − dual)/|F|.
    #[serde(default)]
    pub relative_gap: Option<f64>,
    /// Newton's method: what its last step promised to gain, relative to F.
    #[serde(default, rename = "promise")]
    pub predicted_decrease: Option<f64>,
    /// λ₁ and λ₂, as given or as chosen.
    #[serde(default, with = "measured")]
    pub l1: f64,
    /// The same.
    #[serde(default, with = "measured")]
    pub l2: f64,
    /// Where the penalty was chosen: what was tried, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// The smallest λ₁ at which all weights are zero: see [`crate::eval::objective::l1_max`].
    #[serde(with = "measured")]
    pub l1_max: f64,
    /// Weights that are not zero, without the bias.
    pub nonzeros: usize,
    /// d.
    pub features: usize,
    /// Training rows.
    pub rows: usize,
    /// Epochs run; steps of Newton's method.
    pub epochs: u64,
    /// How many runs the weights are the mean of, each in an order of its own.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub runs: u64,
    /// The starting rate; 0 for a solver without one.
    #[serde(with = "measured")]
    pub eta0: f64,
    /// Reading the data, in seconds.
    pub seconds_read: f64,
    /// From the first row learnt to weights settled, in seconds.
    pub seconds_train: f64,
    /// The solver.
    pub solver: Solver,
    /// Why it stopped.
    pub stop: Stop,
    /// Held-out figures.
    pub validation: Option<Validation>,
    /// The loss before each epoch's rows were learnt (a sample of them), epoch by epoch.
    pub history: Vec<Epoch>,
    /// With many classes or labels: how they fared. F, loss and penalty are then sums over them, violation and l1_max the
    /// greatest of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<HeadsReport>,
}

fn one() -> u64 {
    1
}

fn is_one(runs: &u64) -> bool {
    *runs == 1
}

/// Figures of a run with a head for each class or label.
///
/// ```
/// use lazyglm::{Dataset, Declared, HeadKind, Settings, train::classes::{ClassTask, Room, train}};
/// let file = std::env::temp_dir().join("lazyglm-doc-heads-report.svm");
/// std::fs::write(&file, "a 1:1\nb 2:1\nc 3:1\n".repeat(50)).unwrap();
/// let data = Dataset::read(&file, Declared::default()).unwrap();
/// let (task, settings) = (ClassTask::new(data, HeadKind::Ovr, None, None, None).unwrap(), Settings::default());
/// let room = Room::plan(&task, settings.precision, None).unwrap();
/// let report = train(&task, None, &settings, room, false, &mut |_| {}).unwrap().report;
/// let heads = report.heads.unwrap();
/// assert_eq!((heads.heads[2].name.as_str(), heads.heads[2].rows), ("c", 50));
/// assert_eq!(report.nonzeros, heads.heads.iter().map(|head| head.nonzeros).sum::<usize>());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadsReport {
    /// `ovr`, `softmax` or `labels`.
    pub kind: String,
    /// Heads that diverged: they have no weights.
    pub dropped: Vec<String>,
    /// One a class or label.
    pub heads: Vec<HeadReport>,
}

/// Figures of one head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadReport {
    /// The class or label.
    pub name: String,
    /// Training rows that have it.
    pub rows: usize,
    /// Its weights that are not zero.
    pub nonzeros: usize,
    /// Its part of the mean loss; with softmax, that of its own rows.
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
    /// How it was learnt.
    pub solver: Solver,
    /// λ₁.
    #[serde(with = "measured")]
    pub l1: f64,
    /// λ₂.
    #[serde(with = "measured")]
    pub l2: f64,
    /// The mean loss of rows that were held out from it.
    #[serde(with = "measured")]
    pub loss: f64,
    /// Weights that were not zero.
    pub nonzeros: usize,
    /// Rows learnt.
    pub rows: usize,
    /// Whether it is the one that was chosen.
    pub chosen: bool,
}

/// A figure, or null for one that was not measured: JSON has no NaN.
mod measured {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(figure: &f64, to: S) -> Result<S::Ok, S::Error> {
        Some(*figure).filter(|figure| figure.is_finite()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
    }
}

/// Why a run ended.
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
pub enum Stop {
    /// All epochs asked for were run.
    Epochs,
    /// The validation loss had not improved for as many epochs as asked.
    EarlyStop,
    /// The relative duality gap is within the tolerance: the distance from the minimum is proved.
    Gap,
    /// With λ₂ = 0, where the gap is loose: a Newton step promised to gain less than a tenth of the tolerance.
    #[serde(rename = "promise")]
    PredictedDecrease,
    /// F fell no further in this precision, and the tolerance was not reached.
    Precision,
    /// All Newton steps were made, and the tolerance was not reached.
    Steps,
    /// Somebody said so before the end.
    Interrupted,
}

/// Held-out figures of a run.
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Mean held-out loss of the model returned.
    #[serde(with = "measured")]
    pub loss: f64,
    /// The epoch (from 1) with the lowest held-out loss.
    pub best_epoch: u64,
}

/// One epoch of a run.
///
/// ```
/// use lazyglm::{Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let history = train(&task, None, &Settings::default(), &mut |_| {}).unwrap().report.history;
/// assert!(history[4].running_loss < history[0].running_loss, "it learns");
/// assert_eq!(history[0].validation_loss, None, "nothing was held out");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Its running loss: the mean over sampled rows, each before it was learnt; `None` if that is not finite.
    pub running_loss: Option<f64>,
    /// The held-out loss after it.
    pub validation_loss: Option<f64>,
}
