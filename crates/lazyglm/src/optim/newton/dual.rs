//! A lower bound on F from the loss derivatives that a quadratic model predicts.
//!
//! ```text
//! u = ℓ′(s) + D·Xd         after the full step d to the minimum of the model: |(Xᵀωu)ⱼ| ≤ nλ₁ and Σωu = 0 hold there
//! D(θu) = −Σ ω(ℓ*(θu) − θu·o)/n − Σ r*(−θ(Xᵀωu)ⱼ/n)            ≤ F* for any u with Σωu = 0, and the θ that the constraints allow
//! ```
//!
//! The derivatives of F after the step violate the constraints by what the model misses of F, so that θ is smaller, and the loss of D
//! is of first order in 1 − θ. Those of the model miss the maximum of D by the square of the same.

use super::Newton;
use super::line::ROUNDING;
use super::point::{Point, total, total_size};
use crate::data::rows::Value;
use crate::optim::kernel::ColumnStore;

/// Derivatives that sum to this share of their magnitudes are balanced: it is their rounding error.
const BALANCED: f64 = 1e-13;
/// Maximum number of shifts that balance them.
const SHIFTS: usize = 4;

impl<V: Value> Newton<'_, V> {
    /// The dual value of derivatives ωu near those of a point, or `None` if they cannot be balanced. Takes one pass.
    pub(super) fn dual_value(
        &self,
        point: &Point,
        mut slopes: Vec<f64>,
        columns: &impl ColumnStore,
    ) -> Option<f64> {
        let weighted_penalty = &self.problem.weighted_penalty;
        if weighted_penalty.penalty.is_none() {
            return None;
        }
        // Where the model leaves the domain of ℓ*, the row has its own derivative.
        let conjugates = self.conjugates_of_rows(&slopes, 1.0);
        for (i, _) in conjugates.iter().enumerate().filter(|(_, conjugate)| !conjugate.is_finite()) {
            slopes[i] = point.slopes[i];
        }
        if self.problem.bias && !self.balance(point, &mut slopes) {
            return None;
        }
        let mut gradient = vec![0.0; point.gradient.len()];
        columns.products(&slopes, &mut gradient);
        let one = |j: usize| (weighted_penalty.one(j), gradient[j] / self.n);
        let share = (0..gradient.len()).map(one).map(|(one, g)| one.share(g)).fold(1.0, f64::min);
        let of_weights: f64 = (0..gradient.len()).map(one).map(|(one, g)| one.conjugate(share * g)).sum();
        // Less the rounding error of the sums: a bound that reaches F would prove any tolerance.
        let dual =
            -self.conjugates(&slopes, share) / self.n - of_weights - ROUNDING * point.value.abs() / self.n;
        Some(dual).filter(|dual| dual.is_finite())
    }

    /// Shifts derivatives along the second derivatives until they sum to zero; returns whether they do.
    fn balance(&self, point: &Point, slopes: &mut [f64]) -> bool {
        for _ in 0..SHIFTS {
            let (sum, curvature) = (total(slopes), total(&point.second_derivatives));
            if sum.abs() <= BALANCED * total_size(slopes) {
                return true;
            }
            let shift = -sum / curvature;
            slopes.iter_mut().zip(&point.second_derivatives).for_each(|(slope, d)| *slope += shift * d);
        }
        false
    }
}
