//! One pass over rows on disk: objective, gradient and lower bound at a point, and the columns that are wanted.

use super::working_set::{Evaluated, WorkingSet};
use crate::data::rows::Examples;
use crate::eval::objective::{NullModel, StreamedGap};
use crate::optim::kernel::{CompactColumns, CompactNumbers};
use crate::problem::source::Batch;
use crate::util::error::{Kind, Result};

/// Marks a column that is not in memory.
pub(super) const ABSENT: u32 = u32::MAX;

/// The columns that a pass copies: those from `first` on.
pub(super) struct Extraction<'a> {
    pub columns: &'a mut CompactColumns,
    pub place: &'a [u32],
    pub first: u32,
}

impl Extraction<'_> {
    /// Copies the wanted columns of some rows, the first of which has this number.
    fn add(&mut self, examples: Examples, from: usize) {
        let wanted = self.columns.len() as u32 - self.first;
        if wanted == 0 {
            return;
        }
        for i in 0..examples.len() {
            examples.rows.for_each(i, |j, x| {
                if self.place[j].wrapping_sub(self.first) < wanted {
                    self.columns.push(self.place[j] as usize, from + i, x);
                }
            });
        }
    }
}

/// Whether a pass saw all rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// All rows.
    All,
    /// The columns do not fit into memory.
    TooLarge,
    /// The run was interrupted.
    Interrupted,
}

/// Targets, weights and offsets of all rows, in few bytes.
pub(super) struct Numbers {
    pub targets: CompactNumbers,
    pub weights: Option<CompactNumbers>,
    pub offsets: Option<CompactNumbers>,
}

impl Numbers {
    /// No numbers, for so many rows.
    pub fn none(rows: usize, weighted: bool, with_offsets: bool) -> Numbers {
        let empty = || CompactNumbers::with_capacity(rows);
        Numbers { targets: empty(), weights: weighted.then(empty), offsets: with_offsets.then(empty) }
    }

    fn extend(&mut self, examples: Examples) {
        let Numbers { targets, weights, offsets } = self;
        targets.extend(examples.targets);
        let both = [(weights, examples.weights), (offsets, examples.offsets)];
        for (own, more) in both {
            own.iter_mut().for_each(|own| own.extend(more.unwrap_or_default()));
        }
    }

    /// Memory of the numbers, in bytes.
    pub fn bytes(&self) -> usize {
        let extras = self.weights.iter().chain(&self.offsets).map(CompactNumbers::bytes);
        self.targets.bytes() + extras.sum::<usize>()
    }
}

impl WorkingSet<'_> {
    /// A pass at the current point. The first pass also evaluates the null model, and keeps the numbers of the rows.
    pub(super) fn evaluate(&mut self, watch: &mut dyn FnMut(u64)) -> Result<(Seen, Option<Evaluated>)> {
        let (job, settings, first) = (self.job, self.job.settings, self.numbers.targets.len() == 0);
        let (weights, bias) = (std::mem::take(&mut self.weights), settings.bias.then_some(self.bias));
        let mut sums = StreamedGap::new(job.loss(), &weights, bias, job.problem.nonzeros());
        if first {
            sums = sums.with_null(NullModel::new(&job.problem.pooled(), job.loss(), settings.bias));
        }
        let none = Numbers::none(0, false, false);
        let mut numbers = std::mem::replace(&mut self.numbers, none);
        let seen = self.pass(watch, &mut |batch, extraction, from| {
            let examples = batch.examples();
            rayon::join(|| extraction.add(examples, from), || sums.add(examples));
            if first {
                numbers.extend(examples);
            }
        })?;
        let found = (seen == Seen::All).then(|| {
            let (evaluation, worst, dual) = sums.finish(settings.weighted_penalty());
            Evaluated { evaluation, worst, dual }
        });
        self.room.numbers = numbers.bytes();
        (self.weights, self.numbers) = (weights, numbers);
        Ok((seen, found))
    }

    /// Goes through all rows in the order of the file, unless the columns outgrow the memory.
    fn pass(
        &mut self,
        watch: &mut dyn FnMut(u64),
        see: &mut dyn FnMut(&Batch, &mut Extraction, usize),
    ) -> Result<Seen> {
        let (mut from, mut seen) = (0, Seen::All);
        let first = self.complete;
        self.passes += 1;
        let settings = self.job.settings;
        let done = self.job.problem.pass(&mut |batch| {
            let place = &self.place;
            let mut extraction = Extraction { columns: &mut self.columns, place, first: first as u32 };
            see(batch, &mut extraction, from);
            from += batch.rows.len();
            watch(from as u64);
            seen = match () {
                () if settings.interrupted() => Seen::Interrupted,
                () if !self.room.fits(&self.columns, std::iter::empty()) => Seen::TooLarge,
                () => return Ok(()),
            };
            Err(Kind::Interrupted.into()) // ends the pass
        });
        if seen == Seen::All {
            done?;
            self.columns.finish(first);
            self.complete = self.columns.len();
        }
        Ok(seen)
    }
}
