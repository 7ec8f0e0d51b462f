//! Detects features whose values are all too small for `f32`: rounding would make all of them zero.
//!
//! A single value that rounds to zero does no harm beside larger values of the same feature. A feature with
//! no larger values would be lost silently, and the optimum without that feature would be the optimum of
//! other data.

use crate::data::features::Features;
use crate::data::format::Parsed;
use crate::data::rows::{Rows, ValuesRef};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use std::collections::BTreeSet;
use std::path::Path;

/// Positions of the values that rounding to f32 turned into zero.
#[derive(Default)]
pub(super) struct Vanished {
    places: Vec<usize>,
}

impl Vanished {
    /// Records the values of a block that will round to zero. `before` is the number of non-zeros before the
    /// block.
    pub fn note(&mut self, block: &Rows, before: usize) {
        if let ValuesRef::F64(values) = block.borrow().values() {
            let vanish = |&k: &usize| values[k] != 0.0 && values[k] as f32 == 0.0;
            self.places.extend((0..values.len()).filter(vanish).map(|k| before + k));
        }
    }

    /// Forgets all recorded positions.
    pub fn clear(&mut self) {
        self.places.clear();
    }

    /// Returns an error if a feature has no values left.
    pub fn check(&self, parsed: &Parsed, features: &Features, file: &Path) -> Result<()> {
        let rows = parsed.rows.borrow();
        let mut lost: BTreeSet<u32> = self.places.iter().map(|&k| rows.ids()[k]).collect();
        let mut left = |id: u32, x: f64| x != 0.0 && lost.remove(&id);
        match rows.values() {
            _ if self.places.is_empty() => return Ok(()),
            ValuesRef::F32(values) => rows.ids().iter().zip(values).for_each(|(id, x)| {
                left(*id, f64::from(*x));
            }),
            ValuesRef::F64(values) => rows.ids().iter().zip(values).for_each(|(id, x)| {
                left(*id, *x);
            }),
        }
        let Some(&place) = self.places.iter().find(|&&k| lost.contains(&rows.ids()[k])) else {
            return Ok(());
        };
        let row = rows.offsets().partition_point(|&end| end <= place) - 1;
        let name = features.name(rows.ids()[place] as usize);
        Err(vanishes(Place::file(file).line(parsed.lines.of(row)), &name))
    }
}

/// The error for a feature whose values all round to zero.
pub(crate) fn vanishes(place: Place, feature: &str) -> Error {
    let what = format!("every value of feature {} is too small for f32 (1e-45)", excerpt(feature));
    Error::data(
        place,
        what,
        format!("scale the feature up, or train with {}", Parameter::Precision.set("f64")),
    )
}
