//! Heads that are apart, one-vs-rest or labels: blocks of lanes, each learnt from the first epoch to the last by one thread.
//!
//! A block needs nothing of the others, so that only those being learnt are in memory, and the answer is the same for any number of
//! threads. Each head is its own problem: with early stopping each keeps its own best epoch, as a model alone would.

use super::aims::Heard;
use super::memory::{Room, too_many_weights};
use super::rate;
use super::task::ClassTask;
use super::thresholds;
use crate::model::report::{Epoch, Stop, Validation};
use crate::optim::lane_loss::{LaneLoss, OneVsRest};
use crate::optim::lanes::{Block, Pass, block};
use crate::optim::sgd::{Diverged, SAMPLED};
use crate::problem::heads::Head;
use crate::problem::schedule::Schedule;
use crate::problem::settings::Settings;
use crate::util::error::Result;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

/// What is learnt, and how.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub task: &'a ClassTask,
    pub validation: Option<&'a ClassTask>,
    pub settings: &'a Settings,
    pub rate: &'a dyn Schedule,
    pub room: Room,
    pub tuned: bool, // thresholds
}

/// Heads, and how it went.
pub(super) struct Fitted {
    pub heads: Vec<Head>,
    pub history: Vec<Epoch>,
    pub validation: Option<Validation>,
    pub stop: Stop,
    pub diverged: Vec<(usize, Diverged)>,
    pub thresholds: Option<Vec<f64>>,
}

/// A block is one epoch further.
pub(super) struct Told {
    pub epoch: u64,
    pub running_loss: f64,
    pub nonzeros: Option<usize>, // when it is done
}

/// One head in the making.
struct Lane {
    best: (u64, f64), // epoch and held-out loss
    kept: Option<Head>,
    stopped: bool,
}

/// A block that is done.
struct Done {
    heads: Vec<Head>,
    diverged: Vec<Option<Diverged>>,
    losses: Vec<f64>,                 // held out, of the heads as they are
    history: Vec<(f64, Option<f64>)>, // of each epoch
    thresholds: Option<Vec<f64>>,
    stopped: bool,
}

/// Learns all heads; `tell` hears of each block's epochs.
pub(super) fn fit(job: &Job, tell: Sender<Told>) -> Result<Fitted> {
    let heads = job.task.names.len();
    let starts: Vec<usize> = (0..heads).step_by(job.room.lanes).collect();
    let (next, weights) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = |tell: Sender<Told>| {
        let mut done = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(&first) = starts.get(k) else { return Ok(done) };
            let count = job.room.lanes.min(heads - first);
            let block = learn(job, first, count, &tell);
            let more: usize = block.heads.iter().map(|head| head.weights.len()).sum();
            let all = weights.fetch_add(more, Ordering::Relaxed) + more;
            if job.room.rows + job.room.learning + all * Head::WEIGHT > job.room.limit {
                next.store(starts.len(), Ordering::Relaxed); // the others stop too
                return Err(too_many_weights(job.room.limit, first + count, heads));
            }
            done.push((k, block));
        }
    };
    let tells: Vec<Sender<Told>> = (0..job.room.at_once).map(|_| tell.clone()).collect();
    drop(tell);
    let done: Result<Vec<Vec<(usize, Done)>>> = tells.into_par_iter().with_max_len(1).map(worker).collect();
    let mut done: Vec<(usize, Done)> = done?.into_iter().flatten().collect();
    done.sort_by_key(|(k, _)| *k);
    Ok(together(done.into_iter().map(|(_, block)| block), job))
}

/// A block, from the first epoch to the last.
fn learn(job: &Job, first: usize, count: usize, tell: &Sender<Told>) -> Done {
    let Job { task, settings, .. } = *job;
    let (sets, penalty) = (&task.sets, settings.penalty);
    let aim = OneVsRest { loss: &*task.loss, ends: &sets.ends, ids: &sets.ids, first: first as u32 };
    let one_in = if task.rows() < 8192 { 1 } else { SAMPLED as usize };
    let aim = Heard::new(aim, task, one_in, count);
    let columns = task.data.rows.columns();
    let mut block = block(columns, &vec![penalty; count], settings.method, settings.bias, settings.precision);
    let lane = |_| Lane { best: (0, f64::INFINITY), kept: None, stopped: false };
    let mut lanes: Vec<Lane> = (0..count).map(lane).collect();
    let mut history = Vec::new();
    for epoch in 1..=settings.epochs {
        let order = rate::order(task.rows(), settings, epoch - 1);
        block.learn(&Pass { aim: &aim, rates: &[job.rate], examples: task.examples(), order: &order });
        let running_loss = aim.mean();
        let held_out = job.validation.map(|held_out| held_out_losses(&mut *block, held_out, first));
        let held_out = held_out.map(|losses| see(&mut lanes, &*block, epoch, &losses, settings.early_stop));
        history.push((running_loss, held_out));
        let _ = tell.send(Told { epoch, running_loss, nonzeros: None }); // nobody may be listening
        if settings.early_stop.is_some() && lanes.iter().all(|lane| lane.stopped) {
            break;
        }
    }
    let stopped = lanes.iter().any(|lane| lane.stopped);
    let losses = lanes.iter().map(|lane| lane.best.1).collect();
    let mut heads = Vec::with_capacity(count);
    let mut diverged = Vec::with_capacity(count);
    for (l, lane) in lanes.into_iter().enumerate() {
        let head = lane.kept.unwrap_or_else(|| Head::of(block.weights(l), block.bias(l)));
        let t = settings.epochs * task.rows() as u64;
        let infinite = Diverged { row: 0, t, score: f64::INFINITY, slope: 0.0 };
        diverged.push(block.diverged(l).or((!head.is_finite()).then_some(infinite)));
        heads.push(if diverged[l].is_some() {
            without_weights(task, first + l, settings.bias)
        } else {
            head
        });
    }
    drop(block);
    let thresholds = job.tuned.then(|| thresholds::tune(&heads, job.validation.unwrap_or(task), first));
    let nonzeros = heads.iter().map(|head| head.weights.len()).sum();
    let _ = tell.send(Told { epoch: 0, running_loss: f64::NAN, nonzeros: Some(nonzeros) });
    Done { heads, diverged, losses, history, thresholds, stopped }
}

/// The mean held-out loss of each lane.
fn held_out_losses(block: &mut dyn Block, held_out: &ClassTask, first: usize) -> Vec<f64> {
    let (sets, count, rows) = (&held_out.sets, block.lanes(), held_out.rows());
    let aim = OneVsRest { loss: &*held_out.loss, ends: &sets.ends, ids: &sets.ids, first: first as u32 };
    let (mut sums, mut losses) = (vec![0.0; count], vec![0.0; count]);
    let order: Vec<u32> = (0..rows as u32).collect();
    block.score(held_out.examples(), &order, &mut |i, scores| {
        aim.losses(i, scores, &mut losses);
        sums.iter_mut().zip(&losses).for_each(|(sum, loss)| *sum += loss);
    });
    sums.iter().map(|sum| sum / rows as f64).collect()
}

/// Takes note of an epoch's held-out losses; their sum, a lane that has stopped counting with its best.
fn see(lanes: &mut [Lane], block: &dyn Block, epoch: u64, losses: &[f64], patience: Option<u64>) -> f64 {
    for (l, (lane, &loss)) in lanes.iter_mut().zip(losses).enumerate() {
        if lane.stopped {
            continue;
        }
        if patience.is_none() || lane.best.0 == 0 || loss < lane.best.1 {
            lane.best = (epoch, loss);
            lane.kept = patience.map(|_| Head::of(block.weights(l), block.bias(l)));
        }
        lane.stopped = patience.is_some_and(|patience| epoch - lane.best.0 >= patience);
    }
    let now = |(lane, &loss): (&Lane, &f64)| if lane.stopped { lane.best.1 } else { loss };
    lanes.iter().zip(losses).map(now).sum()
}

/// What stands for a head that diverged: no weights, the bias at its best.
fn without_weights(task: &ClassTask, head: usize, with_bias: bool) -> Head {
    let rows: Vec<usize> = (0..task.rows()).filter(|&i| task.sets.has(i, head)).collect();
    let own: f64 = rows.iter().map(|&i| task.weight(i)).sum();
    let bias = if with_bias {
        crate::eval::objective::best_bias(own, task.rows() as f64 - own, &*task.loss)
    } else {
        0.0
    };
    Head { bias, ..Head::default() }
}

/// The figures of all blocks together.
fn together(blocks: impl Iterator<Item = Done>, job: &Job) -> Fitted {
    let (mut heads, mut diverged, mut thresholds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sums, mut stop, mut held_out): (Vec<(f64, f64)>, _, f64) = (Vec::new(), Stop::Epochs, 0.0);
    let blocks: Vec<Done> = blocks.collect();
    let epochs = blocks.iter().map(|block| block.history.len()).max().unwrap_or(0);
    sums.resize(epochs, (0.0, 0.0));
    for block in blocks {
        for (epoch, sum) in sums.iter_mut().enumerate() {
            let last = block.history.len() - 1; // a block whose lanes have all stopped stays as it is
            let (running, held_out) = block.history[epoch.min(last)];
            *sum = (sum.0 + running, sum.1 + held_out.unwrap_or(0.0));
        }
        let first = heads.len();
        diverged.extend(block.diverged.iter().enumerate().filter_map(|(l, at)| Some((first + l, (*at)?))));
        held_out += block.losses.iter().sum::<f64>();
        thresholds.extend(block.thresholds.into_iter().flatten());
        stop = if block.stopped { Stop::EarlyStop } else { stop };
        heads.extend(block.heads);
    }
    let finite = |x: f64| Some(x).filter(|x| x.is_finite());
    let with = job.validation.is_some();
    let epoch = |&(running, held_out): &(f64, f64)| Epoch {
        running_loss: finite(running),
        validation_loss: if with { finite(held_out) } else { None },
    };
    let best = sums
        .iter()
        .enumerate()
        .min_by(|a, b| a.1.1.total_cmp(&b.1.1))
        .map_or(0, |(epoch, _)| epoch as u64 + 1);
    Fitted {
        heads,
        history: sums.iter().map(epoch).collect(),
        validation: with.then_some(Validation { loss: held_out, best_epoch: best }),
        stop,
        diverged,
        thresholds: job.tuned.then_some(thresholds),
    }
}
