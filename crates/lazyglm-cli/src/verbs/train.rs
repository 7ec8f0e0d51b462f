//! `lazyglm train DATA`: from a file to a model.

use crate::args::Train;
use crate::plan::{self, HeldOut};
use crate::print::{self, count, note};
use crate::progress::Display;
use lazyglm::random::Random;
use lazyglm::{
    CacheMode, Dataset, Declared, Error, Load, Model, Precision, Report, Result, SampleWeights, Settings,
    Task, Trained, Validation, files, model_file,
};
use std::path::Path;
use std::time::Instant;

/// Runs the verb.
pub fn run(args: Train) -> Result<()> {
    let plan = plan::plan(&args)?;
    if let Some(path) = &args.output {
        if path.as_os_str() == "-" {
            return Err(Error::call("a model cannot go to standard output", "give -o the name of a file"));
        }
        refuse_same(path, &args.data)?;
        files::check_writable(path)?; // now, not after an hour of work
    }
    plan.notes.iter().for_each(|text| note(args.quiet, text));
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build_global();
        pool.map_err(|e| Error::call(format!("--threads {threads}: {e}"), "leave it out"))?;
    }
    let started = Instant::now();
    let declared = Declared { base: args.index_base, count: args.features.map(|n| n as usize) };
    let load = Load {
        asked: plan::asked(&args.reading)?,
        declared,
        weights: args.sample_weights.as_deref().map(SampleWeights::read).transpose()?,
        narrow: plan.settings.precision == Precision::F32,
        cache: CacheMode::parse(&args.cache),
    };
    let (data, sample_weights) = Dataset::load(&args.data, &load)?;
    let task = Task::new(data, plan.loss, sample_weights, plan.class_weight)?;
    task.notes.iter().for_each(|text| note(args.quiet, text));
    let fit_precision = |task: Task| match plan.settings.precision {
        Precision::F32 => task.narrowed(),
        Precision::F64 => Ok(task),
    };
    let task = fit_precision(task)?;
    let (task, held_out) = match &plan.validation {
        None => (task, None),
        Some(HeldOut::Share(share)) => {
            let (kept, held_out) = split(&task, *share, args.seed)?;
            (kept, Some(held_out.unweighted()))
        }
        Some(HeldOut::File(path)) => {
            let held_out = task.like(Dataset::read_like(path, &task.data)?)?;
            held_out.notes.iter().for_each(|text| note(args.quiet, text));
            (task, Some(fit_precision(held_out)?))
        }
    };
    let seconds_read = started.elapsed().as_secs_f64();

    if args.loss == "auto" {
        note(args.quiet, &format!("loss {}", task.loss.spec()));
    }

    let mut display = Display::new(args.quiet);
    let trained =
        lazyglm::train(&task, held_out.as_ref(), &plan.settings, &mut |progress| display.see(progress));
    display.finish();
    let mut trained = trained?;
    trained.report.seconds_read = seconds_read;
    let report = trained.report.clone();
    comment(&args, &plan.settings, &trained);
    if let Some(path) = &args.output {
        model_file::save(&Model::new(&task, &plan.settings, trained), path)?;
    }
    print::result(|out| match args.json {
        true => writeln!(out, "{}", serde_json::to_value(&report)?),
        false => human(out, &args, &task, &report),
    })
}

/// Output must not replace the data it came from.
pub fn refuse_same(output: &Path, data: &Path) -> Result<()> {
    match files::same_file(output, data) {
        false => Ok(()),
        true => Err(Error::call(
            format!("-o {} would replace {}", output.display(), data.display()),
            "give the output another name",
        )),
    }
}

/// Some rows for learning, some held out: a function of the seed alone.
fn split(task: &Task, share: f64, seed: u64) -> Result<(Task, Task)> {
    let rows = task.targets.len();
    let held = (rows as f64 * share).round() as usize;
    if held == 0 || held == rows {
        return Err(Error::call(
            format!("--validation {share} of {rows} rows leaves none on one side"),
            "give another share, or a file",
        ));
    }
    let mut numbers: Vec<usize> = (0..rows).collect();
    Random::new(seed ^ 0x5EED_0F5E_7A51_DE00).shuffle(&mut numbers);
    let (held_out, kept) = numbers.split_at_mut(held);
    held_out.sort_unstable();
    kept.sort_unstable();
    let kept = task.select(kept);
    if task.classes.is_some() && kept.targets.iter().all(|y| *y == kept.targets[0]) {
        let what = format!("--validation {share} leaves rows of one class only to learn from");
        return Err(Error::data(
            task.data.file(),
            what,
            "give another share or --seed, or a file of held-out rows",
        ));
    }
    Ok((kept, task.select(held_out)))
}

/// What a user should know but did not ask.
fn comment(args: &Train, settings: &Settings, trained: &Trained) {
    let report = &trained.report;
    if settings.eta0.is_none() && settings.schedule.uses_eta0() {
        note(args.quiet, &format!("eta0 {:?}, the best of a ladder tried on the first rows", report.eta0));
    }
    if let Some(place) = &trained.held_down_by {
        note(
            args.quiet,
            &format!(
                "eta0 is held down by the row at {place}: if its values are much larger than others', scale the features"
            ),
        );
    }
    if report.objective > report.baseline {
        let baseline = report.baseline;
        note(
            args.quiet,
            &format!(
                "this model is worse than none: the bias alone has objective {baseline:.6}. Change --eta0 or --epochs, or scale the features"
            ),
        );
    }
    if args.l1 >= report.l1_max && args.l1 > 0.0 {
        let most = report.l1_max;
        note(
            args.quiet,
            &format!(
                "l1 = {:?} is not below {most:.3e}, from where on the best weights are all zero",
                args.l1
            ),
        );
    }
}

fn human(out: &mut dyn std::io::Write, args: &Train, task: &Task, report: &Report) -> std::io::Result<()> {
    let rows = count(report.rows as u64);
    let features = count(report.features as u64);
    writeln!(
        out,
        "trained    {rows} rows × {features} features, {} epoch{} in {:.3} s (read in {:.3} s)",
        report.epochs,
        if report.epochs == 1 { "" } else { "s" },
        report.seconds_train,
        report.seconds_read
    )?;
    if let Some([negative, positive]) = &task.classes {
        writeln!(out, "classes    {negative} (−), {positive} (+)")?;
    }
    writeln!(
        out,
        "objective  {:.8} = loss {:.8} + penalty {:.8}; with the bias alone {:.8}",
        report.objective, report.loss, report.penalty, report.baseline
    )?;
    writeln!(
        out,
        "optimum?   violation {:.2e} (0 at the minimum); the best weights are all zero from l1 = {:.3e} on",
        report.violation, report.l1_max
    )?;
    writeln!(out, "non-zeros  {} of {features}", count(report.nonzeros as u64))?;
    if let Some(validation) = &report.validation {
        let Validation { loss, best_epoch } = validation;
        let kept = match (args.early_stop, *best_epoch == report.epochs) {
            (Some(_), _) => format!("that of epoch {best_epoch}, the best, which was kept"),
            (None, true) => "the lowest of all epochs".to_string(),
            (None, false) => format!("epoch {best_epoch} had a lower one: --early-stop would keep it"),
        };
        writeln!(out, "held out   loss {loss:.8} ({kept})")?;
    }
    match &args.output {
        Some(path) => writeln!(out, "model      {}", path.display()),
        None => writeln!(out, "model      not kept: add -o MODEL to write it"),
    }
}
