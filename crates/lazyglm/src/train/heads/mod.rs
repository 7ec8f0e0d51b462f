//! Training of one head per class or label. Independent heads are trained as lanes; a `softmax` couples them.
//! [`Room`] plans the memory.
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
mod rate;
mod report;
mod softmax;
mod thresholds;

pub use memory::Room;

use super::evaluate::lower_eta0;
use super::holdout::Fitted;
use super::progress::Progress;
use crate::eval::objective::HeadsEvaluation;
use crate::model::trained::Trained;
use crate::problem::heads::HeadKind;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::problem::task::{HeadTargets, Sets, Task};
use crate::util::error::{Error, Result};
use std::time::Instant;

/// A task with many heads, and how to train it.
#[derive(Clone, Copy)]
struct Job<'a> {
    task: &'a Task,
    targets: HeadTargets<'a>,
    validation: Option<&'a Task>,
    settings: &'a Settings,
    /// The starting learning rate; 0 for a solver without one.
    eta0: f64,
    room: Room,
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
    /// Number of heads without any step, because the run was interrupted.
    untouched: usize,
    thresholds: Option<Vec<f64>>,
}

/// The heads of each row; empty for a task with one model.
fn sets(task: &Task) -> &Sets {
    static NONE: Sets = Sets { ends: Vec::new(), ids: Vec::new() };
    task.targets.heads().map_or(&NONE, |heads| heads.sets)
}

/// Trains one head per class or label. With tuned thresholds, each label gets a threshold, tuned on the held-out rows if
/// there are any, else on the training rows.
pub(super) fn train(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Trained> {
    let Some(targets) = task.targets.heads() else {
        return Err(Error::call("the task has no heads", "give targets of classes or labels"));
    };
    let room = Room::plan(task, settings.precision, settings.memory)?;
    let job = Job { task, targets, validation, settings, eta0: 0.0, room };
    if settings.solver == Solver::Newton {
        return report::report(&job, newton::fit(&job, watch)?);
    }
    let started = Instant::now();
    let eta0 = match settings.eta0 {
        _ if !settings.schedule.uses_eta0() => f64::NAN, // not used
        Some(eta0) => eta0,
        None => rate::find(task, targets, settings)?,
    };
    let rate = rate::schedule(task, settings, eta0)?;
    settings.method.check(settings.penalty, rate.eta(0))?;
    let job = Job { eta0: rate.eta(0), ..job };
    let mut learnt = match targets.kind {
        HeadKind::Softmax => softmax::fit(&job, &*rate, watch)?,
        _ => lanes::fit(&job, &*rate, watch)?,
    };
    learnt.fitted.seconds = started.elapsed().as_secs_f64();
    report::report(&job, learnt)
}
