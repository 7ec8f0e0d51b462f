//! The progress of a training run, as passed to the callback of `train`.

/// The progress of a training run, as passed to the callback of `train`.
///
/// ```
/// use lazyglm::{Progress, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let mut shares = Vec::new();
/// let mut watch = |at: &Progress| shares.extend(at.epoch_ends.then(|| at.learnt as f64 / at.total as f64));
/// train(&task, None, &Settings::default(), &mut watch).unwrap();
/// assert_eq!(shares, [0.2, 0.4, 0.6, 0.8, 1.0]);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// The epoch, from 1.
    pub epoch: u64,
    /// The largest number of epochs.
    pub epochs: u64,
    /// Rows trained on so far, in all epochs.
    pub learnt: u64,
    /// Rows to train on, in all epochs.
    pub total: u64,
    /// The mean loss of recent rows, each taken before the step on it.
    pub running_loss: f64,
    /// The number of non-zero weights at the last count: after each epoch, and every few seconds.
    pub nonzeros: Option<usize>,
    /// The held-out loss after the last complete epoch.
    pub validation_loss: Option<f64>,
    /// Whether this is the last call for the epoch.
    pub epoch_ends: bool,
    /// What an epoch stands for.
    pub stage: Stage,
}

/// The stage of a training run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Stochastic steps: an epoch is a pass over the rows.
    Learning,
    /// Newton's method: an epoch is a Newton step, and the running loss is the objective.
    Minimising,
    /// Choice of a penalty: an epoch is one penalty that was tried.
    Choosing,
}

impl Progress {
    pub(super) fn start(epochs: u64, rows: u64) -> Progress {
        Progress {
            epoch: 1,
            epochs,
            learnt: 0,
            total: epochs.saturating_mul(rows),
            running_loss: f64::NAN,
            nonzeros: None,
            validation_loss: None,
            epoch_ends: false,
            stage: Stage::Learning,
        }
    }
}
