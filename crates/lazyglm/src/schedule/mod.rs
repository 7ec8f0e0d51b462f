//! Schedules η(t): the rate of step t, a pure function of t and of constants fixed before the first row, so
//! that runs resume and shards agree. One file each.
//!
//! To add one: write its file, add its `mod` line and its line in [`TABLE`].

mod bottou;
mod constant;
mod cosine;
mod exponential;
mod inverse;
mod inverse_sqrt;
mod power;
mod step;

use crate::error::{Error, Result};
use crate::registry::{self, Choice, Entry, Key};

/// The rate of every step. `t` counts the rows learnt so far, so the first step has t = 0.
pub trait Schedule: Send + Sync {
    /// η(t).
    fn eta(&self, t: u64) -> f64;

    /// Whether η is the same for every t: then closed forms need no table.
    fn is_constant(&self) -> bool {
        false
    }
}

/// What a schedule may take its constants from.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The starting rate.
    pub eta0: f64,
    /// λ₂, for bottou.
    pub l2: f64,
    /// How many rows an epoch has, if known.
    pub rows: Option<u64>,
    /// How many epochs there will be.
    pub epochs: u64,
}

/// A schedule as written, waiting for the numbers of the run.
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

/// Makes a schedule from the numbers given for its keys and the setting.
pub type Make = fn(&Given, &Setting) -> Result<Box<dyn Schedule>>;

/// Every schedule there is.
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
    /// Checks the name and the keys.
    pub fn parse(text: &str) -> Result<Spec> {
        registry::find("schedule", TABLE, text).map(|_| Spec { text: text.to_string() })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the schedule starts from η₀ (bottou does not: λ₂ and t0 give its rate).
    pub fn uses_eta0(&self) -> bool {
        self.text.split(':').next() != Some("bottou")
    }

    /// The schedule itself, once the numbers of the run are known.
    pub fn resolve(&self, setting: &Setting) -> Result<Box<dyn Schedule>> {
        let choice = registry::find("schedule", TABLE, &self.text)?;
        (choice.entry.make)(&Given { choice: &choice }, setting)
    }
}

/// The numbers given for a schedule's keys.
pub struct Given<'a> {
    choice: &'a Choice<'a, Make>,
}

impl Given<'_> {
    /// The number given for the `k`-th key, or this one.
    fn or(&self, k: usize, default: f64) -> f64 {
        self.choice.given[k].unwrap_or(default)
    }

    /// The number given for the `k`-th key, or `per_row` × the rows of an epoch, which a stream does not know.
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

/// The key t0: where the rate has visibly begun to fall.
const T0: Key = Key::positive("t0", "the number of rows");
