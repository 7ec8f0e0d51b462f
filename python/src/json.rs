//! Values of Python and of the library, each from the other by way of JSON, with the names of model files.

use crate::errors::raised;
use lazyglm::Error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value of the library, given as plain Python values: `"sgd"` is [`lazyglm::Method::Sgd`].
#[derive(Clone, Copy)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromPyObject<'_, '_> for Json<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Json<T>> {
        let text: String = object.py().import("json")?.call_method1("dumps", (object,))?.extract()?;
        serde_json::from_str(&text).map(Json).map_err(|e| PyValueError::new_err(e.to_string()))
    }
}

/// A value of the library as JSON, for Python to keep.
pub fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| raised(Error::call(e.to_string(), "report this")))
}

/// The same as plain Python values.
pub fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text(value)?,))
}
