//! Search for the starting learning rate of many heads, on a sample of the rows.
//!
//! All heads share one rate. The criterion is the held-out loss: summed over the sixteen most frequent heads if heads are
//! independent, else the loss of the softmax. Candidates are powers of two around 1/(c·mean‖x‖²). The search goes up from the
//! middle while the loss falls, else down. The loss falls and then rises along the candidates, so few of them are tried.

use super::STRIDE;
use crate::optim::lane_loss::LaneLoss;
use crate::optim::lanes::{Pass, block};
use crate::optim::softmax::Softmax;
use crate::problem::heads::HeadKind;
use crate::problem::loss::Loss;
use crate::problem::penalty::Method;
use crate::problem::schedule::{Schedule, Setting};
use crate::problem::settings::{Precision, Settings};
use crate::problem::source::Sequence;
use crate::problem::task::{HeadTargets, Sets, Task};
use crate::util::error::{Kind, Result};

/// Number of rows in the sample.
const TRIED_ROWS: usize = 10_000;
/// Interval of the held-out rows in the sample.
const HELD_OUT: usize = 4;
/// Smallest number of steps per candidate, if the run has as many.
const FEWEST_STEPS: u64 = 1_000;
/// Number of candidates below and above the middle.
const REACH: i32 = 8;

/// A small training run that tries one candidate.
#[derive(Clone, Copy)]
struct Trial<'a> {
    task: &'a Task,
    targets: HeadTargets<'a>,
    settings: &'a Settings,
    learnt: &'a [u32],
    held_out: &'a [u32],
}

/// Searches for the starting learning rate, rounded to two digits.
pub(super) fn find(task: &Task, targets: HeadTargets, settings: &Settings) -> Result<f64> {
    let order = Sequence::of(settings).rows(task.len(), 0);
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
    let trial = Trial { task, targets, settings, learnt, held_out };
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

/// Goes from the middle in one direction while the loss falls, two candidates in parallel. Returns the best loss and its
/// candidate.
fn climb(mark: &(impl Fn(i32) -> Result<f64> + Sync), middle: f64, step: i32) -> Result<(f64, i32)> {
    let mut best = (middle, 0);
    for first in (1..=REACH).step_by(2) {
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

/// The schedule of the run with this starting learning rate.
pub(super) fn schedule(rows: usize, settings: &Settings, eta0: f64) -> Result<Box<dyn Schedule>> {
    let rows = Some(rows as u64);
    settings.schedule.resolve(&Setting { eta0, l2: settings.penalty.l2, rows, epochs: settings.epochs })
}

/// The rows of some passes, in pieces after which a signal is looked for: with 10⁵ classes, a row takes milliseconds.
fn rehearsal(rows: &[u32], classes: usize, passes: u64) -> impl Iterator<Item = &[u32]> {
    let piece = (STRIDE / classes.max(1)).max(1);
    (0..passes).flat_map(move |_| rows.chunks(piece))
}

fn check_signal(settings: &Settings) -> Result<()> {
    if settings.interrupted() { Err(Kind::Interrupted.into()) } else { Ok(()) }
}

/// Runs one candidate to the end of its schedule and returns its mean held-out loss; infinite if it diverges.
fn loss_at(trial: &Trial, eta0: f64) -> Result<f64> {
    let Trial { task, targets, settings, learnt, held_out } = *trial;
    let rows = Some(learnt.len() as u64);
    let passes = FEWEST_STEPS.div_ceil(learnt.len() as u64).min(settings.epochs);
    let rate = settings.schedule.resolve(&Setting { eta0, l2: settings.penalty.l2, rows, epochs: passes })?;
    let (columns, penalty, method) = (task.data.rows.columns(), settings.penalty, settings.method);
    let (rows, weights, sets) = (task.data.rows.borrow(), task.weights.as_deref(), targets.sets);
    let mut sum = 0.0;
    if targets.kind == HeadKind::Softmax {
        let classes = targets.names.len();
        let mut model = Softmax::new(columns, classes, penalty, method, settings.bias, Precision::F32);
        for rows_now in rehearsal(learnt, classes, passes) {
            check_signal(settings)?;
            if model.learn(&*rate, (rows, weights), &sets.ids, rows_now).is_err() {
                return Ok(f64::INFINITY);
            }
        }
        for judged in rehearsal(held_out, classes, 1) {
            check_signal(settings)?;
            model.score(rows, judged, &mut |i, scores| sum += log_loss(scores, sets.ids[i] as usize));
        }
    } else {
        let mut lane_loss = MostFrequent::new(targets, &*task.loss, Precision::F32.most_lanes());
        let lanes = lane_loss.count;
        let mut losses = vec![0.0; lanes];
        let mut block = block(columns, &vec![penalty; lanes], method, settings.bias, Precision::F32);
        for order in rehearsal(learnt, lanes, passes) {
            check_signal(settings)?;
            block.learn(&mut lane_loss, &Pass { rates: &[&*rate], rows, weights, order });
        }
        if (0..lanes).any(|lane| block.diverged(lane).is_some()) {
            return Ok(f64::INFINITY);
        }
        for judged in rehearsal(held_out, lanes, 1) {
            check_signal(settings)?;
            block.score(rows, judged, &mut |i, scores| {
                lane_loss.losses(i, scores, &mut losses);
                sum += losses.iter().sum::<f64>();
            });
        }
    }
    Ok(if sum.is_finite() { sum } else { f64::INFINITY })
}

/// A lane loss for the heads with the most rows, one lane per head.
struct MostFrequent<'a> {
    sets: &'a Sets,
    loss: &'a dyn Loss,
    lane_of: Vec<usize>, // of each head; `usize::MAX` for the others
    count: usize,
}

impl<'a> MostFrequent<'a> {
    fn new(targets: HeadTargets<'a>, loss: &'a dyn Loss, most: usize) -> MostFrequent<'a> {
        let counts = targets.sets.counts(targets.names.len());
        let mut by_count: Vec<usize> = (0..counts.len()).collect();
        by_count.sort_by_key(|&head| std::cmp::Reverse(counts[head])); // stable: the first of equals
        by_count.truncate(most);
        let mut lane_of = vec![usize::MAX; counts.len()];
        by_count.iter().enumerate().for_each(|(lane, &head)| lane_of[head] = lane);
        MostFrequent { sets: targets.sets, loss, lane_of, count: by_count.len() }
    }

    fn each(&self, i: usize, scores: &[f64], into: &mut [f64], of: impl Fn(f64, f64) -> f64) {
        into.iter_mut().zip(scores).for_each(|(into, &score)| *into = of(score, -1.0));
        for &head in self.sets.of(i) {
            let lane = self.lane_of[head as usize];
            if lane < into.len() {
                into[lane] = of(scores[lane], 1.0);
            }
        }
    }
}

impl LaneLoss for MostFrequent<'_> {
    fn slopes(&mut self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        self.each(i, scores, slopes, |score, target| self.loss.slope(score, target));
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        self.each(i, scores, losses, |score, target| self.loss.value(score, target));
    }
}

/// The softmax loss: −ln of the probability of a class.
pub(super) fn log_loss(scores: &[f64], class: usize) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + scores.iter().map(|score| (score - most).exp()).sum::<f64>().ln() - scores[class]
}
