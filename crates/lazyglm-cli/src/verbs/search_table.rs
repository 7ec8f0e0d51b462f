//! The table of a search along penalties, as text, CSV and JSON.

use super::path::weights;
use crate::exact::Exact;
use crate::print::{count, decimals};
use crate::stages::Stage;
use lazyglm::Report;
use lazyglm::train::search::PathModel;
use serde_json::{Value, json};
use std::io::{self, Write};

/// One penalty: its model on all rows, and its mean metric on held-out rows with the standard error.
pub struct Row<'a> {
    model: &'a PathModel,
    held_out: Option<(f64, f64)>,
    notes: Vec<&'static str>,
}

impl<'a> Row<'a> {
    /// The rows of the table, in the order of the models.
    pub fn all(exact: &'a Exact) -> Vec<Row<'a>> {
        let sign = if exact.metric.is_gain() { -1.0 } else { 1.0 };
        let row = |(k, model): (usize, &'a PathModel)| {
            let outcome = exact.paths.outcome.as_ref();
            let score = outcome.map(|outcome| outcome.scores[k]).filter(|score| score.mean.is_finite());
            let mut notes = Vec::new();
            notes.extend(outcome.filter(|outcome| outcome.best == k).map(|_| "best"));
            notes.extend(outcome.filter(|outcome| outcome.one_se == k).map(|_| "strongest within one se"));
            Row { model, held_out: score.map(|score| (sign * score.mean, score.se)), notes }
        };
        exact.paths.models.iter().enumerate().map(row).collect()
    }

    fn json(&self, exact: &Exact, with_weights: bool) -> Value {
        let PathModel { penalty, objective, certificate, .. } = self.model;
        let (held_out, se) = self.held_out.unzip();
        let mut found = json!({
            "l1": penalty.l1, "l2": penalty.l2, "features": self.model.features(), "nonzeros": self.model.nonzeros(),
            "loss": objective.loss, "objective": objective.total(), "dual": certificate.dual,
            "relative_gap": certificate.relative_gap, "steps": self.model.steps, "mean": held_out, "se": se,
        });
        if with_weights {
            let weight = |(head, name, weight): (Option<String>, String, f64)| match head {
                Some(head) => json!({"class": head, "feature": name, "weight": weight}),
                None => json!({"feature": name, "weight": weight}),
            };
            let weights = weights(exact, self.model);
            let (biases, weights): (Vec<_>, Vec<_>) =
                weights.into_iter().partition(|(_, name, _)| name == "(bias)");
            if let [(None, _, bias)] = biases[..] {
                found["bias"] = bias.into();
            } else {
                found["biases"] = biases.into_iter().map(weight).collect();
            }
            found["weights"] = weights.into_iter().map(weight).collect();
        }
        found
    }
}

/// Prints the table.
pub fn human(out: &mut dyn Write, exact: &Exact, rows: &[Row]) -> io::Result<()> {
    let many = exact.task.targets.heads().is_some();
    let (features, held) = (if many { "   features" } else { "" }, exact.paths.outcome.is_some());
    let metric = exact.metric.to_string();
    let metric = if held {
        format!(" {:>11} {:>10}", if metric == "loss" { "held-out" } else { &metric }, "± se")
    } else {
        String::new()
    };
    writeln!(
        out,
        "{:>10} {:>10}{features} {:>11} {:>11} {:>11} {:>8}{metric}",
        "l1", "l2", "non-zeros", "loss", "objective", "gap"
    )?;
    for row in rows {
        let PathModel { penalty, objective, certificate, .. } = row.model;
        let features =
            if many { format!(" {:>10}", count(row.model.features() as u64)) } else { String::new() };
        let gap = certificate.relative_gap.map_or("-".to_string(), |gap| format!("{gap:.1e}"));
        let held_out = match row.held_out {
            Some((mean, se)) => format!(" {:>11} {:>10}", decimals(mean, 6), decimals(se, 6)),
            None if held => format!(" {:>11} {:>10}", "-", "-"),
            None => String::new(),
        };
        let line = format!(
            "{:>10.3e} {:>10.3e}{features} {:>11} {:>11} {:>11} {gap:>8}{held_out} {}",
            penalty.l1,
            penalty.l2,
            count(row.model.nonzeros() as u64),
            decimals(objective.loss, 6),
            decimals(objective.total(), 6),
            row.notes.join(", ")
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    let of = |stage| exact.stages.of(stage);
    let (read, seconds) = (of(Stage::Read), of(Stage::Search) + of(Stage::Train) + of(Stage::Evaluate));
    let (models, all) = (rows.len(), count(exact.task.len() as u64));
    writeln!(out, "\nminimised  {models} penalties on {all} rows in {seconds:.3} s (read in {read:.3} s)")
}

/// Prints the table as CSV.
pub fn csv(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    writeln!(out, "l1,l2,features,nonzeros,loss,objective,gap,held_out,se")?;
    let text = |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:?}"));
    rows.iter().try_for_each(|row| {
        let PathModel { penalty, objective, certificate, .. } = row.model;
        let (held_out, se) = row.held_out.unzip();
        writeln!(
            out,
            "{:?},{:?},{},{},{:?},{:?},{},{},{}",
            penalty.l1,
            penalty.l2,
            row.model.features(),
            row.model.nonzeros(),
            objective.loss,
            objective.total(),
            text(certificate.relative_gap),
            text(held_out),
            text(se)
        )
    })
}

/// The table as JSON; with the weights of each model if asked for.
pub fn as_json(exact: &Exact, rows: &[Row], report: Option<&Report>, with_weights: bool) -> Value {
    let points: Vec<Value> = rows.iter().map(|row| row.json(exact, with_weights)).collect();
    let at = |which: Option<usize>| which.map(|k| rows[k].json(exact, false));
    let outcome = exact.paths.outcome.as_ref();
    exact.stages.add_to(json!({
        "points": points,
        "best": at(outcome.map(|outcome| outcome.best)),
        "one_se": at(outcome.map(|outcome| outcome.one_se)),
        "chosen": at(exact.chosen),
        "metric": exact.metric.to_string(),
        "stopped": outcome.is_some_and(|outcome| outcome.stopped),
        "compared": outcome.map(|outcome| outcome.scores.iter().filter(|score| score.mean.is_finite()).count()),
        "rows": exact.task.len(),
        "refit": report,
    }))
}
