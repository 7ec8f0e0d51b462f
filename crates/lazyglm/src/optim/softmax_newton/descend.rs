//! Newton steps on all classes from a point, until a stopping criterion holds.

use super::halted::Halted;
use super::lanes::Block;
use super::model::{Effort, QuadraticModel};
use super::point::CHUNK;
use super::{NewtonProgress, NewtonStop, SoftmaxNewton, Solution};
use crate::data::rows::Value;
use crate::optim::kernel::Columns;
use crate::util::checkpoint::Keeper;
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Share of the tolerance for the predicted decrease. The model is solved inexactly, so the distance may be
/// several times the predicted decrease.
const MARGIN: f64 = 0.1;
/// Replaces `MARGIN` for a predicted decrease that is not reliable.
const UNSURE: f64 = 0.01;
/// Ratio of successive predicted decreases above which convergence counts as slow, so that only a reliable
/// prediction may stop the solver.
const SLOW: f64 = 0.3;

impl<V: Value> SoftmaxNewton<'_, V> {
    /// Runs Newton steps from a point, or goes on with them.
    pub(super) fn descend(
        &self,
        from: Halted,
        columns: &Columns<V>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let Halted { mut course, mut point, mut guard } = from;
        self.touched.fetch_max(course.touched, Ordering::Relaxed);
        let mut keeper = Keeper::new(self.bounds.unfinished);
        for step in course.step..self.options.steps {
            (course.step, course.touched) = (step, self.touched.load(Ordering::Relaxed));
            keeper.see(self.bounds.interrupted(), || Halted {
                course: course.clone(),
                point: point.clone(),
                guard: guard.clone(),
            });
            let most = self.largest_violation(&point);
            if !point.value.is_finite() || !most.is_finite() {
                return self.solved(point, NewtonStop::Diverged, step, course.decrease);
            }
            if self.is_separated(&point) {
                return self.solved(point, NewtonStop::NoMinimum, step, course.decrease);
            }
            let gap = self.relative_gap(&point);
            let of_block = |block: &Block<f64>| block.iter().filter(|w| **w != 0.0).count();
            let nonzeros = point.weights.par_iter().with_min_len(CHUNK).map(of_block).sum();
            let go_on =
                watch(&NewtonProgress { steps: step, objective: point.value / self.n, nonzeros, gap });
            if gap <= self.options.tolerance && step >= self.bounds.least_steps {
                return self.solved(point, NewtonStop::Gap, step, course.decrease);
            }
            if step > 0 && course.decrease <= course.margin * self.options.tolerance && self.gap_is_loose() {
                return self.solved(point, NewtonStop::PredictedDecrease, step, course.decrease);
            }
            if !go_on {
                keeper.cut_short();
                return self.solved(point, NewtonStop::Interrupted, step, course.decrease);
            }
            if self.touched.load(Ordering::Relaxed) >= self.bounds.work {
                return self.solved(point, NewtonStop::Steps, step, course.decrease);
            }
            let mut model = QuadraticModel::build(self, &point, columns, &mut guard, most);
            let near = course.slow && course.decrease <= self.options.tolerance;
            let surely = self.gap_is_loose() && near && model.whole;
            model.solve(Effort { last: course.decrease, last_size: course.size, surely });
            if self.bounds.interrupted() {
                keeper.cut_short();
                return self.solved(point, NewtonStop::Interrupted, step, course.decrease);
            }
            if !model.predicted.is_finite() {
                // All rows are saturated, and steps without curvature overflow: this finite point is as far as it goes.
                return self.solved(point, NewtonStop::Precision, step, course.decrease);
            }
            let last = course.decrease;
            course.decrease = model.predicted / point.value.abs().max(f64::MIN_POSITIVE);
            course.slow = course.decrease > SLOW * last;
            let before = point.value;
            let alpha = self.line_search(&mut point, &model, columns, &mut guard);
            course.size = model.size;
            course.margin = match surely {
                _ if alpha < 1.0 || !model.whole || model.unsolved => 0.0,
                true => MARGIN,
                false => UNSURE,
            };
            course.idle = if before - point.value > 1e-15 * before.abs() { 0 } else { course.idle + 1 };
            if course.idle == 3 {
                return self.solved(point, NewtonStop::Precision, step + 1, course.decrease);
            }
        }
        self.solved(point, NewtonStop::Steps, self.options.steps, course.decrease)
    }
}
