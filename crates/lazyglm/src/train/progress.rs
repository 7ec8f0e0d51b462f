//! What a watcher sees while a run is going on.

/// What a watcher sees while a run is going on.
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
pub struct Progress {
    /// The epoch, from 1.
    pub epoch: u64,
    /// Of so many.
    pub epochs: u64,
    /// Rows learnt in all epochs so far.
    pub learnt: u64,
    /// Rows to learn in all epochs.
    pub total: u64,
    /// The loss of recent rows, before each was learnt.
    pub running_loss: f64,
    /// Non-zero weights when they were last counted: at the end of an epoch, and every few seconds.
    pub nonzeros: Option<usize>,
    /// The held-out loss at the end of the last whole epoch.
    pub validation_loss: Option<f64>,
    /// Whether this is the last word on its epoch.
    pub epoch_ends: bool,
    /// What an epoch is here.
    pub stage: Stage,
}

/// What a run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Going through the rows; an epoch is an epoch.
    Learning,
    /// Finding the minimum; an epoch is a step, and the running loss is F.
    Minimising,
    /// Choosing a penalty; an epoch is one that was tried.
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
