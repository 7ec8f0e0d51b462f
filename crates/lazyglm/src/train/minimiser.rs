//! The minimiser of F on some rows, for one penalty after another: one model, or one head per class or label.
//!
//! ```text
//! one model     (w, b) = argmin F
//! ovr, labels   (wₖ, bₖ) = argmin Fₖ      with +1 for the rows of head k and −1 for the others, on all cores
//! softmax       (W, b) = argmin F         all heads together
//! ```
//!
//! All solves share one copy of the rows by column.

use super::chain::{Chain, Chains, SolveUnit};
use super::minimum::Minimum;
use crate::data::rows::Examples;
use crate::eval::objective::{Certificate, Known, certify_known, null_head};
use crate::model::report::Stop;
use crate::optim::newton::{self, Bounds, NewtonProgress, NewtonStop, Options, Problem, Reached, View};
use crate::optim::softmax_newton;
use crate::problem::heads::{Head, HeadKind};
use crate::problem::penalty::WeightedPenalty;
use crate::problem::source::Source;
use crate::problem::task::{HeadTargets, Task};
use crate::util::checkpoint::{Checkpoint, Key};
use crate::util::state::Fields;
use rayon::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// Largest number of Newton steps. A problem with an optimum needs about ten to forty.
pub(super) const STEPS: usize = 200;

/// The same for a piecewise-linear loss, where an evaluation of dual coordinate ascent and a multiplier step also count.
const STEPS_ON_KINKS: usize = 1000;

/// What to minimise for, and when to stop.
#[derive(Clone, Copy)]
pub(super) struct Solve<'a> {
    pub weighted_penalty: WeightedPenalty<'a>,
    /// Whether there is a bias.
    pub bias: bool,
    /// Heads to start from.
    pub start: Option<&'a [Head]>,
    /// The relative distance from the optimum at which to stop.
    pub tolerance: f64,
    /// How many numbers each head may touch, and the flag that ends a solve.
    pub bounds: Bounds<'a>,
    /// Called after every Newton step with the number of the head; returns false to stop.
    pub watch: &'a (dyn Fn(usize, &NewtonProgress) -> bool + Sync),
    /// The journal of finished solves, if there is one.
    pub checkpoint: Option<&'a Checkpoint>,
}

/// A callback after every Newton step, which returns false to stop.
pub(super) type WatchOne<'w> = dyn FnMut(&NewtonProgress) -> bool + 'w;

/// What the solves on the same rows share: a view by column, and the rows of each head.
#[derive(Default)]
pub(super) struct Minimiser {
    view: View,
    softmax_views: softmax_newton::Views,
    rows_of_heads: OnceLock<Vec<Vec<u32>>>,
    total: OnceLock<Vec<f64>>, // the weighted sum of all rows
    key: OnceLock<Key>,        // of the rows and the loss
}

impl Minimiser {
    /// Minimises F for one penalty.
    pub fn minimise(&self, task: &Task, solve: &Solve) -> Minimum {
        let heads = task.targets.heads().filter(|heads| heads.kind != HeadKind::Softmax);
        let Some(targets) = heads else {
            return self.minimise_one(task, solve, &mut |progress| (solve.watch)(0, progress));
        };
        self.minimise_heads(task, targets, solve, &mut vec![Chain::of_one(); targets.names.len()])
    }

    /// Minimises F of independent heads, each of which goes on from where its last solve ended, as its chain holds it.
    fn minimise_heads(
        &self,
        task: &Task,
        targets: HeadTargets,
        solve: &Solve,
        chains: &mut [Chain],
    ) -> Minimum {
        let (examples, weighted_penalty) = (task.examples(), solve.weighted_penalty);
        let problem = Problem { examples, loss: &*task.loss, weighted_penalty, bias: solve.bias };
        self.view.prepare(&problem); // not in parallel, where heads would wait for each other
        let rows = self.rows_of_heads.get_or_init(|| targets.sets.rows_of(targets.names.len()));
        let mut order: Vec<(usize, &mut Chain)> = chains.iter_mut().enumerate().collect();
        order.sort_by_key(|&(k, _)| std::cmp::Reverse(rows[k].len())); // the longest solves first
        let one = |(k, chain): (usize, &mut Chain)| {
            if solve.bounds.interrupted() {
                return (k, not_begun(k, &rows[k], task, solve));
            }
            let targets = targets.sets.signs(&rows[k]);
            let examples = Examples { targets: &targets, ..task.examples() };
            let watch = &mut |progress: &NewtonProgress| (solve.watch)(k, progress);
            let found = self.head(k, examples, task, solve, chain, false, watch);
            if chain.is_alone() {
                chain.reached = None; // thousands of heads would keep numbers of all rows and columns
            }
            (k, found)
        };
        let mut solved: Vec<(usize, Minimum)> = order.into_par_iter().with_max_len(1).map(one).collect();
        solved.sort_by_key(|(k, _)| *k);
        solved.into_iter().map(|(_, one)| one).reduce(Minimum::and).unwrap_or_else(Minimum::nothing)
    }

    /// Minimises F for the next penalty of a path. One model and independent heads go on from where the last solve ended,
    /// as `chains` holds it, if these places fit there. One model has a certificate if `certified`.
    pub fn minimise_along(
        &self,
        task: &Task,
        solve: &Solve,
        chains: &mut Chains,
        certified: bool,
    ) -> Minimum {
        match task.targets.heads().filter(|heads| heads.kind != HeadKind::Softmax) {
            None => self.minimise_next(task, solve, chains.of_one_model(), certified),
            Some(targets) => match chains.of_heads(targets.names.len(), task) {
                Some(chains) => self.minimise_heads(task, targets, solve, chains),
                None => self.minimise(task, solve),
            },
        }
    }

    /// Minimises F for the next penalty of a path. One model goes on from where the last solve ended, as `chain`
    /// holds it, and has a certificate if `certified`; others begin at `solve.start`.
    pub fn minimise_next(&self, task: &Task, solve: &Solve, chain: &mut Chain, certified: bool) -> Minimum {
        match task.targets.heads() {
            Some(_) => self.minimise(task, solve),
            None => {
                let watch = &mut |progress: &NewtonProgress| (solve.watch)(0, progress);
                self.head(0, task.examples(), task, solve, chain, certified, watch)
            }
        }
    }

    /// Whether the checkpoint has the minimum for the next penalty of a path.
    pub fn is_known(&self, task: &Task, solve: &Solve, chains: &Chains) -> bool {
        let Some(checkpoint) = solve.checkpoint else { return false };
        let heads = task.targets.heads().filter(|heads| heads.kind != HeadKind::Softmax);
        let count = heads.map_or(1, |heads| heads.names.len());
        let knows = |unit: Option<SolveUnit>| unit.is_some_and(|unit| checkpoint.knows(unit.key));
        (0..count).all(|k| knows(self.unit(k, task, solve, chains.key(k))))
    }

    /// Minimises F of one model or of a softmax, and calls `watch` on this thread after every Newton step.
    pub fn minimise_one(&self, task: &Task, solve: &Solve, watch: &mut WatchOne) -> Minimum {
        match task.targets.heads() {
            None => self.head(0, task.examples(), task, solve, &mut Chain::of_one(), false, watch),
            Some(targets) => {
                let (key, count) = (self.unit(0, task, solve, None), targets.names.len());
                if let Some(known) = key.and_then(|key| known(key, count)) {
                    return known;
                }
                let within = Solve { bounds: solve.bounds_of(key), ..*solve };
                let mut found = self.softmax(task, targets, &within, watch);
                if let Some(unit) = key.filter(|_| !solve.is_interrupted(&found)) {
                    let kept = (unit.key, Fields::write(&mut found));
                    unit.checkpoint.replace(&mut [kept], &[unit.unfinished().key()]);
                }
                found
            }
        }
    }

    /// Minimises F of one head, unless the checkpoint has its minimum.
    fn head(
        &self,
        k: usize,
        examples: Examples,
        task: &Task,
        solve: &Solve,
        chain: &mut Chain,
        certified: bool,
        watch: &mut WatchOne,
    ) -> Minimum {
        let unit = self.unit(k, task, solve, chain.key());
        if let Some(unit) = unit {
            if let Some(known) = known(unit, 1) {
                chain.skip(unit);
                return known;
            }
            chain.restore(unit.checkpoint, examples);
        }
        let within = Solve { bounds: solve.bounds_of(unit), ..*solve };
        let mut found = match chain.is_alone() {
            true => self.solve_rare(k, examples, task, &within, watch),
            false => None,
        }
        .unwrap_or_else(|| self.solve(k, examples, task, &within, &mut chain.reached, watch));
        if let (true, Some(reached)) = (certified && !task.loss.has_kinks(), &chain.reached) {
            found.certificate = certificate(task, solve, reached);
        }
        if let Some(unit) = unit.filter(|_| !solve.is_interrupted(&found)) {
            chain.record(unit, &mut found);
        }
        found
    }

    /// Minimises F of a head with few rows, and merges the rows without a weight. `None` for other heads.
    fn solve_rare(
        &self,
        k: usize,
        examples: Examples,
        task: &Task,
        solve: &Solve,
        watch: &mut WatchOne,
    ) -> Option<Minimum> {
        let own = self.rows_of_heads.get()?.get(k)?;
        let problem = solve.problem(examples, task);
        if !newton::may_merge(&problem, own) {
            return None;
        }
        let total = self.total.get_or_init(|| newton::total_of_rows(examples));
        let start = solve.start_of(k, examples.rows.columns());
        let start = start.as_ref().map(|(weights, bias)| (weights.as_slice(), *bias));
        let options = Options { tolerance: solve.tolerance, steps: STEPS };
        let head = (own.as_slice(), total.as_slice());
        let found = newton::solve_merged(&self.view, &problem, head, start, &options, solve.bounds, watch)?;
        let heads = vec![Head::of(found.weights.into_iter(), found.bias)];
        Some(Minimum::of(heads, found.stop, found.steps, found.predicted_decrease))
    }

    fn solve(
        &self,
        k: usize,
        examples: Examples,
        task: &Task,
        solve: &Solve,
        reached: &mut Option<Reached>,
        watch: &mut WatchOne,
    ) -> Minimum {
        let problem = solve.problem(examples, task);
        let start = solve.start_of(k, examples.rows.columns());
        let start = start.as_ref().map(|(weights, bias)| (weights.as_slice(), *bias));
        let kinks = task.loss.has_kinks();
        let steps = if kinks { STEPS_ON_KINKS } else { STEPS };
        let options = Options { tolerance: solve.tolerance, steps };
        let from = newton::From { weights: start, reached };
        let found = newton::solve_on(&self.view, &problem, from, &options, solve.bounds, watch);
        let heads = vec![Head::of(found.weights.into_iter(), found.bias)];
        let duals = vec![found.dual];
        Minimum { duals, ..Minimum::of(heads, found.stop, found.steps, found.predicted_decrease) }
    }

    /// The keys of the solves of independent heads, by which the checkpoint has their minima.
    pub fn keys_of_heads(&self, task: &Task, solve: &Solve) -> Vec<Key> {
        let count = task.targets.heads().map_or(0, |heads| heads.names.len());
        (0..count).filter_map(|k| self.unit(k, task, solve, None)).map(|unit| unit.key).collect()
    }

    /// The place of a solve in the checkpoint: its key has all that the minimum depends on.
    fn unit<'a>(
        &self,
        k: usize,
        task: &Task,
        solve: &Solve<'a>,
        parent: Option<Key>,
    ) -> Option<SolveUnit<'a>> {
        let checkpoint = solve.checkpoint?;
        let rows = match self.key.get() {
            Some(key) => *key,
            None => {
                let rows = task.fingerprint().ok()?.and_bytes(task.loss.spec().as_bytes());
                *self.key.get_or_init(|| rows)
            }
        };
        let WeightedPenalty { penalty, factors, nonnegative, bounds } = solve.weighted_penalty;
        let numbers = [penalty.l1, penalty.l2, solve.tolerance];
        let flags = [solve.bias, nonnegative, factors.is_some(), bounds.is_some()].map(u8::from);
        let limits = [k, solve.bounds.work, solve.bounds.least_steps];
        let key =
            Key::of("solve").and_key(rows).and_numbers(&numbers).and_bytes(&flags).and_positions(&limits);
        let key = key.and_numbers(factors.unwrap_or_default());
        let key = key.and_numbers(bounds.unwrap_or_default().as_flattened());
        let key = match (parent, solve.start) {
            (Some(parent), _) => key.and(1).and_key(parent),
            (None, None) => key.and(2),
            (None, Some(heads)) => match task.targets.heads().map(|heads| heads.kind) {
                None | Some(HeadKind::Softmax) => {
                    heads.iter().fold(key.and(3), |key, head| head.and_key(key))
                }
                Some(_) => heads.get(k).map_or(key.and(4), |head| head.and_key(key.and(5))),
            },
        };
        Some(SolveUnit { checkpoint, key })
    }

    fn softmax(&self, task: &Task, targets: HeadTargets, solve: &Solve, watch: &mut WatchOne) -> Minimum {
        let problem = softmax_newton::Problem {
            rows: task.data.rows.borrow(),
            classes: &targets.sets.ids,
            count: targets.names.len(),
            weights: task.weights.as_deref(),
            weighted_penalty: solve.weighted_penalty,
            bias: solve.bias,
        };
        let start: Option<Vec<Head>> = solve.start.map(|heads| {
            let all = heads.iter().cloned().chain(std::iter::repeat(Head::default()));
            all.take(problem.count).collect() // a class that the start does not have begins at zero
        });
        let options = Options { tolerance: solve.tolerance, steps: STEPS };
        let (views, start) = (&self.softmax_views, start.as_deref());
        let found = softmax_newton::solve_on(views, &problem, start, &options, solve.bounds, watch);
        let objective = Some(found.objective);
        Minimum { objective, ..Minimum::of(found.heads, found.stop, found.steps, found.predicted_decrease) }
    }
}

impl<'a> Solve<'a> {
    /// The bounds of one solve, whose state between two steps the checkpoint keeps.
    fn bounds_of(&self, unit: Option<SolveUnit<'a>>) -> Bounds<'a> {
        Bounds { unfinished: unit.map(|unit| unit.unfinished()), ..self.bounds }
    }

    /// The problem on these rows.
    fn problem<'p>(&self, examples: Examples<'p>, task: &'p Task) -> Problem<'p>
    where
        'a: 'p,
    {
        Problem { examples, loss: &*task.loss, weighted_penalty: self.weighted_penalty, bias: self.bias }
    }

    /// The weights and the bias from which a head starts.
    fn start_of(&self, k: usize, columns: usize) -> Option<(Vec<f64>, f64)> {
        self.start?.get(k).map(|head| (head.dense(columns), head.bias))
    }

    /// Whether a minimum may be that of an interrupted solve.
    fn is_interrupted(&self, found: &Minimum) -> bool {
        let interrupted = self.bounds.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed));
        interrupted || found.stop == Stop::Interrupted
    }
}

/// The minimum of a solve, if the checkpoint has it with so many heads. One that is damaged is computed again.
fn known(unit: SolveUnit, heads: usize) -> Option<Minimum> {
    let mut found = Minimum::nothing();
    let known = unit.checkpoint.find(unit.key, &mut found).unwrap_or(false);
    (known && found.heads.len() == heads).then_some(found)
}

/// A head whose solve was interrupted before it began: the start, or the best bias without weights, from the rows of the
/// head alone. There may be 10⁵ heads.
fn not_begun(k: usize, rows: &[u32], task: &Task, solve: &Solve) -> Minimum {
    let start = solve.start.and_then(|heads| heads.get(k));
    let untouched = usize::from(start.is_none());
    let head = start.cloned().unwrap_or_else(|| {
        let own: f64 = rows.iter().map(|&i| task.weight(i as usize)).sum();
        null_head(own, task.len() as f64, &*task.loss, solve.bias)
    });
    Minimum { untouched, ..Minimum::of(vec![head], NewtonStop::Interrupted, 0, f64::INFINITY) }
}

/// The certificate of where a solve of one model ended, if the solver left what it takes. It needs no pass.
fn certificate(task: &Task, solve: &Solve, reached: &Reached) -> Option<Certificate> {
    let (weights, bias) = reached.weights();
    let [scores, slopes, gradient] = reached.known();
    let known = Known { scores, slopes, gradient, loss: reached.loss() };
    let bias = solve.bias.then_some(bias);
    certify_known(task.examples(), &*task.loss, solve.weighted_penalty, weights, bias, known)
}
