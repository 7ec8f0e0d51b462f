//! `lazyglm train DATA`: from a file to a model.

use crate::args::{Thresholds, Train};
use crate::extras::extras;
use crate::plan::{self, HeldOut, Plan};
use crate::print::{self, count, note};
use crate::progress::Display;
use crate::verbs::train_classes::Many;
use lazyglm::format::Asked;
use lazyglm::naming::Naming;
use lazyglm::random::Random;
use lazyglm::{
    CacheMode, Dataset, Declared, ElasticNet, Error, Features, Load, Loss, Model, Precision, Progress,
    Report, Result, SampleWeights, Scale, Settings, Stop, Stream, StreamOptions, Task, Trained, Validation,
    files, model_file,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Runs the verb.
pub fn run(args: Train) -> Result<()> {
    let plan = plan::plan(&args, plan::one(&args)?)?;
    if let Some(path) = &args.output {
        if path.as_os_str() == "-" {
            return Err(Error::call("a model cannot go to standard output", "give -o the name of a file"));
        }
        refuse_same(path, &args.data)?;
        files::check_writable(path)?; // now, not after an hour of work
    }
    if let CacheMode::File(cache) = CacheMode::parse(&args.cache) {
        refuse_same(&cache, &args.data)?;
        args.output.iter().try_for_each(|output| refuse_same(&cache, output))?;
    }
    plan.notes.iter().for_each(|text| note(args.quiet, text));
    use_threads(args.threads)?;
    let started = Instant::now();
    let from = Prepared::read(&args, &plan)?;
    let seconds_read = started.elapsed().as_secs_f64();
    let from = match from {
        Prepared::One(from) => from,
        Prepared::Many(many) => return many.run(&args, &plan, seconds_read),
    };
    if args.thresholds == Thresholds::Tuned {
        return Err(Error::call("--thresholds is for labels", "leave it out, or ask for --multilabel"));
    }
    if args.loss == "auto" {
        note(args.quiet, &format!("loss {}", from.loss().spec()));
    }

    let mut settings = extras(&args, from.features(), from.classes(), &plan.settings)?;
    settings.interrupt = interrupt();
    let mut display = Display::new(args.quiet);
    let trained = from.train(&settings, &mut |progress| display.see(progress));
    display.finish();
    let mut trained = trained?;
    trained.report.seconds_read = seconds_read;
    let report = trained.report.clone();
    settings.net = ElasticNet { l1: report.l1, l2: report.l2 }; // which may have been chosen
    comment(&args, &settings, &trained, matches!(from, From::Stream(..)));
    if args.output.is_some() || args.reading.hash_bits.is_some() {
        let model = from.model(&settings, trained);
        from.collisions(&model).iter().for_each(|text| note(args.quiet, text));
        args.output.iter().try_for_each(|path| model_file::save(&model, path))?;
    }
    print::result(|out| match args.json {
        true => writeln!(out, "{}", serde_json::to_value(&report)?),
        false => human(out, &args, from.classes(), &report),
    })?;
    match report.stop {
        Stop::Interrupted => std::process::exit(130), // the model is kept, and scripts should know what it is
        _ => Ok(()),
    }
}

/// Ctrl-C ends the run and keeps what was learnt; once more, and it ends the program.
fn interrupt() -> Option<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = flag.clone();
    let set = ctrlc::set_handler(move || {
        if theirs.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    set.ok().map(|()| flag)
}

/// Says how many threads there are, if that was asked for.
pub fn use_threads(threads: Option<u32>) -> Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build_global();
    pool.map_err(|e| Error::call(format!("--threads {threads}: {e}"), "leave it out"))
}

/// What is learnt from: rows in memory, or a window of them at a time; and held-out rows.
pub enum From {
    /// All rows.
    Memory(Box<Task>, Option<Box<Task>>),
    /// A window.
    Stream(Box<Stream>, Option<Box<Task>>),
}

/// One model to learn, or one for each class or label.
enum Prepared {
    One(From),
    Many(Box<Many>),
}

impl From {
    /// Reads the data where there is one model to learn.
    pub fn prepare(args: &Train, plan: &Plan) -> Result<From> {
        match Prepared::read(args, plan)? {
            Prepared::One(from) => Ok(from),
            Prepared::Many(_) => Err(Error::call(
                "there are more than two classes, or labels",
                "only `train` learns many at once: keep the rows of two classes, or give all but one the same name",
            )),
        }
    }
}

impl Prepared {
    /// Reads the data.
    fn read(args: &Train, plan: &Plan) -> Result<Prepared> {
        let declared = Declared { base: args.index_base, count: args.features.map(|n| n as usize) };
        let asked = Asked { renumber: args.renumber, ..plan::asked(&args.reading)? };
        let cache = CacheMode::parse(&args.cache);
        let scale = Scale::parse(&args.scale)?;
        let many = args.multilabel || args.multiclass.is_some();
        if let Some(memory) = args.memory.filter(|_| !many) {
            let (loss, class_weight) = (plan.loss.clone(), plan.class_weight.clone());
            let (asked, cache) = (asked.clone(), cache.clone());
            let options = StreamOptions { asked, declared, cache, loss, class_weight, scale, memory };
            let stream = Stream::open(&args.data, &options, &plan.settings)?;
            // A stream cannot be read again; what was kept of it can.
            if !stream.fits() || args.data.as_os_str() == "-" {
                return From::stream(args, plan, stream).map(Prepared::One);
            }
        }
        let weights = args.sample_weights.as_deref().map(SampleWeights::read).transpose()?;
        let narrow = plan.settings.precision == Precision::F32;
        let (data, weights) =
            Dataset::load(&args.data, &Load { asked, declared, weights, narrow, cache, scale })?;
        if let Some((kind, word)) = plan.classes.kind(&data, plan.loss.as_deref())? {
            word.iter().for_each(|text| note(args.quiet, text));
            return Many::prepare(args, plan, data, kind, weights).map(|many| Prepared::Many(Box::new(many)));
        }
        let task = Task::new(data, plan.loss.clone(), weights, plan.class_weight.clone())?;
        task.notes.iter().for_each(|text| note(args.quiet, text));
        let fit_precision = |task: Task| if narrow { task.narrowed() } else { Ok(task) };
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
        Ok(Prepared::One(From::Memory(Box::new(task), held_out.map(Box::new))))
    }
}

impl From {
    fn stream(args: &Train, plan: &Plan, stream: Stream) -> Result<From> {
        if args.sample_weights.is_some() {
            let hint = "put them into the data, as Vowpal Wabbit text has them, or raise --memory";
            return Err(Error::call("--sample-weights with more rows than --memory holds", hint));
        }
        stream.notes.iter().for_each(|text| note(args.quiet, text));
        if !stream.fits() {
            let windows = stream.windows();
            let text =
                format!("the rows do not fit into --memory: they are gone through in {windows} windows");
            note(args.quiet, &text);
        }
        let held_out = match &plan.validation {
            None => None,
            Some(HeldOut::File(path)) => Some(stream.held_out(path)?),
            Some(HeldOut::Share(_)) => {
                let hint = "give --validation a file of held-out rows, or raise --memory";
                return Err(Error::call("--validation with a share of more rows than --memory holds", hint));
            }
        };
        held_out.iter().flat_map(|task| &task.notes).for_each(|text| note(args.quiet, text));
        Ok(From::Stream(Box::new(stream), held_out.map(Box::new)))
    }

    fn train(&self, settings: &Settings, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
        match self {
            From::Memory(task, held_out) => lazyglm::train(task, held_out.as_deref(), settings, watch),
            From::Stream(stream, held_out) => {
                lazyglm::train_stream(stream, held_out.as_deref(), settings, watch)
            }
        }
    }

    fn model(&self, settings: &Settings, trained: Trained) -> Model {
        match self {
            From::Memory(task, _) => Model::new(task, settings, trained),
            From::Stream(stream, _) => Model::of_stream(stream, settings, trained),
        }
    }

    fn loss(&self) -> &dyn Loss {
        match self {
            From::Memory(task, _) => &*task.loss,
            From::Stream(stream, _) => &*stream.loss,
        }
    }

    fn features(&self) -> &Features {
        match self {
            From::Memory(task, _) => &task.data.features,
            From::Stream(stream, _) => &stream.features,
        }
    }

    fn classes(&self) -> Option<&[String; 2]> {
        match self {
            From::Memory(task, _) => task.classes.as_ref(),
            From::Stream(stream, _) => stream.classes.as_ref(),
        }
    }

    /// With buckets: how many of those that have a weight stand for more than one name.
    fn collisions(&self, model: &Model) -> Option<String> {
        let naming = match self {
            From::Memory(task, _) => &task.data.features.naming,
            From::Stream(stream, _) => &stream.features.naming,
        };
        let Naming::Buckets(buckets) = &**naming else { return None };
        let (weights, shared) = (
            model.features.len(),
            model.features.iter().filter(|&&bucket| buckets.is_shared(bucket)).count(),
        );
        let rate = 100.0 * shared as f64 / weights.max(1) as f64;
        Some(format!(
            "{} of the {} buckets with a weight stand for more than one feature ({rate:.2} %)",
            count(shared as u64),
            count(weights as u64)
        ))
    }
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
pub fn split_rows(rows: usize, share: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
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
    Ok((kept.to_vec(), held_out.to_vec()))
}

/// The same rows as tasks.
fn split(task: &Task, share: f64, seed: u64) -> Result<(Task, Task)> {
    let (kept, held_out) = split_rows(task.targets.len(), share, seed)?;
    let kept = task.select(&kept);
    if task.classes.is_some() && kept.targets.iter().all(|y| *y == kept.targets[0]) {
        let what = format!("--validation {share} leaves rows of one class only to learn from");
        return Err(Error::data(
            task.data.file(),
            what,
            "give another share or --seed, or a file of held-out rows",
        ));
    }
    Ok((kept, task.select(&held_out)))
}

/// What a user should know but did not ask.
fn comment(args: &Train, settings: &Settings, trained: &Trained, streams: bool) {
    let report = &trained.report;
    if settings.solver == "auto" {
        note(args.quiet, &did(settings, report, streams));
    }
    match report.stop {
        Stop::Interrupted => note(args.quiet, "interrupted: this is what was learnt so far"),
        Stop::Steps if settings.net.is_none() => note(
            args.quiet,
            &format!(
                "no minimum within {} steps: without a penalty there may be none (classes that can be told apart without an error). Give --l1 or --l2",
                report.epochs
            ),
        ),
        Stop::Steps => note(args.quiet, &format!("the tolerance was not reached in {} steps", report.epochs)),
        Stop::Precision => note(
            args.quiet,
            &format!(
                "--tolerance {:?} is finer than this precision can tell: F falls no further",
                settings.tolerance
            ),
        ),
        _ => {}
    }
    let has_rate = match report.solver.as_str() {
        "online" => report.tried.is_empty() && settings.schedule.uses_eta0(),
        "adagrad" | "ftrl" => true,
        _ => false,
    };
    if has_rate && settings.eta0.is_none() && report.tried.is_empty() {
        note(
            args.quiet,
            &format!("eta0 {:?}, the best of many rehearsed on a sample of the rows", report.eta0),
        );
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
    let (l1, most) = (settings.net.l1, report.l1_max);
    if l1 >= most && l1 > 0.0 && settings.factors.is_none() {
        note(
            args.quiet,
            &format!("l1 = {l1:?} is not below {most:.3e}, from where on the best weights are all zero"),
        );
    }
}

/// What `auto` did.
fn did(settings: &Settings, report: &Report, streams: bool) -> String {
    let Report { l1, l2, tried, .. } = report;
    let chosen = match tried.iter().find(|point| point.chosen) {
        Some(point) => format!(
            "l1 {l1:?} and l2 {l2:?}, the best of {} tried on held-out rows (loss {:.5} there)",
            tried.len(),
            point.loss
        ),
        None if settings.choose_penalty => format!("l1 {l1:?} and l2 {l2:?}, since none was given"),
        None => "the penalty as given".to_string(),
    };
    let how = match report.solver.as_str() {
        "newton" => format!("the minimiser to {:?}, by Newton's method", settings.tolerance),
        "ftrl" => format!(
            "{} of FTRL-proximal, better there than the minimiser of any penalty tried",
            print::counted(report.epochs, "epoch")
        ),
        _ if streams => format!("{} epochs of stochastic steps, then a test of zeros", report.epochs),
        _ => format!("{} epochs of stochastic steps, since the loss has kinks", report.epochs),
    };
    format!("auto: {chosen}; {how}")
}

fn human(
    out: &mut dyn std::io::Write,
    args: &Train,
    classes: Option<&[String; 2]>,
    report: &Report,
) -> std::io::Result<()> {
    let rows = count(report.rows as u64);
    let features = count(report.features as u64);
    writeln!(
        out,
        "trained    {rows} rows × {features} features, {} in {:.3} s (read in {:.3} s)",
        print::counted(report.epochs, if report.solver == "newton" { "step" } else { "epoch" }),
        report.seconds_train,
        report.seconds_read
    )?;
    if let Some([negative, positive]) = classes {
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
    if let (Some(dual), Some(gap)) = (report.dual, report.relative_gap) {
        writeln!(
            out,
            "proved     no weights are below {dual:.8}: the minimum is at most {gap:.1e} of F away"
        )?;
    }
    writeln!(out, "non-zeros  {} of {features}", count(report.nonzeros as u64))?;
    let stopped = match (report.stop, report.promise) {
        (Stop::Gap, _) => Some("at the tolerance: proved by the duality gap".to_string()),
        (Stop::Promise, Some(promise)) => Some(format!(
            "at the tolerance: a step more would gain {promise:.1e} of F (the gap is loose without l2)"
        )),
        (Stop::Precision, _) => Some("where F falls no further in this precision".to_string()),
        (Stop::Steps, _) => Some("after all steps, short of the tolerance".to_string()),
        (Stop::Interrupted, _) => Some("when it was told to".to_string()),
        _ => None,
    };
    stopped.iter().try_for_each(|text| writeln!(out, "stopped    {text}"))?;
    if let Some(validation) = report.validation.filter(|_| report.solver == "newton") {
        writeln!(out, "held out   loss {:.8}", validation.loss)?;
    } else if let Some(validation) = &report.validation {
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
