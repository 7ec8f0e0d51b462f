//! Errors of the library as Python's: OSError for files, ValueError for the rest, with the parameters as Python has them.

use lazyglm::{Error, Kind, Parameter};
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
    let text = match error.spelled(keyword) {
        (what, hint) if hint.is_empty() => what,
        (what, hint) => format!("{what}; {hint}"),
    };
    match error.kind() {
        Kind::Io { source, .. } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, text)), // becomes FileNotFoundError and the like
            None => PyOSError::new_err(text),
        },
        _ => PyValueError::new_err(text),
    }
}

/// What parameters are called in Python. Those that are not here are parameters of the program alone.
const KEYWORDS: &[(Parameter, &str)] = &[
    (Parameter::Average, "average"),
    (Parameter::Categorical, "categorical"),
    (Parameter::ClassWeight, "class_weight"),
    (Parameter::Drop, "drop"),
    (Parameter::Epochs, "max_iter"),
    (Parameter::Eta0, "eta0"),
    (Parameter::Features, "n_features"),
    (Parameter::Folds, "cv"),
    (Parameter::Format, "format"),
    (Parameter::HashBits, "hash_bits"),
    (Parameter::IndexBase, "index_base"),
    (Parameter::L1, "l1_ratio"), // with alpha: see `keyword`
    (Parameter::L2, "alpha"),
    (Parameter::Loss, "loss"),
    (Parameter::Method, "method"),
    (Parameter::PenaltyFactor, "penalty_factor"),
    (Parameter::Precision, "precision"),
    (Parameter::SampleWeights, "sample_weight"),
    (Parameter::Scale, "scale"),
    (Parameter::Schedule, "schedule"),
    (Parameter::Solver, "solver"),
    (Parameter::Target, "target"),
    (Parameter::Text, "text"),
    (Parameter::Threads, "n_jobs"),
    (Parameter::Tolerance, "tolerance"),
    (Parameter::Validation, "validation_fraction"),
];

/// A parameter as Python spells it: `max_iter`, `solver='sgd'`.
fn keyword(parameter: Parameter, value: Option<&str>) -> String {
    match (parameter, value) {
        (Parameter::L1, None) => return "alpha or l1_ratio".to_string(), // l1 = alpha·l1_ratio
        (Parameter::L1, Some("0")) => return "l1_ratio=0".to_string(),
        (Parameter::L2, Some("0")) => return "l1_ratio=1".to_string(), // l2 = alpha·(1 − l1_ratio)
        (Parameter::Loss, Some("logistic")) => return "loss='log_loss'".to_string(),
        _ => {}
    }
    let known = KEYWORDS.iter().find(|(known, _)| *known == parameter);
    match (known, value) {
        (Some((_, name)), None) => name.to_string(),
        (Some((_, name)), Some(value)) if value.parse::<f64>().is_ok() => format!("{name}={value}"),
        (Some((_, name)), Some(value)) => format!("{name}='{value}'"),
        (None, value) => {
            let flag = match parameter {
                Parameter::Prediction => "as".to_string(),
                Parameter::OutputFormat => "to".to_string(),
                other => other.name().replace('_', "-"),
            };
            let value = value.map_or(String::new(), |value| format!(" {value}"));
            format!("--{flag}{value} (of the program)")
        }
    }
}
