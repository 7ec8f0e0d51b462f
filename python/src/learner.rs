//! A model that Python keeps between calls of `learn`, and pickles.

use crate::errors::raised;
use crate::json::{Json, plain};
use crate::task::precision;
use lazyglm::optim::resumable::{Manner, Resumable};
use lazyglm::{ElasticNet, Method, Precision};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A model being learnt.
#[pyclass(module = "lazyglm._core")]
pub struct Learner(pub Resumable);

/// What a learner is made with: l1, l2, method, single precision, intercept, average.
type MadeWith<M> = (f64, f64, M, bool, bool, u64);

#[pymethods]
impl Learner {
    /// Starts from these weights, at row `t` and after some epochs.
    #[new]
    fn new(
        weights: PyReadonlyArray1<f64>,
        intercept: f64,
        t: u64,
        epochs: u64,
        made_with: MadeWith<Json<Method>>,
    ) -> PyResult<Learner> {
        let (l1, l2, Json(method), single, bias, average) = made_with;
        let penalty = ElasticNet::new(l1, l2).map_err(raised)?;
        let weights = weights.as_slice()?.to_vec();
        if !(weights.iter().all(|w| w.is_finite()) && intercept.is_finite()) {
            return Err(PyValueError::new_err("coef_init and intercept_init must be finite"));
        }
        let manner = Manner { penalty, method, precision: precision(single), bias, average };
        let mut model = Resumable::new(manner, weights, intercept, t).map_err(raised)?;
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

    /// What it was made with: l1, l2, method, single precision, intercept, average.
    #[getter]
    fn made_with<'py>(&self, py: Python<'py>) -> PyResult<MadeWith<Bound<'py, PyAny>>> {
        let Manner { penalty, method, precision, bias, average } = self.0.manner;
        Ok((penalty.l1, penalty.l2, plain(py, &method)?, precision == Precision::F32, bias, average))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Learner>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let state = slf.borrow().0.to_bytes().map_err(raised)?;
        Ok((slf.get_type().getattr("restored")?, (PyBytes::new(slf.py(), &state),)))
    }

    /// A learner that goes on where another one was when it was pickled.
    #[staticmethod]
    fn restored(state: &[u8]) -> PyResult<Learner> {
        Resumable::from_bytes(state).map(Learner).map_err(raised)
    }
}
