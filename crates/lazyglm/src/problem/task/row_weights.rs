//! Row weights: multiplied, checked and scaled to mean one; rows of weight zero are dropped.

use crate::data::dataset::Dataset;
use crate::util::error::{Error, Place, Result};

/// Multiplies the weights in the data with those given, and drops rows of weight zero.
pub(super) fn weighed(data: Dataset, given: Option<Vec<f64>>) -> Result<(Dataset, Option<Vec<f64>>)> {
    let weights = match (given, &data.weights) {
        (Some(given), Some(own)) => Some(given.iter().zip(own).map(|(a, b)| a * b).collect()),
        (given, own) => given.or(own.clone()),
    };
    without_absent_rows(data, weights)
}

/// Scales the weights to mean one; `None` if all weights are equal.
pub(super) fn normalised(weights: Vec<f64>) -> Option<Vec<f64>> {
    let unequal = weights.iter().any(|weight| *weight != weights[0]);
    unequal.then(|| with_mean_one(weights))
}

/// Checks the sample weights and drops the rows whose weight is zero.
fn without_absent_rows(data: Dataset, weights: Option<Vec<f64>>) -> Result<(Dataset, Option<Vec<f64>>)> {
    let Some(weights) = weights else { return Ok((data, None)) };
    if weights.len() != data.rows.len() {
        let what = format!("there are {} sample weights for {} rows", weights.len(), data.rows.len());
        return Err(Error::data(data.file(), what, "give one weight a row, in the order of the rows"));
    }
    if let Some(i) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        let what = format!("the sample weight {} is not a weight", weights[i]);
        return Err(Error::data(data.place(i), what, "weights are numbers from 0 up"));
    }
    let present: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    if present.is_empty() {
        return Err(no_weight(data.file()));
    }
    if present.len() == weights.len() {
        return Ok((data, Some(weights)));
    }
    let kept = present.iter().map(|&i| weights[i]).collect();
    let mut fewer = data.select(&present);
    fewer.notes = data.notes;
    Ok((fewer, Some(kept)))
}

/// The error for data in which no row has a weight.
pub(crate) fn no_weight(file: Place) -> Error {
    Error::data(file, "all sample weights are 0", "give some rows a weight above 0")
}

/// Divides by the largest weight first, so that no sum overflows.
pub(super) fn with_mean_one(weights: Vec<f64>) -> Vec<f64> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let mean = weights.iter().map(|w| w / largest).sum::<f64>() / weights.len() as f64;
    weights.into_iter().map(|w| w / largest / mean).collect()
}
