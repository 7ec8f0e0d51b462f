//! Second derivatives of the loss per row, from which the Hessian of a shard is computed.
//!
//! ```text
//! sᵢ = w·xᵢ + b      hᵢ = ωᵢℓ″(sᵢ, yᵢ)          ∇²Σωℓ = Σᵢ hᵢxᵢxᵢᵀ
//! ```

use super::Point;
use crate::data::rows::Examples;
use crate::problem::loss::Loss;

/// Computes the weighted second derivative of the loss of each row, at its score.
///
/// ```
/// use lazyglm::{Examples, Rows, loss, optim::shard};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[1.0], Some(&[8.0])).unwrap();
/// let at = shard::Point { weights: &[0.5], bias: -1.0 };
/// assert_eq!(shard::second_derivatives(examples, &*loss::parse("logistic").unwrap(), at), [8.0 * 0.25]);
/// ```
pub fn second_derivatives(examples: Examples, loss: &dyn Loss, at: Point) -> Vec<f64> {
    let one = |i| {
        let score = examples.score(i, at.weights, at.bias);
        examples.weight(i) * loss.taylor(score, examples.targets[i])[2]
    };
    (0..examples.len()).map(one).collect()
}
