//! cosine: η(t) = ½η₀(1 + cos(πt/steps)), which decreases from η₀ to 0 over `steps` rows. If `steps` is
//! smaller than the number of rows learnt, the rate rises again (warm restarts).

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
