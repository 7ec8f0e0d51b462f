//! Problems to learn: rows, targets of the kind that a loss admits, a weight for each row, and sometimes an offset.

use super::{log_uniform, rows, sign};
use lazyglm::loss::{self, Admits, Loss};
use lazyglm::optim::learner::Learner;
use lazyglm::util::random::Random;
use lazyglm::{Examples, Rows};
use std::sync::Arc;

/// Every loss there is, with its usual keys.
pub fn losses() -> impl Iterator<Item = Arc<dyn Loss>> {
    loss::TABLE.iter().map(|entry| loss::parse(entry.name).unwrap())
}

/// One of some losses.
pub fn one_of(random: &mut Random, losses: impl Iterator<Item = Arc<dyn Loss>>) -> Arc<dyn Loss> {
    let losses: Vec<_> = losses.collect();
    losses[random.below(losses.len() as u64) as usize].clone()
}

/// A target of the kind that a loss admits.
pub fn target(random: &mut Random, loss: &dyn Loss) -> f64 {
    match loss.admits() {
        Admits::Classes => sign(random),
        Admits::Reals => sign(random) * log_uniform(random, 0.1, 3.0),
        Admits::NonNegative => random.below(4) as f64,
        Admits::Positive => log_uniform(random, 0.3, 3.0),
    }
}

/// Offsets between −½ and ½ for half of all draws. They depend on the numbers given, and take none from a generator.
pub fn some_offsets(numbers: &[f64]) -> Option<Vec<f64>> {
    let mut random = Random::new(numbers.first()?.to_bits());
    (random.below(2) == 0).then(|| numbers.iter().map(|_| random.uniform() - 0.5).collect())
}

pub struct Problem {
    pub rows: Rows,
    pub targets: Vec<f64>,
    pub weights: Vec<f64>,
    pub offsets: Option<Vec<f64>>,
}

impl Problem {
    pub fn draw(random: &mut Random, loss: &dyn Loss, count: usize, columns: usize) -> Problem {
        let targets = (0..count).map(|_| target(random, loss)).collect();
        let weights: Vec<f64> = (0..count).map(|_| log_uniform(random, 0.1, 5.0)).collect();
        let offsets = some_offsets(&weights);
        Problem { rows: rows(random, count, columns), targets, weights, offsets }
    }

    /// With two targets that differ, whatever was drawn: of both classes, if there are classes.
    pub fn of_two_sides(mut self, loss: &dyn Loss) -> Problem {
        (self.targets[0], self.targets[1]) = (1.0, if loss.admits() == Admits::Classes { -1.0 } else { 2.0 });
        self
    }

    /// With other weights, log-uniform between these and then of mean one.
    pub fn weighed(mut self, random: &mut Random, low: f64, high: f64) -> Problem {
        self.weights.iter_mut().for_each(|weight| *weight = log_uniform(random, low, high));
        let mean = self.weights.iter().sum::<f64>() / self.weights.len() as f64;
        self.weights.iter_mut().for_each(|weight| *weight /= mean);
        self
    }

    pub fn examples(&self) -> Examples<'_> {
        let examples = Examples::new(self.rows.borrow(), &self.targets, Some(&self.weights)).unwrap();
        self.offsets.as_ref().map_or(examples, |offsets| examples.with_offsets(offsets).unwrap())
    }

    /// The same, every row of weight one.
    pub fn unweighted(&self) -> Examples<'_> {
        Examples { weights: None, ..self.examples() }
    }
}

/// Any split of the rows into calls gives the bits of one call, and looking at the weights in between changes none.
pub fn learns_alike_in_chunks<L: Learner>(
    make: impl Fn() -> L,
    loss: &dyn Loss,
    examples: Examples,
    random: &mut Random,
    cuts: u64,
) {
    let order: Vec<u32> = (0..examples.len() as u32).collect();
    let (mut whole, mut parts) = (make(), make());
    whole.learn(loss, examples, &order).unwrap();
    let mut rest = &order[..];
    for _ in 0..cuts {
        let (now, later) = rest.split_at(random.below(rest.len() as u64 + 1) as usize);
        parts.learn(loss, examples, now).unwrap();
        let _looked = parts.weights();
        rest = later;
    }
    parts.learn(loss, examples, rest).unwrap();
    assert_eq!(whole.weights(), parts.weights());
    assert_eq!((whole.bias(), whole.t()), (parts.bias(), parts.t()));
}
