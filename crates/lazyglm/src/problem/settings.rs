//! Everything a run depends on, besides the data.

use crate::problem::penalty::{ElasticNet, Method, WeightedPenalty};
use crate::problem::schedule::Spec;
use crate::problem::solvers::Solver;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the penalty is paid: see [`crate::optim::update`].
///
/// ```
/// use lazyglm::{Settings, UpdateName};
/// assert_eq!(Settings::default().update, UpdateName::Lazy);
/// let written = serde_json::to_value(UpdateName::DenseSparsePredict).unwrap(); // in a model file
/// assert_eq!(written, "dense-sparse-predict");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateName {
    /// The folded frame.
    Lazy,
    /// The paper's tables.
    Table,
    /// Every weight at every step.
    Dense,
    /// The same, with predictions over non-zeros only.
    DenseSparsePredict,
}

/// What weights are kept in.
///
/// ```
/// use lazyglm::{Precision, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 200, features: 50, ..Default::default() }).task;
/// let weights = |precision| {
///     let settings = Settings { precision, eta0: Some(0.1), ..Settings::default() };
///     train(&task, None, &settings, &mut |_| {}).unwrap().weights
/// };
/// let (narrow, wide) = (weights(Precision::F32), weights(Precision::F64));
/// assert!(narrow.iter().zip(&wide).all(|(a, b)| (a - b).abs() < 1e-5) && narrow != wide);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Four bytes.
    F32,
    /// Eight bytes.
    F64,
}

/// The order of rows in an epoch.
///
/// ```
/// use lazyglm::{Order, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 200, features: 50, ..Default::default() }).task;
/// let weights = |order, seed| {
///     let settings = Settings { order, seed, eta0: Some(0.1), ..Settings::default() };
///     train(&task, None, &settings, &mut |_| {}).unwrap().weights
/// };
/// assert_eq!(weights(Order::Sequential, 1), weights(Order::Sequential, 2), "no seed needed");
/// assert_ne!(weights(Order::Shuffled, 1), weights(Order::Shuffled, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Anew for each epoch, from the seed.
    Shuffled,
    /// As in the data.
    Sequential,
}

/// Everything a run depends on, besides the data.
///
/// ```
/// use lazyglm::{ElasticNet, Settings, schedule::Spec, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let (penalty, schedule) = (ElasticNet::new(1.0, 0.0).unwrap(), Spec::parse("inverse-sqrt").unwrap());
/// let settings = Settings { penalty, schedule, epochs: 3, ..Settings::default() };
/// let report = train(&task, None, &settings, &mut |_| {}).unwrap().report;
/// assert_eq!((report.epochs, report.nonzeros), (3, 0), "a λ₁ above l1_max leaves no weight");
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// λ₁ and λ₂.
    pub penalty: ElasticNet,
    /// Whether λ₁ and λ₂ are to be chosen on held-out rows, whatever `penalty` says. For the solver `auto` alone.
    pub choose_penalty: bool,
    /// The algorithm.
    pub solver: Solver,
    /// The relative distance from the minimum at which a solver that finds it may stop.
    pub tolerance: f64,
    /// Where to start, by column; at zero if not given.
    pub start: Option<Arc<Start>>,
    /// A factor of the penalty for each column; 1 if not given. Not for every solver.
    pub factors: Option<Arc<Vec<f64>>>,
    /// Whether no weight may be below zero. Not for every solver.
    pub nonnegative: bool,
    /// SGD or FoBoS.
    pub method: Method,
    /// How the penalty is paid.
    pub update: UpdateName,
    /// η(t).
    pub schedule: Spec,
    /// η₀; found on a sample of the rows if not given.
    pub eta0: Option<f64>,
    /// How many times the rows are gone through.
    pub epochs: u64,
    /// In which order.
    pub order: Order,
    /// Of the order.
    pub seed: u64,
    /// Of the lazy update's weights; the others work in f64.
    pub precision: Precision,
    /// Whether there is a bias.
    pub bias: bool,
    /// Stop after so many epochs without a better validation loss, and return the best.
    pub early_stop: Option<u64>,
    /// How many steps the tables of [`UpdateName::Table`] hold.
    pub table_budget: usize,
    /// Return the mean of the weights over all steps but the first so many, instead of the last.
    pub average: Option<u64>,
    /// The model is the mean of so many runs, each in an order of its own. Not for every solver.
    pub runs: u64,
    /// The memory that many classes or labels may take, in bytes; nine tenths of what is left if not given.
    pub memory: Option<usize>,
    /// Whether each label gets the threshold with the best F1 score, instead of 0.
    pub tuned_thresholds: bool,
    /// Set while a run is going on, it ends the run: what has been learnt so far is the model.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// Weights and a bias to start from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// w, one a column.
    pub weights: Vec<f64>,
    /// b.
    pub bias: f64,
}

impl Settings {
    /// Whether the run is to end.
    pub fn interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The penalty, weight by weight.
    pub fn weighted_penalty(&self) -> WeightedPenalty<'_> {
        let factors = self.factors.as_ref().map(|factors| factors.as_slice());
        WeightedPenalty { penalty: self.penalty, factors, nonnegative: self.nonnegative }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            penalty: ElasticNet { l1: 1e-6, l2: 1e-6 },
            choose_penalty: false,
            solver: Solver::Sgd,
            tolerance: 1e-4,
            start: None,
            factors: None,
            nonnegative: false,
            method: Method::Fobos,
            update: UpdateName::Lazy,
            schedule: Spec::parse("cosine").expect("a schedule of the table"),
            eta0: None,
            epochs: 5,
            order: Order::Shuffled,
            seed: 1,
            precision: Precision::F32,
            bias: true,
            early_stop: None,
            table_budget: 1 << 17,
            average: None,
            runs: 1,
            memory: None,
            tuned_thresholds: false,
            interrupt: None,
        }
    }
}
