//! The average of several models, each trained on the same rows in a different order.
//!
//! ```text
//! model k     learns row πₖ(i) where the first learns row i                 π₁ the identity, the others random
//! weights     wⱼ = (1/K)·Σₖ wₖⱼ
//! ```
//!
//! On few rows, the result of a run depends on the order of its last rows. The loss is convex, so that the loss of the
//! average is at most the average of the losses.

use super::learner::Learner;
use super::row_loop::{Diverged, Sample};
use crate::data::rows::Examples;
use crate::problem::loss::Loss;
use crate::util::random;
use crate::util::state::Fields;
use rayon::prelude::*;

/// Several models of one kind, trained together and averaged.
///
/// ```
/// use lazyglm::{ElasticNet, synth, optim::{ftrl::Ftrl, learner::Learner, run_average::RunAverage, scales::Scales}};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let (scales, penalty) = (Scales::of(task.examples()), ElasticNet::new(1e-3, 1e-3).unwrap());
/// let ftrl = Ftrl::new(penalty, 0.1, scales.rms(), scales.units(&*task.loss, true), true);
/// let mut mean = RunAverage::of(ftrl, 4, 1);
/// mean.learn(&*task.loss, task.examples(), &(0..500).collect::<Vec<_>>()).unwrap();
/// assert_eq!((mean.t(), mean.weights().len()), (500, 100));
/// ```
pub struct RunAverage<L> {
    models: Vec<L>,
    ways: Vec<Vec<u32>>, // π₂, π₃, …
    seed: u64,
}

impl<L: Learner + Clone> RunAverage<L> {
    /// Makes a number of models (at least one) that all start from this one.
    pub fn of(model: L, count: u64, seed: u64) -> RunAverage<L> {
        let models = vec![model; count.max(1) as usize];
        RunAverage { models, ways: Vec::new(), seed }
    }

    /// Draws the permutations for this number of rows, unless they exist.
    fn draw(&mut self, rows: usize) {
        if self.ways.first().is_none_or(|way| way.len() != rows) {
            let drawn = (1..self.models.len() as u64).map(|k| random::permutation(rows, self.seed, k));
            self.ways = drawn.collect();
        }
    }
}

impl<L: Learner + Clone + Send> Learner for RunAverage<L> {
    fn fields(&mut self, fields: &mut Fields) {
        self.models.iter_mut().for_each(|model| model.fields(fields));
    }

    /// The sample of losses is that of the first model.
    fn learn(&mut self, loss: &dyn Loss, examples: Examples, order: &[u32]) -> Result<Sample, Diverged> {
        self.draw(examples.len());
        let RunAverage { models, ways, .. } = self;
        let learn = |(k, model): (usize, &mut L)| match k {
            0 => model.learn(loss, examples, order),
            _ => {
                let way = &ways[k - 1];
                let order: Vec<u32> = order.iter().map(|&i| way[i as usize]).collect();
                model.learn(loss, examples, &order)
            }
        };
        let samples: Vec<Result<Sample, Diverged>> = models.par_iter_mut().enumerate().map(learn).collect();
        samples.into_iter().reduce(Result::and).expect("at least one")
    }

    fn weights(&self) -> Vec<f64> {
        let mut sum = self.models[0].weights();
        for model in &self.models[1..] {
            sum.iter_mut().zip(model.weights()).for_each(|(sum, w)| *sum += w);
        }
        let count = self.models.len() as f64;
        sum.iter_mut().for_each(|w| *w /= count);
        sum
    }

    fn bias(&self) -> f64 {
        self.models.iter().map(Learner::bias).sum::<f64>() / self.models.len() as f64
    }

    fn t(&self) -> u64 {
        self.models[0].t()
    }
}
