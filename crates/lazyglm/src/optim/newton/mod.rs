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
//! where a step was too long (`repair`). Both fade as full steps succeed. Sums are n times those of
//! docs/maths/newton.md.
//!
//! The solver stops at a relative duality gap. If λ₂ = 0, where the gap is loose, it stops when the predicted
//! decrease of a step is below the tolerance. [`NewtonStop`] tells which.

mod by_columns;
mod descend;
mod dual;
mod extrapolate;
mod face;
mod gains;
mod gram;
mod halted;
mod kept_gram;
mod kept_rows;
mod lean;
mod lean_rows;
mod line;
mod merged_rows;
mod model;
mod multipliers;
mod path;
mod point;
mod ridge;
mod sparse_start;
mod start;
mod working_set;

use crate::data::rows::{Examples, Value, ValuesRef};
use crate::optim::kernel::{Columns, NormalRows};
use crate::problem::loss::Loss;
use crate::problem::penalty::WeightedPenalty;
use crate::util::checkpoint::Unfinished;
pub(crate) use by_columns::{ColumnProblem, Stored};
use descend::{Ending, Memory};
pub(crate) use gains::Gains;
pub(crate) use gram::solve_by_cholesky;
use halted::{Course, Halted};
pub(crate) use lean_rows::RowNumbers;
pub(crate) use merged_rows::{may_merge, solve_merged, total_of_rows};
use multipliers::Pieces;
pub(crate) use path::Reached;
use sparse_start::SparseStart;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use working_set::largest_gradients;

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
    /// The estimated distance from the optimum is below a third of the tolerance. This is reliable, but not a
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

impl Default for Solution {
    fn default() -> Solution {
        let (weights, stop, predicted_decrease) = (Vec::new(), NewtonStop::Steps, f64::INFINITY);
        Solution { weights, bias: 0.0, stop, steps: 0, predicted_decrease, dual: None }
    }
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
        From { weights: start, reached: &mut None },
        options,
        Bounds::none(),
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
    /// Where the state between two steps is kept, so that a run that is killed goes on from there.
    pub unfinished: Option<Unfinished<'a>>,
}

impl Bounds<'_> {
    /// No bounds.
    pub fn none() -> Bounds<'static> {
        Bounds { work: usize::MAX, least_steps: 0, interrupt: None, unfinished: None }
    }

    /// Whether the flag is set.
    pub fn interrupted(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Copies of the rows. Created when a solve first needs them, and kept for other penalties on the same rows.
#[derive(Default)]
pub(crate) struct View {
    pub in_f32: Copies<f32>,
    pub in_f64: Copies<f64>,
}

/// Copies of rows whose values are V.
pub(crate) struct Copies<V> {
    pub by_column: OnceLock<Columns<V>>,
    by_row: OnceLock<NormalRows<V>>, // for problems without λ₁
}

impl<V> Default for Copies<V> {
    fn default() -> Copies<V> {
        Copies { by_column: OnceLock::new(), by_row: OnceLock::new() }
    }
}

impl View {
    /// Creates the copy that a problem needs now. Solves that share it in parallel must not wait for each other to
    /// create it.
    pub(crate) fn prepare(&self, problem: &Problem) {
        let (options, bounds) = (Options { tolerance: 0.0, steps: 0 }, Bounds::none());
        match problem.examples.rows.values() {
            ValuesRef::F32(values) => Newton::new(problem, values, &options, bounds).prepare(&self.in_f32),
            ValuesRef::F64(values) => Newton::new(problem, values, &options, bounds).prepare(&self.in_f64),
        }
    }
}

/// Where a solve begins: at the null model, if there is nothing else.
pub(crate) struct From<'a> {
    /// Weights and a bias.
    pub weights: Option<(&'a [f64], f64)>,
    /// Where the last solve on the same rows and targets ended. Holds the end of this solve afterwards.
    pub reached: &'a mut Option<Reached>,
}

/// Like [`solve`], with a view that earlier solves on these rows may have created.
pub(crate) fn solve_on(
    view: &View,
    problem: &Problem,
    from: From,
    options: &Options,
    bounds: Bounds,
    watch: &mut dyn FnMut(&NewtonProgress) -> bool,
) -> Solution {
    match problem.examples.rows.values() {
        ValuesRef::F32(values) => {
            Newton::new(problem, values, options, bounds).run_on_any(&view.in_f32, from, watch)
        }
        ValuesRef::F64(values) => {
            Newton::new(problem, values, options, bounds).run_on_any(&view.in_f64, from, watch)
        }
    }
}

struct Newton<'a, V> {
    problem: &'a Problem<'a>,
    values: &'a [V],
    options: &'a Options,
    n: f64,
    bounds: Bounds<'a>,
    scope: Option<&'a [u32]>, // the columns that steps may move, in ascending order; `None` for all
}

impl<'a, V: Value> Newton<'a, V> {
    fn new(
        problem: &'a Problem<'a>,
        values: &'a [V],
        options: &'a Options,
        bounds: Bounds<'a>,
    ) -> Newton<'a, V> {
        Newton { problem, values, options, n: problem.examples.len() as f64, bounds, scope: None }
    }

    /// Creates the copy of the rows that the method needs.
    fn prepare(&self, view: &Copies<V>) {
        if self.problem.loss.has_kinks() || self.ridge_rows(view).is_none() {
            self.columns(&view.by_column);
        }
    }

    /// The rows by column.
    fn columns<'v>(&self, view: &'v OnceLock<Columns<V>>) -> &'v Columns<V> {
        view.get_or_init(|| Columns::of(self.problem.examples.rows, self.values))
    }

    /// Runs the method that suits the loss and the penalty.
    fn run_on_any(
        &self,
        copies: &Copies<V>,
        from: From,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let (From { weights, reached }, view) = (from, &copies.by_column);
        if let Some(pieces) = Pieces::of(self.problem.examples, self.problem.loss) {
            return self.run_on_kinks(view, &pieces, From { weights, reached }, watch);
        }
        let rows = self.problem.examples.rows;
        let halted = self.bounds.unfinished.and_then(|place| Halted::find(place, rows.len(), rows.columns()));
        let (mut here, ending) = match (self.ridge_rows(copies), halted, reached.take(), weights) {
            (Some(rows), Some(halted), ..) => self.go_on_ridge(halted, rows, watch),
            (Some(rows), None, reached, weights) => self.run_ridge(rows, reached, weights, watch),
            (None, Some(halted), ..) => self.go_on(halted, self.columns(view), watch),
            (None, None, Some(mut here), _) => {
                let ending = self.follow(&mut here, self.columns(view), watch);
                (here, ending)
            }
            (None, None, None, Some((weights, bias))) => {
                let point = self.point_at(weights.to_vec(), bias, self.columns(view));
                let mut here = Reached { point, memory: Memory::new(self.problem.examples.len()) };
                let course = Course::after(0, self.bounds.work);
                let ending =
                    self.descend(&mut here.point, self.columns(view), &mut here.memory, course, watch);
                (here, ending)
            }
            (None, None, None, None) => self.run(view, watch),
        };
        here.memory.l1 = self.problem.weighted_penalty.penalty.l1;
        let (weights, bias) = (here.point.weights.clone(), here.point.bias);
        let Ending { stop, steps, predicted_decrease, dual } = ending;
        *reached = (stop != NewtonStop::Diverged).then_some(here); // nothing can go on from NaN
        Solution { weights, bias, stop, steps, predicted_decrease, dual }
    }

    /// Minimises F from the null model.
    fn run(
        &self,
        view: &OnceLock<Columns<V>>,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> (Reached, Ending) {
        let mut here = Reached { point: self.null_point(), memory: Memory::new(self.problem.examples.len()) };
        let Reached { point, memory } = &mut here;
        let most = self.look(point).most;
        if self.problem.examples.is_empty() || most <= 0.0 {
            return (here, Ending::at_optimum()); // no weight leaves zero
        }
        let mut steps = 0;
        if view.get().is_none() && self.may_be_sparse(most) {
            match self.sparse_start(point, memory, watch) {
                SparseStart::Ended(ending) => return (here, ending),
                SparseStart::NotSparse(made) => steps = made,
            }
        }
        let columns = self.columns(view);
        if self.expects_many(most) {
            self.warm_start(point, most, columns);
        }
        let course = Course::after(steps, self.bounds.work);
        let ending = self.descend(point, columns, memory, course, watch);
        (here, ending)
    }
}
