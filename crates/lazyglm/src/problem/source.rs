//! Sources of rows: in memory, windows from a cache, or rows lent by the caller. Solvers do not depend on which.

use crate::data::features::Features;
use crate::data::read_config::ReadConfig;
use crate::data::rows::{Examples, RowsRef};
use crate::problem::loss::Loss;
use crate::problem::settings::{Order, Settings};
use crate::problem::task::{Sets, Targets, TargetsRef, Task};
use crate::util::error::{Place, Result};
use crate::util::random;
use std::borrow::Cow;
use std::sync::Arc;

/// Some rows in memory, and the order in which to learn them.
pub struct Batch<'a> {
    /// The features.
    pub rows: RowsRef<'a>,
    /// The targets.
    pub targets: TargetsRef<'a>,
    /// Row weights; `None` if all are one.
    pub weights: Option<&'a [f64]>,
    /// The order in which to train on the rows; empty for a pass without training.
    pub order: &'a [u32],
    /// The place in the file of a row.
    pub place: &'a dyn Fn(usize) -> Place,
}

impl<'a> Batch<'a> {
    /// The rows with one number each, for solvers of one model.
    pub fn examples(&self) -> Examples<'a> {
        let targets = match self.targets {
            TargetsRef::Numbers(numbers) => numbers,
            TargetsRef::Sets(_) => &[],
        };
        Examples { rows: self.rows, targets, weights: self.weights }
    }

    /// The heads of each row, for solvers of many classes or labels.
    pub fn sets(&self) -> Option<&'a Sets> {
        match self.targets {
            TargetsRef::Numbers(_) => None,
            TargetsRef::Sets(sets) => Some(sets),
        }
    }
}

/// A callback that is called with one batch after the other.
pub type See<'s> = dyn FnMut(&Batch) -> Result<()> + 's;

/// The order of rows in all epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The order of the data, or shuffled.
    pub order: Order,
    /// Seed of the row permutations.
    pub seed: u64,
}

impl Sequence {
    /// The sequence that the settings ask for.
    pub fn of(settings: &Settings) -> Sequence {
        Sequence { order: settings.order, seed: settings.seed }
    }

    /// The order of so many rows in an epoch (from 0).
    pub fn rows(self, rows: usize, epoch: u64) -> Vec<u32> {
        match self.order {
            Order::Shuffled => random::permutation(rows, self.seed, epoch),
            Order::Sequential => (0..rows as u32).collect(),
        }
    }
}

/// Rows that can be passed over many times.
pub trait Source {
    /// The number of rows.
    fn rows(&self) -> usize;

    /// Calls `see` with every row once, in the order of this epoch (from 0).
    fn epoch(&self, sequence: Sequence, epoch: u64, see: &mut See) -> Result<()>;

    /// Calls `see` with every row once, in any order.
    fn pass(&self, see: &mut See) -> Result<()>;
}

/// Rows with a loss, targets and named features: the input of [`crate::train()`].
pub trait Problem: Source {
    /// The rows as a task, if all of them are in memory.
    fn in_memory(&self) -> Option<&Task>;

    /// The loss to minimise.
    fn loss(&self) -> &Arc<dyn Loss>;

    /// The kind of targets; the targets themselves only if all rows are in memory.
    fn targets(&self) -> &Targets;

    /// The features of the columns.
    fn features(&self) -> &Features;

    /// Whether each column occurs in some row.
    fn occurring(&self) -> Cow<'_, [bool]>;

    /// How the rows were made of the data.
    fn reading(&self) -> &ReadConfig;

    /// Whether rows have weights that differ.
    fn is_weighted(&self) -> bool;

    /// The number of values that are stored.
    fn nonzeros(&self) -> usize;

    /// Every number among the targets, and the total weight of its rows.
    fn pairs(&self) -> Vec<(f64, f64)>;

    /// Calls `see` with the first batch of the first epoch.
    fn beginning(&self, sequence: Sequence, see: &mut See) -> Result<()>;

    /// The file of the data.
    fn file(&self) -> Place;
}

impl Task {
    fn show(&self, order: &[u32], see: &mut See) -> Result<()> {
        see(&Batch {
            rows: self.data.rows.borrow(),
            targets: self.targets.borrow(),
            weights: self.weights.as_deref(),
            order,
            place: &|i| self.data.place(i),
        })
    }
}

impl Source for Task {
    fn rows(&self) -> usize {
        self.len()
    }

    fn epoch(&self, sequence: Sequence, epoch: u64, see: &mut See) -> Result<()> {
        self.show(&sequence.rows(self.len(), epoch), see)
    }

    fn pass(&self, see: &mut See) -> Result<()> {
        self.show(&[], see)
    }
}

impl Problem for Task {
    fn in_memory(&self) -> Option<&Task> {
        Some(self)
    }

    fn loss(&self) -> &Arc<dyn Loss> {
        &self.loss
    }

    fn targets(&self) -> &Targets {
        &self.targets
    }

    fn features(&self) -> &Features {
        &self.data.features
    }

    fn occurring(&self) -> Cow<'_, [bool]> {
        Cow::Owned(self.data.occurring())
    }

    fn reading(&self) -> &ReadConfig {
        &self.data.reading
    }

    fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    fn nonzeros(&self) -> usize {
        self.data.rows.nonzeros()
    }

    fn pairs(&self) -> Vec<(f64, f64)> {
        pooled_by_target(self.examples())
    }

    fn beginning(&self, sequence: Sequence, see: &mut See) -> Result<()> {
        self.epoch(sequence, 0, see)
    }

    fn file(&self) -> Place {
        self.data.file()
    }
}

/// The distinct targets, each with the total weight of its rows.
pub(crate) fn pooled_by_target(examples: Examples) -> Vec<(f64, f64)> {
    let pair = |i: usize| (examples.targets[i], examples.weight(i));
    let mut pooled: Vec<(f64, f64)> = (0..examples.len()).map(pair).collect();
    pool(&mut pooled);
    pooled
}

/// Sorts (target, weight) pairs and sums the weights of one target.
pub(crate) fn pool(pairs: &mut Vec<(f64, f64)>) {
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
}
