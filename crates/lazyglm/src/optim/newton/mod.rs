//! The optimum of F, with a certificate: proximal Newton steps, each by coordinate descent on a working set.
//!
//! ```text
//! at (w, b)    r = ω∘ℓ′(s),  D = ω∘ℓ″(s),  g = Xᵀr
//! model        Q(d) = gᵀd + ½dᵀXᵀDXd + n·R(w + d)            minimised over the working set, inexactly
//! step         w ← w + αd, the first α of 1, ½, ¼, … at which F falls enough
//! ```
//!
//! The working set contains the non-zero weights and those about to leave zero (|gⱼ| close to nλ₁ or above).
//! The loss limits early Newton steps, not the solver: for a misclassified row, ℓ″ is far below the curvature
//! that a long step encounters. So D is blended with an upper bound on the curvature (`theta`), and raised
//! where a step was too long (`repair`). Both fade as full steps succeed. Sums are n times those of MATHS.md
//! §9.
//!
//! The solver stops at a relative duality gap. If λ₂ = 0, where the gap is loose, it stops when the predicted
//! decrease of a step is below the tolerance. [`NewtonStop`] tells which.

mod by_columns;
mod face;
mod gains;
mod gram;
mod line;
mod model;
mod multipliers;
mod point;
mod sparse_start;
mod start;

use crate::data::rows::{Examples, RowsRef, Value, ValuesRef};
use crate::optim::kernel::{ColumnStore, Columns};
use crate::problem::loss::{Admits, Loss};
use crate::problem::penalty::WeightedPenalty;
pub(crate) use by_columns::ColumnProblem;
pub(crate) use gains::Gains;
pub(crate) use gram::solve_by_cholesky;
use model::QuadraticModel;
pub(crate) use model::{largest_gradients, shrunk};
use point::Point;
use sparse_start::SparseStart;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

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
/// Share of the curvature bound that remains where the loss is linear (Huber). Otherwise a weight whose rows
/// are all there would have no curvature and never move.
const STRAIGHT: f64 = 0.01;

/// Least margin of all rows at which a problem without a penalty counts as separable: it has no minimum.
const WIDE: f64 = 10.0;

/// The problem to minimise.
pub struct Problem<'a> {
    /// Rows, targets and sample weights.
    pub examples: Examples<'a>,
    /// A loss without kinks, or a piecewise-linear one.
    pub loss: &'a dyn Loss,
    /// The penalty.
    pub weighted_penalty: WeightedPenalty<'a>,
    /// Whether there is a bias.
    pub bias: bool,
}

/// Stopping criteria.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The relative distance from the optimum at which to stop.
    pub tolerance: f64,
    /// Maximum number of Newton steps.
    pub steps: usize,
}

/// Why the solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewtonStop {
    /// The relative duality gap is below the tolerance, which certifies the result.
    Gap,
    /// The predicted decrease of a step is below a tenth of the tolerance. This is reliable, but not a
    /// certificate.
    PredictedDecrease,
    /// F does not decrease further in this precision.
    Precision,
    /// The maximum number of steps was reached.
    Steps,
    /// The caller's `watch` function stopped the solver.
    Interrupted,
    /// There is no minimum: without a penalty, larger weights are always better, since they separate the classes, or
    /// since all counts are zero.
    NoMinimum,
    /// The objective or the quadratic model is infinite or NaN. The weights are those of the last finite point, if
    /// there was one.
    Diverged,
}

/// Result of the solver.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The weights w.
    pub weights: Vec<f64>,
    /// The bias b, or 0 without a bias.
    pub bias: f64,
    /// Why the solver stopped.
    pub stop: NewtonStop,
    /// Number of Newton steps.
    pub steps: usize,
    /// The predicted decrease of the last step, relative to F.
    pub predicted_decrease: f64,
    /// The dual value, a lower bound on F. `None` if the solver did not compute a rigorous one.
    pub dual: Option<f64>,
}

/// Progress after a step, for the caller's `watch` function.
#[derive(Clone, Copy, Debug)]
pub struct NewtonProgress {
    /// Number of Newton steps so far.
    pub steps: usize,
    /// The objective F.
    pub objective: f64,
    /// Number of non-zero weights.
    pub nonzeros: usize,
    /// The relative duality gap, as far as it is known.
    pub gap: f64,
}

/// Finds the minimiser, optionally from initial weights and a bias. Calls `watch` after every step, and stops
/// if `watch` returns false.
///
/// ```
/// use lazyglm::{ElasticNet, WeightedPenalty, objective, optim::newton, synth};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let penalty = ElasticNet::new(1e-3, 1e-3).unwrap();
/// let problem = newton::Problem { examples: task.examples(), loss: &*task.loss, weighted_penalty: WeightedPenalty::of(penalty), bias: true };
/// let options = newton::Options { tolerance: 1e-9, steps: 100 };
/// let found = newton::solve(&problem, None, &options, &mut |_| true);
/// assert_eq!(found.stop, newton::NewtonStop::Gap);
/// let proof = objective::certify(task.examples(), &*task.loss, penalty, &found.weights, Some(found.bias));
/// assert!(proof.relative_gap.unwrap() < 1e-8);
/// ```
pub fn solve(
    problem: &Problem,
    start: Option<(&[f64], f64)>,
    options: &Options,
    watch: &mut dyn FnMut(&NewtonProgress) -> bool,
) -> Solution {
    solve_on(
        &View::default(),
        problem,
        start,
        options,
        Bounds { work: usize::MAX, least_steps: 0, interrupt: None },
        watch,
    )
}

/// Bounds that do not depend on the tolerance.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    /// Maximum count of numbers to touch, after which the solver ends with [`NewtonStop::Steps`]. Unlike a time
    /// limit, it does not depend on the machine.
    pub work: usize,
    /// Minimum number of steps, also if the tolerance is reached earlier. A start within the tolerance of two penalties
    /// would otherwise be the result for both.
    pub least_steps: usize,
    /// A flag that ends loops within a step when it is set. `watch` then stops the solver.
    pub interrupt: Option<&'a AtomicBool>,
}

impl Bounds<'_> {
    fn interrupted(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Rows by column. Created when a solve first needs it, and kept for other penalties on the same rows.
#[derive(Default)]
pub(crate) struct View {
    pub in_f32: OnceLock<Columns<f32>>,
    pub in_f64: OnceLock<Columns<f64>>,
}

impl View {
    /// Creates the view now. Solves that share it in parallel must not wait for each other to create it: rows are
    /// copied by all threads.
    pub(crate) fn prepare(&self, rows: RowsRef) {
        match rows.values() {
            ValuesRef::F32(values) => _ = self.in_f32.get_or_init(|| Columns::of(rows, values)),
            ValuesRef::F64(values) => _ = self.in_f64.get_or_init(|| Columns::of(rows, values)),
        }
    }
}

/// Like [`solve`], with a view that earlier solves on these rows may have created.
pub(crate) fn solve_on(
    view: &View,
    problem: &Problem,
    start: Option<(&[f64], f64)>,
    options: &Options,
    bounds: Bounds,
    watch: &mut dyn FnMut(&NewtonProgress) -> bool,
) -> Solution {
    match problem.examples.rows.values() {
        ValuesRef::F32(values) => {
            Newton::new(problem, values, options, bounds).run_on_any(&view.in_f32, start, watch)
        }
        ValuesRef::F64(values) => {
            Newton::new(problem, values, options, bounds).run_on_any(&view.in_f64, start, watch)
        }
    }
}

struct Newton<'a, V> {
    problem: &'a Problem<'a>,
    values: &'a [V],
    options: &'a Options,
    n: f64,
    bounds: Bounds<'a>,
}

/// Safeguards against a curvature that is too small.
struct Guard {
    theta: f64,
    repair: Vec<f64>,
}

impl Guard {
    fn new(rows: usize) -> Guard {
        Guard { theta: 1.0, repair: vec![0.0; rows] }
    }
}

impl<'a, V: Value> Newton<'a, V> {
    fn new(
        problem: &'a Problem<'a>,
        values: &'a [V],
        options: &'a Options,
        bounds: Bounds<'a>,
    ) -> Newton<'a, V> {
        Newton { problem, values, options, n: problem.examples.len() as f64, bounds }
    }

    /// Runs the method that suits the loss.
    fn run_on_any(
        &self,
        view: &OnceLock<Columns<V>>,
        start: Option<(&[f64], f64)>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        match self.run_on_kinks(view, start, watch) {
            Some(solution) => solution,
            None => self.run(view, start, watch),
        }
    }

    fn run(
        &self,
        view: &OnceLock<Columns<V>>,
        start: Option<(&[f64], f64)>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let mut point = self.null_point();
        let most = self.largest_violation(&point); // no weight leaves zero: this is the optimum
        if self.problem.examples.is_empty() || (start.is_none() && most <= 0.0) {
            return point.solved(NewtonStop::Gap, 0, 0.0);
        }
        let (mut guard, mut steps) = (Guard::new(self.problem.examples.len()), 0);
        if start.is_none() && view.get().is_none() && self.may_be_sparse(most) {
            match self.sparse_start(point, &mut guard, watch) {
                SparseStart::Ended(solution) => return solution,
                SparseStart::NotSparse(reached, made) => (point, steps) = (reached, made),
            }
        }
        let columns = view.get_or_init(|| Columns::of(self.problem.examples.rows, self.values));
        match start {
            Some((weights, bias)) => point = self.point_at(weights.to_vec(), bias, columns),
            None if self.expects_many(most) => point = self.warm_start(point, most, columns),
            None => (),
        }
        self.descend(point, columns, &mut guard, steps, watch)
    }

    /// Runs Newton steps from a point, with `steps` already done.
    fn descend(
        &self,
        mut point: Point,
        columns: &impl ColumnStore,
        guard: &mut Guard,
        steps: usize,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let (mut predicted_decrease, mut margin, mut slow, mut idle) = (f64::INFINITY, 0.0, true, 0);
        let mut work = self.bounds.work;
        for step in steps..self.options.steps {
            if !point.value.is_finite() {
                return point.solved(NewtonStop::Diverged, step, predicted_decrease);
            }
            if self.is_separated(&point) {
                return point.solved(NewtonStop::NoMinimum, step, predicted_decrease);
            }
            let gap = self.relative_gap(&point);
            let nonzeros = point.weights.iter().filter(|w| **w != 0.0).count();
            let go_on =
                watch(&NewtonProgress { steps: step, objective: point.value / self.n, nonzeros, gap });
            if gap <= self.options.tolerance && step >= self.bounds.least_steps {
                return point.solved(NewtonStop::Gap, step, predicted_decrease);
            }
            if predicted_decrease <= margin * self.options.tolerance && self.gap_is_loose() {
                return point.solved(NewtonStop::PredictedDecrease, step, predicted_decrease);
            }
            if !go_on {
                return point.solved(NewtonStop::Interrupted, step, predicted_decrease);
            }
            if work == 0 {
                return point.solved(NewtonStop::Steps, step, predicted_decrease);
            }
            let most = self.largest_violation(&point);
            self.guard_curvature(&mut point, guard, most);
            let mut model = QuadraticModel::build(self, &point, columns, most);
            let surely =
                self.gap_is_loose() && slow && predicted_decrease <= self.options.tolerance && model.whole;
            let little = match surely {
                true => SURELY,
                false if predicted_decrease > FAR => FAR_LITTLE,
                false => LITTLE,
            };
            let touched = model.solve(little, surely, Bounds { work, ..self.bounds });
            if !model.predicted.is_finite() {
                return point.solved(NewtonStop::Diverged, step, predicted_decrease);
            }
            work = work.saturating_sub(touched + self.problem.examples.rows.nonzeros() + point.weights.len());
            let last = predicted_decrease;
            predicted_decrease = model.predicted / point.value.abs().max(f64::MIN_POSITIVE);
            slow = predicted_decrease > SLOW * last;
            let before = point.value;
            let alpha = self.line_search(&mut point, &model, columns, guard);
            margin = match surely {
                _ if alpha < 1.0 || !model.whole || model.stuck || model.unsolved => 0.0,
                true => MARGIN,
                false => UNSURE,
            };
            idle = if before - point.value > 1e-15 * before.abs() { 0 } else { idle + 1 };
            if idle == 3 {
                return point.solved(NewtonStop::Precision, step + 1, predicted_decrease);
            }
        }
        point.solved(NewtonStop::Steps, self.options.steps, predicted_decrease)
    }

    /// Whether the point shows that F has no minimum: without a penalty, every row is on its side of the boundary by a
    /// wide margin, and the loss still falls. The side of a count is that of zero, if it is zero.
    fn is_separated(&self, point: &Point) -> bool {
        let Problem { examples, loss, weighted_penalty, .. } = self.problem;
        let side = |i: usize| match loss.admits() {
            Admits::Classes => examples.targets[i],
            Admits::NonNegative if examples.targets[i] == 0.0 => -1.0,
            _ => 0.0,
        };
        let apart = |i: usize| point.scores[i] * side(i) > WIDE || examples.weight(i) == 0.0;
        let falls = point.slopes.iter().any(|slope| *slope != 0.0);
        weighted_penalty.penalty.is_none() && falls && (0..examples.len()).all(apart)
    }

    /// Whether the duality gap is loose. If λ₂ = 0, the gap is of first order in the violation, and the
    /// distance of second order. For an unpenalised weight there is no gap.
    fn gap_is_loose(&self) -> bool {
        let WeightedPenalty { penalty, factors, .. } = self.problem.weighted_penalty;
        penalty.l2 == 0.0 || factors.is_some_and(|factors| factors.contains(&0.0))
    }

    /// Blends D with the curvature bound for badly misclassified rows, and raises D where a step was too
    /// long.
    fn guard_curvature(&self, point: &mut Point, guard: &mut Guard, most: f64) {
        let floor = if most < 2.0 * self.n * self.problem.weighted_penalty.penalty.l1 { 0.0 } else { 0.1 };
        guard.theta = guard.theta.max(floor);
        let Problem { examples, loss, .. } = self.problem;
        let half = 0.5 * loss.gradient_bound();
        for i in 0..examples.len() {
            let (weight, second_derivative) = (examples.weight(i), point.second_derivatives[i]);
            let theta = if second_derivative == 0.0 { guard.theta.max(STRAIGHT) } else { guard.theta };
            if theta > 0.0 && point.slopes[i].abs() > half * weight {
                let bound = loss.majoriser(point.scores[i], examples.targets[i]).unwrap_or(0.0) * weight;
                point.second_derivatives[i] += theta * (bound - second_derivative).max(0.0);
            }
            point.second_derivatives[i] = point.second_derivatives[i].max(guard.repair[i]);
        }
    }
}
