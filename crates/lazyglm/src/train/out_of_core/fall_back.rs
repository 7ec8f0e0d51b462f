//! Another solver, for a working set that does not fit into memory.

use super::counted;
use crate::model::trained::Trained;
use crate::problem::request::Request;
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::train::job::Job;
use crate::train::progress::Progress;
use crate::train::{stochastic, zero_test};
use crate::util::error::Result;
use crate::util::parameter::Parameter;
use std::sync::Arc;

/// Largest number of epochs of SVRG, which stops earlier at the tolerance.
const EPOCHS: u64 = 100;
/// Additional bytes per column that SVRG needs.
const SVRG_COLUMN: usize = 148;

/// Trains by SVRG from a point if it supports the problem and was asked for the optimum, else by SGD and the zero test.
pub(super) fn train(
    job: &Job,
    start: Start,
    passes: u64,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Trained> {
    let start = Some(Arc::new(start));
    let of_svrg = Settings {
        solver: Solver::Svrg,
        start: start.clone(),
        epochs: EPOCHS,
        eta0: None,
        ..job.settings.clone()
    };
    let (mut trained, how) = match job.settings.solver == Solver::Newton && svrg_can(job) {
        true => (stochastic::train(job.problem, job.validation, &of_svrg, watch)?, "SVRG"),
        false => {
            let settings = Settings { start, ..job.settings.clone() };
            (zero_test::train(&Job { settings: &settings, ..*job }, watch)?, "SGD and the zero test")
        }
    };
    let after = match passes {
        0 => String::new(),
        passes => format!(" after {}", counted(passes)),
    };
    trained.notes.push(format!(
        "rows on disk: the columns that Newton's method needs do not fit into memory{after}, so {how} trained this model; raise {} or l1 for Newton's method",
        Parameter::Memory
    ));
    Ok(trained)
}

/// Whether SVRG supports the problem, and has enough memory.
fn svrg_can(job: &Job) -> bool {
    let settings = job.settings;
    let wanted = Request {
        loss: Some(job.loss()),
        on_disk: true,
        factors: settings.factors.is_some(),
        nonnegative: settings.nonnegative,
        lower: settings.bounds.is_some(),
        ..Request::default()
    };
    Solver::Svrg.check(&wanted).is_ok() && job.problem.spare_memory() >= SVRG_COLUMN * job.columns()
}
