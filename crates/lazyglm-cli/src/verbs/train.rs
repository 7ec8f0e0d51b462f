//! `lazyglm train DATA`: trains a model on a data file.

mod data;
mod figures;
mod notes;
mod one_pass;
mod split;

pub use data::{TrainingData, TrainingRows};

use crate::args::{Multiclass, Train};
use crate::checkpoint::{self, Journal};
use crate::no_effect;
use crate::plan;
use crate::print::{self, note};
use crate::progress::Display;
use crate::signals::{self, interrupt};
use crate::stages::{Stage, Stages};
use crate::verbs::common::{refuse_same, use_threads, writable};
use crate::warm_start::warm_start;
use figures::human;
use lazyglm::train::heads::MemoryPlan;
use lazyglm::{CacheMode, ElasticNet, Model, Progress, Result, Stage as Searching, Stop, TargetKind, train};
use notes::comment;

/// Runs the verb.
pub fn run(args: Train) -> Result<()> {
    let mut stages = Stages::new();
    let args = args.with_one_alpha()?;
    if args.passes.is_some() {
        return one_pass::run(&args, stages);
    }
    let plan = plan::plan(&args, plan::one(&args)?)?;
    if let Some(path) = &args.output {
        writable(path, &args.data)?;
    }
    if let CacheMode::File(cache) = CacheMode::parse(&args.cache) {
        refuse_same("--cache", &cache, &args.data)?;
        args.output.iter().try_for_each(|output| refuse_same("--cache", &cache, output))?;
    }
    checkpoint::check(&args)?;
    let idle = no_effect::of_train(&args);
    plan.notes
        .iter()
        .chain(&idle)
        .chain(&plan::default_penalty(&args))
        .for_each(|text| note(args.quiet, text));
    use_threads(args.threads)?;
    let data = TrainingData::read(&args, &plan)?;
    stages.end(Stage::Read);
    let problem = data.problem();
    let heads = problem.targets().heads();
    let targets = TargetKind::of(heads.map(|heads| heads.kind));
    plan::check(&args, Some(&**problem.loss()), Some(targets))?; // before files besides the data are read
    if let (Some(2), Some(Multiclass::Ovr)) = (heads.map(|heads| heads.names.len()), args.multiclass) {
        let text = "--multiclass ovr trains a model of each of two classes, which mirror each other: without it, one model is trained";
        note(args.quiet, text);
    }
    if args.loss == "auto" && heads.is_none() {
        note(args.quiet, &format!("loss {}", problem.loss().spec()));
    }

    let mut settings = warm_start(&args, problem, &plan.settings)?;
    settings.interrupt = interrupt();
    let journal = Journal::open(&args, "train", &mut settings, (problem, data.held_out.as_ref()), "")?;
    if let (Some(heads), Some(task)) = (heads, problem.in_memory()) {
        let memory = MemoryPlan::plan(task, &settings)?;
        note(args.quiet, &memory.words(heads.kind, heads.names.len()));
    }
    let (mut display, mut tried) = (Display::new(args.progress()), 0);
    let penalties = |progress: &Progress| u64::from(progress.stage == Searching::Choosing);
    let data = match args.scale.as_str() {
        "auto" => {
            display.search("tf-idf or counts: ");
            let found = data.scaled_if_better(&settings, args.quiet, &mut |progress| {
                tried += penalties(progress);
                display.see(progress);
            });
            journal.told(found, tried)?
        }
        _ => data,
    };
    display.search("");
    let problem = data.problem();
    let trained = train(problem, data.held_out.as_ref(), &settings, &mut |progress| {
        tried += penalties(progress);
        display.see(progress);
    });
    display.finish();
    let trained = journal.told(trained, tried)?;
    stages.end_training(&trained.report);
    trained.notes.iter().for_each(|text| note(args.quiet, text));
    let mut report = trained.report.clone();
    settings.penalty = ElasticNet { l1: report.l1, l2: report.l2 }; // auto may have chosen it
    comment(&args, &settings, &trained, problem);
    if args.output.is_some() || args.reading.hash_bits.is_some() {
        let model = Model::new(problem, &settings, trained);
        data.collisions(&model).iter().for_each(|text| note(args.quiet, text));
        args.output.iter().try_for_each(|path| model.save(path))?;
    }
    match report.stop {
        Stop::Interrupted => journal.interrupted()?,
        _ => journal.finish()?,
    }
    let targets = problem.targets().clone();
    drop(data); // freeing the memory takes time, which belongs to a stage
    stages.end(Stage::Write);
    stages.fill(&mut report);
    stages.print(args.timings);
    print::result(|out| match args.json {
        true => writeln!(out, "{}", serde_json::to_value(&report)?),
        false => human(out, &args, &targets, &report),
    })?;
    match report.stop {
        Stop::Interrupted => std::process::exit(signals::exit_code()), // the model is kept, and scripts should know what it is
        _ => Ok(()),
    }
}
