//! Sums over all rows at a snapshot of the weights.

use super::Svrg;
use crate::data::rows::Examples;
use crate::problem::loss::Loss;
use rayon::prelude::*;

/// Number of parts in which gradients are summed, each by one thread. The parts are added in order, so the
/// bits do not depend on the number of threads.
const PARTS: usize = 4;

/// Sums over all rows at the snapshot.
pub(super) struct Sums {
    pub rows: usize,
    pub losses: f64,
    pub second_derivatives: f64,
    pub slopes: f64,
    pub lengths: f64,            // Lᵢ/c
    pub gradient: Vec<[f64; 2]>, // Σωℓ′x and Σωℓ″x
}

impl Sums {
    pub fn new(columns: usize) -> Sums {
        Sums {
            rows: 0,
            losses: 0.0,
            second_derivatives: 0.0,
            slopes: 0.0,
            lengths: 0.0,
            gradient: vec![[0.0; 2]; columns],
        }
    }

    fn of(model: &Svrg, loss: &dyn Loss, examples: Examples, rows: std::ops::Range<usize>) -> Sums {
        let mut sums = Sums::new(model.states.len());
        for i in rows {
            let (mut score, mut length) = (model.bias.now, f64::from(u8::from(model.bias.learns)));
            examples.rows.for_each(i, |j, x| {
                let state = &model.states[j];
                score += x * state.weight;
                length += x * x * f64::from(state.swift);
            });
            let (weight, [value, slope, second_derivative]) =
                (examples.weight(i), loss.taylor(score + examples.offset(i), examples.targets[i]));
            sums.losses += weight * value;
            sums.second_derivatives += weight * second_derivative;
            sums.slopes += weight * slope;
            sums.lengths += weight * length;
            let (slope, second_derivative) = (weight * slope, weight * second_derivative);
            examples.rows.for_each(i, |j, x| {
                let [of_slope, of_curvature] = &mut sums.gradient[j];
                *of_slope += slope * x;
                *of_curvature += second_derivative * x;
            });
            sums.rows += 1;
        }
        sums
    }

    /// Adds the sums over some rows: all parts at once, or in little memory one after the other.
    pub fn add_rows(&mut self, model: &Svrg, loss: &dyn Loss, examples: Examples) {
        let of_part = examples.len().div_ceil(PARTS);
        let part = |k: usize| (k * of_part).min(examples.len())..((k + 1) * of_part).min(examples.len());
        let sums = |k: usize| Sums::of(model, loss, examples, part(k));
        if model.lean {
            return (0..PARTS).for_each(|k| self.add(sums(k)));
        }
        let parts: Vec<Sums> = (0..PARTS).into_par_iter().map(sums).collect();
        parts.into_iter().for_each(|sums| self.add(sums));
    }

    fn add(&mut self, more: Sums) {
        self.rows += more.rows;
        self.losses += more.losses;
        self.second_derivatives += more.second_derivatives;
        self.slopes += more.slopes;
        self.lengths += more.lengths;
        for (sum, more) in self.gradient.iter_mut().zip(more.gradient) {
            *sum = [sum[0] + more[0], sum[1] + more[1]];
        }
    }
}
