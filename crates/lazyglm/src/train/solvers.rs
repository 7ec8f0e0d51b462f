//! Where the code of each solver is, and the checks of its settings. What a solver can do stands in [`crate::problem::solvers`].

use super::{Job, Progress, Trained, adagrad, auto, ftrl, newton, sgd, svrg, train_in_memory, zero_test};
use crate::problem::loss::Loss;
use crate::problem::settings::Settings;
use crate::problem::solvers::{Request, Solver};
use crate::problem::task::Task;
use crate::util::error::{Error, Result};

/// Trains on rows in memory; held-out rows, settings, progress.
type Train = fn(&Task, Option<&Task>, &Settings, &mut dyn FnMut(&Progress)) -> Result<Trained>;

/// Trains on rows wherever they are.
type TrainOn = fn(&Job, &Settings, &mut dyn FnMut(&Progress)) -> Result<Trained>;

/// More than anybody has the memory for.
const MOST_RUNS: u64 = 1000;

/// The code that trains on rows in memory.
pub(super) fn in_memory(solver: Solver) -> Train {
    match solver {
        Solver::Auto => auto::train,
        Solver::Newton => newton::train,
        Solver::Sgd | Solver::Adagrad | Solver::Ftrl | Solver::Svrg => train_in_memory,
    }
}

/// The code that goes through rows wherever they are, if the solver has any.
fn anywhere(solver: Solver) -> Option<TrainOn> {
    match solver {
        Solver::Auto => Some(zero_test::train),
        Solver::Sgd => Some(sgd::train),
        Solver::Newton => None,
        Solver::Adagrad => Some(adagrad::train),
        Solver::Ftrl => Some(ftrl::train),
        Solver::Svrg => Some(svrg::train),
    }
}

/// Trains on rows wherever they are.
pub(super) fn on(job: &Job, settings: &Settings, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
    match anywhere(settings.solver) {
        Some(train) => train(job, settings, watch),
        None => {
            settings.solver.check(&Request { on_disk: true, ..wanted(job.loss, settings) }).and_then(|()| {
                let what = format!("--solver {} needs all rows in memory", settings.solver);
                Err(Error::call(what, "raise --memory, or use --solver sgd"))
            })
        }
    }
}

/// What these settings want of their solver.
fn wanted<'a>(loss: &'a dyn Loss, settings: &Settings) -> Request<'a> {
    Request {
        loss: Some(loss),
        factors: settings.factors.is_some(),
        bounds: settings.nonnegative,
        runs: settings.runs != 1,
        ..Request::default()
    }
}

/// Refuses what the solver cannot do, and arrays of another length than there are columns.
pub(super) fn check(settings: &Settings, loss: &dyn Loss, columns: usize, on_disk: bool) -> Result<()> {
    if !(1..=MOST_RUNS).contains(&settings.runs) {
        let hint = format!("give a number from 1 to {MOST_RUNS}");
        return Err(Error::call(format!("the mean of {} runs", settings.runs), hint));
    }
    settings.solver.check(&Request { on_disk, ..wanted(loss, settings) })?;
    let start = settings.start.as_ref().map(|start| start.weights.len());
    let factors = settings.factors.as_ref().map(|factors| factors.len());
    match [start, factors].into_iter().flatten().find(|length| *length != columns) {
        None => Ok(()),
        Some(length) => Err(Error::call(
            format!("a start or factors for {length} columns, and there are {columns}"),
            "give one number per column",
        )),
    }
}
