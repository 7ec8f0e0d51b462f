//! The loop over epochs, the only one of the project.
//!
//! ```text
//! for each epoch     look at all rows, if the model asks for it; stop if it has converged
//!     for each batch of the source, in the epoch's order
//!         learn some rows; ask the stop rule
//!     ask the stop rule
//! ```
//!
//! What is trained implements [`Fit`]: one model, a block of lanes, a softmax, a grid of lanes. Where the rows are is the
//! [`Source`]'s business; held-out losses, early stopping, deadlines and progress are the [`StopRule`]'s.

use super::units::Unit;
use crate::model::report::Stop;
use crate::optim::learner::Converged;
use crate::optim::sgd::{Diverged, Sample};
use crate::problem::source::{Batch, Sequence, Source};
use crate::util::error::{Error, Place, Result};
use crate::util::state::{Fields, State};
use std::time::{Duration, Instant};

/// What is trained, one batch of rows at a time.
pub trait Fit {
    /// Trains on these rows of the batch, in this order; returns a sample of their losses, each taken before the step on its row.
    fn learn(&mut self, batch: &Batch, order: &[u32]) -> std::result::Result<Sample, Diverged>;

    /// Called before each epoch, for models that need to see all rows first.
    fn look(&mut self, _source: &dyn Source) -> Result<()> {
        Ok(())
    }

    /// Whether the model needs no further epoch, and why.
    fn converged(&self) -> Option<Converged> {
        None
    }

    /// The state, for a checkpoint. A model that cannot be written refuses, and then nothing is kept.
    fn fields(&mut self, fields: &mut Fields) {
        fields.refuse();
    }

    /// Whether [`Fit::visits`] resamples orders: the state is then kept after whole epochs alone.
    fn resamples(&self) -> bool {
        false
    }

    /// Resamples the order of a batch, for models that use importance sampling.
    fn visits(&mut self, _batch: &Batch) -> Option<Vec<u32>> {
        None
    }
}

/// The number of epochs, and the order of their rows.
#[derive(Clone, Copy, Debug)]
pub struct Epochs {
    /// Epochs of earlier calls: the order of rows is determined by the seed and the epoch.
    pub before: u64,
    /// The largest number of epochs.
    pub most: u64,
    /// The order of rows.
    pub sequence: Sequence,
    /// Number of rows between two calls of the stop rule.
    pub stride: usize,
}

/// The progress of an epoch.
#[derive(Clone, Debug, Default)]
pub struct Position {
    /// The epoch, from 1.
    pub epoch: u64,
    /// Rows trained on in this epoch.
    pub rows: usize,
    /// Sampled losses of this epoch, each taken before the step on its row.
    pub sample: Sample,
    /// Time spent on this epoch so far.
    pub elapsed: Duration,
    /// The reason why the epoch ends early, if it does.
    pub stop: Option<Stop>,
    /// The place in the file of the last row.
    pub last: Place,
}

/// A stop rule: called during and after each epoch, it decides when training ends.
pub trait StopRule<F: ?Sized> {
    /// Called after some rows of an epoch; a reason ends the epoch and the run.
    fn after_part(&mut self, _model: &mut F, _at: &Position) -> Result<Option<Stop>> {
        Ok(None)
    }

    /// Called after each epoch; a reason ends the run.
    fn after_epoch(&mut self, model: &mut F, at: &Position) -> Result<Option<Stop>>;

    /// Where a checkpoint keeps the state of the run, if there is one.
    fn unit(&self) -> Option<Unit> {
        None
    }

    /// The state of the rule, for a checkpoint.
    fn fields(&mut self, fields: &mut Fields) {
        fields.refuse();
    }

    /// The error for a model that diverged.
    fn diverged(&self, at: Diverged, place: Place, epoch: u64) -> Error;
}

/// How far a run is: rows of an epoch, and their sampled losses.
#[derive(Clone, Copy, Default)]
struct Begun {
    epoch: u64,
    rows: usize,
    sample: Sample,
}

/// The whole state of a run.
struct Whole<'a, F: ?Sized> {
    model: &'a mut F,
    rule: &'a mut dyn StopRule<F>,
    begun: &'a mut Begun,
    most: u64, // the number of epochs
}

impl<F: Fit + ?Sized> State for Whole<'_, F> {
    fn fields(&mut self, fields: &mut Fields) {
        self.begun.epoch.fields(fields);
        self.begun.rows.fields(fields);
        self.begun.sample.fields(fields);
        self.model.fields(fields);
        self.rule.fields(fields);
        fields.require((1..=self.most).contains(&self.begun.epoch));
    }
}

/// Trains until the epochs are over, the model has converged, or the rule stops the run; returns why.
pub fn fit<F: Fit + ?Sized>(
    model: &mut F,
    source: &dyn Source,
    epochs: &Epochs,
    rule: &mut dyn StopRule<F>,
) -> Result<Stop> {
    let unit = rule.unit();
    let mut begun = Begun { epoch: 1, ..Begun::default() };
    if let Some(Unit { checkpoint, key }) = &unit {
        checkpoint.find(*key, &mut Whole { model, rule, begun: &mut begun, most: epochs.most })?;
    }
    let keep = |model: &mut F, rule: &mut dyn StopRule<F>, mut begun: Begun| {
        if let Some(Unit { checkpoint, key }) = &unit {
            checkpoint.put(*key, &mut Whole { model, rule, begun: &mut begun, most: epochs.most });
        }
    };
    for epoch in begun.epoch..=epochs.most {
        let started = Instant::now();
        let Begun { rows, sample, .. } = if begun.epoch == epoch { begun } else { Begun::default() };
        if rows == 0 {
            model.look(source)?;
        }
        if let Some(converged) = model.converged().filter(|_| rows == 0) {
            let stop = match converged {
                Converged::Gap => Stop::Gap,
                Converged::PredictedDecrease => Stop::PredictedDecrease,
            };
            let at = Position { epoch, elapsed: started.elapsed(), stop: Some(stop), ..Position::default() };
            return rule.after_epoch(model, &at).map(|_| stop);
        }
        let mut at = Position { epoch, rows, sample, ..Position::default() };
        let mut skipped = rows;
        source.epoch(epochs.sequence, epochs.before + epoch - 1, &mut |batch| {
            if at.stop.is_some() {
                return Ok(()); // the run has ended: the window is not needed
            }
            let visits = model.visits(batch);
            let order = visits.as_deref().unwrap_or(batch.order);
            let known = skipped.min(order.len()); // rows that the checkpoint has learnt
            skipped -= known;
            for part in order[known..].chunks(epochs.stride.max(1)) {
                let more = model.learn(batch, part);
                let more = more.map_err(|lost| rule.diverged(lost, (batch.place)(lost.row), epoch))?;
                (at.sample, at.rows) = (at.sample.and(more), at.rows + part.len());
                at.stop = rule.after_part(model, &at)?;
                let due = unit.as_ref().is_some_and(|unit| at.stop.is_some() || unit.checkpoint.is_due());
                if due && !model.resamples() {
                    keep(model, rule, Begun { epoch, rows: at.rows, sample: at.sample });
                }
                if at.stop.is_some() {
                    break;
                }
            }
            at.last = batch.order.last().map_or(Place::default(), |&i| (batch.place)(i as usize));
            Ok(())
        })?;
        at.elapsed = started.elapsed();
        let stop = rule.after_epoch(model, &at)?;
        // The end of the run is not kept: its result is, by the caller.
        if at.stop.is_none() && epoch < epochs.most && stop.is_none_or(|stop| stop == Stop::Interrupted) {
            keep(model, rule, Begun { epoch: epoch + 1, ..Begun::default() });
        }
        if let Some(stop) = stop.or(at.stop) {
            return Ok(stop);
        }
    }
    Ok(Stop::Epochs)
}
