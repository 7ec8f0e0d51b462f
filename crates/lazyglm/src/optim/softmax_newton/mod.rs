//! The optimum of softmax regression with an elastic net: proximal Newton steps on all classes at once.
//!
//! ```text
//! F(W, b) = (Σᵢ ωᵢ(ln Σₖ e^sᵢₖ − sᵢᵧ))/n + Σₖ (λ₁‖wₖ‖₁ + ½λ₂‖wₖ‖²)         sᵢₖ = wₖ·xᵢ + bₖ, y the class of row i
//! at (W, b)    p = softmax(s),  r = ω∘(p − y),  G = Xᵀr,  Hᵢ = ωᵢ(diag(pᵢ) − pᵢpᵢᵀ)
//! model        Q(D) = G·D + ½Σᵢ tᵢᵀHᵢtᵢ + n·R(W + D),  t = XD          minimised over the working set, inexactly
//! step         W ← W + αD, the first α of 1, ½, ¼, … at which F falls enough
//! ```
//!
//! The classes are coupled exactly: with mᵢ = pᵢ·tᵢ, the slope of weight (j, k) is Gⱼₖ + Σᵢ xᵢⱼωᵢpᵢₖ(tᵢₖ − mᵢ).
//! The working set contains the non-zero weights and those about to leave zero. If λ₁ > 0, coordinate descent
//! and conjugate gradients on the non-zero weights minimise Q. If λ₁ = 0, all weights are in the set, and
//! conjugate gradients do it alone. Where many weights are expected and λ₂ > 0, coordinate ascent on the dual
//! finds a start (`dual_ascent`).
//!
//! As in [`super::newton`], early steps need a curvature above the true one (`guard`). The solver stops at a
//! relative duality gap. If λ₂ = 0, where the gap is loose, it stops when the predicted decrease of a step is
//! below the tolerance.

mod centred;
mod descend;
mod dual_ascent;
mod face;
mod guard;
mod halted;
mod lanes;
mod line;
mod model;
mod optimality;
mod point;
mod preconditioner;
mod small;
mod sweep;
mod working_set;

pub use super::newton::{NewtonProgress, NewtonStop, Options};

use super::newton::{Bounds, View};
use crate::data::rows::{RowsRef, Value, ValuesRef};
use crate::optim::kernel::Columns;
use crate::problem::heads::Head;
use crate::problem::penalty::WeightedPenalty;
use centred::Centred;
use guard::Guard;
use halted::Halted;
use lanes::{Block, WIDE};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The problem to minimise.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The rows.
    pub rows: RowsRef<'a>,
    /// The class of each row, below `count`.
    pub classes: &'a [u32],
    /// Number of classes.
    pub count: usize,
    /// Row weights with mean one; `None` if all are one.
    pub weights: Option<&'a [f64]>,
    /// The penalty, which is the same for each class.
    pub weighted_penalty: WeightedPenalty<'a>,
    /// Whether each class has a bias.
    pub bias: bool,
}

/// Result of the solver.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The weights and the bias of each class. Biases sum to zero over the classes that have rows.
    pub heads: Vec<Head>,
    /// The objective F.
    pub objective: f64,
    /// Why the solver stopped.
    pub stop: NewtonStop,
    /// Number of Newton steps.
    pub steps: usize,
    /// The predicted decrease of the last step, relative to F.
    pub predicted_decrease: f64,
}

/// Finds the minimiser, optionally from initial heads. Calls `watch` after every step, and stops if `watch`
/// returns false.
///
/// ```
/// use lazyglm::{ElasticNet, Rows, WeightedPenalty, objective, optim::softmax_newton};
/// let mut rows = Rows::new();
/// (0..60).for_each(|i| rows.push(&[(i % 3, 1.0), (3 + i % 4, 0.5)]).unwrap());
/// let classes: Vec<u32> = (0..60).map(|i| if i % 7 == 0 { 0 } else { i % 3 }).collect();
/// let weighted_penalty = WeightedPenalty::of(ElasticNet::new(1e-3, 1e-3).unwrap());
/// let problem = softmax_newton::Problem { rows: rows.borrow(), classes: &classes, count: 3, weights: None, weighted_penalty, bias: true };
/// let options = softmax_newton::Options { tolerance: 1e-9, steps: 100 };
/// let found = softmax_newton::solve(&problem, None, &options, &mut |_| true);
/// assert_eq!(found.stop, softmax_newton::NewtonStop::Gap);
/// let of = objective::SoftmaxProblem { rows: rows.borrow(), classes: &classes, weights: None, weighted_penalty, bias: true };
/// assert!(objective::certify_softmax(&of, &found.heads).relative_gap.unwrap() < 1e-8);
/// ```
pub fn solve(
    problem: &Problem,
    start: Option<&[Head]>,
    options: &Options,
    watch: &mut dyn FnMut(&NewtonProgress) -> bool,
) -> Solution {
    solve_on(&Views::default(), problem, start, options, Bounds::none(), watch)
}

/// The rows by column, as they are or with centred columns. Created when a solve first needs it, and kept for other
/// penalties on the same rows.
#[derive(Default)]
pub(crate) struct Views {
    as_it_is: View,
    centred: OnceLock<Option<Centred>>,
}

/// Like [`solve`], with views that earlier solves on these rows may have created.
pub(crate) fn solve_on(
    view: &Views,
    problem: &Problem,
    start: Option<&[Head]>,
    options: &Options,
    bounds: Bounds,
    watch: &mut dyn FnMut(&NewtonProgress) -> bool,
) -> Solution {
    let centred = || view.centred.get_or_init(|| Centred::of(problem.rows)).as_ref();
    match problem.bias.then(centred).flatten() {
        None => solve_as_it_is(&view.as_it_is, problem, start, options, bounds, watch),
        Some(centred) => {
            let start = start.map(|heads| centred.heads(heads));
            let centred_problem = centred.problem(problem);
            let start = start.as_deref();
            let found = solve_as_it_is(&centred.view, &centred_problem, start, options, bounds, watch);
            centred.solution(found, problem)
        }
    }
}

fn solve_as_it_is(
    view: &View,
    problem: &Problem,
    start: Option<&[Head]>,
    options: &Options,
    bounds: Bounds,
    watch: &mut dyn FnMut(&NewtonProgress) -> bool,
) -> Solution {
    match problem.rows.values() {
        ValuesRef::F32(values) => {
            SoftmaxNewton::new(problem, values, options, bounds).run(&view.in_f32.by_column, start, watch)
        }
        ValuesRef::F64(values) => {
            SoftmaxNewton::new(problem, values, options, bounds).run(&view.in_f64.by_column, start, watch)
        }
    }
}

/// Bytes of the arrays of all rows, all columns and all classes. Per row: two scores, two residuals and three numbers of the
/// curvature. Per column: weights, gradients, and their copies of a line search.
pub(crate) fn bytes(rows: usize, columns: usize, classes: usize) -> usize {
    let (per_row, per_column) = (4 * 8 + 3 * 4, 4 * 8);
    let lanes = classes.next_multiple_of(WIDE);
    rows.saturating_mul(per_row).saturating_add(columns.saturating_mul(per_column)).saturating_mul(lanes)
}

struct SoftmaxNewton<'a, V> {
    problem: &'a Problem<'a>,
    values: &'a [V],
    options: &'a Options,
    n: f64,
    count: usize,
    blocks: usize,   // blocks per vector of one number per class
    sizes: Vec<f64>, // weighted number of rows of each class
    bounds: Bounds<'a>,
    touched: AtomicUsize, // count of numbers so far, for the bound on work
}

impl<'a, V: Value> SoftmaxNewton<'a, V> {
    fn new(
        problem: &'a Problem<'a>,
        values: &'a [V],
        options: &'a Options,
        bounds: Bounds<'a>,
    ) -> SoftmaxNewton<'a, V> {
        let (n, count) = (problem.classes.len() as f64, problem.count);
        let mut sizes = vec![0.0; count];
        for (i, &class) in problem.classes.iter().enumerate() {
            sizes[class as usize] += problem.weights.map_or(1.0, |weights| weights[i]);
        }
        let (blocks, touched) = (count.div_ceil(WIDE), AtomicUsize::new(0));
        SoftmaxNewton { problem, values, options, n, count, blocks, sizes, bounds, touched }
    }

    /// Counts passes over the non-zeros of all rows, each for all classes.
    fn count_passes(&self, passes: usize) {
        self.touched.fetch_add(passes * self.problem.rows.nonzeros() * self.count, Ordering::Relaxed);
    }

    /// Whether loops within a step should end: the interrupt flag is set, or the bound on work is reached.
    fn must_end(&self) -> bool {
        self.bounds.interrupted() || self.touched.load(Ordering::Relaxed) >= self.bounds.work
    }

    fn weight(&self, i: usize) -> f64 {
        self.problem.weights.map_or(1.0, |weights| weights[i])
    }

    fn run(
        &self,
        view: &OnceLock<Columns<V>>,
        start: Option<&[Head]>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        if self.problem.classes.is_empty() || self.count == 0 {
            let heads = vec![Head::default(); self.count];
            return Solution {
                heads,
                objective: 0.0,
                stop: NewtonStop::Gap,
                steps: 0,
                predicted_decrease: 0.0,
            };
        }
        let mut point = self.null_point();
        let most = self.largest_violation(&point);
        if !most.is_finite() {
            return self.solved(point, NewtonStop::Diverged, 0, f64::INFINITY);
        }
        if start.is_none() && most <= 0.0 {
            return self.solved(point, NewtonStop::Gap, 0, 0.0); // no weight leaves zero: this is the optimum
        }
        let columns = view.get_or_init(|| Columns::of(self.problem.rows, self.values));
        if let Some(halted) = self.bounds.unfinished.and_then(|place| place.find(|halted| self.fits(halted)))
        {
            return self.descend(halted, columns, watch);
        }
        let mut guard = Guard::new();
        match start {
            Some(heads) => {
                let mut biases: Vec<f64> = heads.iter().map(|head| head.bias).collect();
                self.lower_absent(&mut biases);
                point = self.point_at(self.side_by_side(heads), biases, columns);
            }
            None if self.expects_many(most) => {
                if let Some(start) = self.dual_start(&point, columns, watch) {
                    (point, guard) = (start.point, Guard::trusting());
                    if start.interrupted {
                        return self.solved(point, NewtonStop::Interrupted, 0, f64::INFINITY);
                    }
                }
            }
            None => (),
        }
        self.shift(&mut point);
        self.descend(Halted::at(point, guard), columns, watch)
    }

    /// The weights of all heads, a vector per column.
    fn side_by_side(&self, heads: &[Head]) -> Vec<Block<f64>> {
        let mut weights = vec![[0.0; WIDE]; self.problem.rows.columns() * self.blocks];
        for (k, head) in heads.iter().enumerate() {
            for (&j, &w) in head.columns.iter().zip(&head.weights) {
                weights[j as usize * self.blocks + k / WIDE][k % WIDE] = w;
            }
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::Rows;
    use crate::problem::penalty::ElasticNet;
    use crate::util::random::Random;
    use std::sync::atomic::AtomicBool;

    fn rows(n: u32, random: &mut Random) -> (Rows, Vec<u32>) {
        let mut rows = Rows::new();
        for _ in 0..n {
            let row: Vec<(u32, f64)> = (0..60).map(|j| (j, random.uniform() * f64::from(1 + j))).collect();
            rows.push(&row).unwrap();
        }
        (rows, (0..n).map(|_| random.below(20) as u32).collect())
    }

    /// Runs with a flag that is set before some call of `watch`, which never stops the solver itself. Returns the solution,
    /// and the passes since the flag was set.
    fn interrupted_at(call: usize, l1: f64, l2: f64) -> (Solution, usize) {
        let (rows, classes) = rows(400, &mut Random::new(3));
        let weighted_penalty = WeightedPenalty::of(ElasticNet { l1, l2 });
        let rows = rows.borrow();
        let problem =
            Problem { rows, classes: &classes, count: 20, weights: None, weighted_penalty, bias: true };
        let options = Options { tolerance: 1e-12, steps: 100 };
        let flag = AtomicBool::new(false);
        let bounds = Bounds { interrupt: Some(&flag), ..Bounds::none() };
        let ValuesRef::F64(values) = rows.values() else { unreachable!() };
        let newton = SoftmaxNewton::new(&problem, values, &options, bounds);
        let (mut calls, mut before) = (0, 0);
        let found = newton.run(&OnceLock::new(), None, &mut |_| {
            if calls == call {
                flag.store(true, Ordering::Relaxed);
                before = newton.touched.load(Ordering::Relaxed);
            }
            calls += 1;
            true
        });
        (found, (newton.touched.load(Ordering::Relaxed) - before) / (rows.nonzeros() * 20))
    }

    #[test]
    fn an_interrupt_within_a_step_ends_it_after_a_pass() {
        for (l1, l2) in [(0.0, 1e-6), (1e-4, 0.0), (1e-6, 1e-6)] {
            for call in 0..3 {
                let (found, passes) = interrupted_at(call, l1, l2);
                assert_eq!(found.stop, NewtonStop::Interrupted, "{l1} {l2} at call {call}");
                assert!(passes <= 1, "{passes} passes after the interrupt ({l1} {l2} at call {call})");
            }
        }
    }

    #[test]
    fn work_is_bounded_and_a_number_of_steps_is_made() {
        let (rows, classes) = rows(400, &mut Random::new(4));
        let weighted_penalty = WeightedPenalty::of(ElasticNet { l1: 0.0, l2: 1e-5 });
        let rows = rows.borrow();
        let problem =
            Problem { rows, classes: &classes, count: 20, weights: None, weighted_penalty, bias: true };
        let solve = |start: Option<&[Head]>, tolerance: f64, bounds: Bounds| {
            let options = Options { tolerance, steps: 100 };
            solve_on(&Views::default(), &problem, start, &options, bounds, &mut |_| true)
        };
        let whole = solve(None, 1e-9, Bounds::none());
        assert_eq!(whole.stop, NewtonStop::Gap);
        let work = 12 * rows.nonzeros() * 20;
        assert_eq!(solve(None, 1e-9, Bounds { work, ..Bounds::none() }).stop, NewtonStop::Steps);
        let again = |least_steps: usize| {
            solve(Some(&whole.heads), 1e-3, Bounds { least_steps, ..Bounds::none() }).steps
        };
        assert_eq!([again(0), again(1)], [0, 1]);
    }
}
