//! The loop over epochs, for any [`Learner`]: turns, held-out loss, stopping.

use super::judge::nonzeros;
use super::{Job, Progress};
use crate::data::rows::Examples;
use crate::eval::objective;
use crate::model::report::{Epoch, Stop, Validation};
use crate::optim::learner::{Converged, Learner, Scheduled};
use crate::optim::sgd::{Diverged, Online, SAMPLED, Sample};
use crate::optim::update::Update;
use crate::problem::schedule::Schedule;
use crate::problem::settings::Settings;
use crate::util::error::{Error, Kind, Place, Result};
use std::time::{Duration, Instant};

/// Rows learnt between two looks at the clock.
const STRIDE: usize = 8192;
/// In a long epoch, non-zeros are counted so often.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A run that goes through the rows, epoch by epoch.
pub(super) struct Run<'a> {
    pub job: &'a Job<'a>,
    pub settings: &'a Settings,
    pub slower: String, // which knob to turn when it diverges
    pub spent: f64,     // seconds, before the first epoch
}

/// What it has learnt.
pub(super) struct Fitted {
    pub weights: Vec<f64>,
    pub bias: f64,
    pub epochs: u64,
    pub stop: Stop,
    pub seconds: f64,
    pub validation: Option<Validation>,
    pub history: Vec<Epoch>,
}

impl Run<'_> {
    /// One row in how many has its loss noted.
    pub fn sampled(&self) -> u64 {
        if self.job.blocks.rows() < STRIDE { 1 } else { SAMPLED }
    }

    /// Learns with one rate for all weights.
    pub fn fit_online<U: Update>(
        &self,
        update: U,
        schedule: &dyn Schedule,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Fitted> {
        let model = Online::new(update, self.settings.bias).sampling_one_in(self.sampled());
        let mut model = match self.settings.average {
            Some(from) => model.averaging_from(from),
            None => model,
        };
        if let (true, Some(start)) = (self.settings.bias, &self.settings.start) {
            model.bias = start.bias;
        }
        self.fit(Scheduled { model, schedule }, watch)
    }

    /// Learns until the epochs are over, the learner has arrived, or held-out rows get worse.
    pub fn fit(&self, mut model: impl Learner, watch: &mut dyn FnMut(&Progress)) -> Result<Fitted> {
        if self.settings.interrupted() {
            return Err(Kind::Interrupted.into());
        }
        let rows = self.job.blocks.rows();
        let mut progress = Progress::start(self.settings.epochs, rows as u64);
        let (mut weights, mut best, mut history) = (Vec::new(), Best::default(), Vec::new());
        let (mut seconds, mut stop) = (self.spent, Stop::Epochs);
        for epoch in 1..=self.settings.epochs {
            progress.begin(epoch);
            let started = Instant::now();
            let mut pass = |see: &mut dyn FnMut(Examples)| {
                self.job.blocks.pass(&mut |turn| {
                    see(turn.examples);
                    Ok(())
                })
            };
            model.look(self.job.loss, &mut pass)?;
            if let Some(converged) = model.converged() {
                weights = model.weights();
                progress.validation_loss = self.held_out_loss(&weights, &model, epoch)?;
                stop = match converged {
                    Converged::Gap => Stop::Gap,
                    Converged::PredictedDecrease => Stop::PredictedDecrease,
                };
                seconds += started.elapsed().as_secs_f64();
                break;
            }
            let last_row = self.epoch(&mut model, &mut progress, watch)?;
            let learnt = started.elapsed();
            weights = model.weights();
            let settled = started.elapsed();
            let last = epoch == self.settings.epochs;
            seconds += if last { settled } else { learnt }.as_secs_f64(); // before the end we settle only to look

            self.refuse_infinite(&weights, &model, last_row, epoch)?;
            let validation_loss = self.held_out_loss(&weights, &model, epoch)?;
            progress.end(&weights, validation_loss);
            watch(&progress);
            history.push(Epoch {
                running_loss: Some(progress.running_loss).filter(|loss| loss.is_finite()),
                validation_loss,
            });
            if let Some(loss) = validation_loss {
                best.see(epoch, loss, &weights, model.bias(), self.settings.early_stop.is_some());
                if self.settings.early_stop.is_some_and(|patience| epoch - best.epoch >= patience) {
                    stop = Stop::EarlyStop;
                    break;
                }
            }
            if self.settings.interrupted() && epoch < self.settings.epochs {
                break;
            }
        }
        if self.settings.interrupted() {
            stop = Stop::Interrupted;
        }
        let mut bias = model.bias();
        let mut loss = progress.validation_loss;
        if self.settings.early_stop.is_some() && best.epoch > 0 {
            (weights, bias, loss) = (best.weights, best.bias, Some(best.loss));
        }
        let validation = loss.map(|loss| Validation { loss, best_epoch: best.epoch });
        Ok(Fitted { weights, bias, epochs: history.len() as u64, stop, seconds, validation, history })
    }

    /// One pass over the rows; the place of the last.
    fn epoch(
        &self,
        model: &mut impl Learner,
        progress: &mut Progress,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Place> {
        let (mut sample, mut looked, mut last) = (Sample::default(), Instant::now(), Place::default());
        let rows = self.job.blocks.rows() as u64;
        self.job.blocks.epoch(progress.epoch - 1, &mut |turn| {
            if self.settings.interrupted() && progress.learnt > 0 {
                return Ok(()); // a window that nobody waits for any more
            }
            let visits = model.visits(turn.examples, turn.order);
            for part in visits.as_deref().unwrap_or(turn.order).chunks(STRIDE) {
                let more = model.learn(self.job.loss, turn.examples, part).map_err(|diverged| {
                    self.diverged(diverged, (turn.place)(diverged.row), progress.epoch)
                })?;
                sample = sample.and(more);
                progress.learnt = (progress.learnt + part.len() as u64).min(progress.epoch * rows);
                progress.running_loss = sample.mean();
                if looked.elapsed() > LOOK_EVERY {
                    progress.nonzeros = Some(nonzeros(&model.weights()));
                    looked = Instant::now();
                }
                watch(progress);
                if self.settings.interrupted() {
                    break;
                }
            }
            last = turn.order.last().map_or(Place::default(), |&i| (turn.place)(i as usize));
            Ok(())
        })?;
        Ok(last)
    }

    fn diverged(&self, at: Diverged, place: Place, epoch: u64) -> Error {
        let what = if at.score.is_finite() {
            format!("the slope of the loss became {}", at.slope)
        } else {
            format!("the score became {}", at.score)
        };
        Kind::Diverged { place, epoch, step: at.t, what, hint: self.slower.clone() }.into()
    }

    /// A weight that overflowed on the very last rows was never scored again: it is caught here.
    fn refuse_infinite(
        &self,
        weights: &[f64],
        model: &impl Learner,
        last_row: Place,
        epoch: u64,
    ) -> Result<()> {
        if weights.iter().all(|w| w.is_finite()) && model.bias().is_finite() {
            return Ok(());
        }
        let at = Diverged { row: 0, t: model.t() - 1, score: f64::INFINITY, slope: 0.0 };
        Err(self.diverged(at, last_row, epoch))
    }

    fn held_out_loss(&self, weights: &[f64], model: &impl Learner, epoch: u64) -> Result<Option<f64>> {
        let Some(task) = self.job.validation else { return Ok(None) };
        let loss = objective::mean_loss(task.examples(), &*task.loss, weights, model.bias());
        if !loss.is_finite() {
            let (place, what) = (task.data.file(), format!("the held-out loss became {loss}"));
            return Err(
                Kind::Diverged { place, epoch, step: model.t(), what, hint: self.slower.clone() }.into()
            );
        }
        Ok(Some(loss))
    }
}

/// The epoch whose held-out loss is the lowest.
#[derive(Default)]
struct Best {
    epoch: u64,
    loss: f64,
    weights: Vec<f64>,
    bias: f64,
}

impl Best {
    fn see(&mut self, epoch: u64, loss: f64, weights: &[f64], bias: f64, keep: bool) {
        if self.epoch == 0 || loss < self.loss {
            let weights = if keep { weights.to_vec() } else { Vec::new() };
            *self = Best { epoch, loss, weights, bias };
        }
    }
}
