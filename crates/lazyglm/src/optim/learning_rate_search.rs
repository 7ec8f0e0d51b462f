//! Searches the learning rate of solvers with a rate per weight. Candidates are compared by the loss of each
//! row before it is learnt.
//!
//! The first round tries every kind of step at twelve powers of two on a few rows. The second tries the best
//! quarter of them, each also at the next lower rate, on more rows. The winner of a single pass is about
//! twice too fast for several epochs, so it is halved for those.

use super::learner::Learner;
use super::row_loop::Sample;
use super::starting_rate::RowSample;
use crate::data::rows::Examples;
use crate::problem::loss::Loss;
use crate::util::error::{Kind, Result};
use crate::util::random::Random;
use rayon::prelude::*;

/// Exponents of the rates, which are powers of two.
const EXPONENTS: std::ops::RangeInclusive<i32> = -8..=3;
/// Number of rows in the first and in the second round.
const ROWS: [usize; 2] = [2_000, 10_000];

/// A kind of step and a learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub kind: usize,
    pub eta: f64,
}

/// Input of the search.
pub(crate) struct LearningRateSearch<'a> {
    /// The first rows of the run.
    pub examples: Examples<'a>,
    /// The order of these rows.
    pub order: &'a [u32],
    /// The loss.
    pub loss: &'a dyn Loss,
    /// Number of kinds of step.
    pub kinds: usize,
    /// Number of epochs of the run.
    pub epochs: u64,
    /// Whether to go on. It is asked after every two million non-zeros; if not, the search ends with an error.
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

impl LearningRateSearch<'_> {
    /// The best candidate. `make` creates a model of some of the columns.
    pub fn best<L: Learner>(&self, make: impl Fn(Candidate, &[u32]) -> L + Sync) -> Result<Candidate> {
        let rates = |kind| EXPONENTS.map(move |power| Candidate { kind, eta: 2f64.powi(power) });
        let mut tried: Vec<Candidate> = (0..self.kinds).flat_map(rates).collect();
        for rows in ROWS {
            let sample = RowSample::of(self.examples, &self.chosen(rows), 0);
            let before_learning = |&candidate: &Candidate| {
                let (mut model, mut losses) = (make(candidate, &sample.columns), Sample::default());
                for order in sample.pieces(&sample.learnt).take_while(|_| (self.go_on)()) {
                    match model.learn(self.loss, sample.examples(), order) {
                        Ok(more) => losses = losses.and(more),
                        Err(_) => return f64::INFINITY,
                    }
                }
                losses.mean()
            };
            tried = best_of(&tried, before_learning, tried.len().div_ceil(4));
            if !(self.go_on)() {
                return Err(Kind::Interrupted.into());
            }
            for lower in
                tried.clone().into_iter().map(|candidate| Candidate { eta: candidate.eta / 2.0, ..candidate })
            {
                if !tried.contains(&lower) {
                    tried.push(lower);
                }
            }
        }
        let best = tried[0];
        Ok(if self.epochs == 1 { best } else { Candidate { eta: best.eta / 2.0, ..best } })
    }

    /// A shuffled sample of rows from the whole order, which may be sorted.
    fn chosen(&self, size: usize) -> Vec<u32> {
        let all = self.order.len();
        let size = all.min(size);
        let mut rows: Vec<u32> =
            (0..size).map(|k| self.order[(k as u128 * all as u128 / size as u128) as usize]).collect();
        Random::new(size as u64).shuffle(&mut rows);
        rows
    }
}

/// The candidates with the lowest loss, in ascending order of loss.
fn best_of(
    candidates: &[Candidate],
    loss: impl Fn(&Candidate) -> f64 + Sync + Send,
    count: usize,
) -> Vec<Candidate> {
    let losses: Vec<f64> = candidates.par_iter().map(loss).collect();
    let mut ranked: Vec<usize> = (0..candidates.len()).collect();
    ranked.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    ranked.into_iter().take(count).map(|k| candidates[k]).collect()
}
