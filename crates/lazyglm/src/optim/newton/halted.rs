//! A solve that was cut short between two steps: it goes on from there to the same bits.

use super::descend::{Ending, Memory};
use super::point::Point;
use super::{Newton, NewtonProgress, NewtonStop, Reached};
use crate::data::rows::Value;
use crate::optim::kernel::Columns;
use crate::util::checkpoint::Unfinished;
use crate::util::state::{Fields, State};

/// What a descent knows between two steps, beside its point and the memory of earlier steps.
#[derive(Clone)]
pub(super) struct Course {
    /// Number of steps made before this descent.
    pub begun: usize,
    /// Number of steps made.
    pub step: usize,
    /// The predicted decrease of the last step, relative to F.
    pub predicted_decrease: f64,
    /// Share of the tolerance at which the predicted decrease may stop the solver.
    pub margin: f64,
    /// Whether the predicted decreases fall slowly.
    pub slow: bool,
    /// Number of steps without progress, one after the other.
    pub idle: usize,
    /// An estimate of n(F − F*).
    pub left: f64,
    /// A lower bound on F from the model of the last step, if that is near the optimum.
    pub dual: Option<f64>,
    /// Numbers that may still be touched.
    pub work: usize,
    /// The same for the certificate alone, once the predicted decrease has reached the tolerance.
    pub for_the_gap: Option<usize>,
    /// Without λ₁: the squared norm of the gradient before the last step.
    pub size: f64,
    /// Without λ₁: whether D has not changed in the last step.
    pub quadratic: bool,
}

impl Course {
    /// The course of a descent after so many steps, with so much work ahead.
    pub fn after(begun: usize, work: usize) -> Course {
        Course {
            begun,
            step: begun,
            predicted_decrease: f64::INFINITY,
            margin: 0.0,
            slow: true,
            idle: 0,
            left: f64::INFINITY,
            dual: None,
            work,
            for_the_gap: None,
            size: f64::INFINITY,
            quadratic: false,
        }
    }

    /// The end before the next step.
    pub fn ended(&self, stop: NewtonStop) -> Ending {
        Ending { stop, steps: self.step, predicted_decrease: self.predicted_decrease, dual: self.dual }
    }
}

impl State for Course {
    fn fields(&mut self, fields: &mut Fields) {
        let counts = [&mut self.begun, &mut self.step, &mut self.idle, &mut self.work];
        counts.into_iter().for_each(|count| count.fields(fields));
        let numbers = [&mut self.predicted_decrease, &mut self.margin, &mut self.left, &mut self.size];
        numbers.into_iter().for_each(|number| number.fields(fields));
        self.slow.fields(fields);
        self.quadratic.fields(fields);
        self.for_the_gap.fields(fields);
        self.dual.fields(fields);
    }
}

/// The state of a solve between two steps.
#[derive(Clone)]
pub(super) struct Halted {
    pub course: Course,
    /// The columns that steps may move; `None` for all.
    pub scope: Option<Vec<u32>>,
    /// The point, and the memory of earlier steps.
    pub reached: Reached,
}

impl Default for Halted {
    fn default() -> Halted {
        Halted { course: Course::after(0, 0), scope: None, reached: Reached::nowhere() }
    }
}

impl State for Halted {
    fn fields(&mut self, fields: &mut Fields) {
        self.course.fields(fields);
        self.scope.fields(fields);
        self.reached.fields(fields);
    }
}

impl Halted {
    /// The state that the journal has of a solve on so many rows and columns.
    pub fn find(place: Unfinished, rows: usize, columns: usize) -> Option<Halted> {
        let in_order =
            |scope: &Vec<u32>| scope.is_sorted() && scope.last().is_none_or(|&j| (j as usize) < columns);
        place.find(|halted: &Halted| {
            halted.reached.fits(rows, columns) && halted.scope.as_ref().is_none_or(in_order)
        })
    }
}

impl<V: Value> Newton<'_, V> {
    /// The state of a descent between two steps.
    pub(super) fn halted(&self, course: &Course, point: &Point, memory: &Memory) -> Halted {
        let reached = Reached { point: point.clone(), memory: memory.clone() };
        Halted { course: course.clone(), scope: self.scope.map(<[u32]>::to_vec), reached }
    }

    /// Goes on with a solve that was cut short.
    pub(super) fn go_on(
        &self,
        halted: Halted,
        columns: &Columns<V>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> (Reached, Ending) {
        let Halted { course, scope, mut reached } = halted;
        let ending = match scope {
            None => {
                let Reached { point, memory } = &mut reached;
                self.descend(point, columns, memory, course, watch)
            }
            Some(scope) => self.rounds(&mut reached, columns, Some((scope, course)), false, watch),
        };
        (reached, ending)
    }
}
