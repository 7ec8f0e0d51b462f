//! The loss of each lane for a row: the same target and offset for all lanes, or one target per lane.

use super::row_loop::Sample;
use crate::data::rows::Examples;
use crate::problem::loss::Loss;
use crate::problem::task::Sets;

/// The losses of a row and their derivatives, lane by lane.
pub trait LaneLoss {
    /// The derivatives ∂ℓ/∂score of all lanes for row `i`, without the row's weight.
    fn slopes(&mut self, i: usize, scores: &[f64], slopes: &mut [f64]);
    /// The losses of all lanes for row `i`, without the row's weight.
    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]);

    /// Prefetches what the losses of row `i` depend on besides the scores.
    fn prefetch(&self, _i: usize) {}
}

/// A lane loss in which all lanes have the target of the row, as in a grid search.
///
/// ```
/// use lazyglm::{Examples, Rows, loss, optim::lane_loss::{LaneLoss, Same}};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], None).unwrap();
/// let mut same = Same { loss: &*loss::parse("squared").unwrap(), examples };
/// let mut slopes = [0.0; 2];
/// same.slopes(0, &[1.0, 3.0], &mut slopes);
/// assert_eq!(slopes, [-2.0, 0.0]);
/// ```
#[derive(Clone, Copy)]
pub struct Same<'a> {
    /// The loss.
    pub loss: &'a dyn Loss,
    /// The target and the offset of each row.
    pub examples: Examples<'a>,
}

impl LaneLoss for Same<'_> {
    fn slopes(&mut self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        let (target, offset) = (self.examples.targets[i], self.examples.offset(i));
        let of = |score: f64| self.loss.slope(score + offset, target);
        slopes.iter_mut().zip(scores).for_each(|(slope, &score)| *slope = of(score));
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        let (target, offset) = (self.examples.targets[i], self.examples.offset(i));
        let of = |score: f64| self.loss.value(score + offset, target);
        losses.iter_mut().zip(scores).for_each(|(loss, &score)| *loss = of(score));
    }

    fn prefetch(&self, i: usize) {
        self.examples.prefetch(i);
    }
}

/// A one-vs-rest lane loss: the target of a lane is +1 if the row has the lane's class or label, else −1.
///
/// ```
/// use lazyglm::{loss, optim::lane_loss::{LaneLoss, OneVsRest}};
/// // Row 0 is of class 7, row 1 has labels 7 and 8, row 2 has none.
/// let sets = lazyglm::problem::task::Sets { ends: vec![1, 3, 3], ids: vec![7, 7, 8] };
/// let hinge = loss::parse("hinge").unwrap();
/// let mut lanes = OneVsRest { loss: &*hinge, sets: &sets, first: 7 };
/// let mut slopes = [0.0; 2];
/// for (row, expected) in [[-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]].into_iter().enumerate() {
///     lanes.slopes(row, &[0.0, 0.0], &mut slopes);
///     assert_eq!(slopes, expected);
/// }
/// ```
#[derive(Clone, Copy)]
pub struct OneVsRest<'a> {
    /// The loss.
    pub loss: &'a dyn Loss,
    /// The classes or labels of each row.
    pub sets: &'a Sets,
    /// The class or label of the first lane; the other lanes follow in order.
    pub first: u32,
}

impl OneVsRest<'_> {
    #[inline(always)]
    fn each(&self, i: usize, scores: &[f64], into: &mut [f64], of: impl Fn(f64, f64) -> f64) {
        into.iter_mut().zip(scores).for_each(|(into, &score)| *into = of(score, -1.0));
        for &label in self.sets.of(i) {
            let lane = label.wrapping_sub(self.first) as usize;
            if lane < into.len() {
                into[lane] = of(scores[lane], 1.0);
            }
        }
    }
}

impl LaneLoss for OneVsRest<'_> {
    fn slopes(&mut self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        self.each(i, scores, slopes, |score, target| self.loss.slope(score, target));
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        self.each(i, scores, losses, |score, target| self.loss.value(score, target));
    }

    fn prefetch(&self, i: usize) {
        self.sets.prefetch(i);
    }
}

/// A lane loss that also samples its values: every n-th row, before the step on it.
pub struct Sampled<'a, A> {
    /// The lane loss.
    pub lane_loss: A,
    /// The weights of the rows.
    pub weights: Option<&'a [f64]>,
    /// The sampling interval, in rows.
    pub one_in: usize,
    /// The sum over lanes of the sampled losses.
    pub sample: Sample,
}

impl<A: LaneLoss> LaneLoss for Sampled<'_, A> {
    fn slopes(&mut self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        if i.is_multiple_of(self.one_in) {
            let mut losses = [0.0; 16];
            self.lane_loss.losses(i, scores, &mut losses[..scores.len()]);
            let weight = self.weights.map_or(1.0, |w| w[i]);
            let sum = weight * losses[..scores.len()].iter().sum::<f64>();
            self.sample = self.sample.and(Sample { sum, weight });
        }
        self.lane_loss.slopes(i, scores, slopes);
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        self.lane_loss.losses(i, scores, losses);
    }

    fn prefetch(&self, i: usize) {
        self.lane_loss.prefetch(i);
    }
}
