//! How much of the memory goes where.

use crate::data::bytes::LONGEST;
use crate::data::cache::Cache;
use crate::data::features::Features;
use crate::data::scaling::Scaling;
use crate::problem::settings::{Precision, Settings};
use crate::problem::solvers::Solver;
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;

/// What the program itself takes.
pub(super) const OWN: usize = 18 << 20;
/// What a thread that reads or decodes takes.
pub(super) const THREAD: usize = 6 << 20;
/// Bytes a column takes at most: weights, weights settled, best weights, gradients, and whether it occurs.
pub(super) const COLUMN: usize = 4 + 8 + 8 + 2 * 24 + 8 + 2;
/// And with a rate for each weight: its state, and scales while they are found.
const RATES: usize = 32 + 36;
/// And with snapshots: gradients, in parts.
const SNAPSHOTS: usize = 5 * 16;
/// Bytes of a row besides its non-zeros.
pub(super) const ROW: usize = 24;
/// The least a window holds.
pub(super) const LEAST: usize = 1 << 20;

/// Whether values take four bytes in memory.
pub(super) fn is_short(features: &Features, cache: &Cache, settings: &Settings) -> bool {
    let as_written = *features.scaling == Scaling::default();
    settings.precision == Precision::F32 || (cache.meta.exact_in_f32 && as_written)
}

/// How many threads read or decode: their blocks must not take much of the memory.
pub(super) fn threads(memory: usize) -> usize {
    (memory / (4 * THREAD)).clamp(1, rayon::current_num_threads())
}

/// How many bytes a record may have. A record takes some twenty times its length while it is parsed, in every thread: its
/// text, what was found in it, its rows, and those of the records that wait for their turn.
pub(super) fn longest_record(memory: usize, threads: usize) -> usize {
    (memory / (20 * (threads + 1))).clamp(1 << 20, LONGEST)
}

pub(super) fn bytes_of_value(narrow: bool) -> usize {
    4 + if narrow { 4 } else { 8 }
}

/// Bytes a column takes with this solver.
fn column(settings: &Settings) -> usize {
    match settings.solver {
        Solver::Adagrad | Solver::Ftrl => COLUMN + RATES * settings.runs as usize,
        Solver::Svrg => COLUMN + RATES + SNAPSHOTS,
        _ => COLUMN,
    }
}

/// How many times a solver has rows in memory when it has all of them: to see them by column takes as much again, and to
/// choose a penalty, the part that is learnt from meanwhile.
pub(super) fn copies(settings: &Settings) -> usize {
    match settings.solver {
        Solver::Newton => 2,
        Solver::Auto if settings.choose_penalty => 3,
        Solver::Auto => 2,
        _ => 1,
    }
}

/// How many non-zeros a window may hold, so that two of them and all the rest stay within the memory.
pub(super) fn window(
    memory: usize,
    features: &Features,
    cache: &Cache,
    settings: &Settings,
) -> Result<usize> {
    let order = cache.order.as_ref().map_or(0, |order| 4 * 4 * order.len()); // here, in the features, and back
    let names = features.naming.bytes() + order;
    let fixed = OWN
        + threads(memory) * THREAD
        + features.columns() * column(settings)
        + names
        + cache.parts.len() * 48;
    let narrow = is_short(features, cache, settings);
    let room = memory.saturating_sub(fixed) / 2;
    if room < LEAST {
        let least = (fixed + 2 * LEAST).div_ceil(1 << 20);
        let memory = Parameter::Memory.set(format!("{}M", memory >> 20));
        let what = format!("{memory} is too little for {} features", features.columns());
        let hint =
            format!("give {least}M or more, or lower the number of features with {}", Parameter::HashBits);
        return Err(Error::call(what, hint));
    }
    Ok(room / bytes_of_value(narrow))
}
