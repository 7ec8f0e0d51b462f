//! power: η(t) = η₀/(1 + t/t0)^p.

use super::{Make, Schedule, T0};
use crate::util::registry::{Entry, Key};

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "power",
    formula: "eta0/(1 + t/t0)^p",
    keys: &[Key { name: "p", default: "0.5", low: 0.0, high: f64::INFINITY, open: false }, T0],
    make: |given, setting| {
        let t0 = given.or_rows(1, setting, 1)?;
        Ok(Box::new(Power { eta0: setting.eta0, p: given.or(0, 0.5), t0 }))
    },
};

struct Power {
    eta0: f64,
    p: f64,
    t0: f64,
}

impl Schedule for Power {
    fn eta(&self, t: u64) -> f64 {
        self.eta0 / (1.0 + t as f64 / self.t0).powf(self.p)
    }
}
