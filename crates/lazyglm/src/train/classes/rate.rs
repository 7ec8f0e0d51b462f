//! The starting rate of many heads: a rehearsal on some of the rows, as for one model.
//!
//! All heads have one rate. Heads that are apart are judged by the sum of the losses of the sixteen most frequent, a softmax
//! by its own, on rows held out. Rungs are powers of two around 1/(c·mean‖x‖²); from the middle one the climb goes up while it
//! helps, else down. Losses fall and then rise along the ladder, so few rungs are tried.

use super::aims::Chosen;
use super::task::ClassTask;
use crate::optim::lane_loss::LaneLoss;
use crate::optim::lanes::{Pass, block};
use crate::optim::softmax::Softmax;
use crate::problem::heads::HeadKind;
use crate::problem::penalty::Method;
use crate::problem::schedule::{Schedule, Setting};
use crate::problem::settings::{Order, Precision, Settings};
use crate::util::error::Result;
use crate::util::random;

/// Rows that a rate is tried on.
const TRIED_ROWS: usize = 10_000;
/// One in so many of them is held out.
const HELD_OUT: usize = 4;
/// A rate is tried for at least so many steps, if the run has them.
const FEWEST_STEPS: u64 = 1_000;
/// Rungs below and above the middle.
const RUNGS: i32 = 8;

/// A small run in place of the whole.
#[derive(Clone, Copy)]
struct Trial<'a> {
    task: &'a ClassTask,
    settings: &'a Settings,
    learnt: &'a [u32],
    held_out: &'a [u32],
}

/// η₀, to two digits.
pub(super) fn find(task: &ClassTask, settings: &Settings) -> Result<f64> {
    let order = order(task.rows(), settings, 0);
    let tried = &order[..order.len().min(TRIED_ROWS)];
    let length = |&i: &u32| {
        let mut square = 1.0;
        task.data.rows.borrow().for_each(i as usize, |_, x| square += x * x);
        square
    };
    let mean = tried.iter().map(length).sum::<f64>() / tried.len() as f64;
    let natural = 1.0 / (task.loss.curvature().unwrap_or(1.0) * mean);
    let most = match settings.method {
        Method::Sgd => 0.5 / settings.penalty.l2, // 0.5/0 is no limit
        Method::Fobos => f64::INFINITY,
    };
    let rate = |candidate: i32| (natural * f64::powi(2.0, candidate)).min(most);
    let held_out = if tried.len() < 2 * HELD_OUT { 0 } else { tried.len() / HELD_OUT };
    let (held_out, learnt) = if held_out == 0 { (tried, tried) } else { tried.split_at(held_out) };
    let trial = Trial { task, settings, learnt, held_out };
    let mark = |candidate: i32| loss_at(&trial, rate(candidate));
    let (middle, mut at) = (mark(0)?, 0);
    for step in [1, -1] {
        let climbed = climb(&mark, middle, step)?;
        if climbed.0 < middle {
            at = climbed.1;
            break; // what helped in one direction hurts in the other
        }
    }
    let eta0 = rate(at);
    Ok(format!("{eta0:.1e}").parse().unwrap_or(eta0))
}

/// From the middle in one direction as long as marks get better, two rungs side by side: the best mark, and its rung.
fn climb(mark: &(impl Fn(i32) -> Result<f64> + Sync), middle: f64, step: i32) -> Result<(f64, i32)> {
    let mut best = (middle, 0);
    for first in (1..=RUNGS).step_by(2) {
        let (one, two) = rayon::join(|| mark(step * first), || mark(step * (first + 1)));
        for (mark, candidate) in [(one?, first), (two?, first + 1)] {
            if mark >= best.0 {
                return Ok(best);
            }
            best = (mark, step * candidate);
        }
    }
    Ok(best)
}

/// The rows of an epoch (from 0).
pub(super) fn order(rows: usize, settings: &Settings, epoch: u64) -> Vec<u32> {
    match settings.order {
        Order::Shuffled => random::permutation(rows, settings.seed, epoch),
        Order::Sequential => (0..rows as u32).collect(),
    }
}

/// The run's schedule from this rate.
pub(super) fn schedule(task: &ClassTask, settings: &Settings, eta0: f64) -> Result<Box<dyn Schedule>> {
    let rows = Some(task.rows() as u64);
    settings.schedule.resolve(&Setting { eta0, l2: settings.penalty.l2, rows, epochs: settings.epochs })
}

/// A small run of its own, from this rate to the end of its schedule: the mean loss of the rows it has not learnt; infinite if
/// it diverges.
fn loss_at(trial: &Trial, eta0: f64) -> Result<f64> {
    let Trial { task, settings, learnt, held_out } = *trial;
    let rows = Some(learnt.len() as u64);
    let passes = FEWEST_STEPS.div_ceil(learnt.len() as u64).min(settings.epochs);
    let rate = settings.schedule.resolve(&Setting { eta0, l2: settings.penalty.l2, rows, epochs: passes })?;
    let (columns, penalty, method, examples) =
        (task.data.rows.columns(), settings.penalty, settings.method, task.examples());
    let mut sum = 0.0;
    if task.kind == HeadKind::Softmax {
        let mut model =
            Softmax::new(columns, task.names.len(), penalty, method, settings.bias, Precision::F32);
        for _ in 0..passes {
            if model.learn(&*rate, examples, &task.sets.ids, learnt).is_err() {
                return Ok(f64::INFINITY);
            }
        }
        model.score(examples, held_out, &mut |i, scores| sum += log_loss(scores, task.sets.ids[i] as usize));
    } else {
        let aim = Chosen::most_frequent(task, Precision::F32.most_lanes());
        let mut losses = vec![0.0; aim.heads()];
        let mut block = block(columns, &vec![penalty; aim.heads()], method, settings.bias, Precision::F32);
        for _ in 0..passes {
            block.learn(&Pass { aim: &aim, rates: &[&*rate], examples, order: learnt });
        }
        if (0..aim.heads()).any(|lane| block.diverged(lane).is_some()) {
            return Ok(f64::INFINITY);
        }
        block.score(examples, held_out, &mut |i, scores| {
            aim.losses(i, scores, &mut losses);
            sum += losses.iter().sum::<f64>();
        });
    }
    Ok(if sum.is_finite() { sum } else { f64::INFINITY })
}

/// −ln of the probability of a class.
pub(super) fn log_loss(scores: &[f64], class: usize) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + scores.iter().map(|score| (score - most).exp()).sum::<f64>().ln() - scores[class]
}
