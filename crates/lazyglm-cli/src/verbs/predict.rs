//! `lazyglm predict MODEL DATA`: prints one line per row.

use crate::args::{Predict, What};
use crate::offsets::Offsets;
use crate::print::{cannot_print, note, standard_output, unseen_note, warning};
use crate::progress::Waiting;
use crate::stages::{Stage, Stages};
use crate::verbs::common::{refuse_same, use_threads};
use crate::verbs::predict_lines::{Form, Lines};
use lazyglm::data::format::{DirtyCells, ReadOptions};
use lazyglm::{Error, Model, Output, Place, Result, Scorer, data::dataset, util::files};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Runs the verb.
pub fn run(args: &Predict) -> Result<()> {
    let output = args.output.as_ref().filter(|path| path.as_os_str() != "-"); // '-' is standard output
    if let Some(path) = output {
        refuse_same("-o", path, &args.data)?;
        refuse_same("-o", path, &args.model)?;
    }
    use_threads(args.threads)?;
    let model = Model::load(&args.model)?;
    let (output_kind, form) = kind_and_form(args, &model)?;
    let lines = Lines {
        model: &model,
        output: output_kind,
        form,
        columns: &args.columns,
        top: args.top.map(|top| top as usize),
        threshold: args.threshold,
    };
    lines.check()?;
    let asked =
        ReadOptions { format: args.format.clone(), copy: args.columns.clone(), ..ReadOptions::default() };
    let mut job = Job {
        lines: &lines,
        stages: Stages::new(),
        data: &args.data,
        asked,
        strict: args.strict,
        offsets: Offsets::read(&model, &args.data, args.offset.as_deref())?,
        with_query: 0,
        dirty: Vec::new(),
        values: 0,
        unseen: None,
    };
    let on_screen = output.is_none() && io::stdout().is_terminal(); // the lines themselves show the progress
    let waiting = Waiting::new(args.quiet || on_screen, "predicting", &args.data);
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
    drop(waiting);
    job.stages.end(Stage::Write);
    job.stages.print(args.timings);
    let dirty = job.dirty.iter().map(|cells| cells.note(&args.data));
    let notes = dataset::query_note(&args.data, job.with_query).into_iter().chain(dirty).chain(job.unseen);
    notes.for_each(|text| note(args.quiet, &text));
    if job.values == 0 {
        warning("no row has a feature: check that the data are of the kind that the model learnt");
    }
    Ok(())
}

/// The kind of prediction and the form of the lines, from the words of `--as`.
fn kind_and_form(args: &Predict, model: &Model) -> Result<(Output, Form)> {
    let (mut kinds, mut forms) = (Vec::new(), Vec::new());
    for what in &args.what {
        match what {
            What::Probability => kinds.push(Output::Probability),
            What::Score => kinds.push(Output::Score),
            What::Target => kinds.push(Output::Target),
            What::Json => forms.push(Form::Json),
            What::Csv => forms.push(Form::Csv),
        }
    }
    if kinds.len() > 1 || forms.len() > 1 {
        let hint =
            "give one of probability, score and target, and one of csv and json, as in --as score,json";
        return Err(Error::call("--as names two kinds of prediction, or two forms", hint));
    }
    let usual = if args.threshold.is_some() { Output::Target } else { model.default_output() };
    Ok((kinds.pop().unwrap_or(usual), forms.pop().unwrap_or(Form::Tabs)))
}

struct Job<'a> {
    lines: &'a Lines<'a>,
    stages: Stages,
    data: &'a Path,
    asked: ReadOptions,
    strict: bool,
    offsets: Offsets<'a>,
    with_query: usize,
    dirty: Vec<DirtyCells>,
    values: usize,
    unseen: Option<String>,
}

impl Job<'_> {
    fn write(&mut self, out: &mut dyn Write, failed: &dyn Fn(io::Error) -> Error) -> Result<()> {
        let (lines, model) = (self.lines, self.lines.model);
        let (mut scorer, wide) = (Scorer::new(model), lines.columns.len());
        let (mut rows, mut scores, mut headed) = (0, Vec::new(), false);
        dataset::for_each_block(self.data, &self.asked, Some(&model.reading), |block| {
            self.stages.end(Stage::Read);
            scorer.set_block(block)?;
            if !std::mem::replace(&mut headed, true) {
                lines.header(out).map_err(failed)?;
            }
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
                let copied = &block.copied[i * wide..(i + 1) * wide];
                lines.write(out, copied, &mut scores, place)?.map_err(failed)?;
            }
            rows += block.rows.len();
            self.values += block.rows.nonzeros();
            self.with_query += block.with_query;
            DirtyCells::join(&mut self.dirty, &block.dirty);
            self.stages.end(Stage::Evaluate);
            Ok(())
        })?;
        self.stages.end(Stage::Read);
        self.offsets.finish()?;
        self.unseen = scorer.unseen().map(|unseen| unseen_note(unseen, self.values as u64));
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
