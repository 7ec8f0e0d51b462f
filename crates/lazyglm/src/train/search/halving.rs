//! Grid search with successive halving: each point has one lane per fold, which is evaluated on the rows of that fold.
//!
//! ```text
//! lanes      points × folds, in blocks of one fold; a block passes over the rows of its fold
//! epoch      all blocks side by side, in slices, so that a deadline finds all lanes equally far
//! halving    after each epoch but the last, and on the way through the first: points whose loss is more than a quarter (in
//!            the first epoch: half) of the way from the best's to that of no model are dropped, half of those left at most
//! score      mean over folds of the mean held-out loss, and its standard error
//! ```

mod state;

use super::grid::Point;
use super::lane_grid::{FoldScore, LaneGrid};
use super::{HeldOutRows, lost};
use crate::eval::objective;
use crate::model::report::Stop;
use crate::optim::sgd::Diverged;
use crate::problem::settings::Settings;
use crate::problem::source::Sequence;
use crate::problem::task::Task;
use crate::train::epoch_loop::{Epochs, Position, StopRule, fit};
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::state::{Fields, State};
use state::{groups, unit};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A grid search: its rows, points and limits.
pub struct Search<'a> {
    /// The task.
    pub task: &'a Task,
    /// The held-out rows.
    pub held: HeldOutRows<'a>,
    /// The settings, without the penalty and the starting learning rate.
    pub settings: &'a Settings,
    /// The grid points.
    pub points: Vec<Point>,
    /// Memory limit for the weights, in bytes; lanes beyond the limit are trained in groups, one after the other.
    pub memory: usize,
    /// The time at which the search must have ended.
    pub deadline: Option<Instant>,
    /// Whether points far worse than the best are dropped during the search.
    pub halving: bool,
}

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The share of the work that is done.
    pub share: f64,
    /// The epoch, from 1.
    pub epoch: u64,
    /// The number of points that are not dropped.
    pub points: usize,
}

/// The result of one grid point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The point.
    pub point: Point,
    /// The mean over folds of the mean held-out loss; infinite if one of its models diverged.
    pub mean: f64,
    /// The standard error of the mean: over folds, or over rows if there is one set of held-out rows.
    pub se: f64,
    /// The number of non-zero weights, averaged over folds.
    pub nonzeros: f64,
    /// The number of epochs trained: fewer than requested if the point was dropped or time ran out.
    pub epochs: f64,
    /// The reason why the point was dropped, if it was.
    pub dropped: Option<Dropped>,
}

/// The reason why a grid point was dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dropped {
    /// Other points were far better after this number of epochs.
    Hopeless(f64),
    /// One of its models diverged (NaN or infinity).
    Diverged {
        /// The fold held out from the model.
        fold: usize,
        /// The row and the step at which the model diverged; unknown if only a held-out row showed it.
        at: Option<(usize, u64)>,
    },
}

/// The result of a grid search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One score per point, in the order of the points.
    pub scores: Vec<Score>,
    /// The mean held-out loss of each point, fold by fold; NaN where it was never evaluated.
    pub by_fold: Vec<Vec<f64>>,
    /// The index of the point with the lowest mean held-out loss.
    pub best: usize,
    /// The index of the strongest penalty (λ₁, then λ₂) whose mean loss is within one standard error of the best.
    pub one_se: usize,
    /// Whether time ran out before all epochs were trained.
    pub stopped: bool,
    /// The number of groups in which the lanes were trained.
    pub groups: usize,
}

/// Number of slices per epoch; the clock is checked after each slice.
const SLICES: usize = 16;
/// Number of rows to train on before any point is dropped.
const EARLY: usize = 10_000;

/// Runs a search.
///
/// ```
/// use lazyglm::{Parameter, Settings, synth, train::search::*};
/// let task = synth::documents(&synth::Shape { rows: 2_000, features: 300, ..Default::default() }).task;
/// let settings = Settings::default();
/// let point = |&l1: &f64| Point { penalty: lazyglm::ElasticNet { l1, l2: 1e-6 }, eta0: 0.05 };
/// let outcome = search(
///     &Search {
///         task: &task,
///         held: HeldOutRows::Folds(Folds::new(&task, 4, 1).unwrap()),
///         settings: &settings,
///         points: Numbers::parse(Parameter::L1, "1e-5..1:6").unwrap().values().iter().map(point).collect(),
///         memory: 1 << 30,
///         deadline: None,
///         halving: true,
///     },
///     &mut |_| {},
/// )
/// .unwrap();
/// assert!(outcome.scores[outcome.best].point.penalty.l1 < 0.1, "λ₁ = 1 leaves no weight");
/// assert!(outcome.scores[outcome.one_se].point.penalty.l1 >= outcome.scores[outcome.best].point.penalty.l1);
/// ```
pub fn search(search: &Search, watch: &mut dyn FnMut(&Stage)) -> Result<Outcome> {
    let Search { task, settings, points, .. } = search;
    search.held.check(task.len())?;
    let null = objective::baseline(task.examples(), &*task.loss, settings.bias.into());
    let folds = search.held.folds();
    let groups = groups(search);
    let mut race = Halving {
        search,
        null,
        marks: HashMap::new(),
        epochs: vec![0.0; points.len()],
        out: vec![None; points.len()],
    };
    let mut stopped = false;
    for (k, group) in groups.iter().enumerate() {
        let alive = |block: &(usize, Vec<usize>)| {
            let points: Vec<usize> = block.1.iter().copied().filter(|&p| race.out[p].is_none()).collect();
            (!points.is_empty()).then_some((block.0, points))
        };
        let group: Vec<_> = group.iter().filter_map(alive).collect();
        let share = |within: f64| (k as f64 + within) / groups.len() as f64;
        // The remaining time is divided evenly among the remaining groups.
        let left = search.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let until = left.map(|left| Instant::now() + left / (groups.len() - k) as u32);
        stopped |= race.run(&group, until, &mut |epoch, within, points| {
            watch(&Stage { share: share(within), epoch, points });
        })?;
    }
    if stopped && settings.interrupted() {
        return Err(Kind::Interrupted.into());
    }
    let scores: Vec<Score> = (0..points.len()).map(|p| race.score(p, folds)).collect();
    let by_fold = (0..points.len()).map(|p| race.by_fold(p, folds)).collect();
    let Some((best, one_se)) = choose(&scores) else {
        let at = Diverged { row: 0, t: 0, score: f64::NAN, slope: f64::NAN };
        return Err(lost(at, task.data.file(), 1));
    };
    Ok(Outcome { scores, by_fold, best, one_se, stopped, groups: groups.len() })
}

/// The state of a search: the scores of all points so far.
struct Halving<'a> {
    search: &'a Search<'a>,
    null: f64,
    marks: HashMap<(usize, usize), FoldScore>, // by point and fold
    epochs: Vec<f64>,                          // that a point has learnt
    out: Vec<Option<Dropped>>,
}

/// The stop rule of a group of blocks: drops points that are far worse, and ends when time is up.
struct GroupRule<'r, 'a> {
    race: &'r mut Halving<'a>,
    racing: Vec<usize>,
    until: Option<Instant>,
    looked: Instant,
    judging: Duration,
    unit: Option<crate::train::units::Unit>,
    watch: &'r mut dyn FnMut(u64, f64, usize),
}

impl GroupRule<'_, '_> {
    fn halves(&self) -> bool {
        self.race.search.halving && self.racing.len() > 2
    }
}

impl StopRule<LaneGrid<'_>> for GroupRule<'_, '_> {
    fn after_part(&mut self, grid: &mut LaneGrid, at: &Position) -> Result<Option<Stop>> {
        let (rows, epochs) = (self.race.search.task.len(), self.race.search.settings.epochs);
        let slice = (at.rows * SLICES).div_ceil(rows.max(1));
        let within = (at.epoch - 1) as f64 + at.rows as f64 / rows as f64;
        self.racing.iter().for_each(|&p| self.race.epochs[p] = within);
        (self.watch)(at.epoch, within / epochs as f64, self.racing.len());
        // There must be time for another slice and for the last evaluation, which takes about as long.
        let next = Instant::now() + 2 * self.looked.elapsed() + self.judging;
        self.looked = Instant::now();
        let late = self.until.is_some_and(|until| next > until) && !(at.epoch == epochs && at.rows == rows);
        if self.race.search.settings.interrupted() {
            return Ok(Some(Stop::Interrupted)); // the checkpoint keeps the state as it is
        }
        if late {
            self.race.see(grid, &mut self.racing);
            return Ok(Some(Stop::Interrupted));
        }
        let learnt = self.race.search.held.learnt(0, rows) * slice / SLICES;
        if at.epoch == 1 && [2, 4, 8].contains(&slice) && self.halves() && learnt > EARLY {
            self.race.see(grid, &mut self.racing);
            self.race.halve(grid, &mut self.racing, within, 0.5);
        }
        Ok(None)
    }

    fn after_epoch(&mut self, grid: &mut LaneGrid, at: &Position) -> Result<Option<Stop>> {
        if at.stop.is_some() {
            return Ok(None);
        }
        let last = at.epoch == self.race.search.settings.epochs;
        if last || self.halves() {
            let started = Instant::now();
            self.race.see(grid, &mut self.racing);
            self.judging = started.elapsed();
        }
        if !last && self.race.search.halving {
            self.race.halve(grid, &mut self.racing, at.epoch as f64, 0.25);
        }
        self.looked = Instant::now();
        Ok(self.racing.is_empty().then_some(Stop::Epochs))
    }

    fn unit(&self) -> Option<crate::train::units::Unit> {
        self.unit.clone()
    }

    fn fields(&mut self, fields: &mut Fields) {
        self.race.fields(fields);
        self.racing.fields(fields);
        let points = self.race.out.len();
        fields.require(self.racing.iter().all(|&point| point < points));
    }

    fn diverged(&self, at: Diverged, place: Place, epoch: u64) -> Error {
        lost(at, place, epoch) // a grid removes lanes that diverge, and goes on
    }
}

impl Halving<'_> {
    /// Trains the blocks of a group; returns whether time ran out.
    fn run(
        &mut self,
        group: &[(usize, Vec<usize>)],
        until: Option<Instant>,
        watch: &mut dyn FnMut(u64, f64, usize),
    ) -> Result<bool> {
        let Search { task, held, settings, points, .. } = self.search;
        let unit = unit(self.search, group)?;
        if let Some(unit) = &unit
            && unit.checkpoint.find(unit.done(), self)?
        {
            return Ok(false);
        }
        let mut grid = LaneGrid::new(task, held, settings, points, group)?;
        let mut racing: Vec<usize> = group.iter().flat_map(|(_, points)| points.iter().copied()).collect();
        racing.sort_unstable();
        racing.dedup();
        let (looked, judging) = (Instant::now(), Duration::ZERO);
        let stride = task.len().div_ceil(SLICES);
        let epochs = Epochs { before: 0, most: settings.epochs, sequence: Sequence::of(settings), stride };
        let mut rule = GroupRule { race: self, racing, until, looked, judging, unit: unit.clone(), watch };
        let stopped = fit(&mut grid, *task, &epochs, &mut rule)? == Stop::Interrupted;
        if let Some(unit) = unit.filter(|_| !stopped) {
            unit.finish(self);
        }
        Ok(stopped)
    }

    /// Evaluates every lane, and removes those that diverged.
    fn see(&mut self, grid: &mut LaneGrid, racing: &mut Vec<usize>) {
        for mark in grid.marks() {
            if !mark.sum.is_finite() {
                self.out[mark.point] = Some(Dropped::Diverged { fold: mark.fold, at: None });
            }
            self.marks.insert((mark.point, mark.fold), mark);
        }
        for (point, fold, at) in grid.diverged() {
            self.out[point] = Some(Dropped::Diverged { fold, at: Some((at.row, at.t)) });
        }
        racing.retain(|&p| self.out[p].is_none());
        grid.keep(&|p| self.out[p].is_none());
    }

    /// Drops points that are far worse than the best, at most half of those left.
    fn halve(&mut self, grid: &mut LaneGrid, racing: &mut Vec<usize>, epochs: f64, share: f64) {
        let folds = self.search.held.folds();
        let mut ranked: Vec<(f64, usize)> = racing.iter().map(|&p| (self.score(p, folds).mean, p)).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some(&(best, _)) = ranked.first() else { return };
        let hopeless = best + share * (self.null - best).max(0.0);
        for &(mean, point) in &ranked[ranked.len().div_ceil(2)..] {
            if mean > hopeless {
                self.out[point] = Some(Dropped::Hopeless(epochs));
            }
        }
        racing.retain(|&p| self.out[p].is_none());
        grid.keep(&|p| self.out[p].is_none());
    }

    fn by_fold(&self, point: usize, folds: usize) -> Vec<f64> {
        let mean = |mark: &FoldScore| mark.sum / mark.rows as f64;
        (0..folds).map(|fold| self.marks.get(&(point, fold)).map_or(f64::NAN, mean)).collect()
    }

    fn score(&self, point: usize, folds: usize) -> Score {
        let marks: Vec<FoldScore> =
            (0..folds).filter_map(|fold| self.marks.get(&(point, fold)).copied()).collect();
        let means: Vec<f64> = marks.iter().map(|mark| mark.sum / mark.rows as f64).collect();
        let count = means.len() as f64;
        let mean = match self.out[point] {
            Some(Dropped::Diverged { .. }) => f64::INFINITY,
            _ if means.is_empty() => f64::INFINITY,
            _ => means.iter().sum::<f64>() / count,
        };
        let se = match &marks[..] {
            _ if !mean.is_finite() => f64::INFINITY,
            [one] => {
                let rows = one.rows as f64;
                ((one.squares / rows - mean * mean).max(0.0) / rows).sqrt()
            }
            _ => {
                let spread = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (count - 1.0);
                (spread / count).sqrt()
            }
        };
        Score {
            point: self.search.points[point],
            mean,
            se,
            nonzeros: marks.iter().map(|mark| mark.nonzeros as f64).sum::<f64>() / count.max(1.0),
            epochs: self.epochs[point],
            dropped: self.out[point],
        }
    }
}

/// The index of the best point, and of the strongest penalty within one standard error of it; `None` if no mean is finite.
///
/// ```
/// use lazyglm::{ElasticNet, train::search::{Point, Score, choose}};
/// let score = |l1: f64, mean: f64| {
///     let point = Point { penalty: ElasticNet { l1, l2: 0.0 }, eta0: 0.1 };
///     Score { point, mean, se: 0.05, nonzeros: 1.0, epochs: 1.0, dropped: None }
/// };
/// assert_eq!(choose(&[score(0.3, 0.6), score(0.2, 0.54), score(0.1, 0.5)]), Some((2, 1)));
/// assert_eq!(choose(&[score(0.3, f64::INFINITY)]), None);
/// ```
pub fn choose(scores: &[Score]) -> Option<(usize, usize)> {
    let in_race = || (0..scores.len()).filter(|&p| scores[p].dropped.is_none() && scores[p].mean.is_finite());
    let best = in_race().min_by(|&a, &b| scores[a].mean.total_cmp(&scores[b].mean))?;
    let good = scores[best].mean + scores[best].se;
    let strength = |p: &usize| (scores[*p].point.penalty.l1, scores[*p].point.penalty.l2);
    let order =
        |a: &usize, b: &usize| strength(a).partial_cmp(&strength(b)).unwrap_or(std::cmp::Ordering::Equal);
    let one_se = in_race().filter(|&p| scores[p].mean <= good).max_by(order);
    Some((best, one_se.unwrap_or(best)))
}

/// One outcome for all heads: losses are summed, fold by fold, and a point that one head dropped is dropped.
pub fn summed(mut outcomes: Vec<Outcome>) -> Option<Outcome> {
    let heads = outcomes.len() as f64;
    let mut all = outcomes.pop()?;
    if outcomes.is_empty() {
        return Some(all);
    }
    for (p, score) in all.scores.iter_mut().enumerate() {
        for other in &outcomes {
            all.by_fold[p].iter_mut().zip(&other.by_fold[p]).for_each(|(sum, loss)| *sum += loss);
            score.nonzeros += other.scores[p].nonzeros;
            score.dropped = score.dropped.or(other.scores[p].dropped);
        }
        let (losses, count) = (&all.by_fold[p], all.by_fold[p].len() as f64);
        let mean = losses.iter().sum::<f64>() / count;
        let spread = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (score.mean, score.se) = (mean, (spread / count).sqrt());
        score.nonzeros /= heads;
    }
    (all.best, all.one_se) = choose(&all.scores)?;
    Some(all)
}
