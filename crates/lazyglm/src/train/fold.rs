//! A fold of the penalty search: training rows and held-out rows.

use super::holdout_score::HoldoutScore;
use super::limits;
use super::minimiser::Minimiser;
use crate::eval::objective::{HeadsEvaluation, NullHeads, NullModel};
use crate::problem::heads::Head;
use crate::problem::penalty::ElasticNet;
use crate::problem::source::Source;
use crate::problem::task::{Sets, Targets, Task};
use crate::util::checkpoint::Key;
use crate::util::error::Result;
use std::ops::Range;
use std::sync::OnceLock;

/// Training rows, held-out rows, and what solves on the training rows share.
pub(super) struct Fold {
    pub learnt: Task,
    pub held: Task,
    pub nothing: Vec<Head>, // the best biases without weights
    pub minimiser: Minimiser,
    pub purpose: &'static str, // searches with other purposes have records of their own in a checkpoint
    limits: Option<[f64; 2]>,  // of scores: the range of the targets learnt from
    key: OnceLock<Key>,
}

impl Fold {
    /// Makes a fold that holds out a range of a shuffled order, and trains on a limited number of other rows. `None` if
    /// one class has no training row, or no row is held out: such a fold tells nothing about a penalty.
    pub fn new(task: &Task, order: &[usize], held: Range<usize>, most: usize, bias: bool) -> Option<Fold> {
        let mut out = order[held.clone()].to_vec();
        let others = order[..held.start].iter().chain(&order[held.end..]);
        let mut learnt: Vec<usize> = others.take(most).copied().collect();
        let one_class = task.targets.classes().is_some() && {
            let positives = learnt.iter().filter(|&&i| task.numbers()[i] > 0.0).count();
            [0, learnt.len()].contains(&positives)
        };
        if one_class || out.is_empty() || learnt.is_empty() {
            return None;
        }
        out.sort_unstable(); // in the order of memory
        learnt.sort_unstable();
        let learnt = task.select(&learnt);
        let held = without_unseen(task.select(&out), &learnt)?;
        let nothing = null(&learnt, bias).heads;
        let limits = limits::of_scores(&learnt);
        let (minimiser, purpose, key) = (Minimiser::default(), "penalty", OnceLock::new());
        Some(Fold { learnt, held, nothing, minimiser, purpose, limits, key })
    }

    /// A hash of the training rows and of the held-out rows.
    pub fn key(&self) -> Result<Key> {
        if let Some(key) = self.key.get() {
            return Ok(*key);
        }
        let key = self.learnt.fingerprint()?.and_key(self.held.fingerprint()?);
        Ok(*self.key.get_or_init(|| key))
    }

    /// Evaluates heads on the held-out rows.
    pub fn judge(&self, heads: &[Head]) -> HoldoutScore {
        HoldoutScore::of(&self.held, heads, &self.nothing, self.limits)
    }

    /// Whether the held-out loss of heads is significantly above that of others.
    pub fn is_behind(&self, heads: &[Head], others: &[Head]) -> bool {
        HoldoutScore::of(&self.held, heads, others, None).is_behind()
    }
}

/// Held-out rows without the labels that no training row has, and without the rows of such classes: their loss is large for every
/// penalty, and would hide the differences. `None` if no row is left.
fn without_unseen(mut held: Task, learnt: &Task) -> Option<Task> {
    let Some(heads) = learnt.targets.heads() else { return Some(held) };
    let counts = heads.sets.counts(heads.names.len());
    let seen = |id: &u32| counts[*id as usize] > 0;
    match &mut held.targets {
        Targets::Labels { sets, .. } => {
            let mut known = Sets::default();
            (0..sets.len()).for_each(|i| known.push(sets.of(i).iter().copied().filter(seen)));
            *sets = known;
            Some(held)
        }
        Targets::Classes { sets, .. } => {
            let rows: Vec<usize> = (0..sets.len()).filter(|&i| sets.of(i).iter().all(seen)).collect();
            match rows.len() {
                0 => None,
                all if all == sets.len() => Some(held),
                _ => Some(held.select(&rows)),
            }
        }
        _ => Some(held),
    }
}

/// The null model of one model, or of many heads.
pub(super) fn null(task: &Task, bias: bool) -> NullHeads {
    let none = ElasticNet { l1: 0.0, l2: 0.0 };
    if let (Some(what), Some(heads)) = (HeadsEvaluation::of(task, none.into(), bias, 1), task.targets.heads())
    {
        return NullHeads::of(&what, heads.names.len());
    }
    let null = NullModel::of(task.examples(), &*task.loss, bias);
    NullHeads {
        heads: vec![Head { bias: null.bias(), ..Head::default() }],
        l1_max: null.l1_max(),
        squares: null.gradient.iter().map(|g| g * g).sum(),
        baseline: null.baseline,
    }
}

/// Rounds to three digits: a chosen penalty is not known more exactly.
pub(super) fn digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}
