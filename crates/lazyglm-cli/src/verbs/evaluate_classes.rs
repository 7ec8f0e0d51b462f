//! `lazyglm evaluate MODEL DATA` for a model with many classes or labels.

use crate::args::Evaluate;
use crate::offsets::Offsets;
use crate::print::{self, count, note, unseen_note};
use crate::progress::Waiting;
use crate::stages::{Stage, Stages};
use crate::verbs::evaluate::{check_loss, explain_losses, refuse_unknown_alone};
use crate::verbs::evaluate_rows::Beside;
use crate::verbs::evaluate_table::{
    Group, confusion_table, groups_json, groups_table, intervals_json, metrics_table,
};
use lazyglm::data::feature_ids::one_line;
use lazyglm::data::format::DirtyCells;
use lazyglm::eval::metrics::{HeadFigures, HeadMetrics, Interval, Seen, Tally, intervals};
use lazyglm::problem::task::{Unknown, sets_and_unknown};
use lazyglm::{Error, HeadKind, Heads, Model, Place, Result, Scorer, data::dataset};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Maximum number of classes or labels in the table.
const SHOWN: usize = 30;

/// Prints the metrics of the model.
pub fn run(args: &Evaluate, model: &Model, heads: &Heads) -> Result<()> {
    let (mut stages, mut dirty) = (Stages::new(), Vec::new());
    let new_tally = || Tally::new(heads, &*model.loss);
    let (mut scorer, mut tally, mut beside) = (Scorer::new(model), new_tally(), Beside::read(args)?);
    let (mut scores, mut with_query, mut rows) = (Vec::new(), 0, 0);
    let (mut unknown, mut kept): (Unknown, Vec<Seen>) = Default::default();
    let keep = args.bootstrap.is_some() || args.by.is_some();
    let mut offsets = Offsets::read(model, &args.data, args.offset.as_deref())?;
    let waiting = Waiting::new(args.quiet, "evaluating", &args.data);
    dataset::for_each_block(&args.data, &Beside::asked(args), Some(&model.reading), |block| {
        stages.end(Stage::Read);
        scorer.set_block(block)?;
        let place = |i: usize| Place::file(&args.data).line(block.lines.of(i));
        if let (Some(row), false) = (block.unlabelled, heads.kind == HeadKind::Labels) {
            let what = "the row has no target";
            return Err(Error::data(place(row), what, "give it one: a model is measured against targets"));
        }
        let mut strangers = Unknown::default();
        let truth = sets_and_unknown(&block.labels, &heads.names, heads.kind, &place, &mut strangers)?;
        let mut unknown_of = vec![0; block.rows.len()];
        strangers.rows.iter().for_each(|&row| unknown_of[row] += 1);
        unknown.add(strangers);
        beside.see(block)?;
        for (i, &unknown_here) in unknown_of.iter().enumerate() {
            scorer.scores(block.rows.borrow(), i, &mut scores);
            offsets.next(block, i)?; // rejects offsets
            Scorer::check_finite(&scores, || place(i))?;
            let seen = tally.look(&scores, truth.of(i), unknown_here);
            tally.add(&seen, beside.weight(rows + i));
            if keep {
                kept.push(seen);
            }
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
    drop(waiting);
    stages.end(Stage::Read);
    beside.finish(args, rows)?;
    match heads.kind {
        HeadKind::Labels => refuse_unknown_alone(&Unknown::default(), rows, args)?, // a row may have no label
        _ => refuse_unknown_alone(&unknown, rows, args)?,
    }
    let notes = dataset::query_note(&args.data, with_query).into_iter();
    let notes = notes.chain(dirty.iter().map(|cells| cells.note(&args.data)));
    let notes = notes
        .chain(scorer.unseen().map(|unseen| unseen_note(unseen, beside.values)))
        .chain(unknown.note(heads.kind));
    notes.for_each(|text| note(args.quiet, &text));
    let figures = tally.figures();
    check_loss(figures.loss, args)?;
    let summed = if heads.kind == HeadKind::Softmax { "" } else { ", summed over classes" };
    explain_losses(args, &model.loss.spec(), summed, &figures.named());
    let found = args.bootstrap.map(|samples| {
        intervals(rows, samples as usize, args.seed(), &|drawn: &[f64]| {
            let mut tally = new_tally();
            let drawn = kept.iter().zip(drawn).enumerate().filter(|(_, (_, times))| **times > 0.0);
            drawn.for_each(|(i, (seen, times))| tally.add(seen, times * beside.weight(i)));
            tally.figures().named().into_iter().map(|(_, value)| value).collect()
        })
    });
    let group = |(name, rows): (&String, Vec<usize>)| {
        let mut tally = new_tally();
        rows.iter().for_each(|&i| tally.add(&kept[i], beside.weight(i)));
        Group { name: name.clone(), rows: rows.len(), named: tally.figures().named() }
    };
    let groups = beside.groups.as_ref().map(|groups| groups.each().map(group).collect::<Vec<Group>>());
    let name = |k: Option<u32>| k.map_or("(unknown)".to_string(), |k| heads.names[k as usize].clone());
    let cell = |(truth, given, weight)| (name(truth), name(Some(given)), weight);
    let confusion = tally.confusion().map(cell).collect();
    let shown = Shown { kind: heads.kind, figures, found, groups, confusion };
    stages.end(Stage::Evaluate);
    stages.print(args.timings);
    print::result(|out| match args.json {
        true => writeln!(out, "{}", shown.json(&beside)?),
        false => shown.human(out, &beside),
    })
}

struct Shown {
    kind: HeadKind,
    figures: HeadMetrics,
    found: Option<Vec<Interval>>,
    groups: Option<Vec<Group>>,
    confusion: Vec<(String, String, f64)>,
}

impl Shown {
    /// The metrics as one JSON object: those of the model, then those of each class or label.
    fn json(&self, beside: &Beside) -> io::Result<Value> {
        let mut whole = serde_json::to_value(&self.figures)?;
        if let Some(object) = whole.as_object_mut() {
            let each = object.remove("heads").unwrap_or_default();
            object.insert(self.kind.nouns().into(), each);
            if let Some(at) = self.figures.precision_at {
                object.remove("precision_at");
                let names = ["precision_at_1", "precision_at_3", "precision_at_5"];
                names
                    .iter()
                    .zip(at)
                    .for_each(|(name, value)| _ = object.insert((*name).into(), value.into()));
            }
            if self.kind != HeadKind::Labels {
                let cell = |(truth, given, rows): &(String, String, f64)| json!({"target": truth, "prediction": given, "rows": rows});
                object.insert("confusion".into(), self.confusion.iter().map(cell).collect());
            }
            beside.total().into_iter().for_each(|total| _ = object.insert("weight".into(), total.into()));
            if let Some(found) = &self.found {
                object.insert("intervals".into(), intervals_json(&self.figures.named(), found));
            }
            if let (Some(groups), Some(by)) = (&self.groups, &beside.groups) {
                object.insert("groups".into(), groups_json(&by.column, groups));
            }
        }
        Ok(whole)
    }

    fn human(&self, out: &mut dyn Write, beside: &Beside) -> io::Result<()> {
        let figures = &self.figures;
        metrics_table(out, &figures.named(), self.found.as_deref())?;
        writeln!(out, "{:<18} {}\n", "rows", count(figures.rows as u64))?;
        let mut shown: Vec<&HeadFigures> = figures.heads.iter().collect();
        if shown.len() > SHOWN {
            shown.sort_by_key(|head| std::cmp::Reverse(head.support)); // stable
            shown.truncate(SHOWN);
        }
        let width =
            shown.iter().map(|head| one_line(&head.name).chars().count()).max().unwrap_or(0).clamp(5, 40);
        writeln!(out, "{:>width$}  precision  recall      f1  {:>8}", self.kind.noun(), "rows")?;
        for HeadFigures { name, precision, recall, f1, support } in &shown {
            let (name, support) = (one_line(name), count(*support as u64));
            writeln!(out, "{name:>width$}  {precision:>9.4}  {recall:>6.4}  {f1:>6.4}  {support:>8}")?;
        }
        let more = figures.heads.len() - shown.len();
        if more > 0 {
            writeln!(
                out,
                "{:>width$}  {} more, of fewer rows: --json has them all",
                "…",
                count(more as u64)
            )?;
        }
        if self.kind != HeadKind::Labels {
            confusion_table(out, &self.confusion)?;
        }
        match (&self.groups, &beside.groups) {
            (Some(groups), Some(by)) => {
                groups_table(out, &by.column, groups, &["loss", "accuracy", "macro_f1", "micro_f1"])
            }
            _ => Ok(()),
        }
    }
}
