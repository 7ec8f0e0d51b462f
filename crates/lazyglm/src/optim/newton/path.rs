//! Newton's method from the optimum of another penalty on the same rows, as along a path of penalties.
//!
//! ```text
//! known      scores, derivatives and gradient of the last optimum: the next penalty begins without a pass
//! screen     weights that are not zero, and those with |gⱼ| > nλ₁ − most      most: the largest |gⱼ| − nλ₁ of a zero weight
//! round      minimise F over these weights by Newton steps, then the gradient of all weights
//! ```
//!
//! The last step of a round computes no gradient of the screened weights, because that of all weights follows.
//! Along a path from λ₁′ to λ₁, `most` is about n(λ₁′ − λ₁), so this is the strong rule 2λ₁ − λ₁′ (Tibshirani et al.
//! 2012). It may omit weights that should move; the gradient of all weights finds them, and another round follows.

use super::descend::{Ending, Memory};
use super::halted::Course;
use super::point::Point;
use super::{Newton, NewtonProgress, NewtonStop, largest_gradients};
use crate::data::rows::Value;
use crate::optim::kernel::{ColumnStore, Columns};
use crate::util::number::larger_or_nan;
use crate::util::state::{Fields, State};

/// Minimum growth of the threshold of the screen, as a share of λ₁.
const NEAR: f64 = 0.05;
/// Screening is not worthwhile if the screened columns have more than so many eighths of all non-zeros.
const MANY: usize = 6;
/// For squared loss, a round also has about as many other columns, and this many more: a matrix of theirs serves the next penalties.
const MORE: usize = 16;

/// Derivatives that sum to this share of their magnitudes are balanced: a certificate takes no more.
const BALANCED: f64 = 1e-13;

/// Where a solve ended. A solve for another penalty on the same rows begins there.
#[derive(Clone)]
pub(crate) struct Reached {
    pub(super) point: Point,
    pub(super) memory: Memory,
}

impl Reached {
    /// The weights and the bias.
    pub fn weights(&self) -> (&[f64], f64) {
        (&self.point.weights, self.point.bias)
    }

    /// The score of each row, the loss derivative ωℓ′ of each row, and the gradient of the loss of all rows.
    pub fn known(&self) -> [&[f64]; 3] {
        let Point { scores, slopes, gradient, .. } = &self.point;
        [scores, slopes, gradient]
    }

    /// The loss of all rows.
    pub fn loss(&self) -> f64 {
        self.point.value - self.point.penalty
    }
}

impl<V: Value> Newton<'_, V> {
    /// Minimises F from the optimum of another penalty.
    pub(super) fn follow(
        &self,
        reached: &mut Reached,
        columns: &Columns<V>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Ending {
        let point = &mut reached.point;
        let penalty = self.n * self.problem.weighted_penalty.value(&point.weights);
        (point.value, point.penalty) = (point.value - point.penalty + penalty, penalty);
        let moved = self.extrapolate(reached);
        self.rounds(reached, columns, None, moved, watch)
    }

    /// Minimises F over the weights of one screen after the other, the first of which may be known. The point may have `moved` since
    /// its gradient was computed.
    pub(super) fn rounds(
        &self,
        reached: &mut Reached,
        columns: &Columns<V>,
        mut first: Option<(Vec<u32>, Course)>,
        mut moved: bool,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Ending {
        let Reached { point, memory } = reached;
        let (width, mut steps) = (point.weights.len(), 0);
        loop {
            let goes_on = first.is_some(); // from a point that may have moved
            let (scope, course) = match first.take() {
                Some(first) => first,
                None => {
                    let ends = || self.look(point).gap <= self.options.tolerance;
                    if !moved && steps >= self.bounds.least_steps && ends() {
                        return Ending { steps, ..Ending::at_optimum() };
                    }
                    let screened = self.screen(point, memory);
                    let nonzeros: usize = screened.iter().map(|&j| columns.count(j as usize)).sum();
                    let many = nonzeros > MANY * self.problem.examples.rows.nonzeros() / 8;
                    let scope = if many { (0..width as u32).collect() } else { screened };
                    (scope, Course::after(steps, self.bounds.work))
                }
            };
            steps = course.begun;
            let scoped = Newton { scope: Some(&scope), ..*self };
            if moved {
                scoped.update_gradient(point, columns);
            }
            let ending = scoped.descend(point, columns, memory, course, watch);
            moved |= goes_on || ending.steps > steps;
            moved |= self.balance_bias(point, BALANCED);
            if std::mem::take(&mut moved) {
                columns.products(&point.slopes, &mut point.gradient);
            }
            match self.stop_over(point, columns, &ending) {
                Some(stop) => return Ending { stop, ..ending },
                None if steps == ending.steps => return ending,
                None => steps = ending.steps,
            }
        }
    }

    /// Why the solver stops, if it does, after the weights of the screen are at their best.
    fn stop_over(&self, point: &Point, columns: &Columns<V>, ending: &Ending) -> Option<NewtonStop> {
        match ending.stop {
            NewtonStop::Gap | NewtonStop::PredictedDecrease | NewtonStop::Precision => {}
            other => return Some(other),
        }
        if self.look(point).gap <= self.options.tolerance {
            return Some(NewtonStop::Gap);
        }
        let over = self.decrease_from_zero(point, columns) <= self.allowed_decrease(point);
        over.then_some(match ending.stop {
            NewtonStop::Gap => NewtonStop::PredictedDecrease, // the gap was that of the screened weights
            other => other,
        })
    }

    /// The weights that are not zero, those that may leave zero, and those of a matrix, whose gradient must be known.
    fn screen(&self, point: &Point, memory: &Memory) -> Vec<u32> {
        let excess = |&j: &usize| self.steepness(point, j) - self.n * self.problem.weighted_penalty.at(j).l1;
        let zeros = (0..point.weights.len()).filter(|&j| point.weights[j] == 0.0);
        let most = zeros.map(|j| excess(&j)).fold(0.0, larger_or_nan);
        let near = |&j: &usize| {
            let l1 = self.n * self.problem.weighted_penalty.at(j).l1;
            point.weights[j] != 0.0 || self.steepness(point, j) > l1 - most.max(NEAR * l1)
        };
        let of_matrix = memory.gram.as_ref().map_or(&[][..], |kept| &kept.set);
        let mut all: Vec<u32> = (0..point.weights.len()).filter(near).map(|j| j as u32).collect();
        if self.problem.loss.is_quadratic() {
            let rest =
                (0..point.weights.len()).filter(|j| !near(j)).map(|j| (excess(&j), j as u32)).collect();
            all.extend(largest_gradients(rest, all.len() + MORE).into_iter().map(|(_, j)| j));
        }
        all.extend(of_matrix);
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl State for Reached {
    fn fields(&mut self, fields: &mut Fields) {
        let Reached { point, memory } = self;
        let arrays = [
            &mut point.weights,
            &mut point.scores,
            &mut point.slopes,
            &mut point.second_derivatives,
            &mut point.gradient,
            &mut memory.repair,
        ];
        arrays.into_iter().for_each(|array| array.fields(fields));
        let numbers = [
            &mut point.bias,
            &mut point.penalty,
            &mut point.value,
            &mut memory.theta,
            &mut memory.missed,
            &mut memory.width,
            &mut memory.l1,
        ];
        numbers.into_iter().for_each(|number| number.fields(fields));
        memory.gram.fields(fields);
        memory.before.fields(fields);
        memory.too_curved.fields(fields);
        memory.all_rows.fields(fields);
    }
}

impl Reached {
    /// An empty place, to read a state into.
    pub fn nowhere() -> Reached {
        Reached { point: Point::empty(0), memory: Memory::new(0) }
    }

    /// Whether the place is on so many rows and columns.
    pub fn fits(&self, rows: usize, columns: usize) -> bool {
        let Reached { point, memory } = self;
        let of_rows = [&point.scores, &point.slopes, &point.second_derivatives, &memory.repair];
        of_rows.iter().all(|array| array.len() == rows)
            && [&point.weights, &point.gradient].iter().all(|array| array.len() == columns)
            && memory.gram.as_ref().is_none_or(|gram| gram.fits(rows, columns))
            && memory
                .before
                .as_ref()
                .is_none_or(|one| one.weights.len() == columns && one.scores.len() == rows)
    }
}
