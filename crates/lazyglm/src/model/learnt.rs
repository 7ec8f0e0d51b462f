//! The result of a training run, arranged per column as a model stores it.

use super::trained::Trained;
use crate::data::features::Features;
use crate::model::report::Report;
use crate::problem::heads::{Head, Heads};
use crate::problem::settings::Precision;
use crate::problem::task::HeadTargets;

/// Least number of weights of heads that are rounded.
const LARGE: usize = 1 << 20;

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

    /// Transposes weights per head into weights per feature. A model trained in f32 with a million
    /// weights or more keeps them rounded to f32, which halves its file.
    pub fn many(trained: Trained, targets: HeadTargets, names: &Features, precision: Precision) -> Learnt {
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
        let round = |w: f64| match f64::from(w as f32) {
            rounded if rounded.is_finite() && rounded != 0.0 => rounded,
            _ => w,
        };
        let narrow = total >= LARGE && precision == Precision::F32;
        let mut biases = Vec::with_capacity(heads.len());
        for (Head { columns, weights: own, bias }, id) in heads.into_iter().zip(0..) {
            biases.push(bias);
            for (column, w) in columns.into_iter().map(|column| column as usize).zip(own) {
                let at = next[column];
                let w = names.in_data_units(column, w);
                (weights[at], ids[at]) = (if narrow { round(w) } else { w }, id);
                next[column] += 1;
            }
        }
        let heads =
            Heads { kind: targets.kind, names: targets.names.to_vec(), biases, ends, ids, thresholds };
        Learnt { columns, weights, bias: 0.0, heads: Some(heads), report }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::heads::HeadKind;
    use crate::problem::task::Sets;

    #[test]
    fn only_a_large_model_in_f32_is_rounded_to_it() {
        let names: Vec<String> = (0..16).map(|k| k.to_string()).collect();
        let learnt = |columns: usize, precision| {
            let mut trained = Trained::one(Vec::new(), 0.0, Report::default());
            trained.heads = vec![Head::of(std::iter::repeat_n(0.1, columns), 0.1); names.len()];
            let sets = Sets::default();
            let targets = HeadTargets { kind: HeadKind::Labels, names: &names, sets: &sets };
            Learnt::many(trained, targets, &Features::columns_from(0, columns), precision)
        };
        let is = |learnt: &Learnt, w: f64| learnt.weights.iter().all(|weight| *weight == w);
        assert!(is(&learnt(LARGE / 16, Precision::F32), f64::from(0.1f32)));
        assert!(is(&learnt(LARGE / 16, Precision::F64), 0.1));
        assert!(is(&learnt(LARGE / 16 - 1, Precision::F32), 0.1));
    }
}
