//! A fold of the penalty search: training rows and held-out rows.

use super::holdout_score::HoldoutScore;
use crate::eval::objective::NullModel;
use crate::optim::newton::View;
use crate::problem::task::Task;
use std::ops::Range;

/// Training rows, held-out rows, and the last optimum found on the training rows.
pub(super) struct Fold {
    pub learnt: Task,
    pub held: Task,
    pub nothing: f64, // the best bias without weights
    pub view: View,
    pub at: Option<(Vec<f64>, f64)>,
}

impl Fold {
    /// Makes a fold that holds out a range of a shuffled order, and trains on a limited number of other rows. `None` if
    /// one class has no training row, or no row is held out: such a fold tells nothing about a penalty.
    pub fn new(task: &Task, order: &[usize], held: Range<usize>, most: usize, bias: bool) -> Option<Fold> {
        let mut out = order[held.clone()].to_vec();
        let others = order[..held.start].iter().chain(&order[held.end..]);
        let mut learnt: Vec<usize> = others.take(most).copied().collect();
        let positives = learnt.iter().filter(|&&i| task.numbers()[i] > 0.0).count();
        let one_class = task.targets.classes().is_some() && [0, learnt.len()].contains(&positives);
        if one_class || out.is_empty() || learnt.is_empty() {
            return None;
        }
        out.sort_unstable(); // in the order of memory
        learnt.sort_unstable();
        let (learnt, held) = (task.select(&learnt), task.select(&out));
        let nothing = NullModel::of(learnt.examples(), &*task.loss, bias).bias();
        Some(Fold { learnt, held, nothing, view: View::default(), at: None })
    }

    /// Evaluates weights on the held-out rows.
    pub fn judge(&self, weights: &[f64], bias: f64) -> HoldoutScore {
        HoldoutScore::of(&self.held, weights, bias, self.nothing)
    }
}

/// Rounds to three digits: a chosen penalty is not known more exactly.
pub(super) fn digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}
