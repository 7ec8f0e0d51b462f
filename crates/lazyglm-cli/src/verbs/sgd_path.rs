//! `lazyglm path DATA --solver sgd`: the path by SGD, all models as lanes of the same passes.

use crate::args::Path;
use crate::grid::{Grid, Verb, refuse};
use crate::print::{self, count, decimals, warning};
use crate::signals;
use crate::stages::Stage;
use crate::verbs::common::refuse_same;
use crate::verbs::path::quoted;
use lazyglm::train::search::{Stop, path};
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
        refuse_same(file, &args.train.data)?;
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
    let stops = path(&grid.task, grid.held_out.as_ref(), &grid.settings, &grid.points, grid.memory);
    let stops = grid.journal.told(stops, 0)?;
    grid.stages.end(Stage::Train);
    for stop in &stops {
        if let Some(step) = stop.diverged {
            let (l1, l2) = (stop.point.penalty.l1, stop.point.penalty.l2);
            let text =
                format!("l1 {l1:?}, l2 {l2:?} diverged (NaN or infinity) at step {step}, and has no weights");
            warning(&text);
        }
    }
    if let Some(file) = &args.coefficients {
        files::write_whole(file, |out| coefficients(out, &grid, &stops))?;
    }
    let interrupted = is_short(&grid, &stops);
    match interrupted {
        true => grid.journal.interrupted()?,
        false => grid.journal.finish()?,
    }
    grid.stages.end(Stage::Write);
    grid.stages.print(args.train.timings);
    print::result(|out| match (args.train.json, args.csv) {
        (true, _) => writeln!(out, "{}", as_json(&grid, &stops)),
        (_, true) => csv(out, &stops),
        _ => human(out, &grid, &stops),
    })?;
    match interrupted {
        true => std::process::exit(signals::exit_code()), // results are printed, and scripts should know what they are
        false => Ok(()),
    }
}

/// Whether the run was interrupted, with a warning about the models that are missing and those with fewer epochs.
fn is_short(grid: &Grid, stops: &[Stop]) -> bool {
    let (all, most) = (grid.points.len(), grid.settings.epochs);
    let few = stops.last().map_or(0, |stop| stop.epochs);
    if stops.len() == all && few == most {
        return false;
    }
    let whole = stops.iter().filter(|stop| stop.epochs == most).count();
    let models = |n: usize| print::counted(n as u64, "model");
    let parts = match stops.len() - whole {
        0 => String::new(),
        part => format!(", {} with {few} of {} epochs", models(part), count(most)),
    };
    let missing = match all - stops.len() {
        0 => String::new(),
        missing => format!(", {} missing", models(missing)),
    };
    warning(&format!("interrupted: {} finished{parts}{missing}", models(whole)));
    true
}

/// The weights in the units of the data with the names of their features, in the order of features.
fn weights(grid: &Grid, stop: &Stop) -> Vec<(String, f64)> {
    let features = &grid.task.data.features;
    let mut columns: Vec<(usize, f64)> =
        stop.weights.iter().map(|&(column, w)| (column as usize, w)).collect();
    columns.sort_by_key(|&(column, _)| features.index(column)); // columns may be renumbered
    columns
        .into_iter()
        .map(|(column, w)| (features.name(column), features.in_data_units(column, w)))
        .collect()
}

fn coefficients(out: &mut dyn Write, grid: &Grid, stops: &[Stop]) -> io::Result<()> {
    writeln!(out, "l1,l2,feature,weight")?;
    for stop in stops {
        let penalty = stop.point.penalty;
        writeln!(out, "{:?},{:?},(bias),{:?}", penalty.l1, penalty.l2, stop.bias)?;
        for (name, weight) in weights(grid, stop) {
            writeln!(out, "{:?},{:?},{},{weight:?}", penalty.l1, penalty.l2, quoted(&name))?;
        }
    }
    Ok(())
}

fn csv(out: &mut dyn Write, stops: &[Stop]) -> io::Result<()> {
    writeln!(out, "l1,l2,nonzeros,loss,objective,validation_loss")?;
    stops.iter().try_for_each(|stop| {
        let penalty = stop.point.penalty;
        let held_out = stop.validation_loss.map_or(String::new(), |loss| format!("{loss:?}"));
        let (loss, objective) = (stop.objective.loss, stop.objective.total());
        writeln!(
            out,
            "{:?},{:?},{},{loss:?},{objective:?},{held_out}",
            penalty.l1,
            penalty.l2,
            stop.weights.len()
        )
    })
}

fn human(out: &mut dyn Write, grid: &Grid, stops: &[Stop]) -> io::Result<()> {
    let held_out = if grid.held_out.is_some() { "    held-out" } else { "" };
    writeln!(
        out,
        "{:>10} {:>10} {:>11} {:>12} {:>12}{held_out}",
        "l1", "l2", "non-zeros", "loss", "objective"
    )?;
    for stop in stops {
        let (penalty, f) = (stop.point.penalty, stop.objective);
        let nonzeros = count(stop.weights.len() as u64);
        let held_out =
            stop.validation_loss.map_or(String::new(), |loss| format!(" {:>11}", decimals(loss, 6)));
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
        "\ntrained    {} models on {rows} rows in {seconds:.3} s (read in {read:.3} s)",
        stops.len()
    )
}

fn as_json(grid: &Grid, stops: &[Stop]) -> Value {
    let point = |stop: &Stop| {
        let weights: Vec<Value> =
            weights(grid, stop).into_iter().map(|(name, w)| json!({"feature": name, "weight": w})).collect();
        json!({
            "l1": stop.point.penalty.l1, "l2": stop.point.penalty.l2, "nonzeros": stop.weights.len(),
            "loss": stop.objective.loss, "objective": stop.objective.total(),
            "validation_loss": stop.validation_loss, "epochs": stop.epochs, "bias": stop.bias, "weights": weights,
        })
    };
    grid.stages.add_to(json!({ "points": stops.iter().map(point).collect::<Vec<_>>() }))
}
