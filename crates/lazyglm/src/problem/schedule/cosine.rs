//! cosine: η(t) = ½η₀(1 + cos(πt/steps)): from η₀ down to 0 over `steps` rows.
//! With `steps` below the rows learnt the wave rises again: warm restarts.

use super::{Make, Schedule};
use crate::util::registry::{Entry, Key};

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "cosine",
    formula: "½eta0(1 + cos(πt/steps))",
    keys: &[Key::positive("steps", "rows × epochs")],
    make: |given, setting| {
        let steps = given.or_rows(0, setting, setting.epochs.max(1))?;
        Ok(Box::new(Cosine { eta0: setting.eta0, steps }))
    },
};

struct Cosine {
    eta0: f64,
    steps: f64,
}

impl Schedule for Cosine {
    fn eta(&self, t: u64) -> f64 {
        0.5 * self.eta0 * (1.0 + (std::f64::consts::PI * t as f64 / self.steps).cos())
    }
}
