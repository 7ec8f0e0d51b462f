//! A model that Python keeps between calls of `learn`, and pickles.

use crate::errors::raised;
use crate::frame::{Kept, Restored, kept, restored};
use lazyglm::optim::resumable::{Manner, ModelState, Resumable};
use lazyglm::{ElasticNet, Method, Precision};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A model being learnt.
#[pyclass(module = "lazyglm._core")]
pub struct Learner(pub Resumable);

/// The method of this name.
fn method(name: &str) -> PyResult<Method> {
    match name {
        "fobos" => Ok(Method::Fobos),
        "sgd" => Ok(Method::Sgd),
        other => Err(PyValueError::new_err(format!("there is no method '{other}'; give fobos or sgd"))),
    }
}

fn precision(single: bool) -> Precision {
    if single { Precision::F32 } else { Precision::F64 }
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
        let (method, precision) = (self::method(method)?, precision(single));
        let weights = weights.as_slice()?.to_vec();
        if !(weights.iter().all(|w| w.is_finite()) && bias.is_finite()) {
            return Err(PyValueError::new_err("coef_init and intercept_init must be finite"));
        }
        let manner = Manner { penalty, method, precision, bias: intercept, average };
        let mut model = Resumable::new(manner, weights, bias, t).map_err(raised)?;
        model.epochs = epochs;
        Ok(Learner(model))
    }

    /// The weights as they are now, or their mean; looking changes nothing.
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, py.detach(|| self.0.read()))
    }

    /// b, or its mean.
    #[getter]
    fn bias(&self) -> f64 {
        self.0.mean_bias()
    }

    /// Weights and bias of the last step, also where there are means.
    fn now<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<f64>>, f64) {
        (PyArray1::from_vec(py, self.0.latest()), self.0.bias())
    }

    /// Rows learnt.
    #[getter]
    fn t(&self) -> u64 {
        self.0.steps()
    }

    /// Epochs begun.
    #[getter]
    fn epochs(&self) -> u64 {
        self.0.epochs
    }

    /// Whether weights are kept in four bytes, or would be without a mean.
    #[getter]
    fn single(&self) -> bool {
        self.0.manner.precision == Precision::F32
    }

    /// What it was made with: l1, l2, method, single, intercept, average.
    #[getter]
    fn made_with(&self) -> (f64, f64, &'static str, bool, bool, u64) {
        let Manner { penalty, method, bias, average, .. } = self.0.manner;
        let method = if method == Method::Sgd { "sgd" } else { "fobos" };
        (penalty.l1, penalty.l2, method, self.single(), bias, average)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Learner>) -> PyResult<(Bound<'py, PyAny>, (Kept<'py>,))> {
        let learner = slf.borrow();
        let (l1, l2, method, single, intercept, average) = learner.made_with();
        let ModelState { weights, bias, bias_sum, t, epochs } = learner.0.state();
        let (folded, mean) = kept(weights, slf.py());
        let made = (l1, l2, method == "sgd");
        let state = (made, (single, intercept), (average, bias_sum), (bias, t, epochs), folded, mean);
        Ok((slf.get_type().getattr("restored")?, (state,)))
    }

    /// A learner that goes on where another one was when it was pickled.
    #[staticmethod]
    fn restored(state: Restored) -> PyResult<Learner> {
        let ((l1, l2, sgd), (single, intercept), (average, bias_sum), (bias, t, epochs), folded, mean) =
            state;
        let penalty = ElasticNet::new(l1, l2).map_err(raised)?;
        let method = if sgd { Method::Sgd } else { Method::Fobos };
        let manner = Manner { penalty, method, precision: precision(single), bias: intercept, average };
        let state = ModelState { weights: restored(folded, mean)?, bias, bias_sum, t, epochs };
        Resumable::from_state(manner, state).map(Learner).map_err(raised)
    }
}
