//! The walk along one ray of penalties, from solve to solve.

use super::place::{self, Place};
use super::{FIRST, LAST, RAYS, SLACK, raised, start_at};
use crate::model::report::Tried;
use crate::problem::penalty::ElasticNet;
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::train::fold::{Fold, digits};
use crate::train::holdout_score::HoldoutScore;
use crate::util::checkpoint::Key;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Relative excess over the lowest loss of another ray at which the search leaves a ray.
const HOPELESS: f64 = 0.08;
/// Relative excess over the lowest loss of a ray at which the way down ends.
const CLEARLY: f64 = 0.01;

/// Largest ratio of two successive falls of the loss at which the search estimates the falls that are left.
const FADES: f64 = 2.0 / 3.0;

/// The penalty at a point of a ray.
pub(super) fn penalty(units: ElasticNet, ray: usize, k: i32) -> ElasticNet {
    let t = 10f64.powf(-0.5 * f64::from(k));
    ElasticNet { l1: digits(RAYS[ray] * t * units.l1), l2: digits((1.0 - RAYS[ray]) * t * units.l2) }
}

/// The best model of a walk, kept for an interruption.
#[derive(Clone)]
pub(super) struct Lead {
    pub loss: f64,
    /// Its number among all that were tried.
    pub number: usize,
    pub penalty: ElasticNet,
    /// Its weights, unless the checkpoint has them.
    pub start: Option<Arc<Start>>,
    /// The key of its look, if the checkpoint has the record.
    pub kept: Option<Key>,
}

impl Lead {
    /// Its weights, to start from.
    pub fn start(&self, settings: &Settings) -> Arc<Start> {
        match (&self.start, self.kept) {
            (Some(start), _) => start.clone(),
            (None, kept) => {
                let heads = kept.and_then(|look| place::heads_after(look, settings)).unwrap_or_default();
                Arc::new(Start { heads, ..Start::default() })
            }
        }
    }
}

/// A point that was tried: its held-out score and non-zeros, and its number among all that were tried.
#[derive(Clone, Copy)]
pub(super) struct Looked {
    pub held: HoldoutScore,
    pub nonzeros: usize,
    pub number: usize,
    /// Whether its loss is significantly above the lowest before it, as far as that was tested.
    pub behind: bool,
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
    /// The lowest loss on other rays; infinite if there are none.
    pub rival: f64,
    pub looked: BTreeMap<i32, Looked>,
    pub tried: Vec<Tried>,
    pub lead: Option<Lead>,
    pub tell: &'a (dyn Fn(Tried) + Sync),
}

impl<'a> Walk<'a> {
    /// A walk along another ray, which begins where this one ended.
    pub fn turn(&self, ray: usize) -> Walk<'a> {
        Walk {
            ray,
            places: self.places.iter().map(Place::branch).collect(),
            follows: true,
            rival: self.lowest(),
            looked: BTreeMap::new(),
            tried: Vec::new(),
            lead: None,
            ..*self
        }
    }

    /// The lowest loss on this ray and those before it.
    pub fn lowest(&self) -> f64 {
        self.looked.values().map(|looked| looked.held.loss()).fold(self.rival, f64::min)
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
        let before: Vec<Key> = self.places.iter().filter_map(Place::to_drop).collect();
        let folds = self.folds.par_iter().zip(&mut self.places);
        let looks: Vec<(HoldoutScore, usize)> =
            folds.map(|(fold, place)| place.look(fold, penalty, settings)).collect();
        let held = looks.iter().fold(HoldoutScore::default(), |sum, look| sum.and(look.0));
        let (loss, number) = (held.loss(), self.tried.len());
        let nonzeros = looks.iter().map(|look| look.1).sum::<usize>() / self.folds.len();
        let behind = self.is_behind();
        self.looked.insert(k, Looked { held, nonzeros, number, behind });
        if settings.interrupted() {
            return loss; // of no use, since some solves did not end
        }
        let last = self.lead.as_ref().and_then(|lead| lead.kept);
        if self.lead.as_ref().is_none_or(|lead| loss < lead.loss) {
            let place = &self.places[0];
            let start = place.heads.as_deref().map(|heads| start_at(&self.folds[0].learnt, heads));
            self.lead = Some(Lead { loss, number, penalty, start, kept: place.kept() });
        }
        let lead = self.lead.as_ref().and_then(|lead| lead.kept);
        place::drop_heads(before.into_iter().chain(last).filter(|look| Some(*look) != lead), settings);
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

    /// Whether the last model is significantly behind the best of this walk, on one part of the rows held out.
    fn is_behind(&self) -> bool {
        let ([fold], [place], Some(lead)) = (self.folds, &self.places[..], &self.lead) else { return false };
        match (place.heads.as_deref(), &lead.start) {
            // A checkpoint keeps scores of many heads, and not all heads: the test would depend on an interruption.
            (Some(heads), Some(start)) if fold.learnt.targets.heads().is_none() => {
                fold.is_behind(heads, &start.to_heads())
            }
            _ => false,
        }
    }

    /// Goes down the ray to its end; returns the best point.
    pub fn descend(&mut self) -> i32 {
        let mut descent = Descent::default();
        while descent.step(self) {}
        descent.best
    }

    /// Goes from k by half decades while the loss falls, unless it is far behind another ray; returns the best point.
    pub fn climb(&mut self, k: i32, ways: [i32; 2]) -> i32 {
        let mut best = k;
        for way in ways {
            while self.loss(best) <= raised(self.rival, HOPELESS) && self.loss(best + way) < self.loss(best) {
                best += way;
            }
        }
        best
    }
}

/// The way down a ray by half decades, until the loss has risen twice, or clearly, or a little but significantly. The weaker a
/// penalty, the longer its solve, so the way ends soon after the best point.
pub(super) struct Descent {
    /// The best point so far.
    pub best: i32,
    next: i32,
    ended: bool,
}

impl Default for Descent {
    fn default() -> Descent {
        Descent { best: FIRST, next: FIRST, ended: false }
    }
}

impl Descent {
    /// Tries the next point, unless the way has ended. Returns whether it goes on.
    pub fn step(&mut self, walk: &mut Walk) -> bool {
        if self.ended {
            return false;
        }
        let k = self.next;
        if walk.loss(k) < walk.loss(self.best) {
            self.best = k;
        }
        let behind = walk.looked.get(&k).is_some_and(|looked| looked.behind);
        let least = if behind { 3.0 * SLACK } else { CLEARLY };
        self.next = k + 1;
        self.ended = walk.loss(k) > raised(walk.loss(self.best), least)
            || self.next > LAST
            || self.next > self.best + 2;
        !self.ended
    }

    /// Ends the way if the falls of the loss fade, and if even a further fall of twice the last one would leave the loss above
    /// `rival`. If each fall is at most `FADES` times the one before, all falls that are left add up to at most that.
    pub fn end_if_beaten(&mut self, walk: &mut Walk, rival: f64) -> bool {
        let losses = [1, 2, 3].map(|back| walk.looked.get(&(self.next - back)).map(|at| at.held.loss()));
        let [Some(last), Some(before), Some(first)] = losses else { return false };
        let falls = [first - before, (before - last).max(0.0)];
        let beaten = falls[1] <= FADES * falls[0] && last - 2.0 * falls[1] > rival;
        self.ended |= beaten;
        beaten
    }
}
