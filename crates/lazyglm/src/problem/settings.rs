//! The settings of a training run.

use crate::problem::heads::Head;
use crate::problem::penalty::{ElasticNet, Method, WeightedPenalty};
use crate::problem::schedule::Spec;
use crate::problem::solvers::Solver;
use crate::util::checkpoint::{Checkpoint, Key};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The algorithm of the penalty updates: see [`crate::optim::update`].
///
/// ```
/// use lazyglm::{Settings, UpdateName};
/// assert_eq!(Settings::default().update, UpdateName::Lazy);
/// let written = serde_json::to_value(UpdateName::DenseSparsePredict).unwrap(); // in a model file
/// assert_eq!(written, "dense-sparse-predict");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UpdateName {
    /// Lazy updates in constant time per non-zero (the folded frame).
    Lazy,
    /// Lazy updates with tables, as in the paper.
    Table,
    /// Dense updates: every weight at every step.
    Dense,
    /// Dense updates, with predictions over non-zeros only.
    DenseSparsePredict,
}

/// Floating-point precision of the weights.
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
#[non_exhaustive]
pub enum Precision {
    /// Four bytes per weight.
    F32,
    /// Eight bytes per weight.
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
#[non_exhaustive]
pub enum Order {
    /// A new random order per epoch, determined by the seed.
    Shuffled,
    /// The order of the data.
    Sequential,
}

/// The settings of a training run.
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
    /// Whether to choose λ₁ and λ₂ on held-out rows instead of using `penalty`. Only for the solver `auto`.
    pub choose_penalty: bool,
    /// The solver.
    pub solver: Solver,
    /// The relative distance from the optimum at which a solver with an optimality certificate stops.
    pub tolerance: f64,
    /// Initial weights by column. Zero if not given.
    pub start: Option<Arc<Start>>,
    /// A penalty factor per column. All 1 if not given.
    pub factors: Option<Arc<Vec<f64>>>,
    /// Whether weights must not be negative.
    pub nonnegative: bool,
    /// The lowest value ≤ 0 and the highest value ≥ 0 of each weight, by column. No bounds if not given. A weight
    /// between 0 and 0 is excluded from the model.
    pub bounds: Option<Arc<Vec<[f64; 2]>>>,
    /// The exponent γ > 0 of the adaptive lasso: a second fit multiplies the penalty of each feature by
    /// (max|w̃|/|w̃ⱼ|)^γ, for the weights w̃ of the first, and excludes features without a weight. One fit if not given.
    pub adaptive: Option<f64>,
    /// The method that applies the penalty: SGD or FoBoS.
    pub method: Method,
    /// The algorithm of the penalty updates.
    pub update: UpdateName,
    /// The learning rate schedule η(t).
    pub schedule: Spec,
    /// The initial learning rate η₀. If not given, it is searched on a sample of the rows.
    pub eta0: Option<f64>,
    /// Number of passes over the rows.
    pub epochs: u64,
    /// The order of rows.
    pub order: Order,
    /// Seed of the row permutation.
    pub seed: u64,
    /// Precision of the lazy update's weights. Other updates use f64.
    pub precision: Precision,
    /// Whether to train a bias.
    pub bias: bool,
    /// Stop after this many epochs without a better validation loss, and return the best weights.
    pub early_stop: Option<u64>,
    /// The relative decrease of the validation loss that `early_stop` counts as better. 0 counts any decrease.
    pub least_gain: f64,
    /// Number of steps in the tables of [`UpdateName::Table`].
    pub table_budget: usize,
    /// Return the average of the weights over all steps except this many initial ones, instead of the last
    /// weights.
    pub average: Option<u64>,
    /// Number of runs whose weights are averaged, each with its own row order. Some solvers do not support
    /// this.
    pub runs: u64,
    /// Whether to compute a lower bound on the objective for the trained weights, which certifies how far they are from the optimum.
    pub certificate: bool,
    /// Memory limit for the weights of many heads, in bytes.
    pub memory: Option<usize>,
    /// Whether each label gets the threshold with the best F1 score, instead of 0.
    pub tuned_thresholds: bool,
    /// Whether predictions of numbers are limited to the range of the training targets. If not given, they are where that
    /// lowers the loss on held-out rows.
    pub limit_predictions: Option<bool>,
    /// Whether a run of stochastic steps that diverges (NaN or infinity) begins anew with half the learning rate, instead of
    /// ending with an error.
    pub retry_diverged: bool,
    /// A factor of the starting learning rate, given or found: 1, and half of it after each run that diverged.
    pub rate_factor: f64,
    /// Set while a run is going on, it ends the run: what has been learnt so far is the model.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// The journal of finished work, from which an interrupted run goes on to the same bits. Without one, nothing is kept.
    pub checkpoint: Option<Arc<Checkpoint>>,
}

/// Initial weights and biases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// The weights w, one per column; empty for many classes or labels.
    pub weights: Vec<f64>,
    /// The bias b.
    pub bias: f64,
    /// One head per class or label; empty for one model.
    pub heads: Vec<Head>,
}

impl Start {
    /// The initial weights and bias of one model.
    pub fn one(weights: Vec<f64>, bias: f64) -> Start {
        Start { weights, bias, heads: Vec::new() }
    }

    /// The initial weights and bias of each head; those of one model if there is only one.
    pub fn of_heads(mut heads: Vec<(Vec<f64>, f64)>) -> Start {
        match heads.len() {
            1 => heads.pop().map_or_else(Start::default, |(weights, bias)| Start::one(weights, bias)),
            _ => {
                let head = |(weights, bias): (Vec<f64>, f64)| Head::of(weights.into_iter(), bias);
                Start { heads: heads.into_iter().map(head).collect(), ..Start::default() }
            }
        }
    }

    /// All weights and biases.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        let heads = self.heads.iter().flat_map(|head| head.weights.iter().chain([&head.bias]));
        self.weights.iter().chain([&self.bias]).chain(heads).copied()
    }

    /// One head per class or label, or the one of a single model.
    pub(crate) fn to_heads(&self) -> Vec<Head> {
        match self.heads.is_empty() {
            true => vec![Head::of(self.weights.iter().copied(), self.bias)],
            false => self.heads.clone(),
        }
    }
}

impl Settings {
    /// Whether the run should end.
    pub fn interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The settings as text, one per line, without arrays and without what does not change the result.
    pub fn text(&self) -> String {
        let plain = Settings {
            start: None,
            factors: None,
            bounds: None,
            interrupt: None,
            checkpoint: None,
            ..self.clone()
        };
        let text = format!("{plain:#?}");
        text.lines().map(|line| format!("{}\n", line.trim())).collect()
    }

    /// A hash of all settings that change the result.
    pub fn key(&self) -> Key {
        let key = Key::of("settings").and_bytes(self.text().as_bytes());
        let key = key.and_numbers(self.factors.as_ref().map_or(&[], |factors| factors.as_slice()));
        let key = key.and_numbers(self.bounds.as_ref().map_or(&[], |bounds| bounds.as_flattened()));
        match &self.start {
            None => key,
            Some(start) => {
                let key = key.and_numbers(&start.weights).and_numbers(&[start.bias]);
                start.heads.iter().fold(key, |key, head| head.and_key(key))
            }
        }
    }

    /// Whether the penalty is the same for all weights, and there are no bounds.
    pub(crate) fn has_one_penalty(&self) -> bool {
        self.factors.is_none() && !self.nonnegative && self.bounds.is_none()
    }

    /// The settings with the initial weights moved into their bounds, if there are bounds and initial weights.
    pub(crate) fn start_within_bounds(&self) -> Option<Settings> {
        let penalty = self.weighted_penalty();
        let mut start = self.start.as_deref().filter(|_| penalty.is_bounded())?.clone();
        start.weights.iter_mut().enumerate().for_each(|(j, w)| *w = penalty.one(j).clip(*w));
        for head in &mut start.heads {
            head.columns
                .iter()
                .zip(&mut head.weights)
                .for_each(|(&j, w)| *w = penalty.one(j as usize).clip(*w));
        }
        Some(Settings { start: Some(Arc::new(start)), ..self.clone() })
    }

    /// The penalty per weight.
    pub fn weighted_penalty(&self) -> WeightedPenalty<'_> {
        let factors = self.factors.as_ref().map(|factors| factors.as_slice());
        let bounds = self.bounds.as_ref().map(|bounds| bounds.as_slice());
        WeightedPenalty { penalty: self.penalty, factors, nonnegative: self.nonnegative, bounds }
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
            bounds: None,
            adaptive: None,
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
            least_gain: 0.0,
            table_budget: 1 << 17,
            average: None,
            runs: 1,
            certificate: true,
            memory: None,
            tuned_thresholds: false,
            limit_predictions: Some(false),
            retry_diverged: false,
            rate_factor: 1.0,
            interrupt: None,
            checkpoint: None,
        }
    }
}
