//! A rate for solvers that have one for each weight: rates tried side by side, judged by the loss of each row before it is learnt.
//!
//! First every kind of step at twelve powers of two, on a few rows; then the best quarter of them, each with the next lower
//! rate beside it, on more. The winner of a single pass is about twice too fast for many: it is halved for a run of
//! several epochs.

use super::learner::Learner;
use super::starting_rate::Sample;
use crate::data::rows::Examples;
use crate::problem::loss::Loss;
use crate::util::random::Random;
use rayon::prelude::*;

/// Powers of two.
const RUNGS: std::ops::RangeInclusive<i32> = -8..=3;
/// How many rows are learnt, first and then.
const ROWS: [usize; 2] = [2_000, 10_000];

/// A kind of step and a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub kind: usize,
    pub eta: f64,
}

/// What is tried.
pub(crate) struct LearningRateSearch<'a> {
    /// The rows the run begins with.
    pub examples: Examples<'a>,
    /// Their order.
    pub order: &'a [u32],
    /// The loss.
    pub loss: &'a dyn Loss,
    /// How many kinds of step there are.
    pub kinds: usize,
    /// How many epochs there will be.
    pub epochs: u64,
}

impl LearningRateSearch<'_> {
    /// The best of all; `make` makes a model of some of the columns.
    pub fn best<L: Learner>(&self, make: impl Fn(Candidate, &[u32]) -> L + Sync) -> Candidate {
        let rungs = |kind| RUNGS.map(move |power| Candidate { kind, eta: 2f64.powi(power) });
        let mut tried: Vec<Candidate> = (0..self.kinds).flat_map(rungs).collect();
        for rows in ROWS {
            let sample = Sample::of(self.examples, &self.chosen(rows), 0);
            let before_learning = |&candidate: &Candidate| {
                let losses =
                    make(candidate, &sample.columns).learn(self.loss, sample.examples(), &sample.learnt);
                losses.map_or(f64::INFINITY, |losses| losses.mean())
            };
            tried = best_of(&tried, before_learning, tried.len().div_ceil(4));
            for lower in
                tried.clone().into_iter().map(|candidate| Candidate { eta: candidate.eta / 2.0, ..candidate })
            {
                if !tried.contains(&lower) {
                    tried.push(lower);
                }
            }
        }
        let best = tried[0];
        if self.epochs == 1 { best } else { Candidate { eta: best.eta / 2.0, ..best } }
    }

    /// Rows from all over the order, which may be sorted, shuffled.
    fn chosen(&self, size: usize) -> Vec<u32> {
        let all = self.order.len();
        let size = all.min(size);
        let mut rows: Vec<u32> =
            (0..size).map(|k| self.order[(k as u128 * all as u128 / size as u128) as usize]).collect();
        Random::new(size as u64).shuffle(&mut rows);
        rows
    }
}

/// Those with the lowest loss, the lowest first.
fn best_of(
    rungs: &[Candidate],
    loss: impl Fn(&Candidate) -> f64 + Sync + Send,
    count: usize,
) -> Vec<Candidate> {
    let losses: Vec<f64> = rungs.par_iter().map(loss).collect();
    let mut ranked: Vec<usize> = (0..rungs.len()).collect();
    ranked.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    ranked.into_iter().take(count).map(|k| rungs[k]).collect()
}
