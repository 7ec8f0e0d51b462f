//! inverse-sqrt: η(t) = η₀/√(1 + t/t0).

use super::{Make, Schedule, T0};
use crate::util::registry::Entry;

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "inverse-sqrt",
    formula: "eta0/√(1 + t/t0)",
    keys: &[T0],
    make: |given, setting| {
        Ok(Box::new(InverseSqrt { eta0: setting.eta0, t0: given.or_rows(0, setting, 1)? }))
    },
};

struct InverseSqrt {
    eta0: f64,
    t0: f64,
}

impl Schedule for InverseSqrt {
    fn eta(&self, t: u64) -> f64 {
        self.eta0 / (1.0 + t as f64 / self.t0).sqrt()
    }
}
