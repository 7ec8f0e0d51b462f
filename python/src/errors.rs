//! Errors of the library as Python's: OSError for files, ValueError for the rest, in the library's own words.

use lazyglm::{Error, Kind};
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};

/// Why a call ended early: an error of ours, or one that Python raised meanwhile (Ctrl-C, a callback).
pub enum Halt {
    /// Ours.
    Ours(Error),
    /// Python's.
    Pythons(PyErr),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Halt {
        Halt::Ours(error)
    }
}

impl From<PyErr> for Halt {
    fn from(error: PyErr) -> Halt {
        Halt::Pythons(error)
    }
}

impl From<Halt> for PyErr {
    fn from(halt: Halt) -> PyErr {
        match halt {
            Halt::Ours(error) => raised(error),
            Halt::Pythons(error) => error,
        }
    }
}

/// The exception for an error.
pub fn raised(error: Error) -> PyErr {
    match error.kind() {
        Kind::Io { source, .. } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string())), // becomes FileNotFoundError and the like
            None => PyOSError::new_err(error.to_string()),
        },
        _ => PyValueError::new_err(error.to_string()),
    }
}
