//! The exact path: the minimiser of F for one penalty after another, each started from the last.
//!
//! ```text
//! path      (w, b)(λ) = argmin F      λ from strong to weak, so that few weights change from one to the next
//! folds     the same path on the rows of all other folds; the held-out loss of a fold at λ is that of its minimiser
//! ```
//!
//! Paths of all folds and of all rows run on all cores, side by side: a search that is cut short compares the penalties that every
//! fold has seen.

use super::abreast::abreast;
use super::exact_run::{Going, PathRows, Rules, Run, features, score_fold};
use super::halving::{Dropped, Outcome, Score, choose};
use super::{HeldOutRows, Point};
use crate::eval::held_out::HeldOut;
use crate::eval::metrics::Metric;
use crate::eval::objective::{self, Certificate, HeadsEvaluation, Objective};
use crate::model::report::Stop;
use crate::problem::heads::Head;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::request::Request;
use crate::problem::settings::Settings;
use crate::problem::solvers::{Solver, TargetKind};
use crate::problem::source::Problem;
use crate::problem::task::Task;
use crate::train::fold::null;
use crate::train::minimum::Minimum;
use crate::util::error::{Error, Kind, Result};
use crate::util::number::{larger_or_nan, positive_part};
use crate::util::parameter::Parameter;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Paths of minimisers to compute.
pub struct ExactPath<'a> {
    /// The rows.
    pub task: &'a Task,
    /// The held-out rows.
    pub held: HeldOutRows<'a>,
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
    /// Whether to add the penalty between two of a sequence whose model has as many features as `max_features` allows.
    pub refine: bool,
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

impl ExactPath<'_> {
    /// Computes the paths.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Settings, synth, train::search::{ExactPath, Folds, HeldOutRows}, eval::metrics::Metric};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let sequence = [1e-1, 1e-2, 1e-3].map(|l1| ElasticNet { l1, l2: 0.0 }).to_vec();
    /// let path = ExactPath {
    ///     task: &task,
    ///     held: HeldOutRows::Folds(Folds::new(&task, 3, 1).unwrap()),
    ///     settings: &Settings::default(),
    ///     sequences: vec![sequence],
    ///     metric: Metric::Auc,
    ///     may_end: false,
    ///     max_features: None,
    ///     refine: false,
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
            HeldOutRows::Rows(_) | HeldOutRows::None => 0,
            held => held.folds(),
        };
        let points: usize = self.sequences.iter().map(Vec::len).sum();
        let (done, total) = (AtomicUsize::new(0), points * (folds + 1));
        let see = || watch(&PathProgress { solved: done.fetch_add(1, Ordering::Relaxed) + 1, total });
        let rules = Rules {
            settings: self.settings,
            watch: &|_, _| !self.settings.interrupted(),
            metric: self.metric,
            may_end: self.may_end,
            max_features: self.max_features,
            refine: self.refine,
            deadline: self.deadline,
            keep_folds: self.keep_folds,
            ends: self.sequences.iter().map(|_| AtomicUsize::new(usize::MAX)).collect(),
        };
        // Penalty by penalty, so that a search that is cut short has penalties that every fold has seen.
        let step = |going: &mut Going| going.step(&rules, &self.sequences[going.run.sequence], &see);
        let mut runs = abreast(self.paths(folds), step, |going| going.end(self.settings));
        self.score_refined(&rules, &mut runs);
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

    /// All paths before their first penalty; those of all rows come first, because they take longest.
    fn paths(&self, folds: usize) -> Vec<Going<'_>> {
        let held = match self.held {
            HeldOutRows::Rows(held) => Some(held),
            _ => None,
        };
        let fold = |fold: usize| Some((Some(fold), self.rows_of(fold)?));
        let mut rows = vec![(None, PathRows::All(self.task, held))];
        rows.par_extend((0..folds).into_par_iter().filter_map(fold));
        let count = self.sequences.len();
        let of = |(fold, rows)| (0..count).map(move |k| Going::new(fold, k, PathRows::clone(&rows)));
        rows.into_iter().flat_map(of).collect()
    }

    /// The rows outside a fold, and those of the fold.
    fn rows_of(&self, fold: usize) -> Option<PathRows<'static>> {
        let split = self.held.split(fold, self.task.len())?;
        let both = (self.task.select(&split.learnt), self.task.select(&split.held));
        Some(PathRows::Fold(Arc::new(both)))
    }

    /// Adds the penalties between two of a sequence, which the path of all rows has found, to the paths of the folds.
    fn score_refined(&self, rules: &Rules, runs: &mut [Run]) {
        let (all, folds) = runs.split_at_mut(self.sequences.len()); // those of all rows come first
        for run in all.iter().filter(|run| run.refined.is_some()) {
            let (Some(penalty), Some((found, _))) = (run.refined, run.solved.last()) else { continue };
            let before = run.solved.len() - 1;
            let same = folds.par_iter_mut().filter(|fold| fold.sequence == run.sequence);
            same.filter(|fold| fold.solved.len() >= before).for_each(|fold| {
                fold.solved.truncate(before);
                let rows = fold.fold.and_then(|fold| self.rows_of(fold));
                fold.solved.extend(rows.and_then(|rows| score_fold(rules, &rows, penalty, &found.heads)));
            });
        }
    }

    /// The models of all rows with their certificates, and the outcome of the folds.
    fn gather(&self, runs: Vec<Run>) -> Result<ExactPaths> {
        let stopped = runs.iter().any(|run| run.cut);
        let (all, mut folds): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|run| run.fold.is_none());
        let (mut models, mut of_folds) = (Vec::new(), Vec::new());
        let (mut scores, mut by_fold) = (Vec::new(), Vec::new());
        for run in all {
            let penalties: Vec<ElasticNet> =
                (0..run.solved.len()).map(|k| run.penalty(k, &self.sequences[run.sequence])).collect();
            for (k, ((found, marks), penalty)) in run.solved.into_iter().zip(penalties).enumerate() {
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
                objective::certify_with(
                    examples,
                    &*task.loss,
                    weighted_penalty,
                    &weights,
                    bias,
                    found.duals[0],
                )
            }),
            Some(what) => objective::certify_heads(&what, &found.heads, &found.duals),
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
        gradient.iter().enumerate().map(one).fold(0.0, larger_or_nan)
    };
    match task.targets.heads() {
        None => largest(&objective::NullModel::of(task.examples(), &*task.loss, settings.bias).gradient),
        Some(_) => null(task, settings.bias).l1_max,
    }
}
