//! Errors of the library as Python's: OSError for files, ValueError for the rest, with the parameters as Python has them.

use lazyglm::{Error, Kind, Parameter, WARNING, spelled};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often Ctrl-C is looked for.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Keeps an exception that Python raised while the library was at work (Ctrl-C, a callback): the library is told that the run is
/// interrupted, and the exception is raised when it has returned.
#[derive(Default)]
pub struct Pythons {
    raised: Mutex<Option<PyErr>>,
    looked: Mutex<Option<Instant>>,
}

impl Pythons {
    /// Keeps the exception, if there is one.
    pub fn keep(&self, result: PyResult<()>) -> Result<(), Error> {
        result.map_err(|error| {
            if let Ok(mut kept) = self.raised.lock() {
                kept.get_or_insert(error);
            }
            Kind::Interrupted.into()
        })
    }

    /// Lets Python see to its signals, now and then: Ctrl-C raises KeyboardInterrupt.
    pub fn look(&self) -> Result<(), Error> {
        let Ok(mut looked) = self.looked.lock() else { return Ok(()) };
        if looked.get_or_insert_with(Instant::now).elapsed() < LOOK_EVERY {
            return Ok(());
        }
        *looked = Some(Instant::now());
        self.keep(Python::attach(|py| py.check_signals()))
    }

    /// The exception that was kept, or the one for this error.
    pub fn or(&self, error: Error) -> PyErr {
        let kept = self.raised.lock().ok().and_then(|mut kept| kept.take());
        kept.unwrap_or_else(|| raised(error))
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

/// The warnings among the notes of the library, with the parameters as Python has them.
pub fn warnings(notes: &[String]) -> Vec<String> {
    notes.iter().filter_map(|note| note.strip_prefix(WARNING)).map(|text| spelled(text, keyword)).collect()
}

/// The parameters that Python calls by another name.
const RENAMED: &[(Parameter, &str)] = &[
    (Parameter::Epochs, "max_iter"),
    (Parameter::Features, "n_features"),
    (Parameter::Folds, "cv"),
    (Parameter::L1, "l1_ratio"), // with alpha: see `keyword`
    (Parameter::L2, "alpha"),
    (Parameter::Multiclass, "multi_class"),
    (Parameter::Nonnegative, "positive"),
    (Parameter::SampleWeights, "sample_weight"),
    (Parameter::Threads, "n_jobs"),
    (Parameter::Tolerance, "tol"),
    (Parameter::Validation, "validation_fraction"),
];

/// Those that Python calls by the library's name. The rest are parameters of the program alone.
const SAME: &str = "average categorical class_weight drop eta0 exclude format hash_bits index_base l1_ratio loss lower method \
    missing offset penalty_factor precision scale schedule solver target text text_columns upper";

/// A parameter as Python spells it: `max_iter`, `solver='sgd'`.
pub fn keyword(parameter: Parameter, value: Option<&str>) -> String {
    match (parameter, value) {
        (Parameter::Start, None) => return "the start (coef_init, or warm_start)".to_string(),
        (Parameter::L1, None) => return "alpha or l1_ratio".to_string(), // l1 = alpha·l1_ratio
        (Parameter::L1, Some("0")) => return "l1_ratio=0".to_string(),
        (Parameter::L2, Some("0")) => return "l1_ratio=1".to_string(), // l2 = alpha·(1 − l1_ratio)
        (Parameter::Multiclass, Some("softmax")) => return "multi_class='multinomial'".to_string(),
        (Parameter::LimitPredictions, None) => return "limit_predictions".to_string(),
        (Parameter::LimitPredictions, Some("no")) => return "limit_predictions=False".to_string(),
        (Parameter::Scale, Some("none")) => return "scale=None".to_string(),
        (Parameter::Loss, Some("logistic")) => return "loss='log_loss'".to_string(),
        _ => {}
    }
    let renamed = RENAMED.iter().find(|(known, _)| *known == parameter).map(|(_, name)| *name);
    match (renamed.or_else(|| SAME.split(' ').find(|name| *name == parameter.name())), value) {
        (Some(name), None) => name.to_string(),
        (Some(name), Some(value)) if value.parse::<f64>().is_ok() => format!("{name}={value}"),
        (Some(name), Some(value)) => format!("{name}='{value}'"),
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
