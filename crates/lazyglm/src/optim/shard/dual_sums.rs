//! The sums of a dual bound, per shard.
//!
//! ```text
//! D(u) = −(Σᵢ ωᵢ·(ℓ*(uᵢ, yᵢ) − uᵢoᵢ))/n − Σⱼ (|gⱼ| − λ₁)₊²/(2λ₂)        gⱼ = (Σᵢ ωᵢuᵢxᵢⱼ)/n
//! ```
//!
//! as in [`objective::certify`](crate::eval::objective::certify), for derivatives u that sum to zero if there
//! is a bias. The leader uses [`slope_sums`] to find the shift of the bias that achieves this, as a mixture
//! of two adjacent shifts. [`dual_sums`] then computes the gradient of these derivatives, and Σω(ℓ* − uo) for some
//! shares of them.

use super::Point;
use crate::data::rows::Examples;
use crate::problem::loss::Loss;

/// A mixture of two shifts of the bias.
#[derive(Clone, Copy, Debug, Default)]
pub struct Move {
    /// The first shift.
    pub low: f64,
    /// The second shift.
    pub high: f64,
    /// Weight of the second shift, from 0 to 1.
    pub share: f64,
}

/// Sums over the rows of a shard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DualSums {
    /// The sum Σωu.
    pub slopes: f64,
    /// The sums Σω(ℓ*(θu) − θu·o), one per requested share θ, where o is the row's offset.
    pub conjugates: Vec<f64>,
    /// The gradient Σωux.
    pub gradient: Vec<f64>,
}

/// Computes Σωℓ′ with the bias shifted by each of `moves`.
///
/// ```
/// use lazyglm::{Examples, Rows, loss, optim::shard};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], None).unwrap();
/// let at = shard::Point { weights: &[1.0], bias: 0.5 };
/// assert_eq!(shard::slope_sums(examples, &*loss::parse("squared").unwrap(), at, &[0.0, 0.5]), [-0.5, 0.0]);
/// ```
pub fn slope_sums(examples: Examples, loss: &dyn Loss, at: Point, moves: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; moves.len()];
    for i in 0..examples.len() {
        let score = examples.score(i, at.weights, at.bias);
        for (sum, by) in sums.iter_mut().zip(moves) {
            *sum += examples.weight(i) * loss.slope(score + by, examples.targets[i]);
        }
    }
    sums
}

/// Computes the sums of a dual bound, with derivatives at scores shifted by `by`.
pub fn dual_sums(examples: Examples, loss: &dyn Loss, at: Point, by: Move, shares: &[f64]) -> DualSums {
    let (gradient, conjugates) = (vec![0.0; at.weights.len()], vec![0.0; shares.len()]);
    let mut sums = DualSums { slopes: 0.0, conjugates, gradient };
    for i in 0..examples.len() {
        let (weight, target) = (examples.weight(i), examples.targets[i]);
        let score = examples.score(i, at.weights, at.bias);
        let [low, high] = [by.low, by.high].map(|by| loss.slope(score + by, target));
        // Rounding must not leave the domain of ℓ*.
        let slope = ((1.0 - by.share) * low + by.share * high).clamp(low.min(high), low.max(high));
        sums.slopes += weight * slope;
        for (sum, share) in sums.conjugates.iter_mut().zip(shares) {
            *sum += weight * (loss.conjugate(share * slope, target) - share * slope * examples.offset(i));
        }
        examples.rows.for_each(i, |j, x| sums.gradient[j] += weight * slope * x);
    }
    sums
}
