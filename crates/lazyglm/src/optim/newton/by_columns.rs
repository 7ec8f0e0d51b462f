//! Newton's method on columns alone, for some columns of rows that are on disk.

use super::descend::Memory;
use super::halted::Course;
use super::point::Point;
use super::{Bounds, Newton, NewtonProgress, Options, Problem, Solution};
use crate::data::rows::{Examples, RowsRef, ValuesRef};
use crate::optim::kernel::{ColumnStore, CompactColumns};
use crate::problem::loss::Loss;
use crate::problem::penalty::WeightedPenalty;
use std::sync::atomic::AtomicBool;

/// A problem whose data are stored by column only.
pub(crate) struct ColumnProblem<'a> {
    /// The columns.
    pub columns: &'a CompactColumns,
    /// One target per row.
    pub targets: &'a [f64],
    /// Row weights; `None` if all are one.
    pub weights: Option<&'a [f64]>,
    /// Row offsets; `None` if all are zero.
    pub offsets: Option<&'a [f64]>,
    /// A loss without kinks.
    pub loss: &'a dyn Loss,
    /// The penalty of these columns.
    pub weighted_penalty: WeightedPenalty<'a>,
    /// Whether there is a bias.
    pub bias: bool,
    /// A flag that ends loops within a step when it is set.
    pub interrupt: Option<&'a AtomicBool>,
}

impl ColumnProblem<'_> {
    /// Finds the minimiser from initial weights and a bias. Calls `watch` after every step, and stops if `watch` returns
    /// false.
    pub fn solve(
        &self,
        (weights, bias): (&[f64], f64),
        options: &Options,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let rows = RowsRef::trusted(&[0], &[], ValuesRef::F32(&[]), self.columns.len());
        let examples = Examples { rows, targets: self.targets, weights: self.weights, offsets: self.offsets };
        let Self { loss, weighted_penalty, bias: with_bias, .. } = *self;
        let problem = Problem { examples, loss, weighted_penalty, bias: with_bias };
        let bounds = Bounds { interrupt: self.interrupt, ..Bounds::none() };
        let newton = Newton::<f32>::new(&problem, &[], options, bounds);
        let bias = if with_bias { bias } else { 0.0 };
        let scores = self.scores(weights, bias);
        let mut point = Point {
            weights: weights.to_vec(),
            bias,
            scores,
            slopes: Vec::new(),
            second_derivatives: Vec::new(),
            gradient: vec![0.0; weights.len()],
            penalty: newton.n * weighted_penalty.value(weights),
            value: 0.0,
        };
        newton.settle(&mut point, 30, newton.enough());
        self.columns.products(&point.slopes, &mut point.gradient);
        let (mut memory, course) = (Memory::new(self.targets.len()), Course::after(0, bounds.work));
        let ending = newton.descend(&mut point, self.columns, &mut memory, course, watch);
        point.solved(ending)
    }

    /// The score of each row.
    pub fn scores(&self, weights: &[f64], bias: f64) -> Vec<f64> {
        let mut scores = match self.offsets {
            None => vec![bias; self.targets.len()],
            Some(offsets) => offsets.iter().map(|offset| bias + offset).collect(),
        };
        for (k, &w) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            self.columns.add(k, w, &mut scores);
        }
        scores
    }
}
