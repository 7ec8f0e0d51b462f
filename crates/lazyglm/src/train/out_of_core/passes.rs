//! One pass over rows on disk: objective and gradient at a point, and the columns that are wanted.

use super::working_set::WorkingSet;
use crate::data::rows::Examples;
use crate::eval::objective::{self, Evaluation, Evaluator, NullModel};
use crate::optim::kernel::CompactColumns;
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

impl WorkingSet<'_> {
    /// The first pass: evaluates the starting point and the null model, and keeps targets, weights and offsets.
    pub(super) fn first_pass(&mut self, watch: &mut dyn FnMut(u64)) -> Result<(Seen, Option<Evaluation>)> {
        let (job, settings) = (self.job, self.job.settings);
        let (weights, bias) = (std::mem::take(&mut self.weights), settings.bias.then_some(self.bias));
        let null = NullModel::new(&job.problem.pooled(), job.loss(), settings.bias);
        let mut evaluator =
            Evaluator::new(job.loss(), &weights, bias, job.problem.nonzeros()).with_null(null);
        let (mut targets, mut row_weights) = (Vec::with_capacity(self.rows), Vec::new());
        let mut offsets = Vec::new();
        let seen = self.pass(watch, &mut |batch, extraction, from| {
            let examples = batch.examples();
            rayon::join(|| extraction.add(examples, from), || evaluator.add(examples));
            targets.extend_from_slice(examples.targets);
            row_weights.extend_from_slice(examples.weights.unwrap_or_default());
            offsets.extend_from_slice(examples.offsets.unwrap_or_default());
        })?;
        let evaluation = (seen == Seen::All).then(|| {
            self.gradient = evaluator.total_gradient();
            evaluator.finish(settings.weighted_penalty())
        });
        (self.weights, self.targets) = (weights, targets);
        self.row_weights = job.problem.is_weighted().then_some(row_weights);
        self.offsets = job.problem.has_offsets().then_some(offsets);
        Ok((seen, evaluation))
    }

    /// A later pass: the mean loss at the weights, and the gradient of the given loss derivatives.
    pub(super) fn fused_pass(
        &mut self,
        slopes: &[f64],
        watch: &mut dyn FnMut(u64),
    ) -> Result<(Seen, f64, Vec<f64>)> {
        let (loss, bias) = (self.job.loss(), self.bias);
        let weights = std::mem::take(&mut self.weights);
        let mut evaluator = Evaluator::new(loss, &weights, None, self.job.problem.nonzeros());
        let mut losses = 0.0;
        let seen = self.pass(watch, &mut |batch, extraction, from| {
            let examples = batch.examples();
            rayon::join(
                || extraction.add(examples, from),
                || {
                    losses += examples.len() as f64 * objective::mean_loss(examples, loss, &weights, bias);
                    evaluator.add_derivatives(examples, |i| examples.weight(i) * slopes[from + i]);
                },
            );
        })?;
        let gradient = evaluator.total_gradient();
        drop(evaluator);
        self.weights = weights;
        Ok((seen, losses / self.rows as f64, gradient))
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
