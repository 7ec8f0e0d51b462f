//! The certified optimum for rows on disk: Newton's method on a working set of columns in memory.
//!
//! ```text
//! sample     some rows in memory: their optimum is the start
//! pass       over all rows: F and the gradient of all columns; copies the columns that the last gradient asked for
//! solve      the problem restricted to the columns in memory, by Newton's method
//! ```
//!
//! Each round is one solve and one pass. The loss derivatives of a pass are known before it, so the pass also gives the
//! duality gap over all columns: [`crate::eval::objective`] computes F and the gradient from the rows. Columns are kept in few
//! bytes per non-zero. If they do not fit into memory, another solver goes on from the best point.

mod fall_back;
mod passes;
mod penalty;
mod room;
mod rounds;
mod sample;
mod working_set;

use super::job::Job;
use super::progress::Progress;
use super::zero_test;
use crate::model::trained::Trained;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::util::error::Result;
use rounds::{Outcome, Rounds};

/// Trains one model on rows on disk, with the given penalty or with one chosen on a sample of the rows.
pub(super) fn train(job: &Job, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
    if !(job.settings.choose_penalty && job.settings.solver == Solver::Auto) {
        return minimise(job, watch);
    }
    let Some(chosen) = penalty::choose(job, watch)? else { return zero_test::train(job, watch) };
    let settings = Settings {
        penalty: chosen.penalty,
        start: Some(chosen.start.clone()),
        choose_penalty: false,
        ..job.settings.clone()
    };
    let job = &Job { settings: &settings, ..*job };
    let mut trained = match settings.interrupted() {
        true => penalty::interrupted(job, &chosen.start)?,
        false => minimise(job, watch)?,
    };
    trained.report.tried = chosen.tried;
    let (some, all) = (chosen.rows, job.problem.rows());
    trained.notes.push(format!("rows on disk: the penalty was chosen on a sample of {some} of {all} rows"));
    Ok(trained)
}

/// A number of passes, as text.
fn counted(passes: u64) -> String {
    format!("{passes} {}", if passes == 1 { "pass" } else { "passes" })
}

/// Trains to the optimum, if the columns that it needs fit into memory; else by another solver.
fn minimise(job: &Job, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
    let settings = Settings { solver: Solver::Newton, ..job.settings.clone() };
    let of_newton = Job { settings: &settings, ..*job };
    match Rounds::begin(&of_newton, watch)?.run()? {
        Outcome::Done(trained) => Ok(*trained),
        Outcome::TooLarge { start, passes } => fall_back::train(job, start, passes, watch),
    }
}
