//! Training to the optimum by Newton's method: see [`crate::optim::newton`].

use super::evaluate::evaluate;
use super::holdout::Fitted;
use super::job::Job;
use super::progress::{Progress, Stage};
use crate::eval::objective;
use crate::model::report::{Stop, Validation};
use crate::model::trained::Trained;
use crate::optim::newton::{self, NewtonProgress, Options, Problem};
use crate::problem::heads::Head;
use crate::problem::settings::Settings;
use crate::problem::task::Task;
use crate::util::error::Result;
use crate::util::memory;
use std::sync::OnceLock;
use std::time::Instant;

/// Largest number of Newton steps. A problem with an optimum needs about ten to forty.
pub(super) const STEPS: usize = 200;

/// Trains one model to the optimum, within the tolerance.
pub(super) fn train(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Trained> {
    let loss = &*task.loss;
    // The column-wise copy is as large as the rows; the rest is a few numbers per row and column.
    let (nonzeros, columns) = (task.data.rows.nonzeros(), task.data.rows.columns());
    memory::ask_for(16 * nonzeros + 32 * (columns + task.len()), "rows, columns and weights")?;
    let weighted_penalty = settings.weighted_penalty();
    let start = settings.start.as_ref().map(|start| (start.weights.as_slice(), start.bias));
    let problem = Problem { examples: task.examples(), loss, weighted_penalty, bias: settings.bias };
    let rows = task.len() as u64;
    let mut progress = Progress::start(STEPS as u64, rows);
    progress.stage = Stage::Minimising;
    let options = Options { tolerance: settings.tolerance, steps: STEPS };
    let started = Instant::now();
    let found = newton::solve(&problem, start, &options, &mut |look: &NewtonProgress| {
        progress.epoch = look.steps as u64 + 1;
        progress.learnt = look.steps as u64 * rows;
        progress.running_loss = look.objective;
        progress.nonzeros = Some(look.nonzeros);
        progress.epoch_ends = true;
        watch(&progress);
        !settings.interrupted()
    });
    let seconds = started.elapsed().as_secs_f64();
    let held_out = validation.map(|held| {
        let loss = objective::mean_loss(held.examples(), &*held.loss, &found.weights, found.bias);
        Validation { loss, best_epoch: found.steps as u64 }
    });
    let fitted = Fitted {
        heads: vec![Head::of(found.weights.into_iter(), found.bias)],
        epochs: found.steps as u64,
        stop: match found.stop {
            newton::NewtonStop::Gap => Stop::Gap,
            newton::NewtonStop::PredictedDecrease => Stop::PredictedDecrease,
            newton::NewtonStop::Precision => Stop::Precision,
            newton::NewtonStop::Steps => Stop::Steps,
            newton::NewtonStop::Interrupted => Stop::Interrupted,
        },
        seconds,
        validation: held_out,
        history: Vec::new(),
    };
    let mut trained = evaluated(task, validation, settings, fitted)?;
    trained.report.predicted_decrease =
        Some(found.predicted_decrease).filter(|predicted_decrease| predicted_decrease.is_finite());
    Ok(trained)
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
    let heads = vec![Head { bias, ..Head::default() }];
    let (stop, history) = (Stop::Gap, Vec::new());
    let fitted = Fitted { heads, epochs: 0, stop, seconds: 0.0, validation: held_out, history };
    evaluated(task, validation, settings, fitted)
}

fn evaluated(task: &Task, validation: Option<&Task>, settings: &Settings, fitted: Fitted) -> Result<Trained> {
    evaluate(&Job { problem: task, validation, settings, null: &OnceLock::new() }, 0.0, fitted)
}
