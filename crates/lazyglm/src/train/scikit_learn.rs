//! scikit-learn's estimators on lent rows: one model, or one per class, each kept between calls.
//!
//! Classes are lanes for as long as a call lasts, where that changes no bit: they become lanes when it begins and models again when
//! they stop.

use super::epoch_loop::{Epochs, Fit};
use super::plateau::{Course, Models, Plateau};
use crate::data::rows::Examples;
use crate::optim::lane_loss::LaneLoss;
use crate::optim::lanes::{Joined, Pass};
use crate::optim::resumable::{ModelState, Resumable, WeightsState};
use crate::optim::scikit_learn_rate::Rate;
use crate::optim::sgd::{Diverged, Rule, Sample};
use crate::problem::lent::Lent;
use crate::problem::loss::{Admits, Loss};
use crate::problem::penalty::ElasticNet;
use crate::problem::schedule::Schedule;
use crate::problem::source::{Batch, Source};
use crate::util::error::Result;

/// One class: its number among the targets, the weight of its rows, and its model.
pub struct Class<'l> {
    /// The number.
    pub code: usize,
    /// The weight of its own rows; others have one.
    pub weight: f64,
    /// The model.
    pub model: &'l mut Resumable,
}

/// Whether these models can go together as lanes without losing a bit.
pub fn can_join(models: &[&mut Resumable]) -> bool {
    let first = &models[0];
    let alike = |one: &&mut Resumable| {
        (one.steps(), one.epochs, one.manner.bias) == (first.steps(), first.epochs, first.manner.bias)
            && one.manner.method == first.manner.method
            && one.bias_rate().density() == first.bias_rate().density()
            && one.can_be_lane()
    };
    models.len() > 1 && models.iter().all(alike)
}

/// Trains one model on the targets as they are.
pub fn fit_one(
    model: &mut Resumable,
    (loss, rate): (&dyn Loss, Rate),
    lent: &Lent,
    rule: &Plateau,
    epochs: &Epochs,
) -> Result<Vec<Course>> {
    let epochs = Epochs { before: model.epochs, ..*epochs };
    let schedule = rate.schedule(loss)?;
    let sample = Sample::default();
    rule.fit(&mut One { model, loss, rate, schedule, sample, kept: None }, lent, &epochs)
}

/// Trains one model per class, against the rest: the only class of the list, or all of it as lanes.
pub fn fit_classes(
    mut classes: Vec<Class>,
    (loss, rate): (&dyn Loss, Rate),
    lent: &Lent,
    rule: &Plateau,
    epochs: &Epochs,
) -> Result<Vec<Course>> {
    if let [Class { code, weight, model }] = &mut classes[..] {
        let fit = |lent: &Lent| fit_one(model, (loss, rate), lent, rule, epochs);
        return against_rest(lent, *code, *weight, fit);
    }
    let mut lanes = Lanes::new(classes, loss, rate)?;
    let epochs = Epochs { before: lanes.epochs, ..*epochs };
    rule.fit(&mut lanes, lent, &epochs)
}

/// Does something with the rows as one class has them: +1 for its own, which have a weight, and −1 for the rest.
pub fn against_rest<T>(lent: &Lent, code: usize, weight: f64, work: impl FnOnce(&Lent) -> T) -> T {
    let signs: Vec<f64> = lent.targets.iter().map(|&y| if y == code as f64 { 1.0 } else { -1.0 }).collect();
    with_signs(lent, &signs, weight, work)
}

/// The same with targets of ±1 that are given.
pub fn with_signs<T>(lent: &Lent, signs: &[f64], weight: f64, work: impl FnOnce(&Lent) -> T) -> T {
    let given = |row: usize| lent.weights.map_or(1.0, |weights| weights[row]);
    let times = |(row, &y): (usize, &f64)| given(row) * if y > 0.0 { weight } else { 1.0 };
    let weights: Option<Vec<f64>> = (weight != 1.0).then(|| signs.iter().enumerate().map(times).collect());
    let weights = weights.as_deref().or(lent.weights);
    work(&Lent { targets: signs, weights, ..*lent })
}

/// One model with its rate.
struct One<'l, 'a> {
    model: &'l mut Resumable,
    loss: &'a dyn Loss,
    rate: Rate<'a>,
    schedule: Box<dyn Schedule>,
    sample: Sample,
    kept: Option<Resumable>,
}

impl Fit for One<'_, '_> {
    fn look(&mut self, _: &dyn Source) -> Result<()> {
        self.schedule = self.rate.schedule(self.loss)?;
        let manner = self.model.manner;
        manner.method.check(manner.penalty, self.schedule.eta(self.model.steps()))?;
        self.model.epochs += 1;
        self.sample = Sample::default();
        Ok(())
    }

    fn learn(&mut self, batch: &Batch, order: &[u32]) -> std::result::Result<Sample, Diverged> {
        let rule = Rule { loss: self.loss, schedule: &*self.schedule };
        let more = self.model.learn(&rule, self.rate.passive_aggressive(), batch.examples(), order)?;
        self.sample = self.sample.and(more);
        Ok(more)
    }
}

impl Models for One<'_, '_> {
    fn count(&self) -> usize {
        1
    }

    fn steps(&self) -> u64 {
        self.model.steps()
    }

    fn running_loss(&self, _: usize) -> f64 {
        self.sample.mean()
    }

    fn weights(&self, _: usize) -> (Vec<f64>, f64) {
        (self.model.latest(), self.model.bias())
    }

    /// scikit-learn's passive-aggressive rates go by the loss alone.
    fn penalty(&self, _: usize, weights: &[f64]) -> f64 {
        match self.rate.passive_aggressive() {
            Some(_) => 0.0,
            None => self.model.manner.penalty.value(weights),
        }
    }

    fn set_rate(&mut self, _: usize, eta0: f64) {
        self.rate.eta0 = eta0;
    }

    fn keep(&mut self, _: usize) {
        self.kept = Some(self.model.clone());
    }

    fn go_back(&mut self, _: usize) {
        if let Some(kept) = self.kept.take() {
            let epochs = self.model.epochs; // orders of later rows are not those of earlier ones
            *self.model = kept;
            self.model.epochs = epochs;
        }
    }

    fn finish(&mut self, _: &[bool]) -> Result<()> {
        Ok(())
    }
}

/// The classes that are still learning.
struct Lanes<'l, 'a> {
    lanes: Vec<Lane<'l, 'a>>,
    schedules: Vec<Box<dyn Schedule>>,
    joined: Joined,
    loss: &'a dyn Loss,
    t: u64,
    epochs: u64,
}

struct Lane<'l, 'a> {
    class: Class<'l>,
    rate: Rate<'a>,
    sample: Sample,
}

impl<'l, 'a> Lanes<'l, 'a> {
    fn new(classes: Vec<Class<'l>>, loss: &'a dyn Loss, rate: Rate<'a>) -> Result<Lanes<'l, 'a>> {
        let states: Vec<_> = classes.iter().filter_map(|class| class.model.lane()).collect();
        let biases: Vec<f64> = classes.iter().map(|class| class.model.bias()).collect();
        let penalties: Vec<ElasticNet> = classes.iter().map(|class| class.model.manner.penalty).collect();
        let first = &classes[0].model;
        let (t, epochs, manner) = (first.steps(), first.epochs, first.manner);
        let bias_rate = first.bias_rate();
        let mut joined = Joined::new(&states, &biases, t, &penalties, manner.method, manner.bias)?;
        joined.set_bias_rate(bias_rate);
        let lane = |class| Lane { class, rate, sample: Sample::default() };
        let lanes = classes.into_iter().map(lane).collect();
        Ok(Lanes { lanes, schedules: Vec::new(), joined, loss, t, epochs })
    }
}

/// The lane loss: +1 where the row is of the class, −1 elsewhere, weighted by class. It also samples its own value.
struct OneVsRest<'s, 'l, 'a> {
    loss: &'a dyn Loss,
    examples: Examples<'s>,
    lanes: &'s mut [Lane<'l, 'a>],
}

impl LaneLoss for OneVsRest<'_, '_, '_> {
    fn slopes(&mut self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        let (target, given) = (self.examples.targets[i], self.examples.weight(i));
        let offset = self.examples.offset(i);
        for ((lane, slope), &score) in self.lanes.iter_mut().zip(slopes).zip(scores) {
            let own = target == lane.class.code as f64;
            let (y, weight) = if own { (1.0, given * lane.class.weight) } else { (-1.0, given) };
            *slope = weight * self.loss.slope(score + offset, y);
            lane.sample.sum += weight * self.loss.value(score + offset, y);
            lane.sample.weight += weight;
        }
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        for ((lane, loss), &score) in self.lanes.iter().zip(losses).zip(scores) {
            let own = self.examples.targets[i] == lane.class.code as f64;
            *loss = self.loss.value(score + self.examples.offset(i), if own { 1.0 } else { -1.0 });
        }
    }

    fn prefetch(&self, i: usize) {
        self.examples.prefetch(i);
    }
}

impl Fit for Lanes<'_, '_> {
    fn look(&mut self, _: &dyn Source) -> Result<()> {
        self.schedules.clear();
        for lane in &mut self.lanes {
            let (schedule, manner) = (lane.rate.schedule(self.loss)?, lane.class.model.manner);
            manner.method.check(manner.penalty, schedule.eta(self.t))?;
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
        self.lanes[lane].class.model.manner.penalty.value(weights)
    }

    fn set_rate(&mut self, lane: usize, eta0: f64) {
        self.lanes[lane].rate.eta0 = eta0;
    }

    fn finish(&mut self, done: &[bool]) -> Result<()> {
        for (l, lane) in self.lanes.iter_mut().enumerate().filter(|(l, _)| done[*l]) {
            let (weights, bias) = self.joined.part(l);
            let (weights, t, epochs) = (WeightsState::Folded(weights), self.t, self.epochs);
            let rate = self.joined.bias_rate();
            let state = ModelState { weights, bias, bias_sum: 0.0, t, epochs, density: rate.density() };
            *lane.class.model = Resumable::from_state(lane.class.model.manner, state)?;
            lane.class.model.set_bias_rule(rate.rule);
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

/// scikit-learn's score of weights on some rows: accuracy for classes, R² for numbers.
pub fn score(loss: &dyn Loss, lent: &Lent, rows: &[u32], weights: &[f64], bias: f64) -> Result<f64> {
    let (mut total, mut hit, mut squares, mut errors) = (0.0, 0.0, 0.0, 0.0);
    let mean = {
        let weight = |row: usize| lent.weights.map_or(1.0, |weights| weights[row]);
        let of = |(sum, total): (f64, f64), &row: &u32| {
            let row = row as usize;
            (sum + weight(row) * lent.targets[row], total + weight(row))
        };
        let (sum, total) = rows.iter().fold((0.0, 0.0), of);
        sum / total
    };
    lent.show(rows, &mut |batch| {
        let examples = batch.examples();
        for i in batch.order.iter().map(|&i| i as usize) {
            let (target, weight) = (examples.targets[i], examples.weight(i));
            let mut score = bias;
            examples.rows.for_each(i, |j, x| score += weights[j] * x);
            score += examples.offset(i);
            total += weight;
            hit += if (score > 0.0) == (target > 0.0) { weight } else { 0.0 };
            errors += weight * (target - loss.inverse_link(score)).powi(2);
            squares += weight * (target - mean).powi(2);
        }
        Ok(())
    })?;
    Ok(match (loss.admits() == Admits::Classes, errors == 0.0, squares == 0.0) {
        (true, ..) => hit / total,
        (_, _, false) => 1.0 - errors / squares,
        (_, true, true) => 1.0,
        (_, false, true) => 0.0,
    })
}
