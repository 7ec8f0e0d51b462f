//! One path of minimisers on some rows: each step solves the next penalty, from the minimiser of the last.
//!
//! ```text
//! fitted      the loss is nearly zero                      weaker penalties fit noise alone
//! flat        the last penalty gained hardly anything      the same
//! hopeless    the held-out loss of a fold has gone half the way from its best back to no weights
//! refine      between the last model with at most K features and the first with more: λ = √(λ′λ″), again and again
//! ```

use crate::eval::held_out::{HeldOut, held_out, row_losses};
use crate::eval::metrics::Metric;
use crate::model::report::Stop;
use crate::optim::newton::{Bounds, NewtonProgress};
use crate::problem::heads::Head;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::settings::Settings;
use crate::problem::task::Task;
use crate::train::chain::Chains;
use crate::train::minimiser::{Minimiser, Solve};
use crate::train::minimum::Minimum;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A path ends where the loss is below this share of the loss without weights,
const FITTED: f64 = 1e-3;
/// or where the last penalty has added less than this share of what all penalties have gained,
const FLAT: f64 = 1e-4;
/// once the loss has fallen by this share.
const BEGUN: f64 = 0.1;
/// A fold leaves its path where its held-out loss is this share of the way from its best back to no weights,
const HOPELESS: f64 = 0.5;
/// and this share of the loss without weights above its best: where little was gained, a rise may be noise.
const RISE: f64 = 0.02;

/// The number of penalties tried between two of a sequence, for a model with as many features as allowed.
const HALVINGS: usize = 8;

/// What all paths share: how to solve, and when to end.
pub(super) struct Rules<'a> {
    /// Tolerance, bias, penalty factors, bounds and interruption.
    pub settings: &'a Settings,
    /// Called after every Newton step; returns false to stop.
    pub watch: &'a (dyn Fn(usize, &NewtonProgress) -> bool + Sync),
    /// The metric on held-out rows.
    pub metric: Metric,
    /// Whether a path ends where weaker penalties fit noise alone.
    pub may_end: bool,
    /// The largest number of features of a model on all rows.
    pub max_features: Option<usize>,
    /// Whether to look between two penalties for a model with as many features as allowed.
    pub refine: bool,
    /// The time after which no penalty is begun.
    pub deadline: Option<Instant>,
    /// Whether minimisers of folds are kept.
    pub keep_folds: bool,
    /// The number of penalties of each sequence that all rows have, once their path has ended: folds need no more.
    pub ends: Vec<AtomicUsize>,
}

/// The rows of a path.
#[derive(Clone)]
pub(super) enum PathRows<'a> {
    /// All rows, and a task of held-out rows if there is one.
    All(&'a Task, Option<&'a Task>),
    /// The training rows and the held-out rows of a fold.
    Fold(Arc<(Task, Task)>),
}

impl PathRows<'_> {
    /// The training rows, and the held-out rows.
    fn parts(&self) -> (&Task, Option<&Task>) {
        match self {
            PathRows::All(task, held) => (task, *held),
            PathRows::Fold(both) => (&both.0, Some(&both.1)),
        }
    }
}

/// The minimisers of one path so far.
pub(super) struct Run {
    /// The fold that is held out; `None` for all rows.
    pub fold: Option<usize>,
    /// The number of the sequence of penalties.
    pub sequence: usize,
    /// The minimiser of each penalty, and its figures on held-out rows.
    pub solved: Vec<(Minimum, Option<HeldOut>)>,
    /// Whether the deadline or an interruption ended the path.
    pub cut: bool,
    /// The penalty of the last minimiser, if it lies between two of the sequence.
    pub refined: Option<ElasticNet>,
}

impl Run {
    /// The penalty of a minimiser, given those of the sequence.
    pub fn penalty(&self, k: usize, penalties: &[ElasticNet]) -> ElasticNet {
        self.refined.filter(|_| k + 1 == self.solved.len()).unwrap_or(penalties[k])
    }
}

/// Two penalties: the model of the strong one has few enough features, that of the weak one has too many.
struct Between {
    strong: ElasticNet,
    weak: ElasticNet,
    left: usize, // halvings
    best: Option<(ElasticNet, Minimum)>,
}

impl Between {
    /// The geometric mean of both penalties; `None` if there is nothing between.
    fn middle(&self) -> Option<ElasticNet> {
        let mean = |a: f64, b: f64| match a == b {
            true => a,
            false if b > 0.0 => (a * b).sqrt(),
            false => 0.5 * a,
        };
        let (a, b) = (self.strong, self.weak);
        let middle = ElasticNet { l1: mean(a.l1, b.l1), l2: mean(a.l2, b.l2) };
        (self.left > 0 && middle != a && middle != b).then_some(middle)
    }
}

/// A path that goes on.
pub(super) struct Going<'a> {
    /// The minimisers so far.
    pub run: Run,
    rows: PathRows<'a>,
    minimiser: Minimiser,
    chains: Chains,
    losses: Vec<f64>,
    best: f64,
    between: Option<Between>,
}

impl<'a> Going<'a> {
    /// A path before its first penalty.
    pub fn new(fold: Option<usize>, sequence: usize, rows: PathRows<'a>) -> Going<'a> {
        let run = Run { fold, sequence, solved: Vec::new(), cut: false, refined: None };
        let (minimiser, chains) = Default::default();
        Going { run, rows, minimiser, chains, losses: Vec::new(), best: f64::INFINITY, between: None }
    }

    /// Solves the next penalty. Returns whether another one follows.
    pub fn step(&mut self, rules: &Rules, penalties: &[ElasticNet], see: &(dyn Fn() + Sync)) -> bool {
        if self.between.is_some() {
            return self.refine(rules, see);
        }
        let end = &rules.ends[self.run.sequence];
        if self.run.fold.is_some() && self.run.solved.len() >= end.load(Ordering::Relaxed) {
            return false;
        }
        let goes_on = self.solve_next(rules, penalties, see);
        if self.run.fold.is_none() && (!goes_on || self.between.is_some()) {
            end.store(self.run.solved.len(), Ordering::Relaxed);
        }
        goes_on
    }

    /// Solves the next penalty of the sequence. Returns whether another one follows.
    fn solve_next(&mut self, rules: &Rules, penalties: &[ElasticNet], see: &(dyn Fn() + Sync)) -> bool {
        let Some(&penalty) = penalties.get(self.run.solved.len()) else { return false };
        let start = self.run.solved.last().map(|(last, _)| last.heads.as_slice());
        let solve = rules.solve(penalty, start);
        let is_known = || self.minimiser.is_known(self.rows.parts().0, &solve, &self.chains);
        if rules.is_late() && !self.run.solved.is_empty() && !is_known() {
            self.run.cut = true;
            return false;
        }
        let found = minimise(&solve, &self.rows, &self.minimiser, &mut self.chains);
        self.run.cut = found.stop == Stop::Interrupted;
        if self.run.cut || found.diverged {
            return false;
        }
        if self.is_beyond(rules, &found) {
            let fewer = self.run.solved.last().is_some_and(|(last, _)| !rules.is_full(&last.heads));
            let strong = self.run.solved.len().checked_sub(1).filter(|_| rules.refine && fewer);
            let between = |k| Between { strong: penalties[k], weak: penalty, left: HALVINGS, best: None };
            self.between = strong.map(between);
            return self.between.is_some();
        }
        see();
        let ends = self.keep(rules, found);
        !(rules.may_end && ends) && self.run.solved.len() < penalties.len()
    }

    /// Ends the path, and drops all but the minimisers.
    pub fn end(self, settings: &Settings) -> Run {
        if !settings.interrupted() {
            self.chains.end(settings.checkpoint.as_deref());
        }
        self.run
    }

    /// Solves the penalty between the two that are left. Returns whether to go on.
    fn refine(&mut self, rules: &Rules, see: &(dyn Fn() + Sync)) -> bool {
        match self.halve(rules) {
            Some(goes_on) if goes_on => {
                see();
                return true;
            }
            Some(_) => see(),
            None => {}
        }
        if let Some((penalty, found)) = self.between.take().and_then(|between| between.best) {
            self.keep(rules, found);
            self.run.refined = Some(penalty);
        }
        false
    }

    /// Halves the distance of the two penalties. Returns whether a model with more features may lie between them; `None` if
    /// there was no solve.
    fn halve(&mut self, rules: &Rules) -> Option<bool> {
        let (between, most) = (self.between.as_mut()?, rules.max_features?);
        let (last, _) = self.run.solved.last()?;
        let penalty = between.middle()?;
        let start = between.best.as_ref().map_or(&last.heads, |(_, best)| &best.heads);
        let (least, chains) = (features(start), &mut Chains::of_one());
        let solve = rules.solve(penalty, Some(start));
        if rules.is_late() && !self.minimiser.is_known(self.rows.parts().0, &solve, chains) {
            return None;
        }
        let found = minimise(&solve, &self.rows, &self.minimiser, chains);
        self.run.cut = found.stop == Stop::Interrupted;
        if self.run.cut || found.diverged {
            return None;
        }
        between.left -= 1;
        let count = features(&found.heads);
        match count <= most {
            true => between.strong = penalty,
            false => between.weak = penalty,
        }
        if (least + 1..=most).contains(&count) {
            between.best = Some((penalty, found));
        }
        Some(count != most)
    }

    /// Whether a model on all rows has too many features.
    fn is_beyond(&self, rules: &Rules, found: &Minimum) -> bool {
        rules.max_features.is_some_and(|most| self.run.fold.is_none() && features(&found.heads) > most)
    }

    /// Keeps a minimiser. Returns whether weaker penalties fit noise alone.
    fn keep(&mut self, rules: &Rules, found: Minimum) -> bool {
        let (task, held) = self.rows.parts();
        let marks = held.map(|held| held_out(held, &found.heads, rules.metric));
        let loss = match marks {
            Some(marks) => marks.loss,
            None if rules.may_end => mean(&row_losses(task, &found.heads), task),
            None => f64::NAN,
        };
        self.losses.push(loss);
        self.best = self.best.min(loss);
        if self.run.fold.is_some()
            && !rules.keep_folds
            && let Some((last, _)) = self.run.solved.last_mut()
        {
            last.heads = Vec::new(); // the next solve starts from this one
        }
        self.run.solved.push((found, marks));
        match marks {
            Some(_) => self.losses.len() > 2 && is_hopeless(self.losses[0], self.best, loss),
            None => ended(&self.losses),
        }
    }
}

/// The figures of a fold on its held-out rows at one more penalty, from the minimiser of all rows.
pub(super) fn score_fold(
    rules: &Rules,
    rows: &PathRows,
    penalty: ElasticNet,
    start: &[Head],
) -> Option<FoldAt> {
    let solve = rules.solve(penalty, Some(start));
    let found = minimise(&solve, rows, &Minimiser::default(), &mut Chains::of_one());
    let marks = rows.parts().1.map(|held| held_out(held, &found.heads, rules.metric));
    (found.stop != Stop::Interrupted && !found.diverged).then_some((found, marks))
}

/// The minimiser of a fold, and its figures on held-out rows.
pub(super) type FoldAt = (Minimum, Option<HeldOut>);

/// The minimiser of a penalty, from a place in its chain or from some heads.
fn minimise(solve: &Solve, rows: &PathRows, minimiser: &Minimiser, chains: &mut Chains) -> Minimum {
    let all_rows = matches!(rows, PathRows::All(..));
    minimiser.minimise_along(rows.parts().0, solve, chains, all_rows)
}

impl Rules<'_> {
    /// What to minimise for a penalty.
    fn solve<'s>(&'s self, penalty: ElasticNet, start: Option<&'s [Head]>) -> Solve<'s> {
        let settings = self.settings;
        Solve {
            weighted_penalty: WeightedPenalty { penalty, ..settings.weighted_penalty() },
            bias: settings.bias,
            start,
            tolerance: settings.tolerance,
            bounds: Bounds { interrupt: settings.interrupt.as_deref(), ..Bounds::none() },
            watch: self.watch,
            checkpoint: settings.checkpoint.as_deref(),
        }
    }

    /// Whether a model has as many features as allowed.
    fn is_full(&self, heads: &[Head]) -> bool {
        self.max_features == Some(features(heads))
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// The number of features with a non-zero weight in some head.
pub(super) fn features(heads: &[Head]) -> usize {
    let mut columns: Vec<u32> = heads.iter().flat_map(|head| head.columns.iter().copied()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns.len()
}

/// The weighted mean loss.
fn mean(losses: &[f64], task: &Task) -> f64 {
    losses.iter().enumerate().map(|(i, loss)| task.weight(i) * loss).sum::<f64>() / losses.len() as f64
}

/// Whether the held-out loss of a fold has risen so far that weaker penalties are not worth a solve.
fn is_hopeless(first: f64, best: f64, loss: f64) -> bool {
    loss > best + (HOPELESS * (first - best)).max(RISE * first.abs())
}

/// Whether a path ends after these losses.
fn ended(losses: &[f64]) -> bool {
    let [first, .., before, last] = losses else { return false };
    let gained = first - last;
    *last <= FITTED * first || (gained > BEGUN * first && before - last <= FLAT * gained)
}
