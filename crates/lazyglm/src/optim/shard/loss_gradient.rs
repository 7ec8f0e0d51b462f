//! Loss and gradient of a shard at a point.
//!
//! ```text
//! sᵢ = w·xᵢ + b      Σωᵢℓ(sᵢ, yᵢ)      gⱼ = Σωᵢℓ′(sᵢ, yᵢ)xᵢⱼ      ∂b = Σωᵢℓ′(sᵢ, yᵢ)      Σωᵢℓ″(sᵢ, yᵢ)
//! ```

use crate::data::rows::Examples;
use crate::problem::loss::Loss;

/// Sums over the rows of a shard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossGradient {
    /// The loss Σωℓ.
    pub loss: f64,
    /// The derivative Σωℓ′ with respect to the bias.
    pub slopes: f64,
    /// The sum of second derivatives Σωℓ″.
    pub second_derivatives: f64,
    /// The gradient Σωℓ′x.
    pub gradient: Vec<f64>,
}

/// Computes loss and gradient of a shard at (w, b).
///
/// ```
/// use lazyglm::{Examples, Rows, loss, optim::shard};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], Some(&[10.0])).unwrap();
/// let at = shard::loss_gradient(examples, &*loss::parse("squared").unwrap(), &[1.0], 0.5);
/// assert_eq!((at.loss, at.slopes, at.second_derivatives, at.gradient[0]), (10.0 * 0.125, 10.0 * -0.5, 10.0, 10.0 * -0.5 * 2.0));
/// ```
pub fn loss_gradient(examples: Examples, loss: &dyn Loss, weights: &[f64], bias: f64) -> LossGradient {
    let mut sums = LossGradient { gradient: vec![0.0; weights.len()], ..LossGradient::default() };
    for i in 0..examples.len() {
        let weight = examples.weight(i);
        let score = examples.score(i, weights, bias);
        let [value, slope, second_derivative] =
            loss.taylor(score, examples.targets[i]).map(|number| weight * number);
        sums.loss += value;
        sums.slopes += slope;
        sums.second_derivatives += second_derivative;
        if slope != 0.0 {
            examples.rows.for_each(i, |j, x| sums.gradient[j] += slope * x);
        }
    }
    sums
}
