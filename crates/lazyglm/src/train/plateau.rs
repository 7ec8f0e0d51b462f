//! scikit-learn's stop rule: stop when the objective, or a held-out score, has not improved for some epochs.
//!
//! ```text
//! objective of an epoch   Σ ωᵢℓᵢ/Σ ωᵢ over its rows, each before it was learnt, + λ₁‖w‖₁ + ½λ₂‖w‖² at its end
//! no improvement          objective > best − tol, or with held-out rows: score < best + tol
//! after `patience` epochs without improvement: stop; with an adaptive rate: η₀ ← η₀/5 and go on, while η₀ > 10⁻⁶
//! in the end, with held-out rows: back to the epoch with the best score, the last one of several
//! ```

use super::epoch_loop::{Epochs, Fit, Position, StopRule, fit};
use crate::model::report::Stop;
use crate::optim::sgd::Diverged;
use crate::problem::source::Source;
use crate::util::error::{Error, Kind, Place, Result};

/// Below this rate, an adaptive rate falls no further.
const LEAST_RATE: f64 = 1e-6;

/// One or several models that learn together and stop one by one.
pub trait Models: Fit {
    /// The number of models that are still learning.
    fn count(&self) -> usize;

    /// Steps made.
    fn steps(&self) -> u64;

    /// The mean loss of a model over the rows of the epoch, each before it was learnt.
    fn running_loss(&self, model: usize) -> f64;

    /// The weights of a model and its bias, up to date.
    fn weights(&self, model: usize) -> (Vec<f64>, f64);

    /// The penalty of these weights.
    fn penalty(&self, model: usize, weights: &[f64]) -> f64;

    /// Sets the starting rate of a model.
    fn set_rate(&mut self, model: usize, eta0: f64);

    /// Keeps the present state of a model.
    fn keep(&mut self, _model: usize) {}

    /// Goes back to the state of a model that was kept, if any.
    fn go_back(&mut self, _model: usize) {}

    /// Takes out the models marked as done.
    fn finish(&mut self, done: &[bool]) -> Result<()>;
}

/// The score of weights and bias on held-out rows.
pub type Score<'a> = dyn Fn(&[f64], f64) -> Result<f64> + 'a;

/// Called with the number of a model and the figures of its epoch.
pub type Watch<'a> = dyn Fn(usize, &EpochFigures) -> Result<()> + 'a;

/// When to stop, and whom to tell.
pub struct Plateau<'a> {
    /// Improvement that counts; `None` never stops.
    pub tol: Option<f64>,
    /// Epochs without improvement before the end.
    pub patience: u64,
    /// The starting rate.
    pub eta0: f64,
    /// Whether the rate falls instead, as long as it is not tiny.
    pub adaptive: bool,
    /// The score of weights and bias on held-out rows; higher is better.
    pub score: Option<&'a Score<'a>>,
    /// Called after each epoch of each model, by its number at the start.
    pub watch: Option<&'a Watch<'a>>,
    /// Called between batches; an error ends the run.
    pub look: &'a dyn Fn() -> Result<()>,
    /// Which parameter to change if a model diverges.
    pub slower: String,
}

/// What is known at the end of an epoch.
#[derive(Clone, Copy, Debug)]
pub struct EpochFigures {
    /// The epoch, from 1.
    pub epoch: u64,
    /// Running mean loss.
    pub loss: f64,
    /// Running mean loss and penalty.
    pub objective: f64,
    /// Score on held-out rows.
    pub score: Option<f64>,
    /// ‖w‖.
    pub norm: f64,
    /// Weights that are not zero.
    pub nonzeros: usize,
    /// The bias.
    pub bias: f64,
    /// Steps made.
    pub steps: u64,
}

/// The course of one model, one entry per epoch.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Running mean losses.
    pub losses: Vec<f64>,
    /// Scores on held-out rows.
    pub scores: Vec<f64>,
}

impl Plateau<'_> {
    /// Trains the models; the course of each. Models that are interrupted keep what they have learnt.
    pub fn fit(&self, models: &mut impl Models, source: &dyn Source, epochs: &Epochs) -> Result<Vec<Course>> {
        let count = models.count();
        let start = Track { best: f64::INFINITY, stalled: 0, eta0: self.eta0, course: Course::default() };
        let mut run =
            Run { rule: self, epochs: *epochs, learning: (0..count).collect(), tracks: vec![start; count] };
        if let Err(error) = fit(models, source, epochs, &mut run) {
            if matches!(error.kind(), Kind::Interrupted) {
                models.finish(&vec![true; models.count()])?; // what they have learnt so far stays
            }
            return Err(error);
        }
        Ok(run.tracks.into_iter().map(|track| track.course).collect())
    }
}

/// One model on its way.
#[derive(Clone)]
struct Track {
    best: f64,
    stalled: u64,
    eta0: f64,
    course: Course,
}

/// The rule while it is at work.
struct Run<'a> {
    rule: &'a Plateau<'a>,
    epochs: Epochs,
    learning: Vec<usize>, // which model each of those still learning was at the start
    tracks: Vec<Track>,
}

impl Run<'_> {
    /// Takes note of an epoch of a model; whether it is done. A model with held-out rows is then as it was at its best epoch.
    fn see(&mut self, models: &mut impl Models, k: usize, epoch: u64, last: bool) -> Result<bool> {
        let done = self.note(models, k, epoch, last)?;
        if done {
            models.go_back(k);
        }
        Ok(done)
    }

    fn note(&mut self, models: &mut impl Models, k: usize, epoch: u64, last: bool) -> Result<bool> {
        let (rule, number) = (self.rule, self.learning[k]);
        let track = &mut self.tracks[number];
        let loss = models.running_loss(k);
        track.course.losses.push(loss);
        let looks = last || rule.watch.is_some() || rule.tol.is_some() || rule.score.is_some();
        if !looks {
            return Ok(false);
        }
        let ((weights, bias), steps) = (models.weights(k), models.steps());
        if !(bias.is_finite() && weights.iter().all(|w| w.is_finite())) {
            // A weight that overflowed on the very last rows was never scored again.
            let lost = Diverged { row: 0, t: steps, score: f64::INFINITY, slope: 0.0 };
            return Err(rule.diverged(lost, Place::file("X"), self.epochs.before + epoch));
        }
        let score = rule.score.map(|score| score(&weights, bias)).transpose()?;
        (rule.look)()?;
        track.course.scores.extend(score);
        let objective = loss + models.penalty(k, &weights);
        if let Some(watch) = rule.watch {
            let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
            let nonzeros = weights.iter().filter(|w| **w != 0.0).count();
            watch(number, &EpochFigures { epoch, loss, objective, score, norm, nonzeros, bias, steps })?;
        }
        let figure = score.map_or(objective, |score| -score);
        let stalls = rule.tol.is_some_and(|tol| figure > track.best - tol);
        track.stalled = if stalls { track.stalled + 1 } else { 0 };
        if score.is_some() && figure <= track.best {
            models.keep(k);
        }
        track.best = track.best.min(figure);
        if track.stalled < rule.patience {
            return Ok(last);
        }
        if rule.adaptive && track.eta0 > LEAST_RATE {
            (track.eta0, track.stalled) = (track.eta0 / 5.0, 0);
            models.set_rate(k, track.eta0);
            return Ok(last);
        }
        Ok(true)
    }
}

impl Plateau<'_> {
    fn diverged(&self, at: Diverged, place: Place, epoch: u64) -> Error {
        let what = match at.score.is_finite() {
            true => format!("the slope of the loss became {}", at.slope),
            false => format!("the score became {}", at.score),
        };
        Kind::Diverged { place, epoch, step: at.t, what, hint: self.slower.clone() }.into()
    }
}

impl<M: Models> StopRule<M> for Run<'_> {
    fn after_part(&mut self, _: &mut M, _: &Position) -> Result<Option<Stop>> {
        (self.rule.look)().map(|()| None)
    }

    fn after_epoch(&mut self, models: &mut M, at: &Position) -> Result<Option<Stop>> {
        let last = at.epoch == self.epochs.most;
        let done: Result<Vec<bool>> =
            (0..self.learning.len()).map(|k| self.see(models, k, at.epoch, last)).collect();
        let done = done?;
        if done.contains(&true) {
            models.finish(&done)?;
            let mut done = done.iter();
            self.learning.retain(|_| done.next().is_some_and(|done| !done));
        }
        Ok(self.learning.is_empty().then_some(Stop::Epochs))
    }

    fn diverged(&self, at: Diverged, place: Place, epoch: u64) -> Error {
        self.rule.diverged(at, place, self.epochs.before + epoch)
    }
}

/// The same rule on running losses alone, for a run that can only be interrupted.
pub struct RunningPlateau {
    rule: Option<(f64, u64)>,
    best: f64,
    stalled: u64,
}

impl RunningPlateau {
    /// The improvement that counts, and the epochs without one before the end; `None` never stops.
    pub fn new(rule: Option<(f64, u64)>) -> RunningPlateau {
        RunningPlateau { rule, best: f64::INFINITY, stalled: 0 }
    }

    /// Whether to stop after an epoch with this running loss.
    pub fn stops(&mut self, loss: f64) -> bool {
        let Some((tol, patience)) = self.rule else { return false };
        self.stalled = if loss > self.best - tol { self.stalled + 1 } else { 0 };
        self.best = self.best.min(loss);
        self.stalled >= patience
    }
}
