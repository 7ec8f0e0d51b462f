//! The result of a training run, arranged per column as a model stores it.

use super::trained::Trained;
use crate::data::features::Features;
use crate::model::report::Report;
use crate::problem::heads::{Head, Heads};
use crate::problem::task::HeadTargets;

/// Weights and biases of a run, without zeros.
pub(super) struct Learnt {
    pub columns: Vec<usize>,
    pub weights: Vec<f64>,
    pub bias: f64,
    pub heads: Option<Heads>,
    pub report: Report,
}

impl Learnt {
    pub fn one(trained: Trained, names: &Features) -> Learnt {
        let Trained { weights, bias, report, .. } = trained;
        let weights = names.sorted().map(|j| (j, names.in_data_units(j, weights[j])));
        let (columns, weights) = weights.filter(|(_, w)| *w != 0.0).unzip();
        Learnt { columns, weights, bias, heads: None, report }
    }

    /// Transposes weights per head into weights per feature.
    pub fn many(trained: Trained, targets: HeadTargets, names: &Features) -> Learnt {
        let Trained { heads, thresholds, report, .. } = trained;
        let mut counts = vec![0; names.columns()];
        heads.iter().flat_map(|head| &head.columns).for_each(|&column| counts[column as usize] += 1);
        let columns: Vec<usize> = names.sorted().filter(|&column| counts[column] > 0).collect();
        let mut total = 0;
        let mut next = counts; // position of the next weight of each column
        let mut ends = Vec::with_capacity(columns.len());
        for &column in &columns {
            let start = total;
            total += std::mem::replace(&mut next[column], start);
            ends.push(total);
        }
        let (mut weights, mut ids) = (vec![0.0; total], vec![0; total]);
        let mut biases = Vec::with_capacity(heads.len());
        for (Head { columns, weights: own, bias }, id) in heads.into_iter().zip(0..) {
            biases.push(bias);
            for (column, w) in columns.into_iter().map(|column| column as usize).zip(own) {
                let at = next[column];
                (weights[at], ids[at]) = (names.in_data_units(column, w), id);
                next[column] += 1;
            }
        }
        let heads =
            Heads { kind: targets.kind, names: targets.names.to_vec(), biases, ends, ids, thresholds };
        Learnt { columns, weights, bias: 0.0, heads: Some(heads), report }
    }
}
