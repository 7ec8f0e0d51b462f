//! constant: η(t) = η₀.

use super::{Make, Schedule};
use crate::util::registry::Entry;

pub(super) const ENTRY: Entry<Make> = Entry {
    name: "constant",
    formula: "eta0",
    keys: &[],
    make: |_, setting| Ok(Box::new(Constant { eta0: setting.eta0 })),
};

struct Constant {
    eta0: f64,
}

impl Schedule for Constant {
    fn eta(&self, _t: u64) -> f64 {
        self.eta0
    }

    fn is_constant(&self) -> bool {
        true
    }
}
