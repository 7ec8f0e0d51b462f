//! The choice of a penalty for rows on disk: by held-out loss on a sample of the rows that fits into memory.

use crate::data::dataset::Dataset;
use crate::data::labels::Labels;
use crate::data::rows::Rows;
use crate::model::report::{Stop, Tried};
use crate::model::trained::Trained;
use crate::problem::heads::Head;
use crate::problem::penalty::ElasticNet;
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::problem::task::{Targets, Task};
use crate::train::evaluate::evaluate;
use crate::train::holdout::Fitted;
use crate::train::job::Job;
use crate::train::penalty_search::{self, FEW_ROWS, How};
use crate::train::progress::Progress;
use crate::util::error::{Kind, Result};
use std::sync::Arc;

/// The smallest sample to choose a penalty on, in rows.
const LEAST: usize = 2000;
/// Bytes per non-zero, per row and per column that the search needs with five folds, if rows are few.
const FIVE_FOLDS: [usize; 3] = [150, 800, 240];
/// The same with one fold, if rows are many.
const ONE_FOLD: [usize; 3] = [44, 200, 64];

/// A penalty chosen on a sample, and the optimum of the sample.
pub(super) struct Chosen {
    pub penalty: ElasticNet,
    pub start: Arc<Start>,
    pub tried: Vec<Tried>,
    /// Number of rows in the sample.
    pub rows: usize,
}

/// Chooses a penalty; `None` if a sample that fits into memory would be too small.
pub(super) fn choose(job: &Job, watch: &mut dyn FnMut(&Progress)) -> Result<Option<Chosen>> {
    let task = sample(job)?;
    if task.len() < LEAST.min(job.problem.rows()) {
        return Ok(None);
    }
    let choice = penalty_search::choose(&task, job.settings, false, watch)?;
    let (tried, rows) = (choice.tried, task.len());
    Ok(match choice.how {
        How::Minimise(penalty, start) => Some(Chosen { penalty, start, tried, rows }),
        How::FtrlCandidate(_) => None, // was not asked for
    })
}

/// Rows from all over the file, as many as the search has memory for.
fn sample(job: &Job) -> Result<Task> {
    let (mut rows, mut targets, mut weights) = (Rows::new(), Vec::new(), Vec::new());
    let (columns, memory) = (job.columns(), job.problem.spare_memory());
    let (mut pairs, mut full) = (Vec::new(), false);
    let done = job.problem.epoch(job.sequence(), 0, &mut |batch| {
        let examples = batch.examples();
        for i in batch.order.iter().map(|&i| i as usize) {
            pairs.clear();
            examples.rows.for_each(i, |j, x| pairs.push((j as u32, x)));
            let nonzeros = rows.nonzeros() + pairs.len();
            let [nonzero, row, column] = if rows.len() < FEW_ROWS { FIVE_FOLDS } else { ONE_FOLD };
            full = nonzero * nonzeros + row * (rows.len() + 1) + column * columns > memory;
            if full {
                return Err(Kind::Interrupted.into()); // ends the pass
            }
            rows.push(&pairs)?;
            targets.push(examples.targets[i]);
            weights.extend(examples.weights.map(|weights| weights[i]));
        }
        Ok(())
    });
    if !full {
        done?;
    }
    rows.declare_columns(columns);
    let data = Dataset::made(rows, Labels::Numbers(targets.clone()), job.problem.features().clone());
    let targets = match job.problem.targets().classes() {
        Some(classes) => Targets::Binary { classes: classes.clone(), signs: targets },
        None => Targets::Real(targets),
    };
    let weights = job.problem.is_weighted().then_some(weights);
    Ok(Task { data, loss: job.problem.loss().clone(), targets, weights, notes: Vec::new() })
}

/// The model of a run that was interrupted during the choice: the optimum of the sample.
pub(super) fn interrupted(job: &Job, start: &Start) -> Result<Trained> {
    let settings = Settings { solver: Solver::Newton, ..job.settings.clone() };
    let job = &Job { settings: &settings, ..*job };
    let heads = vec![Head::of(start.weights.iter().copied(), start.bias)];
    let stop = Stop::Interrupted;
    evaluate(job, 0.0, Fitted { heads, stop, ..Fitted::default() }, None)
}
