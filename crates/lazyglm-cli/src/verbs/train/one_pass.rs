//! `lazyglm train - --passes 1`: trains on rows that are read once, in constant memory.

use crate::args::{Order, Thresholds, Train, Update};
use crate::plan;
use crate::print::{self, count, note, warning};
use crate::signals::{self, interrupt};
use crate::stages::{Stage, Stages};
use crate::verbs::common::{use_threads, writable};
use lazyglm::data::feature_ids::one_line;
use lazyglm::train::{OnePass, Passed};
use lazyglm::{Declared, Error, Model, Place, Problem, Report, Result, Settings, Solver, Stop, schedule};
use serde_json::json;
use std::io::{self, Write};

/// The default schedule: unlike that of several epochs, it does not need the number of rows.
const SCHEDULE: &str = "inverse-sqrt";

/// Runs the verb.
pub fn run(args: &Train, mut stages: Stages) -> Result<()> {
    refuse(args)?;
    let plan = plan::plan(args, plan::one(args)?)?;
    if let Some(path) = &args.output {
        writable(path, &args.data)?;
    }
    let penalty = plan::default_penalty(args);
    plan.notes.iter().chain(&penalty).for_each(|text| note(args.quiet, text));
    use_threads(args.threads)?;
    let schedule = match &args.schedule {
        Some(_) => plan.settings.schedule.clone(),
        None => schedule::Spec::parse(SCHEDULE)?,
    };
    let settings = Settings { schedule, epochs: 1, interrupt: interrupt(), ..plan.settings };
    let asked = plan::asked(&args.reading)?;
    let declared = Declared { base: args.index_base, count: args.features.map(|n| n as usize) };
    let classify = args.task == Some(crate::args::Task::Classify);
    let (path, loss) = (args.data.as_path(), plan.loss.clone());
    let pass = OnePass { path, asked: &asked, declared, settings: &settings, loss, classify };
    let passed = pass.run()?;
    stages.end(Stage::Train);
    comment(args, &passed);
    let Passed { problem, trained, zeroed, .. } = passed;
    let report = trained.report.clone();
    let classes = problem.targets().classes().cloned();
    if let Some(path) = &args.output {
        Model::new(&problem, &settings, trained).save(path)?;
    }
    drop(problem);
    stages.end(Stage::Write);
    stages.print(args.timings);
    print::result(|out| match args.json {
        true => writeln!(out, "{}", as_json(&stages, &report, zeroed)),
        false => human(out, args, classes.as_ref(), &report, zeroed),
    })?;
    match report.stop {
        Stop::Interrupted => std::process::exit(signals::exit_code()), // the model is kept, and scripts should know what it is
        _ => Ok(()),
    }
}

/// Rejects flags that need all rows before the first step, or the rows more than once.
fn refuse(args: &Train) -> Result<()> {
    let sgd = |solver: &Solver| matches!(solver, Solver::Auto | Solver::Sgd);
    let (again, before) = ("it reads the rows more than once", "it needs all rows before the first step");
    let flags = [
        ("--solver", args.solver.is_some_and(|named| !sgd(&named.solver)), "the steps are those of sgd"),
        ("--epochs", args.epochs.is_some_and(|epochs| epochs != 1), again),
        ("--tolerance", args.tolerance.is_some(), "one pass does not aim at the optimum"),
        ("--order shuffled", matches!(args.order, Some(Order::Shuffled)), before),
        ("--scale", !["auto", "none"].contains(&args.scale.as_str()), before),
        ("--class-weight", args.class_weight.is_some(), before),
        ("--sample-weights", args.sample_weights.is_some(), before),
        ("--offset", args.offset.is_some(), before),
        ("--renumber", args.renumber, before),
        ("--validation", args.validation.is_some(), again),
        ("--runs", args.runs.is_some(), again),
        ("--adaptive", args.adaptive.is_some(), again),
        ("--checkpoint", args.checkpoint.is_some(), again),
        ("--on-divergence", args.on_divergence.is_some(), again),
        ("--cache", !["auto", "off"].iter().any(|mode| args.cache == *mode), "nothing is kept on disk"),
        ("--memory", args.memory.is_some(), "no rows are kept"),
        ("--multiclass", args.multiclass.is_some(), "one model is trained"),
        ("--multilabel", args.multilabel, "one model is trained"),
        ("--thresholds", args.thresholds == Thresholds::Tuned, "one model is trained"),
        ("--update", args.update() != Update::Lazy, "weights are updated lazily"),
        ("--average", args.average.is_some(), "the weights are those of the last step"),
        ("--start", args.start.is_some(), "weights begin at zero"),
        ("--penalty-factor", args.penalty_factor.is_some(), "all features have one penalty"),
        ("--nonnegative", args.nonnegative, "weights have no bounds"),
        ("--lower", args.lower.is_some(), "weights have no bounds"),
        ("--upper", args.upper.is_some(), "weights have no bounds"),
        ("--exclude", args.exclude.is_some(), "all features are in the model"),
    ];
    match flags.into_iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((flag, _, why)) => {
            let what = format!("{flag} does not go with --passes 1: {why}");
            Err(Error::call(
                what,
                format!(
                    "leave {flag} out; without --passes, all rows are kept and can be read several times"
                ),
            ))
        }
    }
}

/// Prints notes about the pass.
fn comment(args: &Train, passed: &Passed) {
    let Passed { problem, trained, first, damped, .. } = passed;
    let report = &trained.report;
    let beginning = match *first < report.rows {
        true => format!("the first {} rows", count(*first as u64)),
        false => "the rows".to_string(),
    };
    if args.loss == "auto" {
        note(args.quiet, &format!("loss {}, by the targets of {beginning}", problem.loss().spec()));
    }
    if *damped {
        warning(&format!(
            "{} rows are too few for a search of the learning rate: eta0 {} is near the rate at which a step just about cancels the \
             error of its row. Give --eta0, or leave --passes out: so few rows can be read several times",
            count(*first as u64),
            print::significant(report.eta0)
        ));
    } else if args.eta0() == "auto" && report.eta0 > 0.0 {
        let eta0 = print::significant(report.eta0);
        note(args.quiet, &format!("eta0 {eta0}, the best of a search on {beginning}"));
    }
    if problem.is_weighted() {
        note(
            args.quiet,
            &format!("rows are weighted: weights are divided by the mean weight of {beginning}"),
        );
    }
    note(
        args.quiet,
        "one pass in the order of the rows: there is no certificate, and rows sorted by target are learnt badly",
    );
    if report.stop == Stop::Interrupted {
        warning(&format!("interrupted: this is the model after {} rows", count(report.rows as u64)));
    }
}

fn human(
    out: &mut dyn Write,
    args: &Train,
    classes: Option<&[String; 2]>,
    report: &Report,
    zeroed: usize,
) -> io::Result<()> {
    let (rows, features) = (count(report.rows as u64), count(report.features as u64));
    writeln!(out, "trained    {rows} rows × {features} features, 1 pass in {:.3} s", report.seconds_train)?;
    if let Some([negative, positive]) = classes {
        writeln!(out, "classes    {} (−), {} (+)", one_line(negative), one_line(positive))?;
    }
    writeln!(out, "loss       {} (the mean of each row before its step)", print::decimals(report.loss, 8))?;
    writeln!(out, "penalty    l1 {:?}, l2 {:?}", report.l1, report.l2)?;
    let (nonzeros, zeroed) = (count(report.nonzeros as u64), count(zeroed as u64));
    writeln!(out, "non-zeros  {nonzeros} of {features} (the zero test removed {zeroed})")?;
    match &args.output {
        Some(path) => writeln!(out, "model      {}", Place::file(path)),
        None => writeln!(out, "model      not kept: add -o MODEL to write it"),
    }
}

fn as_json(stages: &Stages, report: &Report, zeroed: usize) -> serde_json::Value {
    stages.add_to(json!({
        "rows": report.rows, "features": report.features, "loss": report.loss, "l1": report.l1, "l2": report.l2,
        "eta0": Some(report.eta0).filter(|eta0| eta0.is_finite()), "nonzeros": report.nonzeros, "zeroed": zeroed,
        "stop": report.stop,
    }))
}
