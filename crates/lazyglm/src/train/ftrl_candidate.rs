//! The second candidate of the penalty search: FTRL-Proximal with early stopping on held-out rows.
//!
//! The elastic net penalises every weight alike. Early-stopped steps with a learning rate per weight give rare features more
//! influence, which often predicts text better. The search starts at the rate that the learning-rate search finds, and halves
//! it while that clearly lowers the loss: a higher rate needs fewer epochs. At that rate it takes the best of three penalties.
//! A run stops once an epoch lowers the held-out loss by little. The final model averages runs in several row orders: on few
//! rows, a single run depends on which rows came last. On few rows, the average is also what chooses the penalty.

use super::fold::{Fold, digits};
use super::ftrl;
use super::holdout_score::HoldoutScore;
use super::job::Job;
use super::penalty_search::{FEW_ROWS, raised};
use super::units::once;
use crate::model::report::Tried;
use crate::problem::penalty::ElasticNet;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::util::checkpoint::Key;
use rayon::prelude::*;
use std::time::Instant;

/// The penalties on the middle ray, in the units of penalty_search.rs: weak, since early stopping is most of the regularisation.
pub(super) const SHARES: [f64; 3] = [1e-3, 1e-4, 1e-5];
/// The learning rates, as multiples of the rate that the search finds.
const RATES: [f64; 3] = [1.0, 0.5, 0.25];
/// Relative decrease of the held-out loss that is worth half the rate.
const RATE_SLACK: f64 = 3e-3;
/// The largest number of epochs, the relative decrease of the held-out loss that is a gain, and the number of epochs without a
/// gain that ends a run.
const EPOCHS: u64 = 16;
const GAIN: f64 = 2e-3;
const PATIENCE: u64 = 1;

/// Number of runs that the model averages: more on few rows, where a run depends more on which rows came last.
fn runs(rows: usize) -> u64 {
    if rows <= FEW_ROWS { 4 } else { 2 }
}

/// The best FTRL-Proximal run of the search.
#[derive(Clone, Debug)]
pub(super) struct FtrlCandidate {
    pub penalty: ElasticNet,
    pub eta: f64,
    pub epochs: u64,
    /// The held-out score of the run.
    pub held: HoldoutScore,
    /// Its number among all that were tried.
    pub number: usize,
}

impl FtrlCandidate {
    /// The settings for a run on all rows, of which there are so many.
    pub fn settings(&self, settings: &Settings, rows: usize) -> Settings {
        let solver = Solver::Ftrl;
        let (penalty, eta0, epochs) = (self.penalty, Some(self.eta), self.epochs);
        Settings {
            penalty,
            solver,
            eta0,
            epochs,
            runs: runs(rows),
            early_stop: None,
            start: None,
            ..settings.clone()
        }
    }
}

/// The penalty of a share on the middle ray.
pub(super) fn penalty(units: ElasticNet, share: f64) -> ElasticNet {
    ElasticNet { l1: digits(0.5 * share * units.l1), l2: digits(0.5 * share * units.l2) }
}

/// The learning rate to begin with.
pub(super) fn rate(fold: &Fold, units: ElasticNet, settings: &Settings) -> Option<f64> {
    let penalty = penalty(units, SHARES[1]);
    let search = Settings { penalty, eta0: None, epochs: 2, ..base(settings) };
    ftrl::rate(&Job { problem: &fold.learnt, validation: None, settings: &search, beside: None }).ok()
}

/// The best run on these rows, from this learning rate downwards, and all that were tried; `None` if no run has a finite held-out
/// loss.
pub(super) fn best(
    folds: &[Fold],
    eta: f64,
    units: ElasticNet,
    settings: &Settings,
    tell: &(dyn Fn(Tried) + Sync),
) -> Option<(FtrlCandidate, Vec<Tried>)> {
    let like = |share: f64, rate: f64| FtrlCandidate {
        penalty: penalty(units, share),
        eta: digits(rate * eta),
        epochs: EPOCHS,
        held: HoldoutScore::LOST,
        number: 0,
    };
    let several = if folds.len() > 1 { runs(folds[0].learnt.len()) } else { 1 };
    let run = |points: Vec<FtrlCandidate>, runs: u64| -> Option<Vec<(FtrlCandidate, Tried)>> {
        let one =
            |like: &FtrlCandidate| (!settings.interrupted()).then(|| on(folds, like, runs, settings, tell));
        points.par_iter().with_max_len(1).map(one).collect()
    };
    let lowest = |runs: &[(FtrlCandidate, Tried)]| -> Option<usize> {
        let losses =
            runs.iter().map(|(run, _)| run.held.loss()).enumerate().filter(|(_, loss)| loss.is_finite());
        losses.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(k, _)| k)
    };
    let (mut all, mut rate, mut enough) = (Vec::new(), RATES[0], f64::INFINITY);
    for lower in RATES {
        let next = run(vec![like(SHARES[1], lower)], 1)?;
        let loss = next[0].0.held.loss();
        all.extend(next);
        if loss >= enough {
            break;
        }
        (rate, enough) = (lower, raised(loss, -RATE_SLACK));
    }
    let shares: &[f64] = if several > 1 { &SHARES } else { &[SHARES[0], SHARES[2]] };
    let penalties = run(shares.iter().map(|&share| like(share, rate)).collect(), several)?;
    let compared = if several > 1 { all.len() } else { 0 }; // single runs and averages do not compare
    all.extend(penalties);
    let number = compared + lowest(&all[compared..])?;
    let best = FtrlCandidate { number, ..all[number].0.clone() };
    Some((best, all.into_iter().map(|(_, tried)| tried).collect()))
}

/// Runs the same penalty and rate on these rows, averaging `runs` runs, and returns the number of epochs and the held-out
/// score.
pub(super) fn on(
    folds: &[Fold],
    like: &FtrlCandidate,
    runs: u64,
    settings: &Settings,
    tell: &(dyn Fn(Tried) + Sync),
) -> (FtrlCandidate, Tried) {
    let settings = Settings { penalty: like.penalty, eta0: Some(like.eta), runs, ..base(settings) };
    let started = Instant::now();
    let run = |fold: &Fold| {
        let compute = || {
            let alone = Settings { checkpoint: None, ..settings.clone() };
            let job =
                Job { problem: &fold.learnt, validation: Some(&fold.held), settings: &alone, beside: None };
            let (_, fitted) = ftrl::fit(&job, &mut |_| {}).ok()?;
            let nonzeros = fitted.heads.iter().map(|head| head.weights.len()).sum();
            Some((fold.judge(&fitted.heads), fitted.validation?.best_epoch, nonzeros))
        };
        let key = || Ok(Key::of("ftrl").and_key(settings.key()).and_key(fold.key()?));
        once(&settings, key, compute).ok()?
    };
    let runs: Option<Vec<(HoldoutScore, u64, usize)>> = folds.par_iter().map(run).collect();
    let count = folds.len();
    let (held, epochs, nonzeros) = runs.map_or((HoldoutScore::LOST, 1, 0), |runs| {
        let none = (HoldoutScore::default(), 0, 0);
        let sum = runs.iter().fold(none, |sum, run| (sum.0.and(run.0), sum.1 + run.1, sum.2 + run.2));
        (sum.0, (sum.1 as f64 / count as f64).round() as u64, sum.2 / count)
    });
    let tried = Tried {
        solver: Solver::Ftrl,
        l1: like.penalty.l1,
        l2: like.penalty.l2,
        loss: held.loss(),
        se: held.se(),
        nonzeros,
        rows: folds[0].learnt.len(),
        seconds: started.elapsed().as_secs_f64(),
        chosen: false,
    };
    tell(tried.clone());
    (FtrlCandidate { held, epochs: epochs.max(1), ..like.clone() }, tried)
}

/// The settings of a run with early stopping.
pub(super) fn base(settings: &Settings) -> Settings {
    Settings {
        solver: Solver::Ftrl,
        epochs: EPOCHS,
        early_stop: Some(PATIENCE),
        least_gain: GAIN,
        start: None,
        retry_diverged: false, // another candidate is better
        ..settings.clone()
    }
}
