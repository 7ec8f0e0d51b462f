//! Learning rate schedules η(t), one module per schedule.
//!
//! The rate of step t is a pure function of t and of constants fixed before the first row. So runs can
//! resume, and shards use the same rates. To add a schedule, write its module and add its `mod` line and its
//! entry in [`TABLE`].
//!
//! ```
//! use lazyglm::schedule::{Setting, Spec, TABLE};
//! let setting = Setting { eta0: 0.5, l2: 0.1, rows: Some(100), epochs: 5 };
//! for entry in TABLE {
//!     let schedule = Spec::parse(entry.name).unwrap().resolve(&setting).unwrap();
//!     assert!((1..500).all(|t| schedule.eta(t) <= schedule.eta(t - 1)), "by default, none ever rises");
//! }
//! ```

mod bottou;
mod constant;
mod cosine;
mod exponential;
mod inverse;
mod inverse_sqrt;
mod power;
mod step;

use crate::util::error::{Error, Result};
use crate::util::registry::{self, Choice, Entry, Key};

/// A learning rate schedule. `t` counts the rows learnt so far, so the first step has t = 0.
///
/// ```
/// use lazyglm::schedule::Schedule;
/// struct Halving;
/// impl Schedule for Halving {
///     fn eta(&self, t: u64) -> f64 {
///         0.5f64.powf(t as f64 / 1000.0)
///     }
/// }
/// assert_eq!((Halving.eta(0), Halving.eta(2000), Halving.is_constant()), (1.0, 0.25, false));
/// ```
pub trait Schedule: Send + Sync {
    /// The learning rate η(t).
    fn eta(&self, t: u64) -> f64;

    /// Whether η is the same for every t. Closed forms then need no table.
    fn is_constant(&self) -> bool {
        false
    }
}

/// Properties of a run from which a schedule computes its constants.
///
/// ```
/// use lazyglm::schedule::{Setting, Spec};
/// let setting = Setting { eta0: 0.5, l2: 0.0, rows: Some(100), epochs: 5 };
/// let cosine = Spec::parse("cosine").unwrap();
/// assert_eq!(cosine.resolve(&setting).unwrap().eta(500), 0.0, "down to 0 over rows × epochs");
/// assert!(cosine.resolve(&Setting { rows: None, ..setting }).is_err(), "over how many steps?");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The initial learning rate.
    pub eta0: f64,
    /// λ₂, for bottou.
    pub l2: f64,
    /// Number of rows per epoch, if known.
    pub rows: Option<u64>,
    /// Number of epochs.
    pub epochs: u64,
}

/// A parsed schedule that is not yet bound to a run.
///
/// ```
/// use lazyglm::schedule::{Setting, Spec};
/// let spec = Spec::parse("power:p=0.75,t0=1000").unwrap();
/// let setting = Setting { eta0: 0.5, l2: 0.0, rows: None, epochs: 1 };
/// let schedule = spec.resolve(&setting).unwrap();
/// assert_eq!(schedule.eta(0), 0.5);
/// assert_eq!(schedule.eta(15_000), 0.5 / 8.0);
/// assert!(Spec::parse("powr").is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    text: String,
}

/// Constructor of a schedule from the numbers given for its parameters and the properties of the run.
pub type Make = fn(&Given, &Setting) -> Result<Box<dyn Schedule>>;

/// The table of all schedules.
///
/// ```
/// use lazyglm::schedule::TABLE;
/// let power = TABLE.iter().find(|entry| entry.name == "power").unwrap();
/// assert_eq!(power.formula, "eta0/(1 + t/t0)^p");
/// assert_eq!(power.keys.iter().map(|key| key.name).collect::<Vec<_>>(), ["p", "t0"]);
/// ```
pub static TABLE: &[Entry<Make>] = &[
    constant::ENTRY,
    inverse::ENTRY,
    inverse_sqrt::ENTRY,
    power::ENTRY,
    bottou::ENTRY,
    exponential::ENTRY,
    cosine::ENTRY,
    step::ENTRY,
];

impl Spec {
    /// Parses a schedule, and checks its name and parameters.
    ///
    /// ```
    /// use lazyglm::schedule::Spec;
    /// assert_eq!(Spec::parse("step:factor=0.1").unwrap().text(), "step:factor=0.1");
    /// assert!(Spec::parse("step:factor=2").is_err(), "rates do not rise");
    /// ```
    pub fn parse(text: &str) -> Result<Spec> {
        registry::find("schedule", TABLE, text).map(|_| Spec { text: text.to_string() })
    }

    /// The schedule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the formula of the schedule contains η₀ (bottou's does not).
    ///
    /// ```
    /// use lazyglm::schedule::Spec;
    /// let uses_eta0 = |text| Spec::parse(text).unwrap().uses_eta0();
    /// assert!(uses_eta0("inverse") && !uses_eta0("bottou") && !uses_eta0("bottou:t0=10"));
    /// ```
    pub fn uses_eta0(&self) -> bool {
        registry::find("schedule", TABLE, &self.text)
            .is_ok_and(|choice| choice.entry.formula.contains("eta0"))
    }

    /// Creates the schedule for a run.
    ///
    /// ```
    /// use lazyglm::schedule::{Setting, Spec};
    /// let spec = Spec::parse("bottou:t0=10").unwrap();
    /// let setting = Setting { eta0: f64::NAN, l2: 0.1, rows: None, epochs: 1 };
    /// assert_eq!(spec.resolve(&setting).unwrap().eta(0), 1.0);
    /// assert!(spec.resolve(&Setting { l2: 0.0, ..setting }).is_err(), "its rate is 1/(λ₂(t + t0))");
    /// ```
    pub fn resolve(&self, setting: &Setting) -> Result<Box<dyn Schedule>> {
        let choice = registry::find("schedule", TABLE, &self.text)?;
        (choice.entry.make)(&Given { choice: &choice }, setting)
    }
}

/// The numbers given for a schedule's parameters.
pub struct Given<'a> {
    choice: &'a Choice<'a, Make>,
}

impl Given<'_> {
    /// The number given for the `k`-th parameter, or a default.
    fn or(&self, k: usize, default: f64) -> f64 {
        self.choice.given[k].unwrap_or(default)
    }

    /// The number given for the `k`-th parameter, or `per_row` times the rows per epoch, which a stream does
    /// not know.
    fn or_rows(&self, k: usize, setting: &Setting, per_row: u64) -> Result<f64> {
        let name = self.choice.entry.name;
        let key = self.choice.entry.keys[k].name;
        self.choice.given[k]
            .or(setting.rows.map(|rows| rows.saturating_mul(per_row).max(1) as f64))
            .ok_or_else(|| {
                Error::call(
                    format!(
                        "schedule '{name}' takes its {key} from the number of rows, which is not known here"
                    ),
                    format!("give it: '{name}:{key}=…'"),
                )
            })
    }
}

/// The parameter t0: the number of rows after which the rate has decreased noticeably.
const T0: Key = Key::positive("t0", "rows");
