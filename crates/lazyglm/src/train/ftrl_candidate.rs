//! The second candidate of the penalty search: FTRL-Proximal with early stopping on held-out rows.
//!
//! The elastic net penalises every weight alike. Early-stopped steps with a learning rate per weight give rare features more
//! influence, which often predicts text better. The search takes the best of three rates, from the rate that the
//! learning-rate search finds downwards, and at that rate the best of three penalties. A run stops once the held-out loss
//! has risen twice. The final model averages runs in several row orders: on few rows, a single run depends on which rows
//! came last. On few rows, the average is also what chooses the penalty.

use super::fold::{Fold, digits};
use super::holdout_score::HoldoutScore;
use super::stochastic;
use super::units::once;
use crate::model::report::Tried;
use crate::problem::heads::Head;
use crate::problem::penalty::ElasticNet;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::util::checkpoint::Key;
use rayon::prelude::*;
use std::time::Instant;

/// The penalties on the middle ray, in the units of penalty_search.rs: weak, since early stopping is most of the regularisation.
const SHARES: [f64; 3] = [1e-3, 1e-4, 1e-5];
/// The learning rates, as multiples of the rate that the search finds.
const RATES: [f64; 3] = [1.0, 0.5, 0.25];
/// The largest number of epochs, and the number of epochs without a gain that ends a run.
const EPOCHS: u64 = 16;
const PATIENCE: u64 = 2;

/// Number of runs that the model averages.
const RUNS: u64 = 4;

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
    /// The settings for a run on all rows.
    pub fn settings(&self, settings: &Settings) -> Settings {
        let solver = Solver::Ftrl;
        let (penalty, eta0, epochs) = (self.penalty, Some(self.eta), self.epochs);
        Settings {
            penalty,
            solver,
            eta0,
            epochs,
            runs: RUNS,
            early_stop: None,
            start: None,
            ..settings.clone()
        }
    }
}

/// The best run on these rows and all that were tried; `None` if no run has a finite held-out loss.
pub(super) fn best(
    folds: &[Fold],
    units: ElasticNet,
    settings: &Settings,
    tell: &(dyn Fn(Tried) + Sync),
) -> Option<(FtrlCandidate, Vec<Tried>)> {
    let penalty =
        |share: f64| ElasticNet { l1: digits(0.5 * share * units.l1), l2: digits(0.5 * share * units.l2) };
    let ladder = Settings { penalty: penalty(SHARES[1]), eta0: None, epochs: 2, ..base(settings) };
    let found = stochastic::train(&folds[0].learnt, None, &ladder, &mut |_| {}).ok()?;
    let like = |share: f64, rate: f64| FtrlCandidate {
        penalty: penalty(share),
        eta: digits(rate * found.report.eta0),
        epochs: EPOCHS,
        held: HoldoutScore::LOST,
        number: 0,
    };
    let several = if folds.len() > 1 { RUNS } else { 1 };
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
    let mut all = run(RATES.map(|rate| like(SHARES[1], rate)).to_vec(), 1)?;
    let rate = RATES[lowest(&all)?];
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
            let trained = stochastic::train(&fold.learnt, Some(&fold.held), &alone, &mut |_| {}).ok()?;
            let head = Head::of(trained.weights.into_iter(), trained.bias);
            let (held, report) = (fold.judge(&[head]), trained.report);
            Some((held, report.validation?.best_epoch, report.nonzeros))
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

fn base(settings: &Settings) -> Settings {
    Settings {
        solver: Solver::Ftrl,
        epochs: EPOCHS,
        early_stop: Some(PATIENCE),
        start: None,
        retry_diverged: false, // another candidate is better
        ..settings.clone()
    }
}
