//! Loss derivatives that sum to zero, as a dual point needs them if there is a bias.
//!
//! ```text
//! δ: Σᵢ ωᵢ·∂ℓ(sᵢ + δ, yᵢ) = 0        the sum increases with δ; if it jumps over zero, the derivatives of both sides are mixed
//! ```

use super::{CHUNK, ScoredRow};
use crate::problem::loss::{Derivatives, Loss};
use rayon::prelude::*;

/// Number of rows whose derivatives are computed together.
const BLOCK: usize = 256;
/// Relative width of the bracket of δ for a smooth loss. Mixed derivatives at its ends sum to zero as well as those at δ, and differ from
/// them by the square of the width.
const SMOOTH: f64 = 1e-6;

/// The loss derivative of each row at its score. With a bias, scores are shifted so that the weighted sum is
/// zero.
pub(crate) fn balanced_slopes(kept: &[ScoredRow], loss: &dyn Loss, with_bias: bool) -> Vec<f64> {
    let (low, high, share) = match with_bias {
        false => (0.0, 0.0, 0.0),
        true => match balance(kept, loss) {
            Some(found) => found,
            None => return vec![0.0; kept.len()], // all derivatives have the same sign, so only the zero vector sums to zero
        },
    };
    let mut slopes = vec![0.0; kept.len()];
    slopes.par_chunks_mut(CHUNK).zip(kept.par_chunks(CHUNK)).for_each(|(slopes, kept)| {
        for_each_shifted(kept, loss, low, |k, slope, _| slopes[k] = slope);
        if share == 0.0 {
            return;
        }
        for_each_shifted(kept, loss, high, |k, above, _| {
            let below = slopes[k];
            let mixed = (1.0 - share) * below + share * above;
            slopes[k] = mixed.clamp(below.min(above), below.max(above)); // rounding must not leave the domain
        });
    });
    slopes
}

/// ωℓ″ of each row at its score, or 0 where it is undefined.
pub(super) fn curvature_of(kept: &[ScoredRow], loss: &dyn Loss) -> Vec<f64> {
    let mut curvature = vec![0.0; kept.len()];
    curvature.par_chunks_mut(CHUNK).zip(kept.par_chunks(CHUNK)).for_each(|(curvature, kept)| {
        for_each_shifted(kept, loss, 0.0, |k, _, second| curvature[k] = kept[k].weight * second);
    });
    curvature
}

/// Calls `see(row, first derivative, second derivative)` for rows whose scores are shifted; the second derivative is 0 where it is
/// undefined.
fn for_each_shifted(kept: &[ScoredRow], loss: &dyn Loss, shift: f64, mut see: impl FnMut(usize, f64, f64)) {
    let [mut scores, mut targets, mut values, mut slopes, mut second] = [[0.0; BLOCK]; 5];
    for (start, kept) in (0..).step_by(BLOCK).zip(kept.chunks(BLOCK)) {
        let n = kept.len();
        for (k, row) in kept.iter().enumerate() {
            (scores[k], targets[k]) = (row.score + shift, row.target);
        }
        let (values, slopes, second_derivatives) = (&mut values[..n], &mut slopes[..n], &mut second[..n]);
        loss.taylor_of_rows(&scores[..n], &targets[..n], Derivatives { values, slopes, second_derivatives });
        for k in 0..n {
            see(start + k, slopes[k], second_derivatives[k]);
        }
    }
}

/// Two shifts of the bias that bracket the best one, and the mixing share of the second at which derivatives
/// sum to zero.
///
/// `None` if the sum has the same sign for every bias.
fn balance(kept: &[ScoredRow], loss: &dyn Loss) -> Option<(f64, f64, f64)> {
    let total = |b: f64| {
        let of_chunk = |kept: &[ScoredRow]| {
            let (mut sum, mut rise) = (0.0, 0.0);
            for_each_shifted(kept, loss, b, |k, slope, second| {
                let weight = kept[k].weight;
                (sum, rise) = (sum + weight * slope, rise + weight * second);
            });
            [sum, rise]
        };
        let chunks: Vec<[f64; 2]> = kept.par_chunks(CHUNK).map(of_chunk).collect();
        let [sum, rise] = chunks.iter().fold([0.0; 2], |all, one| [all[0] + one[0], all[1] + one[1]]);
        (b, sum, rise)
    };
    let newton = |(b, sum, rise): (f64, f64, f64)| if rise > 0.0 { b - sum / rise } else { f64::NAN };
    let start = total(0.0);
    let mut step = 1e-6f64.max(1.5 * newton(start).abs()).min(1.0); // 1e-6 for NaN
    let (mut low, mut high) = (start, start);
    // The sum increases with b. Move with growing steps until the sign changes.
    while high.1 < 0.0 && step < 1e300 {
        low = high;
        high = total(step);
        step *= 8.0;
    }
    while low.1 > 0.0 && step < 1e300 {
        high = low;
        low = total(-step);
        step *= 8.0;
    }
    if !(low.1 <= 0.0 && high.1 >= 0.0) {
        return None;
    }
    // Try in turn: Newton's step or the secant, a point beside the nearer end, and the midpoint.
    let width = if loss.has_kinks() { 1e-8 } else { SMOOTH };
    let narrow = |low: f64, high: f64| width * (1.0 + low.abs().max(high.abs()));
    for turn in 0..200 {
        let (a, b) = (low.0, high.0);
        if b - a <= narrow(a, b) || low.1 == 0.0 || high.1 == 0.0 {
            break;
        }
        let lower_is_nearer = -low.1 < high.1;
        let at = match turn % 3 {
            0 => match newton(if lower_is_nearer { low } else { high }) {
                at if at > a && at < b => at,
                _ => a - low.1 * (b - a) / (high.1 - low.1),
            },
            1 if lower_is_nearer => a + 0.5 * narrow(a, b),
            1 => b - 0.5 * narrow(a, b),
            _ => 0.5 * (a + b),
        };
        let at = if at > a && at < b { at } else { 0.5 * (a + b) };
        match total(at) {
            end if end.1 <= 0.0 => low = end,
            end => high = end,
        }
    }
    let share = if low.1 == 0.0 { 0.0 } else { -low.1 / (high.1 - low.1) };
    Some((low.0, high.0, share))
}
