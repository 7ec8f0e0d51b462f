//! The loss of a shard at points on a segment, in one pass.
//!
//! ```text
//! Lₖ = Σωᵢℓ(sᵢ + θₖ(s′ᵢ − sᵢ), yᵢ)          s and s′ the scores at both ends
//! ```

use crate::data::rows::Examples;
use crate::problem::loss::Loss;

/// Weights and bias.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// The weights w.
    pub weights: &'a [f64],
    /// The bias b.
    pub bias: f64,
}

/// Computes the losses at the shares `thetas` of the segment from one point to another.
///
/// ```
/// use lazyglm::{Examples, Rows, loss, optim::shard};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], None).unwrap();
/// let [from, to] = [0.0, 1.0].map(|w| shard::Point { weights: if w == 0.0 { &[0.0] } else { &[1.0] }, bias: 1.0 });
/// let losses = shard::line_losses(examples, &*loss::parse("squared").unwrap(), from, to, &[0.0, 0.5, 1.0]);
/// assert_eq!(losses, [2.0, 0.5, 0.0]);
/// ```
pub fn line_losses(examples: Examples, loss: &dyn Loss, from: Point, to: Point, thetas: &[f64]) -> Vec<f64> {
    let mut losses = vec![0.0; thetas.len()];
    for i in 0..examples.len() {
        let [start, end] = [from, to].map(|at| examples.score(i, at.weights, at.bias));
        let (weight, target) = (examples.weight(i), examples.targets[i]);
        for (sum, theta) in losses.iter_mut().zip(thetas) {
            *sum += weight * loss.value(start + theta * (end - start), target);
        }
    }
    losses
}
