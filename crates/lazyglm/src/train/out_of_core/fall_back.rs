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
/// If the gap is not proved where SVRG stops, it goes on with this multiple of the tolerance,
const FINER: f64 = 0.25;
/// down to this one.
const FINEST: f64 = 0.02;
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
                "SGD and the zero test trained this model, which do not aim at the optimum".to_string(),
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

/// Trains by SVRG until the gap is proved to be within the tolerance, or its own rule stops it; returns how far it went, as text.
fn by_svrg(
    job: &Job,
    mut start: Option<Arc<Start>>,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<(Trained, String)> {
    let most = if job.settings.solver == Solver::Newton { EPOCHS } else { EPOCHS_OF_AUTO };
    let lean = job.problem.spare_memory() < SUMS * job.columns();
    let (mut tolerance, mut made, mut seconds) = (job.settings.tolerance, 0, 0.0);
    loop {
        let (epochs, plain) = (most - made, job.settings.clone());
        let settings = Settings { solver: Solver::Svrg, start, epochs, eta0: None, tolerance, ..plain };
        let mut estimate = f64::NAN;
        let mut trained = until_finite(&settings, &mut |settings| {
            let found = svrg::with_gap(&Job { settings, ..*job }, lean, watch)?;
            estimate = found.1;
            Ok(found.0)
        })?;
        (made, seconds) = (made + trained.report.epochs, seconds + trained.report.seconds_train);
        let goes_on = trained.report.stop == Stop::Gap && !is_proved(&trained, job) && made < most;
        if goes_on && settings.penalty.l2 > 0.0 && tolerance > FINEST * job.settings.tolerance {
            tolerance *= FINER;
            start = Some(Arc::new(Start::one(trained.weights, trained.bias)));
            continue;
        }
        (trained.report.epochs, trained.report.seconds_train) = (made, seconds);
        let how = format!("SVRG trained this model for {made} epochs{}", ended(&mut trained, job, estimate));
        return Ok((trained, how));
    }
}

/// Whether the certificate of a model is within the tolerance.
fn is_proved(trained: &Trained, job: &Job) -> bool {
    trained.report.relative_gap.is_some_and(|gap| gap <= job.settings.tolerance)
}

/// Why SVRG ended, as text. A gap within the tolerance that is an estimate alone is not reported as a proof.
fn ended(trained: &mut Trained, job: &Job, estimate: f64) -> String {
    let tolerance = job.settings.tolerance;
    if is_proved(trained, job) {
        trained.report.stop = Stop::Gap;
        return format!(", and the duality gap is within the tolerance {tolerance:?}");
    }
    let text = match trained.report.stop {
        Stop::Gap => {
            trained.report.stop = Stop::PredictedDecrease;
            format!("its estimate of the relative gap, {estimate:.1e}, is within the tolerance {tolerance:?}")
        }
        Stop::PredictedDecrease => {
            format!("the objective decreased by less than the tolerance {tolerance:?}")
        }
        Stop::Interrupted => "it was interrupted".to_string(),
        _ => format!("its estimate of the relative gap is {estimate:.1e}, above the tolerance {tolerance:?}"),
    };
    format!(", without a certificate within the tolerance: {text}")
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
