//! What each lane is to learn from a row: the same target for all, or one of its own.

use crate::problem::loss::Loss;

/// Slopes and losses of a row, lane by lane.
pub trait LaneLoss: Sync {
    /// ∂ℓ/∂score of every lane for row `i`, without the row's weight.
    fn slopes(&self, i: usize, scores: &[f64], slopes: &mut [f64]);
    /// ℓ of every lane for row `i`.
    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]);
}

/// All lanes have the row's own target: a grid.
///
/// ```
/// use lazyglm::{loss, optim::lane_loss::{LaneLoss, Same}};
/// let same = Same { loss: &*loss::parse("squared").unwrap(), targets: &[3.0] };
/// let mut slopes = [0.0; 2];
/// same.slopes(0, &[1.0, 3.0], &mut slopes);
/// assert_eq!(slopes, [-2.0, 0.0]);
/// ```
#[derive(Clone, Copy)]
pub struct Same<'a> {
    /// ℓ.
    pub loss: &'a dyn Loss,
    /// One a row.
    pub targets: &'a [f64],
}

impl LaneLoss for Same<'_> {
    fn slopes(&self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        let target = self.targets[i];
        slopes.iter_mut().zip(scores).for_each(|(slope, &score)| *slope = self.loss.slope(score, target));
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        let target = self.targets[i];
        losses.iter_mut().zip(scores).for_each(|(loss, &score)| *loss = self.loss.value(score, target));
    }
}

/// A lane tells one label from all others: it aims at +1 where the row has the label, else at −1.
///
/// ```
/// use lazyglm::{loss, optim::lane_loss::{LaneLoss, OneVsRest}};
/// let (ends, ids) = ([1, 3, 3], [7, 7, 8]); // row 0 is of class 7, row 1 has labels 7 and 8, row 2 has none
/// let hinge = loss::parse("hinge").unwrap();
/// let lanes = OneVsRest { loss: &*hinge, ends: &ends, ids: &ids, first: 7 };
/// let mut slopes = [0.0; 2];
/// for (row, expected) in [[-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]].into_iter().enumerate() {
///     lanes.slopes(row, &[0.0, 0.0], &mut slopes);
///     assert_eq!(slopes, expected);
/// }
/// ```
#[derive(Clone, Copy)]
pub struct OneVsRest<'a> {
    /// ℓ.
    pub loss: &'a dyn Loss,
    /// Where the labels of each row end in `ids`.
    pub ends: &'a [usize],
    /// The labels of all rows, row by row, rising within a row.
    pub ids: &'a [u32],
    /// The label of the first lane; the others follow.
    pub first: u32,
}

impl OneVsRest<'_> {
    #[inline(always)]
    fn each(&self, i: usize, scores: &[f64], into: &mut [f64], of: impl Fn(f64, f64) -> f64) {
        into.iter_mut().zip(scores).for_each(|(into, &score)| *into = of(score, -1.0));
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        for &label in &self.ids[start..self.ends[i]] {
            let lane = label.wrapping_sub(self.first) as usize;
            if lane < into.len() {
                into[lane] = of(scores[lane], 1.0);
            }
        }
    }
}

impl LaneLoss for OneVsRest<'_> {
    fn slopes(&self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        self.each(i, scores, slopes, |score, target| self.loss.slope(score, target));
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        self.each(i, scores, losses, |score, target| self.loss.value(score, target));
    }
}
