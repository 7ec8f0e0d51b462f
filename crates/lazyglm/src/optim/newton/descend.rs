//! Newton steps from a point, until a stopping criterion holds.

use super::extrapolate::Minimiser;
use super::halted::Course;
use super::kept_gram::KeptGram;
use super::line::ROUNDING;
use super::model::{Accuracy, QuadraticModel};
use super::point::{Look, Point};
use super::{Bounds, Newton, NewtonProgress, NewtonStop, Problem};
use crate::data::rows::Value;
use crate::optim::kernel::ColumnStore;
use crate::problem::loss::{Admits, Loss};
use crate::problem::penalty::WeightedPenalty;
use crate::util::checkpoint::Keeper;
use crate::util::number::positive_part;

/// Share of the tolerance for the predicted decrease. The model is solved inexactly, so the distance may be
/// several times the predicted decrease.
const MARGIN: f64 = 0.1;
/// Coordinate descent stops when the remaining decrease is this share of the decrease so far.
const LITTLE: f64 = 0.1;
/// Replaces `LITTLE` while the last predicted decrease exceeds `FAR`, relative to F.
const FAR_LITTLE: f64 = 0.3;
/// Predicted decrease, relative to F, above which the optimum is far.
const FAR: f64 = 3e-3;
/// Replaces `LITTLE` where the predicted decrease must be reliable.
const SURELY: f64 = 0.05;
/// Ratio of successive predicted decreases above which convergence counts as slow, so that only a reliable
/// prediction may stop the solver.
const SLOW: f64 = 0.3;
/// Replaces `MARGIN` for a predicted decrease that is not reliable.
const UNSURE: f64 = 0.01;
/// Share of the curvature bound that remains where the loss is linear (Huber). Otherwise a weight whose rows are almost all
/// there moves by steps that are far too long, and the line search ends at rounding before the optimum.
pub(super) const STRAIGHT: f64 = 0.01;

/// Derivatives that sum to this share of their magnitudes are balanced well enough for a gap.
const NEARLY: f64 = 1e-8;
/// A matrix is kept if the estimated distance after a step is at most this share of the predicted decrease.
const STALE: f64 = 0.05;
/// Smallest tolerance for which the remaining decrease that sweeps predict is accurate enough. For smaller tolerances, most
/// of it may lie in directions in which Q has little curvature. Sweeps are slow there, and underestimate it.
const COARSE: f64 = 1e-4;
/// Share of the tolerance for an estimate of the distance, which is above it by a factor already.
const ESTIMATED: f64 = 0.3;
/// The factor of the part that the model missed, which is an upper bound only as far as F is quadratic.
const DOUBT: f64 = 3.0;
/// Share of the estimate that the model of the last step may leave.
const LAST: f64 = 0.07;
/// Predicted decrease, relative to F, below which the model is minimised exactly. An exact minimum gives the best certificate.
const NEAR_END: f64 = 1e-2;

/// Numbers that the solver may touch for the certificate alone, after the predicted decrease has reached the tolerance: milliseconds.
const FOR_THE_GAP: usize = 4_000_000;
/// The same, as a share of the work so far: one in this many.
const FOR_THE_GAP_SHARE: usize = 4;

/// F falls by this multiple of the predicted decrease if the model is far too curved along the step: rows that were omitted count
/// in its diagonal, which damps directions in which nearly dependent columns have little curvature.
pub(super) const TOO_CURVED: f64 = 1.3;
/// The blend of D with the curvature bound far from the optimum.
pub(super) const FAR_THETA: f64 = 0.1;

/// Least margin of all rows at which a problem without a penalty counts as separable: it has no minimum.
pub(super) const WIDE: f64 = 10.0;

/// Why and where the steps ended.
pub(super) struct Ending {
    pub stop: NewtonStop,
    /// Number of steps, with those before.
    pub steps: usize,
    /// The predicted decrease of the last step, relative to F.
    pub predicted_decrease: f64,
    /// A lower bound on F, if one was computed.
    pub dual: Option<f64>,
}

impl Ending {
    /// The end at a point that needs no step.
    pub fn at_optimum() -> Ending {
        Ending { stop: NewtonStop::Gap, steps: 0, predicted_decrease: 0.0, dual: None }
    }
}

/// What later steps use of earlier ones: safeguards against a curvature that is too small, and a matrix.
#[derive(Clone)]
pub(super) struct Memory {
    pub theta: f64,
    pub repair: Vec<f64>,
    /// The estimated distance from the optimum after the last step, as a share of its predicted decrease.
    pub missed: f64,
    /// The matrix of the last model, if it is still good.
    pub gram: Option<KeptGram>,
    /// Whether F has just fallen by far more than the model predicted.
    pub too_curved: bool,
    /// Whether models need the curvature of all rows, since a model without faint rows was too curved.
    pub all_rows: bool,
    /// The width of smoothing of a piecewise-linear loss; zero if there was none.
    pub width: f64,
    /// The λ₁ of the last solve,
    pub l1: f64,
    /// and the minimiser of the solve before.
    pub before: Option<Minimiser>,
}

/// Whether predicted decreases fall slowly.
pub(super) fn is_slow(predicted_decrease: f64, last: f64) -> bool {
    predicted_decrease > SLOW * last
}

/// An estimate of n(F − F*), relative to F.
fn left_of(left: f64, point: &Point) -> f64 {
    left / point.value.abs().max(f64::MIN_POSITIVE)
}

/// The share of the tolerance at which the predicted decrease of a step may end the steps.
pub(super) fn margin_after(doubtful: bool, surely: bool) -> f64 {
    match surely {
        _ if doubtful => 0.0,
        true => MARGIN,
        false => UNSURE,
    }
}

/// The sign of scores at which the loss of a target falls without end, or 0 if there is none.
pub(super) fn side(loss: &dyn Loss, target: f64) -> f64 {
    match loss.admits() {
        Admits::Classes => target,
        Admits::NonNegative if target == 0.0 => -1.0,
        _ => 0.0,
    }
}

impl Memory {
    pub fn new(rows: usize) -> Memory {
        let (theta, repair, missed) = (1.0, vec![0.0; rows], f64::INFINITY);
        let (too_curved, all_rows, width, l1) = (false, false, 0.0, f64::NAN);
        Memory { theta, repair, missed, gram: None, too_curved, all_rows, width, l1, before: None }
    }
}

impl<V: Value> Newton<'_, V> {
    /// Runs Newton steps from a point, on a course that begins or goes on.
    pub(super) fn descend(
        &self,
        point: &mut Point,
        columns: &impl ColumnStore,
        memory: &mut Memory,
        mut course: Course,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Ending {
        let mut keeper = Keeper::new(self.bounds.unfinished);
        for step in course.step..self.options.steps {
            course.step = step;
            keeper.see(self.bounds.interrupted(), || self.halted(&course, point, memory));
            if !point.value.is_finite() {
                return course.ended(NewtonStop::Diverged);
            }
            if self.is_separated(point) {
                return course.ended(NewtonStop::NoMinimum);
            }
            let Look { gap, most, nonzeros } = self.look_for_end(point, columns);
            let go_on =
                watch(&NewtonProgress { steps: step, objective: point.value / self.n, nonzeros, gap });
            if gap <= self.options.tolerance && step >= self.bounds.least_steps {
                return course.ended(NewtonStop::Gap);
            }
            if let Some(stop) = self.stop_near(&mut course, point) {
                return course.ended(stop);
            }
            if !go_on {
                keeper.cut_short();
                return course.ended(NewtonStop::Interrupted);
            }
            if course.work == 0 {
                return course.ended(NewtonStop::Steps);
            }
            self.guard_curvature(point, memory, most, course.predicted_decrease);
            let mut model = QuadraticModel::build(self, point, columns, most, memory);
            let tells = model.gram.is_some() || self.options.tolerance >= COARSE;
            let may_end = self.gap_is_loose() && model.whole && tells;
            let missed = if may_end { memory.missed } else { f64::INFINITY };
            let accuracy = self.accuracy(point, &course, model.whole, missed);
            let surely = accuracy.surely;
            let touched = model.solve(accuracy, Bounds { work: course.work, ..self.bounds });
            if !model.predicted.is_finite() {
                return course.ended(NewtonStop::Diverged);
            }
            let of_step = touched + self.problem.examples.rows.nonzeros() + point.weights.len();
            course.work = course.work.saturating_sub(of_step);
            course.for_the_gap = course.for_the_gap.map(|left| left.saturating_sub(of_step));
            let last = course.predicted_decrease;
            course.predicted_decrease = model.predicted / point.value.abs().max(f64::MIN_POSITIVE);
            course.slow = is_slow(course.predicted_decrease, last);
            let before = point.value;
            let taken = self.line_search(point, &model, columns, memory);
            memory.too_curved = taken.alpha == 1.0 && before - point.value > TOO_CURVED * model.predicted;
            memory.all_rows |= memory.too_curved && memory.theta == 0.0;
            let missed = positive_part(taken.left - 2.0 * ROUNDING * point.value.abs());
            memory.missed = missed / (model.predicted * model.predicted);
            memory.gram = model.gram.take().filter(|_| taken.left <= STALE * model.predicted);
            let doubtful = taken.alpha < 1.0 || !model.whole || model.stuck || model.unsolved;
            course.margin = margin_after(doubtful, surely);
            course.left = if doubtful || !may_end { f64::INFINITY } else { DOUBT * taken.left + model.left };
            let is_last = self.scope.is_some() && course.left <= self.allowed_left(point);
            if is_last && step + 1 >= self.bounds.least_steps {
                course.predicted_decrease = course.predicted_decrease.min(left_of(course.left, point));
                return Ending { steps: step + 1, ..course.ended(NewtonStop::PredictedDecrease) };
            }
            self.update_gradient(point, columns);
            if course.left < f64::INFINITY {
                course.left += self.decrease_from_zero(point, columns);
            }
            let slopes = taken.slopes.filter(|_| self.may_prove(&course, point, step + 1));
            let dual = slopes.and_then(|slopes| self.dual_value(point, slopes, columns));
            course.dual = course.dual.into_iter().chain(dual).reduce(f64::max); // a bound on F everywhere
            course.idle = if before - point.value > 1e-15 * before.abs() { 0 } else { course.idle + 1 };
            if course.idle == 3 {
                let stop = match course.for_the_gap {
                    Some(_) => NewtonStop::PredictedDecrease,
                    None => NewtonStop::Precision,
                };
                return Ending { steps: step + 1, ..course.ended(stop) };
            }
        }
        Ending { steps: self.options.steps, ..course.ended(NewtonStop::Steps) }
    }

    /// Whether the last step shows that the optimum is near enough, where the gap of the point is too loose to show it.
    fn is_close(&self, course: &Course, point: &Point, steps: usize) -> bool {
        let predicted = course.predicted_decrease <= course.margin * self.options.tolerance;
        let estimated = course.left <= self.allowed_left(point) && steps >= self.bounds.least_steps;
        let means = self.options.tolerance >= ROUNDING; // no prediction is as exact as a smaller one
        (predicted || estimated) && means && self.gap_is_loose()
    }

    /// Whether the model of the last step may prove that the optimum is near enough: it is worth a pass or two.
    fn may_prove(&self, course: &Course, point: &Point, steps: usize) -> bool {
        let near = course.margin > 0.0 && course.predicted_decrease <= self.options.tolerance;
        let may = self.options.tolerance >= ROUNDING && (near || self.is_close(course, point, steps));
        may && self.look(point).gap > self.options.tolerance // else the point itself proves it
    }

    /// Whether to stop near the optimum: if the model of the last step proves it, or after some work for a gap.
    fn stop_near(&self, course: &mut Course, point: &Point) -> Option<NewtonStop> {
        let objective = point.value / self.n;
        let of_model = course.dual.map_or(f64::INFINITY, |dual| (objective - dual) / objective.abs());
        if of_model <= self.options.tolerance && course.step >= self.bounds.least_steps {
            return Some(NewtonStop::Gap);
        }
        if !self.is_close(course, point, course.step) {
            return None;
        }
        course.predicted_decrease = course.predicted_decrease.min(left_of(course.left, point));
        let work = self.work_for_the_gap(self.bounds.work - course.work);
        let left = *course.for_the_gap.get_or_insert(work);
        (left == 0).then_some(NewtonStop::PredictedDecrease)
    }

    /// How accurately to minimise the next model.
    pub(super) fn accuracy(&self, point: &Point, course: &Course, whole: bool, missed: f64) -> Accuracy {
        let near = course.slow && course.predicted_decrease <= self.options.tolerance;
        let surely = self.gap_is_loose() && whole && (near || course.for_the_gap.is_some());
        let share = match surely {
            true => SURELY,
            false if course.predicted_decrease > FAR => FAR_LITTLE,
            false => LITTLE,
        };
        // Where slopes are not bounded, numbers of a model in f32 may not be finite, and those of a matrix are.
        let closely = self.gap_is_loose()
            && self.scope.is_none()
            && course.predicted_decrease <= 3.0 * self.options.tolerance;
        let far = course.predicted_decrease > NEAR_END && self.problem.loss.gradient_bound().is_finite();
        Accuracy { share, surely, enough: LAST * self.allowed_left(point), missed, far, closely }
    }

    /// Whether the optimum is far, given the largest violation. A column of large values has a large gradient close to the
    /// optimum as well.
    pub(super) fn is_far(&self, most: f64, predicted_decrease: f64) -> bool {
        let steep = most >= 2.0 * self.n * self.problem.weighted_penalty.penalty.l1;
        steep && predicted_decrease > FAR
    }

    /// Work for a certificate, after steps whose predicted decrease is small enough. If λ₂ = 0, the gap is of first order in the
    /// violation, so some more steps prove far more. None along a path, whose models are many.
    fn work_for_the_gap(&self, so_far: usize) -> usize {
        match self.scope {
            None => FOR_THE_GAP.max(so_far / FOR_THE_GAP_SHARE),
            Some(_) => 0,
        }
    }

    /// Looks at a point. If its gap is small enough to end, the bias is moved to its best first: the gap is a bound only
    /// if the derivatives sum to zero.
    pub(super) fn look_for_end(&self, point: &mut Point, columns: &impl ColumnStore) -> Look {
        let look = self.look(point);
        let ends = self.scope.is_none() && look.gap <= self.options.tolerance; // else `rounds` moves the bias
        if ends && self.balance_bias(point, NEARLY) {
            self.update_gradient(point, columns);
            return self.look(point);
        }
        look
    }

    /// The estimate of n(F − F*) at which to end: a share of the tolerance.
    fn allowed_left(&self, point: &Point) -> f64 {
        ESTIMATED * self.options.tolerance * point.value.abs()
    }

    /// The decrease of n·F that may be left at the end: a share of the tolerance.
    pub(super) fn allowed_decrease(&self, point: &Point) -> f64 {
        MARGIN * self.options.tolerance * point.value.abs()
    }

    /// The decrease of n·F that steps on single weights predict, for weights that should leave zero.
    pub(super) fn decrease_from_zero(&self, point: &Point, columns: &impl ColumnStore) -> f64 {
        let weighted_penalty = &self.problem.weighted_penalty;
        let mut sum = 0.0;
        self.for_each_column(|j| {
            let beyond = self.n * weighted_penalty.excess_gradient(j, point.gradient[j] / self.n);
            if beyond != 0.0 && point.weights[j] == 0.0 {
                let mut curvature = self.n * weighted_penalty.at(j).l2;
                columns.for_each(j, |i, x| curvature += x * x * point.second_derivatives[i]);
                sum += 0.5 * beyond * beyond / curvature;
            }
        });
        sum
    }

    /// Whether the point shows that F has no minimum: without a penalty, every row is on its side of the boundary by a
    /// wide margin, and the loss still falls. The side of a count is that of zero, if it is zero.
    fn is_separated(&self, point: &Point) -> bool {
        let Problem { examples, loss, .. } = self.problem;
        let side = |i: usize| side(*loss, examples.targets[i]);
        let apart = |i: usize| point.scores[i] * side(i) > WIDE || examples.weight(i) == 0.0;
        let falls = point.slopes.iter().any(|slope| *slope != 0.0);
        self.is_free() && falls && (0..examples.len()).all(apart)
    }

    /// Whether there is neither a penalty nor a bound.
    pub(super) fn is_free(&self) -> bool {
        let weighted_penalty = &self.problem.weighted_penalty;
        weighted_penalty.penalty.is_none() && weighted_penalty.bounds.is_none()
    }

    /// Whether the duality gap is loose. If λ₂ = 0, the gap is of first order in the violation, and the
    /// distance of second order. For an unpenalised weight there is no gap.
    pub(super) fn gap_is_loose(&self) -> bool {
        let WeightedPenalty { penalty, factors, .. } = self.problem.weighted_penalty;
        penalty.l2 == 0.0 || factors.is_some_and(|factors| factors.contains(&0.0))
    }

    /// Blends D with the curvature bound for badly misclassified rows, and raises D where a step was too
    /// long.
    pub(super) fn guard_curvature(
        &self,
        point: &mut Point,
        memory: &mut Memory,
        most: f64,
        predicted_decrease: f64,
    ) {
        let is_far = !memory.too_curved && self.is_far(most, predicted_decrease);
        let floor = if is_far { FAR_THETA } else { 0.0 };
        memory.theta = memory.theta.max(floor);
        let Problem { examples, loss, .. } = self.problem;
        let half = 0.5 * loss.gradient_bound();
        for i in 0..examples.len() {
            let (weight, second_derivative) = (examples.weight(i), point.second_derivatives[i]);
            let theta = if second_derivative == 0.0 { memory.theta.max(STRAIGHT) } else { memory.theta };
            if theta > 0.0 && point.slopes[i].abs() > half * weight {
                let bound = loss.majoriser(point.scores[i], examples.targets[i]).unwrap_or(0.0) * weight;
                point.second_derivatives[i] += theta * (bound - second_derivative).max(0.0);
            }
            point.second_derivatives[i] = point.second_derivatives[i].max(memory.repair[i]);
        }
    }
}
