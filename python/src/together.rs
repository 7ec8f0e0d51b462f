//! Several classes learnt in the same passes: each is a lane, with the bits of a learner alone.
//!
//! Learners become lanes when a call begins and learners again when it ends, so that pickling, `partial_fit` and reading
//! `coef_` know nothing of it. A class that has stopped leaves; the others go on.

use crate::course::{Course, Epoch, Outcome, Progress, diverged, epoch, refuse_infinite};
use crate::errors::Halt;
use crate::learner::Learner;
use crate::rate::Rate;
use crate::window::Lesson;
use lazyglm::optim::lane_loss::LaneLoss;
use lazyglm::optim::lanes::{Joined, Pass};
use lazyglm::schedule::Schedule;
use lazyglm::{ElasticNet, Examples, Loss, Precision, Result};
use std::sync::Mutex;

/// The most learners that go together.
pub fn most() -> usize {
    Precision::F64.most_lanes()
}

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
pub fn can_join(course: &Course, learners: &[&mut Learner]) -> bool {
    let first = &learners[0];
    let alike = |one: &&mut Learner| {
        (one.steps(), one.epochs, one.has_intercept()) == (first.steps(), first.epochs, first.has_intercept())
            && one.method == first.method
            && one.is_wide()
    };
    learners.len() > 1
        && course.held_out.is_none()
        && course.rate.aggression().is_none()
        && learners.iter().all(alike)
}

/// What the lanes aim at: +1 where the row is of the class, −1 elsewhere. Keeps account of what it costs.
struct Rest<'a> {
    loss: &'a dyn Loss,
    examples: Examples<'a>,
    classes: &'a [(f64, f64)],         // code and weight, lane by lane
    heard: &'a Mutex<Vec<(f64, f64)>>, // Σ ωℓ and Σ ω
}

impl LaneLoss for Rest<'_> {
    fn slopes(&self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        let (target, given) = (self.examples.targets[i], self.examples.weight(i));
        let Ok(mut heard) = self.heard.lock() else { return };
        for (l, (slope, &score)) in slopes.iter_mut().zip(scores).enumerate() {
            let (code, weight) = self.classes[l];
            let (y, weight) = if target == code { (1.0, given * weight) } else { (-1.0, given) };
            *slope = weight * self.loss.slope(score, y);
            heard[l].0 += weight * self.loss.value(score, y);
            heard[l].1 += weight;
        }
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        for (l, (loss, &score)) in losses.iter_mut().zip(scores).enumerate() {
            let y = if self.examples.targets[i] == self.classes[l].0 { 1.0 } else { -1.0 };
            *loss = self.loss.value(score, y);
        }
    }
}

/// One class on its way.
struct Lane {
    progress: Progress,
    eta0: f64,
    outcome: Outcome,
}

/// All classes go through the course.
pub fn run(
    course: &Course,
    classes: &mut [Class],
    lesson: &Lesson,
    look: &dyn Fn() -> std::result::Result<(), Halt>,
    watch: &dyn Fn(usize, &Epoch) -> std::result::Result<(), Halt>,
) -> std::result::Result<Vec<Outcome>, Halt> {
    let lane =
        |_| Lane { progress: Progress::default(), eta0: course.rate.eta0, outcome: Outcome::default() };
    let mut lanes: Vec<Lane> = (0..classes.len()).map(lane).collect();
    let (mut t, epochs) = (classes[0].learner.steps(), classes[0].learner.epochs);
    let mut racing: Vec<usize> = (0..classes.len()).collect(); // which class each lane is
    let mut joined = join(classes)?;
    for number in 1..=course.epochs {
        let rates = rates(course, &racing, &lanes, classes, t)?;
        let order = course.order(lesson.targets.len(), epochs + number - 1);
        let means = pass(
            course,
            lesson,
            &mut joined,
            &of(classes, &racing),
            &rates,
            &order,
            (epochs + number, look),
        )?;
        t += order.len() as u64;
        let mut over = vec![false; racing.len()];
        for (l, &k) in racing.iter().enumerate() {
            lanes[k].outcome.losses.push(means[l]);
            over[l] = number == course.epochs;
            if !course.looks_each_epoch() && !over[l] {
                continue;
            }
            let weights: Vec<f64> = joined.block().weights(l).collect();
            let bias = joined.block().bias(l);
            refuse_infinite(&weights, bias, t, number)?;
            let objective = means[l] + classes[k].learner.penalty.value(&weights);
            if course.watched {
                watch(classes[k].code, &epoch(number, (means[l], objective, None), &weights, bias, t))?;
            }
            let Lane { progress, eta0, .. } = &mut lanes[k];
            progress.see(objective, course.tol);
            over[l] |= course.is_over(progress, eta0);
        }
        for l in (0..racing.len()).filter(|&l| over[l]) {
            let (frozen, bias) = joined.part(l);
            classes[racing[l]].learner.part(frozen, bias, t, epochs + number)?;
        }
        let left: Vec<usize> = (0..racing.len()).filter(|&l| !over[l]).collect();
        if left.is_empty() {
            break;
        }
        if left.len() < racing.len() {
            joined = joined.select(&left);
            racing = left.iter().map(|&l| racing[l]).collect();
        }
    }
    Ok(lanes.into_iter().map(|lane| lane.outcome).collect())
}

/// Learners side by side.
fn join(classes: &[Class]) -> Result<Joined> {
    let frozen: Vec<_> = classes.iter().filter_map(|class| class.learner.lane()).collect();
    let biases: Vec<f64> = classes.iter().map(|class| class.learner.bias()).collect();
    let penalties: Vec<ElasticNet> = classes.iter().map(|class| class.learner.penalty).collect();
    let first = &classes[0].learner;
    Joined::new(&frozen, &biases, first.steps(), &penalties, first.method, first.has_intercept())
}

fn of(classes: &[Class], racing: &[usize]) -> Vec<(f64, f64)> {
    racing.iter().map(|&k| (classes[k].code as f64, classes[k].weight)).collect()
}

/// The rate of each lane.
fn rates(
    course: &Course,
    racing: &[usize],
    lanes: &[Lane],
    classes: &[Class],
    t: u64,
) -> Result<Vec<Box<dyn Schedule>>> {
    let rate = |&k: &usize| {
        let schedule = Rate { eta0: lanes[k].eta0, ..course.rate }.schedule(course.loss)?;
        classes[k].learner.method.check(classes[k].learner.penalty, schedule.eta(t))?;
        Ok(schedule)
    };
    racing.iter().map(rate).collect()
}

/// One pass over the rows; the running mean loss of each lane.
fn pass(
    course: &Course,
    lesson: &Lesson,
    joined: &mut Joined,
    classes: &[(f64, f64)],
    rates: &[Box<dyn Schedule>],
    order: &[u32],
    (number, look): (u64, &dyn Fn() -> std::result::Result<(), Halt>),
) -> std::result::Result<Vec<f64>, Halt> {
    let rates: Vec<&dyn Schedule> = rates.iter().map(|rate| &**rate).collect();
    let mut sums = vec![(0.0, 0.0); classes.len()];
    lesson.for_each_part(order, |examples, part| {
        let heard = Mutex::new(vec![(0.0, 0.0); classes.len()]);
        let aim = Rest { loss: course.loss, examples, classes, heard: &heard };
        let bare = Examples { weights: None, ..examples }; // weights differ from class to class: the aim has them
        joined.block().learn(&Pass { aim: &aim, rates: &rates, examples: bare, order: part });
        if let Some(at) = (0..classes.len()).find_map(|l| joined.block().diverged(l)) {
            return Err(diverged(at, number));
        }
        let heard = heard.into_inner().unwrap_or_default();
        sums.iter_mut().zip(heard).for_each(|(sum, more)| *sum = (sum.0 + more.0, sum.1 + more.1));
        look()
    })?;
    Ok(sums.iter().map(|(sum, weight)| sum / weight).collect())
}
