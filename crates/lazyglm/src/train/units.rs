//! Units of work that a checkpoint keeps: see [`crate::util::checkpoint`].

use crate::eval::objective::{Certificate, Worst};
use crate::model::report::{Epoch, Stop, Validation};
use crate::optim::learning_rate_search::Candidate;
use crate::optim::newton::{NewtonStop, Solution};
use crate::problem::settings::Settings;
use crate::problem::source::Source;
use crate::problem::task::Task;
use crate::util::checkpoint::{Checkpoint, Key};
use crate::util::error::Result;
use crate::util::state::{Fields, State};
use std::sync::Arc;

/// The place of a unit in a checkpoint.
#[derive(Clone)]
pub struct Unit {
    /// The checkpoint.
    pub checkpoint: Arc<Checkpoint>,
    /// The key of the unit.
    pub key: Key,
}

impl Unit {
    /// The unit of some work on these rows with these settings, if there is a checkpoint.
    pub(super) fn of(
        settings: &Settings,
        work: &str,
        source: &dyn Source,
        validation: Option<&Task>,
    ) -> Result<Option<Unit>> {
        let Some(checkpoint) = settings.checkpoint.clone() else { return Ok(None) };
        let key = Key::of(work).and_key(settings.key()).and_key(source.fingerprint()?);
        let key = match validation {
            None => key,
            Some(task) => key.and_key(task.fingerprint()?),
        };
        Ok(Some(Unit { checkpoint, key }))
    }

    /// The key of the result, once the work is done.
    pub(super) fn done(&self) -> Key {
        self.key.and_bytes(b"done")
    }

    /// Keeps the result, and drops the state of the unfinished work.
    pub(super) fn finish(&self, result: &mut impl State) {
        self.checkpoint.replace(&mut [(self.done(), Fields::write(result))], &[self.key]);
    }
}

/// Computes a result once: a checkpoint that has it gives it back. An interrupted result is not kept.
pub(super) fn once<T: State + Default>(
    settings: &Settings,
    key: impl FnOnce() -> Result<Key>,
    compute: impl FnOnce() -> Option<T>,
) -> Result<Option<T>> {
    let Some(checkpoint) = &settings.checkpoint else { return Ok(compute()) };
    let (key, mut known) = (key()?, Some(T::default()));
    if checkpoint.find(key, &mut known)? {
        return Ok(known);
    }
    let mut result = compute();
    if !settings.interrupted() {
        checkpoint.put(key, &mut result);
    }
    Ok(result)
}

/// One of a list of values, by its number.
fn one_of<T: Copy + PartialEq>(value: &mut T, all: &[T], fields: &mut Fields) {
    let mut number = all.iter().position(|one| one == value).unwrap_or(0) as u8;
    number.fields(fields);
    match all.get(usize::from(number)) {
        Some(one) => *value = *one,
        None => fields.refuse(),
    }
}

impl State for Stop {
    fn fields(&mut self, fields: &mut Fields) {
        use Stop::*;
        let all = [Epochs, EarlyStop, Gap, PredictedDecrease, Precision, Steps, NoMinimum, Interrupted];
        one_of(self, &all, fields);
    }
}

impl State for NewtonStop {
    fn fields(&mut self, fields: &mut Fields) {
        use NewtonStop::*;
        one_of(self, &[Gap, PredictedDecrease, Precision, Steps, Interrupted, NoMinimum, Diverged], fields);
    }
}

impl State for Candidate {
    fn fields(&mut self, fields: &mut Fields) {
        self.kind.fields(fields);
        self.eta.fields(fields);
    }
}

impl State for Epoch {
    fn fields(&mut self, fields: &mut Fields) {
        self.running_loss.fields(fields);
        self.validation_loss.fields(fields);
    }
}

impl State for Validation {
    fn fields(&mut self, fields: &mut Fields) {
        self.loss.fields(fields);
        self.best_epoch.fields(fields);
    }
}

impl State for Certificate {
    fn fields(&mut self, fields: &mut Fields) {
        self.objective.fields(fields);
        self.dual.fields(fields);
        self.relative_gap.fields(fields);
        self.kkt.fields(fields);
        let (mut kind, mut column) = match self.worst {
            Worst::Nowhere => (0u8, 0),
            Worst::Bias => (1, 0),
            Worst::Column(column) => (2, column),
        };
        kind.fields(fields);
        column.fields(fields);
        fields.require(kind <= 2 && column <= fields.columns());
        self.worst = match kind {
            0 => Worst::Nowhere,
            1 => Worst::Bias,
            _ => Worst::Column(column),
        };
    }
}

impl State for Solution {
    fn fields(&mut self, fields: &mut Fields) {
        self.weights.fields(fields);
        self.bias.fields(fields);
        self.stop.fields(fields);
        self.steps.fields(fields);
        self.predicted_decrease.fields(fields);
        self.dual.fields(fields);
    }
}
