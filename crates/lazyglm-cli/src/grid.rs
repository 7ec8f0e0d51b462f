//! Preparation that `tune` and `path` share: a grid of penalties, and rows in memory.

use crate::args::{Search, Train, Update};
use crate::checkpoint::{self, Journal};
use crate::no_effect;
use crate::plan;
use crate::print::{count, note, significant};
use crate::signals::interrupt;
use crate::stages::{Stage, Stages};
use crate::verbs::common::use_threads;
use crate::verbs::train::{TrainingData, TrainingRows};
use lazyglm::train::search::{Numbers, Point, points};
use lazyglm::util::memory::room;
use lazyglm::{ElasticNet, Error, Parameter, Result, Settings, Solver, Task, objective, rate};
use std::time::Instant;

/// The default grid of λ₁ has `STEPS` values from λ₁_max down to `DOWN_TO`·λ₁_max.
const DOWN_TO: f64 = 1e-5;
const STEPS: usize = 16;

/// A grid search that is ready to run.
pub struct Grid {
    /// The training rows.
    pub task: Box<Task>,
    /// The held-out rows, if a file or a fraction was given.
    pub held_out: Option<Task>,
    /// The settings, without the penalty and the starting learning rate.
    pub settings: Settings,
    /// The grid points.
    pub points: Vec<Point>,
    /// Memory limit for the weights, in bytes.
    pub memory: usize,
    /// The time of each stage so far.
    pub stages: Stages,
    /// Time at which reading ended.
    pub started: Instant,
    /// The journal of the run.
    pub journal: Journal,
}

/// What a verb asks of its grid.
pub struct Verb<'a> {
    /// Its name.
    pub name: &'static str,
    /// The number of models per grid point.
    pub folds: usize,
    /// Whether points are dropped on the way.
    pub halving: bool,
    /// The flags of the search.
    pub search: &'a Search,
    /// Whether folds are drawn at random.
    pub draws_folds: bool,
    /// Whether the verb chooses one of the models.
    pub chooses: bool,
}

impl Grid {
    /// Reads the data and makes the grid.
    pub fn prepare(args: &Train, verb: &Verb) -> Result<Grid> {
        let mut stages = Stages::new();
        refuse_idle(args)?;
        checkpoint::check(args)?;
        let numbers = |parameter, text: &Option<String>| {
            text.as_deref().map(|text| Numbers::parse(parameter, text)).transpose()
        };
        let (l1, l2) = (numbers(Parameter::L1, &args.l1)?, numbers(Parameter::L2, &args.l2)?);
        let l2 = match (&l2, &l1) {
            (Some(numbers), _) => numbers.values().to_vec(),
            (None, Some(_)) => vec![0.0], // as for `train`: a penalty that is not given is zero if the other one is
            (None, None) => vec![Settings::default().penalty.l2],
        };
        let rates = rates(args.eta0())?;
        let most = |numbers: &[f64]| numbers.iter().copied().fold(0.0, f64::max);
        let strongest = ElasticNet { l1: l1.as_ref().map_or(0.0, |l1| most(l1.values())), l2: most(&l2) };
        let plan = &plan::plan(args, (strongest, rates.first().copied()))?;
        let settings = &Settings { solver: Solver::Sgd, choose_penalty: false, ..plan.settings.clone() };
        for &eta0 in &rates {
            settings.method.check(strongest, eta0)?;
        }
        let idle = no_effect::of_grid(args, verb.search, verb.draws_folds, verb.chooses);
        plan.notes.iter().chain(&idle).for_each(|text| note(args.quiet, text));
        use_threads(args.threads)?;
        let TrainingData { rows, held_out } = TrainingData::read(args, plan)?;
        stages.end(Stage::Read);
        let TrainingRows::Memory(task) = rows else {
            let hint = "raise --memory: many models at once go through rows that are held in memory";
            return Err(Error::call("the rows do not fit into --memory", hint));
        };
        no_effect::refuse_limits(args, &*task)?;
        if task.targets.heads().is_some() {
            return Err(Error::call(
                "there are more than two classes, or labels",
                "only `train` learns many at once: keep the rows of two classes, or give all but one the same name",
            ));
        }
        if args.loss == "auto" {
            note(args.quiet, &format!("loss {}", task.loss.spec()));
        }
        let started = Instant::now();
        let l1 = match l1 {
            Some(l1) => l1,
            None => {
                let most = objective::l1_max(task.examples(), &*task.loss, settings.bias.into());
                match most > 0.0 {
                    true => Numbers::between(DOWN_TO * most, most, STEPS),
                    false => Numbers::parse(Parameter::L1, "0")?,
                }
            }
        };
        let rates = match rates.is_empty() {
            false => rates,
            true => vec![auto_rate(args, &task, settings, &l1, most(&l2))?],
        };
        let points = points(l1.values(), &l2, &rates);
        let memory = memory(args, &task, points.len() * verb.folds, settings)?;
        let mut settings = Settings { interrupt: interrupt(), ..settings.clone() };
        let text =
            format!("points: {points:?}\nmodels per point: {}\nhalving: {}\n", verb.folds, verb.halving);
        let journal = Journal::open(args, verb.name, &mut settings, (&*task, held_out.as_ref()), &text)?;
        stages.end(Stage::Search);
        let started = journal.begun(started);
        Ok(Grid { task, held_out, settings, points, memory, stages, started, journal })
    }

    /// The settings for one grid point.
    pub fn at(&self, point: &Point) -> Settings {
        let eta0 = Some(point.eta0).filter(|eta0| !eta0.is_nan());
        Settings { penalty: point.penalty, eta0, ..self.settings.clone() }
    }
}

/// Searches for a starting learning rate, with a penalty from the middle of the grid.
fn auto_rate(args: &Train, task: &Task, settings: &Settings, l1: &Numbers, l2: f64) -> Result<f64> {
    let penalty = ElasticNet { l1: l1.values()[(l1.values().len() - 1) / 2], l2 };
    let eta0 = rate(task, &Settings { penalty, eta0: None, ..settings.clone() })?;
    if settings.schedule.uses_eta0() {
        note(
            args.quiet,
            &format!("eta0 {} for all, the best of a search on a sample of the rows", significant(eta0)),
        );
    }
    Ok(eta0)
}

/// Parses `--eta0`: a list of learning rates, or `auto` for none.
fn rates(text: &str) -> Result<Vec<f64>> {
    if text == "auto" {
        return Ok(Vec::new());
    }
    let rates = Numbers::parse(Parameter::Eta0, text).ok().filter(|rates| rates.values()[0] > 0.0);
    let expected = "numbers above 0, as in 0.1,0.5, a range LOW..HIGH:N, or 'auto'";
    rates
        .map(|rates| rates.values().to_vec())
        .ok_or_else(|| Error::parameter(Parameter::Eta0, text, expected))
}

/// Rejects flags of a search that models trained by SGD do not support.
pub fn refuse(args: &Train, search: &Search, folds: bool) -> Result<()> {
    let flags = [
        ("--folds", folds),
        ("--alpha", args.alpha.is_some()),
        ("--l1-ratio", args.l1_ratio.is_some()),
        ("--metric", search.metric() != "loss"),
        ("--max-features", search.max_features.is_some()),
    ];
    match flags.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => {
            let what = format!(
                "{flag} is not supported by --solver sgd, which trains all models in the same passes"
            );
            Err(Error::call(
                what,
                format!("leave --solver and settings of its steps out, or leave {flag} out"),
            ))
        }
    }
}

/// Rejects flags that a grid does not support: all of its models are trained at once, by SGD.
fn refuse_idle(args: &Train) -> Result<()> {
    let idle = match args {
        Train { solver: Some(named), .. } if !matches!(named.solver, Solver::Auto | Solver::Sgd) => {
            Some(("--solver", "all models of a grid are trained by sgd"))
        }
        Train { passes: Some(_), .. } => Some(("--passes", "all models go through the rows several times")),
        Train { start: Some(_), .. } => Some(("--start", "all models start from zero")),
        Train { penalty_factor: Some(_), .. } => Some(("--penalty-factor", "a model has one penalty")),
        Train { nonnegative: true, .. } => Some(("--nonnegative", "weights may have any sign")),
        Train { lower: Some(_), .. } => Some(("--lower", "weights have no bounds")),
        Train { upper: Some(_), .. } => Some(("--upper", "weights have no bounds")),
        Train { exclude: Some(_), .. } => Some(("--exclude", "all features are in the models")),
        Train { adaptive: Some(_), .. } => Some(("--adaptive", "every model is trained once")),
        Train { update: Some(update), .. } if *update != Update::Lazy => {
            Some(("--update", "all models are updated lazily"))
        }
        Train { early_stop: Some(_), .. } => Some(("--early-stop", "all models run the same epochs")),
        Train { average: Some(_), .. } => {
            Some(("--average", "the weights of a model are those of its last step"))
        }
        Train { runs: Some(_), .. } => Some(("--runs", "every model is trained once")),
        Train { table_budget: Some(_), .. } => Some(("--table-budget", "there is no table")),
        _ => None,
    };
    match idle {
        Some((flag, why)) => Err(Error::call(format!("{flag} has no meaning here: {why}"), "leave it out")),
        None => Ok(()),
    }
}

/// Memory limit for the weights: what the rows leave of --memory, or most of the available memory. Prints the
/// estimate for all models before any memory is allocated.
fn memory(args: &Train, task: &Task, lanes: usize, settings: &Settings) -> Result<usize> {
    let rows = &task.data.rows;
    let data = 8 * rows.nonzeros() + 24 * rows.len();
    let limit = match args.memory {
        Some(memory) => memory.saturating_sub(data),
        None => room(),
    };
    let bytes = if settings.precision == lazyglm::Precision::F32 { 4 } else { 8 };
    let need = lanes.saturating_mul(rows.columns()).saturating_mul(bytes);
    let columns = count(rows.columns() as u64);
    let text = format!("{} models × {columns} weights: {}", count(lanes as u64), size(need));
    match need > limit {
        true => note(
            args.quiet,
            &format!("{text}, and {} may be used: they go in groups, one after the other", size(limit)),
        ),
        false => note(args.quiet, &text),
    }
    Ok(limit)
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_048_576 => format!("{} KB", bytes.div_ceil(1024)),
        1_048_576..1_073_741_824 => format!("{} MB", bytes >> 20),
        _ => format!("{:.1} GB", bytes as f64 / f64::from(1 << 30)),
    }
}
