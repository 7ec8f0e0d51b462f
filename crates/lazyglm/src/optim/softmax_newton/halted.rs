//! A solve that was cut short between two steps: it goes on from there to the same bits.

use super::SoftmaxNewton;
use super::guard::Guard;
use super::point::Point;
use crate::data::rows::Value;
use crate::util::state::{Fields, State};

/// What a descent knows between two steps, beside its point and the guard of its curvature.
#[derive(Clone)]
pub(super) struct Course {
    /// Number of steps made.
    pub step: usize,
    /// The predicted decrease of the last step, relative to F.
    pub decrease: f64,
    /// Share of the tolerance at which the predicted decrease may stop the solver.
    pub margin: f64,
    /// Whether the predicted decreases fall slowly.
    pub slow: bool,
    /// Number of steps without progress, one after the other.
    pub idle: usize,
    /// The squared norm of the gradient before the last step.
    pub size: f64,
    /// Count of numbers so far, for the bound on work.
    pub touched: usize,
}

/// The state of a solve between two steps.
pub(super) struct Halted {
    pub course: Course,
    pub point: Point,
    pub guard: Guard,
}

impl Halted {
    /// The state before the first step.
    pub fn at(point: Point, guard: Guard) -> Halted {
        let (decrease, size) = (f64::INFINITY, f64::INFINITY);
        let course = Course { step: 0, decrease, margin: 0.0, slow: true, idle: 0, size, touched: 0 };
        Halted { course, point, guard }
    }
}

impl Default for Halted {
    fn default() -> Halted {
        Halted::at(Point::default(), Guard::new())
    }
}

impl State for Halted {
    fn fields(&mut self, fields: &mut Fields) {
        let Halted { course, point, guard } = self;
        let counts = [&mut course.step, &mut course.idle, &mut course.touched];
        counts.into_iter().for_each(|count| count.fields(fields));
        let numbers = [&mut course.decrease, &mut course.margin, &mut course.size];
        numbers.into_iter().for_each(|number| number.fields(fields));
        course.slow.fields(fields);
        let arrays = [&mut point.weights, &mut point.scores, &mut point.residuals, &mut point.gradient];
        arrays.into_iter().for_each(|array| array.fields(fields));
        point.biases.fields(fields);
        point.value.fields(fields);
        guard.theta.fields(fields);
        guard.repair.fields(fields);
    }
}

impl<V: Value> SoftmaxNewton<'_, V> {
    /// Whether a state is on these rows, columns and classes.
    pub(super) fn fits(&self, Halted { point, guard, .. }: &Halted) -> bool {
        let [of_rows, of_columns] =
            [self.problem.rows.len(), self.problem.rows.columns()].map(|n| n * self.blocks);
        [&point.scores, &point.residuals].iter().all(|array| array.len() == of_rows)
            && [&point.weights, &point.gradient].iter().all(|array| array.len() == of_columns)
            && point.biases.len() == self.count
            && (guard.repair.is_empty() || guard.repair.len() == of_rows)
    }
}
