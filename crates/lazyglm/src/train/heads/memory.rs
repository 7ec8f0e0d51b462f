//! The memory plan for many heads, made before anything is allocated.
//!
//! Independent heads are trained in blocks of lanes, at most one block per thread. A finished block keeps its non-zero
//! weights only. A softmax needs all of its classes at once.

use crate::eval::objective::HeadsEvaluation;
use crate::optim::softmax::Softmax;
use crate::problem::heads::{Head, HeadKind};
use crate::problem::settings::Precision;
use crate::problem::task::{HeadTargets, Task};
use crate::util::error::{Error, Result};
use crate::util::memory::available;
use crate::util::parameter::Parameter;

/// The available memory to assume if the operating system does not tell it, in bytes.
const UNKNOWN: usize = 4 << 30;

/// The memory plan for training many heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
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
}

impl Room {
    /// Plans the memory within a limit in bytes; by default, the limit is nine tenths of the available memory.
    pub fn plan(task: &Task, precision: Precision, limit: Option<usize>) -> Result<Room> {
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
            HeadKind::Softmax => (width.most_lanes(), Softmax::bytes(columns, heads, width)),
            // Half a block, if a whole block does not fit.
            _ if columns * width.lane_bytes(width.most_lanes()) <= left => {
                let lanes = heads.min(width.most_lanes());
                (lanes, columns * width.lane_bytes(lanes))
            }
            _ => (heads.min(8), columns * width.lane_bytes(8)),
        };
        let groups = if kind == HeadKind::Softmax { 1 } else { heads.div_ceil(lanes) };
        let needed = block.max(HeadsEvaluation::bytes(columns)); // evaluation needs memory too
        if needed > left {
            return Err(too_much(kind, limit, rows + needed));
        }
        let at_once = (left / block.max(1)).clamp(1, threads.min(groups));
        let judged_at_once = (left / HeadsEvaluation::bytes(columns).max(1)).clamp(1, threads);
        let learnt_at_most = columns.saturating_mul(heads).saturating_mul(Head::WEIGHT);
        Ok(Room { limit, rows, lanes, at_once, learning: at_once * block, learnt_at_most, judged_at_once })
    }

    /// The plan as text.
    pub fn words(&self, kind: HeadKind, heads: usize) -> String {
        let (rows, learning, most) = (mb(self.rows), mb(self.learning), mb(self.learnt_at_most));
        let how = match kind {
            HeadKind::Softmax => "all at once".to_string(),
            _ => format!("{} at a time", heads.min(self.at_once * self.lanes)),
        };
        format!(
            "{heads} {}, {how}: memory for rows {rows}, for learning {learning}, for what is learnt {most} if no weight is zero",
            kind.nouns()
        )
    }
}

fn mb(bytes: usize) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn too_much(kind: HeadKind, limit: usize, needed: usize) -> Error {
    let what = format!("training needs {}, and the limit is {}", mb(needed), mb(limit));
    let memory = Parameter::Memory;
    let hint = match kind {
        HeadKind::Softmax => {
            let ovr = Parameter::Multiclass.set("ovr");
            format!("use {ovr}, which trains a few classes at a time, or raise {memory}")
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
