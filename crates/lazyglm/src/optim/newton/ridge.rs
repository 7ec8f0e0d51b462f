//! Newton steps without λ₁ on many columns: conjugate gradients on all weights at once.
//!
//! ```text
//! H = XᵀDX + nλ₂ on the weights, with the bias at its best for each of them          M = its diagonal
//! H·d = −(Xᵀr + nλ₂w)                                 w ← w + αd
//! n(F − F*) ≤ Σⱼ (gⱼ + nλ₂wⱼ)²/(2nλ₂) = n·gap         at the best bias
//! ```
//!
//! All weights move at every step, so a working set, a copy of its columns and sweeps over single weights have no use.
//! While the gradient falls slowly, the model is a poor one, and its exact minimum is not worth the passes (Eisenstat and
//! Walker 1996). If D does not change, as for the squared loss, the model is exact, and conjugate gradients go on until
//! the gap is within the tolerance ([`cg`]).

use super::descend::{Ending, Memory};
use super::halted::{Course, Halted};
use super::path::Reached;
use super::point::{Look, Point};
use super::{Copies, Newton, NewtonProgress, NewtonStop};
use crate::data::rows::Value;
use crate::optim::kernel::{NormalRows, Sums};
use crate::util::checkpoint::Keeper;

mod cg;

use cg::{Goal, Model, Move};

/// Fewest columns. With fewer, a dense matrix is faster.
const WIDE: usize = 512;
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
/// Derivatives that sum to this share of their magnitudes are balanced well enough for a gap.
const NEARLY: f64 = 1e-8;

/// Rows, and room for sums over them.
struct Working<'a, V> {
    rows: &'a NormalRows<V>,
    room: Sums,
}

impl<V: Value> Newton<'_, V> {
    /// The rows for these steps, if they suit the problem: every weight has λ₂ > 0, no λ₁ and no bounds, values are of usual
    /// magnitude, and there are many columns.
    pub(super) fn ridge_rows<'v>(&self, copies: &'v Copies<V>) -> Option<&'v NormalRows<V>> {
        let (penalty, rows) = (&self.problem.weighted_penalty, self.problem.examples.rows);
        let free = penalty.penalty.l1 == 0.0 && !self.gap_is_loose() && !penalty.is_bounded();
        let wide = self.scope.is_none() && rows.columns() > WIDE && rows.nonzeros() > 0;
        let copy = || copies.by_row.get_or_init(|| NormalRows::of(rows, self.values));
        (free && wide).then(copy).filter(|rows| rows.is_usual())
    }

    /// Minimises F from where another solve ended, from weights and a bias, or from the null model.
    pub(super) fn run_ridge(
        &self,
        rows: &NormalRows<V>,
        reached: Option<Reached>,
        weights: Option<(&[f64], f64)>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> (Reached, Ending) {
        let mut working = Working { rows, room: rows.room() };
        let (mut here, start) = match (reached, weights) {
            (Some(mut here), _) => {
                let penalty = self.n * self.problem.weighted_penalty.value(&here.point.weights);
                here.point.value += penalty - here.point.penalty;
                here.point.penalty = penalty;
                (here, None)
            }
            (None, Some((weights, bias))) => {
                let mut point = self.point_without_gradient(weights.to_vec(), bias);
                working.update_gradient(&mut point);
                (Reached { point, memory: Memory::new(self.problem.examples.len()) }, None)
            }
            (None, None) => {
                let here =
                    Reached { point: self.null_point(), memory: Memory::new(self.problem.examples.len()) };
                let most = self.look(&here.point).most;
                if self.problem.examples.is_empty() || most <= 0.0 {
                    return (here, Ending::at_optimum()); // no weight leaves zero
                }
                let warm = if self.expects_many(most) { self.weights_of_passes(most) } else { None };
                (here, warm)
            }
        };
        if let Some((weights, bias)) = start {
            let mut warm = self.point_without_gradient(weights, bias);
            if warm.value < here.point.value {
                working.update_gradient(&mut warm);
                here.point = warm;
            }
        }
        let quadratic = self.problem.loss.is_quadratic();
        let course = Course { quadratic, ..Course::after(0, self.bounds.work) };
        let ending = self.descend_ridge(&mut here.point, &mut working, &mut here.memory, course, watch);
        (here, ending)
    }

    /// Goes on with a solve that was cut short.
    pub(super) fn go_on_ridge(
        &self,
        halted: Halted,
        rows: &NormalRows<V>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> (Reached, Ending) {
        let Halted { course, reached: mut here, .. } = halted;
        let mut working = Working { rows, room: rows.room() };
        let ending = self.descend_ridge(&mut here.point, &mut working, &mut here.memory, course, watch);
        (here, ending)
    }

    /// Runs steps from a point, on a course that begins or goes on.
    fn descend_ridge(
        &self,
        point: &mut Point,
        working: &mut Working<V>,
        memory: &mut Memory,
        mut course: Course,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Ending {
        let l2: Vec<f64> =
            (0..point.weights.len()).map(|j| self.n * self.problem.weighted_penalty.at(j).l2).collect();
        let l2 = working.rows.in_order(&l2);
        let mut sums: Option<[Vec<f64>; 2]> = None; // Σ Dx² and Σ Dx of each column, as long as D stays
        let mut keeper = Keeper::new(self.bounds.unfinished);
        for step in course.step..self.options.steps {
            course.step = step;
            keeper.see(self.bounds.interrupted(), || self.halted(&course, point, memory));
            if !point.value.is_finite() {
                return course.ended(NewtonStop::Diverged);
            }
            let mut look = self.look(point);
            if look.gap <= self.options.tolerance && self.balance_bias(point, NEARLY) {
                working.update_gradient(point);
                look = self.look(point);
            }
            let Look { gap, most, nonzeros } = look;
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
            let kept = sums.take().filter(|_| course.quadratic && !guarded);
            let [squares, tilts] = kept.unwrap_or_else(|| working.sums(&point.second_derivatives));
            let model = Model::new(point, working, &l2, &squares, &tilts, self.problem.bias);
            let share = match course.size.is_finite() {
                _ if course.quadratic => None,
                true => Some(FORCING / course.size),
                false => Some(f64::INFINITY),
            };
            let goal = Goal {
                share,
                range: [FINEST, COARSEST],
                value: point.value,
                gap: SHARE * self.options.tolerance,
                work: course.work,
                bounds: self.bounds,
            };
            let found = model.minimise(&goal, &mut working.room);
            if !found.predicted.is_finite() {
                return course.ended(NewtonStop::Diverged);
            }
            let touched = 2 * (found.passes + 1) * self.problem.examples.rows.nonzeros();
            course.work = course.work.saturating_sub(touched);
            course.predicted_decrease = found.predicted / point.value.abs().max(f64::MIN_POSITIVE);
            course.size = found.size;
            let value = point.value;
            self.step_ridge(point, &found, working, memory);
            course.quadratic = !guarded && point.second_derivatives == before;
            sums = Some([squares, tilts]);
            course.idle = if value - point.value > 1e-15 * value.abs() { 0 } else { course.idle + 1 };
            if course.idle == 3 {
                return Ending { steps: step + 1, ..course.ended(NewtonStop::Precision) };
            }
        }
        Ending { steps: self.options.steps, ..course.ended(NewtonStop::Steps) }
    }

    /// Takes the full step if F decreases enough, otherwise half of it, a quarter, …
    fn step_ridge(&self, point: &mut Point, found: &Move, working: &mut Working<V>, memory: &mut Memory) {
        let slope = found.slope.min(0.0); // rounding must not allow an increase of F
        let along: Vec<f64> =
            working.rows.scores(&found.weights).into_iter().map(|u| u + found.bias).collect();
        let step = working.rows.by_column(&found.weights);
        let mut alpha = 1.0;
        for _ in 0..40 {
            if self.bounds.interrupted() {
                return;
            }
            let moved = |(a, b): (&f64, &f64)| a + alpha * b;
            let scores: Vec<f64> = point.scores.iter().zip(&along).map(moved).collect();
            let weights: Vec<f64> = point.weights.iter().zip(&step).map(moved).collect();
            let (terms, penalty) =
                (self.terms(&scores), self.n * self.problem.weighted_penalty.value(&weights));
            if terms.loss + penalty <= point.value + ARMIJO * alpha * slope {
                match alpha {
                    1.0 => memory.relax(),
                    _ => self.learn_curvature(point, &along, alpha, memory),
                }
                (point.scores, point.weights, point.penalty) = (scores, weights, penalty);
                point.bias += alpha * found.bias;
                point.enter(terms);
                self.settle_bias(point, 2, self.enough());
                working.update_gradient(point);
                return;
            }
            alpha *= 0.5;
        }
        self.learn_curvature(point, &along, alpha, memory);
    }
}

impl<V: Value> Working<'_, V> {
    /// Computes the gradient.
    fn update_gradient(&mut self, point: &mut Point) {
        let mut gradient = vec![0.0; point.weights.len()];
        self.rows.transposed(&point.slopes, &mut self.room, &mut gradient);
        point.gradient = self.rows.by_column(&gradient);
    }

    /// The sums Σᵢ Dᵢxᵢⱼ² and Σᵢ Dᵢxᵢⱼ of all columns, in the order of the rows.
    fn sums(&mut self, curvature: &[f64]) -> [Vec<f64>; 2] {
        let [mut squares, mut tilts] = [vec![0.0; self.rows.width()], vec![0.0; self.rows.width()]];
        self.rows.squares(curvature, &mut self.room, &mut squares);
        self.rows.transposed(curvature, &mut self.room, &mut tilts);
        [squares, tilts]
    }
}
