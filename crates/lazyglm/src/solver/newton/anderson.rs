//! Anderson extrapolation: where a sequence of sweeps is going, guessed from the last few (Bertrand & Massias 2021).
//!
//! ```text
//! U = (x₁ − x₀, …, x_K − x_{K−1})      c = (UᵀU)⁻¹1 / (1ᵀ(UᵀU)⁻¹1)      x̂ = Σₖ cₖ·xₖ
//! ```

/// Sweeps that a guess is made of.
const K: usize = 5;

/// The last iterates: weights, bias and tilt.
#[derive(Default)]
pub(super) struct Anderson {
    seen: Vec<(Vec<f64>, f64, Vec<f32>)>,
}

impl Anderson {
    /// Notes an iterate; with enough of them, a guess at where they lead.
    pub fn see(&mut self, weights: &[f64], bias: f64, tilt: &[f32]) -> Option<(Vec<f64>, f64, Vec<f32>)> {
        self.seen.push((weights.to_vec(), bias, tilt.to_vec()));
        if self.seen.len() <= K {
            return None;
        }
        let seen = std::mem::take(&mut self.seen);
        let difference = |k: usize, j: usize| match seen[0].0.len() {
            last if j == last => seen[k + 1].1 - seen[k].1,
            _ => seen[k + 1].0[j] - seen[k].0[j],
        };
        let width = weights.len() + 1;
        let mut system = [[0.0; K + 1]; K];
        for (a, row) in system.iter_mut().enumerate() {
            for (b, entry) in row[..K].iter_mut().enumerate() {
                *entry = (0..width).map(|j| difference(a, j) * difference(b, j)).sum();
            }
            row[K] = 1.0;
        }
        let shares = shares(system)?;
        let mix = |of: &dyn Fn(usize) -> f64| (0..K).map(|k| shares[k] * of(k + 1)).sum::<f64>();
        let guess = (0..weights.len()).map(|j| mix(&|k| seen[k].0[j])).collect();
        let mut mixed = vec![0.0f32; tilt.len()];
        for (share, (_, _, tilt)) in shares.iter().zip(&seen[1..]) {
            mixed.iter_mut().zip(tilt).for_each(|(sum, t)| *sum += *share as f32 * t);
        }
        Some((guess, mix(&|k| seen[k].1), mixed))
    }
}

/// Solves the system and divides by the sum; `None` where that means nothing.
fn shares(mut system: [[f64; K + 1]; K]) -> Option<[f64; K]> {
    let trace: f64 = (0..K).map(|k| system[k][k]).sum();
    (0..K).for_each(|k| system[k][k] += 1e-12 * trace);
    for k in 0..K {
        let pivot = (k..K).max_by(|&a, &b| system[a][k].abs().total_cmp(&system[b][k].abs()))?;
        system.swap(k, pivot);
        if system[k][k] == 0.0 {
            return None;
        }
        for below in 0..K {
            if below != k {
                let factor = system[below][k] / system[k][k];
                let row = system[k];
                (k..=K).for_each(|c| system[below][c] -= factor * row[c]);
            }
        }
    }
    let solved: [f64; K] = std::array::from_fn(|k| system[k][K] / system[k][k]);
    let sum: f64 = solved.iter().sum();
    let shares = solved.map(|share| share / sum);
    shares.iter().all(|share| share.is_finite() && share.abs() < 1e3).then_some(shares)
}
