//! Limits of predictions: the range of the training targets, where that lowers the loss on held-out rows.
//!
//! ```text
//! ŷ = min(max(link⁻¹(w·x + b), min y), max y)
//! ```
//!
//! If the target of a new row is within the range, a limited prediction is never farther from it. Held-out rows are mostly
//! within it, so that limits seem to help a little on any data, and hide what a model says of rows beyond. So the gain must be
//! worth it.

use crate::eval::held_out::{limited_losses, row_losses};
use crate::model::trained::Trained;
use crate::problem::heads::Head;
use crate::problem::loss::{Admits, score_limits};
use crate::problem::settings::Settings;
use crate::problem::source::Problem;
use crate::problem::task::{Targets, Task};
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;

/// Smallest relative decrease of the held-out loss for which predictions are limited.
const WORTH: f64 = 0.01;

/// Rejects limits for anything but numbers, before training.
pub(super) fn check(problem: &dyn Problem, settings: &Settings) -> Result<()> {
    if settings.limit_predictions != Some(true) {
        return Ok(());
    }
    let limit = Parameter::LimitPredictions;
    let what = match problem.targets() {
        _ if problem.in_memory().is_none() => format!("{limit} needs all rows in memory"),
        _ if problem.has_offsets() => format!("{limit} has no meaning for rows with offsets"),
        Targets::Real(_) => return Ok(()),
        _ => format!("{limit} is for targets that are numbers"),
    };
    Err(Error::call(what, format!("leave {limit} out")))
}

/// The range of the targets, for rows of numbers without offsets.
fn range(task: &Task) -> Option<[f64; 2]> {
    match &task.targets {
        Targets::Real(numbers) if !numbers.is_empty() && !task.has_offsets() => {
            let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            Some([low, numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)])
        }
        _ => None,
    }
}

/// The limits of scores for predictions within the range of the targets.
pub(super) fn of_scores(task: &Task) -> Option<[f64; 2]> {
    (task.loss.admits() != Admits::Classes)
        .then(|| range(task))
        .flatten()
        .map(|range| score_limits(&*task.loss, range))
}

/// Decides whether the predictions of a trained model are limited, and notes it.
pub(super) fn decide(
    problem: &dyn Problem,
    validation: Option<&Task>,
    settings: &Settings,
    trained: &mut Trained,
) {
    let Some(task) = problem.in_memory().filter(|_| settings.limit_predictions != Some(false)) else {
        return;
    };
    let (Some(range), Some(limits)) = (range(task), of_scores(task)) else { return };
    let measured = validation.filter(|held| !held.has_offsets()).map(|held| {
        let head = [Head::of(trained.weights.iter().copied(), trained.bias)];
        let mean = |losses: Vec<f64>| losses.iter().sum::<f64>() / losses.len().max(1) as f64;
        [mean(row_losses(held, &head)), mean(limited_losses(held, &head, limits))]
    });
    let measured = measured.or(trained.with_limits);
    let better = measured.is_some_and(|[without, with]| with < without - WORTH * without.abs());
    if settings.limit_predictions == Some(true) || better {
        let [low, high] = range;
        let why = match measured {
            Some([without, with]) => {
                format!("the loss on held-out rows is {with:.6} with limits, {without:.6} without")
            }
            None => "as asked for".to_string(),
        };
        let no = Parameter::LimitPredictions.set("no");
        trained.notes.push(format!(
            "predictions are limited to the range of the training targets, from {low} to {high}: {why} ({no} turns it off)"
        ));
        trained.limits = Some(range);
    }
}
