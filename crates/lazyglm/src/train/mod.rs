//! From a task to a trained model: the solver asked for does it, the judge has the last word.

mod adagrad;
mod auto;
pub mod certify;
pub mod classes;
mod fit;
mod ftrl;
mod ftrl_candidate;
mod holdout_score;
mod judge;
mod newton;
mod penalty_search;
mod progress;
pub mod search;
mod sgd;
mod solvers;
mod svrg;
mod zero_test;

pub use progress::{Progress, Stage};

use crate::eval::objective;
use crate::model::report::{Report, Stop};
use crate::problem::loss::Loss;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::settings::Settings;
use crate::problem::source::{InMemory, Source};
use crate::problem::task::Task;
use crate::problem::windows::Stream;
use crate::util::error::{Kind, Place, Result};
use crate::util::memory;
use std::sync::mpsc::channel;

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
    solvers::check(settings, &*task.loss, task.data.rows.columns(), false)?;
    memory::ask_for(16 * task.data.rows.columns(), "the weights")?;
    let mut trained = solvers::in_memory(settings.solver)(task, validation, settings, watch)?;
    let report = &trained.report;
    if report.stop == Stop::Interrupted && report.epochs == 0 && report.tried.is_empty() {
        return Err(Kind::Interrupted.into()); // weights that nobody learnt are no model
    }
    let bias = settings.bias.then_some(trained.bias);
    let penalty = ElasticNet { l1: trained.report.l1, l2: trained.report.l2 }; // which the solver may have chosen
    let weighted_penalty = WeightedPenalty { penalty, ..settings.weighted_penalty() };
    let proof = objective::certify(task.examples(), &*task.loss, weighted_penalty, &trained.weights, bias);
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
        solvers::on(&job, settings, watch)
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
    solvers::check(settings, &*stream.loss, stream.features.columns(), true)?;
    let job = Job { blocks: stream, loss: &*stream.loss, features: stream.features.count, validation };
    solvers::on(&job, settings, watch)
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
    sgd::starting_rate(&job, settings).map(|(eta0, _)| eta0)
}

/// What to learn from.
pub(crate) struct Job<'a> {
    pub blocks: &'a dyn Source,
    pub loss: &'a dyn Loss,
    pub features: usize,
    pub validation: Option<&'a Task>,
}
