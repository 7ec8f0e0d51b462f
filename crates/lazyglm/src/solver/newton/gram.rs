//! The model of a small working set as one dense matrix: a sweep costs no pass over rows.
//!
//! ```text
//! A = X̃ᵀDX̃, the bias a column of ones at the end      q = A·d      slope of Q at k: gₖ + qₖ + λ₂vₖ
//! ```

use super::model::{Model, shrunk};
use crate::kernel::Columns;
use crate::rows::Value;

/// Working sets up to this size have such a matrix,
const WIDEST: usize = 512;
/// if rows have no more non-zeros in it, on average, than this.
const LONGEST: usize = 24;
/// Sweeps are cheap: they end when violations are this share of the first,
const SHARE: f64 = 1e-4;
/// or have touched so many numbers.
const EFFORT: usize = 200_000_000;

/// A, row by row.
pub(super) struct Gram {
    a: Vec<f64>,
    side: usize,
}

impl Gram {
    /// Whether it pays.
    pub fn pays(width: usize, nonzeros: usize, rows: usize) -> bool {
        width <= WIDEST && nonzeros <= LONGEST * rows.max(1) && width * width <= 4 * nonzeros.max(1)
    }

    pub fn new<V: Value>(columns: &Columns<V>, set: &[u32], bends: &[f64]) -> Gram {
        let side = set.len() + 1;
        let (starts, entries) = columns.by_row(set);
        let mut a = vec![0.0; side * side];
        for (span, &bend) in starts.windows(2).zip(bends) {
            let row = &entries[span[0]..span[1]];
            for (first, &(k, x)) in row.iter().enumerate() {
                let scaled = bend * f64::from(x);
                let line = &mut a[k as usize * side..(k as usize + 1) * side];
                row[first..].iter().for_each(|&(l, y)| line[l as usize] += scaled * f64::from(y));
                line[side - 1] += scaled;
            }
            a[side * side - 1] += bend;
        }
        for k in 0..side {
            (0..k).for_each(|l| a[k * side + l] = a[l * side + k]);
        }
        Gram { a, side }
    }

    fn line(&self, k: usize) -> &[f64] {
        &self.a[k * self.side..(k + 1) * self.side]
    }
}

impl Model {
    /// Descends on A until the violations are a small share of the first ones.
    pub(super) fn solve_gram(&mut self, gram: &Gram) {
        let (side, width) = (gram.side, self.set.len());
        let mut q = vec![0.0; side];
        let (mut first, mut effort) = (0.0, 0);
        let add = |q: &mut [f64], k: usize, by: f64| {
            q.iter_mut().zip(gram.line(k)).for_each(|(q, a)| *q += by * a);
        };
        for sweep in 0.. {
            let mut violations = 0.0;
            for k in 0..width {
                let net = self.prices[k];
                let bend = gram.line(k)[k] + net.l2;
                if bend <= 0.0 {
                    self.drop_idle(k);
                    continue;
                }
                let slope = self.gradient[k] + q[k] + net.l2 * self.to[k];
                let old = self.to[k];
                let new = shrunk(old - slope / bend, net.l1 / bend, self.nonnegative);
                if new != old {
                    self.to[k] = new;
                    add(&mut q, k, new - old);
                    violations += (new - old).abs() * bend;
                    effort += side;
                }
            }
            let bend = gram.line(width)[width];
            if self.with_bias && bend > 0.0 {
                let slope = self.of_bias[0] + q[width];
                self.bias -= slope / bend;
                add(&mut q, width, -slope / bend);
                violations += slope.abs();
            }
            effort += side;
            if sweep == 0 {
                first = violations;
            } else if violations <= SHARE * first || effort > EFFORT {
                break;
            }
        }
        let curved: f64 = (0..width).map(|k| (self.to[k] - self.from[k]) * q[k]).sum();
        self.promised = (-self.descent() - 0.5 * (curved + self.bias * q[width])).max(0.0);
    }
}
