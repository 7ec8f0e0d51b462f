//! One model being learnt: weights in the lazy frame, bias and t, kept between calls so that learning goes on exactly.
//! With `average`, the mean of weights and bias over the steps from the `average`-th on is kept as well.

use crate::errors::raised;
use crate::frame::{Frame, Kept, Restored};
use lazyglm::optim::kernel::{Averaged, Folded, FrameState};
use lazyglm::optim::passive_aggressive::PassiveAggressive;
use lazyglm::optim::sgd::{Diverged, Online, Rule, Sample};
use lazyglm::optim::update::Update;
use lazyglm::{ElasticNet, Examples, Method, Result};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What a learner keeps its weights in: by precision, with or without a penalty.
#[derive(Clone)]
enum Weights {
    Single(Online<Folded<f32>>),
    Double(Online<Folded<f64>>),
    SingleFree(Online<Folded<f32, false>>),
    DoubleFree(Online<Folded<f64, false>>),
    Mean(Online<Averaged>),
}

/// The same for each of them.
macro_rules! each {
    ($weights:expr, $model:ident => $do:expr) => {
        match $weights {
            Weights::Single($model) => $do,
            Weights::Double($model) => $do,
            Weights::SingleFree($model) => $do,
            Weights::DoubleFree($model) => $do,
            Weights::Mean($model) => $do,
        }
    };
}

/// Weights without an average, from their state.
macro_rules! folded {
    ($kind:ident, $state:expr, $penalty:expr, $method:expr, $intercept:expr) => {
        Weights::$kind(
            Online::new(Folded::from_state($state, $penalty, $method)?, $intercept).sampling_one_in(1),
        )
    };
}

impl Weights {
    /// What a user reads: the weights, or their mean.
    fn read(&self) -> Vec<f64> {
        each!(self, model => model.update.weights())
    }
}

/// A model being learnt.
#[pyclass(module = "lazyglm._core")]
#[derive(Clone)]
pub struct Learner {
    weights: Weights,
    /// λ₁ and λ₂.
    pub penalty: ElasticNet,
    /// SGD or FoBoS.
    pub method: Method,
    /// Epochs begun: orders are functions of seed and epoch.
    #[pyo3(get)]
    pub epochs: u64,
    single: bool,
    intercept: bool,
    average: u64, // as asked: the first step that counts, from 1; 0 without an average
}

impl Learner {
    /// A learner that starts from this frame, bias and number of steps. With `average`, the first step that counts, from 1.
    fn of(
        made: (ElasticNet, Method, bool, bool),
        average: u64,
        frame: Frame,
        (bias, t): (f64, u64),
    ) -> Result<Learner> {
        let (penalty, method, single, intercept) = made;
        let weights = match (frame, single, penalty.is_none()) {
            (Frame::Mean(state), ..) => {
                let from = t + state.from - state.steps; // of all steps, from 0
                let update = Averaged::from_state(state, penalty, method)?;
                Weights::Mean(Online::new(update, intercept).sampling_one_in(1).averaging_from(from))
            }
            (Frame::Folded(state), true, false) => folded!(Single, state, penalty, method, intercept),
            (Frame::Folded(state), false, false) => folded!(Double, state, penalty, method, intercept),
            (Frame::Folded(state), true, true) => folded!(SingleFree, state, penalty, method, intercept),
            (Frame::Folded(state), false, true) => folded!(DoubleFree, state, penalty, method, intercept),
        };
        let mut learner = Learner { weights, penalty, method, epochs: 0, single, intercept, average };
        each!(&mut learner.weights, model => (model.bias, model.t) = (bias, t));
        Ok(learner)
    }

    /// Learns rows in this order, at the rule's rate or as far as each asks.
    pub fn learn(
        &mut self,
        rule: &Rule,
        aggression: Option<PassiveAggressive>,
        examples: Examples,
        order: &[u32],
    ) -> std::result::Result<Sample, Diverged> {
        each!(&mut self.weights, model => one(model, rule, aggression, examples, order))
    }

    /// What it holds, if it can be a lane among others without losing a bit: weights in eight bytes, and no mean.
    pub fn lane(&self) -> Option<FrameState> {
        match &self.weights {
            Weights::Double(model) => Some(model.update.state()),
            Weights::DoubleFree(model) => Some(model.update.state()),
            _ => None,
        }
    }

    /// Goes on from what it held as a lane.
    pub fn part(&mut self, frozen: FrameState, bias: f64, t: u64, epochs: u64) -> Result<()> {
        let made = (self.penalty, self.method, self.single, self.intercept);
        *self = Learner { epochs, ..Learner::of(made, self.average, Frame::Folded(frozen), (bias, t))? };
        Ok(())
    }

    /// Whether weights are in eight bytes, and no mean is kept.
    pub fn is_wide(&self) -> bool {
        matches!(self.weights, Weights::Double(_) | Weights::DoubleFree(_))
    }

    /// Whether there is a bias.
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// Every weight as it is now.
    pub fn settled(&self) -> Vec<f64> {
        match &self.weights {
            Weights::Mean(model) => model.update.latest(),
            others => others.read(),
        }
    }

    /// b.
    pub fn bias(&self) -> f64 {
        each!(&self.weights, model => model.bias)
    }

    /// The sum of b over the steps that its average counts.
    fn bias_sum(&self) -> f64 {
        match &self.weights {
            Weights::Mean(model) => model.bias_sum,
            _ => 0.0,
        }
    }

    /// Rows learnt.
    pub fn steps(&self) -> u64 {
        each!(&self.weights, model => model.t)
    }
}

fn one<U: Update>(
    model: &mut Online<U>,
    rule: &Rule,
    aggression: Option<PassiveAggressive>,
    examples: Examples,
    order: &[u32],
) -> std::result::Result<Sample, Diverged> {
    match aggression {
        None => model.learn(rule, examples, order),
        Some(aggression) => model.learn_passive_aggressive(rule.loss, aggression, examples, order),
    }
}

#[pymethods]
impl Learner {
    /// Starts from these weights.
    #[new]
    #[pyo3(signature = (weights, bias, *, t, epochs, l1, l2, method, single, intercept, average))]
    #[expect(clippy::too_many_arguments, reason = "called from one place, by name")]
    fn new(
        weights: PyReadonlyArray1<f64>,
        bias: f64,
        t: u64,
        epochs: u64,
        l1: f64,
        l2: f64,
        method: &str,
        single: bool,
        intercept: bool,
        average: u64,
    ) -> PyResult<Learner> {
        let penalty = ElasticNet::new(l1, l2).map_err(raised)?;
        let method = match method {
            "fobos" => Method::Fobos,
            "sgd" => Method::Sgd,
            other => {
                return Err(PyValueError::new_err(format!(
                    "there is no method '{other}'; give fobos or sgd"
                )));
            }
        };
        let start = weights.as_slice()?.to_vec();
        if !(start.iter().all(|w| w.is_finite()) && bias.is_finite()) {
            return Err(PyValueError::new_err("coef_init and intercept_init must be finite"));
        }
        let frame = match (average, single) {
            (0, true) => Frame::Folded(Folded::<f32>::new(start, penalty, method).state()),
            (0, false) => Frame::Folded(Folded::<f64>::new(start, penalty, method).state()),
            _ => {
                let first = average.saturating_sub(t).max(1); // of its own steps
                Frame::Mean(Averaged::new(start, penalty, method, first - 1).state())
            }
        };
        let made = (penalty, method, single, intercept);
        let learner = Learner::of(made, average, frame, (bias, t)).map_err(raised)?;
        Ok(Learner { epochs, ..learner })
    }

    /// The weights as they are now, or their mean; looking changes nothing.
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, py.detach(|| self.weights.read()))
    }

    /// b, or its mean.
    #[getter(bias)]
    fn bias_or_mean(&self) -> f64 {
        match &self.weights {
            Weights::Mean(model) => model.mean_bias(),
            _ => self.bias(),
        }
    }

    /// Weights and bias as they are now, also where there are means.
    fn now<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<f64>>, f64) {
        (PyArray1::from_vec(py, self.settled()), self.bias())
    }

    /// Rows learnt.
    #[getter]
    fn t(&self) -> u64 {
        self.steps()
    }

    /// Whether weights are kept in four bytes, or would be without a mean.
    #[getter]
    fn single(&self) -> bool {
        self.single
    }

    /// What it was made with: l1, l2, method, single, intercept, average.
    #[getter]
    fn made_with(&self) -> (f64, f64, &'static str, bool, bool, u64) {
        let method = if self.method == Method::Sgd { "sgd" } else { "fobos" };
        (self.penalty.l1, self.penalty.l2, method, self.single, self.intercept, self.average)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Learner>) -> PyResult<(Bound<'py, PyAny>, (Kept<'py>,))> {
        let learner = slf.borrow();
        let frame = match &learner.weights {
            Weights::Single(model) => Frame::Folded(model.update.state()),
            Weights::Double(model) => Frame::Folded(model.update.state()),
            Weights::SingleFree(model) => Frame::Folded(model.update.state()),
            Weights::DoubleFree(model) => Frame::Folded(model.update.state()),
            Weights::Mean(model) => Frame::Mean(model.update.state()),
        };
        let (folded, mean) = frame.kept(slf.py());
        let made = (learner.penalty.l1, learner.penalty.l2, learner.method == Method::Sgd);
        let now = (learner.bias(), learner.steps(), learner.epochs);
        let state = (
            made,
            (learner.single, learner.intercept),
            (learner.average, learner.bias_sum()),
            now,
            folded,
            mean,
        );
        Ok((slf.get_type().getattr("restored")?, (state,)))
    }

    /// A learner that goes on where another one was when it was pickled.
    #[staticmethod]
    fn restored(state: Restored) -> PyResult<Learner> {
        let ((l1, l2, sgd), (single, intercept), (average, biases), (bias, t, epochs), folded, mean) = state;
        let penalty = ElasticNet::new(l1, l2).map_err(raised)?;
        let method = if sgd { Method::Sgd } else { Method::Fobos };
        let (made, frame) = ((penalty, method, single, intercept), Frame::restored(folded, mean)?);
        let mut learner = Learner::of(made, average, frame, (bias, t)).map_err(raised)?;
        if let Weights::Mean(model) = &mut learner.weights {
            model.bias_sum = biases;
        }
        Ok(Learner { epochs, ..learner })
    }
}
