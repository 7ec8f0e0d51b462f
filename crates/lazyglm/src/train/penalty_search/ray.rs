//! The walk along one ray of penalties, from solve to solve.

use super::{FIRST, LAST, RAYS, raised, start_at};
use crate::model::report::Tried;
use crate::optim::newton::Bounds;
use crate::problem::heads::Head;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::train::fold::{Fold, digits};
use crate::train::holdout_score::HoldoutScore;
use crate::train::minimiser::{Chain, Solve};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Tolerance of the solves that compare penalties.
const TOLERANCE: f64 = 5e-3;
/// Work limit of a solve that compares penalties, in operations per non-zero of its rows,
const WORK: usize = 400;
/// or this many operations in all, if that is more: a hundred solves on tiny data then take less than 0.2 s.
const LEAST_WORK: usize = 400_000;

/// Relative excess over the lowest loss of another ray at which the search leaves a ray.
const HOPELESS: f64 = 0.08;

/// The penalty at a point of a ray.
pub(super) fn penalty(units: ElasticNet, ray: usize, k: i32) -> ElasticNet {
    let t = 10f64.powf(-0.5 * f64::from(k));
    ElasticNet { l1: digits(RAYS[ray] * t * units.l1), l2: digits((1.0 - RAYS[ray]) * t * units.l2) }
}

/// The last optimum on the training rows of a fold, from which the next solve begins.
#[derive(Clone, Default)]
pub(super) struct Place {
    pub heads: Option<Vec<Head>>,
    chain: Chain,
}

impl Place {
    /// The place of these heads.
    pub fn at(heads: Option<Vec<Head>>) -> Place {
        Place { heads, chain: Chain::default() }
    }

    /// The same place, from which several walks go on.
    fn branch(&self) -> Place {
        Place { heads: self.heads.clone(), chain: self.chain.branch() }
    }

    /// Moves to the optimum for this penalty. Returns its held-out score and number of non-zeros.
    pub fn look(&mut self, fold: &Fold, penalty: ElasticNet, settings: &Settings) -> (HoldoutScore, usize) {
        let Fold { learnt, minimiser, .. } = fold;
        let work = LEAST_WORK.max(WORK.saturating_mul(learnt.data.rows.nonzeros()));
        let solve = Solve {
            weighted_penalty: WeightedPenalty { penalty, ..settings.weighted_penalty() },
            bias: settings.bias,
            start: self.heads.as_deref(),
            tolerance: TOLERANCE,
            bounds: Bounds { work, least_steps: 1, interrupt: settings.interrupt.as_deref() },
            watch: &|_, _| !settings.interrupted(),
            checkpoint: settings.checkpoint.as_deref(),
        };
        let found = minimiser.minimise_next(learnt, &solve, &mut self.chain, false);
        let held = fold.judge(&found.heads);
        let nonzeros = found.heads.iter().map(|head| head.weights.len()).sum();
        self.heads = Some(found.heads);
        (held, nonzeros)
    }
}

/// The best model of a walk, kept for an interruption.
#[derive(Clone)]
pub(super) struct Lead {
    pub loss: f64,
    /// Its number among all that were tried.
    pub number: usize,
    pub penalty: ElasticNet,
    pub start: Arc<Start>,
}

/// A point that was tried: its held-out score and non-zeros, and its number among all that were tried.
#[derive(Clone, Copy)]
pub(super) struct Looked {
    pub held: HoldoutScore,
    pub nonzeros: usize,
    pub number: usize,
}

/// A walk along one ray.
pub(super) struct Walk<'a> {
    pub settings: &'a Settings,
    pub units: ElasticNet,
    pub folds: &'a [Fold],
    pub ray: usize,
    /// One place per fold.
    pub places: Vec<Place>,
    /// Whether something was tried before this walk, which then may be interrupted at once.
    pub follows: bool,
    /// The lowest loss on the ray before this one; infinite if there is none.
    pub rival: f64,
    pub looked: BTreeMap<i32, Looked>,
    pub tried: Vec<Tried>,
    pub lead: Option<Lead>,
    pub tell: &'a (dyn Fn(Tried) + Sync),
}

impl<'a> Walk<'a> {
    /// A walk along another ray, which begins where this one ended.
    pub fn turn(&self, ray: usize) -> Walk<'a> {
        let lowest = self.looked.values().map(|looked| looked.held.loss()).fold(self.rival, f64::min);
        Walk {
            ray,
            places: self.places.iter().map(Place::branch).collect(),
            follows: true,
            rival: lowest,
            looked: BTreeMap::new(),
            tried: Vec::new(),
            lead: None,
            ..*self
        }
    }

    /// The held-out loss at one point of the ray; infinite beyond its ends.
    pub fn loss(&mut self, k: i32) -> f64 {
        if let Some(Looked { held, .. }) = self.looked.get(&k) {
            return held.loss();
        }
        let has_result = self.follows || !self.looked.is_empty();
        if !(0..=LAST).contains(&k) || (self.settings.interrupted() && has_result) {
            return f64::INFINITY;
        }
        self.look(k)
    }

    fn look(&mut self, k: i32) -> f64 {
        let (penalty, settings, started) = (penalty(self.units, self.ray, k), self.settings, Instant::now());
        let folds = self.folds.par_iter().zip(&mut self.places);
        let looks: Vec<(HoldoutScore, usize)> =
            folds.map(|(fold, place)| place.look(fold, penalty, settings)).collect();
        let held = looks.iter().fold(HoldoutScore::default(), |sum, look| sum.and(look.0));
        let (loss, number) = (held.loss(), self.tried.len());
        let nonzeros = looks.iter().map(|look| look.1).sum::<usize>() / self.folds.len();
        self.looked.insert(k, Looked { held, nonzeros, number });
        if !settings.interrupted() && self.lead.as_ref().is_none_or(|lead| loss < lead.loss) {
            let start = start_at(&self.folds[0].learnt, self.places[0].heads.as_deref().unwrap_or_default());
            self.lead = Some(Lead { loss, number, penalty, start });
        }
        let tried = Tried {
            solver: Solver::Newton,
            l1: penalty.l1,
            l2: penalty.l2,
            loss,
            se: held.se(),
            nonzeros,
            rows: self.folds[0].learnt.len(),
            seconds: started.elapsed().as_secs_f64(),
            chosen: false,
        };
        (self.tell)(tried.clone());
        self.tried.push(tried);
        loss
    }

    /// Goes down the ray by decades until the loss has risen twice; returns the best point.
    pub fn descend(&mut self) -> i32 {
        let (mut best, mut k) = (FIRST, FIRST);
        while k <= LAST && k <= best + 4 {
            if self.loss(k) < self.loss(best) {
                best = k;
            }
            if self.loss(k) > raised(self.loss(best), 0.02) {
                break; // far worse: once is enough
            }
            k += 2;
        }
        best
    }

    /// Goes from k by half decades while the loss falls, unless it begins far behind another ray; returns the best point.
    pub fn climb(&mut self, k: i32, ways: [i32; 2]) -> i32 {
        let mut best = k;
        for way in ways {
            if self.loss(best) > raised(self.rival, HOPELESS) {
                break;
            }
            while self.loss(best + way) < self.loss(best) {
                best += way;
            }
        }
        best
    }
}
