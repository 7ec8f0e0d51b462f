//! Training of independent heads, one-vs-rest or labels, in blocks of lanes. One thread trains a block from the first epoch
//! to the last.
//!
//! Blocks are independent: only those in training are in memory, and the result is the same for any number of threads.
//! With early stopping, each head keeps its own best epoch, as a single model would.

use super::memory::too_many_weights;
use super::{FittedHeads, Job, sets};
use crate::data::rows::RowsRef;
use crate::eval::objective;
use crate::model::report::{Epoch, Stop, Validation};
use crate::optim::lane_loss::{LaneLoss, OneVsRest, Sampled};
use crate::optim::lanes::{Block, Pass, block};
use crate::optim::sgd::{Diverged, Sample};
use crate::problem::heads::Head;
use crate::problem::loss::Loss;
use crate::problem::schedule::Schedule;
use crate::problem::settings::Settings;
use crate::problem::source::{Batch, Problem};
use crate::problem::task::{Sets, Task};
use crate::train::epoch_loop::Fit;
use crate::train::holdout::{Evaluated, Evaluation, Fitted, Holdout, best_epoch, sampled};
use crate::train::progress::Progress;
use crate::util::error::{Kind, Result};
use crate::util::state::{Fields, State};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

/// One block of lanes: the heads from `first` on.
pub(super) struct Lanes<'a> {
    block: Box<dyn Block>,
    loss: &'a dyn Loss,
    rate: &'a dyn Schedule,
    first: u32,
    one_in: usize,
    t: u64,
}

impl<'a> Lanes<'a> {
    /// Untrained lanes for these heads of a problem.
    pub fn new(
        problem: &'a dyn Problem,
        settings: &Settings,
        rate: &'a dyn Schedule,
        heads: Range<usize>,
    ) -> Lanes<'a> {
        let (columns, penalties) = (problem.features().columns(), vec![settings.penalty; heads.len()]);
        let block = block(columns, &penalties, settings.method, settings.bias, settings.precision);
        let one_in = sampled(problem.rows()) as usize;
        Lanes { block, loss: &**problem.loss(), rate, first: heads.start as u32, one_in, t: 0 }
    }

    /// Trains on rows with these heads, in this order; returns a sample of their losses.
    pub fn learn_rows(
        &mut self,
        (rows, weights): (RowsRef, Option<&[f64]>),
        sets: &Sets,
        order: &[u32],
    ) -> Sample {
        let lane_loss = OneVsRest { loss: self.loss, sets, first: self.first };
        let one_in = self.one_in;
        let mut lane_loss = Sampled { lane_loss, weights, one_in, sample: Sample::default() };
        self.block.learn(&mut lane_loss, &Pass { rates: &[self.rate], rows, weights, order });
        self.t += order.len() as u64;
        lane_loss.sample
    }
}

impl Fit for Lanes<'_> {
    fn learn(&mut self, batch: &Batch, order: &[u32]) -> std::result::Result<Sample, Diverged> {
        let Some(sets) = batch.sets() else { return Ok(Sample::default()) };
        Ok(self.learn_rows((batch.rows, batch.weights), sets, order))
    }

    fn fields(&mut self, fields: &mut Fields) {
        self.block.fields(fields);
        self.t.fields(fields);
    }
}

impl Evaluated for Lanes<'_> {
    fn t(&self) -> u64 {
        self.t
    }

    fn units(&self) -> usize {
        self.block.lanes()
    }

    fn number(&self) -> u64 {
        self.first.into()
    }

    fn lost(&self) -> Vec<(usize, Diverged)> {
        (0..self.block.lanes()).filter_map(|lane| Some((lane, self.block.diverged(lane)?))).collect()
    }

    fn evaluate(&mut self, validation: Option<&Task>) -> Evaluation {
        let losses = validation.map(|task| {
            let lane_loss = OneVsRest { loss: &*task.loss, sets: sets(task), first: self.first };
            let (mut sums, mut losses) = (vec![0.0; self.block.lanes()], vec![0.0; self.block.lanes()]);
            let order: Vec<u32> = (0..task.len() as u32).collect();
            self.block.score(task.data.rows.borrow(), &order, &mut |i, scores| {
                lane_loss.losses(i, scores, &mut losses);
                sums.iter_mut().zip(&losses).for_each(|(sum, loss)| *sum += loss);
            });
            sums.iter().map(|sum| sum / order.len() as f64).collect()
        });
        Evaluation { finite: true, nonzeros: None, losses } // a lane that diverged is removed at the end
    }

    fn heads(&self, unit: usize) -> Vec<Head> {
        vec![Head::of(self.block.weights(unit), self.block.bias(unit))]
    }

    fn nonzeros(&self) -> Option<usize> {
        None
    }
}

/// A trained block.
pub(super) struct FittedBlock {
    fitted: Fitted,
    diverged: Vec<(usize, Diverged)>,
    untouched: usize,
}

impl FittedBlock {
    /// A block that an interruption left untrained.
    pub fn untouched(heads: Vec<Head>) -> FittedBlock {
        let untouched = heads.len();
        let fitted = Fitted { heads, stop: Stop::Interrupted, ..Fitted::default() };
        FittedBlock { fitted, diverged: Vec::new(), untouched }
    }

    /// A trained block, in which heads that diverged are replaced by those without weights. Also counts its weights.
    pub fn sound(mut fitted: Fitted, rows: usize, null: impl Fn(usize) -> Head) -> (FittedBlock, usize) {
        let mut diverged = Vec::new();
        for (l, head) in fitted.heads.iter_mut().enumerate() {
            let infinite =
                Diverged { row: 0, t: fitted.epochs * rows as u64, score: f64::INFINITY, slope: 0.0 };
            let lost = fitted.lost.iter().find(|(lane, _)| *lane == l).map(|(_, at)| *at);
            if let Some(at) = lost.or((!head.is_finite()).then_some(infinite)) {
                diverged.push((l, at));
                *head = null(l);
            }
        }
        let weights = fitted.heads.iter().map(|head| head.weights.len()).sum();
        (FittedBlock { fitted, diverged, untouched: 0 }, weights)
    }
}

/// A progress message of a block: an epoch has ended, or the block is done.
enum BlockProgress {
    Epoch(Progress),
    Done { nonzeros: usize },
}

/// Trains all heads. Blocks are trained on other threads, and this thread reports progress.
pub(super) fn fit(
    job: &Job,
    rate: &dyn Schedule,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<FittedHeads> {
    let blocks = job.targets.names.len().div_ceil(job.room.lanes) as u64;
    let rows = job.task.len() as u64;
    let mut progress = Progress::start(job.settings.epochs, rows.saturating_mul(blocks));
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let fitted = scope.spawn(move || fit_blocks(job, rate, tell));
        for told in told {
            match told {
                BlockProgress::Done { nonzeros } => {
                    progress.nonzeros = Some(progress.nonzeros.unwrap_or(0) + nonzeros)
                }
                BlockProgress::Epoch(at) => {
                    progress.learnt += rows;
                    (progress.epoch, progress.running_loss) = (at.epoch, at.running_loss);
                }
            }
            watch(&progress);
        }
        fitted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Trains the blocks, as many at once as fit into memory.
fn fit_blocks(job: &Job, rate: &dyn Schedule, tell: Sender<BlockProgress>) -> Result<FittedHeads> {
    let heads = job.targets.names.len();
    let starts: Vec<usize> = (0..heads).step_by(job.room.lanes).collect();
    let (next, weights) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = |tell: Sender<BlockProgress>| {
        let mut done = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(&first) = starts.get(k) else { return Ok(done) };
            let count = job.room.lanes.min(heads - first);
            let block = fit_block(job, rate, first..first + count, &tell)?;
            let more: usize = block.fitted.heads.iter().map(|head| head.weights.len()).sum();
            let all = weights.fetch_add(more, Ordering::Relaxed) + more;
            if job.room.rows + job.room.learning + all * Head::WEIGHT > job.room.limit {
                next.store(starts.len(), Ordering::Relaxed); // the others stop too
                return Err(too_many_weights(job.room.limit, first + count, heads));
            }
            done.push((k, block));
        }
    };
    let tells: Vec<Sender<BlockProgress>> = (0..job.room.at_once).map(|_| tell.clone()).collect();
    drop(tell);
    let done: Result<Vec<Vec<(usize, FittedBlock)>>> =
        tells.into_par_iter().with_max_len(1).map(worker).collect();
    let mut done: Vec<(usize, FittedBlock)> = done?.into_iter().flatten().collect();
    done.sort_by_key(|(k, _)| *k);
    let all = merge_blocks(done.into_iter().map(|(_, block)| block).collect(), job.validation.is_some());
    match all.untouched == heads {
        true => Err(Kind::Interrupted.into()), // no head made a step
        false => Ok(all),
    }
}

/// Trains one block, from the first epoch to the last.
fn fit_block(
    job: &Job,
    rate: &dyn Schedule,
    heads: Range<usize>,
    tell: &Sender<BlockProgress>,
) -> Result<FittedBlock> {
    let (Job { task, settings, validation, .. }, first, count) = (*job, heads.start, heads.len());
    let null = |head: usize| null_head(job, first + head);
    if settings.interrupted() {
        return Ok(FittedBlock::untouched((0..count).map(null).collect()));
    }
    let mut lanes = Lanes::new(task, settings, rate, heads);
    let watch = &mut |at: &Progress| {
        if at.epoch_ends {
            let _ = tell.send(BlockProgress::Epoch(*at)); // nobody may be listening
        }
    };
    let rule = Holdout { settings, validation, slower: job.slower(), spent: 0.0, watch };
    let fitted = rule.fit(&mut lanes, task)?;
    drop(lanes);
    let (block, nonzeros) = FittedBlock::sound(fitted, task.len(), null);
    let _ = tell.send(BlockProgress::Done { nonzeros });
    Ok(block)
}

/// The head that replaces an untrained one: no weights, and the best bias.
fn null_head(job: &Job, head: usize) -> Head {
    let (task, sets) = (job.task, job.targets.sets);
    let weights = job.weights.get_or_init(|| sets.weights(job.targets.names.len(), |i| task.weight(i)));
    objective::null_head(weights[head], task.len() as f64, &*task.loss, job.settings.bias)
}

/// Merges the heads and the histories of all blocks.
pub(super) fn merge_blocks(blocks: Vec<FittedBlock>, validated: bool) -> FittedHeads {
    let epochs = blocks.iter().map(|block| block.fitted.history.len()).max().unwrap_or(0);
    let sum = |epoch: usize, of: fn(&Epoch) -> Option<f64>| {
        let of_block = |block: &FittedBlock| {
            // A block whose lanes have all stopped keeps its last values.
            let history = &block.fitted.history;
            history.get(epoch).or(history.last()).map_or(Some(0.0), of)
        };
        blocks.iter().map(of_block).sum::<Option<f64>>()
    };
    let epoch = |epoch: usize| Epoch {
        running_loss: sum(epoch, |epoch| epoch.running_loss),
        validation_loss: sum(epoch, |epoch| epoch.validation_loss),
    };
    let history: Vec<Epoch> = (0..epochs).map(epoch).collect();
    let held_out: Option<f64> =
        blocks.iter().map(|block| block.fitted.validation.map(|validation| validation.loss)).sum();
    let loss = held_out.filter(|_| validated);
    let validation = loss.map(|loss| Validation { loss, best_epoch: best_epoch(&history) });
    let stop = |stop: Stop| blocks.iter().any(|block| block.fitted.stop == stop).then_some(stop);
    let stop = stop(Stop::Interrupted).or_else(|| stop(Stop::EarlyStop)).unwrap_or(Stop::Epochs);
    let untouched = blocks.iter().map(|block| block.untouched).sum();
    let (mut heads, mut diverged) = (Vec::new(), Vec::new());
    for block in blocks {
        let first = heads.len();
        diverged.extend(block.diverged.into_iter().map(|(l, at)| (first + l, at)));
        heads.extend(block.fitted.heads);
    }
    let fitted = Fitted { heads, epochs: epochs as u64, stop, validation, history, ..Fitted::default() };
    FittedHeads { fitted, diverged, duals: Vec::new(), untouched }
}
