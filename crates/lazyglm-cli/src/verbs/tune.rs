//! `lazyglm tune DATA`: chooses a penalty by cross-validation; every model is a minimiser.

use super::search_table::{Row, as_json, human};
use super::sgd_tune;
use crate::args::{Choose, Tune};
use crate::exact::{Defaults, Exact};
use crate::print::{self, count, note};
use crate::stages::Stage;
use crate::verbs::common::writable;
use lazyglm::{Place, Result, Solver};

/// Runs the verb.
pub fn run(args: Tune) -> Result<()> {
    if args.train.solver() == Solver::Sgd {
        return sgd_tune::run(args);
    }
    let output = args.train.output.as_deref();
    output.map_or(Ok(()), |file| writable(file, &args.train.data))?;
    let (to_the_end, budget) = (args.no_halving, args.budget);
    let defaults = Defaults {
        steps: 20,
        ratios: "0.1,1",
        folds: Some(5),
        to_the_end,
        budget,
        stage: Stage::Search,
        verb: "tune",
    };
    let mut exact = Exact::run(&args.train, &args.search, &defaults)?;
    let (models, chosen) = (&exact.paths.models, exact.chosen.unwrap_or(0));
    exact.say_cut(args.train.quiet);
    let lowest = models.iter().map(|model| model.penalty.l1).fold(f64::INFINITY, f64::min);
    if args.train.l1.is_some() && models[chosen].penalty.l1 == lowest && models.len() > 1 {
        let text =
            format!("the best l1, {lowest:?}, is the lowest of the grid: a wider one may hold a better");
        note(args.train.quiet, &text);
    }
    let report = output.map(|file| exact.save(chosen, file)).transpose()?;
    exact.end_journal()?;
    exact.stages.end(Stage::Write);
    exact.stages.print(args.train.timings);
    let rows = Row::all(&exact);
    print::result(|out| {
        if args.train.json {
            return writeln!(out, "{}", as_json(&exact, &rows, report.as_ref(), false));
        }
        human(out, &exact, &rows)?;
        match (&report, output) {
            (Some(report), Some(file)) => {
                let gap = report.dual.map_or(String::new(), |dual| {
                    format!(", {}", print::above_optimum(report.objective, dual))
                });
                let nonzeros = count(report.nonzeros as u64);
                let (l1, l2, f) = (report.l1, report.l2, print::decimals(report.objective, 8));
                writeln!(out, "chosen     l1 {l1:?}, l2 {l2:?}: objective {f}, {nonzeros} non-zeros{gap}")?;
                writeln!(out, "model      {}", Place::file(file))
            }
            _ => {
                let which = match args.search.choose() {
                    Choose::Best => "the best",
                    Choose::OneSe => "the strongest within one se",
                };
                writeln!(out, "model      not kept: add -o MODEL to write {which}")
            }
        }
    })?;
    exact.end();
    Ok(())
}
