//! A lower bound on F from the loss derivatives that a quadratic model predicts.
//!
//! ```text
//! u = ℓ′(s) + D·Xd         after the full step d to the minimum of the model: |(Xᵀωu)ⱼ| ≤ nλ₁ and Σωu = 0 hold there
//! D(θu) = −Σ ω(ℓ*(θu) − θu·o)/n − Σ r*(−θ(Xᵀωu)ⱼ/n)            ≤ F* for any u with Σωu = 0, and the θ that the constraints allow
//! ```
//!
//! The derivatives of F after the step violate the constraints by what the model misses of F, so that θ is smaller, and the loss of D
//! is of first order in 1 − θ. Those of the model miss the maximum of D by the square of the same. What the model itself misses of its
//! minimum is mended column by column ([`DualPoint`]).

use super::line::ROUNDING;
use super::point::Point;
use super::{Newton, Problem};
use crate::data::rows::Value;
use crate::optim::kernel::ColumnStore;
use crate::problem::dual_point::{DualPoint, FewColumns};

impl<V: Value> Newton<'_, V> {
    /// The dual value of derivatives ωu near those of a point, or of others near them; `None` if they cannot be balanced. Takes one
    /// pass, and a few more if the constraints of some columns are far from satisfied.
    pub(super) fn dual_value(
        &self,
        point: &Point,
        slopes: Vec<f64>,
        columns: &impl ColumnStore,
    ) -> Option<f64> {
        let &Problem { examples, loss, weighted_penalty, bias } = self.problem;
        if weighted_penalty.penalty.is_none() {
            return None;
        }
        let (own, curvature) = (&point.slopes[..], &point.second_derivatives[..]);
        let few = |set: &[u32]| {
            let by_column = || FewColumns::by_column(examples.len(), set, |j, see| columns.for_each(j, see));
            columns.instead_of_copy(set).is_none().then(by_column)
        };
        let (weights, objective) = (&point.weights[..], point.value / self.n);
        let near = DualPoint {
            examples,
            loss,
            weighted_penalty,
            bias,
            own,
            curvature,
            weights,
            objective,
            few: &few,
        };
        let products = |slopes: &[f64]| {
            let mut gradient = vec![0.0; point.gradient.len()];
            columns.products(slopes, &mut gradient);
            gradient
        };
        let mut best = None;
        near.improve(slopes, None, self.options.tolerance, products, |slopes, gradient| {
            let dual = self.dual_of(point, slopes, gradient);
            if dual.is_finite() && best.is_none_or(|best| dual > best) {
                best = Some(dual);
            }
            (objective - dual) / objective.abs()
        });
        best
    }

    /// D(θu) for the largest θ ≤ 1 that the constraints allow.
    fn dual_of(&self, point: &Point, slopes: &[f64], gradient: &[f64]) -> f64 {
        let one = |j: usize| (self.problem.weighted_penalty.one(j), gradient[j] / self.n);
        let share = (0..gradient.len()).map(one).map(|(one, g)| one.share(g)).fold(1.0, f64::min);
        let of_weights: f64 = (0..gradient.len()).map(one).map(|(one, g)| one.conjugate(share * g)).sum();
        // Less the rounding error of the sums: a bound that reaches F would prove any tolerance.
        -self.conjugates(slopes, share) / self.n - of_weights - ROUNDING * point.value.abs() / self.n
    }
}
