//! The other candidate of the recipe: following the regularised leader, stopped where held-out rows say so.
//!
//! A minimiser prices every weight alike. Steps with a rate for each weight, ended early, let rare features speak louder: on
//! text that is often better, and no penalty on the weights does the same. Three penalties times three rates, from the one
//! that the ladder finds downwards; each run goes on until held-out rows have got worse twice. What is kept in the end is the mean
//! of runs in several orders: on few rows, a single one depends much on which rows came last. There it is also what is judged.

use super::fold::{Fold, digits};
use super::holdout_score::HoldoutScore;
use super::stochastic;
use crate::model::report::Tried;
use crate::problem::penalty::ElasticNet;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use rayon::prelude::*;

/// In the units of the recipe, on its middle ray: weak ones, since stopping early is most of the penalty.
const SHARES: [f64; 3] = [1e-3, 1e-4, 1e-5];
/// Of the rate that the ladder finds.
const RATES: [f64; 3] = [1.0, 0.5, 0.25];
/// Epochs at most, and how many without a gain end a run.
const EPOCHS: u64 = 16;
const PATIENCE: u64 = 2;

/// Runs of which the model is the mean.
const RUNS: u64 = 4;

/// A run worth making on all rows.
#[derive(Clone, Debug)]
pub(super) struct FtrlCandidate {
    pub penalty: ElasticNet,
    pub eta: f64,
    pub epochs: u64,
    /// How good it was on rows held out.
    pub held: HoldoutScore,
    /// Its number among all that were tried.
    pub number: usize,
}

impl FtrlCandidate {
    /// The settings of its run.
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

/// The best of the grid on these rows; `None` if none of it came to anything.
pub(super) fn best(
    folds: &[Fold],
    units: ElasticNet,
    settings: &Settings,
    tried: &mut Vec<Tried>,
) -> Option<FtrlCandidate> {
    let penalty =
        |share: f64| ElasticNet { l1: digits(0.5 * share * units.l1), l2: digits(0.5 * share * units.l2) };
    let ladder = Settings { penalty: penalty(SHARES[1]), eta0: None, epochs: 2, ..base(settings) };
    let found = stochastic::train(&folds[0].learnt, None, &ladder, &mut |_| {}).ok()?;
    let mut best: Option<FtrlCandidate> = None;
    for (share, rate) in SHARES.iter().flat_map(|share| RATES.map(|rate| (*share, rate))) {
        if settings.interrupted() {
            break;
        }
        let eta = digits(rate * found.report.eta0);
        let follow = on(
            folds,
            &FtrlCandidate {
                penalty: penalty(share),
                eta,
                epochs: EPOCHS,
                held: HoldoutScore::LOST,
                number: 0,
            },
            settings,
            tried,
        );
        if best.as_ref().is_none_or(|best| follow.held.loss() < best.held.loss()) {
            best = Some(follow);
        }
    }
    best.filter(|follow| follow.held.loss().is_finite())
}

/// The same penalty and rate on other rows: how many epochs, and how good.
pub(super) fn on(
    folds: &[Fold],
    like: &FtrlCandidate,
    settings: &Settings,
    tried: &mut Vec<Tried>,
) -> FtrlCandidate {
    let runs = if folds.len() > 1 { RUNS } else { 1 };
    let settings = Settings { penalty: like.penalty, eta0: Some(like.eta), runs, ..base(settings) };
    let run = |fold: &Fold| {
        let trained = stochastic::train(&fold.learnt, Some(&fold.held), &settings, &mut |_| {}).ok()?;
        let (held, report) = (fold.judge(&trained.weights, trained.bias), trained.report);
        Some((held, report.validation?.best_epoch, report.nonzeros))
    };
    let runs: Option<Vec<(HoldoutScore, u64, usize)>> = folds.par_iter().map(run).collect();
    let count = folds.len();
    let (held, epochs, nonzeros) = runs.map_or((HoldoutScore::LOST, 1, 0), |runs| {
        let none = (HoldoutScore::default(), 0, 0);
        let sum = runs.iter().fold(none, |sum, run| (sum.0.and(run.0), sum.1 + run.1, sum.2 + run.2));
        (sum.0, (sum.1 as f64 / count as f64).round() as u64, sum.2 / count)
    });
    tried.push(Tried {
        solver: Solver::Ftrl,
        l1: like.penalty.l1,
        l2: like.penalty.l2,
        loss: held.loss(),
        nonzeros,
        rows: folds[0].learnt.len(),
        chosen: false,
    });
    FtrlCandidate { held, epochs: epochs.max(1), number: tried.len() - 1, ..like.clone() }
}

fn base(settings: &Settings) -> Settings {
    Settings {
        solver: Solver::Ftrl,
        epochs: EPOCHS,
        early_stop: Some(PATIENCE),
        start: None,
        ..settings.clone()
    }
}
