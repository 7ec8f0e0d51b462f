//! `lazyglm predict MODEL DATA`: prints one line per row.

use crate::args::{Predict, What};
use crate::offsets::Offsets;
use crate::print::{cannot_print, note, standard_output, unseen_note, warning};
use crate::stages::{Stage, Stages};
use crate::verbs::common::refuse_same;
use lazyglm::data::format::{DirtyCells, ReadOptions};
use lazyglm::{
    Error, HeadKind, Model, Output, Place, Prediction, Result, Scorer, data::dataset, util::files,
};
use std::io::{self, Write};
use std::path::Path;

/// Runs the verb.
pub fn run(args: &Predict) -> Result<()> {
    let output = args.output.as_ref().filter(|path| path.as_os_str() != "-"); // '-' is standard output
    if let Some(path) = output {
        refuse_same(path, &args.data)?;
        refuse_same(path, &args.model)?;
    }
    let model = Model::load(&args.model)?;
    let what = match args.what {
        None => model.default_output(),
        Some(What::Probability) => Output::Probability,
        Some(What::Score) => Output::Score,
        Some(What::Target) => Output::Target,
    };
    model.predict(0.0, what)?; // rejects a prediction that this model does not support, before any output
    let mut job = Job {
        model: &model,
        stages: Stages::new(),
        what,
        data: &args.data,
        asked: ReadOptions { format: args.format.clone(), ..ReadOptions::default() },
        strict: args.strict,
        offsets: Offsets::read(&model, &args.data, args.offset.as_deref())?,
        quiet: args.quiet,
        with_query: 0,
        dirty: Vec::new(),
        values: 0,
        unseen: None,
    };
    match output {
        None => {
            let mut out = standard_output();
            job.write(&mut out, &cannot_print)?;
            out.flush().map_err(cannot_print)?;
        }
        Some(path) => {
            let failed = |e| Error::io(path, e, "the predictions are incomplete");
            let mut stopped = None;
            let written = files::write_whole(path, |out| {
                job.write(out, &failed).map_err(|e| {
                    stopped = Some(e);
                    io::Error::other("predicting stopped")
                })
            });
            match stopped {
                Some(error) => return Err(error),
                None => written?,
            }
        }
    }
    job.stages.end(Stage::Write);
    job.stages.print(args.timings);
    let dirty = job.dirty.iter().map(|cells| cells.note(&args.data));
    let notes = dataset::query_note(&args.data, job.with_query).into_iter().chain(dirty).chain(job.unseen);
    notes.for_each(|text| note(args.quiet, &text));
    if job.values == 0 {
        warning(
            args.quiet,
            "no row has a feature: check that the data are of the kind that the model learnt",
        );
    }
    Ok(())
}

struct Job<'a> {
    model: &'a Model,
    stages: Stages,
    what: Output,
    data: &'a Path,
    asked: ReadOptions,
    strict: bool,
    offsets: Offsets<'a>,
    quiet: bool,
    with_query: usize,
    dirty: Vec<DirtyCells>,
    values: usize,
    unseen: Option<String>,
}

impl Job<'_> {
    fn write(&mut self, out: &mut dyn Write, failed: &dyn Fn(io::Error) -> Error) -> Result<()> {
        let mut scorer = Scorer::new(self.model);
        let (mut rows, mut scores) = (0, Vec::new());
        if let (Some(heads), Output::Probability | Output::Score) = (&self.model.heads, self.what) {
            writeln!(out, "{}", heads.names.join("\t")).map_err(failed)?;
        }
        dataset::for_each_block(self.data, &self.asked, Some(&self.model.reading), |block| {
            self.stages.end(Stage::Read);
            scorer.set_block(block)?;
            for i in 0..block.rows.len() {
                scorer.scores(block.rows.borrow(), i, &mut scores);
                let offset = self.offsets.next(block, i)?;
                scores.iter_mut().for_each(|score| *score += offset);
                let place = || Place::file(self.data).line(block.lines.of(i));
                if self.strict
                    && let Some(refusal) = scorer.refusal(place())
                {
                    return Err(refusal);
                }
                Scorer::check_finite(&scores, place)?;
                line(out, self.model, self.what, &mut scores, place)?.map_err(failed)?;
            }
            rows += block.rows.len();
            self.values += block.rows.nonzeros();
            self.with_query += block.with_query;
            DirtyCells::join(&mut self.dirty, &block.dirty);
            self.stages.end(Stage::Evaluate);
            Ok(())
        })?;
        self.stages.end(Stage::Read);
        self.offsets.finish(self.quiet)?;
        self.unseen = scorer.unseen().map(unseen_note);
        if rows == 0 {
            return Err(Error::data(
                Place::file(self.data),
                "there are no rows in it",
                "give a file with data",
            ));
        }
        Ok(())
    }
}

/// The prediction for a row.
fn line(
    out: &mut dyn Write,
    model: &Model,
    what: Output,
    scores: &mut [f64],
    place: impl FnOnce() -> Place,
) -> Result<io::Result<()>> {
    let Some(heads) = &model.heads else {
        return Ok(match model.predict(scores[0], what)? {
            Prediction::Number(number) => {
                Scorer::check_finite(&[number], place)?; // a finite score may have an infinite exponential
                writeln!(out, "{number:?}")
            }
            Prediction::Class(name) => writeln!(out, "{name}"),
        });
    };
    Ok(match (what, heads.kind) {
        (Output::Target, HeadKind::Labels) => {
            let names: Vec<&str> = heads.chosen(scores).map(|k| heads.names[k].as_str()).collect();
            writeln!(out, "{}", names.join(","))
        }
        (Output::Target, _) => writeln!(out, "{}", heads.names[heads.best(scores)]),
        (Output::Probability, _) => {
            heads.probabilities(&*model.loss, scores);
            Scorer::check_finite(scores, place)?;
            numbers(out, scores)
        }
        (Output::Score, _) => numbers(out, scores),
    })
}

/// Writes numbers separated by tabs.
fn numbers(out: &mut dyn Write, numbers: &[f64]) -> io::Result<()> {
    for (k, number) in numbers.iter().enumerate() {
        write!(out, "{}{number:?}", if k == 0 { "" } else { "\t" })?;
    }
    writeln!(out)
}
