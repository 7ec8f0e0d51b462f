//! The model of a small working set as one dense matrix: a sweep costs no pass over rows.
//!
//! ```text
//! A = X̃ᵀDX̃, the bias a column of ones at the end      q = A·d      slope of Q at k: gₖ + qₖ + λ₂vₖ
//! ```

use super::model::{Model, shrunk};
use super::{Newton, Point};
use crate::rows::Value;

/// Working sets up to this size have such a matrix,
const WIDEST: usize = 512;
/// if rows have no more non-zeros in it, on average, than this.
const LONGEST: usize = 24;
/// Numbers that all sweeps together may touch.
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

    pub fn new<V: Value>(newton: &Newton<V>, point: &Point, set: &[u32]) -> Gram {
        let rows = newton.problem.examples.rows;
        let side = set.len() + 1;
        let mut place = vec![u32::MAX; rows.columns()];
        set.iter().enumerate().for_each(|(k, &j)| place[j as usize] = k as u32);
        let (mut a, mut row) = (vec![0.0; side * side], Vec::new());
        for i in 0..rows.len() {
            let bend = point.bends[i];
            if bend == 0.0 {
                continue;
            }
            row.clear();
            let entries = rows.row(newton.values, i).iter();
            row.extend(entries.map(|(j, x)| (place[j] as usize, x)).filter(|(k, _)| *k < side));
            row.push((set.len(), 1.0));
            for (first, &(k, x)) in row.iter().enumerate() {
                let scaled = bend * x;
                let line = &mut a[k * side..(k + 1) * side];
                row[first..].iter().for_each(|&(l, y)| line[l] += scaled * y);
            }
        }
        // Entries came in the order of the rows' columns: each pair is on one side or the other.
        for k in 0..side {
            for l in 0..k {
                let both = a[k * side + l] + a[l * side + k];
                (a[k * side + l], a[l * side + k]) = (both, both);
            }
        }
        Gram { a, side }
    }

    fn line(&self, k: usize) -> &[f64] {
        &self.a[k * self.side..(k + 1) * self.side]
    }
}

impl Model {
    /// Descends on A until the violations are this share of the first ones.
    pub(super) fn solve_gram(&mut self, gram: &Gram, share: f64) {
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
            } else if violations <= share * first || effort > EFFORT {
                break;
            }
        }
        let curved: f64 = (0..width).map(|k| (self.to[k] - self.from[k]) * q[k]).sum();
        self.promised = (-self.descent() - 0.5 * (curved + self.bias * q[width])).max(0.0);
    }
}
