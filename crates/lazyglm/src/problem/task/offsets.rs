//! Row offsets: added to those in the data, and checked.

use crate::data::dataset::Dataset;
use crate::util::error::{Error, Place, Result};

/// The data with these offsets added to their own.
pub(super) fn shifted(mut data: Dataset, given: Option<Vec<f64>>) -> Result<Dataset> {
    if let Some(given) = given {
        if given.len() != data.rows.len() {
            let what = format!("there are {} offsets for {} rows", given.len(), data.rows.len());
            return Err(Error::data(data.file(), what, "give one offset per row, in the order of the rows"));
        }
        data.offsets = Some(match &data.offsets {
            Some(own) => own.iter().zip(given).map(|(own, given)| own + given).collect(),
            None => given,
        });
    }
    check_offsets(data.offsets.as_deref().unwrap_or_default(), &|i| data.place(i))?;
    Ok(data)
}

/// Refuses offsets that are not finite; `place` is the place of a row.
pub(crate) fn check_offsets(offsets: &[f64], place: &dyn Fn(usize) -> Place) -> Result<()> {
    let Some(i) = offsets.iter().position(|offset| !offset.is_finite()) else { return Ok(()) };
    let what = match offsets[i].is_nan() {
        true => "the row has no offset, or one that is NaN".to_string(),
        false => format!("the offset {} is not finite", offsets[i]),
    };
    Err(Error::data(place(i), what, "give each row a finite number; 0 changes no score"))
}
