//! The memory plan for many heads, made before anything is allocated, and the time that a softmax takes.
//!
//! Independent heads are trained in blocks of lanes, at most one block per thread. A finished block keeps its non-zero
//! weights only. A softmax needs all of its classes at once, and Newton's method on it needs some numbers per row and class.

use crate::eval::objective::HeadsEvaluation;
use crate::optim::softmax::Softmax;
use crate::optim::softmax_newton;
use crate::problem::heads::{Head, HeadKind};
use crate::problem::settings::{Precision, Settings};
use crate::problem::solvers::Solver;
use crate::problem::task::{HeadTargets, Task};
use crate::util::error::{Error, Result};
use crate::util::memory::available;
use crate::util::parameter::Parameter;

/// The available memory to assume if the operating system does not tell it, in bytes.
const UNKNOWN: usize = 4 << 30;
/// Steps on a softmax change the weights of all classes: so many of them per second, of one core (`docs/limits.md`).
const UPDATES_PER_SECOND: f64 = 3e8;
/// Time in seconds above which it is worth a word.
const LONG: f64 = 60.0;
/// Number of lanes of half a block.
const NARROW: usize = 8;

/// The memory plan for training many heads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryPlan {
    /// The memory limit, in bytes.
    pub limit: usize,
    /// Bytes of the rows, which are already in memory.
    pub rows: usize,
    /// Number of lanes per block.
    pub lanes: usize,
    /// Number of blocks trained at once.
    pub at_once: usize,
    /// Bytes of the blocks trained at once.
    pub learning: usize,
    /// Bytes of the result if no weight is zero.
    pub learnt_at_most: usize,
    /// Number of groups of heads evaluated at once.
    pub judged_at_once: usize,
    /// Estimate of the seconds that stochastic steps on a softmax take, in all epochs; 0 for other runs.
    pub seconds: f64,
}

impl MemoryPlan {
    /// Plans the memory within a limit in bytes; by default, the limit is nine tenths of the available memory.
    pub fn plan(task: &Task, settings: &Settings) -> Result<MemoryPlan> {
        let (precision, limit) = (settings.precision, settings.memory);
        let Some(targets) = task.targets.heads() else {
            return Err(Error::call("the task has no heads", "give targets of classes or labels"));
        };
        let (columns, HeadTargets { kind, names, sets }) = (task.data.rows.columns(), targets);
        let heads = names.len();
        let value = if precision == Precision::F32 { 4 } else { 8 };
        let rows = task.data.rows.nonzeros() * (4 + value) + task.len() * 24 + 4 * sets.ids.len();
        let limit = limit.unwrap_or_else(|| rows + available().unwrap_or(UNKNOWN) / 10 * 9);
        let width = precision;
        let left = limit.saturating_sub(rows);
        let threads = rayon::current_num_threads();
        let (lanes, block) = match kind {
            HeadKind::Softmax if is_exact(settings.solver) => {
                (width.most_lanes(), softmax_newton::bytes(task.len(), columns, heads))
            }
            HeadKind::Softmax => (width.most_lanes(), Softmax::bytes(columns, heads, width)),
            // Half a block, if a whole block does not fit, or if all heads fit into two of them: two cores then share the work.
            _ if columns * width.lane_bytes(width.most_lanes()) <= left => {
                let lanes = if heads <= 2 * NARROW { NARROW } else { width.most_lanes() };
                (heads.min(lanes), columns * width.lane_bytes(heads.min(lanes)))
            }
            _ => (heads.min(NARROW), columns * width.lane_bytes(NARROW)),
        };
        let groups = if kind == HeadKind::Softmax { 1 } else { heads.div_ceil(lanes) };
        let needed = block.max(HeadsEvaluation::bytes(columns)); // evaluation needs memory too
        if needed > left {
            return Err(too_much(kind, is_exact(settings.solver), limit, rows + needed));
        }
        let at_once = (left / block.max(1)).clamp(1, threads.min(groups));
        let judged_at_once = (left / HeadsEvaluation::bytes(columns).max(1)).clamp(1, threads);
        let learnt_at_most = columns.saturating_mul(heads).saturating_mul(Head::WEIGHT);
        let by_steps = kind == HeadKind::Softmax && !is_exact(settings.solver);
        let updates = (task.data.rows.nonzeros() + task.len()) as f64 * heads as f64;
        let seconds = if by_steps { updates * settings.epochs as f64 / UPDATES_PER_SECOND } else { 0.0 };
        let learning = at_once * block;
        Ok(MemoryPlan { limit, rows, lanes, at_once, learning, learnt_at_most, judged_at_once, seconds })
    }

    /// The plan as text.
    pub fn words(&self, kind: HeadKind, heads: usize) -> String {
        let (rows, learning, most) = (mb(self.rows), mb(self.learning), mb(self.learnt_at_most));
        let how = match kind {
            HeadKind::Softmax => "all at once".to_string(),
            _ => format!("{} at a time", heads.min(self.at_once * self.lanes)),
        };
        let nouns = kind.nouns();
        let text = format!(
            "{heads} {nouns}, {how}: memory for rows {rows}, for training {learning}, for the model {most} if no weight is zero"
        );
        match self.seconds > LONG {
            true => format!("{text}; the epochs take about {}", time(self.seconds)),
            false => text,
        }
    }
}

/// A time as text, in minutes or hours.
fn time(seconds: f64) -> String {
    match seconds / 60.0 {
        minutes @ ..100.0 => format!("{minutes:.0} min"),
        minutes => format!("{:.0} h", minutes / 60.0),
    }
}

fn mb(bytes: usize) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Whether a softmax is trained by Newton's method.
fn is_exact(solver: Solver) -> bool {
    matches!(solver, Solver::Newton | Solver::Auto)
}

fn too_much(kind: HeadKind, exact: bool, limit: usize, needed: usize) -> Error {
    let what = format!("training needs {}, and the limit is {}", mb(needed), mb(limit));
    let memory = Parameter::Memory;
    let hint = match kind {
        HeadKind::Softmax => {
            let ovr = Parameter::Multiclass.set("ovr");
            let sgd = Parameter::Solver.set("sgd");
            let sgd = if exact {
                format!("{sgd}, which needs no numbers per row and class, ")
            } else {
                String::new()
            };
            format!("use {ovr}, which trains a few classes at a time, {sgd}or raise {memory}")
        }
        _ => format!("raise {memory}, or lower the number of features with {}", Parameter::HashBits),
    };
    Error::call(what, hint)
}

/// The error for weights that do not fit into the limit.
pub(super) fn too_many_weights(limit: usize, heads: usize, of: usize) -> Error {
    Error::call(
        format!("the weights of {heads} of {of} heads do not fit into {}", mb(limit)),
        format!("raise {}, which sets more weights to zero, or raise {}", Parameter::L1, Parameter::Memory),
    )
}
