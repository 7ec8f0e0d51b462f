//! λ for those who gave none: where the minimiser's held-out loss is lowest on four rays of (λ₁, λ₂).
//!
//! ```text
//! rays      λ₁ = ρ·t·λ₁_max,   λ₂ = (1 − ρ)·t·‖g₀‖²/F₀          t = 10^(−k/2)
//! ```
//!
//! g₀ and F₀ are gradient and value without weights. Both units scale as the penalties do: other units of features or of
//! targets leave t alone. The middle ray is walked down from strong penalties in whole decades, then its best is looked at
//! more closely; the others begin where it ended. Few rows are held out five times over, many once; of very many rows, a
//! share finds the ray, and all of them find where on it: the more rows, the less penalty is needed.

use super::fold::{Fold, digits};
use super::ftrl_candidate::{self, FtrlCandidate};
use super::holdout_score::HoldoutScore;
use super::newton::STEPS;
use super::progress::{Progress, Stage};
use crate::eval::objective::{self, NullModel};
use crate::model::report::Tried;
use crate::optim::newton::{self, Options, Problem};
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::problem::task::Task;
use crate::util::error::{Kind, Result};
use crate::util::random::Random;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// ρ: the middle, ℓ₁ alone, mostly ℓ₂², and between that and the middle.
const RAYS: [f64; 4] = [0.5, 1.0, 0.03, 0.12];
/// k where the middle ray begins, and where every ray ends.
const FIRST: i32 = 2;
const LAST: i32 = 16;
/// Up to so many rows, each is held out once, in one of five folds.
const FEW_ROWS: usize = 20_000;
/// The same if there are no more features than this: every fold has weights of its own.
const FEW_COLUMNS: usize = 1_000_000;
/// No more rows than this are held out.
const MOST_HELD: usize = 50_000;
/// Rows of so many non-zeros find the ray.
const SHARE: usize = 4_000_000;
/// To compare penalties, minima need not be known more exactly than this.
const TOLERANCE: f64 = 5e-3;
/// A solve that compares penalties ends once it has touched so many numbers for each non-zero of its rows,
const WORK: usize = 400;
/// or this many in all, if that is more: what some hundred solves on tiny data take together stays below a fifth of a second.
const LEAST_WORK: usize = 400_000;
/// A model with fewer weights may be worse by this share.
const SLACK: f64 = 1e-3;

/// Of λ₁_max: no weight is worth this.
const NOTHING: f64 = 1.01;
/// The other candidate must be better by this share: the minimiser is known exactly, and has a proof.
const MARGIN: f64 = 5e-3;

/// What was found, and all that was tried, in order.
pub(super) struct Choice {
    pub how: How,
    pub tried: Vec<Tried>,
}

/// How to learn from all rows.
pub(super) enum How {
    /// The minimiser with this penalty, from where the last solve with it ended.
    Minimise(ElasticNet, Arc<Start>),
    /// Following the regularised leader for so many epochs.
    FtrlCandidate(FtrlCandidate),
}

/// Chooses a penalty by held-out loss.
pub(super) fn choose(task: &Task, settings: &Settings, watch: &mut dyn FnMut(&Progress)) -> Result<Choice> {
    let rows = task.len();
    let null = objective::NullModel::of(task.examples(), &*task.loss, settings.bias);
    let units = units(&null);
    if rows < 10 || !(units.l1 > 0.0 && units.l2.is_finite()) {
        let start = Start { weights: vec![0.0; task.data.rows.columns()], bias: null.bias() };
        return Ok(Choice { how: How::Minimise(settings.penalty, Arc::new(start)), tried: Vec::new() });
    }
    let mut order: Vec<usize> = (0..rows).collect();
    Random::new(settings.seed ^ 0x0A07_0A07_5EED_0001).shuffle(&mut order);

    let folds = if rows <= FEW_ROWS && task.data.rows.columns() <= FEW_COLUMNS { 5 } else { 1 };
    let held = if folds == 5 { rows / 5 } else { (rows / 5).min(MOST_HELD) };
    let most = match task.data.rows.nonzeros() {
        all if all > 2 * SHARE && folds == 1 => (rows as u128 * SHARE as u128 / all as u128) as usize,
        _ => rows,
    };
    let folds = (0..folds)
        .map(|fold| Fold::new(task, &order, fold * held..(fold + 1) * held, most, settings.bias))
        .collect();
    let mut walk =
        Walk { settings, units, folds, tried: HashMap::new(), order: Vec::new(), lead: None, watch };
    let middle = walk.descend(0)?;
    let mut best = vec![(0, walk.climb(0, middle, [1, -1])?)];
    for ray in 1..RAYS.len() {
        let (_, near) = best[if ray == 3 { 2 } else { 0 }];
        best.push((ray, walk.climb(ray, near, [1, -1])?));
    }
    let (ray, mut k) = walk.sparsest(&best);
    let plain = settings.factors.is_none() && !settings.nonnegative;
    let mut follow = match plain && !settings.interrupted() {
        true => ftrl_candidate::best(&walk.folds, units, settings, &mut walk.order),
        false => None,
    };
    if most < rows - held {
        walk.folds = vec![Fold::new(task, &order, 0..held, rows, settings.bias)];
        walk.tried.clear();
        walk.lead.iter_mut().for_each(|lead| lead.loss = f64::INFINITY); // that of other rows
        k = walk.climb(ray, k, [1, 1])?;
        follow = follow.map(|follow| ftrl_candidate::on(&walk.folds, &follow, settings, &mut walk.order));
    }
    let lowest = walk.loss(ray, k)?;
    if settings.interrupted() {
        return walk.so_far();
    }
    let Some(&Looked { held, number, .. }) = walk.tried.get(&(ray, k)) else {
        return Err(Kind::Interrupted.into()); // its loss was asked for just now
    };
    let (mut tried, mut fold) = (walk.order, walk.folds.swap_remove(0));
    let follow = follow.filter(|follow| follow.held.loss() < (1.0 - MARGIN) * lowest);
    let best = follow.as_ref().map_or(held, |follow| follow.held);
    // With factors, some weights may be free: what is left at λ₁_max is not nothing.
    if settings.factors.is_none() && !best.is_better_than_nothing() {
        let penalty = ElasticNet { l1: digits(NOTHING * units.l1), l2: 0.0 };
        let (loss, rows) = (best.loss_of_nothing(), fold.learnt.len());
        let ElasticNet { l1, l2 } = penalty;
        tried.push(Tried { solver: Solver::Newton, l1, l2, loss, nonzeros: 0, rows, chosen: true });
        let start = Start { weights: vec![0.0; task.data.rows.columns()], bias: null.bias() };
        return Ok(Choice { how: How::Minimise(penalty, Arc::new(start)), tried });
    }
    if let Some(follow) = follow {
        tried[follow.number].chosen = true;
        return Ok(Choice { how: How::FtrlCandidate(follow), tried });
    }
    tried[number].chosen = true;
    let penalty = penalty(units, ray, k);
    fold.look(penalty, settings); // the last look may have been at another penalty
    let (weights, bias) = fold.at.unwrap_or_default();
    Ok(Choice { how: How::Minimise(penalty, Arc::new(Start { weights, bias })), tried })
}

/// λ₁_max and ‖g₀‖²/F₀.
pub(super) fn units(null: &NullModel) -> ElasticNet {
    let square: f64 = null.gradient.iter().map(|g| g * g).sum();
    let most = null.gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
    ElasticNet { l1: most, l2: square / null.baseline }
}

fn penalty(units: ElasticNet, ray: usize, k: i32) -> ElasticNet {
    let t = 10f64.powf(-0.5 * f64::from(k));
    ElasticNet { l1: digits(RAYS[ray] * t * units.l1), l2: digits((1.0 - RAYS[ray]) * t * units.l2) }
}

impl Fold {
    /// How good the minimiser is on the rows held out, and its non-zeros.
    fn look(&mut self, penalty: ElasticNet, settings: &Settings) -> (HoldoutScore, usize) {
        let Fold { learnt, view, at, .. } = self;
        let weighted_penalty = WeightedPenalty { penalty, ..settings.weighted_penalty() };
        let loss = &*learnt.loss;
        let problem = Problem { examples: learnt.examples(), loss, weighted_penalty, bias: settings.bias };
        let start = at.as_ref().map(|(weights, bias)| (weights.as_slice(), *bias));
        let options = Options { tolerance: TOLERANCE, steps: STEPS };
        let work = LEAST_WORK.max(WORK.saturating_mul(learnt.data.rows.nonzeros()));
        let found = newton::solve_on(view, &problem, start, &options, work, &mut |_| !settings.interrupted());
        let held = self.judge(&found.weights, found.bias);
        let nonzeros = found.weights.iter().filter(|w| **w != 0.0).count();
        self.at = Some((found.weights, found.bias));
        (held, nonzeros)
    }
}

/// The best so far, kept for the case that nothing better comes because the run is interrupted.
struct Lead {
    loss: f64,
    number: usize, // among those tried
    penalty: ElasticNet,
    start: Arc<Start>,
}

/// A point that was tried: its held-out score and non-zeros, and its number among all that were tried.
struct Looked {
    held: HoldoutScore,
    nonzeros: usize,
    number: usize,
}

/// What has been tried, and where.
struct Walk<'a> {
    settings: &'a Settings,
    units: ElasticNet,
    folds: Vec<Fold>,
    tried: HashMap<(usize, i32), Looked>,
    order: Vec<Tried>,
    lead: Option<Lead>,
    watch: &'a mut dyn FnMut(&Progress),
}

impl Walk<'_> {
    /// The held-out loss at one point; infinite beyond the ends.
    fn loss(&mut self, ray: usize, k: i32) -> Result<f64> {
        if let Some(Looked { held, .. }) = self.tried.get(&(ray, k)) {
            return Ok(held.loss());
        }
        if !(0..=LAST).contains(&k) || (self.settings.interrupted() && !self.tried.is_empty()) {
            return Ok(f64::INFINITY);
        }
        self.look(ray, k)
    }

    fn look(&mut self, ray: usize, k: i32) -> Result<f64> {
        let (penalty, settings) = (penalty(self.units, ray, k), self.settings);
        let folds = self.folds.len();
        let looks: Vec<(HoldoutScore, usize)> =
            self.folds.par_iter_mut().map(|fold| fold.look(penalty, settings)).collect();
        let held = looks.iter().fold(HoldoutScore::default(), |sum, look| sum.and(look.0));
        let (loss, nonzeros) = (held.loss(), looks.iter().map(|look| look.1).sum::<usize>() / folds);
        self.tried.insert((ray, k), Looked { held, nonzeros, number: self.order.len() });
        if !settings.interrupted() && self.lead.as_ref().is_none_or(|lead| loss < lead.loss) {
            let (weights, bias) = self.folds[0].at.clone().unwrap_or_default();
            let start = Arc::new(Start { weights, bias });
            self.lead = Some(Lead { loss, number: self.order.len(), penalty, start });
        }
        let rows = self.folds[0].learnt.len();
        self.order.push(Tried {
            solver: Solver::Newton,
            l1: penalty.l1,
            l2: penalty.l2,
            loss,
            nonzeros,
            rows,
            chosen: false,
        });
        let mut progress = Progress::start(self.order.len() as u64 + 1, 1);
        (progress.epoch, progress.learnt) = (self.order.len() as u64, self.order.len() as u64);
        (progress.nonzeros, progress.validation_loss, progress.epoch_ends) =
            (Some(nonzeros), Some(loss), true);
        progress.stage = Stage::Choosing;
        (self.watch)(&progress);
        Ok(loss)
    }

    /// The choice of an interrupted run: the best of what was tried to the end, if anything was.
    fn so_far(mut self) -> Result<Choice> {
        let lead = self.lead.take().ok_or(Kind::Interrupted)?;
        self.order[lead.number].chosen = true;
        Ok(Choice { how: How::Minimise(lead.penalty, lead.start), tried: self.order })
    }

    /// Down a ray by decades, until it has got worse twice; the best.
    fn descend(&mut self, ray: usize) -> Result<i32> {
        let (mut best, mut k) = (FIRST, FIRST);
        while k <= LAST && k <= best + 4 {
            if self.loss(ray, k)? < self.loss(ray, best)? {
                best = k;
            }
            if self.loss(ray, k)? > 1.02 * self.loss(ray, best)? {
                break; // far worse: no need to see it twice
            }
            k += 2;
        }
        Ok(best)
    }

    /// From k, by half decades, as long as it gets better; the best.
    fn climb(&mut self, ray: usize, k: i32, ways: [i32; 2]) -> Result<i32> {
        let mut best = k;
        for way in ways {
            while self.loss(ray, best + way)? < self.loss(ray, best)? {
                best += way;
            }
        }
        Ok(best)
    }

    /// The fewest weights among those whose loss is nearly the lowest.
    fn sparsest(&self, points: &[(usize, i32)]) -> (usize, i32) {
        let at = |point: &(usize, i32)| {
            let looked = self.tried.get(point);
            looked.map_or((f64::INFINITY, usize::MAX), |looked| (looked.held.loss(), looked.nonzeros))
        };
        let lowest = points.iter().map(|point| at(point).0).fold(f64::INFINITY, f64::min);
        let near = points.iter().filter(|point| at(point).0 <= (1.0 + SLACK) * lowest);
        near.min_by_key(|point| at(point).1).copied().unwrap_or(points[0])
    }
}
