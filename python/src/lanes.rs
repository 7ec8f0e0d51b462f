//! Several classes learnt in the same passes: each is a lane, with the bits of a learner alone.
//!
//! Learners become lanes when a call begins and learners again when they stop, so that pickling, `partial_fit` and reading
//! `coef_` know nothing of it.

use crate::learner::Learner;
use crate::rate::Rate;
use lazyglm::optim::lane_loss::LaneLoss;
use lazyglm::optim::lanes::{Joined, Pass};
use lazyglm::optim::sgd::{Diverged, Sample};
use lazyglm::problem::source::{Batch, Source};
use lazyglm::schedule::Schedule;
use lazyglm::train::fit::Fit;
use lazyglm::train::plateau::Models;
use lazyglm::{ElasticNet, Examples, Loss, Result};

/// One class: its number, the weight of its rows, and what learns it.
pub struct Class<'l> {
    /// As targets have it.
    pub code: usize,
    /// Of its own rows; others have one.
    pub weight: f64,
    /// Its model.
    pub learner: &'l mut Learner,
}

/// Whether these can go together without losing a bit.
pub fn can_join(learners: &[&mut Learner]) -> bool {
    let first = &learners[0];
    let alike = |one: &&mut Learner| {
        (one.steps(), one.epochs, one.has_intercept()) == (first.steps(), first.epochs, first.has_intercept())
            && one.method == first.method
            && one.is_wide()
    };
    learners.len() > 1 && learners.iter().all(alike)
}

/// The classes that are still learning.
pub struct Lanes<'l, 'a> {
    lanes: Vec<Lane<'l, 'a>>,
    schedules: Vec<Box<dyn Schedule>>,
    joined: Joined,
    loss: &'a dyn Loss,
    t: u64,
    /// Epochs begun.
    pub epochs: u64,
}

struct Lane<'l, 'a> {
    class: Class<'l>,
    rate: Rate<'a>,
    sample: Sample,
}

impl<'l, 'a> Lanes<'l, 'a> {
    /// Puts learners side by side.
    pub fn new(classes: Vec<Class<'l>>, loss: &'a dyn Loss, rate: Rate<'a>) -> Result<Lanes<'l, 'a>> {
        let states: Vec<_> = classes.iter().filter_map(|class| class.learner.lane()).collect();
        let biases: Vec<f64> = classes.iter().map(|class| class.learner.bias()).collect();
        let penalties: Vec<ElasticNet> = classes.iter().map(|class| class.learner.penalty).collect();
        let first = &classes[0].learner;
        let (t, epochs) = (first.steps(), first.epochs);
        let joined = Joined::new(&states, &biases, t, &penalties, first.method, first.has_intercept())?;
        let lane = |class| Lane { class, rate, sample: Sample::default() };
        let lanes = classes.into_iter().map(lane).collect();
        Ok(Lanes { lanes, schedules: Vec::new(), joined, loss, t, epochs })
    }
}

/// The lane loss: +1 where the row is of the class, −1 elsewhere, weighted by class. Keeps account of what it costs.
struct OneVsRest<'s, 'l, 'a> {
    loss: &'a dyn Loss,
    examples: Examples<'s>,
    lanes: &'s mut [Lane<'l, 'a>],
}

impl LaneLoss for OneVsRest<'_, '_, '_> {
    fn slopes(&mut self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        let (target, given) = (self.examples.targets[i], self.examples.weight(i));
        for ((lane, slope), &score) in self.lanes.iter_mut().zip(slopes).zip(scores) {
            let own = target == lane.class.code as f64;
            let (y, weight) = if own { (1.0, given * lane.class.weight) } else { (-1.0, given) };
            *slope = weight * self.loss.slope(score, y);
            lane.sample.sum += weight * self.loss.value(score, y);
            lane.sample.weight += weight;
        }
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        for ((lane, loss), &score) in self.lanes.iter().zip(losses).zip(scores) {
            let own = self.examples.targets[i] == lane.class.code as f64;
            *loss = self.loss.value(score, if own { 1.0 } else { -1.0 });
        }
    }
}

impl Fit for Lanes<'_, '_> {
    fn look(&mut self, _: &dyn Source) -> Result<()> {
        self.schedules.clear();
        for lane in &mut self.lanes {
            let schedule = lane.rate.schedule(self.loss)?;
            lane.class.learner.method.check(lane.class.learner.penalty, schedule.eta(self.t))?;
            self.schedules.push(schedule);
            lane.sample = Sample::default();
        }
        self.epochs += 1;
        Ok(())
    }

    fn learn(&mut self, batch: &Batch, order: &[u32]) -> std::result::Result<Sample, Diverged> {
        let Lanes { lanes, joined, loss, schedules, .. } = self;
        let rates: Vec<&dyn Schedule> = schedules.iter().map(|schedule| &**schedule).collect();
        // Weights differ from class to class: the lane loss has them.
        let pass = Pass { rates: &rates, rows: batch.rows, weights: None, order };
        let mut lane_loss = OneVsRest { loss: *loss, examples: batch.examples(), lanes };
        joined.block().learn(&mut lane_loss, &pass);
        self.t += order.len() as u64;
        match (0..self.lanes.len()).find_map(|l| self.joined.block().diverged(l)) {
            Some(lost) => Err(lost),
            None => Ok(Sample::default()),
        }
    }
}

impl Models for Lanes<'_, '_> {
    fn count(&self) -> usize {
        self.lanes.len()
    }

    fn steps(&self) -> u64 {
        self.t
    }

    fn running_loss(&self, lane: usize) -> f64 {
        self.lanes[lane].sample.mean()
    }

    fn weights(&self, lane: usize) -> (Vec<f64>, f64) {
        self.joined.weights(lane)
    }

    fn penalty(&self, lane: usize, weights: &[f64]) -> f64 {
        self.lanes[lane].class.learner.penalty.value(weights)
    }

    fn set_rate(&mut self, lane: usize, eta0: f64) {
        self.lanes[lane].rate.eta0 = eta0;
    }

    fn finish(&mut self, done: &[bool]) -> Result<()> {
        for (l, lane) in self.lanes.iter_mut().enumerate().filter(|(l, _)| done[*l]) {
            let (state, bias) = self.joined.part(l);
            lane.class.learner.part(state, bias, self.t, self.epochs)?;
        }
        let left: Vec<usize> = (0..done.len()).filter(|&l| !done[l]).collect();
        if !left.is_empty() {
            self.joined = self.joined.select(&left);
        }
        let mut done = done.iter();
        self.lanes.retain(|_| done.next().is_some_and(|done| !done));
        Ok(())
    }
}
