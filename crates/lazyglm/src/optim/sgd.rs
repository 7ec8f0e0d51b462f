//! Stochastic gradient steps with a penalty step after each: SGD and FOBOS, for any update.
//!
//! ```text
//! for t = 0, 1, …          row (x, y) of weight ω
//!     s = w·x + b + o      score; o is the row's offset
//!     g = ω·∂ℓ(s, y)       slope
//!     w ← w − ηₜ·g·x       pull: the row's features alone
//!     b ← b − ηₜ·g         the bias is the weight of a constant feature, free of penalty
//!     w ← penalty step     charge: every weight
//! ```
//!
//! ```
//! use lazyglm::{ElasticNet, Method, optim::kernel::Folded, schedule, optim::sgd::*, synth};
//! let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
//! # let setting = schedule::Setting { eta0: 0.1, l2: 0.0, rows: Some(500), epochs: 1 };
//! # let schedule = schedule::Spec::parse("inverse").unwrap().resolve(&setting).unwrap();
//! # let rule = Rule { loss: &*task.loss, schedule: &*schedule };
//! let penalty = ElasticNet::new(1e-3, 1e-3).unwrap();
//! let weights = Folded::<f32>::new(vec![0.0; 100], penalty, Method::Fobos);
//! let mut model = Online::new(weights, true).sampling_one_in(1);
//! let rows: Vec<u32> = (0..500).collect();
//! let first = model.learn(&rule, task.examples(), &rows[..250]).unwrap();
//! let second = model.learn(&rule, task.examples(), &rows[250..]).unwrap();
//! assert!(second.mean() < first.mean(), "rows not learnt yet, and better predicted");
//! ```

pub use super::row_loop::{Diverged, Sample};

use super::bias_rate::BiasRate;
use super::row_loop::{self, Known, Steps};
use crate::data::rows::{Examples, Row, Value};
use crate::optim::update::Update;
use crate::problem::loss::Loss;
use crate::problem::schedule::Schedule;

/// The default sampling interval of the running loss, in rows: its cost is negligible.
///
/// ```
/// # use lazyglm::{ElasticNet, Method, optim::reference::Dense, schedule, optim::sgd::*, synth};
/// # let task = synth::documents(&synth::Shape { rows: 160, features: 100, ..Default::default() }).task;
/// # let setting = schedule::Setting { eta0: 0.1, l2: 0.0, rows: Some(160), epochs: 1 };
/// # let schedule = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
/// # let rule = Rule { loss: &*task.loss, schedule: &*schedule };
/// let update = Dense::<true>::new(vec![0.0; 100], ElasticNet::new(0.0, 0.0).unwrap(), Method::Fobos);
/// let order: Vec<u32> = (0..160).collect();
/// let sample = Online::new(update, true).learn(&rule, task.examples(), &order).unwrap();
/// assert_eq!(sample.weight, 160.0 / SAMPLED as f64);
/// ```
pub const SAMPLED: u64 = 16;

/// A model in training by SGD, one row per step.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Method, Rows, optim::kernel::Folded, loss, schedule, optim::sgd::*, optim::update::Update};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0)]).unwrap();
/// rows.push(&[(1, 1.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[1.0, -1.0], None).unwrap();
///
/// let setting = schedule::Setting { eta0: 0.5, l2: 0.0, rows: Some(2), epochs: 1 };
/// let rule = Rule {
///     loss: &*loss::parse("logistic").unwrap(),
///     schedule: &*schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap(),
/// };
/// let penalty = ElasticNet::new(1e-3, 1e-3).unwrap();
/// let mut model = Online::new(Folded::<f32>::new(vec![0.0; 2], penalty, Method::Fobos), true);
/// model.learn(&rule, examples, &[0, 1]).unwrap();
/// assert_eq!(model.t, 2);
/// assert!(model.update.weights()[0] > 0.0 && model.update.weights()[1] < 0.0);
/// ```
#[derive(Clone)]
pub struct Online<U> {
    /// The weights, with the penalty that they still owe.
    pub update: U,
    /// The bias.
    pub bias: f64,
    /// The number of steps so far.
    pub t: u64,
    pub(super) learns_bias: bool,
    /// How fast the bias learns: like a weight, unless it is set.
    pub bias_rate: BiasRate,
    sampled: u64,
    mean_from: Option<u64>, // the step from which on the bias is averaged, if it is
    /// The sum of the bias over the averaged steps.
    pub bias_sum: f64,
}

/// The loss and the schedule of a run.
///
/// ```
/// use lazyglm::{loss, schedule, optim::sgd::Rule};
/// let setting = schedule::Setting { eta0: 0.5, l2: 0.0, rows: None, epochs: 1 };
/// let schedule = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
/// let rule = Rule { loss: &*loss::parse("hinge").unwrap(), schedule: &*schedule };
/// let (score, target) = (0.0, 1.0);
/// assert_eq!(rule.schedule.eta(7) * rule.loss.slope(score, target), -0.5, "how far a step goes against x");
/// ```
#[derive(Clone, Copy)]
pub struct Rule<'a> {
    /// The loss.
    pub loss: &'a dyn Loss,
    /// The learning-rate schedule.
    pub schedule: &'a dyn Schedule,
}

impl<U: Update> Online<U> {
    /// Starts with bias 0 and t = 0; without `learns_bias`, the bias stays 0.
    ///
    /// ```
    /// # use lazyglm::{ElasticNet, Examples, Method, Rows, loss, optim::reference::Dense};
    /// # use lazyglm::{schedule, optim::sgd::*};
    /// # let setting = schedule::Setting { eta0: 1.0, l2: 0.0, rows: None, epochs: 1 };
    /// # let schedule = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
    /// # let rule = Rule { loss: &*loss::parse("hinge").unwrap(), schedule: &*schedule };
    /// # let mut rows = Rows::new();
    /// # rows.push(&[(0, 1.0)]).unwrap();
    /// # let examples = Examples::new(rows.borrow(), &[1.0], None).unwrap();
    /// let update = || Dense::<true>::new(vec![0.0], ElasticNet::new(0.0, 0.0).unwrap(), Method::Fobos);
    /// let (mut with, mut without) = (Online::new(update(), true), Online::new(update(), false));
    /// with.learn(&rule, examples, &[0]).unwrap();
    /// without.learn(&rule, examples, &[0]).unwrap();
    /// assert_eq!((with.bias, without.bias), (1.0, 0.0));
    /// ```
    pub fn new(update: U, learns_bias: bool) -> Online<U> {
        let (bias, t, sampled, mean_from, bias_sum) = (0.0, 0, SAMPLED, None, 0.0);
        let bias_rate = BiasRate::of_weights();
        Online { update, bias, t, learns_bias, bias_rate, sampled, mean_from, bias_sum }
    }

    /// Sets the sampling interval of the running loss, in rows.
    ///
    /// ```
    /// # use lazyglm::{ElasticNet, Method, optim::reference::Dense, schedule, optim::sgd::*, synth};
    /// # let task = synth::documents(&synth::Shape { rows: 100, features: 100, ..Default::default() }).task;
    /// # let setting = schedule::Setting { eta0: 0.1, l2: 0.0, rows: None, epochs: 1 };
    /// # let schedule = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
    /// # let rule = Rule { loss: &*task.loss, schedule: &*schedule };
    /// let update = Dense::<true>::new(vec![0.0; 100], ElasticNet::new(0.0, 0.0).unwrap(), Method::Fobos);
    /// let mut model = Online::new(update, true).sampling_one_in(1); // few rows: note all
    /// let sample = model.learn(&rule, task.examples(), &(0..100).collect::<Vec<_>>()).unwrap();
    /// assert_eq!(sample.weight, 100.0);
    /// ```
    pub fn sampling_one_in(mut self, rows: u64) -> Online<U> {
        self.sample_one_in(rows);
        self
    }

    pub(super) fn sample_one_in(&mut self, rows: u64) {
        self.sampled = rows.max(1);
    }

    /// Averages the bias over all steps from this one on, for an update that averages weights.
    ///
    /// ```
    /// # use lazyglm::{ElasticNet, Examples, Method, Rows, loss, optim::kernel::Averaged};
    /// # use lazyglm::{schedule, optim::sgd::*};
    /// # let setting = schedule::Setting { eta0: 1.0, l2: 0.0, rows: None, epochs: 1 };
    /// # let schedule = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
    /// # let rule = Rule { loss: &*loss::parse("hinge").unwrap(), schedule: &*schedule };
    /// # let mut rows = Rows::new();
    /// # rows.push(&[]).unwrap();
    /// # rows.declare_columns(1);
    /// # let examples = Examples::new(rows.borrow(), &[1.0], None).unwrap();
    /// let update = Averaged::new(vec![0.0], ElasticNet::new(0.0, 0.0).unwrap(), Method::Fobos, 0);
    /// let mut model = Online::new(update, true).averaging_from(0);
    /// model.bias = -2.0;
    /// model.learn(&rule, examples, &[0, 0]).unwrap();
    /// assert_eq!((model.bias, model.mean_bias()), (0.0, -0.5), "the mean of −1 and 0");
    /// ```
    pub fn averaging_from(self, step: u64) -> Online<U> {
        Online { mean_from: Some(step), ..self }
    }

    /// The bias, or its mean if it is averaged.
    pub fn mean_bias(&self) -> f64 {
        match self.mean_from.map(|from| self.t.saturating_sub(from)) {
            None | Some(0) => self.bias,
            Some(steps) => self.bias_sum / steps as f64,
        }
    }

    /// Adds the bias of this step to the average, if averaging has started.
    #[inline(always)]
    pub(super) fn add_to_average(&mut self) {
        if self.mean_from.is_some_and(|from| self.t >= from) {
            self.bias_sum += self.bias;
        }
    }

    /// Trains on these rows in this order. Any split of an order into calls gives the same bits.
    ///
    /// ```
    /// # use lazyglm::{ElasticNet, Method, optim::kernel::Folded, schedule, synth, optim::update::Update};
    /// # use lazyglm::optim::sgd::*;
    /// # let task = synth::documents(&synth::Shape { rows: 100, features: 100, ..Default::default() }).task;
    /// # let setting = schedule::Setting { eta0: 0.1, l2: 0.0, rows: None, epochs: 1 };
    /// # let schedule = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
    /// # let rule = Rule { loss: &*task.loss, schedule: &*schedule };
    /// let (penalty, order) = (ElasticNet::new(1e-3, 1e-3).unwrap(), lazyglm::util::random::permutation(100, 1, 0));
    /// let mut whole = Online::new(Folded::<f32>::new(vec![0.0; 100], penalty, Method::Fobos), true);
    /// let mut parts = whole.clone();
    /// whole.learn(&rule, task.examples(), &order).unwrap();
    /// for part in order.chunks(7) {
    ///     parts.learn(&rule, task.examples(), part).unwrap();
    /// }
    /// assert_eq!(whole.update.weights(), parts.update.weights());
    /// ```
    pub fn learn(&mut self, rule: &Rule, examples: Examples, order: &[u32]) -> Result<Sample, Diverged> {
        row_loop::learn(&mut Ruled { model: self, schedule: rule.schedule }, rule.loss, examples, order)
    }
}

/// A model with its schedule, for the loop over rows.
struct Ruled<'a, U> {
    model: &'a mut Online<U>,
    schedule: &'a dyn Schedule,
}

impl<U: Update> Steps for Ruled<'_, U> {
    #[inline(always)]
    fn row<V: Value>(&mut self, loss: &dyn Loss, row: Row<V>, known: Known) -> (f64, f64) {
        let Known { target, weight, offset } = known;
        let Ruled { model, schedule } = self;
        let score = model.update.score(row) + model.bias + offset;
        let slope = weight * loss.slope(score, target);
        if !(score.is_finite() && slope.is_finite()) {
            return (score, slope); // the loop ends here, and the weights stay as they were
        }
        let eta = schedule.eta(model.t);
        model.bias_rate.see(row.ids.len());
        if slope != 0.0 {
            model.update.pull(row, eta * slope);
            if model.learns_bias {
                model.bias -= model.bias_rate.multiple(eta, model.t) * (eta * slope);
            }
        }
        model.update.charge(eta);
        model.add_to_average();
        (score, slope)
    }

    #[inline(always)]
    fn clock(&mut self) -> (&mut u64, u64) {
        (&mut self.model.t, self.model.sampled)
    }
}
