//! The zero test at the end of scikit-learn's `fit`: which weights of the last step are zero at their own optimum.
//!
//! ```text
//! wⱼ is set to zero if  |(Σᵢ ωᵢ·xᵢⱼ·ℓ′(sᵢ − k·wⱼxᵢⱼ, yᵢ))/n| ≤ λ₁
//! ```
//!
//! With k = 1, this is the condition that zero is the optimum of wⱼ while the other weights stay. SGD leaves rare features with the weight
//! of their latest step, and most of these weights fail the test. Many weights change at once, so the objective may rise; then
//! k = 2, 4, 8, which sets fewer to zero. The test holds for losses with kinks as well, where ℓ′ is a subgradient.

use super::side_by_side::Look;
use crate::problem::lent::Lent;
use crate::problem::loss::Loss;
use crate::problem::penalty::ElasticNet;
use crate::problem::source::Source;
use crate::util::error::Result;

/// The factors k, tried in this order.
const TIMES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// Tests in a row: each sees the scores that the last one left.
const ROUNDS: usize = 3;

/// The columns whose weights are to be zero, ascending: none if that does not lower the objective. Takes two passes over the rows or
/// more, and calls `look` between batches.
pub fn zeros(
    loss: &dyn Loss,
    lent: &Lent,
    penalty: ElasticNet,
    weights: &[f64],
    bias: f64,
    look: Look,
) -> Result<Vec<u32>> {
    let mut fewer = weights.to_vec();
    if penalty.l1 > 0.0 {
        for _ in 0..ROUNDS {
            if !once(loss, lent, penalty, &mut fewer, bias, look)? {
                break;
            }
        }
    }
    let gone = fewer.iter().zip(weights).enumerate().filter(|(_, (now, before))| now != before);
    Ok(gone.map(|(j, _)| j as u32).collect())
}

/// One test; whether it lowered the objective, and the weights with it.
fn once(
    loss: &dyn Loss,
    lent: &Lent,
    penalty: ElasticNet,
    weights: &mut Vec<f64>,
    bias: f64,
    look: Look,
) -> Result<bool> {
    for times in TIMES {
        let mut gradient = vec![0.0; weights.len()];
        let before = sum_of_losses(loss, lent, weights, bias, look, &mut |rows, i, score, slope| {
            rows.for_each(i, |j, x| {
                if weights[j] != 0.0 {
                    gradient[j] += slope(score - times * weights[j] * x) * x;
                }
            });
        })?;
        let n = lent.rows() as f64;
        let stays = |(&w, &g): (&f64, &f64)| if (g / n).abs() <= penalty.l1 { 0.0 } else { w };
        let fewer: Vec<f64> = weights.iter().zip(&gradient).map(stays).collect();
        if fewer == *weights {
            return Ok(false);
        }
        let after = sum_of_losses(loss, lent, &fewer, bias, look, &mut |_, _, _, _| {})?;
        if after / n + penalty.value(&fewer) <= before / n + penalty.value(weights) {
            *weights = fewer;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Called with a batch of rows, a row, its score, and the weighted derivative of its loss as a function of the score.
type SeeRow<'a> = &'a mut dyn FnMut(crate::data::rows::RowsRef, usize, f64, &dyn Fn(f64) -> f64);

/// The sum of the weighted losses of all rows; calls `see` for each row, and `look` between batches.
fn sum_of_losses(
    loss: &dyn Loss,
    lent: &Lent,
    weights: &[f64],
    bias: f64,
    look: Look,
    see: SeeRow,
) -> Result<f64> {
    let mut sum = 0.0;
    lent.pass(&mut |batch| {
        look()?;
        let examples = batch.examples();
        for i in batch.order.iter().map(|&i| i as usize) {
            let score = examples.score(i, weights, bias);
            let (target, weight) = (examples.targets[i], examples.weight(i));
            sum += weight * loss.value(score, target);
            see(examples.rows, i, score, &|score| weight * loss.slope(score, target));
        }
        Ok(())
    })?;
    Ok(sum)
}
