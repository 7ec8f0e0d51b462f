//! Better dual variables for a piecewise-linear loss: rows near a kink may have any derivative between those of both sides.
//!
//! ```text
//! ℓ(s) = max over c in [low, high] of c(t − s) − ε|c|       u = −c        A = Σᵢ ωᵢcᵢxᵢ
//! w′ = argmin n·R(v) + ½nρ‖v − w‖² − A·v = soft(A + nρw, nλ₁)/L       L = n(λ₂ + ρ)
//! cᵢ ← clip(soft(cᵢ + (tᵢ − xᵢ·w′ − b)/qᵢ; ε/qᵢ))       qᵢ = ωᵢ(‖xᵢ‖²/L + β)
//! ```
//!
//! At the optimum w, the problem with the additional term ½ρ‖v − w‖² has the same solution and the same dual
//! variables, but far better condition, also for λ₂ = 0. So a few sweeps of dual coordinate ascent over the rows
//! nearest to a kink suffice. Any result is a valid dual point, because the bound is computed from it anew.

use super::gap::ScoredRow;
use crate::data::rows::Examples;
use crate::problem::loss::{LinearPieces, Loss};
use crate::problem::penalty::WeightedPenalty;
use crate::util::random::permutation;

/// Share of the rows that count as near a kink.
const NEAR: f64 = 0.2;
/// At least this many rows count as near a kink.
const FEW: usize = 1000;
/// β, relative to mean‖x‖²/L.
const KAPPA: f64 = 0.03;
/// Maximum number of sweeps over the near rows per round.
const SWEEPS: u64 = 12;
/// Maximum number of numbers touched per round, in passes over all rows.
const PASSES: usize = 5;
/// Each round divides ρ by ten, because weights that are not quite optimal cause an error of about ρ/λ₂ times theirs.
const ROUNDS: u64 = 4;

/// Dual variables c during the ascent.
struct NearKinks<'a> {
    examples: Examples<'a>,
    pieces: Vec<LinearPieces>,
    centre: &'a [f64], // w
    penalty: WeightedPenalty<'a>,
    duals: Vec<f64>,    // c
    products: Vec<f64>, // A
    near: Vec<u32>,
    rho: f64, // nρ
    beta: f64,
    bias: f64,
    sum: f64, // Σωc
}

/// Improves derivatives near kinks by dual ascent, if the loss is piecewise linear. `slopes` are derivatives whose
/// weighted sum is zero if there is a bias. Calls `offer` with better ones after each round, until it returns false.
pub(super) fn ascend(
    examples: Examples,
    loss: &dyn Loss,
    penalty: WeightedPenalty,
    weights: &[f64],
    with_bias: bool,
    kept: &[ScoredRow],
    slopes: &[f64],
    offer: &mut dyn FnMut(&[f64]) -> bool,
) {
    let pieces: Option<Vec<LinearPieces>> =
        examples.targets.iter().map(|target| loss.linear_pieces(*target)).collect();
    let Some(pieces) = pieces else { return };
    let bias = if with_bias { best_shift(&pieces, kept) } else { 0.0 };
    let distance = |i: usize| {
        let g = (pieces[i].centre - kept[i].score - bias).abs();
        (g - pieces[i].epsilon).abs()
    };
    let mut near: Vec<u32> = (0..kept.len() as u32).collect();
    let count = ((NEAR * kept.len() as f64) as usize).max(FEW);
    if count < near.len() {
        near.select_nth_unstable_by(count, |&a, &b| {
            distance(a as usize).total_cmp(&distance(b as usize)).then(a.cmp(&b))
        });
        near.truncate(count);
        near.sort_unstable();
    }
    let mut products = vec![0.0; weights.len()];
    let duals: Vec<f64> = slopes.iter().map(|u| -u).collect();
    for (i, c) in duals.iter().enumerate().filter(|(_, c)| **c != 0.0) {
        examples.rows.for_each(i, |j, x| products[j] += examples.weight(i) * c * x);
    }
    let square = |i: usize| {
        let mut square = 0.0;
        examples.rows.for_each(i, |_, x| square += x * x);
        square
    };
    let squares: Vec<f64> = near.iter().map(|&i| square(i as usize)).collect();
    let total: f64 = squares.iter().sum();
    let mut state = NearKinks {
        examples,
        pieces,
        centre: weights,
        penalty,
        duals,
        products,
        near,
        rho: total.max(f64::MIN_POSITIVE),
        beta: 0.0,
        bias: 0.0,
        sum: 0.0,
    };
    // Scores of the ascent are without bias; `kept` has the one of the model.
    let first = state.near.first().map_or(0, |&i| i as usize);
    let given = kept.get(first).map_or(0.0, |row| row.score - row.offset - examples.rows.dot(first, weights));
    state.bias = if with_bias { given + bias } else { 0.0 };
    for round in 0..ROUNDS {
        state.run(round, &squares, with_bias);
        let mut slopes: Vec<f64> = state.duals.iter().map(|c| -c).collect();
        if with_bias {
            balance(&state.pieces, &mut slopes, kept, bias);
        }
        if !offer(&slopes) {
            break;
        }
        state.rho *= 0.1;
    }
}

impl NearKinks<'_> {
    /// The weight w′ⱼ, from A.
    fn weight(&self, j: usize) -> f64 {
        let (n, own) = (self.examples.len() as f64, self.penalty.at(j));
        let reached = self.products[j] + self.rho * self.centre[j];
        let beyond = n * self.penalty.excess_gradient(j, -reached / n);
        self.penalty.one(j).clip(beyond.copysign(reached) / (n * own.l2 + self.rho))
    }

    /// Runs the sweeps of one round.
    fn run(&mut self, round: u64, squares: &[f64], with_bias: bool) {
        let least = self.examples.len() as f64 * self.penalty.penalty.l2 + self.rho;
        let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
        self.beta = if with_bias { KAPPA * mean / least } else { 0.0 };
        let nonzeros: usize = self.near.iter().map(|&i| self.row_len(i as usize)).sum();
        let most = PASSES * self.examples.rows.nonzeros();
        let mut held = self.bias;
        for sweep in 0..SWEEPS {
            if sweep as usize * 2 * nonzeros > most {
                break;
            }
            let mut moved = 0.0;
            for k in permutation(self.near.len(), 1, round * SWEEPS + sweep) {
                moved += self.visit(k as usize, squares, least);
            }
            held += self.beta * self.sum;
            self.bias = held + self.beta * self.sum;
            if moved == 0.0 {
                break;
            }
        }
    }

    fn row_len(&self, i: usize) -> usize {
        let mut len = 0;
        self.examples.rows.for_each(i, |_, _| len += 1);
        len
    }

    /// Moves the dual variable of a near row to its best. Returns how far it moved.
    fn visit(&mut self, k: usize, squares: &[f64], least: f64) -> f64 {
        let i = self.near[k] as usize;
        let (pieces, omega) = (self.pieces[i], self.examples.weight(i));
        let q = omega * (squares[k] / least + self.beta);
        if q.is_nan() || q <= 0.0 {
            return 0.0;
        }
        let mut score = self.bias + self.examples.offset(i);
        self.examples.rows.for_each(i, |j, x| score += x * self.weight(j));
        let aim = self.duals[i] + (pieces.centre - score) / q;
        let shrunk = (aim.abs() - pieces.epsilon / q).max(0.0).copysign(aim);
        let new = shrunk.clamp(pieces.low, pieces.high);
        let by = omega * (new - self.duals[i]);
        if by == 0.0 || !by.is_finite() {
            return 0.0;
        }
        self.duals[i] = new;
        self.sum += by;
        self.bias += self.beta * by;
        self.examples.rows.for_each(i, |j, x| self.products[j] += by * x);
        by.abs()
    }
}

/// Moves derivatives until their weighted sum is zero, those of the rows that lose least by it first.
fn balance(pieces: &[LinearPieces], slopes: &mut [f64], kept: &[ScoredRow], shift: f64) {
    let mut excess: f64 = kept.iter().zip(slopes.iter()).map(|(row, u)| row.weight * u).sum();
    let sign = excess.signum();
    let key = |i: usize| -sign * (pieces[i].centre - kept[i].score - shift);
    let mut order: Vec<(f64, u32)> = (0..kept.len()).map(|i| (key(i), i as u32)).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (_, i) in order {
        let i = i as usize;
        let [low, high] = [-pieces[i].high, -pieces[i].low];
        let end = if sign > 0.0 { low } else { high };
        let by = (excess.abs() / kept[i].weight).min((slopes[i] - end).abs());
        slopes[i] = (slopes[i] - sign * by).clamp(low, high);
        excess -= sign * by * kept[i].weight;
        if excess * sign <= 0.0 {
            break;
        }
    }
}

/// The change of the bias that minimises the loss: where the sum of jumps, in order, reaches the slope below all kinks.
fn best_shift(pieces: &[LinearPieces], kept: &[ScoredRow]) -> f64 {
    let mut kinks = Vec::with_capacity(2 * kept.len());
    let mut left = 0.0;
    for (pieces, row) in pieces.iter().zip(kept) {
        let at = pieces.centre - row.score;
        kinks.push((at - pieces.epsilon, row.weight * pieces.high));
        kinks.push((at + pieces.epsilon, -row.weight * pieces.low));
        left += row.weight * pieces.high;
    }
    kinks.retain(|(_, jump)| *jump > 0.0);
    kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut last = 0.0;
    for (at, jump) in kinks {
        last = at;
        left -= jump;
        if left <= 0.0 {
            break;
        }
    }
    last
}
