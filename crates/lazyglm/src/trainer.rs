//! The only loop over epochs: order, validation, stopping, reports.

mod adagrad;
mod auto;
mod follow;
mod ftrl;

mod newton;
mod recipe;
mod saga;
mod solvers;
mod zeros;

pub use solvers::{SOLVERS, Solver};

use crate::blocks::{Blocks, InMemory};
use crate::error::{Error, Kind, Place, Result};
use crate::kernel::{Averaged, Folded, Priced};
use crate::loss::Loss;
use crate::objective::{self, Judge, Verdict};
use crate::penalty::{ElasticNet, Prices};
use crate::reference::{Dense, Table};
use crate::report::{Epoch, Report, Stop, Validation};
use crate::rows::Examples;
use crate::schedule::{Schedule, Setting};
use crate::settings::{Precision, Settings, UpdateName};
use crate::solver::eta0::{self, Extent};
use crate::solver::learner::{Arrived, Learner, Scheduled};
use crate::solver::online::{Diverged, Online, SAMPLED, Sample};
use crate::stream::Stream;
use crate::task::Task;
use crate::update::Update;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// What a watcher sees while a run is going on.
///
/// ```
/// use lazyglm::{Progress, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let mut shares = Vec::new();
/// let mut watch = |at: &Progress| shares.extend(at.epoch_ends.then(|| at.learnt as f64 / at.total as f64));
/// train(&task, None, &Settings::default(), &mut watch).unwrap();
/// assert_eq!(shares, [0.2, 0.4, 0.6, 0.8, 1.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The epoch, from 1.
    pub epoch: u64,
    /// Of so many.
    pub epochs: u64,
    /// Rows learnt in all epochs so far.
    pub learnt: u64,
    /// Rows to learn in all epochs.
    pub total: u64,
    /// The loss of recent rows, before each was learnt.
    pub running_loss: f64,
    /// Non-zero weights when they were last counted: at the end of an epoch, and every few seconds.
    pub nonzeros: Option<usize>,
    /// The held-out loss at the end of the last whole epoch.
    pub validation_loss: Option<f64>,
    /// Whether this is the last word on its epoch.
    pub epoch_ends: bool,
    /// What an epoch is here.
    pub stage: Stage,
}

/// What a run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Going through the rows; an epoch is an epoch.
    Learning,
    /// Finding the minimum; an epoch is a step, and the running loss is F.
    Minimising,
    /// Choosing a penalty; an epoch is one that was tried.
    Choosing,
}

impl Progress {
    fn start(epochs: u64, rows: u64) -> Progress {
        Progress {
            epoch: 1,
            epochs,
            learnt: 0,
            total: epochs.saturating_mul(rows),
            running_loss: f64::NAN,
            nonzeros: None,
            validation_loss: None,
            epoch_ends: false,
            stage: Stage::Learning,
        }
    }

    fn begin(&mut self, epoch: u64) {
        (self.epoch, self.epoch_ends) = (epoch, false);
    }

    fn end(&mut self, weights: &[f64], validation_loss: Option<f64>) {
        self.nonzeros = Some(nonzeros(weights));
        self.validation_loss = validation_loss;
        self.epoch_ends = true;
    }
}

/// A trained model, by column.
///
/// ```
/// use lazyglm::{Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings { bias: false, ..Settings::default() }, &mut |_| {}).unwrap();
/// assert_eq!((trained.weights.len(), trained.bias), (100, 0.0));
/// ```
#[derive(Clone, Debug)]
pub struct Trained {
    /// w, one a column.
    pub weights: Vec<f64>,
    /// b; 0 without a bias.
    pub bias: f64,
    /// The figures of the run.
    pub report: Report,
    /// With a rate found, not given: a row so much longer than most that it holds the rate down.
    pub held_down_by: Option<Place>,
}

/// Trains a model.
///
/// ```
/// use lazyglm::{Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 2_000, features: 500, ..synth::Shape::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// assert!(trained.report.objective < std::f64::consts::LN_2, "better than no model");
/// ```
pub fn train(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Trained> {
    let solver = solvers::find(&settings.solver)?;
    solver.check(settings, task.data.rows.columns())?;
    let mut trained = (solver.train)(task, validation, settings, watch)?;
    let bias = settings.bias.then_some(trained.bias);
    let net = ElasticNet { l1: trained.report.l1, l2: trained.report.l2 }; // which the solver may have chosen
    let prices = Prices { net, ..settings.prices() };
    let proof = objective::certify(task.examples(), &*task.loss, prices, &trained.weights, bias);
    (trained.report.dual, trained.report.relative_gap) = (proof.dual, proof.relative_gap);
    Ok(trained)
}

/// Trains by going through the rows, all of them in memory.
fn train_in_memory(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Trained> {
    let (send, nothing) = channel();
    let blocks = InMemory { task, order: settings.order, seed: settings.seed, nothing };
    let features = task.data.features.count;
    let job = Job { blocks: &blocks, loss: &*task.loss, features, validation };
    std::thread::scope(|scope| {
        // On one thread it is found out when it is needed; and a thread of the pool must not wait for one that needs the pool.
        let alone = rayon::current_num_threads() == 1 || rayon::current_thread_index().is_some();
        match alone {
            true => drop(send),
            false => drop(scope.spawn(move || {
                let _ = send.send(objective::nothing(task.examples(), &*task.loss, settings.bias));
            })),
        }
        solvers::find(&settings.solver)?.on(&job, settings, watch)
    })
}

/// Trains a model on rows that are not held in memory.
///
/// ```
/// use lazyglm::{Settings, Stream, StreamOptions, train_stream};
/// let file = std::env::temp_dir().join("lazyglm-doc-train-stream.svm");
/// std::fs::write(&file, "1 1:1\n-1 2:1\n".repeat(500)).unwrap();
/// let (options, settings) = (StreamOptions { memory: 1 << 26, ..Default::default() }, Settings::default());
/// let stream = Stream::open(&file, &options, &settings).unwrap();
/// assert_eq!(train_stream(&stream, None, &settings, &mut |_| {}).unwrap().report.rows, 1000);
/// ```
pub fn train_stream(
    stream: &Stream,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Trained> {
    let solver = solvers::find(&settings.solver)?;
    solver.check(settings, stream.features.columns())?;
    let job = Job { blocks: stream, loss: &*stream.loss, features: stream.features.count, validation };
    if settings.solver != "auto" {
        return solver.on(&job, settings, watch);
    }
    let zeros = stream.loss.bend(0.0, 1.0).is_some();
    let settings = auto::for_steps(settings, job.loss, stream.pairs(), stream.features.columns());
    let (eta0, held_down_by, mut fitted) = fit_on(&job, &settings, watch)?;
    if zeros {
        let started = Instant::now();
        let fewer = zeros::tested(&job, &settings.prices(), &fitted.weights, fitted.bias)?;
        fitted.weights = fewer.unwrap_or(fitted.weights);
        fitted.seconds += started.elapsed().as_secs_f64();
    }
    Ok(Trained { held_down_by, ..judge(&job, &settings, eta0, fitted)? })
}

/// The starting rate that [`train`] would begin with on this task: the one given, or the best of the ladder. NaN for a
/// schedule that has none.
///
/// ```
/// use lazyglm::{Settings, rate, synth};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// assert_eq!(rate(&task, &Settings { eta0: Some(0.25), ..Settings::default() }).unwrap(), 0.25);
/// assert!(rate(&task, &Settings::default()).unwrap() > 0.0);
/// ```
pub fn rate(task: &Task, settings: &Settings) -> Result<f64> {
    let (_, nothing) = channel();
    let blocks = InMemory { task, order: settings.order, seed: settings.seed, nothing };
    let features = task.data.features.count;
    let job = Job { blocks: &blocks, loss: &*task.loss, features, validation: None };
    starting_rate(&job, settings).map(|(eta0, _)| eta0)
}

/// What to learn from.
pub(crate) struct Job<'a> {
    pub blocks: &'a dyn Blocks,
    pub loss: &'a dyn Loss,
    pub features: usize,
    pub validation: Option<&'a Task>,
}

/// Trains by steps of one rate for all weights, on rows wherever they are.
pub(crate) fn train_on(job: &Job, settings: &Settings, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
    let (eta0, held_down_by, fitted) = fit_on(job, settings, watch)?;
    Ok(Trained { held_down_by, ..judge(job, settings, eta0, fitted)? })
}

/// Rate, what held it down, and what was learnt with it.
fn fit_on(
    job: &Job,
    settings: &Settings,
    watch: &mut dyn FnMut(&Progress),
) -> Result<(f64, Option<Place>, Fitted)> {
    let started = Instant::now();
    let (eta0, held_down_by) = starting_rate(job, settings)?;
    let rows = job.blocks.rows() as u64;
    let setting = Setting { eta0, l2: settings.net.l2, rows: Some(rows), epochs: settings.epochs };
    let schedule = settings.schedule.resolve(&setting)?;
    let eta0 = schedule.eta(0);
    let dearest = settings.factors.iter().flat_map(|factors| factors.iter().copied()).fold(1.0, f64::max);
    let steepest = ElasticNet { l2: dearest * settings.net.l2, ..settings.net };
    settings.method.check(steepest, eta0).map_err(|e| match settings.schedule.uses_eta0() {
        true => e,
        false => Error::call(
            format!(
                "SGD needs eta * l2 < 1, and '{}' starts at {:?}",
                settings.schedule.text(),
                eta0 * settings.net.l2
            ),
            "raise the schedule's t0 above 1, or use --method fobos, which has no such limit",
        ),
    })?;

    let slower = match settings.schedule.uses_eta0() {
        true => adagrad::slower(eta0),
        false => "raise --l2 or the schedule's t0, or scale the features down".to_string(),
    };
    let run = Run { job, settings, slower, spent: started.elapsed().as_secs_f64() };
    let start = settings.start.as_ref().map(|start| start.weights.clone());
    let start = start.unwrap_or_else(|| vec![0.0; job.blocks.columns()]);
    let (net, method) = (settings.net, settings.method);
    let priced = settings.factors.is_some() || settings.nonnegative;
    let schedule = &*schedule;
    let fitted = match (settings.update, settings.precision, net.is_none()) {
        (UpdateName::Lazy, ..) if priced && settings.average.is_none() => {
            run.fit_online(Priced::new(start, &settings.prices(), method)?, schedule, watch)
        }
        (UpdateName::Dense, ..) if priced => {
            run.fit_online(Dense::<false>::priced(start, &settings.prices(), method), schedule, watch)
        }
        (UpdateName::DenseSparsePredict, ..) if priced => {
            run.fit_online(Dense::<true>::priced(start, &settings.prices(), method), schedule, watch)
        }
        _ if priced => {
            return Err(Error::call(
                "--penalty-factor and --nonnegative are not for --update table, nor for --average",
                "leave --update and --average out",
            ));
        }
        (UpdateName::Lazy, ..) if settings.average.is_some() => {
            run.fit_online(Averaged::new(start, net, method, settings.average.unwrap_or(0)), schedule, watch)
        }
        (UpdateName::Lazy, Precision::F32, false) => {
            run.fit_online(Folded::<f32>::new(start, net, method), schedule, watch)
        }
        (UpdateName::Lazy, Precision::F64, false) => {
            run.fit_online(Folded::<f64>::new(start, net, method), schedule, watch)
        }
        (UpdateName::Lazy, Precision::F32, true) => {
            run.fit_online(Folded::<f32, false>::new(start, net, method), schedule, watch)
        }
        (UpdateName::Lazy, Precision::F64, true) => {
            run.fit_online(Folded::<f64, false>::new(start, net, method), schedule, watch)
        }
        (UpdateName::Table, ..) => {
            let constant = schedule.is_constant().then_some(eta0);
            run.fit_online(Table::new(start, net, method, settings.table_budget, constant), schedule, watch)
        }
        (UpdateName::Dense, ..) => run.fit_online(Dense::<false>::new(start, net, method), schedule, watch),
        (UpdateName::DenseSparsePredict, ..) => {
            run.fit_online(Dense::<true>::new(start, net, method), schedule, watch)
        }
    }?;
    Ok((eta0, held_down_by, fitted))
}

fn starting_rate(job: &Job, settings: &Settings) -> Result<(f64, Option<Place>)> {
    match settings.eta0 {
        _ if !settings.schedule.uses_eta0() => return Ok((f64::NAN, None)), // never looked at
        Some(eta0) => return Ok((eta0, None)),
        None => {}
    }
    let (extent, longest) = extent(job)?;
    let mut rate = None;
    job.blocks.beginning(&mut |turn| {
        rate = Some(eta0::find(&eta0::Trial {
            examples: turn.examples,
            order: turn.order,
            rows: job.blocks.rows() as u64,
            extent,
            loss: job.loss,
            net: settings.net,
            method: settings.method,
            schedule: &settings.schedule,
            epochs: settings.epochs,
            bias: settings.bias,
        })?);
        Ok(())
    })?;
    Ok(rate.map_or((f64::NAN, None), |rate| (rate.eta0, longest.filter(|_| rate.held_down))))
}

/// How far the rows reach, and the place of the longest; a pass over them that only unbounded losses need.
fn extent(job: &Job) -> Result<(Extent, Option<Place>)> {
    let (mut all, mut longest) = (Extent::default(), None);
    if job.loss.steepest().is_finite() {
        return Ok((all, None));
    }
    job.blocks.pass(&mut |turn| {
        let some = Extent::of(turn.examples);
        if some.length > all.length {
            longest = some.longest.map(turn.place);
            all.length = some.length;
        }
        all.target = all.target.max(some.target);
        Ok(())
    })?;
    Ok((all, longest))
}

/// Rows learnt between two looks at the clock.
const STRIDE: usize = 8192;
/// In a long epoch, non-zeros are counted so often.
const LOOK_EVERY: Duration = Duration::from_secs(2);

struct Run<'a> {
    job: &'a Job<'a>,
    settings: &'a Settings,
    slower: String, // which knob to turn when it diverges
    spent: f64,     // seconds, before the first epoch
}

struct Fitted {
    weights: Vec<f64>,
    bias: f64,
    epochs: u64,
    stop: Stop,
    seconds: f64,
    validation: Option<Validation>,
    history: Vec<Epoch>,
}

impl Run<'_> {
    /// One row in how many has its loss noted.
    fn sampled(&self) -> u64 {
        if self.job.blocks.rows() < STRIDE { 1 } else { SAMPLED }
    }

    fn fit_online<U: Update>(
        &self,
        update: U,
        schedule: &dyn Schedule,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Fitted> {
        let model = Online::new(update, self.settings.bias).sampling_one_in(self.sampled());
        let mut model = match self.settings.average {
            Some(from) => model.averaging_from(from),
            None => model,
        };
        if let (true, Some(start)) = (self.settings.bias, &self.settings.start) {
            model.bias = start.bias;
        }
        self.fit(Scheduled { model, schedule }, watch)
    }

    fn fit(&self, mut model: impl Learner, watch: &mut dyn FnMut(&Progress)) -> Result<Fitted> {
        let rows = self.job.blocks.rows();
        let mut progress = Progress::start(self.settings.epochs, rows as u64);
        let (mut weights, mut best, mut history) = (Vec::new(), Best::default(), Vec::new());
        let (mut seconds, mut stop) = (self.spent, Stop::Epochs);
        for epoch in 1..=self.settings.epochs {
            progress.begin(epoch);
            let started = Instant::now();
            let mut pass = |see: &mut dyn FnMut(Examples)| {
                self.job.blocks.pass(&mut |turn| {
                    see(turn.examples);
                    Ok(())
                })
            };
            model.look(self.job.loss, &mut pass)?;
            if let Some(arrived) = model.arrived() {
                weights = model.weights();
                progress.validation_loss = self.held_out_loss(&weights, &model, epoch)?;
                stop = match arrived {
                    Arrived::Gap => Stop::Gap,
                    Arrived::Promise => Stop::Promise,
                };
                seconds += started.elapsed().as_secs_f64();
                break;
            }
            let last_row = self.epoch(&mut model, &mut progress, watch)?;
            let learnt = started.elapsed();
            weights = model.weights();
            let settled = started.elapsed();
            let last = epoch == self.settings.epochs;
            seconds += if last { settled } else { learnt }.as_secs_f64(); // before the end we settle only to look

            self.refuse_infinite(&weights, &model, last_row, epoch)?;
            let validation_loss = self.held_out_loss(&weights, &model, epoch)?;
            progress.end(&weights, validation_loss);
            watch(&progress);
            history.push(Epoch {
                running_loss: Some(progress.running_loss).filter(|loss| loss.is_finite()),
                validation_loss,
            });
            if let Some(loss) = validation_loss {
                best.see(epoch, loss, &weights, model.bias(), self.settings.early_stop.is_some());
                if self.settings.early_stop.is_some_and(|patience| epoch - best.epoch >= patience) {
                    stop = Stop::EarlyStop;
                    break;
                }
            }
            if self.settings.interrupted() && epoch < self.settings.epochs {
                break;
            }
        }
        if self.settings.interrupted() {
            stop = Stop::Interrupted;
        }
        let mut bias = model.bias();
        let mut loss = progress.validation_loss;
        if self.settings.early_stop.is_some() && best.epoch > 0 {
            (weights, bias, loss) = (best.weights, best.bias, Some(best.loss));
        }
        let validation = loss.map(|loss| Validation { loss, best_epoch: best.epoch });
        Ok(Fitted { weights, bias, epochs: history.len() as u64, stop, seconds, validation, history })
    }

    /// One pass over the rows; the place of the last.
    fn epoch(
        &self,
        model: &mut impl Learner,
        progress: &mut Progress,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Place> {
        let (mut sample, mut looked, mut last) = (Sample::default(), Instant::now(), Place::default());
        let rows = self.job.blocks.rows() as u64;
        self.job.blocks.epoch(progress.epoch - 1, &mut |turn| {
            if self.settings.interrupted() && progress.learnt > 0 {
                return Ok(()); // a window that nobody waits for any more
            }
            let visits = model.visits(turn.examples, turn.order);
            for part in visits.as_deref().unwrap_or(turn.order).chunks(STRIDE) {
                let more = model.learn(self.job.loss, turn.examples, part).map_err(|diverged| {
                    self.diverged(diverged, (turn.place)(diverged.row), progress.epoch)
                })?;
                sample = sample.and(more);
                progress.learnt = (progress.learnt + part.len() as u64).min(progress.epoch * rows);
                progress.running_loss = sample.mean();
                if looked.elapsed() > LOOK_EVERY {
                    progress.nonzeros = Some(nonzeros(&model.weights()));
                    looked = Instant::now();
                }
                watch(progress);
                if self.settings.interrupted() {
                    break;
                }
            }
            last = turn.order.last().map_or(Place::default(), |&i| (turn.place)(i as usize));
            Ok(())
        })?;
        Ok(last)
    }

    fn diverged(&self, at: Diverged, place: Place, epoch: u64) -> Error {
        let what = if at.score.is_finite() {
            format!("the slope of the loss became {}", at.slope)
        } else {
            format!("the score became {}", at.score)
        };
        Kind::Diverged { place, epoch, step: at.t, what, hint: self.slower.clone() }.into()
    }

    /// A weight that overflowed on the very last rows was never scored again: it is caught here.
    fn refuse_infinite(
        &self,
        weights: &[f64],
        model: &impl Learner,
        last_row: Place,
        epoch: u64,
    ) -> Result<()> {
        if weights.iter().all(|w| w.is_finite()) && model.bias().is_finite() {
            return Ok(());
        }
        let at = Diverged { row: 0, t: model.t() - 1, score: f64::INFINITY, slope: 0.0 };
        Err(self.diverged(at, last_row, epoch))
    }

    fn held_out_loss(&self, weights: &[f64], model: &impl Learner, epoch: u64) -> Result<Option<f64>> {
        let Some(task) = self.job.validation else { return Ok(None) };
        let loss = objective::mean_loss(task.examples(), &*task.loss, weights, model.bias());
        if !loss.is_finite() {
            let (place, what) = (task.data.file(), format!("the held-out loss became {loss}"));
            return Err(
                Kind::Diverged { place, epoch, step: model.t(), what, hint: self.slower.clone() }.into()
            );
        }
        Ok(Some(loss))
    }
}

#[derive(Default)]
struct Best {
    epoch: u64,
    loss: f64,
    weights: Vec<f64>,
    bias: f64,
}

impl Best {
    fn see(&mut self, epoch: u64, loss: f64, weights: &[f64], bias: f64, keep: bool) {
        if self.epoch == 0 || loss < self.loss {
            let weights = if keep { weights.to_vec() } else { Vec::new() };
            *self = Best { epoch, loss, weights, bias };
        }
    }
}

fn judge(job: &Job, settings: &Settings, eta0: f64, fitted: Fitted) -> Result<Trained> {
    let Fitted { weights, bias, epochs, stop, seconds, validation, history } = fitted;
    let of_bias = settings.bias.then_some(bias);
    let judge = Judge::new(job.loss, &weights, of_bias, job.blocks.nonzeros());
    let (mut judge, nothing) = job.blocks.ready(judge, job.loss, settings.bias);
    job.blocks.pass(&mut |turn| {
        judge.hear(turn.examples);
        Ok(())
    })?;
    let Verdict { objective: f, violation, l1_max, baseline } = judge.verdict(settings.prices(), nothing);
    let figures =
        [("objective", f.total()), ("violation", violation), ("l1_max", l1_max), ("baseline", baseline)];
    for (name, figure) in figures {
        if !figure.is_finite() {
            return Err(Kind::Diverged {
                place: job.blocks.file(),
                epoch: epochs,
                step: epochs * job.blocks.rows() as u64,
                what: format!("the {name} of what was learnt is {figure}"),
                hint: format!("lower --eta0 (it was {eta0:?}) or scale the features down"),
            }
            .into());
        }
    }
    let report = Report {
        objective: f.total(),
        loss: f.loss,
        penalty: f.penalty,
        baseline,
        violation,
        dual: None,
        relative_gap: None,
        l1: settings.net.l1,
        l2: settings.net.l2,
        tried: Vec::new(),
        l1_max,
        nonzeros: nonzeros(&weights),
        features: job.features,
        rows: job.blocks.rows(),
        epochs,
        eta0,
        seconds_read: 0.0,
        seconds_train: seconds,
        solver: settings.solver.clone(),
        promise: None,
        stop,
        validation,
        history,
        heads: None,
    };
    Ok(Trained { weights, bias, report, held_down_by: None })
}

fn nonzeros(weights: &[f64]) -> usize {
    weights.iter().filter(|w| **w != 0.0).count()
}
