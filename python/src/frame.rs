//! All that the weights of a learner are, as plain numbers for pickle.

use crate::errors::raised;
use lazyglm::Error;
use lazyglm::optim::kernel::{AverageState, FrameState};
use lazyglm::optim::resumable::WeightsState;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// A learner for pickle: penalty and method; precision and intercept; average and the sum of biases; bias, t, epochs; the
/// weights, without or with a mean.
type State<F, M> = ((f64, f64, bool), (bool, bool), (u64, f64), (f64, u64, u64), Option<F>, Option<M>);
type Array<'py> = Bound<'py, PyArray1<f64>>;
type Lent<'py> = PyReadonlyArray1<'py, f64>;
type FoldedState<A> = (A, [f64; 4], [f64; 4], u64, Option<Vec<u32>>);
type MeanState<A> = ([A; 3], [f64; 4], [u64; 3]);
/// On its way out.
pub type Kept<'py> = State<FoldedState<Array<'py>>, MeanState<Array<'py>>>;
/// On its way back.
pub type Restored<'py> = State<FoldedState<Lent<'py>>, MeanState<Lent<'py>>>;

/// As Python keeps it.
pub fn kept(weights: WeightsState, py: Python) -> (Option<FoldedState<Array>>, Option<MeanState<Array>>) {
    let array = |numbers| PyArray1::from_vec(py, numbers);
    match weights {
        WeightsState::Folded(FrameState { stored, totals, rebase, touched, alone }) => {
            (Some((array(stored), totals, rebase, touched, alone)), None)
        }
        WeightsState::Averaged(AverageState { stored, sums, lines, totals, since, steps, from }) => {
            (None, Some(([stored, sums, lines].map(array), totals, [since, steps, from])))
        }
    }
}

/// Back from Python.
pub fn restored(folded: Option<FoldedState<Lent>>, mean: Option<MeanState<Lent>>) -> PyResult<WeightsState> {
    let list = |array: &Lent| Ok::<_, PyErr>(array.as_slice()?.to_vec());
    match (folded, mean) {
        (Some((stored, totals, rebase, touched, alone)), None) => {
            Ok(WeightsState::Folded(FrameState { stored: list(&stored)?, totals, rebase, touched, alone }))
        }
        (None, Some(([stored, sums, lines], totals, [since, steps, from]))) => {
            let [stored, sums, lines] = [list(&stored)?, list(&sums)?, list(&lines)?];
            Ok(WeightsState::Averaged(AverageState { stored, sums, lines, totals, since, steps, from }))
        }
        _ => Err(raised(Error::call(
            "this is the state of another kind of learner",
            "take it from where it was written, unchanged",
        ))),
    }
}
