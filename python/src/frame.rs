//! Where a learner starts, and all that its weights were, as plain numbers for pickle.

use crate::errors::raised;
use lazyglm::optim::kernel::{AverageState, Averaged, Folded, FrameState, Weight};
use lazyglm::optim::sgd::Online;
use lazyglm::optim::update::Update;
use lazyglm::{ElasticNet, Error, Method, Result};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// A learner for pickle: penalty and method; precision and intercept; average and the sum of biases; bias, t, epochs; the
/// frame, without or with a mean.
type State<F, M> = ((f64, f64, bool), (bool, bool), (u64, f64), (f64, u64, u64), Option<F>, Option<M>);
type Array<'py> = Bound<'py, PyArray1<f64>>;
type Lent<'py> = PyReadonlyArray1<'py, f64>;
/// Of [`FrameState`].
pub type FoldedState<A> = (A, [f64; 4], [f64; 4], u64, Option<Vec<u32>>);
/// Of [`AverageState`].
pub type MeanState<A> = ([A; 3], Vec<u32>, [f64; 4], u64, u64);
/// On its way out.
pub type Kept<'py> = State<FoldedState<Array<'py>>, MeanState<Array<'py>>>;
/// On its way back.
pub type Restored<'py> = State<FoldedState<Lent<'py>>, MeanState<Lent<'py>>>;

/// Where a learner starts: weights that owe nothing, or all that another one held.
pub enum Start {
    /// Weights and bias.
    Weights(Vec<f64>, f64),
    /// A frame, bias and t.
    Frame(Frame, f64, u64),
}

/// All that a learner's weights were.
pub enum Frame {
    /// Without a mean.
    Folded(FrameState),
    /// With one.
    RunAverage(AverageState),
}

impl Frame {
    /// Weights without a mean.
    pub fn from_state<W: Weight, const PENALTY: bool>(
        self,
        penalty: ElasticNet,
        method: Method,
    ) -> Result<Folded<W, PENALTY>>
    where
        Folded<W, PENALTY>: Update,
    {
        match self {
            Frame::Folded(frozen) => Folded::from_state(frozen, penalty, method),
            Frame::RunAverage(_) => Err(mixed()),
        }
    }

    /// Weights with a mean.
    pub fn parted(self, penalty: ElasticNet, method: Method) -> Result<Averaged> {
        match self {
            Frame::RunAverage(parts) => Averaged::from_state(parts, penalty, method),
            Frame::Folded(_) => Err(mixed()),
        }
    }
}

impl Frame {
    /// As Python keeps it.
    pub fn kept(self, py: Python) -> (Option<FoldedState<Array>>, Option<MeanState<Array>>) {
        let array = |numbers| PyArray1::from_vec(py, numbers);
        match self {
            Frame::Folded(FrameState { stored, totals, rebase, touched, alone }) => {
                (Some((array(stored), totals, rebase, touched, alone)), None)
            }
            Frame::RunAverage(AverageState { stored, sums, seen, lines, totals, steps, from }) => {
                (None, Some(([stored, sums, lines].map(array), seen, totals, steps, from)))
            }
        }
    }

    /// Back from Python.
    pub fn restored(folded: Option<FoldedState<Lent>>, mean: Option<MeanState<Lent>>) -> PyResult<Frame> {
        let list = |array: &Lent| Ok::<_, PyErr>(array.as_slice()?.to_vec());
        match (folded, mean) {
            (Some((stored, totals, rebase, touched, alone)), None) => {
                Ok(Frame::Folded(FrameState { stored: list(&stored)?, totals, rebase, touched, alone }))
            }
            (None, Some(([stored, sums, lines], seen, totals, steps, from))) => {
                let [stored, sums, lines] = [list(&stored)?, list(&sums)?, list(&lines)?];
                Ok(Frame::RunAverage(AverageState { stored, sums, seen, lines, totals, steps, from }))
            }
            _ => Err(raised(mixed())),
        }
    }
}

fn mixed() -> Error {
    Error::call(
        "this is the state of another kind of learner",
        "take it from where it was written, unchanged",
    )
}

impl Start {
    /// A model that starts there.
    pub fn online<U: Update>(
        self,
        intercept: bool,
        new: impl FnOnce(Vec<f64>) -> U,
        from_state: impl FnOnce(Frame) -> Result<U>,
    ) -> Result<Online<U>> {
        let (update, bias, t) = match self {
            Start::Weights(weights, bias) => (new(weights), bias, 0),
            Start::Frame(frame, bias, t) => (from_state(frame)?, bias, t),
        };
        let mut online = Online::new(update, intercept).sampling_one_in(1);
        (online.bias, online.t) = (bias, t);
        Ok(online)
    }
}
