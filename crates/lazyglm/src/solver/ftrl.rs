//! FTRL-proximal with AdaGrad rates (McMahan et al. 2013): follow the regularised leader, a rate for each weight.
//!
//! ```text
//! per weight   q, and s = √(s₀² + Σ g²) over its own slopes g = ω·ℓ′·x
//! read         wⱼ = −sgn(qⱼ)·(|qⱼ| − λ₁k)₊ / (sⱼ/η + λ₂k)                  k rows learnt so far, by all weights
//! write        s′ = √(s² + g²);   q ← q + g − (s′ − s)/η·w;   s ← s′
//! ```
//!
//! The penalty of all rows so far is in the reading, so there is nothing to catch up: laziness is free. The bias is an
//! AdaGrad step without a penalty.

use crate::loss::Loss;
use crate::penalty::ElasticNet;
use crate::random;
use crate::rows::{Examples, Value};

const ETA: f64 = 0.15;
const S0: f64 = 0.03;
/// Rows are learnt in runs of so many, the runs in random order: neighbours in memory are learnt together.
const RUN: usize = 64;

/// What is kept of the rows learnt.
pub(crate) struct Ftrl {
    net: ElasticNet,
    weights: Vec<[f64; 2]>, // q and s
    bias: f64,
    bias_square: f64,
    with_bias: bool,
    k: f64,
}

impl Ftrl {
    pub fn new(columns: usize, net: ElasticNet, with_bias: bool) -> Ftrl {
        Ftrl { net, weights: vec![[0.0, S0]; columns], bias: 0.0, bias_square: S0 * S0, with_bias, k: 0.0 }
    }

    /// Learns every row once.
    pub fn pass<V: Value>(&mut self, examples: Examples, values: &[V], loss: &dyn Loss, number: u64) {
        let runs = random::permutation(examples.len().div_ceil(RUN), 1, number);
        let mut read = Vec::new();
        for run in runs {
            let first = run as usize * RUN;
            for i in first..(first + RUN).min(examples.len()) {
                let row = examples.rows.row(values, i);
                let (l1, l2) = (self.net.l1 * self.k, self.net.l2 * self.k);
                let mut score = self.bias;
                read.clear();
                for (&j, &x) in row.ids.iter().zip(row.values) {
                    let w = weight(self.weights[j as usize], l1, l2);
                    score += w * x.wide();
                    read.push(w);
                }
                self.k += 1.0;
                let slope = examples.weight(i) * loss.slope(score, examples.targets[i]);
                if slope == 0.0 {
                    continue;
                }
                for ((&j, &x), &w) in row.ids.iter().zip(row.values).zip(&read) {
                    let g = slope * x.wide();
                    let [q, s] = &mut self.weights[j as usize];
                    let longer = (*s * *s + g * g).sqrt();
                    *q += g - (longer - *s) / ETA * w;
                    *s = longer;
                }
                if self.with_bias {
                    self.bias_square += slope * slope;
                    self.bias -= ETA * slope / self.bias_square.sqrt();
                }
            }
        }
    }

    pub fn weights(&self) -> Vec<f64> {
        let (l1, l2) = (self.net.l1 * self.k, self.net.l2 * self.k);
        self.weights.iter().map(|&state| weight(state, l1, l2)).collect()
    }

    pub fn bias(&self) -> f64 {
        self.bias
    }
}

#[inline(always)]
fn weight([q, s]: [f64; 2], l1: f64, l2: f64) -> f64 {
    match q.abs() - l1 {
        over if over > 0.0 => -over.copysign(q) / (s / ETA + l2),
        _ => 0.0,
    }
}
