//! The other candidate of the recipe: following the regularised leader, stopped where held-out rows say so.
//!
//! A minimiser prices every weight alike. Steps with a rate for each weight, ended early, let rare features speak louder: on
//! text that is often better, and no penalty on the weights does the same. Three penalties times three rates, from the one
//! that the ladder finds downwards; each run goes on until held-out rows have got worse twice. What is kept in the end is the mean
//! of runs in several orders: on few rows, a single one depends much on which rows came last. There it is also what is judged.

use super::held::Held;
use super::recipe::{Seat, digits};
use super::train_in_memory;
use crate::penalty::ElasticNet;
use crate::report::Tried;
use crate::settings::Settings;
use crate::solvers::Solver;
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
pub(super) struct Follow {
    pub net: ElasticNet,
    pub eta: f64,
    pub epochs: u64,
    /// How good it was on rows held out.
    pub held: Held,
}

impl Follow {
    /// The settings of its run.
    pub fn settings(&self, settings: &Settings) -> Settings {
        let solver = Solver::Ftrl;
        let (net, eta0, epochs) = (self.net, Some(self.eta), self.epochs);
        Settings { net, solver, eta0, epochs, runs: RUNS, early_stop: None, start: None, ..settings.clone() }
    }
}

/// The best of the grid on these rows; `None` if none of it came to anything.
pub(super) fn best(
    seats: &[Seat],
    units: ElasticNet,
    settings: &Settings,
    tried: &mut Vec<Tried>,
) -> Option<Follow> {
    let net =
        |share: f64| ElasticNet { l1: digits(0.5 * share * units.l1), l2: digits(0.5 * share * units.l2) };
    let ladder = Settings { net: net(SHARES[1]), eta0: None, epochs: 2, ..base(settings) };
    let found = train_in_memory(&seats[0].learnt, None, &ladder, &mut |_| {}).ok()?;
    let mut best: Option<Follow> = None;
    for (share, rate) in SHARES.iter().flat_map(|share| RATES.map(|rate| (*share, rate))) {
        if settings.interrupted() {
            break;
        }
        let eta = digits(rate * found.report.eta0);
        let follow =
            on(seats, &Follow { net: net(share), eta, epochs: EPOCHS, held: Held::LOST }, settings, tried);
        if best.as_ref().is_none_or(|best| follow.held.loss() < best.held.loss()) {
            best = Some(follow);
        }
    }
    best.filter(|follow| follow.held.loss().is_finite())
}

/// The same penalty and rate on other rows: how many epochs, and how good.
pub(super) fn on(seats: &[Seat], like: &Follow, settings: &Settings, tried: &mut Vec<Tried>) -> Follow {
    let runs = if seats.len() > 1 { RUNS } else { 1 };
    let settings = Settings { net: like.net, eta0: Some(like.eta), runs, ..base(settings) };
    let run = |seat: &Seat| {
        let trained = train_in_memory(&seat.learnt, Some(&seat.held), &settings, &mut |_| {}).ok()?;
        let (held, report) = (seat.judge(&trained.weights, trained.bias), trained.report);
        Some((held, report.validation?.best_epoch, report.nonzeros))
    };
    let runs: Option<Vec<(Held, u64, usize)>> = seats.par_iter().map(run).collect();
    let count = seats.len();
    let (held, epochs, nonzeros) = runs.map_or((Held::LOST, 1, 0), |runs| {
        let none = (Held::default(), 0, 0);
        let sum = runs.iter().fold(none, |sum, run| (sum.0.and(run.0), sum.1 + run.1, sum.2 + run.2));
        (sum.0, (sum.1 as f64 / count as f64).round() as u64, sum.2 / count)
    });
    tried.push(Tried {
        solver: Solver::Ftrl,
        l1: like.net.l1,
        l2: like.net.l2,
        loss: held.loss(),
        nonzeros,
        rows: seats[0].learnt.targets.len(),
        chosen: false,
    });
    Follow { held, epochs: epochs.max(1), ..like.clone() }
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
