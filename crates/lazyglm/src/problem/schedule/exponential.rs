//! exponential: η(t) = η₀·2^(−t/half), halved every `half` rows.

use super::{Make, Schedule};
use crate::util::registry::{Entry, Key};

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "exponential",
    formula: "eta0·2^(-t/half)",
    keys: &[Key::positive("half", "rows")],
    make: |given, setting| {
        Ok(Box::new(Exponential { eta0: setting.eta0, half: given.or_rows(0, setting, 1)? }))
    },
};

struct Exponential {
    eta0: f64,
    half: f64,
}

impl Schedule for Exponential {
    fn eta(&self, t: u64) -> f64 {
        self.eta0 * (-(t as f64) / self.half).exp2()
    }
}
