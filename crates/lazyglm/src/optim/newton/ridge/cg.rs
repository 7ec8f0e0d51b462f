//! Conjugate gradients on the quadratic model of all weights, with the bias at its best for each of them.
//!
//! ```text
//! m = XᵀD1,  q = ΣD,  g_b = Σr          the best bias after a step d is β = −(g_b + m·d)/q
//! b = −(Xᵀr + nλ₂w) + (g_b/q)·m         H·v = XᵀD(Xv − (m·v)/q) + nλ₂v,  M = diag(Σ Dx² − m²/q + nλ₂)
//! a ← d + η(d′ − d)                     of all such combinations with the next iterate d′, the one with the smallest gap
//! ```
//!
//! Conjugate gradients minimise Q, not the gap, which is ‖b − H·d‖² in the norm of 1/2nλ₂ and rises and falls. The smoothed
//! iterates `a` have a gap that only falls (Schönauer 1987, Weiss 1994), and need fewer passes to the same gap.
//! They are used if the model is exact, so that its gap is that of F.

use super::super::Bounds;
use super::super::point::{Point, total};
use super::Working;
use crate::data::rows::Value;
use crate::optim::kernel::{NormalRows, Sums};
use rayon::prelude::*;

/// Maximum number of passes of conjugate gradients in one step.
const PASSES: usize = 1000;
/// Least diagonal of XᵀDX without the bias, as a share of that with it: rounding errors may leave less than nothing.
const ROUNDING: f64 = 1e-12;
/// Number of weights per task.
const CHUNK: usize = 4096;

/// When to end.
pub(super) struct Goal<'a> {
    /// The M⁻¹-norm of the gradient falls to this multiple of its square, within a range; `None` if the model is exact.
    pub share: Option<f64>,
    pub range: [f64; 2],
    /// The value of n·F at the start.
    pub value: f64,
    /// A gap that suffices, as a share of the value at the end.
    pub gap: f64,
    /// How many numbers the passes may touch.
    pub work: usize,
    pub bounds: Bounds<'a>,
}

/// The result of conjugate gradients.
pub(super) struct Move {
    /// The changes of the weights, in the order of the rows.
    pub weights: Vec<f64>,
    /// The change of the bias.
    pub bias: f64,
    /// The derivative of F along the step.
    pub slope: f64,
    /// The predicted decrease of n·F.
    pub predicted: f64,
    /// The squared M⁻¹-norm of the gradient before.
    pub size: f64,
    pub passes: usize,
}

/// The quadratic model, in the order of the rows.
pub(super) struct Model<'a, V> {
    rows: &'a NormalRows<V>,
    curvature: &'a [f64],
    l2: &'a [f64],
    inverse: Vec<f64>, // 1/M
    tilts: &'a [f64],  // m
    of_bias: f64,      // q, or zero without a bias
    slope_of_bias: f64,
    first: Vec<f64>, // b
}

/// An iterate d and its residual b − H·d.
struct Iterate {
    step: Vec<f64>,
    left: Vec<f64>,
}

impl<'a, V: Value> Model<'a, V> {
    pub fn new(
        point: &'a Point,
        working: &Working<'a, V>,
        l2: &'a [f64],
        squares: &[f64],
        tilts: &'a [f64],
        with_bias: bool,
    ) -> Model<'a, V> {
        let rows = working.rows;
        let of_bias = if with_bias { total(&point.second_derivatives) } else { 0.0 };
        let slope_of_bias = if of_bias > 0.0 { total(&point.slopes) } else { 0.0 };
        let share = |x: f64| if of_bias > 0.0 { x / of_bias } else { 0.0 };
        let inverse = |k: usize| {
            let square: f64 = squares[k] - share(tilts[k] * tilts[k]);
            1.0 / (square.max(ROUNDING * squares[k]) + l2[k])
        };
        let (gradient, weights) = (rows.in_order(&point.gradient), rows.in_order(&point.weights));
        let lift = share(slope_of_bias);
        let first = |k: usize| lift * tilts[k] - gradient[k] - l2[k] * weights[k];
        Model {
            rows,
            curvature: &point.second_derivatives,
            l2,
            inverse: (0..l2.len()).map(inverse).collect(),
            tilts,
            of_bias,
            slope_of_bias,
            first: (0..l2.len()).map(first).collect(),
        }
    }

    /// The approximate minimiser of the model.
    pub fn minimise(&self, goal: &Goal, room: &mut Sums) -> Move {
        let width = self.l2.len();
        let start = || Iterate { step: vec![0.0; width], left: self.first.clone() };
        let mut at = start();
        let mut smooth = goal.share.is_none().then(start);
        let mut way = vec![0.0; width];
        self.turn(&mut way, &at.left, 0.0);
        let mut size = dot(&at.left, &way);
        let (first_size, mut gap) = (size, self.gap(&at.left));
        let share = goal.share.map_or(0.0, |share| (share * size).clamp(goal.range[0], goal.range[1]));
        let (enough, mut passes) = (share * share * size, 0);
        let mut value = goal.value - 0.5 * self.decrease_of_bias();
        let mut product = vec![0.0; width];
        while passes < PASSES && 2 * passes * self.rows.nonzeros() < goal.work {
            if size <= enough || gap <= goal.gap * value.abs() || goal.bounds.interrupted() {
                break;
            }
            let curve = self.product(&way, room, &mut product);
            let alpha = size / curve;
            passes += 1;
            if !alpha.is_finite() || alpha <= 0.0 {
                break;
            }
            let before = size;
            value -= 0.5 * alpha * size;
            [size, gap] = self.advance(&mut at, alpha, &way, &product);
            if let Some(smooth) = &mut smooth {
                gap = self.smooth(smooth, &at);
            }
            self.turn(&mut way, &at.left, size / before);
        }
        self.moved(smooth.unwrap_or(at), first_size, passes)
    }

    /// The step of an iterate, with the bias at its best.
    fn moved(&self, Iterate { step, left }: Iterate, size: f64, passes: usize) -> Move {
        let of_bias = self.decrease_of_bias();
        let bias = match self.of_bias > 0.0 {
            true => -(self.slope_of_bias + dot(self.tilts, &step)) / self.of_bias,
            false => 0.0,
        };
        let along = dot(&self.first, &step);
        let predicted = 0.5 * (along + dot(&left, &step) + of_bias);
        Move { weights: step, bias, slope: -along - of_bias, predicted, size, passes }
    }

    /// Twice the decrease of the model by the best bias alone: g_b²/q.
    fn decrease_of_bias(&self) -> f64 {
        if self.of_bias > 0.0 { self.slope_of_bias * self.slope_of_bias / self.of_bias } else { 0.0 }
    }

    /// Computes H·v, and returns v·H·v.
    fn product(&self, v: &[f64], room: &mut Sums, product: &mut [f64]) -> f64 {
        let shift = if self.of_bias > 0.0 { -dot(self.tilts, v) / self.of_bias } else { 0.0 };
        self.rows.product(v, shift, self.curvature, room, product);
        let chunks = product.par_chunks_mut(CHUNK).zip(v.par_chunks(CHUNK)).zip(self.l2.par_chunks(CHUNK));
        let one = |((product, v), l2): ((&mut [f64], &[f64]), &[f64])| {
            let mut sum = 0.0;
            for ((product, v), l2) in product.iter_mut().zip(v).zip(l2) {
                *product += l2 * v;
                sum += *product * v;
            }
            sum
        };
        chunks.map(one).collect::<Vec<f64>>().iter().sum()
    }

    /// Moves by α along the way, whose H·way is `product`. Returns the squared M⁻¹-norm of the residual, and the gap.
    fn advance(&self, at: &mut Iterate, alpha: f64, way: &[f64], product: &[f64]) -> [f64; 2] {
        let chunks = at.step.par_chunks_mut(CHUNK).zip(at.left.par_chunks_mut(CHUNK)).enumerate();
        let one = |(chunk, (step, left)): (usize, (&mut [f64], &mut [f64]))| {
            let first = chunk * CHUNK;
            let (mut size, mut gap) = (0.0, 0.0);
            for (k, (step, left)) in step.iter_mut().zip(left).enumerate() {
                let k = first + k;
                *step += alpha * way[k];
                *left -= alpha * product[k];
                let square = *left * *left;
                size += square * self.inverse[k];
                gap += square / self.l2[k];
            }
            [size, 0.5 * gap]
        };
        let sums: Vec<[f64; 2]> = chunks.map(one).collect();
        sums.iter().fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d])
    }

    /// Moves the smoothed iterate towards an iterate, to the smallest gap. Returns that gap.
    fn smooth(&self, smooth: &mut Iterate, at: &Iterate) -> f64 {
        let chunks =
            smooth.left.par_chunks(CHUNK).zip(at.left.par_chunks(CHUNK)).zip(self.l2.par_chunks(CHUNK));
        let one = |((from, to), l2): ((&[f64], &[f64]), &[f64])| {
            let mut sums = [0.0; 3];
            for ((from, to), l2) in from.iter().zip(to).zip(l2) {
                let by = to - from;
                let scaled = by / l2;
                sums = [sums[0] + from * from / l2, sums[1] + from * scaled, sums[2] + by * scaled];
            }
            sums
        };
        let pieces: Vec<[f64; 3]> = chunks.map(one).collect();
        let add = |[a, b, c]: [f64; 3], [x, y, z]: &[f64; 3]| [a + x, b + y, c + z];
        let [square, along, length] = pieces.iter().fold([0.0; 3], add);
        if length <= 0.0 {
            return 0.5 * square;
        }
        let share = -along / length;
        combine(&mut smooth.step, 1.0 - share, share, &at.step);
        combine(&mut smooth.left, 1.0 - share, share, &at.left);
        0.5 * (square - along * along / length).max(0.0)
    }

    /// The next direction: M⁻¹·left + c·way.
    fn turn(&self, way: &mut [f64], left: &[f64], c: f64) {
        let terms = left.par_iter().zip(&self.inverse);
        let all = way.par_iter_mut().zip(terms).with_min_len(CHUNK);
        all.for_each(|(way, (left, inverse))| *way = left * inverse + c * *way);
    }

    /// The gap at a residual.
    fn gap(&self, left: &[f64]) -> f64 {
        left.iter().zip(self.l2).map(|(r, l2)| 0.5 * r * r / l2).sum()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let one = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(one).collect::<Vec<f64>>().iter().sum()
}

/// Linear combination v ← c·v + a·w.
fn combine(v: &mut [f64], c: f64, a: f64, w: &[f64]) {
    v.par_iter_mut().zip(w).with_min_len(CHUNK).for_each(|(v, w)| *v = c * *v + a * w);
}
