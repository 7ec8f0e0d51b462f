//! The minimum of a small quadratic model, from its matrix in f64.
//!
//! ```text
//! Q(v) = slope₀·d + ½dᵀAd + n·R(v)       d = v − v₀       A = Σᵢ (xᵢ ⊗ 1)Hᵢ(xᵢ ⊗ 1)ᵀ over weights and biases
//! sweep     each number in turn goes to its minimum
//! face      A·e = −(slope + nλ₁·sign) on the free numbers, by Cholesky;   v ← v + αe up to the first that meets zero or a bound
//! ```
//!
//! Where columns depend on each other, as those of tables often do, sweeps and damped conjugate gradients over the rows
//! need many passes. With a few hundred numbers, the matrix costs as much as some passes and answers exactly.

use super::lanes::WIDE;
use super::model::QuadraticModel;
use super::sweep::FLAT;
use crate::data::rows::Value;
use crate::problem::penalty::one::shrunk;

/// Largest number of weights and biases.
const MOST: usize = 320;
/// Largest number of multiplications for the matrix.
const EFFORT: usize = 60_000_000;
/// Added to the diagonal, relative to it: equal moves of all classes change nothing, so A is singular.
const RIDGE: f64 = 1e-10;
/// Largest number of rounds of a sweep and a step on the face.
const ROUNDS: usize = 200;
/// The gain of a round, relative to all gains, at which the minimum is reached.
const LITTLE: f64 = 1e-9;

/// Number of rounds of little gain in a row that end the minimisation: one may end at once where a number meets zero.
const ENOUGH: usize = 2;

/// The quadratic model as numbers in a row: class k of feature f at f·K + k, the biases last.
struct Small {
    a: Vec<f64>,     // A + nλ₂, by lines
    slope: Vec<f64>, // the derivative of Q without λ₁
    v: Vec<f64>,     // the current point
    l1: Vec<f64>,    // nλ₁
    range: Vec<[f64; 2]>,
}

impl<V: Value> QuadraticModel<'_, V> {
    /// Minimises Q if it is small. Returns whether it did.
    pub(super) fn minimise_if_small(&mut self) -> bool {
        let count = self.newton.count;
        let size = (self.set.len() + 1) * count;
        if size > MOST || self.cost() > EFFORT {
            return false;
        }
        let mut small = self.small(size);
        let free = if self.newton.problem.bias { size } else { size - count };
        self.predicted = small.minimise(free, &|| self.newton.must_end());
        self.newton.count_passes(1);
        for (at, v) in small.v[..self.set.len() * count].chunks(count).enumerate() {
            for (k, v) in v.iter().enumerate() {
                self.to[at * self.newton.blocks + k / WIDE][k % WIDE] = *v;
            }
        }
        self.bias.copy_from_slice(&small.v[self.set.len() * count..]);
        true
    }

    /// The number of multiplications for the matrix.
    fn cost(&self) -> usize {
        let offsets = self.newton.problem.rows.offsets();
        let of_row = |two: &[usize]| (two[1] - two[0] + 1).pow(2);
        let count = self.newton.count;
        offsets.windows(2).map(of_row).sum::<usize>().saturating_mul(count * count) / 2
    }

    fn small(&self, size: usize) -> Small {
        let (count, blocks, features) = (self.newton.count, self.newton.blocks, self.set.len());
        let mut small = Small {
            a: self.matrix(size),
            slope: Vec::with_capacity(size),
            v: Vec::with_capacity(size),
            l1: Vec::with_capacity(size),
            range: Vec::with_capacity(size),
        };
        for at in 0..features {
            let penalty = self.penalties[at];
            for k in 0..count {
                let (block, l) = (at * blocks + k / WIDE, k % WIDE);
                small.slope.push(self.gradient[block][l] + penalty.l2 * self.from[block][l]);
                small.v.push(self.from[block][l]);
                small.l1.push(penalty.l1);
                small.range.push(self.ranges[at]);
                let j = at * count + k;
                small.a[j * size + j] += penalty.l2;
            }
        }
        small.slope.extend(&self.bias_slopes);
        small.v.resize(size, 0.0);
        small.l1.resize(size, 0.0);
        small.range.resize(size, [f64::NEG_INFINITY, f64::INFINITY]);
        small
    }

    /// The matrix A of all weights of the set and of the biases.
    fn matrix(&self, size: usize) -> Vec<f64> {
        let (count, blocks, rows) = (self.newton.count, self.newton.blocks, self.newton.problem.rows);
        let mut slots = vec![u32::MAX; rows.columns()];
        self.set.iter().zip(0..).for_each(|(&j, slot)| slots[j as usize] = slot);
        let mut a = vec![0.0; size * size];
        let (mut found, mut hessian) = (Vec::new(), vec![0.0; count * count]);
        for i in 0..rows.len() {
            let row = rows.row(self.newton.values, i);
            found.clear();
            let in_set = row.ids.iter().zip(row.values).filter(|(j, _)| slots[**j as usize] != u32::MAX);
            found.extend(in_set.map(|(&j, x)| {
                let slot = slots[j as usize] as usize;
                (slot, self.units[slot] * x.to_f64())
            }));
            found.push((self.set.len(), 1.0)); // the bias
            let [h, p] =
                [&self.curvature.h, &self.curvature.p].map(|of| of[i * blocks..][..blocks].as_flattened());
            fill_hessian(&h[..count], &p[..count], &mut hessian);
            for &(one, x) in &found {
                for &(other, y) in found.iter().filter(|(other, _)| *other <= one) {
                    for k in 0..count {
                        let line = &mut a[(one * count + k) * size + other * count..][..count];
                        line.iter_mut().zip(&hessian[k * count..]).for_each(|(a, h)| *a += x * y * h);
                    }
                }
            }
        }
        for j in 0..size {
            (0..j).for_each(|k| a[k * size + j] = a[j * size + k]);
        }
        a
    }
}

/// The matrix diag(h) − ppᵀ of a row, as the Laplacian of a graph and what the guard adds. Rounding of h and p must not
/// make it indefinite: equal moves of all classes have no curvature, and a step along them would have no end.
fn fill_hessian(h: &[f32], p: &[f32], hessian: &mut [f64]) {
    let (count, sum) = (p.len(), p.iter().map(|p| f64::from(*p)).sum::<f64>());
    for (k, (h, own)) in h.iter().zip(p).map(|(h, p)| (f64::from(*h), f64::from(*p))).enumerate() {
        let line = &mut hessian[k * count..][..count];
        line.iter_mut().zip(p).for_each(|(out, other)| *out = -own * f64::from(*other));
        let others = -(line.iter().sum::<f64>() - line[k]);
        let guard = h - own * sum;
        line[k] = others + if guard > 1e-6 * h { guard } else { 0.0 };
    }
}

impl Small {
    /// Minimises Q over the first numbers until the solver must end, and returns its decrease.
    fn minimise(&mut self, free: usize, must_end: &dyn Fn() -> bool) -> f64 {
        let (mut all, mut little) = (0.0, 0);
        for _ in 0..ROUNDS {
            let gain = self.sweep(free) + self.step_on_face(free);
            all += gain;
            little = if gain > LITTLE * all { 0 } else { little + 1 };
            if little == ENOUGH || must_end() {
                break;
            }
        }
        all
    }

    /// Moves a number, and returns the decrease of Q.
    fn move_to(&mut self, j: usize, new: f64) -> f64 {
        let size = self.v.len();
        let (line, by) = (&self.a[j * size..][..size], new - self.v[j]);
        let penalty = self.l1[j] * (self.v[j].abs() - new.abs());
        let gain = penalty - by * (self.slope[j] + 0.5 * by * line[j]);
        self.slope.iter_mut().zip(line).for_each(|(slope, a)| *slope += by * a);
        self.v[j] = new;
        gain
    }

    fn sweep(&mut self, free: usize) -> f64 {
        let mut gain = 0.0;
        for j in 0..free {
            let second = self.a[j * self.v.len() + j];
            if second <= 0.0 && self.slope[j].abs() >= self.l1[j] {
                continue; // no curvature, and no reason to go to zero: it stays
            }
            let second = second.max(FLAT);
            let new = shrunk(self.v[j] - self.slope[j] / second, self.l1[j] / second, self.range[j]);
            if new != self.v[j] {
                gain += self.move_to(j, new);
            }
        }
        gain
    }

    /// Goes towards the minimum among points with the same signs, up to the first number that meets zero or a bound.
    fn step_on_face(&mut self, free: usize) -> f64 {
        let inside = |j: usize| {
            let ([low, high], v) = (self.range[j], self.v[j]);
            low < v && v < high && (v != 0.0 || self.l1[j] == 0.0) && self.a[j * self.v.len() + j] > 0.0
        };
        let face: Vec<usize> = (0..free).filter(|j| inside(*j)).collect();
        let signed = |j: usize| if self.v[j] == 0.0 { 0.0 } else { self.l1[j] * self.v[j].signum() };
        let mut step: Vec<f64> = face.iter().map(|&j| -(self.slope[j] + signed(j))).collect();
        self.solve_on(&face, &mut step);
        // The longest step without a change of sign, and the number that ends it.
        let (mut most, mut meets) = (1.0, None);
        for (&j, &by) in face.iter().zip(&step) {
            let [low, high] = self.range[j];
            let crosses = self.l1[j] > 0.0 && (self.v[j] + by) * self.v[j] < 0.0;
            let end = match () {
                () if crosses => 0.0,
                () if self.v[j] + by < low => low,
                () if self.v[j] + by > high => high,
                () => continue,
            };
            let share = (end - self.v[j]) / by;
            if share < most {
                (most, meets) = (share, Some((j, end)));
            }
        }
        let mut gain = 0.0;
        for (&j, &by) in face.iter().zip(&step) {
            let end = meets.filter(|(at, _)| *at == j).map(|(_, end)| end);
            gain += self.move_to(j, end.unwrap_or(self.v[j] + most * by));
        }
        gain
    }

    /// Solves A·x = x on some numbers, by Cholesky.
    fn solve_on(&self, face: &[usize], x: &mut [f64]) {
        let (size, count) = (self.v.len(), face.len());
        let mut l = vec![0.0; count * count];
        for a in 0..count {
            for b in 0..=a {
                let mut sum = self.a[face[a] * size + face[b]];
                if a == b {
                    sum *= 1.0 + RIDGE;
                }
                let least = 1e-14 * sum.abs();
                sum -= (0..b).map(|k| l[a * count + k] * l[b * count + k]).sum::<f64>();
                l[a * count + b] = match a == b {
                    true if sum > least => sum.sqrt(),
                    true => f64::INFINITY, // depends on earlier ones: stays
                    false => sum / l[b * count + b],
                };
            }
        }
        for a in 0..count {
            let sum: f64 = (0..a).map(|k| l[a * count + k] * x[k]).sum();
            x[a] = (x[a] - sum) / l[a * count + a];
        }
        for a in (0..count).rev() {
            let sum: f64 = (a + 1..count).map(|k| l[k * count + a] * x[k]).sum();
            x[a] = (x[a] - sum) / l[a * count + a];
        }
    }
}
