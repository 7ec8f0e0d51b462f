//! step: η(t) = η₀·factor^⌊t/every⌋.

use super::{Make, Schedule};
use crate::util::registry::{Entry, Key};

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "step",
    formula: "eta0·factor^⌊t/every⌋",
    keys: &[
        Key { name: "factor", default: "0.5", low: 0.0, high: 1.0, open: false },
        Key::positive("every", "rows"),
    ],
    make: |given, setting| {
        let every = given.or_rows(1, setting, 1)?;
        Ok(Box::new(Step { eta0: setting.eta0, factor: given.or(0, 0.5), every }))
    },
};

struct Step {
    eta0: f64,
    factor: f64,
    every: f64,
}

impl Schedule for Step {
    fn eta(&self, t: u64) -> f64 {
        self.eta0 * self.factor.powf((t as f64 / self.every).floor())
    }
}
