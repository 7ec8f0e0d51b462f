//! Features whose every value is too small for `f32`: rounded, they would be zero, and nothing could be learnt from them.
//!
//! A single value that is rounded to zero does no harm beside larger ones of its feature. A feature that has no others would
//! be lost without a word, and the optimum found without it would be that of other data.

use crate::data::features::Features;
use crate::data::format::Parsed;
use crate::data::rows::{Rows, ValuesRef};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use std::collections::BTreeSet;
use std::path::Path;

/// Where values stand that rounding made zero.
#[derive(Default)]
pub(super) struct Vanished {
    places: Vec<usize>,
}

impl Vanished {
    /// Notes the values of a block that are about to vanish, `before` being the non-zeros before it.
    pub fn note(&mut self, block: &Rows, before: usize) {
        if let ValuesRef::F64(values) = block.borrow().values() {
            let vanish = |&k: &usize| values[k] != 0.0 && values[k] as f32 == 0.0;
            self.places.extend((0..values.len()).filter(vanish).map(|k| before + k));
        }
    }

    /// Starts again.
    pub fn clear(&mut self) {
        self.places.clear();
    }

    /// Refuses a feature of which nothing is left.
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

/// The error.
pub(crate) fn vanishes(place: Place, feature: &str) -> Error {
    let what = format!("every value of feature {} is too small for f32 (1e-45)", excerpt(feature));
    Error::data(
        place,
        what,
        format!("scale the feature up, or train with {}", Parameter::Precision.set("f64")),
    )
}
