//! The working set: the columns in memory, and the optimum of the problem restricted to them.

use super::passes::{ABSENT, Numbers};
use super::room::Room;
use crate::eval::objective::{Evaluation, StreamedDual, Worst, nonzeros};
use crate::optim::kernel::CompactColumns;
use crate::optim::newton::{ColumnProblem, NewtonProgress, Options, RowNumbers, Solution};
use crate::problem::penalty::WeightedPenalty;
use crate::train::job::Job;
use crate::train::minimiser::STEPS;
use crate::train::units::once;
use crate::util::checkpoint::Key;

/// A column of weight zero whose gradient is below this share of λ₁ may be removed if memory is needed.
const IDLE: f64 = 0.3;
/// Shares of the new derivatives in mixtures with the last ones, for a better lower bound.
const MIXTURES: [f64; 4] = [0.9, 0.75, 0.5, 0.25];

/// What a pass found at a point.
pub(super) struct Evaluated {
    pub evaluation: Evaluation,
    pub worst: Worst,
    pub dual: StreamedDual,
}

/// The columns in memory, and the point that was found with them.
pub(super) struct WorkingSet<'a> {
    pub job: &'a Job<'a>,
    pub rows: usize,
    pub room: Room,
    pub columns: CompactColumns,
    /// The columns of the data, in the order of `columns`.
    pub set: Vec<u32>,
    /// The position of each column of the data in `set`, or `ABSENT`.
    pub place: Vec<u32>,
    /// Number of columns that have been read; those after it are read in the next pass.
    pub complete: usize,
    pub weights: Vec<f64>,
    pub bias: f64,
    /// The gradient of the last pass, and its conjugates; `None` before the first.
    pub dual: Option<StreamedDual>,
    pub numbers: Numbers,
    pub passes: u64,
    pub steps: u64,
}

impl<'a> WorkingSet<'a> {
    /// An empty set, at a starting point.
    pub fn new(job: &'a Job<'a>, (weights, bias, room): (Vec<f64>, f64, Room)) -> WorkingSet<'a> {
        let rows = job.problem.rows();
        WorkingSet {
            job,
            rows,
            room,
            columns: CompactColumns::new(rows),
            set: Vec::new(),
            place: vec![ABSENT; weights.len()],
            complete: 0,
            weights,
            bias,
            dual: None,
            numbers: Numbers::none(rows, job.problem.is_weighted(), job.problem.has_offsets()),
            passes: 0,
            steps: 0,
        }
    }

    /// Adds the columns that the next pass must read, and returns how many; `None` if they do not fit into memory.
    pub fn add_wanted(&mut self) -> Option<usize> {
        let weighted_penalty = self.job.settings.weighted_penalty();
        let occurs = self.job.problem.occurring();
        let wanted = |&j: &u32| {
            let j = j as usize;
            match self.dual.as_ref().map(|dual| &dual.gradient()[j]) {
                _ if self.place[j] != ABSENT => false,
                Some(&g) => self.weights[j] != 0.0 || weighted_penalty.excess_gradient(j, g) > 0.0,
                None => self.weights[j] != 0.0 || (weighted_penalty.at(j).l1 == 0.0 && occurs[j]),
            }
        };
        let wanted: Vec<u32> = (0..self.weights.len() as u32).filter(wanted).collect();
        drop(occurs);
        if !self.room.fits(&self.columns, wanted.iter().copied()) {
            self.remove_idle();
            if !self.room.fits(&self.columns, wanted.iter().copied()) {
                return None;
            }
        }
        for &j in &wanted {
            self.place[j as usize] = self.set.len() as u32;
            self.set.push(j);
        }
        self.columns.grow(wanted.len());
        Some(wanted.len())
    }

    /// Removes columns of weight zero that are far from leaving it.
    fn remove_idle(&mut self) {
        let weighted_penalty = self.job.settings.weighted_penalty();
        let idle = |&j: &u32| {
            let j = j as usize;
            let g = self.dual.as_ref().map_or(f64::INFINITY, |dual| dual.gradient()[j]);
            self.weights[j] == 0.0 && g.abs() < IDLE * weighted_penalty.at(j).l1
        };
        let keep: Vec<bool> = self.set.iter().map(|j| !idle(j)).collect();
        self.columns.retain(&keep);
        let mut keep = keep.into_iter();
        self.set.retain(|_| keep.next().unwrap_or(true));
        self.place.fill(ABSENT);
        self.set.iter().enumerate().for_each(|(k, &j)| self.place[j as usize] = k as u32);
        self.complete = self.columns.len();
    }

    /// Moves to the optimum of the restricted problem, to a tolerance.
    pub fn solve(&mut self, options: &Options, watch: &mut dyn FnMut(&NewtonProgress) -> bool) -> Solution {
        let (stored, left) = self.room.left(&self.columns);
        self.columns.copy = left;
        let settings = self.job.settings;
        let of = |numbers: &[f64]| -> Vec<f64> { self.set.iter().map(|&j| numbers[j as usize]).collect() };
        let factors = settings.factors.as_ref().map(|factors| of(factors));
        let bounds: Option<Vec<[f64; 2]>> =
            settings.bounds.as_ref().map(|all| self.set.iter().map(|&j| all[j as usize]).collect());
        let (factors, bounds) = (factors.as_deref(), bounds.as_deref());
        let weighted_penalty = WeightedPenalty { factors, bounds, ..settings.weighted_penalty() };
        let problem = ColumnProblem {
            columns: &self.columns,
            numbers: RowNumbers {
                targets: &self.numbers.targets,
                weights: self.numbers.weights.as_ref(),
                offsets: self.numbers.offsets.as_ref(),
            },
            stored,
            loss: self.job.loss(),
            weighted_penalty,
            bias: settings.bias,
            interrupt: settings.interrupt.as_deref(),
        };
        let options = Options { steps: STEPS, ..*options };
        let start = of(&self.weights);
        let key = || {
            let key = Key::of("restricted").and_key(settings.key()).and_key(self.job.problem.fingerprint()?);
            let key = key.and_ids(&self.set).and_numbers(&start).and_numbers(&[self.bias, options.tolerance]);
            Ok(key.and(left as u64).and(stored.bytes() as u64))
        };
        let columns = self.set.len();
        let compute = |watch: &mut dyn FnMut(&NewtonProgress) -> bool| {
            problem.solve((&start, self.bias), &options, watch)
        };
        let known = once(settings, key, || Some(compute(watch))).ok().flatten();
        let found = match known {
            Some(known) if known.weights.len() == columns => known,
            _ => compute(watch), // the checkpoint is damaged
        };
        for (&j, w) in self.set.iter().zip(&found.weights) {
            self.weights[j as usize] = *w;
        }
        (self.bias, self.steps) = (found.bias, self.steps + found.steps as u64);
        found
    }

    /// The best lower bound on the objective from the derivatives of this pass, and from mixtures with those of the last.
    pub fn bound(&self, found: &Evaluated) -> Option<f64> {
        let (settings, objective) = (self.job.settings, found.evaluation.objective.total());
        let weighted_penalty = settings.weighted_penalty();
        let own = found.dual.certify(&found.evaluation, found.worst, weighted_penalty).dual;
        let enough = |bound: f64| objective - bound <= settings.tolerance * objective.abs();
        let Some(last) = self.dual.as_ref().filter(|_| !own.is_some_and(enough)) else { return own };
        let mixture = |share: f64| found.dual.mixed(share, last);
        let bounds = MIXTURES.iter().filter_map(|share| {
            mixture(*share).certify(&found.evaluation, found.worst, weighted_penalty).dual
        });
        own.into_iter().chain(bounds).reduce(f64::max)
    }

    /// Number of non-zero weights.
    pub fn nonzeros(&self) -> usize {
        nonzeros(&self.weights)
    }
}
