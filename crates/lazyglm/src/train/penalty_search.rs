//! Choice of the penalty: the lowest held-out loss of the optimum on four rays of (λ₁, λ₂).
//!
//! ```text
//! rays      λ₁ = ρ·t·λ₁_max,   λ₂ = (1 − ρ)·t·‖g₀‖²/F₀          t = 10^(−k/2)
//! ```
//!
//! g₀ and F₀ are the gradient and the objective without weights. Both units scale as the penalties do, so that t does not
//! depend on the units of features or targets. The search goes down the middle ray from strong penalties in whole decades,
//! then refines around the best point; the other rays begin there. It chooses the fewest weights among the points whose
//! loss is at most 0.1 % above the lowest. Few rows are split into five folds; of many rows, one
//! part is held out. With very many rows, a sample finds the ray and all rows find the point on it: the more rows, the
//! weaker the best penalty.

use super::fold::{Fold, digits, null};
use super::ftrl_candidate::{self, FtrlCandidate};
use super::holdout_score::HoldoutScore;
use super::minimiser::Solve;
use super::progress::{Progress, Stage};
use super::search::Folds;
use crate::eval::objective::NullModel;
use crate::model::report::Tried;
use crate::optim::newton::Bounds;
use crate::problem::heads::Head;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::problem::task::Task;
use crate::util::error::{Kind, Result};
use crate::util::random::Random;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// ρ of the rays: the middle, ℓ₁ alone, mostly ℓ₂, and between the last and the middle.
const RAYS: [f64; 4] = [0.5, 1.0, 0.03, 0.12];
/// k at the start of the middle ray, and at the end of every ray.
const FIRST: i32 = 2;
const LAST: i32 = 16;
/// Number of folds of cross-validation.
const FOLDS: usize = 5;
/// Largest number of rows for five-fold cross-validation.
pub(super) const FEW_ROWS: usize = 20_000;
/// Largest number of features for five-fold cross-validation: every fold has its own weights.
const FEW_COLUMNS: usize = 1_000_000;
/// Largest number of held-out rows.
const MOST_HELD: usize = 50_000;
/// Number of non-zeros in the sample of rows that finds the ray.
const SHARE: usize = 4_000_000;
/// Least number of rows in that sample for many classes or labels.
const LEAST_ROWS: usize = 10_000;
/// Tolerance of the solves that compare penalties.
const TOLERANCE: f64 = 5e-3;
/// Work limit of a solve that compares penalties, in operations per non-zero of its rows,
const WORK: usize = 400;
/// or this many operations in all, if that is more: a hundred solves on tiny data then take less than 0.2 s.
const LEAST_WORK: usize = 400_000;
/// Relative increase of the loss that is accepted for a model with fewer weights.
const SLACK: f64 = 1e-3;

/// Multiple of λ₁_max at which all weights are zero.
const NOTHING: f64 = 1.01;
/// Relative gain that the FTRL candidate needs: the optimum is preferred, since it has a certificate.
const MARGIN: f64 = 5e-3;

/// The result of the penalty search: how to train on all rows, and all penalties tried, in order.
pub(super) struct Choice {
    pub how: How,
    pub tried: Vec<Tried>,
}

/// How to train on all rows.
pub(super) enum How {
    /// By Newton's method with this penalty, from the weights of its last solve.
    Minimise(ElasticNet, Arc<Start>),
    /// By FTRL-Proximal, for the number of epochs found.
    FtrlCandidate(FtrlCandidate),
}

/// Chooses a penalty by held-out loss. FTRL-Proximal is a candidate if `with_ftrl`.
pub(super) fn choose(
    task: &Task,
    settings: &Settings,
    with_ftrl: bool,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Choice> {
    let rows = task.len();
    let null = null(task, settings.bias);
    let units = ElasticNet { l1: null.l1_max, l2: null.squares / null.baseline };
    let without_search = || {
        let start = start_at(task, &null.heads);
        Choice { how: How::Minimise(settings.penalty, start), tried: Vec::new() }
    };
    if rows < 10 || !(units.l1 > 0.0 && units.l2.is_finite()) {
        return Ok(without_search());
    }
    let heads = task.targets.heads().map_or(1, |heads| heads.names.len()); // each of them costs as much as one model
    let few = rows.saturating_mul(heads) <= FEW_ROWS && task.data.rows.columns() <= FEW_COLUMNS;
    let (order, held) = stratified(task, settings.seed, few);
    let most = match task.data.rows.nonzeros().saturating_mul(heads) {
        all if all > 2 * SHARE && !few => {
            let some = (rows as u128 * SHARE as u128 / all as u128) as usize;
            if heads == 1 { some } else { some.max(LEAST_ROWS) }
        }
        _ => rows,
    };
    let fold = |held: &Range<usize>| Fold::new(task, &order, held.clone(), most, settings.bias);
    let folds: Vec<Fold> = held.iter().filter_map(fold).collect();
    if folds.is_empty() {
        return Ok(without_search());
    }
    let mut walk =
        Walk { settings, units, folds, tried: HashMap::new(), order: Vec::new(), lead: None, watch };
    let middle = walk.descend(0)?;
    let mut best = vec![walk.climb(0, middle, [1, -1])?];
    for ray in 1..RAYS.len() {
        let near = best[if ray == 3 { 2 } else { 0 }];
        best.push(walk.climb(ray, near, [1, -1])?);
    }
    let (mut ray, mut k) = walk.sparsest();
    let plain = settings.factors.is_none() && !settings.nonnegative;
    let mut follow = match with_ftrl && plain && !settings.interrupted() {
        true => ftrl_candidate::best(&walk.folds, units, settings, &mut walk.order),
        false => None,
    };
    let all_rows = if most < rows - held[0].len() {
        Fold::new(task, &order, held[0].clone(), rows, settings.bias)
    } else {
        None
    };
    if let Some(fold) = all_rows {
        walk.folds = vec![fold];
        walk.tried.clear();
        walk.lead.iter_mut().for_each(|lead| lead.loss = f64::INFINITY); // that loss is of other rows
        walk.climb(ray, k, [1, 1])?;
        (ray, k) = walk.sparsest();
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
    // With penalty factors, some weights may have no penalty, and are not zero at λ₁_max.
    if settings.factors.is_none() && !best.is_better_than_nothing() {
        let penalty = ElasticNet { l1: digits(NOTHING * units.l1), l2: 0.0 };
        let (loss, rows) = (best.loss_of_nothing(), fold.learnt.len());
        let ElasticNet { l1, l2 } = penalty;
        tried.push(Tried { solver: Solver::Newton, l1, l2, loss, nonzeros: 0, rows, chosen: true });
        return Ok(Choice { how: How::Minimise(penalty, start_at(task, &null.heads)), tried });
    }
    if let Some(follow) = follow {
        tried[follow.number].chosen = true;
        return Ok(Choice { how: How::FtrlCandidate(follow), tried });
    }
    tried[number].chosen = true;
    let penalty = penalty(units, ray, k);
    fold.look(penalty, settings); // the last solve may have been for another penalty
    Ok(Choice { how: How::Minimise(penalty, start_at(task, &fold.at.unwrap_or_default())), tried })
}

/// A start at these heads, in the form for one model or for many heads.
fn start_at(task: &Task, heads: &[Head]) -> Arc<Start> {
    Arc::new(match (task.targets.heads(), heads) {
        (None, [head, ..]) => Start::one(head.dense(task.data.rows.columns()), head.bias),
        _ => Start { heads: heads.to_vec(), ..Start::default() },
    })
}

/// The rows in an order in which each fold is a range, and these ranges: five folds, or for many rows one part of a
/// fold. Classes have their share in each fold.
fn stratified(task: &Task, seed: u64, few: bool) -> (Vec<usize>, Vec<Range<usize>>) {
    let folds = Folds::stratified(task, FOLDS, seed);
    let mut random = Random::new(seed ^ 0x0A07_0A07_5EED_0001);
    let (mut order, mut ranges) = (Vec::with_capacity(task.len()), Vec::new());
    for fold in 0..FOLDS {
        let mut rows: Vec<usize> = folds.rows(fold).into_iter().map(|i| i as usize).collect();
        random.shuffle(&mut rows);
        ranges.push(order.len()..order.len() + rows.len());
        order.extend(rows);
    }
    if !few {
        ranges.truncate(1);
        ranges[0].end = ranges[0].end.min(MOST_HELD);
    }
    (order, ranges)
}

/// The units of the penalties: λ₁_max and ‖g₀‖²/F₀.
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
    /// The held-out score of the optimum for this penalty, and its number of non-zeros.
    fn look(&mut self, penalty: ElasticNet, settings: &Settings) -> (HoldoutScore, usize) {
        let Fold { learnt, minimiser, at, .. } = self;
        let work = LEAST_WORK.max(WORK.saturating_mul(learnt.data.rows.nonzeros()));
        let found = minimiser.minimise(
            learnt,
            &Solve {
                weighted_penalty: WeightedPenalty { penalty, ..settings.weighted_penalty() },
                bias: settings.bias,
                start: at.as_deref(),
                tolerance: TOLERANCE,
                bounds: Bounds { work, least_steps: 1, interrupt: settings.interrupt.as_deref() },
                watch: &|_, _| !settings.interrupted(),
            },
        );
        let held = self.judge(&found.heads);
        let nonzeros = found.heads.iter().map(|head| head.weights.len()).sum();
        self.at = Some(found.heads);
        (held, nonzeros)
    }
}

/// The best model so far, kept for an interruption.
struct Lead {
    loss: f64,
    number: usize, // index in the list of those tried
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
    /// The held-out loss at one point of a ray; infinite beyond its ends.
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
            let fold = &self.folds[0];
            let start = start_at(&fold.learnt, fold.at.as_deref().unwrap_or_default());
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

    /// The choice of an interrupted run: the best of the penalties that were solved, if any.
    fn so_far(mut self) -> Result<Choice> {
        let lead = self.lead.take().ok_or(Kind::Interrupted)?;
        self.order[lead.number].chosen = true;
        Ok(Choice { how: How::Minimise(lead.penalty, lead.start), tried: self.order })
    }

    /// Goes down a ray by decades until the loss has risen twice; returns the best point.
    fn descend(&mut self, ray: usize) -> Result<i32> {
        let (mut best, mut k) = (FIRST, FIRST);
        while k <= LAST && k <= best + 4 {
            if self.loss(ray, k)? < self.loss(ray, best)? {
                best = k;
            }
            if self.loss(ray, k)? > 1.02 * self.loss(ray, best)? {
                break; // far worse: once is enough
            }
            k += 2;
        }
        Ok(best)
    }

    /// Goes from k by half decades while the loss falls; returns the best point.
    fn climb(&mut self, ray: usize, k: i32, ways: [i32; 2]) -> Result<i32> {
        let mut best = k;
        for way in ways {
            while self.loss(ray, best + way)? < self.loss(ray, best)? {
                best += way;
            }
        }
        Ok(best)
    }

    /// The point with the fewest weights among all whose loss is at most `SLACK` above the lowest. Of equal points,
    /// the first that was tried.
    fn sparsest(&self) -> (usize, i32) {
        let lowest = self.tried.values().map(|looked| looked.held.loss()).fold(f64::INFINITY, f64::min);
        let near = self.tried.iter().filter(|(_, looked)| looked.held.loss() <= (1.0 + SLACK) * lowest);
        near.min_by_key(|(_, looked)| (looked.nonzeros, looked.number))
            .map_or((0, FIRST), |(point, _)| *point)
    }
}
