//! From arguments to settings: checks numbers, looks up names, and rejects combinations that make no sense.

use crate::args;
use lazyglm::data::format::ReadOptions;
use lazyglm::loss::Admits;
use lazyglm::{
    ClassWeight, ElasticNet, Error, HeadKind, Loss, Method, Order, Parameter, Precision, Request, Result,
    Settings, Solver, Steps, TargetKind, UpdateName, WARNING, loss, schedule,
};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A training run that is ready to start.
pub struct Plan {
    /// The settings of the run.
    pub settings: Settings,
    /// The loss; `None` for auto.
    pub loss: Option<Arc<dyn Loss>>,
    /// The weight of each class.
    pub class_weight: Option<ClassWeight>,
    /// The kind of heads that the flags ask for; `None` if the data decide.
    pub heads: Option<HeadKind>,
    /// The source of held-out rows.
    pub validation: Option<HeldOut>,
    /// Warnings about flags without effect.
    pub notes: Vec<String>,
}

/// The source of held-out rows.
pub enum HeldOut {
    /// A file.
    File(PathBuf),
    /// A fraction of the training rows.
    Share(f64),
}

/// The options for reading data.
pub fn asked(args: &args::ReadConfig) -> Result<ReadOptions> {
    let product = |text: &String| {
        let text = if text == "*" { ":*:" } else { text };
        let sides: Vec<String> = text.split('*').map(str::to_string).collect();
        match (2..=3).contains(&sides.len()) && sides.iter().all(|side| !side.is_empty()) {
            true => Ok(sides),
            false => {
                let expected = "two or three namespaces or columns, as in 'a*b', or '*' for all pairs";
                Err(Error::parameter(Parameter::Interact, text, expected))
            }
        }
    };
    Ok(ReadOptions {
        format: args.format.clone(),
        target: args.target.clone(),
        offset: args.offset_column.clone(),
        drop: args.drop.clone(),
        categorical: args.categorical.clone(),
        text_columns: args.text_columns.clone(),
        missing: args.missing.map(Into::into),
        text: args.text.clone(),
        hash_bits: args.hash_bits,
        interact: args.interact.iter().map(product).collect::<Result<_>>()?,
        ..ReadOptions::default()
    })
}

/// Parses the penalty and the starting learning rate of `train`, one value each. If one penalty is given, the other is
/// zero.
pub fn one(args: &args::Train) -> Result<(ElasticNet, Option<f64>)> {
    let default = Settings::default().penalty;
    let number = |parameter, text: Option<&str>, other: &Option<String>, default| match text {
        None => Ok(if other.is_some() { 0.0 } else { default }),
        Some(text) => text.parse().map_err(|_| {
            Error::parameter(parameter, text, "one number, at least 0 (`lazyglm tune` takes several)")
        }),
    };
    let l1 = number(Parameter::L1, args.l1.as_deref(), &args.l2, default.l1)?;
    let l2 = number(Parameter::L2, args.l2.as_deref(), &args.l1, default.l2)?;
    Ok((ElasticNet::new(l1, l2)?, eta0(args.eta0())?))
}

/// A note about the penalty of `train`, if none is given and the solver does not choose one.
pub fn default_penalty(args: &args::Train) -> Option<String> {
    let ElasticNet { l1, l2 } = Settings::default().penalty;
    let given = args.l1.is_some() || args.l2.is_some() || args.solver() == Solver::Auto;
    (!given).then(|| {
        format!("penalty l1 {l1:?} and l2 {l2:?}, since none was given; give --l1 0 --l2 0 for none")
    })
}

/// Makes a plan from the arguments, for one penalty and one starting learning rate.
pub fn plan(args: &args::Train, (penalty, eta0): (ElasticNet, Option<f64>)) -> Result<Plan> {
    one_standard_input(args)?;
    let mut notes = Vec::new();
    for_solver(args, &mut notes)?;
    let loss = match args.loss.as_str() {
        "auto" => None,
        text => Some(loss::parse(text).map_err(|e| with_auto(e, text))?),
    };
    let loss = of_task(args, loss)?;
    let targets = heads(args).map(|kind| TargetKind::of(Some(kind)));
    check(args, loss.as_deref(), targets)?;
    let schedule = schedule::Spec::parse(args.schedule.as_deref().unwrap_or("cosine"))?;
    if eta0.is_some() && !schedule.uses_eta0() {
        return Err(Error::call(
            format!("--eta0 has no meaning with --schedule {}", schedule.text()),
            "leave --eta0 out: that schedule takes its rate from --l2 and its t0",
        ));
    }
    let method = match args.method {
        None | Some(args::Method::Fobos) => Method::Fobos,
        Some(args::Method::Sgd) => Method::Sgd,
    };
    let epochs = epochs(args);
    if let Some(eta0) = eta0 {
        method.check(penalty, eta0)?;
    }
    // Rejects a schedule that is wrong for any number of rows before the rows are read.
    schedule.resolve(&schedule::Setting { eta0: 1.0, l2: penalty.l2, rows: Some(1), epochs })?;
    if args.early_stop.is_some() && args.validation.is_none() {
        return Err(Error::call(
            "--early-stop needs --validation",
            "name the held-out rows, as in --validation 0.1",
        ));
    }
    let choose_penalty = args.solver() == Solver::Auto && args.l1.is_none() && args.l2.is_none();
    let settings = Settings {
        penalty,
        choose_penalty,
        solver: args.solver(),
        tolerance: args.tolerance.unwrap_or(if choose_penalty {
            1e-3
        } else {
            Settings::default().tolerance
        }),
        start: None,   // known once the columns are: see warm_start.rs
        factors: None, // the same
        nonnegative: args.nonnegative,
        bounds: None, // the same
        adaptive: args.adaptive,
        method,
        update: match args.update() {
            args::Update::Lazy => UpdateName::Lazy,
            args::Update::Table => UpdateName::Table,
            args::Update::Dense => UpdateName::Dense,
            args::Update::DenseSparsePredict => UpdateName::DenseSparsePredict,
        },
        schedule,
        eta0,
        epochs,
        order: match args.order {
            None | Some(args::Order::Shuffled) => Order::Shuffled,
            Some(args::Order::Sequential) => Order::Sequential,
        },
        seed: args.seed(),
        precision: precision(args, &mut notes),
        bias: !args.no_bias,
        early_stop: args.early_stop,
        least_gain: 0.0,
        table_budget: table_budget(args, &mut notes),
        average: average(args)?,
        runs: args.runs.unwrap_or(1),
        certificate: !args.no_certificate,
        memory: args.memory,
        tuned_thresholds: args.thresholds == args::Thresholds::Tuned,
        limit_predictions: match args.limit_predictions {
            args::Limit::Auto => None,
            args::Limit::Yes => Some(true),
            args::Limit::No => Some(false),
        },
        // A rate that was given may be part of an experiment: nobody else changes it.
        retry_diverged: args.on_divergence.map_or(eta0.is_none(), |what| what == args::OnDivergence::Retry),
        rate_factor: 1.0,
        interrupt: None,  // set by verbs that can be interrupted
        checkpoint: None, // the same
    };
    Ok(Plan {
        settings,
        loss,
        heads: heads(args),
        class_weight: args.class_weight.as_deref().map(ClassWeight::parse).transpose()?,
        validation: args.validation.as_deref().map(held_out).transpose()?,
        notes,
    })
}

/// The default limit of epochs for --solver svrg, which may stop earlier at the tolerance.
const SVRG_EPOCHS: u64 = 100;

/// Checks flags that are settings of another solver: warns of those without effect, and rejects --early-stop.
fn for_solver(args: &args::Train, notes: &mut Vec<String>) -> Result<()> {
    let solver = args.solver();
    let can = solver.capabilities();
    notes.extend(args.solver.and_then(|named| {
        named.alias.map(|alias| format!("--solver {alias} is an alias of --solver {}", named.solver))
    }));
    if args.tolerance.is_some() {
        if !can.tolerance {
            notes.push(format!(
                "{WARNING}--tolerance has no meaning with --solver {solver}, which stops after --epochs"
            ));
        }
        notes.extend(heads(args).and_then(|kind| tolerance_is_idle(solver, kind)));
    }
    match can.steps {
        Steps::None if args.early_stop.is_some() => {
            let what = format!("--early-stop has no meaning with --solver {solver}");
            Err(Error::call(what, "leave --early-stop out: the solver stops at --tolerance"))
        }
        Steps::None => {
            let idle = |flag: &&str| format!("{WARNING}{flag} has no meaning with --solver {solver}");
            notes.extend(args.of_steps().iter().map(idle));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Rejects what the solver does not support. `targets` is `None` until their kind is known.
pub fn check(args: &args::Train, loss: Option<&dyn Loss>, targets: Option<TargetKind>) -> Result<()> {
    args.solver().check(&Request {
        loss,
        targets,
        on_disk: false, // not known before the rows are counted
        start: args.start.is_some(),
        factors: args.penalty_factor.is_some(),
        nonnegative: args.nonnegative,
        lower: args.lower.is_some(),
        upper: args.upper.is_some(),
        exclude: args.exclude.is_some(),
        adaptive: args.adaptive.is_some(),
        runs: args.runs.is_some_and(|runs| runs != 1),
        method: matches!(args.method, Some(args::Method::Sgd)),
        update: args.update() != args::Update::Lazy,
        schedule: args.schedule.is_some(),
        average: args.average.is_some(),
        offsets: args.offset.is_some() || args.reading.offset_column.is_some(),
        thresholds: args.thresholds == args::Thresholds::Tuned,
    })
}

/// The loss of the task. Rejects flags that contradict `--task`.
fn of_task(args: &args::Train, loss: Option<Arc<dyn Loss>>) -> Result<Option<Arc<dyn Loss>>> {
    let Some(task) = args.task else { return Ok(loss) };
    let name = match task {
        args::Task::Classify => "classify",
        args::Task::Regress => "regress",
        args::Task::Multilabel => "multilabel",
    };
    let other = match (task, args.multiclass, args.multilabel) {
        (args::Task::Regress | args::Task::Multilabel, Some(_), _) => Some("--multiclass"),
        (args::Task::Regress | args::Task::Classify, _, true) => Some("--multilabel"),
        _ => None,
    };
    if let Some(other) = other {
        return Err(Error::call(
            format!("--task {name} does not go with {other}"),
            format!("leave {other} out"),
        ));
    }
    let for_classes = loss.as_ref().is_some_and(|loss| loss.admits() == Admits::Classes);
    match (task, loss) {
        (args::Task::Regress, Some(loss)) if for_classes => Err(Error::call(
            format!("--task regress does not go with --loss {}, a loss for classes", loss.spec()),
            "use a loss for numbers, such as squared",
        )),
        (args::Task::Regress, None) => loss::parse("squared").map(Some),
        (args::Task::Classify | args::Task::Multilabel, Some(loss)) if !for_classes => Err(Error::call(
            format!("--task {name} does not go with --loss {}, a loss for numbers", loss.spec()),
            "use a loss for classes, such as logistic",
        )),
        (_, loss) => Ok(loss),
    }
}

/// The kind of heads that the flags ask for.
fn heads(args: &args::Train) -> Option<HeadKind> {
    match (args.multilabel || args.task == Some(args::Task::Multilabel), args.multiclass) {
        (true, _) => Some(HeadKind::Labels),
        (false, Some(args::Multiclass::Ovr)) => Some(HeadKind::Ovr),
        (false, Some(args::Multiclass::Softmax)) => Some(HeadKind::Softmax),
        (false, None) => None,
    }
}

/// A warning that the solver ignores `--tolerance` for these heads, if it supports `--tolerance` for one model alone.
pub fn tolerance_is_idle(solver: Solver, heads: HeadKind) -> Option<String> {
    let supports = |heads| solver.capabilities().supports(Parameter::Tolerance, Some(TargetKind::of(heads)));
    let idle = supports(None) && !supports(Some(heads));
    let nouns = heads.nouns();
    idle.then(|| format!("{WARNING}--tolerance has no effect with many {nouns}: sgd stops after --epochs"))
}

/// The number of epochs, with a larger default for svrg, which stops at a tolerance.
fn epochs(args: &args::Train) -> u64 {
    let default = if args.solver() == Solver::Svrg { SVRG_EPOCHS } else { Settings::default().epochs };
    args.epochs.unwrap_or(default)
}

/// Adds `auto` to the names of losses that an error suggests.
fn with_auto(e: Error, text: &str) -> Error {
    let names: Vec<&str> = ["auto"].into_iter().chain(loss::TABLE.iter().map(|entry| entry.name)).collect();
    let name = text.split(':').next().unwrap_or(text);
    match names.contains(&name) {
        true => e,
        false => Error::call(format!("there is no loss '{name}'"), loss::suggest(name, &names)),
    }
}

fn eta0(text: &str) -> Result<Option<f64>> {
    if text == "auto" {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(eta0) if eta0.is_finite() && eta0 > 0.0 => Ok(Some(eta0)),
        _ => Err(Error::parameter(Parameter::Eta0, text, "a number above 0, or 'auto'")),
    }
}

/// The precision: reference updates always use f64, since f32 would lose their small steps.
fn precision(args: &args::Train, notes: &mut Vec<String>) -> Precision {
    match (args.update(), args.precision) {
        (args::Update::Lazy, None) if args.average.is_some() => Precision::F64,
        (args::Update::Lazy, None | Some(args::Precision::F32)) => Precision::F32,
        (_, None | Some(args::Precision::F64)) => Precision::F64,
        (_, Some(args::Precision::F32)) => {
            let text = "--precision f32 is for --update lazy: the other updates work in f64";
            notes.push(format!("{WARNING}{text}"));
            Precision::F64
        }
    }
}

fn average(args: &args::Train) -> Result<Option<u64>> {
    match (args.average, args.update(), args.precision) {
        (None, ..) => Ok(None),
        (_, update, _) if update != args::Update::Lazy => {
            Err(Error::call("--average needs --update lazy", "leave --update out"))
        }
        (_, _, Some(args::Precision::F32)) => {
            Err(Error::call("--average works in f64", "leave --precision out, or give f64"))
        }
        (from, ..) => Ok(from),
    }
}

fn table_budget(args: &args::Train, notes: &mut Vec<String>) -> usize {
    if args.table_budget.is_some() && args.update() != args::Update::Table {
        notes.push(format!("{WARNING}--table-budget has no meaning without --update table"));
    }
    args.table_budget.map_or(Settings::default().table_budget, |budget| budget as usize)
}

/// Rejects `-` for more than one file: standard input can be read once.
fn one_standard_input(args: &args::Train) -> Result<()> {
    let files = [
        Some(args.data.as_path()),
        args.sample_weights.as_deref(),
        args.offset.as_deref(),
        args.validation.as_deref().map(Path::new),
    ];
    match files.into_iter().flatten().filter(|path| path.as_os_str() == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(Error::call(
            "'-' is given for more than one file",
            "standard input can be read once: name the others",
        )),
    }
}

/// Parses `--validation`: a number between 0 and 1 is a fraction of the rows, unless a file has that name.
fn held_out(text: &OsStr) -> Result<HeldOut> {
    match text.to_str().and_then(|text| text.parse::<f64>().ok()) {
        Some(share) if !Path::new(text).exists() => match share > 0.0 && share < 1.0 {
            true => Ok(HeldOut::Share(share)),
            false => Err(Error::parameter(
                Parameter::Validation,
                text.display(),
                "a file, or a number above 0 and below 1",
            )),
        },
        _ => Ok(HeldOut::File(text.into())),
    }
}
