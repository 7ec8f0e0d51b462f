//! Newton steps in little memory per row, on columns that are decoded at each use.
//!
//! ```text
//! score       8 bytes, or 4          target    1, 4 or 8 bytes
//! √D          4 bytes                t         4 bytes, which is then the change of the score along the step
//! gradient    8 bytes, while neither √D nor t is there
//! repair      4 bytes, after a step that was too long
//! face        8 bytes, if there is memory for steps along it
//! ```
//!
//! The steps are those of [`super::descend`]. Terms of the rows are not stored but computed again: for the gradient, for D, and
//! for each length of a step.

use super::descend::{Ending, FAR_THETA, TOO_CURVED, is_slow, margin_after};
use super::halted::Course;
use super::kept_rows::KeptRows;
use super::lean_rows::{Change, Guard, LeanRows, Score};
use super::model::QuadraticModel;
use super::point::{Look, Point};
use super::working_set::working_set;
use super::{Newton, NewtonProgress, NewtonStop};
use crate::data::rows::Value;
use crate::optim::kernel::{ColumnStore, CompactColumns};
use crate::util::random::Random;

/// F must decrease by this share of the decrease that its gradient predicts (Armijo).
const ARMIJO: f64 = 0.01;
/// Maximum number of step lengths, each half of the last.
const HALVINGS: usize = 40;
/// Derivatives that sum to this share of their magnitudes are balanced,
const BALANCED: f64 = 1e-13;
/// after at most this many steps on the bias.
const BIAS_STEPS: usize = 8;
/// Number of steps for the gap alone, once the predicted decrease is within the tolerance.
const FOR_THE_GAP: usize = 2;

impl<V: Value> Newton<'_, V> {
    /// Runs Newton steps from weights and a bias, on rows whose scores are those of the point. `on_face` says whether there is
    /// memory for steps along the face.
    pub(super) fn descend_lean(
        &self,
        point: &mut Point,
        rows: &mut LeanRows<impl Score>,
        columns: &CompactColumns,
        on_face: bool,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Ending {
        let (mut guard, mut too_curved) = (Guard::first(), false);
        let mut course = Course::after(0, self.bounds.work);
        self.renew(point, rows, columns);
        for step in 0..self.options.steps {
            course.step = step;
            let Look { gap, most, nonzeros } = self.look_with(point, |share| rows.conjugates(share));
            let go_on =
                watch(&NewtonProgress { steps: step, objective: point.value / self.n, nonzeros, gap });
            let is_close = course.predicted_decrease <= course.margin * self.options.tolerance;
            if is_close && self.gap_is_loose() {
                let left = course.for_the_gap.map_or(FOR_THE_GAP, |left| left - 1);
                course.for_the_gap = Some(left);
            }
            let stop = match () {
                () if !point.value.is_finite() || most.is_nan() => Some(NewtonStop::Diverged),
                () if self.is_free() && rows.are_separated() => Some(NewtonStop::NoMinimum),
                () if gap <= self.options.tolerance => Some(NewtonStop::Gap),
                () if course.for_the_gap == Some(0) => Some(NewtonStop::PredictedDecrease),
                () if !go_on || self.bounds.interrupted() => Some(NewtonStop::Interrupted),
                () => None,
            };
            if let Some(stop) = stop {
                return course.ended(stop);
            }
            let far = !too_curved && self.is_far(most, course.predicted_decrease);
            guard.theta = guard.theta.max(if far { FAR_THETA } else { 0.0 });
            let mut model = self.lean_model(point, rows, columns, &guard, most);
            let accuracy = self.accuracy(point, &course, model.whole, f64::INFINITY);
            model.on_face = on_face;
            model.solve(accuracy, self.bounds);
            if !model.predicted.is_finite() {
                return course.ended(NewtonStop::Diverged);
            }
            let (before, predicted) = (point.value, model.predicted);
            let doubtful = !model.whole || model.stuck || model.unsolved;
            let last = course.predicted_decrease;
            course.predicted_decrease = predicted / before.abs().max(f64::MIN_POSITIVE);
            course.slow = is_slow(course.predicted_decrease, last);
            let alpha = self.lean_step(point, rows, columns, model, &mut guard);
            too_curved = alpha == 1.0 && before - point.value > TOO_CURVED * predicted;
            course.margin = margin_after(doubtful || alpha < 1.0, accuracy.surely);
            course.idle = if before - point.value > 1e-15 * before.abs() { 0 } else { course.idle + 1 };
            if course.idle == 3 {
                return Ending { steps: step + 1, ..course.ended(NewtonStop::Precision) };
            }
        }
        Ending { steps: self.options.steps, ..course.ended(NewtonStop::Steps) }
    }

    /// Moves the bias to its best, and computes the objective and the gradient.
    fn renew(&self, point: &mut Point, rows: &mut LeanRows<impl Score>, columns: &CompactColumns) {
        if self.problem.bias {
            point.bias += rows.balance(BALANCED, BIAS_STEPS);
        }
        point.value = rows.sums(Change::default()).loss + point.penalty;
        columns.products(&rows.slopes(), &mut point.gradient);
    }

    /// The quadratic model at a point, on all rows.
    fn lean_model<'c>(
        &self,
        point: &Point,
        rows: &LeanRows<impl Score>,
        columns: &'c CompactColumns,
        guard: &Guard,
        most: f64,
    ) -> QuadraticModel<'c> {
        let (mut set, whole) = working_set(self, point, most);
        Random::new(point.weights.len() as u64).shuffle(&mut set); // sweeps in order may be slow
        let slope = rows.sums(Change::default()).slope;
        let (roots, curvature) = rows.roots(guard);
        let kept = KeptRows::decoded(columns, &set, roots, [slope, curvature]);
        QuadraticModel::on_rows(self, point, columns, kept, set, whole)
    }

    /// Takes the full step if F decreases enough, otherwise half of it, a quarter, …; returns the share of the step, or 0.
    fn lean_step(
        &self,
        point: &mut Point,
        rows: &mut LeanRows<impl Score>,
        columns: &CompactColumns,
        mut model: QuadraticModel,
        guard: &mut Guard,
    ) -> f64 {
        let slope = model.descent().min(0.0); // rounding must not allow an increase of F
        let along = self.lean_changes(&mut model, columns);
        let mut alpha = 1.0;
        for _ in 0..HALVINGS {
            if self.bounds.interrupted() {
                return 0.0;
            }
            let change = Change { bias: 0.0, along: Some((&along, alpha)) };
            let penalty = model.penalty(alpha);
            if rows.sums(change).loss + penalty <= point.value + ARMIJO * alpha * slope {
                match alpha {
                    1.0 => guard.relax(),
                    _ => rows.learn_curvature(&along, alpha, guard),
                }
                rows.change(change);
                self.move_weights(point, &model, alpha);
                point.penalty = penalty;
                drop((along, model)); // the gradient needs the memory
                self.renew(point, rows, columns);
                return alpha;
            }
            alpha *= 0.5;
        }
        rows.learn_curvature(&along, alpha, guard);
        0.0
    }

    /// The change of the scores by the full move, in the memory of the model's t.
    fn lean_changes(&self, model: &mut QuadraticModel, columns: &CompactColumns) -> Vec<f32> {
        let mut along = std::mem::take(&mut model.tilt);
        model.roots = Default::default();
        along.fill(model.bias as f32);
        for k in (0..model.set.len()).filter(|&k| model.to[k] != model.from[k]) {
            let moved = model.moved(k);
            columns.for_each(model.set[k] as usize, |i, x| along[i] += (moved * x) as f32);
        }
        along
    }
}
