//! The split of rows into folds of the penalty search.

use super::{FEW_COLUMNS, FEW_ROWS, FOLDS, MOST_HELD};
use crate::problem::settings::Settings;
use crate::problem::task::Task;
use crate::train::fold::Fold;
use crate::train::search::Folds;
use crate::util::random::Random;
use std::ops::Range;

/// Five folds of few rows, or one part of many rows that is held out. Training rows of a fold may be limited to a sample.
pub(super) struct Split<'a> {
    task: &'a Task,
    bias: bool,
    order: Vec<usize>,       // of the rows
    held: Vec<Range<usize>>, // the held-out rows of each fold, as a range of that order
    most: usize,             // rows that a fold trains on, if more are left
}

impl<'a> Split<'a> {
    /// Splits rows. If they have more than twice `share` non-zeros, folds train on a sample with that many, and with many
    /// heads on at least `least` rows. Few rows are never sampled.
    pub fn new(task: &'a Task, settings: &Settings, share: usize, least: usize) -> Split<'a> {
        let rows = task.len();
        let heads = task.targets.heads().map_or(1, |heads| heads.names.len()); // each of them costs as much as one model
        let few = rows.saturating_mul(heads) <= FEW_ROWS && task.data.rows.columns() <= FEW_COLUMNS;
        let most = match task.data.rows.nonzeros().saturating_mul(heads) {
            all if all > 2 * share && !few => {
                let some = (rows as u128 * share as u128 / all as u128) as usize;
                if heads == 1 { some } else { some.max(least) }
            }
            _ => rows,
        };
        let (order, held) = stratified(task, settings.seed, few);
        Split { task, bias: settings.bias, order, held, most }
    }

    /// The same rows with the first fold alone.
    pub fn with_one_fold(mut self) -> Split<'a> {
        self.held.truncate(1);
        self
    }

    /// The folds that can tell something about a penalty.
    pub fn folds(&self) -> Vec<Fold> {
        self.held.iter().filter_map(|held| self.fold(held, self.most)).collect()
    }

    /// The first fold with all of its training rows, if the folds have only some of them.
    pub fn all_rows(&self) -> Option<Fold> {
        let rows = self.task.len();
        if self.most < rows - self.held[0].len() { self.fold(&self.held[0], rows) } else { None }
    }

    fn fold(&self, held: &Range<usize>, most: usize) -> Option<Fold> {
        Fold::new(self.task, &self.order, held.clone(), most, self.bias)
    }
}

/// The rows in an order in which each fold is a range, and these ranges: five folds, or for many rows one part of a
/// fold. Classes have their share in each fold.
fn stratified(task: &Task, seed: u64, few: bool) -> (Vec<usize>, Vec<Range<usize>>) {
    let folds = Folds::stratified(task, FOLDS, seed);
    let mut random = Random::new(seed ^ 0x0A07_0A07_5EED_0001);
    let (mut order, mut ranges) = (Vec::with_capacity(task.len()), Vec::new());
    for fold in 0..FOLDS {
        let mut rows: Vec<usize> = folds.rows(fold).into_iter().map(|i| i as usize).collect();
        random.shuffle(&mut rows);
        ranges.push(order.len()..order.len() + rows.len());
        order.extend(rows);
    }
    if !few {
        ranges.truncate(1);
        ranges[0].end = ranges[0].end.min(MOST_HELD);
    }
    (order, ranges)
}
