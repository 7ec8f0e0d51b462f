//! The solver `auto`, which chooses the algorithm, and the penalty if none is given.
//!
//! ```text
//! rows in memory, smooth loss        the optimum, by Newton's method; λ, if none is given, by held-out loss
//!                                    (penalty_search.rs), or FTRL-Proximal if its held-out loss is lower (ftrl_candidate.rs)
//! rows in memory, loss with kinks    the optimum, by Newton's method on the dual; λ, if none is given, by held-out loss
//!                                    of SGD, with all candidates as lanes; SGD if λ = 0 or the loss is zero without weights
//! rows on disk, λ given              the optimum, if the columns that it needs fit into memory (out_of_core/), else SVRG; SGD
//!                                    and the zero test (zero_test.rs) for a loss with kinks or of unbounded curvature
//! rows on disk, no λ                 by the loss on rows held out on disk: an optimum, or FTRL-Proximal (out_of_core/penalty.rs)
//! ```

use super::fold;
use super::penalty_search::{self, Choice, How};
use super::progress::Progress;
use super::sgd::rate;
use super::{newton, stochastic};
use crate::eval::objective;
use crate::model::report::Tried;
use crate::model::trained::Trained;
use crate::problem::loss::{Admits, Loss};
use crate::problem::penalty::ElasticNet;
use crate::problem::settings::{Precision, Settings, Start};
use crate::problem::solvers::Solver;
use crate::problem::source::{Pooled, Problem};
use crate::problem::task::Task;
use crate::train::search::{Folds, HeldOutRows, Score, Search, points, search};
use crate::util::error::Result;
use std::sync::Arc;

/// The grid of λ₁ and of λ₂ for losses with kinks, in the units of penalty_search.rs.
const SHARES: [f64; 4] = [0.0, 1e-4, 1e-3, 1e-2];
/// The grid of learning rates, as multiples of the rate that the search finds.
const RATES: [f64; 3] = [0.25, 1.0, 4.0];
/// Memory limit for the lanes of a search, in bytes.
const MEMORY: usize = 2 << 30;

/// Trains with the algorithm that suits the rows and the loss.
pub(super) fn train(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    if task.loss.has_kinks() {
        return with_kinks(task, validation, settings, watch);
    }
    let mut settings = Settings { solver: Solver::Newton, ..settings.clone() };
    if !settings.choose_penalty {
        return newton::train(task, validation, &settings, watch);
    }
    let Choice { how, tried, with_limits } = penalty_search::choose(task, &settings, true, watch)?;
    let mut trained = match how {
        How::Minimise(penalty, start) => {
            (settings.penalty, settings.start) = (penalty, Some(start));
            newton::train(task, validation, &settings, watch)?
        }
        How::FtrlCandidate(follow) => {
            stochastic::train(task, validation, &follow.settings(&settings, task.len()), watch)?
        }
    };
    trained.report.tried = tried;
    trained.with_limits = with_limits;
    Ok(trained)
}

/// Trains with a loss that has kinks.
fn with_kinks(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    let (warm, given) = (settings.start.is_some(), settings.start.clone());
    let mut settings = for_steps(settings, &*task.loss, task.pooled(), task.data.rows.columns());
    let mut tried = Vec::new();
    let null = objective::NullModel::of(task.examples(), &*task.loss, settings.bias);
    if !warm && null.gradient.iter().all(|g| *g == 0.0) {
        return newton::of_bias_alone(task, validation, &settings, null.bias()); // the optimum for any penalty
    }
    let plain = settings.has_one_penalty();
    if settings.choose_penalty && plain && task.len() >= 10 {
        let found = search_lanes(task, &settings)?;
        if let Some((best, all)) = found {
            (settings.penalty, settings.eta0, tried) = (best.point.penalty, Some(best.point.eta0), all);
        }
    }
    let bounded = !settings.penalty.is_none() && task.loss.linear_pieces(1.0).is_some();
    let zero = task.loss.admits() == Admits::Classes && null.baseline < 1e-9;
    let mut trained = match bounded && !zero {
        true => {
            let settings = Settings { solver: Solver::Newton, start: given, ..settings };
            newton::train(task, validation, &settings, watch)?
        }
        false => stochastic::train(task, validation, &settings, watch)?,
    };
    trained.report.tried = tried;
    Ok(trained)
}

/// The settings for stochastic steps: with nothing to start from, and numbers to predict, the bias begins at the best there
/// is without weights (the mean, for a squared loss), so that where the targets lie does not matter.
pub(super) fn for_steps(
    settings: &Settings,
    loss: &dyn Loss,
    pooled: Vec<Pooled>,
    columns: usize,
) -> Settings {
    let mut settings = Settings { solver: Solver::Sgd, ..settings.clone() };
    if settings.start.is_none() && settings.bias && loss.admits() != Admits::Classes {
        let bias = objective::starting_bias(loss, pooled);
        settings.start = Some(Arc::new(Start::one(vec![0.0; columns], bias)));
    }
    settings
}

/// The best of a grid of penalties and rates, a fifth of the rows held out; `None` where held-out loss cannot choose a
/// penalty, since it is zero without weights (the perceptron's is), or no weight has a gradient.
fn search_lanes(task: &Task, settings: &Settings) -> Result<Option<(Score, Vec<Tried>)>> {
    let folds = Folds::stratified(task, 5, settings.seed);
    let part = |held: bool| {
        task.select(&(0..task.len()).filter(|&i| (folds.of(i) == 0) == held).collect::<Vec<_>>())
    };
    let (held, learnt) = (part(true), part(false));
    let null = objective::NullModel::of(learnt.examples(), &*task.loss, settings.bias);
    let units = penalty_search::units(&null);
    let zero = task.loss.admits() == Admits::Classes && null.baseline < 1e-9;
    if zero || !(units.l1 > 0.0 && units.l2.is_finite()) {
        return Ok(None);
    }
    let settings = Settings { precision: Precision::F32, ..settings.clone() };
    let penalty = ElasticNet { l1: SHARES[1] * units.l1, l2: SHARES[1] * units.l2 };
    let eta0 = rate(&learnt, &Settings { penalty, eta0: None, ..settings.clone() })?;
    let [l1, l2] = [units.l1, units.l2].map(|unit| SHARES.map(|share| fold::digits(share * unit)));
    let points = points(&l1, &l2, &RATES.map(|times| times * eta0));
    let found = search(
        &Search {
            task: &learnt,
            held: HeldOutRows::Rows(&held),
            settings: &settings,
            points,
            memory: MEMORY,
            deadline: None,
            halving: true,
        },
        &mut |_| {},
    )?;
    let tried = |(k, score): (usize, &Score)| Tried {
        solver: Solver::Sgd,
        l1: score.point.penalty.l1,
        l2: score.point.penalty.l2,
        loss: score.mean,
        se: score.se,
        nonzeros: score.nonzeros as usize,
        rows: learnt.len(),
        seconds: f64::NAN, // all lanes together
        chosen: k == found.best,
    };
    Ok(Some((found.scores[found.best], found.scores.iter().enumerate().map(tried).collect())))
}
