//! Evaluates independent heads on rows that are not in memory: each head is a model of its own, with its gap.

use super::{Certificate, Evaluation, NullModel, StreamedGap};
use crate::data::rows::Examples;
use crate::problem::heads::Head;
use crate::problem::loss::Loss;
use crate::problem::penalty::WeightedPenalty;
use crate::problem::source::{Pooled, Source};
use crate::util::error::Result;

/// Heads to evaluate.
pub(crate) struct IndependentHeads<'a> {
    pub loss: &'a dyn Loss,
    pub weighted_penalty: WeightedPenalty<'a>,
    pub with_bias: bool,
    pub heads: &'a [Head],
    /// The weighted share of the rows of each head.
    pub shares: &'a [f64],
    pub columns: usize,
    /// The number of non-zeros of all rows.
    pub nonzeros: usize,
}

impl IndependentHeads<'_> {
    /// Memory of a head in bytes: its weights, the sums of a gap in two parts, and its dual point.
    pub fn bytes(columns: usize) -> usize {
        columns * 8 * (1 + 2 * 4 + 1)
    }

    /// The evaluation and the certificate of each head. It takes a pass for each `at_once` heads.
    pub fn evaluate(&self, source: &dyn Source, at_once: usize) -> Result<Vec<(Evaluation, Certificate)>> {
        let mut all = Vec::with_capacity(self.heads.len());
        for (first, some) in (0..).step_by(at_once.max(1)).zip(self.heads.chunks(at_once.max(1))) {
            let dense: Vec<Vec<f64>> = some.iter().map(|head| head.dense(self.columns)).collect();
            let sums = dense.iter().enumerate().map(|(l, weights)| {
                let bias = self.with_bias.then_some(some[l].bias);
                let null = NullModel::new(&of_share(self.shares[first + l]), self.loss, self.with_bias);
                StreamedGap::new(self.loss, weights, bias, self.nonzeros).with_null(null)
            });
            let mut sums: Vec<StreamedGap> = sums.collect();
            source.pass(&mut |batch| {
                let Some(sets) = batch.sets() else { return Ok(()) };
                let rows_of = sets.rows_of(self.heads.len());
                for (l, sums) in sums.iter_mut().enumerate() {
                    let (targets, rows) = (sets.signs(&rows_of[first + l]), batch.rows);
                    sums.add(Examples { rows, targets: &targets, weights: batch.weights, offsets: None });
                }
                Ok(())
            })?;
            for sums in sums {
                let (evaluation, worst, dual) = sums.finish(self.weighted_penalty);
                let proof = dual.certify(&evaluation, worst, self.weighted_penalty);
                all.push((evaluation, proof));
            }
        }
        Ok(all)
    }
}

/// Rows of which this share has a head.
fn of_share(share: f64) -> Vec<Pooled> {
    let mut pooled = vec![Pooled::new(-1.0, 1.0 - share), Pooled::new(1.0, share)];
    pooled.retain(|rows| rows.weight > 0.0);
    pooled
}
