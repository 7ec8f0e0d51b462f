//! Newton's method from the optimum of another penalty on the same rows, as along a path of penalties.
//!
//! ```text
//! known      scores, derivatives and gradient of the last optimum: the next penalty begins without a pass
//! screen     weights that are not zero, and those with |gⱼ| > nλ₁ − most      most: the largest violation
//! round      minimise F over these weights by Newton steps, then the gradient of all weights
//! ```
//!
//! Along a path from λ₁′ to λ₁, `most` is about n(λ₁′ − λ₁), so this is the strong rule 2λ₁ − λ₁′ (Tibshirani et al.
//! 2012). It may omit weights that should move; the gradient of all weights finds them, and another round follows.

use super::descend::{Ending, Memory};
use super::halted::Course;
use super::point::{Look, Point};
use super::{Newton, NewtonProgress, NewtonStop};
use crate::data::rows::Value;
use crate::optim::kernel::{ColumnStore, Columns};
use crate::util::state::{Fields, State};

/// Minimum growth of the threshold of the screen, as a share of λ₁.
const NEAR: f64 = 0.05;
/// Screening is not worthwhile if the screened columns have more than one in this many of all non-zeros.
const PART: usize = 2;

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
        self.rounds(reached, columns, None, watch)
    }

    /// Minimises F over the weights of one screen after the other, the first of which may be known.
    pub(super) fn rounds(
        &self,
        reached: &mut Reached,
        columns: &Columns<V>,
        mut first: Option<(Vec<u32>, Course)>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Ending {
        let Reached { point, memory } = reached;
        let (width, mut steps) = (point.weights.len(), 0);
        loop {
            let (scope, course) = match first.take() {
                Some(first) => first,
                None => {
                    let Look { gap, most, .. } = self.look(point);
                    if gap <= self.options.tolerance && steps >= self.bounds.least_steps {
                        return Ending { stop: NewtonStop::Gap, steps, predicted_decrease: 0.0 };
                    }
                    let screened = self.screen(point, memory, most);
                    let nonzeros: usize = screened.iter().map(|&j| columns.count(j as usize)).sum();
                    let many = nonzeros > self.problem.examples.rows.nonzeros() / PART;
                    let scope = if many { (0..width as u32).collect() } else { screened };
                    (scope, Course::after(steps, self.bounds.work))
                }
            };
            steps = course.begun;
            let scoped = Newton { scope: Some(&scope), ..*self };
            let ending = scoped.descend(point, columns, memory, course, watch);
            if self.balance_bias(point, BALANCED) || scope.len() < width {
                columns.products(&point.slopes, &mut point.gradient);
            }
            if steps == ending.steps || scope.len() == width || self.is_over(point, columns, &ending) {
                return ending;
            }
            steps = ending.steps;
        }
    }

    /// Whether the solver should stop after the weights of the screen are at their best.
    fn is_over(&self, point: &Point, columns: &Columns<V>, ending: &Ending) -> bool {
        match ending.stop {
            NewtonStop::Gap | NewtonStop::PredictedDecrease | NewtonStop::Precision => {
                let enough = self.allowed_decrease(point);
                self.look(point).gap <= self.options.tolerance
                    || self.decrease_from_zero(point, columns) <= enough
            }
            _ => true,
        }
    }

    /// The weights that are not zero, those that may leave zero, and those of a matrix, whose gradient must be known.
    fn screen(&self, point: &Point, memory: &Memory, most: f64) -> Vec<u32> {
        let near = |&j: &usize| {
            let l1 = self.n * self.problem.weighted_penalty.at(j).l1;
            point.weights[j] != 0.0 || self.steepness(point, j) > l1 - most.max(NEAR * l1)
        };
        let of_matrix = memory.gram.as_ref().map_or(&[][..], |kept| &kept.set);
        let mut all: Vec<u32> = (0..point.weights.len()).filter(near).map(|j| j as u32).collect();
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
        ];
        numbers.into_iter().for_each(|number| number.fields(fields));
        memory.gram.fields(fields);
        memory.too_curved.fields(fields);
        memory.all_rows.fields(fields);
    }
}

impl Reached {
    /// An empty place, to read a state into.
    pub fn nowhere() -> Reached {
        let point = Point {
            weights: Vec::new(),
            bias: 0.0,
            scores: Vec::new(),
            slopes: Vec::new(),
            second_derivatives: Vec::new(),
            gradient: Vec::new(),
            penalty: 0.0,
            value: 0.0,
        };
        Reached { point, memory: Memory::new(0) }
    }

    /// Whether the place is on so many rows and columns.
    pub fn fits(&self, rows: usize, columns: usize) -> bool {
        let Reached { point, memory } = self;
        let of_rows = [&point.scores, &point.slopes, &point.second_derivatives, &memory.repair];
        of_rows.iter().all(|array| array.len() == rows)
            && [&point.weights, &point.gradient].iter().all(|array| array.len() == columns)
            && memory.gram.as_ref().is_none_or(|gram| gram.fits(rows, columns))
    }
}
