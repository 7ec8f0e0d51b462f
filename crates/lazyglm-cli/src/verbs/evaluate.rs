//! `lazyglm evaluate MODEL DATA`: the metrics of a model on data with targets.

use crate::args::Evaluate;
use crate::no_effect;
use crate::offsets::Offsets;
use crate::print::{self, count, note, unseen_note};
use crate::progress::Waiting;
use crate::stages::{Stage, Stages};
use crate::verbs::common::use_threads;
use crate::verbs::evaluate_classes;
use crate::verbs::evaluate_rows::{Beside, Groups};
use crate::verbs::evaluate_table::{
    Group, confusion_table, groups_json, groups_table, intervals_json, metrics_table,
};
use lazyglm::data::format::DirtyCells;
use lazyglm::data::labels::Labels;
use lazyglm::eval::metrics::{ByKind, Interval, Metrics, Scored, intervals};
use lazyglm::problem::task::{Unknown, signs_or_unknown};
use lazyglm::{Error, HeadKind, Kind, Model, Place, Result, Scorer, data::dataset, targets_of};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Runs the verb.
pub fn run(args: &Evaluate) -> Result<()> {
    no_effect::of_evaluate(args).iter().for_each(|text| note(args.quiet, text));
    use_threads(args.threads)?;
    let model = Model::load(&args.model)?;
    if let Some(heads) = &model.heads {
        return evaluate_classes::run(args, &model, heads);
    }
    let mut stages = Stages::new();
    let (mut scorer, mut beside) = (Scorer::new(&model), Beside::read(args)?);
    let mut offsets = Offsets::read(&model, &args.data, args.offset.as_deref())?;
    let (mut scores, mut targets, mut with_query) = (Vec::new(), Vec::new(), 0);
    let (mut unknown, mut dirty) = (Unknown::default(), Vec::new());
    let waiting = Waiting::new(args.quiet, "evaluating", &args.data);
    dataset::for_each_block(&args.data, &Beside::asked(args), Some(&model.reading), |block| {
        stages.end(Stage::Read);
        scorer.set_block(block)?;
        let place = |i: usize| Place::file(&args.data).line(block.lines.of(i));
        if let Some(row) = block.unlabelled {
            let what = "the row has no target";
            return Err(Error::data(place(row), what, "give it one: a model is measured against targets"));
        }
        targets.extend(match &model.classes {
            Some(classes) => signs_or_unknown(&block.labels, classes, &place, &mut unknown),
            None => targets_of(&block.labels, &*model.loss, None, &place)
                .map_err(|e| of_numbers(e, &block.labels))?,
        });
        beside.see(block)?;
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
    drop(waiting);
    stages.end(Stage::Read);
    offsets.finish()?;
    beside.finish(args, scores.len())?;
    refuse_unknown_alone(&unknown, scores.len(), args)?;
    dataset::query_note(&args.data, with_query)
        .into_iter()
        .chain(dirty.iter().map(|cells| cells.note(&args.data)))
        .chain(scorer.unseen().map(|unseen| unseen_note(unseen, beside.values)))
        .chain(unknown.note(HeadKind::Ovr))
        .for_each(|text| note(args.quiet, &text));
    let weights = beside.weights.as_deref();
    let figures = Scored { scores: &scores, targets: &targets, weights }.metrics(&*model.loss);
    check_loss(figures.loss, args)?;
    explain_losses(args, &model.loss.spec(), "", &figures.named());
    let found = args.bootstrap.map(|samples| {
        let drawn_weight = |(i, drawn): (usize, &f64)| drawn * weights.map_or(1.0, |weights| weights[i]);
        intervals(scores.len(), samples as usize, args.seed(), &|drawn: &[f64]| {
            let weights: Vec<f64> = drawn.iter().enumerate().map(drawn_weight).collect();
            let sample = Scored { scores: &scores, targets: &targets, weights: Some(&weights) };
            sample.metrics(&*model.loss).named().into_iter().map(|(_, value)| value).collect()
        })
    });
    let group = |(name, rows): (&String, Vec<usize>)| {
        let pick = |of: &[f64]| rows.iter().map(|&i| of[i]).collect::<Vec<f64>>();
        let (scores, targets, weights) = (pick(&scores), pick(&targets), weights.map(pick));
        let sample = Scored { scores: &scores, targets: &targets, weights: weights.as_deref() };
        Group { name: name.clone(), rows: rows.len(), named: sample.metrics(&*model.loss).named() }
    };
    let groups = beside.groups.as_ref().map(|groups| groups.each().map(group).collect::<Vec<Group>>());
    let shown = Shown { model: &model, figures, found, groups, by: beside.groups.as_ref() };
    stages.end(Stage::Evaluate);
    stages.print(args.timings);
    print::result(|out| match args.json {
        true => writeln!(out, "{}", shown.json(&beside)?),
        false => shown.human(out),
    })
}

/// The error for targets that are words, where the model predicts numbers.
fn of_numbers(error: Error, labels: &Labels) -> Error {
    match (error.kind(), labels) {
        (Kind::Data { place, .. }, Labels::Words { .. }) => Error::data(
            place.clone(),
            "the targets are words, and this model predicts numbers",
            "check that the model and the data belong together: `lazyglm inspect` shows what the model predicts",
        ),
        _ => error,
    }
}

/// Rejects data without any row of a class that the model knows.
pub fn refuse_unknown_alone(unknown: &Unknown, rows: usize, args: &Evaluate) -> Result<()> {
    match (&unknown.first, &unknown.place) {
        (Some(first), Some(place)) if unknown.rows.len() == rows => Err(Error::data(
            place.clone(),
            format!("no row has a class that the model knows; the first is '{}'", lazyglm::excerpt(first)),
            "give data with the classes of training: `lazyglm inspect` shows them",
        )),
        _ if rows == 0 => {
            Err(Error::data(Place::file(&args.data), "there are no rows in it", "give a file with data"))
        }
        _ => Ok(()),
    }
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

/// A note about the two losses, where they differ.
pub fn explain_losses(args: &Evaluate, spec: &str, summed: &str, named: &[(&str, Option<f64>)]) {
    let of = |name: &str| named.iter().find(|(other, _)| *other == name).and_then(|(_, value)| *value);
    if let (Some(loss), Some(log_loss)) = (of("loss"), of("log_loss"))
        && (loss - log_loss).abs() > 1e-9 * loss.abs().max(1.0)
    {
        let text = format!(
            "loss is the mean of the training loss, {spec}{summed}; log_loss is the mean of −ln of the probability of the true class"
        );
        note(args.quiet, &text);
    }
}

struct Shown<'a> {
    model: &'a Model,
    figures: Metrics,
    found: Option<Vec<Interval>>,
    groups: Option<Vec<Group>>,
    by: Option<&'a Groups>,
}

impl Shown<'_> {
    /// The confusion matrix: true class, predicted class, weight of the rows.
    fn confusion(&self) -> Vec<(String, String, f64)> {
        let (ByKind::Classes { confusion, .. }, Some(classes)) = (&self.figures.by_kind, &self.model.classes)
        else {
            return Vec::new();
        };
        let cells = |truth: usize| (0..2).map(move |given| (truth, given, confusion[truth][given]));
        let cells = (0..3).flat_map(cells).filter(|cell| cell.0 < 2 || cell.2 > 0.0);
        let name = |class: usize| classes.get(class).map_or("(unknown)", String::as_str).to_string();
        cells.map(|(truth, given, weight)| (name(truth), name(given), weight)).collect()
    }

    fn json(&self, beside: &Beside) -> io::Result<Value> {
        let mut whole = serde_json::to_value(&self.figures)?;
        if let Some(object) = whole.as_object_mut() {
            let confusion = self.confusion();
            if !confusion.is_empty() {
                let cell = |(truth, given, rows)| json!({"target": truth, "prediction": given, "rows": rows});
                object.insert("confusion".into(), confusion.into_iter().map(cell).collect());
            }
            beside.total().into_iter().for_each(|total| _ = object.insert("weight".into(), total.into()));
            if let Some(found) = &self.found {
                object.insert("intervals".into(), intervals_json(&self.figures.named(), found));
            }
            if let (Some(groups), Some(by)) = (&self.groups, self.by) {
                object.insert("groups".into(), groups_json(&by.column, groups));
            }
        }
        Ok(whole)
    }

    /// The metrics as text; `-` for a metric that does not apply.
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        metrics_table(out, &self.figures.named(), self.found.as_deref())?;
        writeln!(out, "{:<18} {}", "rows", count(self.figures.rows as u64))?;
        confusion_table(out, &self.confusion())?;
        match (&self.groups, self.by) {
            (Some(groups), Some(by)) => {
                let names = ["loss", "accuracy", "auc", "f1", "rmse", "mae", "r2"];
                groups_table(out, &by.column, groups, &names)
            }
            _ => Ok(()),
        }
    }
}
