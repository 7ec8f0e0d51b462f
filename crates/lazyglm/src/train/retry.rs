//! Runs that diverge: they begin anew with half the learning rate, until a run is sound.
//!
//! ```text
//! run k     rate η₀·2⁻ᵏ from the initial weights, k = 0, 1, …, 30       the first run that is sound is the result
//! sound     all weights are finite, and F ≤ F₀ + 10·|F₀|                F₀: the objective of the bias alone
//! ```
//!
//! A finite run whose F is above that bound, and not below F of the run before, is the result as well: a lower rate does
//! not help.

use super::fold::digits;
use crate::model::report::{Report, Stop};
use crate::model::trained::Trained;
use crate::problem::settings::Settings;
use crate::util::error::{Kind, Result};
use crate::util::parameter::{Parameter, WARNING};

/// Largest number of times that a learning rate is halved: to a billionth.
const MOST: i32 = 30;

/// The same for heads, of which those that still diverge are dropped then.
const MOST_OF_HEADS: i32 = 6;

/// How far above the objective of the bias alone a run counts as diverged, relative to that objective.
const FAR: f64 = 10.0;

/// Whether a run is finite, but so far above the bias alone that it was about to diverge.
fn is_far_above(report: &Report) -> bool {
    let Report { objective, baseline, stop, .. } = report;
    *stop != Stop::Interrupted && *baseline != 0.0 && *objective > baseline + FAR * baseline.abs()
}

/// Whether a run that diverged may begin anew.
fn may_retry(settings: &Settings) -> bool {
    settings.retry_diverged && settings.schedule.uses_eta0()
}

/// Whether heads begin anew because some of them diverged.
pub(super) fn heads_may_retry(settings: &Settings) -> bool {
    may_retry(settings) && settings.rate_factor > 0.5f64.powi(MOST_OF_HEADS)
}

/// The settings of the k-th run.
fn slower(settings: &Settings, k: i32) -> Settings {
    Settings { rate_factor: settings.rate_factor * 0.5f64.powi(k), ..settings.clone() }
}

/// Trains by `run`, with half the learning rate as long as the run diverges or ends far above the bias alone.
pub(super) fn until_finite(
    settings: &Settings,
    run: &mut dyn FnMut(&Settings) -> Result<Trained>,
) -> Result<Trained> {
    let mut lowest = f64::INFINITY;
    for k in 0..=MOST {
        match run(&slower(settings, k)) {
            Ok(trained)
                if may_retry(settings)
                    && k < MOST
                    && is_far_above(&trained.report)
                    && trained.report.objective < lowest =>
            {
                lowest = trained.report.objective;
            }
            Err(error)
                if matches!(error.kind(), Kind::Diverged { .. }) && may_retry(settings) && k < MOST => {}
            Ok(mut trained) if k > 0 => {
                trained.notes.push(format!(
                    "{WARNING}training diverged (NaN, infinity, or far above the bias alone) and began anew {}, each time with half the learning rate: {} was {} in the end. Scale the features down for a faster rate",
                    if k == 1 { "once".to_string() } else { format!("{k} times") },
                    Parameter::Eta0,
                    digits(trained.report.eta0)
                ));
                return Ok(trained);
            }
            ended => return ended,
        }
    }
    run(&slower(settings, MOST))
}
