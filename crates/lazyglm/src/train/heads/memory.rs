//! How much fits: what is in memory at once, said before anything is allocated.
//!
//! Heads that are apart are learnt a block of lanes at a time, as many blocks as there are threads; of a block that is
//! done the weights that are not zero are kept. A softmax needs all of its classes at once.

use crate::eval::objective::HeadsEvaluation;
use crate::optim::softmax::Softmax;
use crate::problem::heads::{Head, HeadKind};
use crate::problem::settings::Precision;
use crate::problem::task::{HeadTargets, Task};
use crate::util::error::{Error, Result};
use crate::util::memory::available;
use crate::util::parameter::Parameter;

/// Where the machine does not say what it has left.
const UNKNOWN: usize = 4 << 30;

/// What is to be in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The most there may be, in bytes.
    pub limit: usize,
    /// The rows, which are there already.
    pub rows: usize,
    /// Lanes of a block.
    pub lanes: usize,
    /// Blocks that are learnt at once.
    pub at_once: usize,
    /// What these take.
    pub learning: usize,
    /// What is learnt, if no weight is zero.
    pub learnt_at_most: usize,
    /// Groups of heads that are judged at once.
    pub judged_at_once: usize,
}

impl Room {
    /// Finds out what fits into so many bytes, or into nine tenths of what the machine has left.
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
            // Half a block is a way out where a whole one does not fit.
            _ if columns * width.lane_bytes(width.most_lanes()) <= left => {
                let lanes = heads.min(width.most_lanes());
                (lanes, columns * width.lane_bytes(lanes))
            }
            _ => (heads.min(8), columns * width.lane_bytes(8)),
        };
        let groups = if kind == HeadKind::Softmax { 1 } else { heads.div_ceil(lanes) };
        let needed = block.max(HeadsEvaluation::bytes(columns)); // what is learnt is judged too
        if needed > left {
            return Err(too_much(kind, limit, rows + needed));
        }
        let at_once = (left / block.max(1)).clamp(1, threads.min(groups));
        let judged_at_once = (left / HeadsEvaluation::bytes(columns).max(1)).clamp(1, threads);
        let learnt_at_most = columns.saturating_mul(heads).saturating_mul(Head::WEIGHT);
        Ok(Room { limit, rows, lanes, at_once, learning: at_once * block, learnt_at_most, judged_at_once })
    }

    /// The plan in words.
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

/// What was learnt so far does not fit.
pub(super) fn too_many_weights(limit: usize, heads: usize, of: usize) -> Error {
    Error::call(
        format!("the weights of {heads} of {of} heads do not fit into {}", mb(limit)),
        format!("raise {}, which sets more weights to zero, or raise {}", Parameter::L1, Parameter::Memory),
    )
}
