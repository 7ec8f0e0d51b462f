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
//! bytes per non-zero. If they do not fit into memory, another solver goes on from the best point. A loss with kinks is smoothed,
//! and ever less (`kinks`).

mod candidates;
mod fall_back;
mod held_out;
mod kinks;
mod passes;
mod penalty;
mod room;
mod rounds;
mod sample;
mod working_set;

use super::ftrl_candidate::FtrlCandidate;
use super::job::Job;
use super::progress::Progress;
use super::{stochastic, zero_test};
use crate::model::trained::Trained;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::util::error::Result;
use candidates::How;
use penalty::Chosen;
pub(super) use penalty::{copy_some, sample_for_scales};
use rounds::{Outcome, Rounds, Until};

/// Bytes per column of a second run of FTRL-Proximal.
const FTRL_COLUMN: usize = 40;

/// Trains one model on rows on disk, with the given penalty or with one chosen by the loss on held-out rows.
pub(super) fn train(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    if !(job.settings.choose_penalty && job.settings.solver == Solver::Auto) {
        return minimise(job, Until::Gap, watch);
    }
    let Some(chosen) = penalty::choose(job, watch)? else { return zero_test::train(job, watch) };
    let mut trained = by_choice(job, &chosen, watch)?;
    trained.report.tried = chosen.tried;
    trained.notes.push(chosen.note);
    Ok(trained)
}

/// Trains on all rows as was chosen.
fn by_choice(job: &Job, chosen: &Chosen, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    let plain = Settings { choose_penalty: false, ..job.settings.clone() };
    let settings = match &chosen.how {
        How::Optimum(penalty) => Settings { penalty: *penalty, start: Some(chosen.start.clone()), ..plain },
        How::Ftrl(ftrl) => ftrl_settings(job, ftrl, &plain),
    };
    let job = &Job { settings: &settings, ..*job };
    match &chosen.how {
        _ if settings.interrupted() => penalty::interrupted(job, &chosen.start),
        How::Optimum(_) => minimise(job, Until::Decrease, watch),
        How::Ftrl(_) => stochastic::train(job.problem, job.validation, &settings, watch),
    }
}

/// The settings of FTRL-Proximal on all rows: a single run, unless there is memory for several.
fn ftrl_settings(job: &Job, ftrl: &FtrlCandidate, settings: &Settings) -> Settings {
    let settings = ftrl.settings(settings, job.problem.rows());
    let fit = job.problem.spare_memory() / (FTRL_COLUMN * job.columns()).max(1);
    Settings { runs: settings.runs.min(1 + fit as u64), ..settings }
}

/// A number of passes, as text.
fn counted(passes: u64) -> String {
    format!("{passes} {}", if passes == 1 { "pass" } else { "passes" })
}

/// Trains to the optimum, if the columns that it needs fit into memory; else by another solver.
fn minimise(job: &Job, until: Until, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    let settings = Settings { solver: Solver::Newton, ..job.settings.clone() };
    let of_newton = Job { settings: &settings, ..*job };
    if job.loss().has_kinks() {
        return match kinks::train(&of_newton, watch)? {
            Outcome::Done(trained) => Ok(*trained),
            Outcome::TooLarge { start, passes } => fall_back::train(job, start, passes, watch),
        };
    }
    match Rounds::begin(&of_newton, until, watch)?.run()? {
        Outcome::Done(trained) => Ok(*trained),
        Outcome::TooLarge { start, passes } => fall_back::train(job, start, passes, watch),
    }
}
