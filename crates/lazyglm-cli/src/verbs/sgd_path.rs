//! `lazyglm path DATA --solver sgd`: the path by SGD, all models as lanes of the same passes.

use crate::args::Path;
use crate::grid::{Grid, Verb, refuse};
use crate::print::{self, count, counted, decimals, warning};
use crate::signals;
use crate::stages::Stage;
use crate::verbs::common::refuse_same;
use crate::verbs::path::quoted;
use lazyglm::train::search::{TrainedPoint, path};
use lazyglm::{Error, Result, util::files};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Runs the verb.
pub fn run(args: Path) -> Result<()> {
    refuse(&args.train, &args.search, args.search.folds.is_some())?;
    if args.train.output.is_some() {
        let hint =
            "write its weights with --coefficients FILE, or train one of its models with `lazyglm train -o`";
        return Err(Error::call("-o: a path is many models, and a model file holds one", hint));
    }
    if let Some(file) = &args.coefficients {
        refuse_same("--coefficients", file, &args.train.data)?;
        let mut others = args.train.checkpoint.iter().chain(&args.train.output);
        others.try_for_each(|other| refuse_same("--coefficients", file, other))?;
        files::check_writable(file)?;
    }
    let verb = Verb {
        name: "path",
        folds: 1,
        halving: false,
        search: &args.search,
        draws_folds: false,
        chooses: false,
    };
    let mut grid = Grid::prepare(&args.train, &verb)?;
    let points = path(&grid.task, grid.held_out.as_ref(), &grid.settings, &grid.points, grid.memory);
    let points = grid.journal.told(points, 0)?;
    grid.stages.end(Stage::Train);
    for point in &points {
        if let Some(step) = point.diverged {
            let (l1, l2) = (point.point.penalty.l1, point.point.penalty.l2);
            let text =
                format!("l1 {l1:?}, l2 {l2:?} diverged (NaN or infinity) at step {step}, and has no weights");
            warning(&text);
        }
    }
    if let Some(file) = &args.coefficients {
        files::write_whole(file, |out| coefficients(out, &grid, &points))?;
    }
    let interrupted = is_short(&grid, &points);
    match interrupted {
        true => grid.journal.interrupted()?,
        false => grid.journal.finish()?,
    }
    grid.stages.end(Stage::Write);
    grid.stages.print(args.train.timings);
    print::result(|out| match (args.train.json, args.csv) {
        (true, _) => writeln!(out, "{}", as_json(&grid, &points)),
        (_, true) => csv(out, &points),
        _ => human(out, &grid, &points),
    })?;
    match interrupted {
        true => std::process::exit(signals::exit_code()), // results are printed, and scripts should know what they are
        false => Ok(()),
    }
}

/// Whether the run was interrupted, with a warning about the models that are missing and those with fewer epochs.
fn is_short(grid: &Grid, points: &[TrainedPoint]) -> bool {
    let (all, most) = (grid.points.len(), grid.settings.epochs);
    let few = points.last().map_or(0, |point| point.epochs);
    if points.len() == all && few == most {
        return false;
    }
    let whole = points.iter().filter(|point| point.epochs == most).count();
    let models = |n: usize| print::counted(n as u64, "model");
    let parts = match points.len() - whole {
        0 => String::new(),
        part => format!(", {} with {few} of {} epochs", models(part), count(most)),
    };
    let missing = match all - points.len() {
        0 => String::new(),
        missing => format!(", {} missing", models(missing)),
    };
    warning(&format!("interrupted: {} finished{parts}{missing}", models(whole)));
    true
}

/// The weights in the units of the data with the names of their features, in the order of features.
fn weights(grid: &Grid, point: &TrainedPoint) -> Vec<(String, f64)> {
    let features = &grid.task.data.features;
    let mut columns: Vec<(usize, f64)> =
        point.weights.iter().map(|&(column, w)| (column as usize, w)).collect();
    columns.sort_by_key(|&(column, _)| features.index(column)); // columns may be renumbered
    columns
        .into_iter()
        .map(|(column, w)| (features.name(column), features.in_data_units(column, w)))
        .collect()
}

fn coefficients(out: &mut dyn Write, grid: &Grid, points: &[TrainedPoint]) -> io::Result<()> {
    writeln!(out, "l1,l2,feature,weight")?;
    for point in points {
        let penalty = point.point.penalty;
        writeln!(out, "{:?},{:?},(bias),{:?}", penalty.l1, penalty.l2, point.bias)?;
        for (name, weight) in weights(grid, point) {
            writeln!(out, "{:?},{:?},{},{weight:?}", penalty.l1, penalty.l2, quoted(&name))?;
        }
    }
    Ok(())
}

fn csv(out: &mut dyn Write, points: &[TrainedPoint]) -> io::Result<()> {
    writeln!(out, "l1,l2,nonzeros,loss,objective,validation_loss")?;
    points.iter().try_for_each(|point| {
        let penalty = point.point.penalty;
        let held_out = point.validation_loss.map_or(String::new(), |loss| format!("{loss:?}"));
        let (loss, objective) = (point.objective.loss, point.objective.total());
        writeln!(
            out,
            "{:?},{:?},{},{loss:?},{objective:?},{held_out}",
            penalty.l1,
            penalty.l2,
            point.weights.len()
        )
    })
}

fn human(out: &mut dyn Write, grid: &Grid, points: &[TrainedPoint]) -> io::Result<()> {
    let held_out = if grid.held_out.is_some() { "    held-out" } else { "" };
    writeln!(
        out,
        "{:>10} {:>10} {:>11} {:>12} {:>12}{held_out}",
        "l1", "l2", "non-zeros", "loss", "objective"
    )?;
    for point in points {
        let (penalty, f) = (point.point.penalty, point.objective);
        let nonzeros = count(point.weights.len() as u64);
        let held_out =
            point.validation_loss.map_or(String::new(), |loss| format!(" {:>11}", decimals(loss, 6)));
        writeln!(
            out,
            "{:>10.3e} {:>10.3e} {nonzeros:>11} {:>12} {:>12}{held_out}",
            penalty.l1,
            penalty.l2,
            decimals(f.loss, 6),
            decimals(f.total(), 6)
        )?;
    }
    let (rows, read) = (count(grid.task.len() as u64), grid.stages.of(Stage::Read));
    let seconds = grid.stages.of(Stage::Search) + grid.stages.of(Stage::Train);
    writeln!(
        out,
        "\ntrained    {} on {rows} rows in {seconds:.3} s (read in {read:.3} s)",
        counted(points.len() as u64, "model")
    )
}

fn as_json(grid: &Grid, points: &[TrainedPoint]) -> Value {
    let point = |point: &TrainedPoint| {
        let weights: Vec<Value> =
            weights(grid, point).into_iter().map(|(name, w)| json!({"feature": name, "weight": w})).collect();
        json!({
            "l1": point.point.penalty.l1, "l2": point.point.penalty.l2, "nonzeros": point.weights.len(),
            "loss": point.objective.loss, "objective": point.objective.total(),
            "validation_loss": point.validation_loss, "epochs": point.epochs, "bias": point.bias, "weights": weights,
        })
    };
    grid.stages.add_to(json!({ "points": points.iter().map(point).collect::<Vec<_>>() }))
}
