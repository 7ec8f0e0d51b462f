//! The model of a small working set as one dense matrix: a sweep costs no pass over rows.
//!
//! ```text
//! A = X̃ᵀX̃, the bias a column √D at the end      q = A·d      slope of Q at k: gₖ + qₖ + λ₂vₖ
//! ```

use super::model::{Model, shrunk};
use crate::kernel::NarrowRows;

/// Working sets up to this size have such a matrix,
const WIDEST: usize = 512;
/// if rows have no more non-zeros in it, on average, than this.
const LONGEST: usize = 24;
/// Sweeps are cheap: they end when violations are this share of the first,
const SHARE: f64 = 1e-4;
/// or have touched so many numbers,
const EFFORT: usize = 200_000_000;
/// or after so many sweeps: columns that depend on each other leave A without an inverse, and rounding errors in the
/// gradient then keep violations from falling at all.
const SWEEPS: usize = 2000;

/// A, row by row.
pub(super) struct Gram {
    a: Vec<f64>,
    side: usize,
}

impl Gram {
    /// Whether it pays.
    pub fn pays(model: &Model) -> bool {
        let (width, nonzeros, rows) = (model.set.len(), model.columns.nonzeros(), model.roots.len());
        width <= WIDEST && nonzeros <= LONGEST * rows.max(1) && width * width <= 4 * nonzeros.max(1)
    }

    pub fn of(model: &Model) -> Gram {
        let side = model.set.len() + 1;
        let mut a = NarrowRows::of(&model.columns).square(&model.roots);
        for k in 0..side - 1 {
            a[k * side + k] += model.squares[k][1];
        }
        a[side * side - 1] = model.of_bias[1] + model.of_bias[2];
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
    /// Descends on A until the violations are a small share of the first ones; returns how many numbers it touched.
    pub(super) fn solve_gram(&mut self, gram: &Gram, most: usize) -> usize {
        let (side, width) = (gram.side, self.set.len());
        let mut q = vec![0.0; side];
        let (mut first, mut effort) = (0.0, 0);
        let add = |q: &mut [f64], k: usize, by: f64| {
            q.iter_mut().zip(gram.line(k)).for_each(|(q, a)| *q += by * a);
        };
        for sweep in 0..SWEEPS {
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
            } else if violations <= SHARE * first || effort > EFFORT.min(most) || violations.is_nan() {
                break;
            }
        }
        let curved: f64 = (0..width).map(|k| (self.to[k] - self.from[k]) * q[k]).sum();
        self.promised = (-self.descent() - 0.5 * (curved + self.bias * q[width])).max(0.0);
        effort
    }
}
