//! `lazyglm tune DATA --solver sgd`: chooses a penalty by held-out loss; each pass over the rows updates all models of the grid.

use crate::args::{Choose, Tune};
use crate::grid::{Grid, Verb, refuse};
use crate::print::{self, count, note, warning};
use crate::progress::Display;
use crate::signals;
use crate::stages::Stage;
use crate::verbs::common::writable;
use indicatif::{ProgressBar, ProgressStyle};
use lazyglm::train::search::{Dropped, Folds, HeldOutRows, Outcome, Score, Search, search};
use lazyglm::{Model, Place, Report, Result, Settings, Stop, train};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

const FOLDS: usize = 5;

/// Runs the verb.
pub fn run(args: Tune) -> Result<()> {
    refuse(&args.train, &args.search, false)?;
    let output = args.train.output.as_deref();
    output.map_or(Ok(()), |file| writable(file, &args.train.data))?;
    let folds = args.search.folds.map_or(FOLDS, |folds| folds as usize);
    let lanes_a_point = if args.train.validation.is_some() { 1 } else { folds };
    let verb = Verb {
        name: "tune",
        folds: lanes_a_point,
        halving: !args.no_halving,
        search: &args.search,
        draws_folds: args.train.validation.is_none(),
        chooses: true,
    };
    let mut grid = Grid::prepare(&args.train, &verb)?;
    let held = match &grid.held_out {
        Some(task) => HeldOutRows::Rows(task),
        None => HeldOutRows::Folds(Folds::new(&grid.task, folds, args.train.seed())?),
    };
    let deadline = args.budget.map(|budget| grid.started + budget);
    // A refit takes about a fifth of the time of a grid point: a tenth of the budget is reserved for it.
    let reserve = if output.is_some() { 0.1 } else { 0.0 };
    let job = Search {
        task: &grid.task,
        held,
        settings: &grid.settings,
        points: grid.points.clone(),
        memory: grid.memory,
        deadline: args.budget.map(|budget| grid.started + budget.mul_f64(1.0 - reserve)),
        halving: !args.no_halving,
    };
    let bar = bar(args.train.quiet);
    let searching = Instant::now();
    let outcome = search(&job, &mut |stage| show(&bar, stage));
    bar.finish_and_clear();
    let outcome = grid.journal.told(outcome, 0)?;
    let searched = searching.elapsed();
    grid.stages.end(Stage::Search);
    comment(&args, &grid, &outcome);
    let chosen = match args.search.choose() {
        Choose::Best => outcome.best,
        Choose::OneSe => outcome.one_se,
    };
    let report = match output {
        None => None,
        Some(path) => {
            let settings = refit_settings(&args, &grid, &outcome, chosen, deadline, searched);
            let mut display = Display::new(args.train.progress());
            let trained = train(&*grid.task, None, &settings, &mut |progress| display.see(progress));
            display.finish();
            let trained = grid.journal.told(trained, 0)?;
            grid.stages.end_training(&trained.report);
            let report = trained.report.clone();
            Model::new(&*grid.task, &settings, trained).save(path)?;
            Some(report)
        }
    };
    let interrupted = report.as_ref().is_some_and(|report| report.stop == Stop::Interrupted);
    match interrupted {
        true => grid.journal.interrupted()?,
        false => grid.journal.finish()?,
    }
    grid.stages.end(Stage::Write);
    grid.stages.print(args.train.timings);
    print::result(|out| match args.train.json {
        true => writeln!(out, "{}", as_json(&grid, &outcome, chosen, report.as_ref())),
        false => human(out, &args, &grid, &outcome, chosen, report.as_ref()),
    })?;
    match interrupted {
        true => std::process::exit(signals::exit_code()), // the model is kept, and scripts should know what it is
        false => Ok(()),
    }
}

/// The settings of the refit, with fewer epochs if the budget requires it, estimated from the time of the search.
fn refit_settings(
    args: &Tune,
    grid: &Grid,
    outcome: &Outcome,
    chosen: usize,
    deadline: Option<Instant>,
    searched: Duration,
) -> Settings {
    let settings = grid.at(&grid.points[chosen]);
    let Some(deadline) = deadline else { return settings };
    // A model trained alone takes longer than a lane of a block: the factor 4 is a safe estimate.
    let lane_epochs: f64 = outcome.scores.iter().map(|score| score.epochs).sum::<f64>().max(1e-3);
    let epoch = 4.0 * searched.as_secs_f64() / lane_epochs;
    let left = deadline.saturating_duration_since(Instant::now()).as_secs_f64();
    let epochs = ((left / epoch) as u64).clamp(1, settings.epochs);
    if epochs < settings.epochs {
        note(
            args.train.quiet,
            &format!("--budget leaves time for {epochs} of {} epochs on all rows", settings.epochs),
        );
    }
    Settings { epochs, ..settings }
}

fn bar(quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(1000);
    let look = "{percent:>3}% {bar:20.cyan/blue} {eta} left · {wide_msg}";
    if let Ok(style) = ProgressStyle::with_template(look) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

fn show(bar: &ProgressBar, stage: &lazyglm::train::search::Stage) {
    bar.set_position((1000.0 * stage.share) as u64);
    bar.set_message(format!("epoch {} · {} points", stage.epoch, stage.points));
}

/// Prints notes and warnings about the search.
fn comment(args: &Tune, grid: &Grid, outcome: &Outcome) {
    let say = |text: &str| note(args.train.quiet, text);
    let hopeless = outcome.scores.iter().filter(|s| matches!(s.dropped, Some(Dropped::Hopeless(_)))).count();
    if hopeless > 0 {
        say(&format!(
            "{hopeless} points were dropped on the way: others were far better (--no-halving keeps them)"
        ));
    }
    for score in &outcome.scores {
        if let Some(Dropped::Diverged { fold, at }) = score.dropped {
            let (l1, l2, eta0) = (score.point.penalty.l1, score.point.penalty.l2, score.point.eta0);
            let place = at.map_or(String::new(), |(row, step)| {
                format!(" at {} (step {step})", grid.task.data.place(row))
            });
            let text = format!(
                "l1 {l1:?}, l2 {l2:?}, eta0 {eta0:?} diverged (NaN or infinity) without fold {fold}{place}, and was dropped"
            );
            warning(&text);
        }
    }
    if outcome.stopped {
        say("--budget was up before all epochs were learnt: the best so far");
    }
    let best = outcome.scores[outcome.best].point.penalty.l1;
    let tried: Vec<f64> = grid.points.iter().map(|point| point.penalty.l1).collect();
    let (low, high) = tried.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &l1| (a.min(l1), b.max(l1)));
    if low < high && (best == low || best == high) {
        let end = if best == low { "lowest" } else { "highest" };
        say(&format!("the best l1, {best:?}, is the {end} of the grid: a wider one may hold a better"));
    }
}

fn human(
    out: &mut dyn Write,
    args: &Tune,
    grid: &Grid,
    outcome: &Outcome,
    chosen: usize,
    report: Option<&Report>,
) -> io::Result<()> {
    let many_rates =
        grid.points.iter().any(|point| point.eta0 != grid.points[0].eta0) && !grid.points[0].eta0.is_nan();
    let rate =
        |score: &Score| if many_rates { format!(" {:>9.2e}", score.point.eta0) } else { String::new() };
    let header = if many_rates { "      eta0" } else { "" };
    writeln!(out, "{:>10} {:>10}{header} {:>12} {:>10} {:>11}", "l1", "l2", "held-out", "± se", "non-zeros")?;
    for (p, score) in outcome.scores.iter().enumerate() {
        let mut notes = Vec::new();
        notes.extend((p == outcome.best).then(|| "best".to_string()));
        notes.extend((p == outcome.one_se).then(|| "strongest within one se".to_string()));
        notes.extend(match score.dropped {
            Some(Dropped::Hopeless(epochs)) => Some(format!("dropped after {epochs} epochs")),
            Some(Dropped::Diverged { .. }) => Some("diverged".to_string()),
            None => None,
        });
        writeln!(
            out,
            "{:>10.3e} {:>10.3e}{} {:>12} {:>10} {:>11} {}",
            score.point.penalty.l1,
            score.point.penalty.l2,
            rate(score),
            print::decimals(score.mean, 6),
            print::decimals(score.se, 6),
            count(score.nonzeros.round() as u64),
            notes.join(", ")
        )?;
    }
    let rows = count(grid.task.len() as u64);
    writeln!(
        out,
        "\nsearched   {} points on {rows} rows in {:.3} s (read in {:.3} s)",
        outcome.scores.len(),
        grid.stages.of(Stage::Search),
        grid.stages.of(Stage::Read)
    )?;
    match (report, &args.train.output) {
        (Some(report), Some(path)) => {
            let penalty = outcome.scores[chosen].point.penalty;
            writeln!(
                out,
                "refitted   l1 {:?}, l2 {:?}: objective {}, {} non-zeros",
                penalty.l1,
                penalty.l2,
                print::decimals(report.objective, 8),
                count(report.nonzeros as u64)
            )?;
            writeln!(out, "model      {}", Place::file(path))
        }
        _ => writeln!(
            out,
            "model      not kept: add -o MODEL to refit {} on all rows and write it",
            match args.search.choose() {
                Choose::Best => "the best",
                Choose::OneSe => "the strongest within one se",
            }
        ),
    }
}

fn as_json(grid: &Grid, outcome: &Outcome, chosen: usize, report: Option<&Report>) -> Value {
    let finite = |x: f64| Some(x).filter(|x| x.is_finite());
    let point = |score: &Score| {
        let dropped = match score.dropped {
            None => Value::Null,
            Some(Dropped::Hopeless(epochs)) => json!({"after_epochs": epochs}),
            Some(Dropped::Diverged { fold, at }) => {
                json!({"diverged": {"fold": fold, "row": at.map(|at| at.0 + 1), "step": at.map(|at| at.1)}})
            }
        };
        json!({
            "l1": score.point.penalty.l1, "l2": score.point.penalty.l2, "eta0": finite(score.point.eta0),
            "mean": finite(score.mean), "se": finite(score.se), "nonzeros": score.nonzeros,
            "epochs": score.epochs, "dropped": dropped,
        })
    };
    grid.stages.add_to(json!({
        "points": outcome.scores.iter().map(point).collect::<Vec<_>>(),
        "best": point(&outcome.scores[outcome.best]),
        "one_se": point(&outcome.scores[outcome.one_se]),
        "chosen": point(&outcome.scores[chosen]),
        "stopped": outcome.stopped,
        "groups": outcome.groups,
        "rows": grid.task.len(),
        "refit": report,
    }))
}
