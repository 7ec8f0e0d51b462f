//! The lanes of a grid search in training: each block skips the rows that its fold holds out.

use super::HeldOutRows;
use super::grid::Point;
use super::turns::{in_turns, piece};
use crate::optim::lane_loss::Same;
use crate::optim::lanes::{self, Block, Pass};
use crate::optim::sgd::{Diverged, Sample};
use crate::problem::schedule::{Schedule, Setting};
use crate::problem::settings::Settings;
use crate::problem::source::Batch;
use crate::problem::task::Task;
use crate::train::epoch_loop::Fit;
use crate::util::error::Result;
use crate::util::state::{Fields, State};
use rayon::prelude::*;
use std::borrow::Cow;

/// Lanes of one fold in one block.
struct LaneBlock {
    block: Box<dyn Block>,
    points: Vec<usize>, // lane by lane
    fold: usize,
    rates: Vec<Box<dyn Schedule>>, // one for all lanes, or one per lane
}

/// All blocks of a grid, trained in parallel.
pub(super) struct LaneGrid<'a> {
    task: &'a Task,
    held: &'a HeldOutRows<'a>,
    blocks: Vec<LaneBlock>,
}

impl Fit for LaneGrid<'_> {
    /// Each block trains on the rows that its fold does not hold out. The result is identical for any number of threads.
    fn learn(&mut self, batch: &Batch, order: &[u32]) -> std::result::Result<Sample, Diverged> {
        let (task, held, blocks) = (self.task, self.held, &mut self.blocks);
        let without = |fold: usize| match held {
            HeldOutRows::Folds(folds) => {
                Cow::Owned(order.iter().copied().filter(|&i| folds.of(i as usize) != fold).collect())
            }
            HeldOutRows::Splits(splits) => {
                let mut learnt = vec![false; task.len()];
                splits[fold].learnt.iter().for_each(|&i| learnt[i] = true);
                Cow::Owned(order.iter().copied().filter(|&i| learnt[i as usize]).collect())
            }
            HeldOutRows::Rows(_) | HeldOutRows::None => Cow::Borrowed(order),
        };
        let orders: Vec<Cow<[u32]>> = (0..held.folds()).into_par_iter().map(without).collect();
        let (rows, weights, examples) = (batch.rows, batch.weights, batch.examples());
        in_turns(blocks.iter_mut(), |one, number| {
            let mut lane_loss = Same { loss: &*task.loss, examples };
            let rates: Vec<&dyn Schedule> = one.rates.iter().map(|rate| &**rate).collect();
            let order = piece(&orders[one.fold], number);
            one.block.learn(&mut lane_loss, &Pass { rates: &rates, rows, weights, order });
        });
        Ok(Sample::default())
    }

    /// The points that are left, and the state of each block.
    fn fields(&mut self, fields: &mut Fields) {
        let mut left: Vec<u64> =
            self.blocks.iter().flat_map(|one| one.points.iter().map(|&p| p as u64)).collect();
        left.sort_unstable();
        left.dedup();
        left.fields(fields);
        self.keep(&|point| left.binary_search(&(point as u64)).is_ok());
        let mut blocks = self.blocks.len();
        blocks.fields(fields);
        fields.require(blocks == self.blocks.len());
        self.blocks.iter_mut().for_each(|one| one.block.fields(fields));
    }
}

/// The held-out score of one lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FoldScore {
    pub point: usize,
    pub fold: usize,
    pub rows: usize,
    pub sum: f64,
    pub squares: f64,
    pub nonzeros: usize,
}

impl<'a> LaneGrid<'a> {
    /// Makes the blocks: the points of each fold, split by the number of lanes per block.
    pub fn new(
        task: &'a Task,
        held: &'a HeldOutRows<'a>,
        settings: &Settings,
        points: &[Point],
        which: &[(usize, Vec<usize>)],
    ) -> Result<LaneGrid<'a>> {
        let columns = task.data.rows.columns();
        let block_of = |(fold, points_of): &(usize, Vec<usize>)| {
            let penalties: Vec<_> = points_of.iter().map(|&p| points[p].penalty).collect();
            let rows = held.learnt(*fold, task.len()) as u64;
            let rate = |p: usize| {
                let Point { penalty, eta0 } = points[p];
                let setting = Setting { eta0, l2: penalty.l2, rows: Some(rows), epochs: settings.epochs };
                settings.schedule.resolve(&setting)
            };
            let same = points_of.iter().all(|&p| points[p].eta0 == points[points_of[0]].eta0); // NaN: no
            let each = if same { &points_of[..1] } else { &points_of[..] };
            let mut block =
                lanes::block(columns, &penalties, settings.method, settings.bias, settings.precision);
            if let (true, Some(start)) = (settings.bias, &settings.start) {
                block.begin_at(start.bias);
            }
            Ok(LaneBlock {
                block,
                points: points_of.clone(),
                fold: *fold,
                rates: each.iter().map(|&p| rate(p)).collect::<Result<_>>()?,
            })
        };
        Ok(LaneGrid { task, held, blocks: which.iter().map(block_of).collect::<Result<_>>()? })
    }

    /// Evaluates each lane on the rows held out from it.
    pub fn marks(&mut self) -> Vec<FoldScore> {
        let (task, held) = (self.task, self.held);
        let begin = |one: &mut LaneBlock| {
            let rows: Vec<u32> = match held {
                HeldOutRows::Folds(folds) => folds.rows(one.fold),
                HeldOutRows::Splits(splits) => splits[one.fold].held.iter().map(|&i| i as u32).collect(),
                HeldOutRows::Rows(task) => (0..task.len() as u32).collect(),
                HeldOutRows::None => Vec::new(),
            };
            let mark = |(lane, &point)| {
                let nonzeros = one.block.weights(lane).filter(|w| *w != 0.0).count();
                FoldScore { point, fold: one.fold, rows: rows.len(), nonzeros, ..FoldScore::default() }
            };
            let marks: Vec<FoldScore> = one.points.iter().enumerate().map(mark).collect();
            (rows, marks)
        };
        let mut marks: Vec<(Vec<u32>, Vec<FoldScore>)> = self.blocks.par_iter_mut().map(begin).collect();
        let examples =
            if let HeldOutRows::Rows(held_out) = held { held_out.examples() } else { task.examples() };
        in_turns(self.blocks.iter_mut().zip(&mut marks), |(one, (rows, marks)), number| {
            one.block.score(examples.rows, piece(rows, number), &mut |i, scores| {
                let (target, offset) = (examples.targets[i], examples.offset(i));
                for (mark, &score) in marks.iter_mut().zip(scores) {
                    let loss = task.loss.value(score + offset, target);
                    mark.sum += loss;
                    mark.squares += loss * loss;
                }
            });
        });
        marks.into_iter().flat_map(|(_, marks)| marks).collect()
    }

    /// The lanes that diverged: point, fold, and the place.
    pub fn diverged(&self) -> Vec<(usize, usize, Diverged)> {
        let of = |one: &LaneBlock| {
            let lost = |(lane, &point): (usize, &usize)| Some((point, one.fold, one.block.diverged(lane)?));
            one.points.iter().enumerate().filter_map(lost).collect::<Vec<_>>()
        };
        self.blocks.iter().flat_map(of).collect()
    }

    /// Keeps these points alone.
    pub fn keep(&mut self, keep: &dyn Fn(usize) -> bool) {
        self.blocks.retain_mut(|one| {
            let lanes: Vec<usize> = (0..one.points.len()).filter(|&lane| keep(one.points[lane])).collect();
            if lanes.len() < one.points.len() && !lanes.is_empty() {
                one.block = one.block.select(&lanes);
                one.points = lanes.iter().map(|&lane| one.points[lane]).collect();
                if one.rates.len() > 1 {
                    let mut lane = 0..;
                    one.rates.retain(|_| lane.next().is_some_and(|lane| lanes.contains(&lane)));
                }
            }
            !lanes.is_empty()
        });
    }

    /// The weights and bias of each lane.
    pub fn weights(&self, see: &mut dyn FnMut(usize, Vec<f64>, f64)) {
        for one in &self.blocks {
            for (lane, &point) in one.points.iter().enumerate() {
                see(point, one.block.weights(lane).collect(), one.block.bias(lane));
            }
        }
    }
}

impl State for FoldScore {
    fn fields(&mut self, fields: &mut Fields) {
        [&mut self.point, &mut self.fold, &mut self.rows, &mut self.nonzeros]
            .into_iter()
            .for_each(|number| number.fields(fields));
        self.sum.fields(fields);
        self.squares.fields(fields);
    }
}
