//! One model that is learnt over several calls: weights in the lazy frame, bias and t are kept, so that learning goes on exactly.
//! With `average`, the mean of weights and bias over the steps from the `average`-th on is kept as well.

use super::bias_rate::{BiasRate, BiasRule, Density};
use super::kernel::{AverageState, Averaged, Folded, FrameState, no_state};
use super::passive_aggressive::PassiveAggressive;
use super::sgd::{Diverged, Online, Rule, Sample};
use super::update::Update;
use crate::data::rows::Examples;
use crate::problem::penalty::{ElasticNet, Method};
use crate::problem::settings::Precision;
use crate::util::error::Result;
use crate::util::state::{Fields, State};

/// How the model is learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Manner {
    /// λ₁ and λ₂.
    pub penalty: ElasticNet,
    /// SGD or FoBoS.
    pub method: Method,
    /// The precision of the weights; averages are in f64.
    pub precision: Precision,
    /// Whether there is a bias.
    pub bias: bool,
    /// The first step that the average counts, from 1; 0 without an average.
    pub average: u64,
}

/// All that the weights are.
#[derive(Clone, Debug)]
pub enum WeightsState {
    /// Without an average.
    Folded(FrameState),
    /// With one.
    Averaged(AverageState),
}

/// All that a model is, as plain numbers.
#[derive(Clone, Debug)]
pub struct ModelState {
    /// The weights.
    pub weights: WeightsState,
    /// b.
    pub bias: f64,
    /// The sum of b over the steps that its average counts.
    pub bias_sum: f64,
    /// Steps made.
    pub t: u64,
    /// Epochs begun.
    pub epochs: u64,
    /// How many features the rows had, if the rate of the bias goes by that.
    pub density: Density,
}

/// Reads or writes one of two values.
fn either<T: Copy + PartialEq>(value: &mut T, [first, second]: [T; 2], fields: &mut Fields) {
    let mut is_second = *value == second;
    is_second.fields(fields);
    *value = if is_second { second } else { first };
}

impl State for Manner {
    fn fields(&mut self, fields: &mut Fields) {
        self.penalty.l1.fields(fields);
        self.penalty.l2.fields(fields);
        either(&mut self.method, [Method::Fobos, Method::Sgd], fields);
        either(&mut self.precision, [Precision::F64, Precision::F32], fields);
        self.bias.fields(fields);
        self.average.fields(fields);
    }
}

impl State for ModelState {
    fn fields(&mut self, fields: &mut Fields) {
        let mut averaged = matches!(self.weights, WeightsState::Averaged(_));
        averaged.fields(fields);
        if averaged && matches!(self.weights, WeightsState::Folded(_)) {
            self.weights = WeightsState::Averaged(AverageState::default()); // to be read
        }
        match &mut self.weights {
            WeightsState::Folded(state) => state.fields(fields),
            WeightsState::Averaged(state) => state.fields(fields),
        }
        self.bias.fields(fields);
        self.bias_sum.fields(fields);
        self.t.fields(fields);
        self.epochs.fields(fields);
        self.density.fields(fields);
    }
}

/// The weights, by precision, with or without a penalty.
#[derive(Clone)]
enum Weights {
    F32(Online<Folded<f32>>),
    F64(Online<Folded<f64>>),
    F32Free(Online<Folded<f32, false>>),
    F64Free(Online<Folded<f64, false>>),
    Averaged(Online<Averaged>),
}

/// The same for each kind of weights.
macro_rules! each {
    ($weights:expr, $model:ident => $do:expr) => {
        match $weights {
            Weights::F32($model) => $do,
            Weights::F64($model) => $do,
            Weights::F32Free($model) => $do,
            Weights::F64Free($model) => $do,
            Weights::Averaged($model) => $do,
        }
    };
}

/// A model that is learnt over several calls.
///
/// ```
/// use lazyglm::{ElasticNet, Method, Precision, loss, optim::resumable::*, optim::sgd::Rule, schedule, synth};
/// let task = synth::documents(&synth::Shape { rows: 200, features: 50, ..Default::default() }).task;
/// let setting = schedule::Setting { eta0: 0.1, l2: 0.0, rows: None, epochs: 1 };
/// let schedule = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
/// let rule = Rule { loss: &*task.loss, schedule: &*schedule };
/// let penalty = ElasticNet::new(1e-3, 1e-3).unwrap();
/// let manner = Manner { penalty, method: Method::Fobos, precision: Precision::F64, bias: true, average: 0 };
/// let mut whole = Resumable::new(manner, vec![0.0; 50], 0.0, 0).unwrap();
/// let mut parts = whole.clone();
/// let order: Vec<u32> = (0..200).collect();
/// whole.learn(&rule, None, task.examples(), &order).unwrap();
/// for part in order.chunks(30) {
///     parts.learn(&rule, None, task.examples(), part).unwrap();
///     parts = Resumable::from_bytes(&parts.to_bytes().unwrap()).unwrap(); // through a file, say
/// }
/// assert_eq!((whole.read(), whole.bias()), (parts.read(), parts.bias()));
/// ```
#[derive(Clone)]
pub struct Resumable {
    weights: Weights,
    /// How it is learnt.
    pub manner: Manner,
    /// Epochs begun: orders are functions of seed and epoch.
    pub epochs: u64,
}

impl Resumable {
    /// Starts from these weights and this bias, at step `t`.
    pub fn new(manner: Manner, weights: Vec<f64>, bias: f64, t: u64) -> Result<Resumable> {
        let Manner { penalty, method, precision, average, .. } = manner;
        let weights = match (average, precision) {
            (0, Precision::F32) => WeightsState::Folded(Folded::<f32>::new(weights, penalty, method).state()),
            (0, Precision::F64) => WeightsState::Folded(Folded::<f64>::new(weights, penalty, method).state()),
            _ => {
                let skipped = average.saturating_sub(t).max(1) - 1; // of its own steps
                WeightsState::Averaged(Averaged::new(weights, penalty, method, skipped).state())
            }
        };
        let density = Density::default();
        Resumable::from_state(manner, ModelState { weights, bias, bias_sum: 0.0, t, epochs: 0, density })
    }

    /// Goes on from a state.
    pub fn from_state(manner: Manner, state: ModelState) -> Result<Resumable> {
        let Manner { penalty, method, precision, bias: learns_bias, .. } = manner;
        let ModelState { weights, bias, bias_sum, t, epochs, density } = state;
        let columns = match &weights {
            WeightsState::Averaged(state) => state.stored.len(),
            WeightsState::Folded(state) => state.stored.len(),
        };
        macro_rules! folded {
            ($kind:ident, $state:expr) => {
                Weights::$kind(Online::new(Folded::from_state($state, penalty, method)?, learns_bias))
            };
        }
        let mut weights = match (weights, precision, penalty.is_none()) {
            (WeightsState::Averaged(state), ..) => {
                let from = t.saturating_add(state.from).saturating_sub(state.steps); // of all steps
                let update = Averaged::from_state(state, penalty, method)?;
                Weights::Averaged(Online::new(update, learns_bias).averaging_from(from))
            }
            (WeightsState::Folded(state), Precision::F32, false) => folded!(F32, state),
            (WeightsState::Folded(state), Precision::F64, false) => folded!(F64, state),
            (WeightsState::Folded(state), Precision::F32, true) => folded!(F32Free, state),
            (WeightsState::Folded(state), Precision::F64, true) => folded!(F64Free, state),
        };
        each!(&mut weights, model => {
            model.sample_one_in(1);
            (model.bias, model.bias_sum, model.t) = (bias, bias_sum, t);
            model.bias_rate = BiasRate::new(BiasRule::Fixed(1.0), columns, density);
        });
        Ok(Resumable { weights, manner, epochs })
    }

    /// All that it is now.
    pub fn state(&self) -> ModelState {
        let weights = match &self.weights {
            Weights::Averaged(model) => WeightsState::Averaged(model.update.state()),
            Weights::F32(model) => WeightsState::Folded(model.update.state()),
            Weights::F64(model) => WeightsState::Folded(model.update.state()),
            Weights::F32Free(model) => WeightsState::Folded(model.update.state()),
            Weights::F64Free(model) => WeightsState::Folded(model.update.state()),
        };
        let bias_sum = each!(&self.weights, model => model.bias_sum);
        let (t, epochs, density) = (self.steps(), self.epochs, self.bias_rate().density());
        ModelState { weights, bias: self.bias(), bias_sum, t, epochs, density }
    }

    /// All that it is now, as bytes, for pickle.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Fields::write(&mut (self.manner, self.state())).ok_or_else(no_state)
    }

    /// Goes on where a model was when it was written as bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Resumable> {
        let manner = Manner {
            penalty: ElasticNet { l1: 0.0, l2: 0.0 },
            method: Method::Fobos,
            precision: Precision::F64,
            bias: true,
            average: 0,
        };
        let weights = WeightsState::Folded(FrameState::default());
        let density = Density::default();
        let mut read = (manner, ModelState { weights, bias: 0.0, bias_sum: 0.0, t: 0, epochs: 0, density });
        if !Fields::read(bytes, &mut read) {
            return Err(no_state());
        }
        let (manner, state) = read;
        let ElasticNet { l1, l2 } = manner.penalty;
        Resumable::from_state(Manner { penalty: ElasticNet::new(l1, l2)?, ..manner }, state)
    }

    /// Sets the rule for the rate of the bias, which is that of the weights unless it is set.
    pub fn set_bias_rule(&mut self, rule: BiasRule) {
        each!(&mut self.weights, model => model.bias_rate.rule = rule);
    }

    /// How fast the bias learns.
    pub fn bias_rate(&self) -> BiasRate {
        each!(&self.weights, model => model.bias_rate)
    }

    /// Learns rows in this order, at the rule's rate or with passive-aggressive steps.
    pub fn learn(
        &mut self,
        rule: &Rule,
        passive_aggressive: Option<PassiveAggressive>,
        examples: Examples,
        order: &[u32],
    ) -> std::result::Result<Sample, Diverged> {
        each!(&mut self.weights, model => match passive_aggressive {
            None => model.learn(rule, examples, order),
            Some(steps) => model.learn_passive_aggressive(rule.loss, steps, examples, order),
        })
    }

    /// Its weights, if it can be a lane among others without losing a bit: in f64, without an average.
    pub fn lane(&self) -> Option<FrameState> {
        match &self.weights {
            Weights::F64(model) => Some(model.update.state()),
            Weights::F64Free(model) => Some(model.update.state()),
            _ => None,
        }
    }

    /// Whether [`Resumable::lane`] gives anything.
    pub fn can_be_lane(&self) -> bool {
        matches!(self.weights, Weights::F64(_) | Weights::F64Free(_))
    }

    /// The weights that predictions use: those of the last step, or their average.
    pub fn read(&self) -> Vec<f64> {
        each!(&self.weights, model => model.update.weights())
    }

    /// The weights of the last step.
    pub fn latest(&self) -> Vec<f64> {
        match &self.weights {
            Weights::Averaged(model) => model.update.latest(),
            _ => self.read(),
        }
    }

    /// b of the last step.
    pub fn bias(&self) -> f64 {
        each!(&self.weights, model => model.bias)
    }

    /// The bias that predictions use: b of the last step, or its average.
    pub fn mean_bias(&self) -> f64 {
        each!(&self.weights, model => model.mean_bias())
    }

    /// Steps made.
    pub fn steps(&self) -> u64 {
        each!(&self.weights, model => model.t)
    }
}
