//! What the first rows determine: which rows these are, and the learning rate.
//!
//! ```text
//! η₀ = natural·(found/natural)^(n/1000)      for n < 1000 rows
//! ```
//!
//! `found` is the best of a search on these rows, `natural` the rate at which a step just about cancels the error of its row. On
//! two rows the search prefers whatever fits both, which may be hundreds of times the natural rate and says nothing of others.

use super::FIRST;
use crate::data::dataset::Dataset;
use crate::optim::starting_rate::{self, Extent, Trial};
use crate::problem::settings::Settings;
use crate::problem::task::Task;
use crate::util::error::Result;

/// Fewer rows than this are too few for a search of the learning rate.
const FEW: usize = 1_000;

/// The first rows of these.
pub(super) fn beginning(data: Dataset) -> Dataset {
    let ends = data.rows.borrow().offsets().to_vec();
    let within = |&i: &usize| i == 0 || (i < FIRST.0 && ends[i + 1] <= FIRST.1);
    let rows: Vec<usize> = (0..data.rows.len()).take_while(within).collect();
    data.select(&rows)
}

/// The learning rate, and whether it is damped because the rows are few.
pub(super) fn rate(first: &Task, settings: &Settings) -> Result<(f64, bool)> {
    let order: Vec<u32> = (0..first.len() as u32).collect();
    let trial = Trial {
        examples: first.examples(),
        order: &order,
        rows: first.len() as u64,
        extent: Extent::of(first.examples()),
        loss: &*first.loss,
        penalty: settings.penalty,
        method: settings.method,
        schedule: &settings.schedule,
        epochs: 1,
        bias: settings.bias,
        go_on: &|| !settings.interrupted(),
    };
    let found = starting_rate::find(&trial)?.eta0;
    if first.len() >= FEW {
        return Ok((found, false));
    }
    let natural = starting_rate::natural(&trial)?;
    let share = first.len() as f64 / FEW as f64;
    Ok((starting_rate::rounded(natural * (found / natural).powf(share)), true))
}
