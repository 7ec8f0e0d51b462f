//! The lanes of a search while they learn: teams of them, each in a block, each without the rows of its fold.

use super::Held;
use super::grid::Point;
use crate::data::rows::Examples;
use crate::optim::lane_loss::Same;
use crate::optim::lanes::{self, Block, Pass};
use crate::optim::sgd::Diverged;
use crate::problem::schedule::{Schedule, Setting};
use crate::problem::settings::{Order, Settings};
use crate::problem::task::Task;
use crate::util::error::Result;
use crate::util::random;
use rayon::prelude::*;

/// Lanes of one fold in one block.
struct LaneBlock {
    block: Box<dyn Block>,
    points: Vec<usize>, // lane by lane
    fold: usize,
    rates: Vec<Box<dyn Schedule>>, // one for all, or one a lane
}

/// The teams at work.
pub(super) struct LaneGrid<'a> {
    task: &'a Task,
    held: &'a Held<'a>,
    settings: &'a Settings,
    teams: Vec<LaneBlock>,
}

/// What one lane came to on the rows held out from it.
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
    /// Puts up a team for each fold and each blockful of points.
    pub fn new(
        task: &'a Task,
        held: &'a Held<'a>,
        settings: &'a Settings,
        points: &[Point],
        which: &[(usize, Vec<usize>)],
    ) -> Result<LaneGrid<'a>> {
        let columns = task.data.rows.columns();
        let team = |(fold, points_of): &(usize, Vec<usize>)| {
            let penalties: Vec<_> = points_of.iter().map(|&p| points[p].penalty).collect();
            let rows = held.learnt(*fold, task.targets.len()) as u64;
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
        Ok(LaneGrid { task, held, settings, teams: which.iter().map(team).collect::<Result<_>>()? })
    }

    /// The rows of an epoch, fold by fold, without those held out.
    pub fn orders(&self, epoch: u64) -> Vec<Vec<u32>> {
        let rows = self.task.targets.len();
        let order: Vec<u32> = match self.settings.order {
            Order::Shuffled => random::permutation(rows, self.settings.seed, epoch),
            Order::Sequential => (0..rows as u32).collect(),
        };
        let without = |fold| match self.held {
            Held::Folds(folds) => order.iter().copied().filter(|&i| folds.of(i as usize) != fold).collect(),
            Held::Rows(_) | Held::Nothing => order.clone(),
        };
        (0..self.held.folds()).map(without).collect()
    }

    /// Every team learns one slice of so many of its fold's order: side by side, and the same bits for any number of
    /// threads.
    pub fn learn(&mut self, orders: &[Vec<u32>], slice: usize, slices: usize) {
        let (examples, aim) = (self.task.examples(), self.aim());
        self.teams.par_iter_mut().for_each(|team| {
            let order = &orders[team.fold];
            let part = |k: usize| order.len() * k / slices;
            let rates: Vec<&dyn Schedule> = team.rates.iter().map(|rate| &**rate).collect();
            let order = &order[part(slice)..part(slice + 1)];
            team.block.learn(&Pass { aim: &aim, rates: &rates, examples, order });
        });
    }

    fn aim(&self) -> Same<'a> {
        Same { loss: &*self.task.loss, targets: &self.task.targets }
    }

    /// How good each lane is on the rows held out from it.
    pub fn marks(&mut self) -> Vec<FoldScore> {
        let (task, held) = (self.task, self.held);
        let mark = |team: &mut LaneBlock| {
            let (examples, rows): (Examples, Vec<u32>) = match held {
                Held::Folds(folds) => (task.examples(), folds.rows(team.fold)),
                Held::Rows(task) => (task.examples(), (0..task.targets.len() as u32).collect()),
                Held::Nothing => (task.examples(), Vec::new()),
            };
            let mut marks: Vec<FoldScore> = (team.points.iter().enumerate())
                .map(|(lane, &point)| {
                    let nonzeros = team.block.weights(lane).filter(|w| *w != 0.0).count();
                    FoldScore { point, fold: team.fold, rows: rows.len(), nonzeros, ..FoldScore::default() }
                })
                .collect();
            team.block.score(examples, &rows, &mut |i, scores| {
                for (mark, &score) in marks.iter_mut().zip(scores) {
                    let loss = task.loss.value(score, examples.targets[i]);
                    mark.sum += loss;
                    mark.squares += loss * loss;
                }
            });
            marks
        };
        self.teams.par_iter_mut().flat_map_iter(mark).collect()
    }

    /// Lanes that left the finite numbers: point, fold, and where.
    pub fn diverged(&self) -> Vec<(usize, usize, Diverged)> {
        let of = |team: &LaneBlock| {
            let lost = |(lane, &point): (usize, &usize)| Some((point, team.fold, team.block.diverged(lane)?));
            team.points.iter().enumerate().filter_map(lost).collect::<Vec<_>>()
        };
        self.teams.iter().flat_map(of).collect()
    }

    /// Goes on with these points alone.
    pub fn keep(&mut self, keep: &dyn Fn(usize) -> bool) {
        self.teams.retain_mut(|team| {
            let lanes: Vec<usize> = (0..team.points.len()).filter(|&lane| keep(team.points[lane])).collect();
            if lanes.len() < team.points.len() && !lanes.is_empty() {
                team.block = team.block.select(&lanes);
                team.points = lanes.iter().map(|&lane| team.points[lane]).collect();
                if team.rates.len() > 1 {
                    let mut lane = 0..;
                    team.rates.retain(|_| lane.next().is_some_and(|lane| lanes.contains(&lane)));
                }
            }
            !lanes.is_empty()
        });
    }

    /// The weights and bias of each lane.
    pub fn weights(&self, see: &mut dyn FnMut(usize, Vec<f64>, f64)) {
        for team in &self.teams {
            for (lane, &point) in team.points.iter().enumerate() {
                see(point, team.block.weights(lane).collect(), team.block.bias(lane));
            }
        }
    }
}
