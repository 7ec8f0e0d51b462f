//! Rows to learn from, wherever they are: all in memory, or a window at a time from a cache.

use crate::data::rows::Examples;
use crate::eval::objective::{self, Judge, Nothing};
use crate::problem::loss::Loss;
use crate::problem::settings::Order;
use crate::problem::task::Task;
use crate::util::error::{Place, Result};
use crate::util::random;
use std::sync::mpsc::Receiver;

/// Some rows in memory, and the order in which to learn them.
pub(crate) struct Batch<'a> {
    pub examples: Examples<'a>,
    pub order: &'a [u32],
    pub place: &'a dyn Fn(usize) -> Place,
}

/// Rows that are gone through many times.
pub(crate) trait Source {
    fn rows(&self) -> usize;
    fn columns(&self) -> usize;
    fn nonzeros(&self) -> usize;

    /// Each row once, in the order of this epoch (from 0).
    fn epoch(&self, epoch: u64, see: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<()>;

    /// What the first epoch begins with.
    fn beginning(&self, see: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<()>;

    /// Each row once, to be looked at.
    fn pass(&self, see: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<()>;

    /// Every target, and the weight of all its rows.
    fn pairs(&self) -> Vec<(f64, f64)>;

    /// Makes a judge ready: what can be said without weights is known by now, or it will hear of that too.
    fn ready<'a>(&self, judge: Judge<'a>, loss: &dyn Loss, with_bias: bool) -> (Judge<'a>, Option<Nothing>);

    fn file(&self) -> Place;
}

/// A task whose rows are all in memory: one turn an epoch.
pub(crate) struct InMemory<'a> {
    pub task: &'a Task,
    pub order: Order,
    pub seed: u64,
    /// What can be said without weights, from a thread that finds it out while others are learning.
    pub nothing: Receiver<Nothing>,
}

impl InMemory<'_> {
    fn turn(&self, order: &[u32], see: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<()> {
        see(&Batch { examples: self.task.examples(), order, place: &|i| self.task.data.place(i) })
    }
}

impl Source for InMemory<'_> {
    fn rows(&self) -> usize {
        self.task.targets.len()
    }

    fn columns(&self) -> usize {
        self.task.data.rows.columns()
    }

    fn nonzeros(&self) -> usize {
        self.task.data.rows.nonzeros()
    }

    fn epoch(&self, epoch: u64, see: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<()> {
        let order = match self.order {
            Order::Shuffled => random::permutation(self.rows(), self.seed, epoch),
            Order::Sequential => (0..self.rows() as u32).collect(),
        };
        self.turn(&order, see)
    }

    fn beginning(&self, see: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<()> {
        self.epoch(0, see)
    }

    fn pass(&self, see: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<()> {
        self.turn(&[], see)
    }

    fn pairs(&self) -> Vec<(f64, f64)> {
        objective::pooled_by_target(self.task.examples())
    }

    fn ready<'a>(&self, judge: Judge<'a>, loss: &dyn Loss, with_bias: bool) -> (Judge<'a>, Option<Nothing>) {
        let found = self.nothing.recv().ok(); // the other thread may be at it still
        (judge, found.or_else(|| Some(objective::nothing(self.task.examples(), loss, with_bias))))
    }

    fn file(&self) -> Place {
        self.task.data.file()
    }
}
