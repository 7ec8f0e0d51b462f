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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::Dataset;
    use crate::data::features::Features;
    use crate::data::labels::Labels;
    use crate::data::rows::Rows;
    use crate::problem::heads::HeadKind;
    use crate::problem::loss;
    use crate::problem::penalty::ElasticNet;
    use crate::problem::task::{Sets, Targets, Task};

    #[test]
    fn heads_in_several_passes_have_the_figures_of_one_pass() {
        let (mut rows, mut sets) = (Rows::new(), Sets::default());
        for i in 0..60u32 {
            rows.push(&[(i % 7, 1.0 + f64::from(i % 3)), (7 + i % 5, 0.5)]).unwrap();
            sets.push((0..3).filter(|k| (i + k) % (k + 2) == 0));
        }
        let columns = rows.columns();
        let shares: Vec<f64> = sets.counts(3).iter().map(|&count| count as f64 / 60.0).collect();
        let data = Dataset::made(rows, Labels::Numbers(vec![0.0; 60]), Features::columns_from(0, columns));
        let names = (0..3).map(|k| k.to_string()).collect();
        let targets = Targets::of_sets(HeadKind::Labels, names, sets);
        let loss = loss::parse("logistic").unwrap();
        let task = Task { data, loss: loss.clone(), targets, weights: None, notes: Vec::new() };
        let weights = |k: usize| (0..columns).map(move |j| ((j + k) % 4) as f64 / 8.0 - 0.2);
        let heads: Vec<Head> = (0..3).map(|k| Head::of(weights(k), 0.1 * k as f64)).collect();
        let weighted_penalty = WeightedPenalty::of(ElasticNet { l1: 1e-3, l2: 1e-2 });
        let (heads, shares, nonzeros) = (&heads[..], &shares[..], task.data.rows.nonzeros());
        let all = IndependentHeads {
            loss: &*loss,
            weighted_penalty,
            with_bias: true,
            heads,
            shares,
            columns,
            nonzeros,
        };
        let [one, two, three] = [1, 2, 3].map(|at_once| all.evaluate(&task, at_once).unwrap());
        let figures = |of: &[(Evaluation, Certificate)]| -> Vec<_> {
            of.iter().map(|(evaluation, proof)| (*evaluation, proof.dual)).collect()
        };
        assert_eq!(figures(&one), figures(&three));
        assert_eq!(figures(&two), figures(&three));
        let objectives: Vec<f64> = three.iter().map(|(evaluation, _)| evaluation.baseline).collect();
        assert!(objectives[0] != objectives[1] && objectives[1] != objectives[2], "{objectives:?}");
    }
}
