//! Training of one head per class or label. Independent heads are trained as lanes; a `softmax` couples them.
//! [`MemoryPlan`] plans the memory.
//!
//! ```
//! use lazyglm::{Dataset, Declared, Settings, Task, train};
//! let file = std::env::temp_dir().join("lazyglm-doc-classes.svm");
//! std::fs::write(&file, "a 1:1\nb 2:1\nc 3:1\n".repeat(50)).unwrap();
//! let task = Task::builder(Dataset::read(&file, Declared::default()).unwrap()).build().unwrap();
//! let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
//! assert_eq!(trained.heads.len(), 3);
//! assert!(trained.report.objective < trained.report.baseline);
//! ```

mod lanes;
mod memory;
mod newton;
mod on_disk;
mod rate;
mod report;
mod sample;
mod softmax;
mod thresholds;

pub use memory::MemoryPlan;
pub(super) use on_disk::train as train_on_disk;
pub(super) use sample::{SAMPLED_HEADS, sampled};

use super::evaluate::lower_eta0;
use super::holdout::Fitted;
use super::progress::Progress;
use super::retry::{heads_may_retry, until_finite};
use crate::eval::objective::HeadsEvaluation;
use crate::model::trained::Trained;
use crate::problem::heads::HeadKind;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::problem::task::{HeadTargets, Sets, Task};
use crate::train::penalty_search::{self, Choice, How};
use crate::train::units::Unit;
use crate::util::error::{Error, Kind, Result};
use std::sync::OnceLock;
use std::time::Instant;

/// Rows times classes between two looks at the clock and at signals: some tenths of a second.
const STRIDE: usize = 1 << 21;

/// A task with many heads, and how to train it.
#[derive(Clone, Copy)]
struct Job<'a> {
    task: &'a Task,
    targets: HeadTargets<'a>,
    validation: Option<&'a Task>,
    settings: &'a Settings,
    /// The starting learning rate; 0 for a solver without one.
    eta0: f64,
    room: MemoryPlan,
    /// The summed weights of the rows of each head, once a head without weights needs them.
    weights: &'a OnceLock<Vec<f64>>,
}

impl<'a> Job<'a> {
    /// The advice to give if the run diverges.
    fn slower(&self) -> String {
        lower_eta0(self.eta0)
    }

    /// What evaluates the heads on the rows of a task.
    fn evaluation(&self, task: &'a Task) -> HeadsEvaluation<'a> {
        HeadsEvaluation {
            rows: task.data.rows.borrow(),
            weights: task.weights.as_deref(),
            sets: sets(task),
            kind: self.targets.kind,
            loss: &*task.loss,
            weighted_penalty: self.settings.weighted_penalty(),
            with_bias: self.settings.bias,
            at_once: self.room.judged_at_once,
        }
    }
}

/// The trained heads and the history of their training.
struct FittedHeads {
    fitted: Fitted,
    /// Heads that diverged: number, row and step.
    diverged: Vec<(usize, crate::optim::sgd::Diverged)>,
    /// Lower bounds on F that a solver found for heads; none for solvers without.
    duals: Vec<Option<f64>>,
    /// Number of heads without any step, because the run was interrupted.
    untouched: usize,
}

/// The heads of each row; empty for a task with one model.
fn sets(task: &Task) -> &Sets {
    static NONE: Sets = Sets { ends: Vec::new(), ids: Vec::new() };
    task.targets.heads().map_or(&NONE, |heads| heads.sets)
}

/// Trains one head per class or label. With tuned thresholds, each label gets a threshold.
pub(super) fn train(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    let Some(targets) = task.targets.heads() else {
        return Err(Error::call("the task has no heads", "give targets of classes or labels"));
    };
    let room = MemoryPlan::plan(task, settings)?;
    // With kinks, a penalty cannot be chosen by minimisers in reasonable time: SGD with a weak one then.
    let plain = settings.start.is_none() && settings.has_one_penalty();
    let by_sgd = targets_have_kinks(task) && settings.choose_penalty && plain;
    if settings.solver == Solver::Auto && !by_sgd {
        return auto(task, validation, settings, watch);
    }
    let stochastic = Settings { solver: Solver::Sgd, ..settings.clone() };
    let settings = if settings.solver == Solver::Auto { &stochastic } else { settings }; // the report names it
    let weights = &OnceLock::new();
    let job = Job { task, targets, validation, settings, eta0: 0.0, room, weights };
    let mut trained = until_finite(settings, &mut |settings| fit(Job { settings, ..job }, watch))?;
    if settings.tuned_thresholds {
        thresholds::add(&mut trained, task, validation, settings, watch)?;
    }
    Ok(trained)
}

/// Trains all heads with one penalty.
fn fit(job: Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    let Job { task, targets, settings, .. } = job;
    if settings.solver == Solver::Newton {
        return report::report(&job, newton::fit(&job, watch)?);
    }
    let started = Instant::now();
    let eta0 = match settings.eta0 {
        _ if !settings.schedule.uses_eta0() => f64::NAN, // not used
        Some(eta0) => eta0,
        None => {
            let unit = Unit::of(settings, "rate of heads", task, None)?;
            let mut eta0 = 0.0;
            match &unit {
                Some(unit) if unit.checkpoint.find(unit.key, &mut eta0)? => {}
                _ => eta0 = rate::find(task, targets, settings)?,
            }
            unit.iter().for_each(|unit| unit.checkpoint.put(unit.key, &mut eta0));
            eta0
        }
    };
    let rate = rate::schedule(task.len(), settings, settings.rate_factor * eta0)?;
    settings.method.check(settings.penalty, rate.eta(0))?;
    let job = Job { eta0: rate.eta(0), ..job };
    let mut learnt = match targets.kind {
        HeadKind::Softmax => softmax::fit(&job, &*rate, watch)?,
        _ => lanes::fit(&job, &*rate, watch)?,
    };
    if let (true, Some((_, at))) = (heads_may_retry(settings), learnt.diverged.first()) {
        let what = format!("{} of {} heads diverged", learnt.diverged.len(), targets.names.len());
        let (place, epoch) = (task.data.place(at.row), learnt.fitted.epochs);
        return Err(Kind::Diverged { place, epoch, step: at.t, what, hint: job.slower() }.into());
    }
    learnt.fitted.seconds = started.elapsed().as_secs_f64();
    report::report(&job, learnt)
}

/// Trains all heads to the optimum, with one penalty for all of them that is chosen by held-out loss if none is given.
fn auto(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    let mut settings = Settings { solver: Solver::Newton, ..settings.clone() };
    if !settings.choose_penalty || targets_have_kinks(task) {
        return train(task, validation, &settings, watch);
    }
    let some = sampled(task);
    let Choice { how, tried, .. } =
        penalty_search::choose(some.as_ref().unwrap_or(task), &settings, false, watch)?;
    if let How::Minimise(penalty, start) = how {
        settings.penalty = penalty;
        settings.start = settings.start.or_else(|| some.is_none().then_some(start));
    }
    let mut trained = train(task, validation, &settings, watch)?;
    trained.report.tried = tried;
    Ok(trained)
}

fn targets_have_kinks(task: &Task) -> bool {
    task.loss.has_kinks() && task.targets.heads().is_some_and(|heads| heads.kind != HeadKind::Softmax)
}
