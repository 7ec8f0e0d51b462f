//! A start for problems with many non-zero weights: coordinate ascent on the dual, one row after another.
//!
//! ```text
//! V = −Xᵀω(P̂ − Y)/(nλ₂),  W = soft(V, λ₁/λ₂)          P̂ = Y at first; nλ₂ of weight j has its penalty factor
//! row i    p̂′ = argmin over probabilities of Σₖ p ln p − s·p + ½q‖p − p̂‖²        s = xᵢW + b,  q = ωᵢΣⱼ xᵢⱼ²/(nλ₂)
//!          ln pₖ + q·pₖ = sₖ + q·p̂ₖ − ν, and Σ pₖ = 1: Newton's method on ν
//! ```
//!
//! P̂ is stored by its logarithm. The biases move to their best after some sweeps. This is fast at first and
//! slow later, so it ends when a sweep gains little, and Newton steps go on.

#![allow(clippy::needless_range_loop)] // inner loops go over indices: see `lanes`

use super::SoftmaxNewton;
use super::lanes::{Block, WIDE, add_by_rows, add_multiple};
use super::point::Point;
use crate::data::rows::Value;
use crate::optim::kernel::Columns;
use crate::optim::newton::NewtonProgress;
use crate::simd::{self, Work};
use crate::util::random;

/// Maximum number of sweeps.
const SWEEPS: usize = 60;
/// The ascent ends when F falls by less than this share per sweep.
const LITTLE: f64 = 0.01;
/// The sweeps after which the biases move and F is computed, besides every fifth.
const CHECKS: [usize; 3] = [1, 3, 7];
/// A logarithm that stands for a probability of zero.
const NEVER: f32 = -80.0;

/// A start, and whether the caller's `watch` function stopped the ascent.
pub(super) struct DualStart {
    pub point: Point,
    pub interrupted: bool,
}

struct Ascent<'a, V> {
    newton: &'a SoftmaxNewton<'a, V>,
    v: Vec<Block<f32>>,    // a vector per column
    logs: Vec<Block<f32>>, // ln p̂, a vector per row
    squares: Vec<f32>,     // q per row
    scales: Vec<f32>,      // 1/(nλ₂) per column
    bias: Vec<Block<f32>>,
    threshold: f32,
}

impl<V: Value> SoftmaxNewton<'_, V> {
    /// The result of some sweeps, if λ₂ > 0 for all weights, these have no bounds other than zero, and the result is
    /// better than the null model.
    pub(super) fn dual_start(
        &self,
        null: &Point,
        columns: &Columns<V>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Option<DualStart> {
        if self.gap_is_loose() || !columns.are_usual() || self.problem.weighted_penalty.bounds.is_some() {
            return None;
        }
        let mut ascent = Ascent::new(self, null);
        let (mut best, mut last, mut checked): (Option<Point>, f64, usize) = (None, null.value, 0);
        for sweep in 1..=SWEEPS {
            let order = random::permutation(self.problem.classes.len(), 1, sweep as u64);
            simd::fastest(Sweep { ascent: &mut ascent, order: &order });
            self.count_passes(1);
            if !CHECKS.contains(&sweep) && !sweep.is_multiple_of(5) && !self.must_end() {
                continue;
            }
            let point = ascent.point();
            ascent.set_biases(&point.biases);
            let objective = point.value / self.n;
            let go_on = watch(&NewtonProgress { steps: 0, objective, nonzeros: 0, gap: f64::INFINITY });
            // F may rise at first, because W follows the dual.
            let little = LITTLE * (sweep - checked) as f64 * point.value;
            let ends = (last - point.value).abs() <= little && point.value < null.value;
            (last, checked) = (point.value, sweep);
            if point.value < best.as_ref().map_or(null.value, |best| best.value) {
                best = Some(point);
            }
            if !go_on || self.must_end() || !last.is_finite() || ends || sweep == SWEEPS {
                let mut point = best?;
                self.compute_gradient(&mut point, columns);
                return Some(DualStart { point, interrupted: !go_on || self.bounds.interrupted() });
            }
        }
        None
    }
}

impl<'a, V: Value> Ascent<'a, V> {
    fn new(newton: &'a SoftmaxNewton<'a, V>, null: &Point) -> Ascent<'a, V> {
        let (problem, blocks) = (newton.problem, newton.blocks);
        let scales: Vec<f32> = (0..problem.rows.columns())
            .map(|j| (1.0 / (newton.n * problem.weighted_penalty.at(j).l2)) as f32)
            .collect();
        let square = |i: usize| {
            let row = problem.rows.row(newton.values, i);
            let sum: f64 = row.iter().map(|(j, x)| x * x * f64::from(scales[j])).sum();
            (newton.weight(i) * sum) as f32
        };
        let mut logs = vec![[NEVER; WIDE]; problem.classes.len() * blocks];
        for (row, &class) in logs.chunks_mut(blocks).zip(problem.classes) {
            row.as_flattened_mut()[class as usize] = 0.0;
        }
        let penalty = problem.weighted_penalty.penalty;
        let mut ascent = Ascent {
            newton,
            v: vec![[0.0; WIDE]; problem.rows.columns() * blocks],
            logs,
            squares: (0..problem.classes.len()).map(square).collect(),
            scales,
            bias: vec![[0.0; WIDE]; blocks],
            threshold: (penalty.l1 / penalty.l2) as f32,
        };
        ascent.set_biases(&null.biases);
        ascent
    }

    /// Sets the biases. Unused places have a probability of zero.
    fn set_biases(&mut self, biases: &[f64]) {
        let bias = self.bias.as_flattened_mut();
        bias.fill(f32::NEG_INFINITY);
        bias.iter_mut().zip(biases).for_each(|(b, value)| *b = *value as f32);
    }

    /// The point of the weights W, with the best biases.
    fn point(&self) -> Point {
        let newton = self.newton;
        let nonnegative = newton.problem.weighted_penalty.nonnegative;
        let weights: Vec<Block<f64>> =
            self.v.iter().map(|v| v.map(|v| f64::from(soft(v, self.threshold, nonnegative)))).collect();
        let bias = self.bias.as_flattened()[..newton.count].iter().map(|b| f64::from(*b)).collect();
        let mut point = newton.unscored(weights, bias);
        add_by_rows(newton.problem.rows, newton.values, &point.weights, &mut point.scores);
        newton.settle(&mut point, 5);
        point
    }

    /// One step on the dual variables of a row.
    #[inline(always)]
    fn step(&mut self, i: usize, room: &mut Room) {
        let (newton, blocks) = (self.newton, self.newton.blocks);
        let (q, weight) = (self.squares[i], newton.weight(i) as f32);
        let nonnegative = newton.problem.weighted_penalty.nonnegative;
        let row = newton.problem.rows.row(newton.values, i);
        let Room { target, p, logs, old, move_of } = room;
        target.copy_from_slice(&self.bias);
        for (&j, x) in row.ids.iter().zip(row.values) {
            let (x, v) = (x.to_f32(), &self.v[j as usize * blocks..][..blocks]);
            if self.threshold == 0.0 && !nonnegative {
                add_multiple(target, x, v);
            } else {
                let v = &v[..target.len()];
                for b in 0..target.len() {
                    for l in 0..WIDE {
                        target[b][l] += x * soft(v[b][l], self.threshold, nonnegative);
                    }
                }
            }
        }
        each(old, &self.logs[i * blocks..][..blocks], exp);
        add_multiple(target, q, old);
        solve(target, q, logs, p);
        normalise(logs, p);
        let mut most = 0.0f32;
        for b in 0..blocks {
            for l in 0..WIDE {
                move_of[b][l] = -weight * (p[b][l] - old[b][l]);
                most = most.max(move_of[b][l].abs());
            }
        }
        let usable = most.is_finite() && logs.as_flattened().iter().all(|log| log.is_finite());
        if most < 1e-7 || !usable {
            return;
        }
        self.logs[i * blocks..][..blocks].copy_from_slice(logs);
        for (&j, x) in row.ids.iter().zip(row.values) {
            let x = x.to_f32() * self.scales[j as usize];
            add_multiple(&mut self.v[j as usize * blocks..][..blocks], x, move_of);
        }
    }
}

/// Scratch vectors of one number per class.
struct Room {
    target: Vec<Block<f32>>,
    p: Vec<Block<f32>>,
    logs: Vec<Block<f32>>,
    old: Vec<Block<f32>>,
    move_of: Vec<Block<f32>>,
}

struct Sweep<'e, 'a, V> {
    ascent: &'e mut Ascent<'a, V>,
    order: &'e [u32],
}

impl<V: Value> Work for Sweep<'_, '_, V> {
    type Answer = ();
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) {
        let vector = vec![[0.0; WIDE]; self.ascent.newton.blocks];
        let mut room = Room {
            target: vector.clone(),
            p: vector.clone(),
            logs: vector.clone(),
            old: vector.clone(),
            move_of: vector,
        };
        for &i in self.order {
            if self.ascent.newton.weight(i as usize) > 0.0 {
                self.ascent.step(i as usize, &mut room);
            }
        }
    }
}

/// Solves ln pₖ + q·pₖ = cₖ − ν with Σ pₖ = 1, for the logarithms.
///
/// With z = qp, Σ z falls with ν and is convex, so Newton's method on ν from the left is monotone.
#[inline(always)]
fn solve(c: &[Block<f32>], q: f32, logs: &mut [Block<f32>], z: &mut [Block<f32>]) {
    let q = q.max(1e-6);
    let (logs, z) = (&mut logs[..c.len()], &mut z[..c.len()]);
    let (log_q, most) = (q.ln(), c.as_flattened().iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let mut nu = most - q; // p ≤ 1 at the largest c
    for _ in 0..20 {
        let (mut total, mut slope) = ([0.0f32; WIDE], [0.0f32; WIDE]);
        for b in 0..c.len() {
            for l in 0..WIDE {
                let v = (c[b][l] - nu + log_q).max(NEVER); // an unused place has c = −∞
                let mut w = log_omega_start(v);
                for _ in 0..3 {
                    let e = exp(w);
                    w -= (w + e - v) / (1.0 + e);
                }
                let e = exp(w);
                (logs[b][l], z[b][l]) = (w, e);
                (total[l], slope[l]) = (total[l] + e, slope[l] + e / (1.0 + e));
            }
        }
        let over = total.iter().sum::<f32>() - q;
        nu += over / slope.iter().sum::<f32>();
        if over.abs() <= 1e-4 * q {
            break;
        }
    }
    for log in logs.as_flattened_mut() {
        *log = (*log - log_q).clamp(NEVER, 0.0);
    }
}

/// An approximation of the root w of w + e^w = v.
#[inline(always)]
fn log_omega_start(v: f32) -> f32 {
    // The bits of a number are nearly linear in its logarithm.
    let ln = |x: f32| (x.to_bits() as i32 as f32 - 1_064_866_805.0) * 8.262_958e-8;
    let large = ln((v - ln(v.max(1.0))).max(0.5));
    let small = if v < -1.0 { v } else { 0.64 * (v - 1.0) };
    if v > 1.0 { large } else { small }
}

/// Makes probabilities sum to one.
#[inline(always)]
fn normalise(logs: &mut [Block<f32>], p: &mut [Block<f32>]) {
    each(p, logs, exp);
    let mut total = [0.0f32; WIDE];
    for b in 0..p.len() {
        for l in 0..WIDE {
            total[l] += p[b][l];
        }
    }
    let by = total.iter().sum::<f32>().ln();
    for log in logs.as_flattened_mut() {
        *log = (*log - by).max(NEVER);
    }
    each(p, logs, exp);
}

#[inline(always)]
fn each(out: &mut [Block<f32>], of: &[Block<f32>], function: impl Fn(f32) -> f32) {
    let of = &of[..out.len()];
    for b in 0..out.len() {
        for l in 0..WIDE {
            out[b][l] = function(of[b][l]);
        }
    }
}

/// Soft thresholding, and zero for a negative number if weights must not be negative.
#[inline(always)]
fn soft(v: f32, threshold: f32, nonnegative: bool) -> f32 {
    let low = if nonnegative { 0.0 } else { (v + threshold).min(0.0) };
    (v - threshold).max(0.0) + low
}

/// The exponential of a number between −87 and 88, to single precision, without branches. Zero at `NEVER`.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5·2²³: adding it rounds to an integer, which the lowest bits then hold
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = x - k * 0.693_359_4 - k * -2.121_944_4e-4;
    let tail = ((((1.987_569_2e-4 * r + 1.398_2e-3) * r + 8.333_452e-3) * r + 4.166_579_6e-2) * r
        + 1.666_666_5e-1)
        * r
        + 0.5;
    let near = tail * r * r + r + 1.0;
    let scaled = near * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    if x <= NEVER { 0.0 } else { scaled }
}
