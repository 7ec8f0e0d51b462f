//! `lazyglm evaluate MODEL DATA`: how good a model is on data with targets.

use crate::args::Evaluate;
use crate::print::{self, count, note, unseen_note};
use lazyglm::metrics::{ByKind, Metrics, metrics};
use lazyglm::{Dataset, Declared, Result, Scorer, Task, model_file};
use std::io::{self, Write};

/// Runs the verb.
pub fn run(args: &Evaluate) -> Result<()> {
    let model = model_file::load(&args.model)?;
    // Base 0 makes a column of each index as written, which is how a scorer knows features.
    let data = Dataset::read(&args.data, Declared { base: Some(0), count: None })?;
    let targets = Task::targets_like(&data, &*model.loss, model.classes.as_ref())?;
    let mut scorer = Scorer::new(&model);
    let names = &data.features;
    let mut scores = Vec::with_capacity(targets.len());
    for i in 0..targets.len() {
        scores.push(scorer.score_named(data.rows.borrow(), i, |column| names.name(column)));
        if args.strict
            && let Some(refusal) = scorer.refusal(data.place(i))
        {
            return Err(refusal);
        }
    }
    let notes = data.notes.iter().cloned().chain(scorer.unseen().map(unseen_note));
    notes.for_each(|text| note(args.quiet, &text));
    let figures = metrics(&*model.loss, &scores, &targets);
    print::result(|out| match args.json {
        true => writeln!(out, "{}", serde_json::to_value(&figures)?),
        false => human(out, &figures),
    })
}

/// The figures in words; `-` where one has no meaning here.
pub fn human(out: &mut dyn Write, figures: &Metrics) -> io::Result<()> {
    let mut line = |name: &str, value: Option<f64>| match value {
        Some(value) => writeln!(out, "{name:<18} {value:.6}"),
        None => writeln!(out, "{name:<18} -"),
    };
    line("loss", Some(figures.loss))?;
    match &figures.by_kind {
        ByKind::Classes { accuracy, auc, pr_auc, f1, log_loss, calibration_error } => {
            line("accuracy", Some(*accuracy))?;
            line("auc", *auc)?;
            line("pr_auc", *pr_auc)?;
            line("f1", *f1)?;
            line("log_loss", *log_loss)?;
            line("calibration_error", *calibration_error)?;
        }
        ByKind::Reals { rmse, mae, r2 } => {
            line("rmse", Some(*rmse))?;
            line("mae", Some(*mae))?;
            line("r2", *r2)?;
        }
    }
    writeln!(out, "{:<18} {}", "rows", count(figures.rows as u64))
}
