//! The adaptive lasso (Zou 2006): two fits, where the second penalises a feature less the larger its weight in the first.
//!
//! ```text
//! first    w̃ = argmin L(w) + Σⱼ pⱼ(λ₁|wⱼ| + ½λ₂wⱼ²)                  the solver and the penalty of the settings
//! second   p′ⱼ = pⱼ·(max|w̃|/|w̃ⱼ|)^γ, and wⱼ = 0 where w̃ⱼ = 0         |w̃ⱼ|: over all heads, the root of the sum of squares
//! ```
//!
//! The factor of the largest weight is 1, so that factors do not depend on the units of the scores. If the penalty is
//! chosen by held-out loss, each fit has its own.

use crate::model::report::Stop;
use crate::model::trained::Trained;
use crate::problem::settings::Settings;
use crate::util::error::Result;
use crate::util::parameter::Parameter;
use std::sync::Arc;

/// A feature with a larger factor is excluded: its weight would be zero, and products with infinity are NaN.
const LARGEST_FACTOR: f64 = 1e12;

/// Fits twice, by `fit`. Returns the first model if all its weights are zero, or if it was interrupted.
pub(super) fn train(
    settings: &Settings,
    columns: usize,
    gamma: f64,
    fit: &mut dyn FnMut(&Settings) -> Result<Trained>,
) -> Result<Trained> {
    let given = settings.factors.clone().unwrap_or_else(|| Arc::new(vec![1.0; columns]));
    // If there are factors, a search for the penalty tries minimisers alone, which have zeros.
    let first = Settings { adaptive: None, factors: Some(given.clone()), ..settings.clone() };
    let trained = fit(&first)?;
    let sizes = sizes(&trained, columns);
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 || trained.report.stop == Stop::Interrupted {
        return Ok(trained);
    }
    let factor = |size: &f64| (largest / size).powf(gamma);
    let kept: Vec<bool> = sizes.iter().map(|size| factor(size) <= LARGEST_FACTOR).collect();
    let one = |j: usize| if kept[j] { given[j] * factor(&sizes[j]) } else { 1.0 };
    let range = |j: usize| if kept[j] { first.weighted_penalty().range(j) } else { [0.0, 0.0] };
    let second = Settings {
        factors: Some(Arc::new((0..columns).map(one).collect())),
        bounds: Some(Arc::new((0..columns).map(range).collect())),
        ..first.clone()
    };
    let mut trained = fit(&second)?;
    trained.notes.push(format!(
        "{}: the first fit kept {} of {columns} features, and its weights set the penalty factors of the second",
        Parameter::Adaptive,
        kept.iter().filter(|kept| **kept).count(),
    ));
    Ok(trained)
}

/// The size of each feature's weights over all heads.
fn sizes(trained: &Trained, columns: usize) -> Vec<f64> {
    if trained.heads.is_empty() {
        return trained.weights.iter().map(|w| w.abs()).collect();
    }
    let mut squares = vec![0.0; columns];
    for head in &trained.heads {
        head.columns.iter().zip(&head.weights).for_each(|(&j, w)| squares[j as usize] += w * w);
    }
    squares.iter().map(|square| square.sqrt()).collect()
}
