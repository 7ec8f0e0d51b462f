//! `lazyglm train DATA` where there are many classes or labels.

use crate::args::{Thresholds, Train};
use crate::extras::refuse_for_many;
use crate::plan::{HeldOut, Plan};
use crate::print::{self, count, note};
use crate::progress::Display;
use crate::verbs::train::split_rows;
use lazyglm::data::feature_ids::one_line;
use lazyglm::train::classes::{self, ClassTask, Room};
use lazyglm::{Dataset, HeadKind, HeadReport, Model, Place, Precision, Report, Result, Validation};
use std::io::{self, Write};

/// Classes or labels that are shown one by one.
const SHOWN: usize = 20;

/// What is learnt from, and held-out rows.
pub struct Many {
    task: ClassTask,
    held_out: Option<ClassTask>,
}

impl Many {
    /// Makes data ready.
    pub fn prepare(
        args: &Train,
        plan: &Plan,
        data: Dataset,
        kind: HeadKind,
        weights: Option<Vec<f64>>,
    ) -> Result<Many> {
        refuse_for_many(args)?;
        let task = ClassTask::new(data, kind, plan.loss.clone(), weights, plan.class_weight.clone())?;
        task.notes.iter().for_each(|text| note(args.quiet, text));
        let narrow = plan.settings.precision == Precision::F32;
        let fit_precision = |task: ClassTask| if narrow { task.narrowed() } else { Ok(task) };
        let task = fit_precision(task)?;
        match &plan.validation {
            None => Ok(Many { task, held_out: None }),
            Some(HeldOut::Share(share)) => {
                let (kept, held_out) = split_rows(task.rows(), *share, args.seed)?;
                Ok(Many { task: task.select(&kept), held_out: Some(task.select(&held_out).unweighted()) })
            }
            Some(HeldOut::File(path)) => {
                let held_out = task.like(Dataset::read_like(path, &task.data)?)?;
                held_out.notes.iter().for_each(|text| note(args.quiet, text));
                Ok(Many { task, held_out: Some(fit_precision(held_out)?) })
            }
        }
    }

    /// Learns, writes the model and says how it went.
    pub fn run(&self, args: &Train, plan: &Plan, seconds_read: f64) -> Result<()> {
        let (task, settings) = (&self.task, &plan.settings);
        let room = Room::plan(task, settings.precision, args.memory)?;
        note(args.quiet, &room.words(task.kind, task.names.len()));
        let tuned = args.thresholds == Thresholds::Tuned;
        let mut display = Display::new(args.quiet);
        let watch = &mut |progress: &lazyglm::Progress| display.see(progress);
        let trained = classes::train(task, self.held_out.as_ref(), settings, room, tuned, watch);
        display.finish();
        let mut trained = trained?;
        trained.report.seconds_read = seconds_read;
        trained.notes.iter().for_each(|text| note(args.quiet, text));
        let report = trained.report.clone();
        comment(args, plan, &report);
        if let Some(path) = &args.output {
            Model::of_classes(task, settings, trained).save(path)?;
        }
        print::result(|out| match args.json {
            true => writeln!(out, "{}", serde_json::to_value(&report)?),
            false => human(out, args, task, &report),
        })
    }
}

/// What a user should know but did not ask.
fn comment(args: &Train, plan: &Plan, report: &Report) {
    if plan.settings.eta0.is_none() && plan.settings.schedule.uses_eta0() {
        note(args.quiet, &format!("eta0 {:?}, the best of a ladder tried on the first rows", report.eta0));
    }
    if report.objective > report.baseline {
        let baseline = report.baseline;
        let text = format!(
            "this model is worse than none: biases alone have objective {baseline:.6}. Change --eta0 or --epochs, or scale the features"
        );
        note(args.quiet, &text);
    }
    let (l1, most) = (plan.settings.penalty.l1, report.l1_max);
    if l1 >= most && l1 > 0.0 {
        let text =
            format!("l1 = {l1:?} is not below {most:.3e}, from where on the best weights are all zero");
        note(args.quiet, &text);
    }
}

fn human(out: &mut dyn Write, args: &Train, task: &ClassTask, report: &Report) -> io::Result<()> {
    let (rows, features) = (count(report.rows as u64), count(report.features as u64));
    let (heads, nouns) = (count(task.names.len() as u64), task.kind.nouns());
    let epochs = print::counted(report.epochs, "epoch");
    writeln!(
        out,
        "trained    {rows} rows × {features} features × {heads} {nouns}, {epochs} in {:.3} s (read in {:.3} s)",
        report.seconds_train, report.seconds_read
    )?;
    print::objective(out, report, "biases")?;
    let all = count((report.features * task.names.len()) as u64);
    writeln!(out, "non-zeros  {} of {all}", count(report.nonzeros as u64))?;
    if let Some(Validation { loss, best_epoch }) = &report.validation {
        let kept = match (args.early_stop, task.kind) {
            (Some(_), HeadKind::Softmax) => format!("that of epoch {best_epoch}, the best, which was kept"),
            (Some(_), _) => format!("each {} at its own best epoch", task.kind.noun()),
            (None, _) if *best_epoch == report.epochs => "the lowest of all epochs".to_string(),
            (None, _) => format!("epoch {best_epoch} had a lower one: --early-stop would keep it"),
        };
        writeln!(out, "held out   loss {loss:.8} ({kept})")?;
    }
    match &args.output {
        Some(path) => writeln!(out, "model      {}\n", Place::file(path))?,
        None => writeln!(out, "model      not kept: add -o MODEL to write it\n")?,
    }
    table(out, task.kind, report.heads.as_ref().map_or(&[][..], |heads| &heads.heads))
}

/// The classes or labels; of many, those with the most rows.
fn table(out: &mut dyn Write, kind: HeadKind, heads: &[HeadReport]) -> io::Result<()> {
    let mut shown: Vec<&HeadReport> = heads.iter().collect();
    if shown.len() > SHOWN {
        shown.sort_by_key(|head| std::cmp::Reverse(head.rows)); // stable
        shown.truncate(SHOWN);
    }
    let width = shown.iter().map(|head| one_line(&head.name).chars().count()).max().unwrap_or(0).clamp(5, 40);
    writeln!(out, "{:>width$}  {:>10}  {:>10}  {:>10}", kind.noun(), "rows", "non-zeros", "loss")?;
    for HeadReport { name, rows, nonzeros, loss } in &shown {
        let (rows, nonzeros) = (count(*rows as u64), count(*nonzeros as u64));
        writeln!(out, "{:>width$}  {rows:>10}  {nonzeros:>10}  {loss:>10.6}", one_line(name))?;
    }
    let more = heads.len() - shown.len();
    if more > 0 {
        writeln!(out, "{:>width$}  {} more, of fewer rows: --json has them all", "…", count(more as u64))?;
    }
    Ok(())
}
