//! Rows on disk that are copied into memory.

use crate::data::dataset::Dataset;
use crate::data::labels::Labels;
use crate::data::rows::Rows;
use crate::problem::source::{Batch, Problem};
use crate::problem::task::{HeadTargets, Sets, Targets, Task};
use crate::util::error::Result;

/// Bytes per non-zero and per row of the copy.
pub(super) const NONZERO: usize = 12;
pub(super) const ROW: usize = 48;

/// Rows that were copied into memory.
#[derive(Default)]
pub(super) struct Copied {
    rows: Rows,
    targets: Vec<f64>,
    sets: Sets, // instead of targets, if there are classes or labels
    weights: Vec<f64>,
    offsets: Vec<f64>,
    pairs: Vec<(u32, f64)>,
}

impl Copied {
    /// Copies a row.
    pub fn push(&mut self, batch: &Batch, i: usize) -> Result<()> {
        let pairs = &mut self.pairs;
        pairs.clear();
        batch.rows.for_each(i, |j, x| pairs.push((j as u32, x)));
        self.rows.push(pairs)?;
        match batch.sets() {
            Some(sets) => self.sets.push(sets.of(i).iter().copied()),
            None => self.targets.push(batch.examples().targets[i]),
        }
        self.weights.push(batch.weights.map_or(1.0, |weights| weights[i]));
        self.offsets.push(batch.offsets.map_or(0.0, |offsets| offsets[i]));
        Ok(())
    }

    /// Number of rows, and number of non-zeros.
    pub fn size(&self) -> [usize; 2] {
        [self.rows.len(), self.rows.nonzeros()]
    }

    /// Bytes of the copy.
    pub fn bytes(&self) -> usize {
        let [rows, nonzeros] = self.size();
        NONZERO * nonzeros + ROW * rows
    }

    /// The rows as a task with the targets and the loss of a problem.
    pub fn task(mut self, problem: &dyn Problem) -> Task {
        self.rows.declare_columns(problem.features().columns());
        let written = match problem.targets().heads() {
            Some(_) => vec![0.0; self.rows.len()], // nobody asks for them: the sets are known
            None => self.targets.clone(),
        };
        let mut data = Dataset::made(self.rows, Labels::Numbers(written), problem.features().clone());
        data.offsets = problem.has_offsets().then_some(self.offsets);
        data.reading = problem.reading().clone();
        let targets = match (problem.targets().heads(), problem.targets().classes()) {
            (Some(HeadTargets { kind, names, .. }), _) => Targets::of_sets(kind, names.to_vec(), self.sets),
            (None, Some(classes)) => Targets::Binary { classes: classes.clone(), signs: self.targets },
            (None, None) => Targets::Real(self.targets),
        };
        let weights = problem.is_weighted().then_some(self.weights);
        Task { data, loss: problem.loss().clone(), targets, weights, notes: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::settings::Order;
    use crate::problem::source::{Sequence, Source};
    use crate::synth::{Shape, documents};

    #[test]
    fn a_copy_has_the_rows_targets_weights_and_offsets_of_the_original() {
        let mut task = documents(&Shape { rows: 40, features: 30, ..Shape::default() }).task;
        task.weights = Some((0..40).map(|i| 0.5 + f64::from(i % 3)).collect());
        task.data.offsets = Some((0..40).map(|i| f64::from(i) / 8.0).collect());
        let mut copied = Copied::default();
        let sequence = Sequence { order: Order::Sequential, seed: 1 };
        let see = &mut |batch: &Batch| batch.order.iter().try_for_each(|&i| copied.push(batch, i as usize));
        task.epoch(sequence, 0, see).unwrap();
        assert_eq!(copied.size(), [40, task.data.rows.nonzeros()]);
        let copy = copied.task(&task);
        assert_eq!(copy.data.rows.ids(), task.data.rows.ids());
        assert_eq!((copy.numbers(), &copy.weights), (task.numbers(), &task.weights));
        assert_eq!(copy.data.offsets, task.data.offsets);
    }
}
