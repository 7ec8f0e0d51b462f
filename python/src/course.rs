//! The epochs of one learner: order, rate, held-out score, stopping; scikit-learn's meaning of `max_iter` and `tol`.
//!
//! ```text
//! objective of an epoch   Σ ωᵢℓᵢ/Σ ωᵢ over its rows, each before it was learnt, + λ₁‖w‖₁ + ½λ₂‖w‖² at its end
//! no improvement          objective > best − tol, or with early stopping: held-out score < best + tol
//! after n_iter_no_change epochs without improvement: stop; adaptive: η ← η/5 and go on, while η > 10⁻⁶
//! ```

use crate::errors::Halt;
use crate::learner::Learner;
use crate::rate::Rate;
use crate::window::Lesson;
use lazyglm::loss::Admits;
use lazyglm::optim::sgd::{Diverged, Rule, Sample};
use lazyglm::{Kind, Loss, Place, util::random};

/// How to go through the rows.
pub struct Course<'a> {
    /// ℓ.
    pub loss: &'a dyn Loss,
    /// η.
    pub rate: Rate<'a>,
    /// At most so many epochs.
    pub epochs: u64,
    /// Improvement that counts; `None` never stops.
    pub tol: Option<f64>,
    /// Epochs without it before the end.
    pub patience: u64,
    /// Whether each epoch has an order of its own.
    pub shuffle: bool,
    /// Of the orders.
    pub seed: u64,
    /// The rows to learn, if not all.
    pub rows: Option<&'a [u32]>,
    /// The rows that are held out to judge each epoch.
    pub held_out: Option<&'a [u32]>,
    /// Whether somebody wants to know of each epoch.
    pub watched: bool,
}

/// What became of it, an entry an epoch.
#[derive(Default)]
pub struct Outcome {
    /// The running mean loss.
    pub losses: Vec<f64>,
    /// The score on the rows held out.
    pub scores: Vec<f64>,
}

/// What is known at the end of an epoch.
pub struct Epoch {
    /// From 1.
    pub number: u64,
    /// Running mean loss.
    pub loss: f64,
    /// With the penalty.
    pub objective: f64,
    /// On the rows held out.
    pub score: Option<f64>,
    /// ‖w‖.
    pub norm: f64,
    /// Weights that are not zero.
    pub nonzeros: usize,
    /// b.
    pub bias: f64,
    /// Rows learnt.
    pub t: u64,
}

/// Best so far, and for how long.
pub struct Progress {
    best: f64,
    /// Epochs without improvement.
    pub stalled: u64,
}

impl Course<'_> {
    /// Goes through it. `look` is called between parts of an epoch and may stop it, `watch` at the end of each.
    pub fn run(
        &self,
        learner: &mut Learner,
        lesson: &Lesson,
        look: &dyn Fn() -> Result<(), Halt>,
        watch: &dyn Fn(&Epoch) -> Result<(), Halt>,
    ) -> Result<Outcome, Halt> {
        let (mut outcome, mut eta0) = (Outcome::default(), self.rate.eta0);
        let mut progress = Progress::default();
        for number in 1..=self.epochs {
            let schedule = Rate { eta0, ..self.rate }.schedule(self.loss)?;
            learner.method.check(learner.penalty, schedule.eta(learner.steps()))?;
            let rule = Rule { loss: self.loss, schedule: &*schedule };
            let loss = self.epoch(learner, lesson, &rule, look)?;
            outcome.losses.push(loss);
            let weights = match self.looks_each_epoch() || number == self.epochs {
                true => learner.settled(),
                false => continue,
            };
            refuse_infinite(&weights, learner.bias(), learner.steps(), number)?;
            let score = self.held_out.map(|rows| self.score(rows, lesson, &weights, learner.bias()));
            lesson.changed.check()?;
            outcome.scores.extend(score);
            let penalty =
                if self.rate.aggression().is_some() { 0.0 } else { learner.penalty.value(&weights) };
            let objective = loss + penalty; // scikit-learn's passive-aggressive rates go by the loss alone
            if self.watched {
                watch(&epoch(number, (loss, objective, score), &weights, learner.bias(), learner.steps()))?;
            }
            progress.see(score.map_or(objective, |score| -score), self.tol);
            if self.is_over(&mut progress, &mut eta0) {
                break;
            }
        }
        Ok(outcome)
    }

    /// Whether figures of each epoch are needed, or of the last alone.
    pub fn looks_each_epoch(&self) -> bool {
        self.watched || self.tol.is_some() || self.held_out.is_some()
    }

    /// Whether learning has stalled for long; then, if the rate is adaptive, it falls instead.
    pub fn is_over(&self, progress: &mut Progress, eta0: &mut f64) -> bool {
        if progress.stalled < self.patience {
            return false;
        }
        let adapts = self.rate.name == "adaptive" && *eta0 > 1e-6;
        if adapts {
            (*eta0, progress.stalled) = (*eta0 / 5.0, 0);
        }
        !adapts
    }

    /// The rows of an epoch, in order.
    pub fn order(&self, rows: usize, epoch: u64) -> Vec<u32> {
        let count = self.rows.map_or(rows, <[u32]>::len);
        let mut order = match self.shuffle {
            true => random::permutation(count, self.seed, epoch),
            false => (0..count as u32).collect(),
        };
        if let Some(rows) = self.rows {
            order.iter_mut().for_each(|k| *k = rows[*k as usize]);
        }
        order
    }

    /// One pass over the rows; the running mean loss.
    fn epoch(
        &self,
        learner: &mut Learner,
        lesson: &Lesson,
        rule: &Rule,
        look: &dyn Fn() -> Result<(), Halt>,
    ) -> Result<f64, Halt> {
        let order = self.order(lesson.targets.len(), learner.epochs);
        learner.epochs += 1;
        let (number, mut sample) = (learner.epochs, Sample::default());
        lesson.for_each_part(&order, |examples, part| {
            let more = learner
                .learn(rule, self.rate.aggression(), examples, part)
                .map_err(|at| diverged(at, number))?;
            sample = sample.and(more);
            look()
        })?;
        Ok(sample.mean())
    }

    /// Accuracy for classes, R² for numbers.
    fn score(&self, rows: &[u32], lesson: &Lesson, weights: &[f64], bias: f64) -> f64 {
        let (mut total, mut hit, mut sum) = (0.0, 0.0, 0.0);
        let weight = |row: usize| lesson.weights.map_or(1.0, |weights| weights[row]);
        let classes = self.loss.admits() == Admits::Classes;
        let mut predicted = Vec::with_capacity(rows.len());
        for row in rows.iter().map(|&row| row as usize) {
            let mut score = bias;
            lesson.matrix.for_each(row, |j, x| score += weights[j] * x);
            let target = lesson.targets[row];
            total += weight(row);
            hit += if (score > 0.0) == (target > 0.0) { weight(row) } else { 0.0 };
            sum += weight(row) * target;
            predicted.push(self.loss.inverse_link(score));
        }
        if classes {
            return hit / total;
        }
        let (mut errors, mut spread, mean) = (0.0, 0.0, sum / total);
        for (row, prediction) in rows.iter().map(|&row| row as usize).zip(predicted) {
            errors += weight(row) * (lesson.targets[row] - prediction).powi(2);
            spread += weight(row) * (lesson.targets[row] - mean).powi(2);
        }
        match (errors == 0.0, spread == 0.0) {
            (_, false) => 1.0 - errors / spread,
            (true, true) => 1.0,
            (false, true) => 0.0,
        }
    }
}

/// A weight that overflowed on the very last rows was never scored again: it is caught here.
pub fn refuse_infinite(weights: &[f64], bias: f64, t: u64, epoch: u64) -> Result<(), Halt> {
    if weights.iter().all(|w| w.is_finite()) && bias.is_finite() {
        return Ok(());
    }
    Err(diverged(Diverged { row: 0, t, score: f64::INFINITY, slope: 0.0 }, epoch))
}

impl Default for Progress {
    fn default() -> Progress {
        Progress { best: f64::INFINITY, stalled: 0 }
    }
}

impl Progress {
    /// Lower is better.
    pub fn see(&mut self, figure: f64, tol: Option<f64>) {
        let stalls = tol.is_some_and(|tol| figure > self.best - tol);
        self.stalled = if stalls { self.stalled + 1 } else { 0 };
        self.best = self.best.min(figure);
    }
}

/// What is known of an epoch: running loss, objective and held-out score; weights, bias and rows learnt.
pub fn epoch(number: u64, figures: (f64, f64, Option<f64>), weights: &[f64], bias: f64, t: u64) -> Epoch {
    let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    let nonzeros = weights.iter().filter(|w| **w != 0.0).count();
    let (loss, objective, score) = figures;
    Epoch { number, loss, objective, score, norm, nonzeros, bias, t }
}

/// Where and why learning left the finite numbers.
pub fn diverged(at: Diverged, epoch: u64) -> Halt {
    let what = match at.score.is_finite() {
        true => format!("the slope of the loss became {}", at.slope),
        false => format!("the score became {}", at.score),
    };
    let hint = "lower eta0, raise alpha, or scale the features down".to_string();
    Halt::Ours(Kind::Diverged { place: Place::file("X"), epoch, step: at.t, what, hint }.into())
}
