//! The quadratic model of a small working set as one dense matrix, so that a sweep needs no pass over rows.
//!
//! ```text
//! A = X̃ᵀX̃, the bias a column √D at the end      q = A·d      slope of Q at k: gₖ + qₖ + λ₂vₖ
//! ```

use super::Bounds;
use super::model::{Accuracy, QuadraticModel};
use crate::problem::penalty::one::shrunk;
use crate::util::number::positive_part;
use crate::util::state::{Fields, State};

/// Maximum size of a working set with a dense matrix.
const WIDEST: usize = 512;
/// Maximum mean number of non-zeros per row in the working set, for a dense matrix.
const LONGEST: usize = 24;
/// Sweeps stop when violations have fallen to this share of the first ones. Sweeps are cheap here.
const SHARE: f64 = 1e-4;
/// Maximum number of matrix entries that sweeps touch.
const EFFORT: usize = 200_000_000;
/// Maximum number of sweeps. Dependent columns make A singular, and rounding errors in the gradient then keep
/// violations from falling.
const SWEEPS: usize = 2000;
/// Number of sweeps after which all non-zero weights are solved for at once. Sweeps are slow where columns
/// are nearly dependent.
const FACE_EVERY: usize = 100;
/// The same for a stiff model.
const FACE_EVERY_STIFF: usize = 10;
/// A model of at most this many weights has a dense matrix however dense its rows are: columns of tables may be nearly
/// dependent, and sweeps over the rows would take thousands of passes.
const NARROW: usize = 128;

/// Maximum number of weights for a solution of all at once that checks the result of sweeps.
const CHECKED: usize = 256;

/// The matrix A, by rows.
#[derive(Clone, Default)]
pub(super) struct Gram {
    a: Vec<f64>,
    side: usize,
}

/// Whether a dense matrix is worth its cost, for a working set of some width on some rows.
pub(super) fn pays(width: usize, nonzeros: usize, rows: usize) -> bool {
    let short = width <= NARROW || nonzeros <= LONGEST * rows.max(1);
    width <= WIDEST && short && width * width <= 4 * nonzeros.max(1)
}

impl Gram {
    /// Whether a matrix is worth its cost.
    pub fn is_worthwhile(model: &QuadraticModel) -> bool {
        let (width, nonzeros, rows) = (model.set.len(), model.columns.nonzeros(), model.roots.len());
        (model.stiff && width <= NARROW) || pays(width, nonzeros, rows)
    }

    /// The matrix, if it is worth its cost and there is memory for the rows that it is made of.
    pub fn of(model: &QuadraticModel) -> Option<Gram> {
        let width = model.set.len();
        let rows = if Gram::is_worthwhile(model) { model.columns.by_rows() } else { None }?;
        let (mut a, side) = (rows.square(&model.roots), width + 1);
        for k in 0..width {
            a[k * side + k] += model.squares[k][1];
        }
        a[side * side - 1] = model.of_bias[1] + model.of_bias[2];
        Some(Gram::of_upper_triangle(a, side))
    }

    /// The matrix with this upper triangle, by rows.
    pub fn of_upper_triangle(mut a: Vec<f64>, side: usize) -> Gram {
        for k in 0..side {
            (0..k).for_each(|l| a[k * side + l] = a[l * side + k]);
        }
        Gram { a, side }
    }

    /// The diagonal entry of a column.
    pub fn diagonal(&self, k: usize) -> f64 {
        self.a[k * self.side + k]
    }

    fn line(&self, k: usize) -> &[f64] {
        &self.a[k * self.side..(k + 1) * self.side]
    }
}

impl QuadraticModel<'_> {
    /// The number of sweeps that cost as much as a matrix, after which sweeps go on with it; `None` if a matrix is not worth its
    /// cost. None before it if the minimum must be exact.
    pub(super) fn sweeps_before_gram(&self, accuracy: Accuracy) -> Option<usize> {
        let (nonzeros, rows) = (self.columns.nonzeros(), self.roots.len().max(1));
        match () {
            () if !Gram::is_worthwhile(self) => None,
            () if self.stiff || accuracy.surely || !accuracy.far => Some(0),
            () => Some(nonzeros / rows + 4),
        }
    }

    /// Minimises Q on A until the violations have fallen to a small share of the first ones. Returns the
    /// number of entries touched.
    ///
    /// If this step may be the last one, the result of sweeps is checked by a Cholesky solution for all non-zero weights. A
    /// minimisation that ends early marks the model as `unsolved`; its predicted decrease is meaningless.
    pub(super) fn solve_gram(&mut self, gram: &Gram, accuracy: Accuracy, bounds: Bounds) -> usize {
        let (side, width) = (gram.side, self.set.len());
        let mut q = self.product_of_move(gram);
        let (mut first, mut effort) = (0.0, 0);
        let add = |q: &mut [f64], k: usize, by: f64| {
            q.iter_mut().zip(gram.line(k)).for_each(|(q, a)| *q += by * a);
        };
        let every = if self.stiff { FACE_EVERY_STIFF } else { FACE_EVERY };
        self.unsolved = true;
        let mut ends = false;
        for sweep in 0..SWEEPS {
            if ends || sweep % every == every - 1 {
                let before = self.decrease_on(&q);
                let (touched, whole) = self.solve_face(gram, &mut q);
                effort += touched;
                // What solving for all weights at once has gained tells how far sweeps were from the minimum.
                self.left = if ends && whole { self.decrease_on(&q) - before } else { f64::INFINITY };
            }
            let mut violations = 0.0;
            for k in 0..width {
                let penalty = self.weighted_penalty[k];
                let second_derivative = gram.line(k)[k] + penalty.l2;
                if second_derivative <= 0.0 {
                    self.drop_idle(k);
                    continue;
                }
                let slope = self.gradient[k] + q[k] + penalty.l2 * self.to[k];
                let old = self.to[k];
                let new =
                    shrunk(old - slope / second_derivative, penalty.l1 / second_derivative, self.ranges[k]);
                if new != old {
                    self.to[k] = new;
                    add(&mut q, k, new - old);
                    violations += (new - old).abs() * second_derivative;
                    effort += side;
                }
            }
            let second_derivative = gram.line(width)[width];
            if self.with_bias && second_derivative > 0.0 {
                let slope = self.of_bias[0] + q[width];
                self.bias -= slope / second_derivative;
                add(&mut q, width, -slope / second_derivative);
                violations += slope.abs();
            }
            effort += side;
            let small = violations <= SHARE * first;
            if sweep == 0 {
                first = violations;
            } else if small
                && (ends || self.stiff || width > CHECKED || !accuracy.for_decrease(self.decrease_on(&q)).1)
            {
                self.unsolved = false;
                break;
            } else if effort > EFFORT.min(bounds.work) || violations.is_nan() || bounds.interrupted() {
                break;
            }
            ends = small && sweep > 0;
            self.left = f64::INFINITY;
        }
        self.predicted = positive_part(self.decrease_on(&q));
        effort
    }

    /// The product A·d, for the move so far.
    fn product_of_move(&self, gram: &Gram) -> Vec<f64> {
        let mut q = vec![0.0; gram.side];
        let moves = (0..self.set.len()).map(|k| self.to[k] - self.from[k]).chain([self.bias]);
        for (k, by) in moves.enumerate().filter(|(_, by)| *by != 0.0) {
            q.iter_mut().zip(gram.line(k)).for_each(|(q, a)| *q += by * a);
        }
        q
    }

    /// The decrease Q(from) − Q(to), for q = A·d.
    fn decrease_on(&self, q: &[f64]) -> f64 {
        let width = self.set.len();
        let curved: f64 = (0..width).map(|k| (self.to[k] - self.from[k]) * q[k]).sum();
        -self.descent() - 0.5 * (curved + self.bias * q[width])
    }

    /// Moves to the minimum of Q over all non-zero weights and the bias while signs stay the same, or up to
    /// the first weight that reaches zero or a bound. Returns the number of entries touched, and whether it is the minimum.
    fn solve_face(&mut self, gram: &Gram, q: &mut Vec<f64>) -> (usize, bool) {
        let (side, width) = (gram.side, self.set.len());
        let free = |k: &usize| match *k {
            k if k == width => self.with_bias && gram.line(k)[k] > 0.0,
            k => {
                let [low, high] = self.ranges[k];
                let leaves_zero = self.weighted_penalty[k].l1 == 0.0 && low < 0.0 && high > 0.0;
                let moves = if self.to[k] == 0.0 { leaves_zero } else { !self.is_at_bound(k) };
                moves && gram.line(k)[k] + self.weighted_penalty[k].l2 > 0.0
            }
        };
        let face: Vec<usize> = (0..side).filter(free).collect();
        let slope = |&k: &usize| match k {
            k if k == width => self.of_bias[0] + q[k],
            k => {
                let (penalty, to) = (self.weighted_penalty[k], self.to[k]);
                let sign = if to == 0.0 { 0.0 } else { to.signum() };
                self.gradient[k] + q[k] + penalty.l2 * to + penalty.l1 * sign
            }
        };
        let mut step: Vec<f64> = face.iter().map(|k| -slope(k)).collect();
        let entry = |k: usize, l: usize| {
            let ridge = if k == l && k < width { self.weighted_penalty[k].l2 } else { 0.0 };
            gram.line(k)[l] + ridge
        };
        solve_by_cholesky(&face, entry, &mut step);
        // Stop where a weight reaches zero, because its sign would change, or a bound.
        let (mut share, mut first) = (1.0, None);
        for (&k, &by) in face.iter().zip(&step).filter(|(k, _)| **k < width) {
            let bound = self.ranges[k][usize::from(by > 0.0)];
            let zero = if self.weighted_penalty[k].l1 > 0.0 { 0.0 } else { f64::INFINITY };
            for end in [zero, bound] {
                let reached = (end - self.to[k]) / by;
                if reached > 0.0 && reached < share {
                    (share, first) = (reached, Some((k, end)));
                }
            }
        }
        if !step.iter().all(|by| by.is_finite()) {
            return (side * side, false);
        }
        for (&k, &by) in face.iter().zip(&step) {
            match k == width {
                true => self.bias += share * by,
                false => self.to[k] += share * by,
            }
        }
        first.iter().for_each(|&(k, end)| self.to[k] = end);
        *q = self.product_of_move(gram);
        (side * side + face.len().pow(3) / 6, first.is_none())
    }
}

/// Solves H·x = b by Cholesky decomposition, for the rows and columns `of` a matrix. `x` holds b on input.
///
/// A column that depends on earlier ones keeps its value, and the others are solved for.
pub(crate) fn solve_by_cholesky(of: &[usize], entry: impl Fn(usize, usize) -> f64, x: &mut [f64]) {
    const DEPENDENT: f64 = 1e-13; // relative to the diagonal: the rounding error of a zero pivot
    let n = of.len();
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let left = entry(of[i], of[j]) - sum;
            l[i * n + j] = match i == j {
                false if l[j * n + j] == 0.0 => 0.0,
                false => left / l[j * n + j],
                true if left > DEPENDENT * entry(of[i], of[i]) => left.sqrt(),
                true => 0.0,
            };
        }
    }
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| l[i * n + k] * x[k]).sum();
        x[i] = if l[i * n + i] == 0.0 { 0.0 } else { (x[i] - sum) / l[i * n + i] };
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| l[k * n + i] * x[k]).sum();
        x[i] = if l[i * n + i] == 0.0 { 0.0 } else { (x[i] - sum) / l[i * n + i] };
    }
}

impl Gram {
    /// Whether the matrix has so many rows and columns.
    pub fn has_side(&self, side: usize) -> bool {
        self.side == side && side.checked_mul(side) == Some(self.a.len())
    }
}

impl State for Gram {
    fn fields(&mut self, fields: &mut Fields) {
        self.a.fields(fields);
        self.side.fields(fields);
    }
}
