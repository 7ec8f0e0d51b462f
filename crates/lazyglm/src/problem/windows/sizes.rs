//! The memory plan of windows.

use crate::data::bytes::LONGEST;
use crate::data::cache::Cache;
use crate::data::features::Features;
use crate::data::scaling::Scaling;
use crate::problem::heads::HeadKind;
use crate::problem::settings::{Precision, Settings};
use crate::problem::solvers::Solver;
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;

/// Bytes of the program itself.
pub(super) const OWN: usize = 18 << 20;
/// Bytes per thread that reads or decodes.
pub(super) const THREAD: usize = 6 << 20;
/// Bytes per column: weights, settled weights, best weights, gradients, and whether the column occurs.
pub(super) const COLUMN: usize = 4 + 8 + 8 + 2 * 24 + 8 + 2;
/// Additional bytes per column with a learning rate per weight: its state, and the scales while they are computed.
const RATES: usize = 32 + 36;
/// Additional bytes per column for the snapshots of SVRG: partial gradients.
const SNAPSHOTS: usize = 5 * 16;
/// Additional bytes per column for the optimum of rows on disk: gradients, and the place of the column in memory.
const WORKING_SET: usize = 24;
/// Share of the free memory for both windows, if the solver holds columns as well: one part in this many.
const WINDOWS: usize = 8;
/// Bytes per row, without its non-zeros.
pub(super) const ROW: usize = 24;
/// Additional bytes per column to evaluate eight heads at once.
const HEADS: usize = 3 * 64;
/// Number of independent heads whose weights must be in memory together.
const LANES: usize = 16;
/// Additional bytes per row for where its classes or labels end, and per class or label.
const SET: (usize, usize) = (8, 4);
/// Additional bytes per row with an offset.
const OFFSET: usize = 8;
/// Bytes per row for its target and offset, of which the bias of a model without weights depends: a list, and copies of it.
const POOLED: usize = 3 * 24;
/// Smallest size of a window, in bytes.
pub(super) const LEAST: usize = 1 << 20;

/// Whether values are stored as f32 in memory.
pub(super) fn fits_four_bytes(features: &Features, cache: &Cache, settings: &Settings) -> bool {
    let as_written = *features.scaling == Scaling::default();
    settings.precision == Precision::F32 || (cache.meta.exact_in_f32 && as_written)
}

/// The number of threads that read or decode, limited by the memory of their blocks.
pub(super) fn threads(memory: usize) -> usize {
    (memory / (4 * THREAD)).clamp(1, rayon::current_num_threads())
}

/// The largest size of a record, in bytes. Parsing takes about twenty times that size in every thread: text, parsed values,
/// rows, and waiting records.
pub(super) fn longest_record(memory: usize, threads: usize) -> usize {
    (memory / (20 * (threads + 1))).clamp(1 << 20, LONGEST)
}

pub(super) fn bytes_of_value(four_bytes: bool) -> usize {
    4 + if four_bytes { 4 } else { 8 }
}

/// Bytes per column with the solver of these settings.
fn column(settings: &Settings) -> usize {
    match settings.solver {
        Solver::Adagrad | Solver::Ftrl => COLUMN + RATES * settings.runs as usize,
        Solver::Svrg => COLUMN + RATES + SNAPSHOTS,
        Solver::Newton | Solver::Auto => COLUMN + WORKING_SET,
        _ => COLUMN,
    }
}

/// The number of copies of the rows that a solver holds if they fit into memory: Newton's method adds a column-wise copy,
/// and the choice of a penalty adds the training rows of a fold.
pub(super) fn copies(settings: &Settings) -> usize {
    match settings.solver {
        Solver::Newton => 2,
        Solver::Auto if settings.choose_penalty => 3,
        Solver::Auto => 2,
        _ => 1,
    }
}

/// Bytes per row, without its non-zeros, for this number of classes or labels of all rows if there are heads.
pub(super) fn bytes_of_row(cache: &Cache, in_sets: Option<usize>) -> usize {
    let sets = in_sets.map_or(0, |ids| SET.0 + SET.1 * ids.div_ceil(cache.meta.rows.max(1)));
    ROW + sets + if cache.meta.offsets { OFFSET } else { 0 }
}

/// The memory of some copies of all rows, as a number of non-zeros.
pub(super) fn rows_as_nonzeros(copies: usize, cache: &Cache, of_row: usize, four_bytes: bool) -> usize {
    copies * (cache.meta.nonzeros + cache.meta.rows * of_row / bytes_of_value(four_bytes))
}

/// The free memory, in bytes.
pub(super) struct Room {
    /// The size of a window.
    pub window: usize,
    /// What the solver may hold beside two windows.
    pub held: usize,
}

/// Bytes per column of the weights that must be in memory together: of all classes of a softmax, of some independent heads.
fn weights_of_heads((kind, heads): (HeadKind, usize), precision: Precision) -> usize {
    let (value, line) = if precision == Precision::F32 { (4, 32) } else { (8, 64) };
    let together = if kind == HeadKind::Softmax { heads } else { heads.min(LANES) };
    (together * value).next_multiple_of(line)
}

/// Shares the memory between two windows and the solver, after all other data.
pub(super) fn room(
    memory: usize,
    features: &Features,
    cache: &Cache,
    settings: &Settings,
    heads: Option<(HeadKind, usize)>,
) -> Result<Room> {
    let order = cache.order.as_ref().map_or(0, |order| 4 * 4 * order.len()); // in the cache, in the features, and the inverse
    let names = features.feature_ids.bytes() + order;
    let weights = heads.map_or(0, |heads| features.columns() * weights_of_heads(heads, settings.precision));
    let fixed = OWN
        + features.columns() * (column(settings) + heads.map_or(0, |_| HEADS))
        + weights
        + names
        + cache.parts.len() * 48
        + if cache.meta.offsets { cache.meta.rows * POOLED } else { 0 };
    let needs = |memory: usize| fixed + threads(memory) * THREAD;
    let room = memory.saturating_sub(needs(memory));
    if room / 2 < LEAST {
        // More memory may mean more threads, which need memory themselves.
        let mut least = needs(memory) + 2 * LEAST;
        while least < needs(least) + 2 * LEAST {
            least = needs(least) + 2 * LEAST;
        }
        let least = least.div_ceil(1 << 20);
        let memory = Parameter::Memory.set(format!("{}M", memory >> 20));
        let mut what = format!("{memory} is too little for {} features", features.columns());
        if let Some((kind, count)) = heads {
            what += &format!(" and {count} {}", kind.nouns());
        }
        if cache.meta.offsets {
            what += &format!(" and the offsets of {} rows", cache.meta.rows);
        }
        let ovr = match heads {
            Some((HeadKind::Softmax, 17..)) => format!(", use {}", Parameter::Multiclass.set("ovr")),
            _ => String::new(),
        };
        let hint = format!(
            "give {least}M or more{ovr}, or lower the number of features with {}",
            Parameter::HashBits
        );
        return Err(Error::call(what, hint));
    }
    let window = match settings.solver {
        _ if heads.is_some() => (room / WINDOWS / 2).max(LEAST),
        Solver::Newton | Solver::Auto => (room / WINDOWS / 2).max(LEAST),
        _ => room / 2,
    };
    Ok(Room { window, held: room - 2 * window + weights })
}
