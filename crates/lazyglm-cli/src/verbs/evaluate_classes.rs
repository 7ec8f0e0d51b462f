//! `lazyglm evaluate MODEL DATA` for a model with many classes or labels.

use crate::args::Evaluate;
use crate::offsets::Offsets;
use crate::print::{self, count, note, unseen_note};
use crate::stages::{Stage, Stages};
use crate::verbs::evaluate::check_loss;
use lazyglm::data::feature_ids::one_line;
use lazyglm::data::format::{DirtyCells, ReadOptions};
use lazyglm::eval::metrics::{HeadFigures, HeadMetrics, Tally};
use lazyglm::problem::task::{Unknown, sets_of};
use lazyglm::{Error, HeadKind, Heads, Model, Place, Result, Scorer, data::dataset};
use std::io::{self, Write};

/// Maximum number of classes or labels in the table.
const SHOWN: usize = 30;

/// Prints the metrics of the model.
pub fn run(args: &Evaluate, model: &Model, heads: &Heads) -> Result<()> {
    let (mut scorer, mut tally) = (Scorer::new(model), Tally::new(heads, &*model.loss));
    let (mut scores, mut with_query, mut dirty, mut rows) = (Vec::new(), 0, Vec::new(), 0);
    let (mut unknown, mut stages) = (Unknown::default(), Stages::new());
    let mut offsets = Offsets::read(model, &args.data, args.offset.as_deref())?;
    let asked = ReadOptions { format: args.format.clone(), ..ReadOptions::default() };
    dataset::for_each_block(&args.data, &asked, Some(&model.reading), |block| {
        stages.end(Stage::Read);
        scorer.set_block(block)?;
        let place = |i: usize| Place::file(&args.data).line(block.lines.of(i));
        if let (Some(row), false) = (block.unlabelled, heads.kind == HeadKind::Labels) {
            let what = "the row has no target";
            return Err(Error::data(place(row), what, "give it one: a model is measured against targets"));
        }
        let mut strangers = Unknown::default();
        let truth = sets_of(&block.labels, &heads.names, heads.kind, &place, &mut strangers)?;
        let mut unknown_of = vec![0; block.rows.len()];
        strangers.rows.iter().for_each(|&row| unknown_of[row] += 1);
        unknown.add(strangers);
        for (i, &unknown_here) in unknown_of.iter().enumerate() {
            scorer.scores(block.rows.borrow(), i, &mut scores);
            offsets.next(block, i)?; // rejects offsets
            Scorer::check_finite(&scores, || place(i))?;
            tally.see(&scores, truth.of(i), unknown_here);
            if args.strict
                && let Some(refusal) = scorer.refusal(place(i))
            {
                return Err(refusal);
            }
        }
        rows += block.rows.len();
        with_query += block.with_query;
        DirtyCells::join(&mut dirty, &block.dirty);
        stages.end(Stage::Evaluate);
        Ok(())
    })?;
    stages.end(Stage::Read);
    if rows == 0 {
        return Err(Error::data(Place::file(&args.data), "there are no rows in it", "give a file with data"));
    }
    let notes = dataset::query_note(&args.data, with_query).into_iter();
    let notes = notes.chain(dirty.iter().map(|cells| cells.note(&args.data)));
    let notes = notes.chain(scorer.unseen().map(unseen_note)).chain(unknown.note());
    notes.for_each(|text| note(args.quiet, &text));
    let figures = tally.figures();
    check_loss(figures.loss, args)?;
    stages.end(Stage::Evaluate);
    stages.print(args.timings);
    print::result(|out| match args.json {
        true => writeln!(out, "{}", json(&figures, heads.kind)?),
        false => human(out, &figures, heads.kind),
    })
}

/// The metrics as one JSON object: those of the model, then those of each class or label.
fn json(figures: &HeadMetrics, kind: HeadKind) -> io::Result<serde_json::Value> {
    let mut whole = serde_json::to_value(figures)?;
    if let Some(object) = whole.as_object_mut() {
        let each = object.remove("heads").unwrap_or_default();
        object.insert(kind.nouns().into(), each);
        if let Some(at) = figures.precision_at {
            object.remove("precision_at");
            let names = ["precision_at_1", "precision_at_3", "precision_at_5"];
            names.iter().zip(at).for_each(|(name, value)| _ = object.insert((*name).into(), value.into()));
        }
    }
    Ok(whole)
}

fn human(out: &mut dyn Write, figures: &HeadMetrics, kind: HeadKind) -> io::Result<()> {
    let mut line = |name: &str, value: Option<f64>| match value {
        Some(value) => writeln!(out, "{name:<18} {value:.6}"),
        None => writeln!(out, "{name:<18} -"),
    };
    line("loss", Some(figures.loss))?;
    line("accuracy", figures.accuracy)?;
    if kind != HeadKind::Labels {
        line("log_loss", figures.log_loss)?;
    }
    for (name, value) in [
        ("macro_precision", figures.macro_precision),
        ("macro_recall", figures.macro_recall),
        ("macro_f1", figures.macro_f1),
        ("micro_precision", figures.micro_precision),
        ("micro_recall", figures.micro_recall),
        ("micro_f1", figures.micro_f1),
    ] {
        line(name, Some(value))?;
    }
    if let Some([one, three, five]) = figures.precision_at {
        line("precision@1", Some(one))?;
        line("precision@3", Some(three))?;
        line("precision@5", Some(five))?;
    }
    writeln!(out, "{:<18} {}\n", "rows", count(figures.rows as u64))?;
    let mut shown: Vec<&HeadFigures> = figures.heads.iter().collect();
    if shown.len() > SHOWN {
        shown.sort_by_key(|head| std::cmp::Reverse(head.support)); // stable
        shown.truncate(SHOWN);
    }
    let width = shown.iter().map(|head| one_line(&head.name).chars().count()).max().unwrap_or(0).clamp(5, 40);
    writeln!(out, "{:>width$}  precision  recall      f1  {:>8}", kind.noun(), "rows")?;
    for HeadFigures { name, precision, recall, f1, support } in &shown {
        writeln!(
            out,
            "{:>width$}  {precision:>9.4}  {recall:>6.4}  {f1:>6.4}  {:>8}",
            one_line(name),
            count(*support as u64)
        )?;
    }
    let more = figures.heads.len() - shown.len();
    if more > 0 {
        writeln!(out, "{:>width$}  {} more, of fewer rows: --json has them all", "…", count(more as u64))?;
    }
    Ok(())
}
