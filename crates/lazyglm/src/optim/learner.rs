//! The interface between the loop over epochs and the algorithms that train one row at a time.
//!
//! ```
//! use lazyglm::optim::{adagrad::{Adagrad, AdagradOptions}, learner::Learner, scales::Scales};
//! use lazyglm::{ElasticNet, synth};
//! let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
//! let scales = Scales::of(task.examples());
//! let options = AdagradOptions { penalty: ElasticNet { l1: 1e-3, l2: 1e-3 }, eta: 0.1, aware: true };
//! let mut model = Adagrad::new(options, scales.rms(), scales.units(&*task.loss, true), true);
//! let rows: Vec<u32> = (0..500).collect();
//! let first = model.learn(&*task.loss, task.examples(), &rows[..250]).unwrap();
//! let second = model.learn(&*task.loss, task.examples(), &rows[250..]).unwrap();
//! assert!(second.mean() < first.mean(), "rows not learnt yet, and better predicted");
//! ```

use super::row_loop::{Diverged, Sample};
use super::sgd::{Online, Rule};
use crate::data::rows::{Examples, Value};
use crate::optim::update::Update;
use crate::problem::loss::Loss;
use crate::problem::schedule::Schedule;
use crate::util::error::Result as Checked;
use crate::util::state::{Fields, State};

/// A model in training, one row per step.
pub trait Learner {
    /// Trains on these rows in this order, and returns a sample of their losses, each taken before its step. Any split of an
    /// order into calls gives the same bits.
    fn learn(&mut self, loss: &dyn Loss, examples: Examples, order: &[u32]) -> Result<Sample, Diverged>;

    /// The current weights, without any effect on training.
    fn weights(&self) -> Vec<f64>;

    /// The current bias.
    fn bias(&self) -> f64;

    /// The number of steps so far.
    fn t(&self) -> u64;

    /// Called before each epoch, for algorithms that need a pass over all rows; `pass` calls back with each block.
    fn look(&mut self, _loss: &dyn Loss, _pass: Pass) -> Checked<()> {
        Ok(())
    }

    /// Whether the model has converged, and by which criterion; called after `look`.
    fn converged(&self) -> Option<Converged> {
        None
    }

    /// The state, for a checkpoint after any rows; after an epoch, for algorithms that resample the order of rows.
    fn fields(&mut self, fields: &mut Fields) {
        fields.refuse();
    }

    /// Whether [`Learner::visits`] resamples the order of rows.
    fn resamples(&self) -> bool {
        false
    }

    /// Resamples the order of rows, for algorithms that use importance sampling.
    fn visits(&mut self, _examples: Examples, _order: &[u32]) -> Option<Vec<u32>> {
        None
    }
}

/// A function that calls back with all rows, block by block.
pub type Pass<'a> = &'a mut dyn FnMut(&mut dyn FnMut(Examples)) -> Checked<()>;

/// The reason why a model needs no further epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Converged {
    /// The relative gap is within the tolerance.
    Gap,
    /// The predicted decrease of another epoch is within the tolerance.
    PredictedDecrease,
}

/// An [`Online`] model with its schedule.
pub struct Scheduled<'a, U> {
    /// The model.
    pub model: Online<U>,
    /// The learning-rate schedule.
    pub schedule: &'a dyn Schedule,
}

impl<U: Update> Learner for Scheduled<'_, U> {
    fn learn(&mut self, loss: &dyn Loss, examples: Examples, order: &[u32]) -> Result<Sample, Diverged> {
        self.model.learn(&Rule { loss, schedule: self.schedule }, examples, order)
    }

    fn weights(&self) -> Vec<f64> {
        self.model.update.weights()
    }

    fn bias(&self) -> f64 {
        self.model.mean_bias()
    }

    fn fields(&mut self, fields: &mut Fields) {
        let Online { update, bias, t, bias_sum, .. } = &mut self.model;
        update.fields(fields);
        bias.fields(fields);
        t.fields(fields);
        bias_sum.fields(fields);
    }

    fn t(&self) -> u64 {
        self.model.t
    }
}

/// The dot product Σ aₖbₖ in four independent sums, which pipeline better than one.
#[inline(always)]
pub(super) fn dot<V: Value>(values: &[V], weights: &[f64]) -> f64 {
    let ((values, last), (weights, last_weights)) = (values.as_chunks::<4>(), weights.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (x, w) in values.iter().zip(weights) {
        sums = std::array::from_fn(|k| sums[k] + x[k].to_f64() * w[k]);
    }
    let rest: f64 = last.iter().zip(last_weights).map(|(x, w)| x.to_f64() * w).sum();
    ((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest
}
