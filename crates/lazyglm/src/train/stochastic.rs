//! Dispatch to the stochastic solvers, for rows in memory or on disk.

use super::beside::beside;
use super::job::Job;
use super::progress::Progress;
use super::retry::until_finite;
use super::{adagrad, ftrl, sgd, svrg};
use crate::model::trained::Trained;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::problem::source::Problem;
use crate::problem::task::Task;
use crate::util::error::Result;

/// Trains one model with the stochastic solver of the settings.
pub(super) fn train(
    problem: &dyn Problem,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    beside(problem, settings.bias, |beside| {
        until_finite(settings, &mut |settings| {
            let job = Job { problem, validation, settings, beside };
            match settings.solver {
                Solver::Adagrad => adagrad::train(&job, watch),
                Solver::Ftrl => ftrl::train(&job, watch),
                Solver::Svrg => svrg::train(&job, watch),
                _ => sgd::train(&job, watch),
            }
        })
    })
}
