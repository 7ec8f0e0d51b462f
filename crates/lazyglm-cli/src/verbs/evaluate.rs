//! `lazyglm evaluate MODEL DATA`: the metrics of a model on data with targets.

use crate::args::Evaluate;
use crate::offsets::Offsets;
use crate::print::{self, count, note, unseen_note};
use crate::stages::{Stage, Stages};
use crate::verbs::evaluate_classes;
use lazyglm::data::format::{DirtyCells, ReadOptions};
use lazyglm::eval::metrics::{ByKind, Metrics, metrics};
use lazyglm::{Error, Model, Place, Result, Scorer, data::dataset, targets_of};
use std::io::{self, Write};

/// Runs the verb.
pub fn run(args: &Evaluate) -> Result<()> {
    let model = Model::load(&args.model)?;
    if let Some(heads) = &model.heads {
        return evaluate_classes::run(args, &model, heads);
    }
    let mut stages = Stages::new();
    let mut scorer = Scorer::new(&model);
    let mut offsets = Offsets::read(&model, &args.data, args.offset.as_deref())?;
    let (mut scores, mut targets, mut with_query, mut dirty) = (Vec::new(), Vec::new(), 0, Vec::new());
    let asked = ReadOptions { format: args.format.clone(), ..ReadOptions::default() };
    dataset::for_each_block(&args.data, &asked, Some(&model.reading), |block| {
        stages.end(Stage::Read);
        scorer.set_block(block)?;
        let place = |i: usize| Place::file(&args.data).line(block.lines.of(i));
        if let Some(row) = block.unlabelled {
            let what = "the row has no target";
            return Err(Error::data(place(row), what, "give it one: a model is measured against targets"));
        }
        targets.extend(targets_of(&block.labels, &*model.loss, model.classes.as_ref(), &place)?);
        for i in 0..block.rows.len() {
            let score = scorer.score(block.rows.borrow(), i) + offsets.next(block, i)?;
            Scorer::check_finite(&[score], || place(i))?;
            scores.push(model.limited(score));
            if args.strict
                && let Some(refusal) = scorer.refusal(place(i))
            {
                return Err(refusal);
            }
        }
        with_query += block.with_query;
        DirtyCells::join(&mut dirty, &block.dirty);
        stages.end(Stage::Evaluate);
        Ok(())
    })?;
    stages.end(Stage::Read);
    offsets.finish(args.quiet)?;
    if targets.is_empty() {
        return Err(Error::data(Place::file(&args.data), "there are no rows in it", "give a file with data"));
    }
    let unseen = scorer.unseen().map(unseen_note);
    dataset::query_note(&args.data, with_query)
        .into_iter()
        .chain(dirty.iter().map(|cells| cells.note(&args.data)))
        .chain(unseen)
        .for_each(|text| note(args.quiet, &text));
    let figures = metrics(&*model.loss, &scores, &targets);
    check_loss(figures.loss, args)?;
    stages.end(Stage::Evaluate);
    stages.print(args.timings);
    print::result(|out| match args.json {
        true => writeln!(out, "{}", serde_json::to_value(&figures)?),
        false => human(out, &figures),
    })
}

/// Rejects a loss that is NaN or infinite, which JSON cannot represent.
pub fn check_loss(loss: f64, args: &Evaluate) -> Result<()> {
    match loss.is_finite() {
        true => Ok(()),
        false => Err(Error::data(
            Place::file(&args.data),
            format!("the loss is {loss}: some predictions are too far from their targets for f64"),
            "scale the values down, as those in training were",
        )),
    }
}

/// The metrics as text; `-` for a metric that does not apply.
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
