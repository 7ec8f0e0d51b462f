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
use lazyglm::solver::online::{Diverged, Rule, Sample};
use lazyglm::{Kind, Loss, Place, random};

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
struct Progress {
    best: f64,
    stalled: u64,
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
        let mut progress = Progress { best: f64::INFINITY, stalled: 0 };
        let looks_each_epoch = self.watched || self.tol.is_some() || self.held_out.is_some();
        for number in 1..=self.epochs {
            let schedule = Rate { eta0, ..self.rate }.schedule(self.loss)?;
            learner.method.check(learner.net, schedule.eta(learner.steps()))?;
            let rule = Rule { loss: self.loss, schedule: &*schedule };
            let loss = self.epoch(learner, lesson, &rule, look)?;
            outcome.losses.push(loss);
            let weights = match looks_each_epoch || number == self.epochs {
                true => learner.settled(),
                false => continue,
            };
            self.refuse_infinite(&weights, learner, number)?;
            let score = self.held_out.map(|rows| self.score(rows, lesson, &weights, learner.bias()));
            outcome.scores.extend(score);
            let penalty = if self.rate.aggression().is_some() { 0.0 } else { learner.net.value(&weights) };
            let objective = loss + penalty; // scikit-learn's passive-aggressive rates go by the loss alone
            if self.watched {
                watch(&epoch(number, loss, objective, score, &weights, learner))?;
            }
            progress.see(score.map_or(objective, |score| -score), self.tol);
            if progress.stalled >= self.patience {
                match self.rate.name == "adaptive" && eta0 > 1e-6 {
                    true => (eta0, progress.stalled) = (eta0 / 5.0, 0),
                    false => break,
                }
            }
        }
        Ok(outcome)
    }

    /// One pass over the rows; the running mean loss.
    fn epoch(
        &self,
        learner: &mut Learner,
        lesson: &Lesson,
        rule: &Rule,
        look: &dyn Fn() -> Result<(), Halt>,
    ) -> Result<f64, Halt> {
        let count = self.rows.map_or(lesson.targets.len(), <[u32]>::len);
        let mut order = match self.shuffle {
            true => random::permutation(count, self.seed, learner.epochs),
            false => (0..count as u32).collect(),
        };
        if let Some(rows) = self.rows {
            order.iter_mut().for_each(|k| *k = rows[*k as usize]);
        }
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
            predicted.push(self.loss.link(score));
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

    /// A weight that overflowed on the very last rows was never scored again: it is caught here.
    fn refuse_infinite(&self, weights: &[f64], learner: &Learner, epoch: u64) -> Result<(), Halt> {
        if weights.iter().all(|w| w.is_finite()) && learner.bias().is_finite() {
            return Ok(());
        }
        let at = Diverged { row: 0, t: learner.steps(), score: f64::INFINITY, slope: 0.0 };
        Err(diverged(at, epoch))
    }
}

impl Progress {
    /// Lower is better.
    fn see(&mut self, figure: f64, tol: Option<f64>) {
        let stalls = tol.is_some_and(|tol| figure > self.best - tol);
        self.stalled = if stalls { self.stalled + 1 } else { 0 };
        self.best = self.best.min(figure);
    }
}

fn epoch(
    number: u64,
    loss: f64,
    objective: f64,
    score: Option<f64>,
    weights: &[f64],
    learner: &Learner,
) -> Epoch {
    let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    let nonzeros = weights.iter().filter(|w| **w != 0.0).count();
    let (bias, t) = (learner.bias(), learner.steps());
    Epoch { number, loss, objective, score, norm, nonzeros, bias, t }
}

fn diverged(at: Diverged, epoch: u64) -> Halt {
    let what = match at.score.is_finite() {
        true => format!("the slope of the loss became {}", at.slope),
        false => format!("the score became {}", at.score),
    };
    let hint = "lower eta0, raise alpha, or scale the features down".to_string();
    Halt::Ours(Kind::Diverged { place: Place::file("X"), epoch, step: at.t, what, hint }.into())
}
