//! `lazyglm path DATA`: the regularisation path, one minimiser per penalty from strong to weak.

use super::search_table::{Row, as_json, csv, human};
use super::sgd_path;
use crate::args::Path;
use crate::exact::{Defaults, Exact};
use crate::print;
use crate::stages::Stage;
use crate::verbs::common::{refuse_same, writable};
use lazyglm::data::feature_ids::one_line;
use lazyglm::train::search::PathModel;
use lazyglm::{Error, Place, Result, Solver, util::files};
use std::io::{self, Write};

const DEFAULTS: Defaults = Defaults {
    steps: 50,
    ratios: "1",
    folds: None,
    to_the_end: false,
    budget: None,
    stage: Stage::Train,
    verb: "path",
};

/// Runs the verb.
pub fn run(args: Path) -> Result<()> {
    if args.train.solver() == Solver::Sgd {
        return sgd_path::run(args);
    }
    let output = args.train.output.as_deref();
    output.map_or(Ok(()), |file| writable(file, &args.train.data))?;
    if let Some(file) = &args.coefficients {
        refuse_same("--coefficients", file, &args.train.data)?;
        let mut others = args.train.checkpoint.iter().chain(&args.train.output);
        others.try_for_each(|other| refuse_same("--coefficients", file, other))?;
        files::check_writable(file)?;
    }
    let held = args.search.folds.is_some() || args.train.validation.is_some();
    if output.is_some() && !held && args.search.max_features.is_none() {
        let hint = "say which to write: add --folds 5, --validation FILE or --max-features K, or use --coefficients FILE";
        return Err(Error::call("-o: a path is many models, and a model file holds one", hint));
    }
    let mut exact = Exact::run(&args.train, &args.search, &DEFAULTS)?;
    if let Some(file) = &args.coefficients {
        files::write_whole(file, |out| coefficients(out, &exact))?;
    }
    let report = match (output, exact.chosen) {
        (Some(file), Some(chosen)) => Some(exact.save(chosen, file)?),
        _ => None,
    };
    exact.end_journal()?;
    exact.stages.end(Stage::Write);
    let rows = Row::all(&exact);
    exact.say_cut(args.train.quiet);
    exact.stages.print(args.train.timings);
    print::result(|out| match (args.train.json, args.csv) {
        (true, _) => writeln!(out, "{}", as_json(&exact, &rows, report.as_ref(), true)),
        (_, true) => csv(out, &rows),
        _ => {
            human(out, &exact, &rows)?;
            match (output, exact.chosen) {
                (Some(file), _) => writeln!(out, "model      {}", Place::file(file)),
                (None, Some(_)) => writeln!(out, "model      not kept: add -o MODEL to write the chosen one"),
                (None, None) => Ok(()),
            }
        }
    })?;
    exact.end();
    Ok(())
}

/// The weights of a model in the units of the data, with the names of their features and heads.
pub(super) fn weights(exact: &Exact, model: &PathModel) -> Vec<(Option<String>, String, f64)> {
    let (features, heads) = (&exact.task.data.features, exact.task.targets.heads());
    let mut all = Vec::new();
    for (k, head) in model.heads.iter().enumerate() {
        let name = heads.map(|heads| heads.names[k].clone());
        all.push((name.clone(), "(bias)".to_string(), head.bias));
        let mut columns: Vec<(usize, f64)> =
            head.columns.iter().map(|&column| column as usize).zip(head.weights.iter().copied()).collect();
        columns.sort_by_key(|&(column, _)| features.index(column)); // columns may be renumbered
        all.extend(
            columns
                .into_iter()
                .map(|(column, w)| (name.clone(), features.name(column), features.in_data_units(column, w))),
        );
    }
    all
}

fn coefficients(out: &mut dyn Write, exact: &Exact) -> io::Result<()> {
    let many = exact.task.targets.heads().is_some();
    writeln!(out, "l1,l2,{}feature,weight", if many { "class," } else { "" })?;
    for model in &exact.paths.models {
        let penalty = model.penalty;
        for (head, name, weight) in weights(exact, model) {
            let head = head.map_or(String::new(), |head| quoted(&head) + ",");
            writeln!(out, "{:?},{:?},{head}{},{weight:?}", penalty.l1, penalty.l2, quoted(&name))?;
        }
    }
    Ok(())
}

/// A CSV field, quoted if needed.
pub(super) fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => one_line(name).into_owned(),
    }
}
