//! The choice of a penalty for rows on disk.
//!
//! ```text
//! held out       some rows, in memory
//! sample         other rows, as many as fit: a ray of penalties, and where the optimum for few rows lies on it
//! all others     the optima along that ray, and FTRL-Proximal, are trained on them and judged on the rows held out
//! ```
//!
//! Without memory for the sample or for the columns of an optimum, FTRL-Proximal alone is tried.

use super::candidates::{Candidate, Comparison, How};
use super::held_out::Learnt;
use super::room;
use crate::model::report::{Stop, Tried};
use crate::model::trained::Trained;
use crate::problem::heads::Head;
use crate::problem::penalty::ElasticNet;
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::problem::task::Task;
use crate::train::copied::Copied;
use crate::train::evaluate::evaluate;
use crate::train::fold::{digits, null};
use crate::train::holdout::Fitted;
use crate::train::job::Job;
use crate::train::penalty_search::{self, NOTHING};
use crate::train::progress::Progress;
use crate::util::error::{Kind, Result};
use std::sync::Arc;

/// The smallest sample to choose a penalty on, in rows.
const LEAST: usize = 2000;
/// Bytes per non-zero, per row and per column that the search on the sample needs.
const SEARCH: [usize; 3] = [44, 200, 64];
/// The same for a comparison of the counts with their tf-idf, and the most that it needs.
const TWO_SCALES: [usize; 3] = [88, 400, 128];
const MOST_FOR_SCALES: usize = 512 << 20;
/// Bytes per non-zero and per row of the sample for the units of penalties.
const UNITS: [usize; 3] = [12, 48, 0];
/// Memory of the rows held out: one part in this many of what is spare, and at least so many bytes.
const HELD_OUT: usize = 4;
const LEAST_HELD_OUT: usize = 1 << 19;

/// How to train on all rows, and what was compared.
pub(super) struct Chosen {
    pub how: How,
    /// The best model so far, for an interruption.
    pub start: Arc<Start>,
    pub tried: Vec<Tried>,
    pub note: String,
}

/// Chooses how to train; `None` if no penalty can be chosen by held-out loss, as for targets that are all equal.
pub(super) fn choose(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Option<Chosen>> {
    let spare = job.problem.spare_memory();
    let bytes = (spare / HELD_OUT).max(LEAST_HELD_OUT);
    let (learnt, held) = Learnt::split(job.problem, job.sequence(), bytes)?;
    let on_learnt = &Job { problem: &learnt, validation: None, ..*job };
    let units = {
        let some = copy_some(on_learnt, UNITS, LEAST_HELD_OUT)?;
        penalty_search::units_of(&some, &null(&some, job.settings.bias))
    };
    let Some(units) = units.filter(|_| !held.is_empty()) else { return Ok(None) };
    let ray = ray(on_learnt, watch)?;
    let mut compared = Comparison::new(on_learnt, &held, watch);
    let sampled = ray.as_ref().map(|ray| ray.rows);
    if let Some(ray) = ray {
        compared.tried = ray.tried;
        compared.optima(ray.penalty, ray.start)?;
    }
    compared.follow_leaders(units)?;
    let (best, mut tried, too_large) = compared.best();
    let Some(best) = best else { return Err(Kind::Interrupted.into()) };
    let note = note(job, &held, sampled, too_large, &best);
    let how = match best.held.is_better_than_nothing() || job.settings.factors.is_some() {
        true => best.how,
        false => How::Optimum(nothing(job, &best, &mut tried)?),
    };
    Ok(Some(Chosen { how, start: best.start, tried, note }))
}

/// The penalty of a sample, and its optimum.
struct Ray {
    penalty: ElasticNet,
    start: Arc<Start>,
    tried: Vec<Tried>,
    rows: usize,
}

/// Searches on a sample that fits into memory; `None` if it would be too small, or columns surely do not fit.
fn ray(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Option<Ray>> {
    let (rows, spare) = (job.problem.rows(), job.problem.spare_memory());
    if job.loss().has_kinks() || room::of_rows(rows, 1 + usize::from(job.problem.has_offsets())) > spare {
        return Ok(None);
    }
    let task = copy_some(job, SEARCH, spare)?;
    if task.len() < LEAST.min(rows / 2) {
        return Ok(None);
    }
    let choice = penalty_search::choose_on_sample(&task, job.settings, watch)?;
    let mut tried = choice.tried;
    tried.iter_mut().for_each(|point| point.chosen = false); // the choice is made on all rows
    Ok(match choice.how {
        penalty_search::How::Minimise(penalty, start) => {
            Some(Ray { penalty, start, tried, rows: task.len() })
        }
        penalty_search::How::FtrlCandidate(_) => None, // was not asked for
    })
}

/// A sample to compare two scales of its values on; `None` if it would be too small.
pub(in crate::train) fn sample_for_scales(job: &Job) -> Result<Option<Task>> {
    let task = copy_some(job, TWO_SCALES, job.problem.spare_memory().min(MOST_FOR_SCALES))?;
    Ok(Some(task).filter(|task| task.len() >= LEAST.min(job.problem.rows() / 2)))
}

/// Rows from all over the file, as many as fit, at so many bytes per non-zero, row and column.
pub(in crate::train) fn copy_some(
    job: &Job,
    [nonzero, row, column]: [usize; 3],
    memory: usize,
) -> Result<Task> {
    let (columns, mut copied, mut full) = (job.columns(), Copied::default(), false);
    let done = job.problem.epoch(job.sequence(), 0, &mut |batch| {
        for i in batch.order.iter().map(|&i| i as usize) {
            let [rows, nonzeros] = copied.size();
            full = nonzero * nonzeros + row * rows + column * columns > memory;
            if full {
                return Err(Kind::Interrupted.into()); // ends the pass
            }
            copied.push(batch, i)?;
        }
        Ok(())
    });
    if !full {
        done?;
    }
    Ok(copied.task(job.problem))
}

/// A penalty at which all weights are zero: no candidate is better than the bias alone.
fn nothing(job: &Job, best: &Candidate, tried: &mut Vec<Tried>) -> Result<ElasticNet> {
    let none = Fitted { heads: vec![Head::default()], ..Fitted::default() };
    let report = evaluate(job, 0.0, none, None)?.report;
    let l1 = digits(NOTHING * report.l1_max);
    tried[best.number].chosen = false;
    let (loss, rows) = (best.held.loss_of_nothing(), tried[best.number].rows);
    let (solver, se, nonzeros, seconds) = (Solver::Newton, f64::NAN, 0, 0.0);
    tried.push(Tried { solver, l1, l2: 0.0, loss, se, nonzeros, rows, seconds, chosen: true });
    Ok(ElasticNet { l1, l2: 0.0 })
}

/// What the choice was made on.
fn note(job: &Job, held: &Task, sampled: Option<usize>, too_large: bool, best: &Candidate) -> String {
    let (some, all) = (held.len(), job.problem.rows());
    let ftrl = match (&best.how, sampled, too_large) {
        (How::Optimum(_), Some(rows), _) => format!("; a sample of {rows} rows gave the first penalty"),
        (How::Optimum(_), None, _) => String::new(),
        (How::Ftrl(_), Some(_), false) => "; FTRL-Proximal predicts them better than the optimum".to_string(),
        (How::Ftrl(_), ..) => {
            "; FTRL-Proximal is the model, since the columns of an optimum do not fit into memory".to_string()
        }
    };
    format!(
        "rows on disk: the penalty was chosen by the loss on {some} of {all} rows, which were held out{ftrl}"
    )
}

/// The model of a run that was interrupted during the choice: the best candidate so far.
pub(super) fn interrupted(job: &Job, start: &Start) -> Result<Trained> {
    let settings = Settings { solver: Solver::Newton, ..job.settings.clone() };
    let job = &Job { settings: &settings, ..*job };
    let heads = vec![Head::of(start.weights.iter().copied(), start.bias)];
    let stop = Stop::Interrupted;
    evaluate(job, 0.0, Fitted { heads, stop, ..Fitted::default() }, None)
}
