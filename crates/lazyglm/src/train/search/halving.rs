//! A search: every point learns from all folds but one, as a lane for each, and is judged on the one it did not see.
//!
//! ```text
//! lanes      points × folds, in blocks of one fold; a block passes over the rows of its fold
//! epoch      all blocks side by side, in slices, so that a deadline finds all lanes equally far
//! halving    after each epoch but the last, and on the way through the first: points whose loss is more than a quarter (in
//!            the first epoch: half) of the way from the best's to that of no model are dropped, half of those left at most
//! score      mean over folds of the mean held-out loss, and its standard error
//! ```

use super::grid::Point;
use super::lane_grid::{FoldScore, LaneGrid};
use super::{Held, lost};
use crate::eval::objective;
use crate::model::report::Stop;
use crate::optim::sgd::Diverged;
use crate::problem::settings::Settings;
use crate::problem::source::Sequence;
use crate::problem::task::Task;
use crate::train::fit::{Epochs, Position, StopRule, fit};
use crate::util::error::{Error, Place, Result};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What to search, and within which limits.
pub struct Search<'a> {
    /// The rows.
    pub task: &'a Task,
    /// Those held out.
    pub held: Held<'a>,
    /// Everything but the penalty and the rate.
    pub settings: &'a Settings,
    /// What to try.
    pub points: Vec<Point>,
    /// Bytes that weights may take; beyond them lanes go in groups, one after the other.
    pub memory: usize,
    /// When the last slice must have ended.
    pub deadline: Option<Instant>,
    /// Whether hopeless points are dropped on the way.
    pub halving: bool,
}

/// How a search is getting on.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Of all that is to be learnt, how much was.
    pub share: f64,
    /// The epoch, from 1.
    pub epoch: u64,
    /// Points still in the race.
    pub points: usize,
}

/// What a point came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The point.
    pub point: Point,
    /// The mean over folds of the mean held-out loss; infinite if a lane of it diverged.
    pub mean: f64,
    /// The standard error of that mean: over folds, or over rows where they were held out once.
    pub se: f64,
    /// Non-zero weights, mean over folds.
    pub nonzeros: f64,
    /// Epochs learnt, less than asked for if it was dropped or time was up.
    pub epochs: f64,
    /// Why it was dropped, if it was.
    pub dropped: Option<Dropped>,
}

/// Why a point was dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dropped {
    /// Others were far better after so many epochs.
    Hopeless(f64),
    /// A lane of it left the finite numbers.
    Diverged {
        /// The fold it did not learn.
        fold: usize,
        /// The row at which it did, and the step; unknown if it was seen on held-out rows only.
        at: Option<(usize, u64)>,
    },
}

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One a point, in their order.
    pub scores: Vec<Score>,
    /// The mean held-out loss of each point, fold by fold; NaN where it was never judged.
    pub by_fold: Vec<Vec<f64>>,
    /// Which has the lowest mean.
    pub best: usize,
    /// The one with the strongest penalty (λ₁, then λ₂) whose mean is within one standard error of the best's.
    pub one_se: usize,
    /// Whether time was up before all epochs were learnt.
    pub stopped: bool,
    /// How many groups the lanes went in.
    pub groups: usize,
}

/// An epoch is learnt in so many slices, with a look at the clock after each.
const SLICES: usize = 16;

/// Nothing is dropped before so many rows were learnt.
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
///         held: Held::Folds(Folds::new(&task, 4, 1).unwrap()),
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
    let null = objective::baseline(task.examples(), &*task.loss, settings.bias);
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
        let alive = |team: &(usize, Vec<usize>)| {
            let points: Vec<usize> = team.1.iter().copied().filter(|&p| race.out[p].is_none()).collect();
            (!points.is_empty()).then_some((team.0, points))
        };
        let group: Vec<_> = group.iter().filter_map(alive).collect();
        let share = |within: f64| (k as f64 + within) / groups.len() as f64;
        // Time is dealt out evenly among the groups to come.
        let left = search.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let until = left.map(|left| Instant::now() + left / (groups.len() - k) as u32);
        stopped |= race.run(&group, until, &mut |epoch, within, points| {
            watch(&Stage { share: share(within), epoch, points });
        })?;
    }
    let scores: Vec<Score> = (0..points.len()).map(|p| race.score(p, folds)).collect();
    let by_fold = (0..points.len()).map(|p| race.by_fold(p, folds)).collect();
    let Some((best, one_se)) = choose(&scores) else {
        let at = Diverged { row: 0, t: 0, score: f64::NAN, slope: f64::NAN };
        return Err(lost(at, task.data.file(), 1));
    };
    Ok(Outcome { scores, by_fold, best, one_se, stopped, groups: groups.len() })
}

/// Teams of one fold and a blockful of points, as many side by side as memory allows.
fn groups(search: &Search) -> Vec<Vec<(usize, Vec<usize>)>> {
    let width = search.settings.precision;
    let columns = search.task.data.rows.columns();
    let all: Vec<usize> = (0..search.points.len()).collect();
    let mut groups: Vec<Vec<(usize, Vec<usize>)>> = vec![Vec::new()];
    let mut used = 0;
    for fold in 0..search.held.folds() {
        for points in all.chunks(width.most_lanes()) {
            let bytes = columns * width.lane_bytes(points.len());
            if used + bytes > search.memory && used > 0 {
                groups.push(Vec::new());
                used = 0;
            }
            used += bytes;
            groups.last_mut().into_iter().for_each(|group| group.push((fold, points.to_vec())));
        }
    }
    groups
}

/// What is known of all points.
struct Halving<'a> {
    search: &'a Search<'a>,
    null: f64,
    marks: HashMap<(usize, usize), FoldScore>, // by point and fold
    epochs: Vec<f64>,                          // that a point has learnt
    out: Vec<Option<Dropped>>,
}

/// The stop rule of a group of blocks: drops hopeless points, and ends when time is up.
struct GroupRule<'r, 'a> {
    race: &'r mut Halving<'a>,
    racing: Vec<usize>,
    until: Option<Instant>,
    looked: Instant,
    judging: Duration,
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
        // Another slice, and a last look at the held-out rows, which takes about as long.
        let next = Instant::now() + 2 * self.looked.elapsed() + self.judging;
        self.looked = Instant::now();
        if self.until.is_some_and(|until| next > until) && !(at.epoch == epochs && at.rows == rows) {
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

    fn diverged(&self, at: Diverged, place: Place, epoch: u64) -> Error {
        lost(at, place, epoch) // a grid takes lanes that diverge out, and goes on
    }
}

impl Halving<'_> {
    /// Runs the blocks of a group; whether time was up.
    fn run(
        &mut self,
        group: &[(usize, Vec<usize>)],
        until: Option<Instant>,
        watch: &mut dyn FnMut(u64, f64, usize),
    ) -> Result<bool> {
        let Search { task, held, settings, points, .. } = self.search;
        let mut grid = LaneGrid::new(task, held, settings, points, group)?;
        let mut racing: Vec<usize> = group.iter().flat_map(|(_, points)| points.iter().copied()).collect();
        racing.sort_unstable();
        racing.dedup();
        let (looked, judging) = (Instant::now(), Duration::ZERO);
        let stride = task.len().div_ceil(SLICES);
        let epochs = Epochs { before: 0, most: settings.epochs, sequence: Sequence::of(settings), stride };
        let mut rule = GroupRule { race: self, racing, until, looked, judging, watch };
        Ok(fit(&mut grid, *task, &epochs, &mut rule)? == Stop::Interrupted)
    }

    /// Judges every lane; those that diverged are out.
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

    /// Drops the hopeless, at most half of those left.
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

/// The best, and the one with the strongest penalty that is as good within a standard error; `None` if none is finite.
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
