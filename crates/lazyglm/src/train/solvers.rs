//! `train`: checks the settings against the table of solvers, [`crate::problem::solvers`], and calls the solver.

use super::job::Job;
use super::progress::Progress;
use super::{adaptive, auto, heads, limits, newton, out_of_core, stochastic, zero_test};
use crate::model::report::Stop;
use crate::model::trained::Trained;
use crate::problem::heads::Head;
use crate::problem::penalty::Method;
use crate::problem::request::Request;
use crate::problem::settings::{Settings, UpdateName};
use crate::problem::solvers::{Solver, TargetKind};
use crate::problem::source::Problem;
use crate::problem::task::Task;
use crate::util::error::{Error, Kind, Result};
use crate::util::memory;
use crate::util::number::positive_part;
use crate::util::parameter::Parameter;
use std::time::Instant;

/// Upper limit of the number of runs.
const MOST_RUNS: u64 = 1000;

/// Trains a model.
///
/// ```
/// use lazyglm::{Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 2_000, features: 500, ..synth::Shape::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// assert!(trained.report.objective < std::f64::consts::LN_2, "better than no model");
/// ```
///
/// Rows that do not fit into memory are passed in the same way:
///
/// ```
/// use lazyglm::{Settings, Windows, WindowsOptions, train};
/// let file = std::env::temp_dir().join("lazyglm-doc-train-windows.svm");
/// std::fs::write(&file, "1 1:1\n-1 2:1\n".repeat(500)).unwrap();
/// let (options, settings) = (WindowsOptions { memory: 1 << 26, ..Default::default() }, Settings::default());
/// let windows = Windows::open(&file, &options, &settings).unwrap();
/// assert_eq!(train(&windows, None, &settings, &mut |_| {}).unwrap().report.rows, 1000);
/// ```
pub fn train(
    problem: &dyn Problem,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    let started = Instant::now();
    check(settings, problem)?;
    limits::check(problem, settings)?;
    let within = settings.start_within_bounds();
    let settings = within.as_ref().unwrap_or(settings);
    let mut once = |settings: &Settings| dispatch(problem, validation, settings, watch);
    let mut trained = match settings.adaptive {
        None => once(settings)?,
        Some(gamma) => adaptive::train(settings, problem.features().columns(), gamma, &mut once)?,
    };
    limits::decide(problem, validation, settings, &mut trained);
    let report = &mut trained.report;
    let known = report.seconds_train + report.seconds_evaluate;
    report.seconds_search = positive_part(started.elapsed().as_secs_f64() - known);
    Ok(trained)
}

fn dispatch(
    problem: &dyn Problem,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    let Some(task) = problem.in_memory() else { return on_disk(problem, validation, settings, watch) };
    if task.targets.heads().is_some() {
        return heads::train(task, validation, settings, watch);
    }
    memory::ask_for(16 * task.data.rows.columns(), "the weights")?;
    let trained = match settings.solver {
        Solver::Auto => auto::train(task, validation, settings, watch)?,
        Solver::Newton => newton::train(task, validation, settings, watch)?,
        _ => stochastic::train(task, validation, settings, watch)?,
    };
    let report = &trained.report;
    if report.stop == Stop::Interrupted && report.epochs == 0 && report.tried.is_empty() {
        return Err(Kind::Interrupted.into()); // no step was made
    }
    Ok(trained)
}

/// Trains on rows that are not all in memory.
fn on_disk(
    problem: &dyn Problem,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    if problem.targets().heads().is_some() {
        return heads::train_on_disk(problem, validation, settings, watch);
    }
    let job = Job { problem, validation, settings, beside: None };
    match settings.solver {
        Solver::Newton => out_of_core::train(&job, watch),
        Solver::Auto if settings.choose_penalty || newton::can(job.loss(), settings) => {
            out_of_core::train(&job, watch)
        }
        Solver::Auto => zero_test::train(&job, watch),
        _ => stochastic::train(problem, validation, settings, watch),
    }
}

/// Rejects settings that the solver does not support, and arrays whose length differs from the number of columns.
fn check(settings: &Settings, problem: &dyn Problem) -> Result<()> {
    if !(1..=MOST_RUNS).contains(&settings.runs) {
        let expected = format!("a number from 1 to {MOST_RUNS}");
        return Err(Error::parameter(Parameter::Runs, settings.runs, expected));
    }
    if let Some(gamma) = settings.adaptive.filter(|gamma| !(*gamma > 0.0 && gamma.is_finite())) {
        return Err(Error::parameter(Parameter::Adaptive, gamma, "a number above 0"));
    }
    settings.solver.check(&Request {
        loss: Some(&**problem.loss()),
        targets: Some(TargetKind::of(problem.targets().heads().map(|heads| heads.kind))),
        on_disk: problem.in_memory().is_none(),
        start: settings.start.is_some(),
        factors: settings.factors.is_some(),
        nonnegative: settings.nonnegative,
        lower: settings.bounds.is_some(),
        upper: settings.bounds.is_some(),
        exclude: false, // a weight between 0 and 0
        adaptive: settings.adaptive.is_some(),
        runs: settings.runs != 1,
        method: settings.method == Method::Sgd,
        update: settings.update != UpdateName::Lazy,
        schedule: false, // there always is one: whether it was given is not known here
        average: settings.average.is_some(),
        offsets: problem.has_offsets(),
        thresholds: settings.tuned_thresholds,
    })?;
    let columns = problem.features().columns();
    let start = settings.start.as_ref().filter(|_| problem.targets().heads().is_none());
    let start = start.map(|start| start.weights.len());
    let factors = settings.factors.as_ref().map(|factors| factors.len());
    if let (Some(start), Some(heads)) = (&settings.start, problem.targets().heads()) {
        let beyond = |head: &Head| head.columns.last().is_some_and(|&last| last as usize >= columns);
        if start.heads.is_empty() || start.heads.len() > heads.names.len() || start.heads.iter().any(beyond) {
            let what =
                format!("{} does not fit the {} {}", Parameter::Start, heads.names.len(), heads.kind.nouns());
            return Err(Error::call(what, "give one head for each, on the columns of the data"));
        }
    }
    if let Some(start) = &settings.start
        && let Some(number) = start.numbers().find(|number| !number.is_finite())
    {
        return Err(Error::call(
            format!("{} has the weight {number}", Parameter::Start),
            "give weights and a bias that are finite numbers",
        ));
    }
    let bounds = settings.bounds.as_ref().map(|bounds| bounds.len());
    let wrong = |[low, high]: &[f64; 2]| !(*low <= 0.0 && *high >= 0.0); // or NaN
    if let Some([low, high]) = settings.bounds.iter().flat_map(|all| all.iter()).find(|one| wrong(one)) {
        return Err(Error::call(
            format!("a weight has the bounds {low} and {high}, and 0 must lie between them"),
            format!("give {} of at most 0, and {} of at least 0", Parameter::Lower, Parameter::Upper),
        ));
    }
    match [start, factors, bounds].into_iter().flatten().find(|length| *length != columns) {
        None => Ok(()),
        Some(length) => Err(Error::call(
            format!(
                "{}, {} or the bounds have {length} entries, and the data have {columns} columns",
                Parameter::Start,
                Parameter::PenaltyFactor
            ),
            "give one entry per column",
        )),
    }
}
