//! Training to the optimum by Newton's method: see [`crate::optim::newton`].

use super::evaluate::evaluate;
use super::holdout::Fitted;
use super::job::Job;
use super::minimiser::{Minimiser, STEPS, Solve};
use super::minimum::Minimum;
use super::progress::{Progress, Stage};
use super::told::told;
use crate::eval::objective;
use crate::model::report::Validation;
use crate::model::trained::Trained;
use crate::optim::newton::{Bounds, NewtonProgress};
use crate::problem::heads::{Head, HeadKind};
use crate::problem::loss::Loss;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::problem::task::Task;
use crate::util::error::{Error, Kind, Result};
use crate::util::memory;
use crate::util::parameter::Parameter;
use std::time::Instant;

/// Trains one model to the optimum, within the tolerance.
pub(super) fn train(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    let (found, seconds) = minimise(task, settings, watch)?;
    let held_out = validation.map(|held| {
        let head = &found.heads[0];
        let weights = head.dense(task.data.rows.columns());
        let loss = objective::mean_loss(held.examples(), &*held.loss, &weights, head.bias);
        Validation { loss, best_epoch: found.steps as u64 }
    });
    let predicted_decrease = Some(found.predicted_decrease).filter(|decrease| decrease.is_finite());
    let (dual, fitted) = (found.duals[0], found.fitted(seconds, held_out));
    let mut trained = evaluated(task, validation, settings, fitted, dual)?;
    trained.report.predicted_decrease = predicted_decrease;
    Ok(trained)
}

/// Whether Newton's method finds the optimum for this loss.
pub(super) fn can(loss: &dyn Loss, settings: &Settings) -> bool {
    !loss.has_kinks() || check_kinks(loss, settings).is_ok()
}

/// Rejects a loss with kinks that is not piecewise linear, or has no penalty.
pub(super) fn check_kinks(loss: &dyn Loss, settings: &Settings) -> Result<()> {
    let [solver, sgd] = [Solver::Newton, Solver::Sgd].map(|solver| Parameter::Solver.set(solver));
    if loss.linear_pieces(1.0).is_none() {
        let what =
            format!("{solver} needs a loss that is smooth or piecewise linear, and '{}' is not", loss.spec());
        return Err(Error::call(what, format!("use {sgd}")));
    }
    if settings.penalty.is_none() {
        let what = format!("{solver} needs a penalty for loss '{}', to certify the optimum", loss.spec());
        let hint = format!("set {} or {} above 0, or use {sgd}", Parameter::L1, Parameter::L2);
        return Err(Error::call(what, hint));
    }
    Ok(())
}

/// Minimises F for the penalty of the settings, and returns the seconds that it took.
pub(super) fn minimise(
    task: &Task,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<(Minimum, f64)> {
    if task.loss.has_kinks() {
        check_kinks(&*task.loss, settings)?;
    }
    // The column-wise copy is as large as the rows; the rest is a few numbers per row and column.
    let (nonzeros, columns) = (task.data.rows.nonzeros(), task.data.rows.columns());
    memory::ask_for(16 * nonzeros + 32 * (columns + task.len()), "rows, columns and weights")?;
    let started = Instant::now();
    let mut progress = Progress::start(STEPS as u64, task.len() as u64);
    progress.stage = Stage::Minimising;
    let mut solved = vec![None; task.targets.heads().map_or(1, |heads| heads.names.len())];
    let mut see = |head: usize, at: NewtonProgress| {
        solved[head] = Some(at);
        progress.see(&solved);
        watch(&progress);
    };
    let start = settings.start.as_ref().map(|start| start.to_heads());
    let go_on = |_: usize, _: &NewtonProgress| !settings.interrupted();
    let solve = Solve {
        weighted_penalty: settings.weighted_penalty(),
        bias: settings.bias,
        start: start.as_deref(),
        tolerance: settings.tolerance,
        bounds: Bounds { interrupt: settings.interrupt.as_deref(), ..Bounds::none() },
        watch: &go_on,
        checkpoint: settings.checkpoint.as_deref(),
    };
    let apart = task.targets.heads().is_some_and(|heads| heads.kind != HeadKind::Softmax);
    let found = match apart {
        false => Minimiser::default().minimise_one(task, &solve, &mut |at| {
            see(0, *at);
            !settings.interrupted()
        }),
        true => heads_apart(task, &solve, settings, &mut see),
    };
    if found.diverged {
        return Err(diverged(task, found.steps, settings.start.is_some()));
    }
    Ok((found, started.elapsed().as_secs_f64()))
}

/// Minimises F of independent heads on all threads.
fn heads_apart(
    task: &Task,
    solve: &Solve,
    settings: &Settings,
    see: &mut (dyn FnMut(usize, NewtonProgress) + Send),
) -> Minimum {
    told(
        |tell| {
            let watch = |head: usize, at: &NewtonProgress| {
                tell((head, *at));
                !settings.interrupted()
            };
            Minimiser::default().minimise(task, &Solve { watch: &watch, ..*solve })
        },
        &mut |(head, at)| see(head, at),
    )
}

impl Progress {
    /// Sums the progress of the heads that have begun.
    fn see(&mut self, heads: &[Option<NewtonProgress>]) {
        let begun = || heads.iter().flatten();
        let steps: u64 = begun().map(|at| at.steps as u64).sum();
        (self.epoch, self.learnt) = (steps + 1, steps * self.total / self.epochs.max(1));
        self.running_loss = begun().map(|at| at.objective).sum();
        self.nonzeros = Some(begun().map(|at| at.nonzeros).sum());
        self.epoch_ends = true;
    }
}

impl Minimum {
    /// The heads, with how they were found.
    pub fn fitted(self, seconds: f64, validation: Option<Validation>) -> Fitted {
        let Minimum { heads, stop, steps, .. } = self;
        Fitted { heads, epochs: steps as u64, stop, seconds, validation, ..Fitted::default() }
    }
}

/// The error for an objective or a quadratic model that is infinite or NaN.
fn diverged(task: &Task, steps: usize, from_start: bool) -> Error {
    let (what, hint) = match from_start && steps == 0 {
        true => (
            "the objective of the initial weights, or its quadratic model, is infinite or NaN",
            format!("give {} smaller weights, or leave it out", Parameter::Start),
        ),
        false => (
            "the objective or its quadratic model is infinite or NaN",
            "scale the features down, and targets as well if they are numbers".to_string(),
        ),
    };
    let (place, step) = (task.data.file(), (steps * task.len()) as u64);
    Kind::Diverged { place, epoch: steps as u64, step, what: what.to_string(), hint }.into()
}

/// A model with a bias alone, which is the optimum if no weight has a gradient.
pub(super) fn of_bias_alone(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    bias: f64,
) -> Result<Trained> {
    let weights = vec![0.0; task.data.rows.columns()];
    let held_out = validation.map(|held| {
        let loss = objective::mean_loss(held.examples(), &*held.loss, &weights, bias);
        Validation { loss, best_epoch: 0 }
    });
    let found = Minimum { heads: vec![Head { bias, ..Head::default() }], ..Minimum::nothing() };
    evaluated(task, validation, settings, found.fitted(0.0, held_out), None)
}

fn evaluated(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    fitted: Fitted,
    known: Option<f64>,
) -> Result<Trained> {
    evaluate(&Job { problem: task, validation, settings, beside: None }, 0.0, fitted, known)
}
