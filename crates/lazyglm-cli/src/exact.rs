//! Preparation that `tune` and `path` share if every model is a minimiser: sequences of penalties, and rows in memory.

use crate::args::{Choose, Search, Train};
use crate::checkpoint::{self, Journal};
use crate::no_effect;
use crate::plan;
use crate::print::{note, warning};
use crate::progress::Counted;
use crate::signals::{self, interrupt};
use crate::stages::{Stage, Stages};
use crate::verbs::common::use_threads;
use crate::verbs::train::{TrainingData, TrainingRows};
use crate::warm_start::warm_start;
use lazyglm::eval::metrics::Metric;
use lazyglm::train::search::{ExactPath, ExactPaths, Folds, HeldOutRows, Numbers, strongest_l1};
use lazyglm::{
    ElasticNet, Error, Model, Parameter, Report, Result, Settings, Solver, Start, TargetKind, Task, train,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The default sequence of λ₁ goes from λ₁_max down to `DOWN_TO`·λ₁_max.
const DOWN_TO: f64 = 1e-5;

/// What a verb asks for if the flags do not say.
pub struct Defaults {
    /// The number of values of λ₁.
    pub steps: usize,
    /// The shares of λ₁ in λ₁ + λ₂.
    pub ratios: &'static str,
    /// The number of folds, if there are no held-out rows.
    pub folds: Option<usize>,
    /// Whether a path goes to its end, also where models are far worse than the best.
    pub to_the_end: bool,
    /// The time limit.
    pub budget: Option<Duration>,
    /// The stage that the models belong to.
    pub stage: Stage,
    /// The name of the verb.
    pub verb: &'static str,
}

/// Paths of minimisers, and the rows that they were found on.
pub struct Exact {
    /// The training rows.
    pub task: Box<Task>,
    /// The settings, without the penalty.
    pub settings: Settings,
    /// The metric on held-out rows.
    pub metric: Metric,
    /// The models and the held-out results.
    pub paths: ExactPaths,
    /// The model to write.
    pub chosen: Option<usize>,
    /// The number of penalties that were asked for.
    pub asked: usize,
    /// The time of each stage so far.
    pub stages: Stages,
    /// The journal of the run.
    pub journal: Journal,
}

impl Exact {
    /// Reads the data and finds the minimisers.
    pub fn run(args: &Train, search: &Search, defaults: &Defaults) -> Result<Exact> {
        let mut stages = Stages::new();
        if !matches!(args.solver(), Solver::Auto | Solver::Newton) {
            let what = format!(
                "--solver {} is not supported here: each model must be the optimum of its penalty",
                args.solver()
            );
            let hint = "leave --solver out, or use --solver sgd, which trains all models in the same passes";
            return Err(Error::call(what, hint));
        }
        if args.adaptive.is_some() {
            let hint =
                "use `lazyglm train --adaptive`, which chooses the penalty of each fit if none is given";
            return Err(Error::call("--adaptive is for one model, and a path has one per penalty", hint));
        }
        let metric: Metric = search.metric().parse()?;
        let l1 = args.l1.as_deref().map(|text| Numbers::parse(Parameter::L1, text)).transpose()?;
        let l2 = args.l2.as_deref().map(|text| Numbers::parse(Parameter::L2, text)).transpose()?;
        let alpha = args.alpha.as_deref().map(alphas).transpose()?;
        let ratios = ratios(args.l1_ratio.as_deref().unwrap_or(defaults.ratios))?;
        let highest = |numbers: &Option<Numbers>| {
            numbers.as_ref().and_then(|numbers| numbers.values().last().copied()).unwrap_or(0.0)
        };
        let strongest =
            ElasticNet::new(highest(&l1).max(highest(&alpha)), highest(&l2).max(highest(&alpha)))?;
        checkpoint::check(args)?;
        let plan = plan::plan(args, (strongest, None))?;
        let folds = search.folds.map(|folds| folds as usize).or(defaults.folds);
        let idle = no_effect::of_minimisers(args, search, defaults.to_the_end, folds.is_some());
        plan.notes.iter().chain(&idle).for_each(|text| note(args.quiet, text));
        use_threads(args.threads)?;
        let TrainingData { rows, held_out } = TrainingData::read(args, &plan)?;
        stages.end(Stage::Read);
        let TrainingRows::Memory(task) = rows else {
            let hint = "raise --memory, or train one model with `lazyglm train`";
            return Err(Error::call("the rows do not fit into --memory, and a path needs them there", hint));
        };
        let heads = task.targets.heads().map(|heads| heads.kind);
        plan::check(args, Some(&*task.loss), Some(TargetKind::of(heads)))?;
        no_effect::refuse_limits(args, &*task)?;
        if args.loss == "auto" && heads.is_none() {
            note(args.quiet, &format!("loss {}", task.loss.spec()));
        }
        let tolerance = args.tolerance.unwrap_or(Settings::default().tolerance);
        let given = Settings { solver: Solver::Newton, choose_penalty: false, tolerance, ..plan.settings };
        let mut settings = Settings { interrupt: interrupt(), ..warm_start(args, &*task, &given)? };
        let started = Instant::now();
        let l1 = match l1.or(alpha.clone()) {
            Some(l1) => l1,
            None => match strongest_l1(&task, &settings) {
                most if most > 0.0 => Numbers::between(DOWN_TO * most, most, defaults.steps),
                _ => Numbers::parse(Parameter::L1, "0")?,
            },
        };
        let held = match (&held_out, folds) {
            (Some(task), _) => HeldOutRows::Rows(task),
            (None, Some(folds)) => HeldOutRows::Folds(Folds::new(&task, folds, args.seed())?),
            (None, None) => HeldOutRows::None,
        };
        let sequences = match &alpha {
            Some(alpha) => sequences_of_alpha(alpha, &ratios),
            None => sequences(&l1, l2.as_ref(), &ratios),
        };
        let asked = sequences.iter().map(Vec::len).sum();
        let may_end = args.l1.is_none() && alpha.is_none() && !defaults.to_the_end;
        let text = format!(
            "penalties: {sequences:?}\nfolds: {folds:?}\nmetric: {metric}\nends: {may_end}\nmax features: {:?}\n",
            search.max_features
        );
        let journal = Journal::open(args, defaults.verb, &mut settings, (&*task, held_out.as_ref()), &text)?;
        let path = ExactPath {
            task: &task,
            held,
            settings: &settings,
            sequences,
            metric,
            may_end,
            max_features: search.max_features.map(|most| most as usize),
            refine: true,
            deadline: defaults.budget.map(|budget| journal.begun(started) + budget),
            keep_folds: false,
        };
        let steps = Counted::new(args.progress(), "models");
        let paths = path.run(&|at| steps.see(at.solved as u64, at.total as u64));
        steps.finish();
        let paths = journal.told(paths, 0)?;
        stages.end(defaults.stage);
        let chosen = match (&paths.outcome, search.choose()) {
            (Some(outcome), Choose::Best) => Some(outcome.best),
            (Some(outcome), Choose::OneSe) => Some(outcome.one_se),
            (None, _) => search.max_features.and(paths.models.len().checked_sub(1)),
        };
        Ok(Exact { task, settings, metric, paths, chosen, asked, stages, journal })
    }

    /// Says how many penalties were compared, if the search was cut short, and warns if weaker ones may be better.
    pub fn say_cut(&self, quiet: bool) {
        let interrupted = self.settings.interrupted();
        let Some(outcome) = self.paths.outcome.as_ref().filter(|outcome| outcome.stopped) else {
            if interrupted {
                warning("interrupted: these are the models found so far");
            }
            return;
        };
        let (why, next) = match interrupted {
            true => ("interrupted", "let the search run longer"),
            false => ("--budget was up", "raise --budget"),
        };
        let compared = |k: &usize| outcome.scores[*k].mean.is_finite();
        let count = (0..outcome.scores.len()).filter(compared).count();
        let text =
            format!("{why} after {count} of at most {} penalties: the best of these is chosen", self.asked);
        if interrupted {
            warning(&text)
        } else {
            note(quiet, &text)
        }
        let sequence = |k: usize| self.paths.models[k].sequence;
        let follows = |best: usize| (best + 1..outcome.scores.len()).find(compared);
        if follows(outcome.best).is_none_or(|next| sequence(next) != sequence(outcome.best)) {
            warning(&format!(
                "{why} before weaker penalties than the best were compared, and they may be better: {next}, or give fewer penalties"
            ));
        }
    }

    /// Ends the journal: it is written if the run was interrupted, and removed if the run is done.
    pub fn end_journal(&self) -> Result<()> {
        match self.settings.interrupted() {
            true => self.journal.interrupted(),
            false => self.journal.finish(),
        }
    }

    /// Ends the program if the run was interrupted: results are printed, and scripts should know what they are.
    pub fn end(&self) {
        if self.settings.interrupted() {
            std::process::exit(signals::exit_code());
        }
    }

    /// Finishes the chosen model on all rows, and writes it to a file.
    pub fn save(&mut self, chosen: usize, file: &Path) -> Result<Report> {
        let model = &self.paths.models[chosen];
        let start = match self.task.targets.heads() {
            Some(_) => Start { heads: model.heads.clone(), ..Start::default() },
            None => {
                let head = &model.heads[0];
                Start::one(head.dense(self.task.data.rows.columns()), head.bias)
            }
        };
        let mut settings =
            Settings { penalty: model.penalty, start: Some(Arc::new(start)), ..self.settings.clone() };
        if settings.interrupted() {
            // The model is the optimum of its penalty already, so this is short; another signal ends the program at once.
            (settings.interrupt, settings.checkpoint) = (None, None);
        }
        let trained = self.journal.told(train(&*self.task, None, &settings, &mut |_| {}), 0)?;
        self.stages.end_training(&trained.report);
        let report = trained.report.clone();
        Model::new(&*self.task, &settings, trained).save(file)?;
        Ok(report)
    }
}

/// Parses `--alpha`.
fn alphas(text: &str) -> Result<Numbers> {
    Numbers::parse(Parameter::L1, text).map_err(|_| {
        let what = format!("invalid --alpha '{}': expected numbers, at least 0", lazyglm::excerpt(text));
        Error::call(what, "as in --alpha 0.01,0.1, or a range LOW..HIGH:N")
    })
}

/// Parses shares of λ₁ in λ₁ + λ₂.
fn ratios(text: &str) -> Result<Vec<f64>> {
    let wrong = || Error::parameter(Parameter::L1Ratio, text, "numbers above 0 and up to 1, as in 0.1,0.5,1");
    let numbers = Numbers::parse(Parameter::L1Ratio, text).map_err(|_| wrong())?;
    match numbers.values().iter().all(|&ratio| ratio > 0.0 && ratio <= 1.0) {
        true => Ok(numbers.values().to_vec()),
        false => Err(wrong()),
    }
}

/// One sequence of penalties per share of λ₁, each from strong to weak: λ₁ = alpha·share and λ₂ = alpha·(1 − share).
fn sequences_of_alpha(alpha: &Numbers, ratios: &[f64]) -> Vec<Vec<ElasticNet>> {
    let net = |ratio: f64| move |&alpha: &f64| ElasticNet { l1: alpha * ratio, l2: alpha * (1.0 - ratio) };
    ratios.iter().rev().map(|&ratio| alpha.values().iter().rev().map(net(ratio)).collect()).collect()
}

/// One sequence of penalties per λ₂, or per share of λ₁; each from strong to weak.
fn sequences(l1: &Numbers, l2: Option<&Numbers>, ratios: &[f64]) -> Vec<Vec<ElasticNet>> {
    let down = || l1.values().iter().rev().copied();
    match l2 {
        Some(l2) => l2.values().iter().map(|&l2| down().map(|l1| ElasticNet { l1, l2 }).collect()).collect(),
        None => {
            let digits = |l2: f64| format!("{l2:.3e}").parse().unwrap_or(l2); // as many as λ₁ has
            let with = |ratio: f64| move |l1: f64| ElasticNet { l1, l2: digits(l1 * (1.0 - ratio) / ratio) };
            ratios.iter().rev().map(|&ratio| down().map(with(ratio)).collect()).collect()
        }
    }
}
