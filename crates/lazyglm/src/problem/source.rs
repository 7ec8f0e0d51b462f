//! Sources of rows: in memory, windows from a cache, or rows lent by the caller. Solvers do not depend on which.

use crate::data::features::Features;
use crate::data::read_config::ReadConfig;
use crate::data::rows::{Examples, RowsRef, ValuesRef};
use crate::problem::loss::Loss;
use crate::problem::settings::{Order, Settings};
use crate::problem::task::{Sets, Targets, TargetsRef, Task};
use crate::util::checkpoint::Key;
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
    /// Row offsets, which are added to scores; `None` if all are zero.
    pub offsets: Option<&'a [f64]>,
    /// The order in which to train on the rows; empty for a pass without training.
    pub order: &'a [u32],
    /// The place in the file of a row.
    pub place: &'a dyn Fn(usize) -> Place,
    /// The number of a row in the data, which is the same in every pass.
    pub number: &'a dyn Fn(usize) -> u64,
}

impl<'a> Batch<'a> {
    /// The rows with one number each, for solvers of one model.
    pub fn examples(&self) -> Examples<'a> {
        let targets = match self.targets {
            TargetsRef::Numbers(numbers) => numbers,
            TargetsRef::Sets(_) => &[],
        };
        Examples { rows: self.rows, targets, weights: self.weights, offsets: self.offsets }
    }

    /// A hash of the rows, their targets, weights and offsets.
    fn key(&self) -> Key {
        let rows = self.rows;
        let key =
            Key::of("batch").and(rows.columns() as u64).and_positions(rows.offsets()).and_ids(rows.ids());
        let key = match rows.values() {
            ValuesRef::F32(values) => key.and_singles(values),
            ValuesRef::F64(values) => key.and_numbers(values),
        };
        let key = match self.targets {
            TargetsRef::Numbers(numbers) => key.and_numbers(numbers),
            TargetsRef::Sets(sets) => key.and_positions(&sets.ends).and_ids(&sets.ids),
        };
        [self.weights, self.offsets].into_iter().fold(key, |key, numbers| match numbers {
            None => key.and(0),
            Some(numbers) => key.and(1).and_numbers(numbers),
        })
    }

    /// The heads of each row, for solvers of many classes or labels.
    pub fn sets(&self) -> Option<&'a Sets> {
        match self.targets {
            TargetsRef::Numbers(_) => None,
            TargetsRef::Sets(sets) => Some(sets),
        }
    }
}

/// The number of rows of each class or label, and the sum of their weights.
pub struct HeadSums {
    /// Number of rows.
    pub rows: Vec<usize>,
    /// Sum of row weights.
    pub weights: Vec<f64>,
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

    /// A hash of all rows, which tells whether a checkpoint is of the same data.
    fn fingerprint(&self) -> Result<Key> {
        let mut key = Key::of("rows").and(self.rows() as u64);
        self.pass(&mut |batch| {
            key = key.and_key(batch.key());
            Ok(())
        })?;
        Ok(key)
    }
}

/// What rows are about, wherever they are.
#[derive(Clone, Copy)]
pub struct About<'a> {
    /// The loss to minimise.
    pub loss: &'a Arc<dyn Loss>,
    /// The kind of targets.
    pub targets: &'a Targets,
    /// The features of the columns.
    pub features: &'a Features,
    /// How the rows were made of the data.
    pub reading: &'a ReadConfig,
    /// Whether rows have weights that differ.
    pub weighted: bool,
    /// Whether rows have offsets.
    pub offsets: bool,
}

/// Rows with a loss, targets and named features: the input of [`crate::train()`].
pub trait Problem: Source {
    /// What the rows are about, which the methods below return one by one.
    fn about(&self) -> About<'_>;

    /// The rows as a task, if all of them are in memory.
    fn in_memory(&self) -> Option<&Task> {
        None
    }

    /// The loss to minimise.
    fn loss(&self) -> &Arc<dyn Loss> {
        self.about().loss
    }

    /// The kind of targets; the targets themselves only if all rows are in memory.
    fn targets(&self) -> &Targets {
        self.about().targets
    }

    /// The features of the columns.
    fn features(&self) -> &Features {
        self.about().features
    }

    /// How the rows were made of the data.
    fn reading(&self) -> &ReadConfig {
        self.about().reading
    }

    /// Whether rows have weights that differ.
    fn is_weighted(&self) -> bool {
        self.about().weighted
    }

    /// Whether rows have offsets.
    fn has_offsets(&self) -> bool {
        self.about().offsets
    }

    /// Whether each column occurs in some row.
    fn occurring(&self) -> Cow<'_, [bool]>;

    /// The number of values that are stored.
    fn nonzeros(&self) -> usize;

    /// The distinct targets and offsets of the rows.
    fn pooled(&self) -> Vec<Pooled>;

    /// Calls `see` with the first batch of the first epoch.
    fn beginning(&self, sequence: Sequence, see: &mut See) -> Result<()>;

    /// The file of the data.
    fn file(&self) -> Place;

    /// The number of rows of each class or label, and their weights.
    fn head_sums(&self) -> Result<HeadSums> {
        let heads = self.targets().heads().map_or(0, |heads| heads.names.len());
        let mut sums = HeadSums { rows: vec![0; heads], weights: vec![0.0; heads] };
        self.pass(&mut |batch| {
            let Some(sets) = batch.sets() else { return Ok(()) };
            let weights = sets.weights(heads, |i| batch.weights.map_or(1.0, |weights| weights[i]));
            sums.rows.iter_mut().zip(sets.counts(heads)).for_each(|(sum, count)| *sum += count);
            sums.weights.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
            Ok(())
        })?;
        Ok(sums)
    }

    /// The memory in bytes that a solver may use beside batches and weights.
    fn spare_memory(&self) -> usize {
        usize::MAX
    }
}

impl Task {
    fn show(&self, order: &[u32], see: &mut See) -> Result<()> {
        see(&Batch {
            rows: self.data.rows.borrow(),
            targets: self.targets.borrow(),
            weights: self.weights.as_deref(),
            offsets: self.data.offsets.as_deref(),
            order,
            place: &|i| self.data.place(i),
            number: &|i| i as u64,
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
    fn about(&self) -> About<'_> {
        About {
            loss: &self.loss,
            targets: &self.targets,
            features: &self.data.features,
            reading: &self.data.reading,
            weighted: self.weights.is_some(),
            offsets: self.data.offsets.is_some(),
        }
    }

    fn in_memory(&self) -> Option<&Task> {
        Some(self)
    }

    fn occurring(&self) -> Cow<'_, [bool]> {
        Cow::Owned(self.data.occurring())
    }

    fn nonzeros(&self) -> usize {
        self.data.rows.nonzeros()
    }

    fn pooled(&self) -> Vec<Pooled> {
        pooled_by_target(self.examples())
    }

    fn beginning(&self, sequence: Sequence, see: &mut See) -> Result<()> {
        self.epoch(sequence, 0, see)
    }

    fn file(&self) -> Place {
        self.data.file()
    }
}

/// A target and an offset that rows have, and the total weight of these rows. The loss of a bias alone depends on no more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// The target.
    pub target: f64,
    /// The offset, which is added to the score.
    pub offset: f64,
    /// The total weight of the rows.
    pub weight: f64,
}

impl Pooled {
    /// Rows without an offset.
    pub fn new(target: f64, weight: f64) -> Pooled {
        Pooled { target, offset: 0.0, weight }
    }
}

/// The distinct targets and offsets, each with the total weight of its rows.
pub(crate) fn pooled_by_target(examples: Examples) -> Vec<Pooled> {
    let mut pooled = few_kinds(examples).unwrap_or_else(|| rows_of(examples).collect());
    pool(&mut pooled);
    pooled
}

/// Each row alone.
fn rows_of(examples: Examples) -> impl Iterator<Item = Pooled> {
    (0..examples.len()).map(move |i| Pooled {
        target: examples.targets[i],
        offset: examples.offset(i),
        weight: examples.weight(i),
    })
}

/// The distinct targets and offsets with the total weights of their rows, if there are only a few.
pub(crate) fn few_kinds(examples: Examples) -> Option<Vec<Pooled>> {
    of_few_kinds(rows_of(examples))
}

/// The rows of each kind pooled in their order, without sorting all of them. `None` for more than a few kinds.
fn of_few_kinds(rows: impl Iterator<Item = Pooled>) -> Option<Vec<Pooled>> {
    const FEW: usize = 4;
    let mut kinds: Vec<Pooled> = Vec::with_capacity(FEW);
    for row in rows {
        let of = |kind: &Pooled| (kind.target, kind.offset);
        match kinds.iter().position(|kind| of(kind) == of(&row)) {
            None if kinds.len() == FEW => return None,
            None => kinds.push(row),
            Some(k) => {
                let bits = |(target, offset): (f64, f64)| (target.to_bits(), offset.to_bits());
                if bits(of(&kinds[k])) != bits(of(&row)) {
                    return None; // sorting tells 0 and −0 apart
                }
                kinds[k].weight += row.weight;
            }
        }
    }
    Some(kinds)
}

/// Sorts by target and offset, and sums the weights of equal ones.
pub(crate) fn pool(pooled: &mut Vec<Pooled>) {
    pooled.sort_by(|a, b| a.target.total_cmp(&b.target).then(a.offset.total_cmp(&b.offset)));
    pooled.dedup_by(|next, kept| {
        let same = (next.target, next.offset) == (kept.target, kept.offset);
        kept.weight += if same { next.weight } else { 0.0 };
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_of_few_kinds_are_pooled_as_sorting_pools_them(
            kinds in prop::collection::vec((-2i32..3, -1i32..2, 0.1f64..3.0), 0..30),
            minus in any::<bool>(),
        ) {
            let zero = if minus { -0.0 } else { 0.0 };
            let one = |&(target, offset, weight): &(i32, i32, f64)| {
                Pooled { target: f64::from(target), offset: if offset == 0 { zero } else { f64::from(offset) }, weight }
            };
            let rows: Vec<Pooled> = kinds.iter().map(one).collect();
            let mut sorted = rows.clone();
            pool(&mut sorted);
            let few = of_few_kinds(rows.iter().copied());
            prop_assert_eq!(few.is_some(), sorted.len() <= 4);
            if let Some(mut few) = few {
                pool(&mut few);
                let bits = |rows: &[Pooled]| {
                    rows.iter().map(|p| [p.target, p.offset, p.weight].map(f64::to_bits)).collect::<Vec<_>>()
                };
                prop_assert_eq!(bits(&few), bits(&sorted));
            }
        }
    }

    #[test]
    fn a_zero_and_a_negative_zero_are_left_to_sorting() {
        let rows = [0.0, -0.0].map(|offset| Pooled { target: 1.0, offset, weight: 1.0 });
        assert!(of_few_kinds(rows.into_iter()).is_none());
    }
}
