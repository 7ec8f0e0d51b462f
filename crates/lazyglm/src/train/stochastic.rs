//! Dispatch to the stochastic solvers, for rows in memory or on disk.

use super::job::Job;
use super::progress::Progress;
use super::{adagrad, ftrl, sgd, svrg};
use crate::eval::objective::NullModel;
use crate::model::trained::Trained;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::problem::source::Problem;
use crate::problem::task::Task;
use crate::util::error::Result;
use std::sync::OnceLock;

/// Trains one model with the stochastic solver of the settings.
pub(super) fn train(
    problem: &dyn Problem,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Trained> {
    let null = OnceLock::new();
    let job = Job { problem, validation, settings, null: &null };
    std::thread::scope(|scope| {
        // On one thread the null model is found when it is needed; and a thread of the pool must not wait for one that needs it.
        let alone = rayon::current_num_threads() == 1 || rayon::current_thread_index().is_some();
        if let (false, Some(task)) = (alone, problem.in_memory()) {
            let null = &null;
            scope.spawn(move || {
                null.get_or_init(|| NullModel::of(task.examples(), &*task.loss, settings.bias).figures());
            });
        }
        match settings.solver {
            Solver::Adagrad => adagrad::train(&job, watch),
            Solver::Ftrl => ftrl::train(&job, watch),
            Solver::Svrg => svrg::train(&job, watch),
            _ => sgd::train(&job, watch),
        }
    })
}
