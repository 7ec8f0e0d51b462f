//! `lazyglm inspect MODEL`: the weights and the training settings of a model.

use crate::args::Inspect;
use crate::print::{self, count, counted};
use crate::verbs::inspect_classes;
use lazyglm::data::feature_ids::one_line;
use lazyglm::{Model, Result, Solver};
use serde_json::json;
use std::borrow::Cow;
use std::io::{self, Write};

/// Runs the verb.
pub fn run(args: &Inspect) -> Result<()> {
    let model = Model::load(&args.model)?;
    if let Some(heads) = &model.heads {
        return inspect_classes::run(args, &model, heads);
    }
    let shown = chosen(&model, args);
    print::result(|out| {
        if args.json {
            let weights: Vec<_> =
                shown.iter().map(|(name, w)| json!({"feature": name, "weight": w})).collect();
            let whole = json!({
                "loss": model.loss.spec(),
                "classes": model.classes,
                "index_base": model.counting.index_base,
                "features": model.counting.count,
                "nonzeros": model.weights.len(),
                "bias": model.bias,
                "weights": weights,
                "training": serde_json::to_value(&model.training)?,
            });
            return writeln!(out, "{whole}");
        }
        let widest = shown.iter().map(|(name, _)| one_line(name).chars().count()).max().unwrap_or(0);
        let width = widest.clamp(12, 60);
        if !args.tsv {
            head(out, &model, width)?;
        }
        if args.tsv {
            writeln!(out, "(bias)\t{:?}", model.bias)?;
        }
        for (feature, weight) in shown {
            match args.tsv {
                true => writeln!(out, "{}\t{weight:?}", one_line(&feature))?,
                false => writeln!(out, "{:>width$}  {weight:>+14.5e}", one_line(&feature))?,
            }
        }
        Ok(())
    })
}

/// All weights in the order of features, or the largest first.
fn chosen<'a>(model: &'a Model, args: &Inspect) -> Vec<(Cow<'a, str>, f64)> {
    let mut weights: Vec<(Cow<str>, f64)> =
        model.weights.iter().enumerate().map(|(k, &weight)| (model.name(k), weight)).collect();
    let whole = args.all || (args.top.is_none() && (args.tsv || args.json));
    if !whole {
        weights.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        weights.truncate(args.top.unwrap_or(20));
    }
    weights
}

fn head(out: &mut dyn Write, model: &Model, width: usize) -> io::Result<()> {
    let training = &model.training;
    writeln!(out, "loss       {}", model.loss.spec())?;
    if let Some([negative, positive]) = &model.classes {
        writeln!(out, "classes    {} (−), {} (+)", one_line(negative), one_line(positive))?;
    }
    let (features, weights) = (count(model.counting.count as u64), count(model.weights.len() as u64));
    match (&model.words, model.reading.hash_bits) {
        (Some(_), _) => writeln!(out, "features   {features} with names, {weights} with a weight")?,
        (None, Some(_)) => writeln!(out, "features   {features} buckets, {weights} with a weight")?,
        (None, None) => {
            let first = model.counting.index_base;
            writeln!(out, "features   {features} (first index {first}), {weights} with a weight")?;
        }
    }
    let (report, rows) = (&training.report, count(training.report.rows as u64));
    write!(out, "trained    l1 {:?}, l2 {:?}, ", training.l1, training.l2)?;
    match report.solver {
        Solver::Sgd => {
            let (schedule, eta0) = (&training.schedule, report.eta0);
            let schedule = one_line(schedule);
            writeln!(out, "schedule {schedule}, eta0 {eta0:?}, {} epochs on {rows} rows", report.epochs)?;
        }
        solver @ (Solver::Adagrad | Solver::Ftrl) => {
            let mean =
                if report.runs > 1 { format!(", mean of {} runs", report.runs) } else { String::new() };
            let (eta0, epochs) = (report.eta0, report.epochs);
            writeln!(out, "{solver}, eta0 {eta0:?}, {epochs} epochs on {rows} rows{mean}")?;
        }
        solver => writeln!(out, "{solver}, {} on {rows} rows", counted(report.epochs, "step"))?,
    }
    match report.objective {
        f if f.is_finite() => writeln!(out, "objective  {f:.8}")?,
        // Python saves a model without its rows.
        _ => writeln!(out, "objective  not measured ('lazyglm certify MODEL DATA' measures it)")?,
    }
    writeln!(out, "bias       {:+.6}", model.bias)?;
    writeln!(out, "\n{:>width$}  {:>14}", "feature", "weight")
}
