//! The exact path: the minimiser of F for one penalty after another, each started from the last.
//!
//! ```text
//! path      (w, b)(λ) = argmin F      λ from strong to weak, so that few weights change from one to the next
//! folds     the same path on the rows of all other folds; the held-out loss of a fold at λ is that of its minimiser
//! end       a path ends where the loss is nearly zero or hardly falls: weaker penalties fit noise alone
//! ```
//!
//! Paths of all folds and of all rows run on all cores.

use super::halving::{Dropped, Outcome, Score, choose};
use super::{Held, Point};
use crate::eval::held_out::{HeldOut, held_out};
use crate::eval::metrics::Metric;
use crate::eval::objective::{self, Certificate, HeadsEvaluation, Objective};
use crate::model::report::Stop;
use crate::optim::newton::Bounds;
use crate::problem::heads::Head;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::request::Request;
use crate::problem::settings::Settings;
use crate::problem::solvers::{Solver, TargetKind};
use crate::problem::source::Problem;
use crate::problem::task::Task;
use crate::train::fold::null;
use crate::train::minimiser::{Chain, Minimiser, Minimum, Solve};
use crate::util::error::{Error, Kind, Result};
use crate::util::number::positive_part;
use crate::util::parameter::Parameter;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A path ends where the loss is below this share of the loss without weights,
const FITTED: f64 = 1e-3;
/// or where the last penalty has added less than this share of what all penalties have gained,
const FLAT: f64 = 1e-4;
/// once the loss has fallen by this share.
const BEGUN: f64 = 0.1;
/// A fold leaves its path where its held-out loss is this share of the way from its best back to no weights.
const HOPELESS: f64 = 0.5;

/// Paths of minimisers to compute.
pub struct ExactPath<'a> {
    /// The rows.
    pub task: &'a Task,
    /// The held-out rows.
    pub held: Held<'a>,
    /// Tolerance, bias, penalty factors, bounds and interruption.
    pub settings: &'a Settings,
    /// One or more sequences of penalties, each from strong to weak.
    pub sequences: Vec<Vec<ElasticNet>>,
    /// The metric by which penalties are compared.
    pub metric: Metric,
    /// Whether a path ends where weaker penalties fit noise alone.
    pub may_end: bool,
    /// The largest number of features of a model; a path ends before the first model that has more.
    pub max_features: Option<usize>,
    /// The time after which no penalty is begun.
    pub deadline: Option<Instant>,
    /// Whether to return the minimisers of the folds, which take memory.
    pub keep_folds: bool,
}

/// The minimiser at one penalty of a path.
#[derive(Clone, Debug)]
pub struct PathModel {
    /// The number of its sequence.
    pub sequence: usize,
    /// The penalty.
    pub penalty: ElasticNet,
    /// The weights and the bias of each head; one head for one model.
    pub heads: Vec<Head>,
    /// The objective on all rows.
    pub objective: Objective,
    /// The certificate on all rows.
    pub certificate: Certificate,
    /// Why the solver stopped.
    pub stop: Stop,
    /// The number of Newton steps.
    pub steps: usize,
}

impl PathModel {
    /// The number of non-zero weights of all heads.
    pub fn nonzeros(&self) -> usize {
        self.heads.iter().map(|head| head.weights.len()).sum()
    }

    /// The number of features with a non-zero weight in some head.
    pub fn features(&self) -> usize {
        features(&self.heads)
    }
}

fn features(heads: &[Head]) -> usize {
    let mut columns: Vec<u32> = heads.iter().flat_map(|head| head.columns.iter().copied()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns.len()
}

/// The models of all sequences, and the held-out results if there are held-out rows.
pub struct ExactPaths {
    /// The models, sequence by sequence.
    pub models: Vec<PathModel>,
    /// For each model, the minimiser of each fold at the same penalty; `None` if the path of that fold ended before, or if
    /// minimisers of folds are not kept.
    pub of_folds: Vec<Vec<Option<Vec<Head>>>>,
    /// The mean and standard error of the metric, the best penalty, and the strongest within one standard error. For a metric
    /// that is a gain, the means are negative.
    pub outcome: Option<Outcome>,
}

/// The progress of a path: solves so far, and all.
#[derive(Clone, Copy, Debug)]
pub struct PathProgress {
    /// Penalties solved so far, in all folds.
    pub solved: usize,
    /// Penalties to solve at most.
    pub total: usize,
}

/// One path on some rows.
struct Run {
    fold: Option<usize>, // `None`: all rows
    sequence: usize,
    solved: Vec<(Minimum, Option<HeldOut>)>,
}

impl ExactPath<'_> {
    /// Computes the paths.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Settings, synth, train::search::{ExactPath, Folds, Held}, eval::metrics::Metric};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let sequence = [1e-1, 1e-2, 1e-3].map(|l1| ElasticNet { l1, l2: 0.0 }).to_vec();
    /// let path = ExactPath {
    ///     task: &task,
    ///     held: Held::Folds(Folds::new(&task, 3, 1).unwrap()),
    ///     settings: &Settings::default(),
    ///     sequences: vec![sequence],
    ///     metric: Metric::Auc,
    ///     may_end: false,
    ///     max_features: None,
    ///     deadline: None,
    ///     keep_folds: true,
    /// };
    /// let found = path.run(&|_| {}).unwrap();
    /// assert!(found.models[0].nonzeros() < found.models[2].nonzeros());
    /// assert!(found.of_folds[1].iter().all(|heads| heads.as_ref().is_some_and(|heads| heads.len() == 1)));
    /// assert!(-found.outcome.unwrap().scores[2].mean > 0.5, "the mean AUC");
    /// ```
    pub fn run(&self, watch: &(dyn Fn(&PathProgress) + Sync)) -> Result<ExactPaths> {
        if self.sequences.iter().all(|sequence| sequence.is_empty()) {
            return Err(Error::call("a path without penalties", "give at least one"));
        }
        self.held.check(self.task.len())?;
        let kind = self.task.targets.heads().map(|heads| heads.kind);
        let (targets, offsets) = (Some(TargetKind::of(kind)), self.task.has_offsets());
        Solver::Newton.check(&Request { targets, offsets, ..Request::default() })?;
        let folds = match &self.held {
            Held::Rows(_) | Held::Nothing => 0,
            held => held.folds(),
        };
        let points: usize = self.sequences.iter().map(Vec::len).sum();
        let (done, total) = (AtomicUsize::new(0), points * (folds + 1));
        let see = || watch(&PathProgress { solved: done.fetch_add(1, Ordering::Relaxed) + 1, total });
        // All rows first: they take longest.
        let which: Vec<(Option<usize>, usize)> = std::iter::once(None)
            .chain((0..folds).map(Some))
            .flat_map(|fold| (0..self.sequences.len()).map(move |sequence| (fold, sequence)))
            .collect();
        let one = |&(fold, sequence): &(Option<usize>, usize)| self.one(fold, sequence, &see);
        // Inside the pool, so that a single path does not hand each of its sums over to another thread.
        let runs: Vec<Run> = rayon::scope(|_| which.par_iter().with_max_len(1).map(one).collect());
        if runs.iter().any(|run| run.solved.is_empty()) {
            return Err(self.nothing_solved());
        }
        self.gather(runs)
    }

    /// The error for a path without a first model.
    fn nothing_solved(&self) -> Error {
        if self.settings.interrupted() {
            return Kind::Interrupted.into();
        }
        let l1 = Parameter::L1;
        match self.max_features {
            Some(most) => Error::call(
                format!("the first model of a path has more than {most} features"),
                format!("begin with a larger {l1}, or leave {l1} out: a path then begins without features"),
            ),
            None => Kind::Diverged {
                place: self.task.data.file(),
                epoch: 0,
                step: 0,
                what: "the objective of the first penalty is infinite or NaN".to_string(),
                hint: "scale the features down, and targets as well if they are numbers".to_string(),
            }
            .into(),
        }
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// One path: on all rows, or on those outside a fold.
    fn one(&self, fold: Option<usize>, sequence: usize, see: &(dyn Fn() + Sync)) -> Run {
        let split = fold.and_then(|fold| self.held.split(fold, self.task.len()));
        let split = split.map(|split| (self.task.select(&split.learnt), self.task.select(&split.held)));
        let (task, held) = match (&split, &self.held) {
            (Some((learnt, out)), _) => (learnt, Some(out)),
            (None, Held::Rows(held)) => (self.task, Some(*held)),
            (None, _) => (self.task, None),
        };
        let (minimiser, mut chain) = (Minimiser::default(), Chain::default());
        let mut run = Run { fold, sequence, solved: Vec::new() };
        let (mut losses, mut best) = (vec![], f64::INFINITY);
        for &penalty in &self.sequences[sequence] {
            if self.is_late() && !run.solved.is_empty() {
                break;
            }
            let weighted_penalty = WeightedPenalty { penalty, ..self.settings.weighted_penalty() };
            let start = run.solved.last().map(|(last, _): &(Minimum, _)| last.heads.as_slice());
            let solve = Solve {
                weighted_penalty,
                bias: self.settings.bias,
                start,
                tolerance: self.settings.tolerance,
                bounds: Bounds {
                    work: usize::MAX,
                    least_steps: 0,
                    interrupt: self.settings.interrupt.as_deref(),
                },
                watch: &|_, _| !self.settings.interrupted(),
                checkpoint: self.settings.checkpoint.as_deref(),
            };
            let found = minimiser.minimise_next(task, &solve, &mut chain, fold.is_none());
            let beyond =
                self.max_features.is_some_and(|most| fold.is_none() && features(&found.heads) > most);
            if found.stop == Stop::Interrupted || found.diverged || beyond {
                break;
            }
            see();
            let marks = held.map(|held| held_out(held, &found.heads, self.metric));
            let loss = match marks {
                Some(marks) => marks.loss,
                None if self.may_end => mean(&crate::eval::held_out::row_losses(task, &found.heads), task),
                None => f64::NAN,
            };
            losses.push(loss);
            if let Some((last, _)) = run.solved.last_mut().filter(|_| fold.is_some() && !self.keep_folds) {
                last.heads = Vec::new(); // the next solve starts from this one
            }
            run.solved.push((found, marks));
            best = best.min(loss);
            let ends = match marks {
                Some(_) => loss > best + HOPELESS * (losses[0] - best) && losses.len() > 2,
                None => ended(&losses),
            };
            if self.may_end && ends {
                break;
            }
        }
        if !self.settings.interrupted() {
            chain.end(self.settings.checkpoint.as_deref());
        }
        run
    }

    /// The models of all rows with their certificates, and the outcome of the folds.
    fn gather(&self, runs: Vec<Run>) -> Result<ExactPaths> {
        let (all, mut folds): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|run| run.fold.is_none());
        let (mut models, mut of_folds) = (Vec::new(), Vec::new());
        let (mut scores, mut by_fold) = (Vec::new(), Vec::new());
        for run in all {
            for (k, (found, marks)) in run.solved.into_iter().enumerate() {
                let penalty = self.sequences[run.sequence][k];
                let at = |fold: &mut Run| match fold.solved.get_mut(k) {
                    Some((found, marks)) => (Some(std::mem::take(&mut found.heads)), *marks),
                    None => (None, None),
                };
                let same = folds.iter_mut().filter(|fold| fold.sequence == run.sequence);
                let (heads, held): (Vec<_>, Vec<_>) = same.map(at).unzip();
                let heads = heads.into_iter().map(|heads| heads.filter(|_| self.keep_folds)).collect();
                if held.is_empty() {
                    scores.extend(marks.map(|marks| self.score(penalty, &[Some(marks)], &found)));
                } else {
                    scores.push(self.score(penalty, &held, &found));
                }
                by_fold.push(held.iter().map(|marks| marks.map_or(f64::NAN, |marks| marks.metric)).collect());
                of_folds.push(heads);
                models.push((run.sequence, penalty, found));
            }
        }
        let certified = |(sequence, penalty, found)| self.model(sequence, penalty, found);
        let models = models.into_par_iter().map(certified).collect();
        let outcome = match scores.is_empty() {
            true => None,
            false => {
                let Some((best, one_se)) = choose(&scores) else {
                    let what = format!("the {} is undefined on the held-out rows of every fold", self.metric);
                    return Err(Error::call(what, "use another metric, or fewer folds"));
                };
                let stopped = self.settings.interrupted() || self.is_late();
                Some(Outcome { scores, by_fold, best, one_se, stopped, groups: 1 })
            }
        };
        Ok(ExactPaths { models, of_folds, outcome })
    }

    /// The mean of the metric over folds and its standard error; over rows if there is one set of held-out rows.
    fn score(&self, penalty: ElasticNet, marks: &[Option<HeldOut>], found: &Minimum) -> Score {
        let sign = if self.metric.is_gain() { -1.0 } else { 1.0 };
        let values: Option<Vec<f64>> =
            marks.iter().map(|marks| marks.map(|marks| sign * marks.metric)).collect();
        let nonzeros = found.heads.iter().map(|head| head.weights.len()).sum::<usize>() as f64;
        let (mean, se, dropped) = match values.as_deref() {
            None => (f64::INFINITY, f64::INFINITY, Some(Dropped::Hopeless(0.0))),
            Some([one]) if self.metric == Metric::Loss => {
                (*one, marks[0].map_or(0.0, |marks| marks.se), None)
            }
            Some([one]) => (*one, 0.0, None),
            Some(values) => {
                let count = values.len() as f64;
                let mean = values.iter().sum::<f64>() / count;
                let spread = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
                (mean, (spread / count).sqrt(), None)
            }
        };
        let point = Point { penalty, eta0: f64::NAN };
        Score { point, mean, se, nonzeros, epochs: found.steps as f64, dropped }
    }

    fn model(&self, sequence: usize, penalty: ElasticNet, found: Minimum) -> PathModel {
        let (task, settings) = (self.task, self.settings);
        let weighted_penalty = WeightedPenalty { penalty, ..settings.weighted_penalty() };
        let at_once = rayon::current_num_threads();
        let certificate = match HeadsEvaluation::of(task, weighted_penalty, settings.bias, at_once) {
            None => found.certificate.unwrap_or_else(|| {
                let (head, examples) = (&found.heads[0], task.examples());
                let weights = head.dense(task.data.rows.columns());
                let bias = settings.bias.then_some(head.bias);
                objective::certify_with(examples, &*task.loss, weighted_penalty, &weights, bias, found.dual)
            }),
            Some(what) => objective::certify_heads(&what, &found.heads),
        };
        let one = |head: &Head| {
            let own = |(&j, w): (&u32, &f64)| weighted_penalty.at(j as usize).value(&[*w]);
            head.columns.iter().zip(&head.weights).map(own).sum::<f64>()
        };
        let of_weights: f64 = found.heads.iter().map(one).sum();
        let objective = Objective { loss: certificate.objective - of_weights, penalty: of_weights };
        let Minimum { heads, stop, steps, .. } = found;
        PathModel { sequence, penalty, heads, objective, certificate, stop, steps }
    }
}

/// λ₁_max: the smallest λ₁ at which all weights are zero, for any λ₂ and for all heads.
pub fn strongest_l1(task: &Task, settings: &Settings) -> f64 {
    let largest = |gradient: &[f64]| {
        let weighted_penalty =
            WeightedPenalty { penalty: ElasticNet { l1: 1.0, l2: 0.0 }, ..settings.weighted_penalty() };
        let one = |(j, g): (usize, &f64)| match weighted_penalty.at(j).l1 {
            factor if factor > 0.0 => positive_part(weighted_penalty.one(j).steepness(*g)) / factor,
            _ => 0.0,
        };
        gradient.iter().enumerate().map(one).fold(0.0, f64::max)
    };
    match task.targets.heads() {
        None => largest(&objective::NullModel::of(task.examples(), &*task.loss, settings.bias).gradient),
        Some(_) => null(task, settings.bias).l1_max,
    }
}

/// The weighted mean loss.
fn mean(losses: &[f64], task: &Task) -> f64 {
    losses.iter().enumerate().map(|(i, loss)| task.weight(i) * loss).sum::<f64>() / losses.len() as f64
}

/// Whether a path ends after these losses.
fn ended(losses: &[f64]) -> bool {
    let [first, .., before, last] = losses else { return false };
    let gained = first - last;
    *last <= FITTED * first || (gained > BEGUN * first && before - last <= FLAT * gained)
}
