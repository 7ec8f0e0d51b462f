//! The held-out loss of weights, and a test whether they are better than no weights.
//!
//! ```text
//! gain of a row     gᵢ = ωᵢ(ℓ(b₀) − ℓ(w·x + b))
//! better than none  ḡ > 2·s.e.(ḡ),   s.e.(ḡ) = √(Σ(gᵢ − ḡ)²)/n      for b₀ the best bias of the rows learnt from, and for b₀ = b
//! ```
//!
//! A gain against one of the two biases alone may come from the bias: in folds with two classes of equal size, a score
//! of zero predicts best, whatever the weights are.

use crate::eval::held_out::{limited_losses, row_losses};
use crate::problem::heads::Head;
use crate::problem::task::Task;
use crate::util::number::positive_part;
use crate::util::state::{Fields, State};

/// Standard errors that a gain must exceed: the best of thirty candidates exceeds one by chance, but rarely two.
const SURE: f64 = 2.0;
/// Standard errors by which a loss must be above another one to be significantly behind it.
const BEHIND: f64 = 3.0;

/// Sums over held-out rows; the sums of several folds can be added.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HoldoutScore {
    rows: f64,
    losses: f64,
    squared_losses: f64,
    gains: [f64; 2],   // against the best bias, and against the bias without its weights
    squares: [f64; 2], // of gains
    limited: f64,      // the losses if scores are limited to the range of the targets learnt from
}

impl HoldoutScore {
    /// The score of weights that cannot be evaluated: an infinite loss.
    pub const LOST: HoldoutScore = HoldoutScore {
        rows: 1.0,
        losses: f64::INFINITY,
        squared_losses: f64::INFINITY,
        gains: [f64::NEG_INFINITY; 2],
        squares: [0.0; 2],
        limited: f64::INFINITY,
    };

    /// Evaluates heads on these rows; `nothing` are heads without weights, with their best biases.
    pub fn of(task: &Task, heads: &[Head], nothing: &[Head], limits: Option<[f64; 2]>) -> HoldoutScore {
        let own_biases: Vec<Head> =
            heads.iter().map(|head| Head { bias: head.bias, ..Head::default() }).collect();
        let [losses, nothing, biases] = [heads, nothing, &own_biases].map(|heads| row_losses(task, heads));
        let limited = limits.map(|limits| limited_losses(task, heads, limits));
        let one = |i: usize| {
            let losses = task.weight(i) * losses[i];
            let gains = [nothing[i], biases[i]].map(|loss| task.weight(i) * loss - losses);
            let squared_losses = losses * losses;
            let squares = gains.map(|gain| gain * gain);
            let limited = limited.as_ref().map_or(losses, |limited| task.weight(i) * limited[i]);
            HoldoutScore { rows: 1.0, losses, squared_losses, gains, squares, limited }
        };
        let held = (0..task.len()).map(one).fold(HoldoutScore::default(), HoldoutScore::and);
        if held.losses.is_finite() { held } else { HoldoutScore::LOST }
    }

    pub fn and(self, other: HoldoutScore) -> HoldoutScore {
        let sum = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        HoldoutScore {
            rows: self.rows + other.rows,
            losses: self.losses + other.losses,
            squared_losses: self.squared_losses + other.squared_losses,
            gains: sum(self.gains, other.gains),
            squares: sum(self.squares, other.squares),
            limited: self.limited + other.limited,
        }
    }

    /// The mean held-out loss.
    pub fn loss(&self) -> f64 {
        self.losses / self.rows
    }

    /// The mean held-out loss, and the same with limited scores.
    pub fn with_limits(&self) -> [f64; 2] {
        [self.loss(), self.limited / self.rows]
    }

    /// The standard error of the mean held-out loss, over rows.
    pub fn se(&self) -> f64 {
        let variance = self.squared_losses / self.rows - self.loss() * self.loss();
        (positive_part(variance) / self.rows).sqrt()
    }

    /// The mean held-out loss of the best bias without weights.
    pub fn loss_of_nothing(&self) -> f64 {
        (self.losses + self.gains[0]) / self.rows
    }

    /// Whether the gain over no weights is larger than chance explains.
    pub fn is_better_than_nothing(&self) -> bool {
        (0..2).map(|k| self.gain(k)).all(|(mean, se)| mean > SURE * se)
    }

    /// Whether the loss is above that of the heads that it was compared with in place of those without weights, by more than chance
    /// explains.
    pub fn is_behind(&self) -> bool {
        let (mean, se) = self.gain(0);
        mean < -BEHIND * se
    }

    /// The mean gain against one of the biases, and its standard error.
    fn gain(&self, k: usize) -> (f64, f64) {
        let mean = self.gains[k] / self.rows;
        let variance = (self.squares[k] / self.rows - mean * mean).max(0.0);
        (mean, (variance / self.rows).sqrt())
    }
}

impl State for HoldoutScore {
    fn fields(&mut self, fields: &mut Fields) {
        let numbers = [&mut self.rows, &mut self.losses, &mut self.squared_losses, &mut self.limited];
        numbers.into_iter().for_each(|number| number.fields(fields));
        self.gains.fields(fields);
        self.squares.fields(fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_counts_from_two_standard_errors_on_and_against_both_biases() {
        // Gains of variance one on a hundred rows: a standard error of 0.1.
        let held = |means: [f64; 2]| HoldoutScore {
            rows: 100.0,
            losses: 50.0,
            squared_losses: 50.0,
            gains: means.map(|mean| 100.0 * mean),
            squares: means.map(|mean| 100.0 * (1.0 + mean * mean)),
            limited: 50.0,
        };
        assert!(held([0.21, 0.21]).is_better_than_nothing());
        assert!(!held([0.19, 0.5]).is_better_than_nothing());
        assert!(!held([0.5, 0.19]).is_better_than_nothing(), "the bias's gain");
        assert!(!HoldoutScore::LOST.and(held([0.5, 0.5])).is_better_than_nothing());
        let folds = held([0.15, 0.15]).and(held([0.15, 0.15]));
        assert!(folds.is_better_than_nothing(), "twice the rows, an error of 0.07");
        assert_eq!((folds.loss(), folds.loss_of_nothing()), (0.5, 0.65));
        assert!(held([-0.31, 0.5]).is_behind() && !held([-0.29, -0.5]).is_behind(), "three errors");
        assert!(HoldoutScore::LOST.is_behind());
        assert_eq!(held([0.0, 0.0]).se(), 0.05, "losses of 0 and 1 on a hundred rows");
        assert!(HoldoutScore::LOST.se().is_nan());
    }
}
