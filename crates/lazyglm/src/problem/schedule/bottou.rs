//! bottou: η(t) = 1/(λ₂(t + t0)), the optimal rate for a strongly convex objective (Bottou 2012). It needs λ₂
//! > 0 and no η₀.

use super::{Make, Schedule, T0};
use crate::util::error::Error;
use crate::util::parameter::Parameter;
use crate::util::registry::Entry;

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "bottou",
    formula: "1/(l2(t + t0))",
    keys: &[T0],
    make: |given, setting| {
        if setting.l2 <= 0.0 {
            return Err(Error::call(
                "schedule 'bottou' takes its rate from l2, and l2 is 0",
                format!("give {} above 0, or another {}", Parameter::L2, Parameter::Schedule),
            ));
        }
        Ok(Box::new(Bottou { l2: setting.l2, t0: given.or_rows(0, setting, 1)? }))
    },
};

struct Bottou {
    l2: f64,
    t0: f64,
}

impl Schedule for Bottou {
    fn eta(&self, t: u64) -> f64 {
        1.0 / (self.l2 * (t as f64 + self.t0))
    }
}
