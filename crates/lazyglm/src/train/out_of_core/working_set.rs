//! The working set: the columns in memory, and the optimum of the problem restricted to them.

use super::passes::ABSENT;
use super::room::Room;
use crate::eval::objective::{
    Certificate, Dual, ScoredRow, Worst, balanced_slopes, balancing_shift, nonzeros,
};
use crate::optim::kernel::CompactColumns;
use crate::optim::newton::{ColumnProblem, NewtonProgress, Options, Solution};
use crate::problem::penalty::WeightedPenalty;
use crate::train::job::Job;
use crate::train::minimiser::STEPS;
use crate::train::units::once;
use crate::util::checkpoint::Key;
use rayon::prelude::*;

/// A column of weight zero whose gradient is below this share of λ₁ may be removed if memory is needed.
const IDLE: f64 = 0.3;
/// Shares of the new derivatives in mixtures with the last ones, for a better lower bound.
const MIXTURES: [f64; 4] = [0.9, 0.75, 0.5, 0.25];

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
    /// The gradient of the last pass.
    pub gradient: Vec<f64>,
    /// The loss derivatives of the last pass, which sum to zero if there is a bias.
    pub slopes: Vec<f64>,
    pub targets: Vec<f64>,
    pub row_weights: Option<Vec<f64>>,
    pub offsets: Option<Vec<f64>>,
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
            gradient: Vec::new(),
            slopes: Vec::new(),
            targets: Vec::new(),
            row_weights: None,
            offsets: None,
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
            match self.gradient.get(j) {
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
            let g = self.gradient.get(j).copied().unwrap_or(f64::INFINITY);
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
    pub fn solve(
        &mut self,
        options: &Options,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> (Solution, Vec<f64>) {
        self.columns.copy = self.room.left(&self.columns);
        let settings = self.job.settings;
        let of = |numbers: &[f64]| -> Vec<f64> { self.set.iter().map(|&j| numbers[j as usize]).collect() };
        let factors = settings.factors.as_ref().map(|factors| of(factors));
        let bounds: Option<Vec<[f64; 2]>> =
            settings.bounds.as_ref().map(|all| self.set.iter().map(|&j| all[j as usize]).collect());
        let (factors, bounds) = (factors.as_deref(), bounds.as_deref());
        let weighted_penalty = WeightedPenalty { factors, bounds, ..settings.weighted_penalty() };
        let problem = ColumnProblem {
            columns: &self.columns,
            targets: &self.targets,
            weights: self.row_weights.as_deref(),
            offsets: self.offsets.as_deref(),
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
            Ok(key.and(self.columns.copy as u64))
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
        let scores = problem.scores(&found.weights, found.bias);
        for (&j, w) in self.set.iter().zip(&found.weights) {
            self.weights[j as usize] = *w;
        }
        (self.bias, self.steps) = (found.bias, self.steps + found.steps as u64);
        (found, scores)
    }

    /// The rows with these scores, after the bias has moved to where the loss derivatives sum to zero.
    pub fn scored(&mut self, scores: Vec<f64>) -> Vec<ScoredRow> {
        let weight = |i: usize| self.row_weights.as_ref().map_or(1.0, |weights| weights[i]);
        let offset = |i: usize| self.offsets.as_ref().map_or(0.0, |offsets| offsets[i]);
        let one = |(i, score): (usize, f64)| ScoredRow {
            score,
            target: self.targets[i],
            weight: weight(i),
            offset: offset(i),
        };
        let mut kept: Vec<ScoredRow> = scores.into_iter().enumerate().map(one).collect();
        if self.job.settings.bias {
            let shift = balancing_shift(&kept, self.job.loss());
            kept.iter_mut().for_each(|row| row.score += shift);
            self.bias += shift;
        }
        kept
    }

    /// Loss derivatives that are feasible for the dual problem, apart from the box of λ₁.
    pub fn balanced(&self, kept: &[ScoredRow]) -> Vec<f64> {
        balanced_slopes(kept, self.job.loss(), self.job.settings.bias)
    }

    /// The best lower bound on the objective from the derivatives of this pass, and from mixtures with those of the last.
    pub fn bound(&self, kept: &[ScoredRow], slopes: &[f64], gradient: &[f64], objective: f64) -> Option<f64> {
        let (settings, loss) = (self.job.settings, self.job.loss());
        if settings.penalty.is_none() {
            return None;
        }
        let plain =
            Certificate { objective, dual: None, relative_gap: None, kkt: f64::NAN, worst: Worst::Nowhere };
        let weighted_penalty = settings.weighted_penalty();
        let of = |slopes: &[f64], gradient: &[f64]| {
            plain.with_dual(Dual { kept, slopes, gradient, loss, weighted_penalty }).dual
        };
        let mut best = of(slopes, gradient);
        let enough = |bound: Option<f64>| {
            bound.is_some_and(|bound| objective - bound <= settings.tolerance * objective.abs())
        };
        if !self.slopes.is_empty() && !enough(best) {
            for share in MIXTURES {
                let mix = |new: &[f64], last: &[f64]| -> Vec<f64> {
                    let one = |(new, last): (&f64, &f64)| share * new + (1.0 - share) * last;
                    new.par_iter().zip(last).map(one).collect()
                };
                let bound = of(&mix(slopes, &self.slopes), &mix(gradient, &self.gradient));
                best = best.into_iter().chain(bound).reduce(f64::max);
            }
        }
        best
    }

    /// The largest violation of the optimality conditions at the point, given the gradient and the rows' scores.
    pub fn violation(&self, kept: &[ScoredRow], gradient: &[f64]) -> f64 {
        let (settings, loss) = (self.job.settings, self.job.loss());
        let weighted_penalty = settings.weighted_penalty();
        let of_bias = match settings.bias {
            true => kept.iter().map(|row| row.weight * loss.slope(row.score, row.target)).sum::<f64>(),
            false => 0.0,
        };
        let one = |(j, &g): (usize, &f64)| weighted_penalty.violation(j, self.weights[j], g);
        let worst = |most: f64, next: f64| if next > most || next.is_nan() { next } else { most };
        gradient.iter().enumerate().map(one).fold((of_bias / self.rows as f64).abs(), worst)
    }

    /// Number of non-zero weights.
    pub fn nonzeros(&self) -> usize {
        nonzeros(&self.weights)
    }
}
