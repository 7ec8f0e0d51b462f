//! Rows on disk of which some are held out: a copy of those in memory, and the problem without them.
//!
//! ```text
//! held out     row i  if  hash(i) mod q = 0                  i: its number in the data
//! learnt       ω′ᵢ = ωᵢ·n/Σω over the rows that are left;  ω′ᵢ = 0 for rows that are held out
//! ```

use crate::problem::source::{About, Batch, Pooled, Problem, See, Sequence, Source};
use crate::problem::task::Task;
use crate::train::copied::{Copied, NONZERO, ROW};
use crate::util::checkpoint::Key;
use crate::util::error::{Place, Result};
use crate::util::random::Random;
use std::borrow::Cow;

/// Largest number of rows that are held out, and the largest share of all rows: one in this many.
const MOST: usize = 20_000;
const SHARE: u64 = 5;

/// Rows on disk without those that are held out.
pub(super) struct Learnt<'a> {
    problem: &'a dyn Problem,
    one_in: u64,
    seed: u64,
    factor: f64,
    pooled: Vec<Pooled>,
    taken: usize, // bytes of the rows held out
}

impl<'a> Learnt<'a> {
    /// Splits the rows: at most `bytes` of them are held out and returned.
    pub fn split(problem: &'a dyn Problem, sequence: Sequence, bytes: usize) -> Result<(Learnt<'a>, Task)> {
        let mut of_row = ROW;
        problem.beginning(sequence, &mut |batch| {
            of_row += NONZERO * batch.rows.nonzeros() / batch.rows.len().max(1);
            Ok(())
        })?;
        let rows = (bytes / of_row).clamp(1, MOST) as u64;
        let one_in = (problem.rows() as u64).div_ceil(rows).max(SHARE);
        let (seed, pooled) = (sequence.seed, problem.pooled());
        let mut learnt = Learnt { problem, one_in, seed, factor: 1.0, pooled, taken: 0 };
        let held = learnt.copy(bytes)?;
        Ok((learnt, held))
    }

    /// Copies the rows that are held out, as far as the memory goes, and takes their weight from the others.
    fn copy(&mut self, bytes: usize) -> Result<Task> {
        let mut copied = Copied::default();
        let (mut all, mut left) = (0.0, 0.0);
        self.problem.pass(&mut |batch| {
            let examples = batch.examples();
            for i in 0..examples.len() {
                let (target, weight) = (examples.targets[i], examples.weight(i));
                all += weight;
                if !self.is_held_out((batch.number)(i)) {
                    left += weight;
                    continue;
                }
                let offset = examples.offset(i);
                let order =
                    |known: &Pooled| known.target.total_cmp(&target).then(known.offset.total_cmp(&offset));
                let known = self.pooled.binary_search_by(order);
                known.ok().into_iter().for_each(|k| self.pooled[k].weight -= weight);
                if copied.bytes() < bytes {
                    copied.push(batch, i)?;
                }
            }
            Ok(())
        })?;
        self.factor = if left > 0.0 { all / left } else { 1.0 };
        self.pooled.retain(|rows| rows.weight > 1e-9 * all);
        self.pooled.iter_mut().for_each(|rows| rows.weight *= self.factor);
        self.taken = copied.bytes();
        Ok(copied.task(self.problem))
    }

    /// Whether the row with this number is held out.
    fn is_held_out(&self, number: u64) -> bool {
        let mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Random::new(self.seed ^ mixed).below(self.one_in) == 0
    }

    fn show(&self, batch: &Batch, see: &mut See) -> Result<()> {
        let weight = |i: usize| match self.is_held_out((batch.number)(i)) {
            true => 0.0,
            false => self.factor * batch.weights.map_or(1.0, |weights| weights[i]),
        };
        let weights: Vec<f64> = (0..batch.rows.len()).map(weight).collect();
        let order: Vec<u32> = batch.order.iter().copied().filter(|&i| weights[i as usize] > 0.0).collect();
        see(&Batch { weights: Some(&weights), order: &order, ..*batch })
    }
}

impl Source for Learnt<'_> {
    fn rows(&self) -> usize {
        self.problem.rows()
    }

    fn epoch(&self, sequence: Sequence, epoch: u64, see: &mut See) -> Result<()> {
        self.problem.epoch(sequence, epoch, &mut |batch| self.show(batch, see))
    }

    fn pass(&self, see: &mut See) -> Result<()> {
        self.problem.pass(&mut |batch| self.show(batch, see))
    }

    fn fingerprint(&self) -> Result<Key> {
        Ok(self.problem.fingerprint()?.and_bytes(b"learnt").and(self.one_in).and(self.seed))
    }
}

impl Problem for Learnt<'_> {
    /// A row that is held out has the weight zero.
    fn about(&self) -> About<'_> {
        About { weighted: true, ..self.problem.about() }
    }

    fn occurring(&self) -> Cow<'_, [bool]> {
        self.problem.occurring()
    }

    fn nonzeros(&self) -> usize {
        self.problem.nonzeros()
    }

    fn pooled(&self) -> Vec<Pooled> {
        self.pooled.clone()
    }

    fn beginning(&self, sequence: Sequence, see: &mut See) -> Result<()> {
        self.problem.beginning(sequence, &mut |batch| self.show(batch, see))
    }

    fn file(&self) -> Place {
        self.problem.file()
    }

    fn spare_memory(&self) -> usize {
        self.problem.spare_memory().saturating_sub(self.taken)
    }
}
