//! Newton steps without λ₁ on many columns: conjugate gradients on all weights at once.
//!
//! ```text
//! H = XᵀDX + nλ₂ on the weights and the bias          M = its diagonal
//! H·d = −(Xᵀr + nλ₂w)                                 w ← w + αd
//! n(F − F*) ≤ Σⱼ (gⱼ + nλ₂wⱼ)²/(2nλ₂) = n·gap         at the best bias
//! ```
//!
//! All weights move at every step, so a working set, a copy of its columns and sweeps over single weights have no use.
//! While the gradient falls slowly, the model is a poor one, and its exact minimum is not worth the passes (Eisenstat and
//! Walker 1996). If D does not change, as for the squared loss, the model is exact, and conjugate gradients go on until
//! the gap is within the tolerance.

use super::descend::{Ending, Memory};
use super::halted::Course;
use super::point::{Look, Point, total};
use super::{Newton, NewtonProgress, NewtonStop};
use crate::data::rows::Value;
use crate::optim::kernel::ColumnStore;
use crate::util::checkpoint::Keeper;
use rayon::prelude::*;

/// Fewest columns. With fewer, a dense matrix is faster.
const WIDE: usize = 512;
/// Maximum number of passes of conjugate gradients in one step.
const PASSES: usize = 1000;
/// Conjugate gradients reduce the M⁻¹-norm of the gradient to this multiple of the ratio of its last two squares,
const FORCING: f64 = 0.5;
/// but not below this share,
const FINEST: f64 = 0.01;
/// nor above this one.
const COARSEST: f64 = 0.3;
/// Share of the tolerance for the gap at the minimum of the model.
const SHARE: f64 = 0.5;
/// F must decrease by this share of the decrease that its gradient predicts (Armijo).
const ARMIJO: f64 = 0.01;
/// Number of weights or rows per task.
const CHUNK: usize = 4096;

/// A direction: a number per weight, and one for the bias.
struct Direction {
    weights: Vec<f64>,
    bias: f64,
}

impl Direction {
    fn dot(&self, other: &Direction) -> f64 {
        let pieces: Vec<f64> = (self.weights.par_chunks(CHUNK).zip(other.weights.par_chunks(CHUNK)))
            .map(|(a, b)| {
                let products: Vec<f64> = a.iter().zip(b).map(|(a, b)| a * b).collect();
                total(&products)
            })
            .collect();
        pieces.iter().sum::<f64>() + self.bias * other.bias
    }

    /// Linear combination self ← c·self + a·other.
    fn combine(&mut self, c: f64, a: f64, other: &Direction) {
        combine(&mut self.weights, c, a, &other.weights);
        self.bias = c * self.bias + a * other.bias;
    }
}

fn combine(v: &mut [f64], c: f64, a: f64, w: &[f64]) {
    v.par_iter_mut().zip(w).with_min_len(CHUNK).for_each(|(v, w)| *v = c * *v + a * w);
}

/// The result of conjugate gradients.
struct Move {
    step: Direction,
    /// The change of the scores.
    along: Vec<f64>,
    /// The derivative of F along the step.
    slope: f64,
    /// The predicted decrease of n·F.
    predicted: f64,
    /// The squared M⁻¹-norm of the gradient before.
    size: f64,
    passes: usize,
}

impl<V: Value> Newton<'_, V> {
    /// Whether these steps suit the problem: every weight has λ₂ > 0, no λ₁ and no bounds, and there are many columns.
    pub(super) fn is_ridge(&self, columns: &impl ColumnStore) -> bool {
        let (penalty, rows) = (&self.problem.weighted_penalty, self.problem.examples.rows);
        let free = penalty.penalty.l1 == 0.0 && !self.gap_is_loose() && !penalty.is_bounded();
        let wide = self.scope.is_none() && rows.columns() > WIDE && rows.nonzeros() > 0;
        free && wide && (0..rows.columns()).all(|j| columns.unit(j) == 1.0)
    }

    /// Runs steps from a point, on a course that begins or goes on.
    pub(super) fn descend_ridge(
        &self,
        point: &mut Point,
        columns: &impl ColumnStore,
        memory: &mut Memory,
        mut course: Course,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Ending {
        let l2: Vec<f64> =
            (0..point.weights.len()).map(|j| self.n * self.problem.weighted_penalty.at(j).l2).collect();
        let mut squares: Option<Vec<f64>> = None; // Σ Dx², as long as D stays
        let mut keeper = Keeper::new(self.bounds.unfinished);
        for step in course.step..self.options.steps {
            course.step = step;
            keeper.see(self.bounds.interrupted(), || self.halted(&course, point, memory));
            if !point.value.is_finite() {
                return course.ended(NewtonStop::Diverged);
            }
            let Look { gap, most, nonzeros } = self.look_for_end(point, columns);
            let go_on =
                watch(&NewtonProgress { steps: step, objective: point.value / self.n, nonzeros, gap });
            let stop = match () {
                () if !most.is_finite() => Some(NewtonStop::Diverged),
                () if gap <= self.options.tolerance && step >= self.bounds.least_steps => {
                    Some(NewtonStop::Gap)
                }
                () if !go_on || self.bounds.interrupted() => Some(NewtonStop::Interrupted),
                () if course.work == 0 => Some(NewtonStop::Steps),
                () => None,
            };
            if let Some(stop) = stop {
                if stop == NewtonStop::Interrupted {
                    keeper.cut_short();
                }
                return course.ended(stop);
            }
            let before = point.second_derivatives.clone();
            self.guard_curvature(point, memory, most, course.predicted_decrease);
            let guarded = point.second_derivatives != before;
            let diagonal = match squares.take().filter(|_| course.quadratic) {
                Some(squares) => squares,
                None => self.squares(point, columns),
            };
            let share_of = |now: f64| match course.quadratic {
                true => 0.0,
                false if course.size.is_finite() => (FORCING * now / course.size).clamp(FINEST, COARSEST),
                false => COARSEST,
            };
            let found = self.conjugate_gradients(point, columns, [&l2, &diagonal], &share_of, course.work);
            if !found.predicted.is_finite() {
                return course.ended(NewtonStop::Diverged);
            }
            let touched = 2 * (found.passes + 1) * self.problem.examples.rows.nonzeros();
            course.work = course.work.saturating_sub(touched);
            course.predicted_decrease = found.predicted / point.value.abs().max(f64::MIN_POSITIVE);
            course.size = found.size;
            let value = point.value;
            self.step_ridge(point, &found, columns, memory);
            course.quadratic = !guarded && point.second_derivatives == before;
            squares = Some(diagonal);
            course.idle = if value - point.value > 1e-15 * value.abs() { 0 } else { course.idle + 1 };
            if course.idle == 3 {
                return Ending { steps: step + 1, ..course.ended(NewtonStop::Precision) };
            }
        }
        Ending { steps: self.options.steps, ..course.ended(NewtonStop::Steps) }
    }

    /// The sums Σᵢ Dᵢxᵢⱼ² of all columns.
    fn squares(&self, point: &Point, columns: &impl ColumnStore) -> Vec<f64> {
        let one = |j: usize| {
            let mut sum = 0.0;
            columns.for_each(j, |i, x| sum += x * x * point.second_derivatives[i]);
            sum
        };
        (0..point.weights.len()).into_par_iter().with_min_len(512).map(one).collect()
    }

    /// The approximate minimiser of the quadratic model: to a share of the gradient's norm, which depends on its square, or
    /// until the gap there is a share of the tolerance.
    fn conjugate_gradients(
        &self,
        point: &Point,
        columns: &impl ColumnStore,
        [l2, squares]: [&[f64]; 2],
        share_of: &dyn Fn(f64) -> f64,
        work: usize,
    ) -> Move {
        let rows = self.problem.examples.rows;
        let with_bias = self.problem.bias;
        let of_bias = total(&point.second_derivatives);
        let precondition = |way: &Direction| {
            let one = |(v, (square, l2)): (&f64, (&f64, &f64))| v / (square + l2);
            let weights = way.weights.par_iter().zip(squares.par_iter().zip(l2)).with_min_len(CHUNK);
            let bias = if with_bias && of_bias > 0.0 { way.bias / of_bias } else { 0.0 };
            Direction { weights: weights.map(one).collect(), bias }
        };
        let gradient: Vec<f64> =
            (0..l2.len()).map(|j| -(point.gradient[j] + l2[j] * point.weights[j])).collect();
        let mut left =
            Direction { weights: gradient, bias: if with_bias { -total(&point.slopes) } else { 0.0 } };
        let mut way = precondition(&left);
        let mut size = left.dot(&way);
        let first = Direction { weights: left.weights.clone(), bias: left.bias };
        let mut found = Move {
            step: Direction { weights: vec![0.0; l2.len()], bias: 0.0 },
            along: vec![0.0; rows.len()],
            slope: 0.0,
            predicted: 0.0,
            size,
            passes: 0,
        };
        let share = share_of(size);
        let enough = share * share * size;
        let gap_of =
            |left: &Direction| left.weights.iter().zip(l2).map(|(r, l2)| 0.5 * r * r / l2).sum::<f64>();
        let allowed = SHARE * self.options.tolerance * point.value.abs();
        while found.passes < PASSES && 2 * found.passes * rows.nonzeros() < work {
            if size <= enough || gap_of(&left) <= allowed || self.bounds.interrupted() {
                break;
            }
            let one = |i: usize| rows.row(self.values, i).dot(&way.weights) + way.bias;
            let along: Vec<f64> = (0..rows.len()).into_par_iter().with_min_len(1024).map(one).collect();
            let curved = along.par_iter().zip(&point.second_derivatives).with_min_len(CHUNK);
            let curved: Vec<f64> = curved.map(|(u, d)| u * d).collect();
            let mut product = Direction { weights: vec![0.0; l2.len()], bias: 0.0 };
            columns.products(&curved, &mut product.weights);
            let weights = product.weights.par_iter_mut().zip(l2.par_iter().zip(&way.weights));
            weights.with_min_len(CHUNK).for_each(|(product, (l2, way))| *product += l2 * way);
            product.bias = if with_bias { total(&curved) } else { 0.0 };
            let alpha = size / way.dot(&product);
            found.passes += 1;
            if !alpha.is_finite() || alpha <= 0.0 {
                break;
            }
            found.step.combine(1.0, alpha, &way);
            combine(&mut found.along, 1.0, alpha, &along);
            found.predicted += 0.5 * alpha * size;
            left.combine(1.0, -alpha, &product);
            let next = precondition(&left);
            let before = std::mem::replace(&mut size, left.dot(&next));
            way.combine(size / before, 1.0, &next);
        }
        found.slope = -first.dot(&found.step);
        found
    }

    /// Takes the full step if F decreases enough, otherwise half of it, a quarter, …
    fn step_ridge(&self, point: &mut Point, found: &Move, columns: &impl ColumnStore, memory: &mut Memory) {
        let slope = found.slope.min(0.0); // rounding must not allow an increase of F
        let mut alpha = 1.0;
        for _ in 0..40 {
            if self.bounds.interrupted() {
                return;
            }
            let moved = |(a, b): (&f64, &f64)| a + alpha * b;
            let scores: Vec<f64> = point.scores.iter().zip(&found.along).map(moved).collect();
            let weights: Vec<f64> = point.weights.iter().zip(&found.step.weights).map(moved).collect();
            let (terms, penalty) =
                (self.terms(&scores), self.n * self.problem.weighted_penalty.value(&weights));
            if terms.loss + penalty <= point.value + ARMIJO * alpha * slope {
                match alpha {
                    1.0 => memory.relax(),
                    _ => self.learn_curvature(point, &found.along, alpha, memory),
                }
                (point.scores, point.weights, point.penalty) = (scores, weights, penalty);
                point.bias += alpha * found.step.bias;
                point.enter(terms);
                self.settle_bias(point, 2, self.enough());
                self.update_gradient(point, columns);
                return;
            }
            alpha *= 0.5;
        }
        self.learn_curvature(point, &found.along, alpha, memory);
    }
}
