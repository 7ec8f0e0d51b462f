//! Another solver, for a working set that does not fit into memory.

use super::counted;
use crate::model::report::Stop;
use crate::model::trained::Trained;
use crate::problem::request::Request;
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::train::job::Job;
use crate::train::progress::Progress;
use crate::train::retry::until_finite;
use crate::train::{svrg, zero_test};
use crate::util::error::Result;
use crate::util::parameter::Parameter;
use std::sync::Arc;

/// Largest number of epochs of SVRG, which stops earlier at the tolerance: with `newton`, which was asked for the optimum,
const EPOCHS: u64 = 100;
/// and with `auto`.
const EPOCHS_OF_AUTO: u64 = 32;
/// Additional bytes per column of sums on several threads.
const SUMS: usize = 48;

/// Trains by SVRG from a point if it supports the problem, else by SGD and the zero test.
pub(super) fn train(
    job: &Job,
    start: Start,
    passes: u64,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    let start = Some(Arc::new(start));
    let (mut trained, how) = match svrg_can(job) {
        true => by_svrg(job, start, watch)?,
        false => {
            let settings = Settings { start, ..job.settings.clone() };
            let job = &Job { settings: &settings, ..*job };
            (
                zero_test::train(job, watch)?,
                "SGD and the zero test trained this model, without a certificate".to_string(),
            )
        }
    };
    let after = match passes {
        0 => String::new(),
        passes => format!(" after {}", counted(passes)),
    };
    trained.notes.push(format!(
        "rows on disk: the columns that Newton's method needs do not fit into memory{after}, so {how}; raise {} or l1 for Newton's method",
        Parameter::Memory
    ));
    Ok(trained)
}

/// Trains by SVRG until its own rule stops it; returns how far it went, as text.
fn by_svrg(
    job: &Job,
    start: Option<Arc<Start>>,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<(Trained, String)> {
    let epochs = if job.settings.solver == Solver::Newton { EPOCHS } else { EPOCHS_OF_AUTO };
    let settings = Settings { solver: Solver::Svrg, start, epochs, eta0: None, ..job.settings.clone() };
    let lean = job.problem.spare_memory() < SUMS * job.columns();
    let mut gap = f64::NAN;
    let trained = until_finite(&settings, &mut |settings| {
        let found = svrg::with_gap(&Job { settings, ..*job }, lean, watch)?;
        gap = found.1;
        Ok(found.0)
    })?;
    let (report, tolerance) = (&trained.report, settings.tolerance);
    let ended = match report.stop {
        Stop::Gap => {
            format!("its estimate of the relative gap, {gap:.1e}, is within the tolerance {tolerance:?}")
        }
        Stop::PredictedDecrease => {
            format!("the objective decreased by less than the tolerance {tolerance:?}")
        }
        Stop::Interrupted => "it was interrupted".to_string(),
        _ => format!("its estimate of the relative gap is {gap:.1e}, above the tolerance {tolerance:?}"),
    };
    let how = format!("SVRG trained this model for {} epochs, without a certificate: {ended}", report.epochs);
    Ok((trained, how))
}

/// Whether SVRG supports the problem.
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
    Solver::Svrg.check(&wanted).is_ok()
}
