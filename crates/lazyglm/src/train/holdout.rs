//! The stop rule of `train`: held-out loss after each epoch, early stopping that keeps the best epoch, interruption, progress.
//!
//! Heads that do not depend on each other are units: each has a best epoch of its own, as a model alone would.

use super::epoch_loop::{Epochs, Fit, Position, StopRule, fit};
use super::progress::Progress;
use super::units::Unit;
use crate::eval::objective;
use crate::model::report::{Epoch, Stop, Validation};
use crate::optim::learner::Learner;
use crate::optim::sgd::{Diverged, SAMPLED, Sample};
use crate::problem::heads::Head;
use crate::problem::loss::Loss;
use crate::problem::settings::Settings;
use crate::problem::source::{Batch, Sequence, Source};
use crate::problem::task::Task;
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::state::{Fields, State};
use std::time::{Duration, Instant};

/// Number of rows between two checks of the clock.
const STRIDE: usize = 8192;
/// Time between two counts of the non-zero weights in a long epoch.
const COUNT_EVERY: Duration = Duration::from_secs(2);

/// The sampling interval of the running loss: every n-th row. Small data are sampled in full.
pub(super) fn sampled(rows: usize) -> u64 {
    if rows < STRIDE { 1 } else { SAMPLED }
}

/// A model that [`Holdout`] can evaluate after each epoch.
pub(super) trait Evaluated: Fit {
    /// The number of steps so far.
    fn t(&self) -> u64;

    /// The number of groups of heads that stop independently of each other.
    fn units(&self) -> usize {
        1
    }

    /// Settles the weights and evaluates them, on the held-out rows if there are any.
    fn evaluate(&mut self, validation: Option<&Task>) -> Evaluation;

    /// The heads of a unit at the last evaluation.
    fn heads(&self, unit: usize) -> Vec<Head>;

    /// The number of non-zero weights, if counting them is cheap.
    fn nonzeros(&self) -> Option<usize>;

    /// A number that tells apart models of one kind that learn from the same rows with the same settings.
    fn number(&self) -> u64 {
        0
    }

    /// The units that diverged and were stopped, while others went on.
    fn lost(&self) -> Vec<(usize, Diverged)> {
        Vec::new()
    }

    /// Rows learnt between two looks at the clock.
    fn stride(&self) -> usize {
        STRIDE
    }
}

/// The result of [`Evaluated::evaluate`].
pub(super) struct Evaluation {
    /// Whether all weights are finite.
    pub finite: bool,
    /// The number of non-zero weights, if they were counted.
    pub nonzeros: Option<usize>,
    /// The held-out loss of each unit.
    pub losses: Option<Vec<f64>>,
}

/// The trained heads and the history of their training.
#[derive(Clone)]
pub(super) struct Fitted {
    pub heads: Vec<Head>,
    pub epochs: u64,
    pub stop: Stop,
    pub seconds: f64,
    pub validation: Option<Validation>,
    pub history: Vec<Epoch>,
    /// The units that diverged and were stopped, while others went on.
    pub lost: Vec<(usize, Diverged)>,
}

impl Default for Fitted {
    fn default() -> Fitted {
        Fitted {
            heads: Vec::new(),
            epochs: 0,
            stop: Stop::Epochs,
            seconds: 0.0,
            validation: None,
            history: Vec::new(),
            lost: Vec::new(),
        }
    }
}

impl State for Fitted {
    fn fields(&mut self, fields: &mut Fields) {
        self.heads.fields(fields);
        self.epochs.fields(fields);
        self.stop.fields(fields);
        self.seconds.fields(fields);
        self.validation.fields(fields);
        self.history.fields(fields);
        self.lost.fields(fields);
    }
}

/// The stop rule of one training run.
pub(super) struct Holdout<'a> {
    pub settings: &'a Settings,
    pub validation: Option<&'a Task>,
    /// The advice to give if the run diverges.
    pub slower: String,
    /// Seconds spent before the first epoch.
    pub spent: f64,
    pub watch: &'a mut (dyn FnMut(&Progress) + Send),
}

impl Holdout<'_> {
    /// Trains a model on a source.
    pub fn fit<M: Evaluated>(self, model: &mut M, source: &dyn Source) -> Result<Fitted> {
        let settings = self.settings;
        let unit = Unit::of(settings, std::any::type_name::<M>(), source, self.validation)?;
        let unit = unit.map(|unit| Unit { key: unit.key.and(model.number()), ..unit });
        if let Some(unit) = &unit {
            let mut fitted = Fitted::default();
            let heads: usize = (0..model.units()).map(|k| model.heads(k).len()).sum();
            if unit.checkpoint.find(unit.done(), &mut fitted)? && fitted.heads.len() == heads {
                return Ok(fitted);
            }
        }
        if settings.interrupted() {
            return Err(Kind::Interrupted.into());
        }
        let none = (0, f64::INFINITY);
        let group = |_| Group { best: none, gained: none, last: f64::INFINITY, kept: None, stopped: false };
        let rows = source.rows();
        let mut run = Run {
            progress: Progress::start(settings.epochs, rows as u64),
            rows: rows as u64,
            history: Vec::new(),
            units: (0..model.units()).map(group).collect(),
            seconds: self.spent,
            counted: Instant::now(),
            unit: unit.clone(),
            rule: self,
        };
        let epochs = Epochs {
            before: 0,
            most: settings.epochs,
            sequence: Sequence::of(settings),
            stride: model.stride(),
        };
        let stop = fit(model, source, &epochs, &mut run)?;
        let stopped = run.units.iter().any(|unit| unit.stopped);
        let validation = run.progress.validation_loss.map(|_| Validation {
            loss: run.units.iter().map(|unit| unit.loss(settings.early_stop.is_some())).sum(),
            best_epoch: match &run.units[..] {
                [unit] => unit.best.0,
                _ => best_epoch(&run.history),
            },
        });
        let heads = |(k, unit): (usize, Group)| unit.kept.unwrap_or_else(|| model.heads(k));
        let mut fitted = Fitted {
            heads: run.units.into_iter().enumerate().flat_map(heads).collect(),
            epochs: run.history.len() as u64,
            stop: if stopped && stop == Stop::Epochs { Stop::EarlyStop } else { stop },
            seconds: run.seconds,
            validation,
            history: run.history,
            lost: model.lost(),
        };
        if let Some(unit) = unit.filter(|_| stop != Stop::Interrupted) {
            unit.finish(&mut fitted);
        }
        Ok(fitted)
    }
}

/// The epoch (from 1) with the lowest held-out loss.
pub(super) fn best_epoch(history: &[Epoch]) -> u64 {
    let losses = history.iter().map(|epoch| epoch.validation_loss.unwrap_or(f64::INFINITY));
    (1..).zip(losses).min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(epoch, _)| epoch)
}

/// A group of heads that stop together.
struct Group {
    best: (u64, f64),   // epoch and held-out loss of the best epoch
    gained: (u64, f64), // the same of the last epoch that was a gain
    last: f64,
    kept: Option<Vec<Head>>, // the heads of the best epoch
    stopped: bool,
}

impl State for Group {
    fn fields(&mut self, fields: &mut Fields) {
        self.best.fields(fields);
        self.gained.fields(fields);
        self.last.fields(fields);
        self.kept.fields(fields);
        self.stopped.fields(fields);
    }
}

impl Group {
    fn loss(&self, keeps_best: bool) -> f64 {
        if keeps_best { self.best.1 } else { self.last }
    }
}

/// The state of the stop rule during a run.
struct Run<'a> {
    rule: Holdout<'a>,
    progress: Progress,
    rows: u64,
    history: Vec<Epoch>,
    units: Vec<Group>,
    unit: Option<Unit>, // of the checkpoint
    seconds: f64,
    counted: Instant,
}

impl Run<'_> {
    /// Records the held-out losses of an epoch and returns their sum; a unit that has stopped counts with its best loss.
    fn see(&mut self, model: &impl Evaluated, epoch: u64, losses: &[f64]) -> f64 {
        let Settings { early_stop: patience, least_gain, .. } = *self.rule.settings;
        let (mut sum, alone) = (0.0, self.units.len() == 1);
        for (k, (unit, &loss)) in self.units.iter_mut().zip(losses).enumerate() {
            if !unit.stopped {
                unit.last = loss;
                if unit.best.0 == 0 || loss < unit.best.1 {
                    unit.best = (epoch, loss);
                    unit.kept = patience.map(|_| model.heads(k));
                }
                if unit.gained.0 == 0 || loss < unit.gained.1 - least_gain * unit.gained.1.abs() {
                    unit.gained = (epoch, loss);
                }
                unit.stopped = patience.is_some_and(|patience| epoch - unit.gained.0 >= patience);
            }
            sum += if unit.stopped && !alone { unit.best.1 } else { loss };
        }
        sum
    }

    fn refuse(&self, place: Place, epoch: u64, step: u64, what: String) -> Error {
        Kind::Diverged { place, epoch, step, what, hint: self.rule.slower.clone() }.into()
    }
}

impl<M: Evaluated> StopRule<M> for Run<'_> {
    fn after_part(&mut self, model: &mut M, at: &Position) -> Result<Option<Stop>> {
        let learnt = (at.epoch - 1) * self.rows + at.rows as u64;
        (self.progress.epoch, self.progress.epoch_ends) = (at.epoch, false);
        self.progress.learnt = learnt.min(at.epoch * self.rows);
        self.progress.running_loss = at.sample.mean();
        if self.counted.elapsed() > COUNT_EVERY {
            self.progress.nonzeros = model.nonzeros().or(self.progress.nonzeros);
            self.counted = Instant::now();
        }
        (self.rule.watch)(&self.progress);
        Ok(self.rule.settings.interrupted().then_some(Stop::Interrupted))
    }

    fn after_epoch(&mut self, model: &mut M, at: &Position) -> Result<Option<Stop>> {
        let started = Instant::now();
        let converged = matches!(at.stop, Some(Stop::Gap | Stop::PredictedDecrease));
        let Evaluation { finite, nonzeros, losses } = model.evaluate(self.rule.validation);
        self.seconds += at.elapsed.as_secs_f64();
        if at.epoch == self.rule.settings.epochs || converged {
            self.seconds += started.elapsed().as_secs_f64(); // before the end, weights are settled only to look at them
        }
        if !finite {
            // A weight that overflowed on the last rows has not been scored since.
            let lost = Diverged { row: 0, t: model.t().saturating_sub(1), score: f64::INFINITY, slope: 0.0 };
            return Err(StopRule::<M>::diverged(self, lost, at.last.clone(), at.epoch));
        }
        if let (Some([loss]), Some(task)) = (losses.as_deref(), self.rule.validation)
            && !loss.is_finite()
        {
            let what = format!("the held-out loss became {loss}");
            return Err(self.refuse(task.data.file(), at.epoch, model.t(), what));
        }
        if converged {
            self.progress.validation_loss = losses.map(|losses| losses.iter().sum());
            if let Some(loss) = self.progress.validation_loss {
                self.units.iter_mut().for_each(|unit| unit.last = loss);
            }
            return Ok(None);
        }
        let validation_loss = losses.map(|losses| self.see(model, at.epoch, &losses));
        let finite = |loss: f64| Some(loss).filter(|loss| loss.is_finite());
        self.history.push(Epoch {
            running_loss: finite(at.sample.mean()),
            validation_loss: validation_loss.and_then(finite),
        });
        self.progress.nonzeros = nonzeros.or(self.progress.nonzeros);
        (self.progress.validation_loss, self.progress.epoch_ends) = (validation_loss, true);
        (self.rule.watch)(&self.progress);
        if self.units.iter().all(|unit| unit.stopped) {
            return Ok(Some(Stop::EarlyStop));
        }
        Ok(self.rule.settings.interrupted().then_some(Stop::Interrupted))
    }

    fn unit(&self) -> Option<Unit> {
        self.unit.clone()
    }

    fn fields(&mut self, fields: &mut Fields) {
        self.history.fields(fields);
        fields.fixed(&mut self.units);
        self.seconds.fields(fields);
        self.progress.validation_loss.fields(fields);
    }

    fn diverged(&self, at: Diverged, place: Place, epoch: u64) -> Error {
        let what = match at.score.is_finite() {
            true => format!("the slope of the loss became {}", at.slope),
            false => format!("the score became {}", at.score),
        };
        self.refuse(place, epoch, at.t, what)
    }
}

/// One model with its loss.
pub(super) struct One<'a, L> {
    pub loss: &'a dyn Loss,
    pub model: L,
    settled: Vec<f64>,
}

impl<'a, L: Learner> One<'a, L> {
    pub fn new(loss: &'a dyn Loss, model: L) -> One<'a, L> {
        One { loss, model, settled: Vec::new() }
    }
}

impl<L: Learner> Fit for One<'_, L> {
    fn learn(&mut self, batch: &Batch, order: &[u32]) -> std::result::Result<Sample, Diverged> {
        self.model.learn(self.loss, batch.examples(), order)
    }

    fn look(&mut self, source: &dyn Source) -> Result<()> {
        self.model.look(self.loss, &mut |see| {
            source.pass(&mut |batch| {
                see(batch.examples());
                Ok(())
            })
        })
    }

    fn converged(&self) -> Option<crate::optim::learner::Converged> {
        self.model.converged()
    }

    fn fields(&mut self, fields: &mut Fields) {
        self.model.fields(fields);
    }

    fn resamples(&self) -> bool {
        self.model.resamples()
    }

    fn visits(&mut self, batch: &Batch) -> Option<Vec<u32>> {
        self.model.visits(batch.examples(), batch.order)
    }
}

impl<L: Learner> Evaluated for One<'_, L> {
    fn t(&self) -> u64 {
        self.model.t()
    }

    fn evaluate(&mut self, validation: Option<&Task>) -> Evaluation {
        self.settled = Vec::new(); // frees the memory before the new weights are allocated
        self.settled = self.model.weights();
        let (weights, bias) = (&self.settled, self.model.bias());
        let loss = |task: &Task| objective::mean_loss(task.examples(), &*task.loss, weights, bias);
        Evaluation {
            finite: weights.iter().all(|w| w.is_finite()) && bias.is_finite(),
            nonzeros: Some(objective::nonzeros(weights)),
            losses: validation.map(|task| vec![loss(task)]),
        }
    }

    fn heads(&self, _unit: usize) -> Vec<Head> {
        vec![Head::of(self.settled.iter().copied(), self.model.bias())]
    }

    fn nonzeros(&self) -> Option<usize> {
        Some(objective::nonzeros(&self.model.weights()))
    }
}
