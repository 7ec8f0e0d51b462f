//! Choice of the penalty: the lowest held-out loss of the optimum on four rays of (λ₁, λ₂).
//!
//! ```text
//! rays      λ₁ = ρ·t·λ₁_max,   λ₂ = (1 − ρ)·t·‖g₀‖²/F₀          t = 10^(−k/2)
//! ```
//!
//! g₀ and F₀ are the gradient and the objective without weights. Both units scale as the penalties do, so that t does not
//! depend on the units of features or targets. The search goes down the middle ray from strong penalties in half
//! decades until the loss rises; the other rays begin at the best point, on all threads, and end where they are far behind. It chooses the fewest weights among the points whose
//! loss is at most 0.1 % above the lowest. Few rows are split into five folds; of many rows, one
//! part is held out. With very many rows, a sample finds the ray and all rows find the point on it: the more rows, the
//! weaker the best penalty. Optima and
//! FTRL-Proximal are trained on all rows only if they are not far behind on the sample.

mod place;
mod race;
mod ray;
mod split;
#[cfg(test)]
mod tests;

use super::fold::{Fold, digits, null};
use super::ftrl_candidate::{self, FtrlCandidate};
use super::progress::{Progress, Stage};
use super::told::told;
use crate::eval::objective::{NullHeads, NullModel};
use crate::model::report::Tried;
use crate::problem::heads::{Head, HeadKind};
use crate::problem::loss::Admits;
use crate::problem::penalty::ElasticNet;
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::problem::task::Task;
use crate::util::error::{Kind, Result};
use place::Place;
pub(super) use race::lowest_loss;
use ray::{Lead, Looked, Walk, penalty};
use split::Split;
use std::collections::{BTreeMap, HashMap};
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
const SHARE: usize = 2_000_000;
/// Least number of rows in that sample for many classes or labels.
const LEAST_ROWS: usize = 10_000;
/// Relative increase of the loss that is accepted for a model with fewer weights.
pub(super) const SLACK: f64 = 1e-3;

/// Multiple of λ₁_max at which all weights are zero.
pub(super) const NOTHING: f64 = 1.01;
/// Relative gain that the FTRL candidate needs: the optimum is preferred, since it has a certificate.
pub(super) const MARGIN: f64 = 5e-3;
/// On a sample of the rows, FTRL-Proximal is left behind if its loss is above the lowest of the optima by this share,
const BEHIND: f64 = 0.01;
/// and the optima are left behind if their loss is above its loss by this share: with more rows, they gain on it.
const AHEAD: f64 = 0.05;

/// The result of the penalty search: how to train on all rows, and all penalties tried, in order.
pub(super) struct Choice {
    pub how: How,
    pub tried: Vec<Tried>,
    /// The held-out loss of the choice without and with limits of the scores, if it was measured.
    pub with_limits: Option<[f64; 2]>,
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
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Choice> {
    choose_on(Split::new(task, settings, SHARE, LEAST_ROWS), task, settings, with_ftrl, watch)
}

/// Chooses a penalty of the optimum on a sample of the rows, with one fold, which needs less memory than five.
pub(super) fn choose_on_sample(
    task: &Task,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Choice> {
    let split = Split::new(task, settings, SHARE, LEAST_ROWS).with_one_fold();
    choose_on(split, task, settings, false, watch)
}

fn choose_on(
    split: Split,
    task: &Task,
    settings: &Settings,
    with_ftrl: bool,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Choice> {
    let null = null(task, settings.bias);
    let units = units_of(task, &null);
    let folds = units.map_or_else(Vec::new, |_| split.folds());
    let (Some(units), false) = (units, folds.is_empty() || task.len() < 10) else {
        let start = start_at(task, &null.heads);
        let how = How::Minimise(settings.penalty, start);
        return Ok(Choice { how, tried: Vec::new(), with_limits: None });
    };
    told(
        |tell| {
            Search { task, settings, units, null: &null, tell }.run(folds, with_ftrl, &|| split.all_rows())
        },
        &mut progress_of(watch),
    )
}

/// The units of the penalties, unless the null model has no gradient or an infinite objective.
pub(super) fn units_of(task: &Task, null: &NullHeads) -> Option<ElasticNet> {
    let units = ElasticNet { l1: null.l1_max, l2: null.squares / (null.baseline - least_loss(task)) };
    (units.l1 > 0.0 && units.l2 > 0.0 && units.l2.is_finite()).then_some(units)
}

/// The mean loss if every row had its best score. It is zero but for losses with a log link, whose values may be negative.
fn least_loss(task: &Task) -> f64 {
    let rows = task.numbers().iter().enumerate();
    match task.loss.admits() {
        Admits::NonNegative | Admits::Positive => {
            rows.map(|(i, &y)| -task.weight(i) * task.loss.conjugate(0.0, y)).sum::<f64>() / task.len() as f64
        }
        _ => 0.0,
    }
}

/// A loss that is higher by a share of its size.
pub(super) fn raised(loss: f64, share: f64) -> f64 {
    loss + share * loss.abs()
}

/// Reports each candidate as progress of the search.
fn progress_of(watch: &mut (dyn FnMut(&Progress) + Send)) -> impl FnMut(Tried) {
    let mut count = 0;
    move |tried| {
        count += 1;
        let mut progress = Progress::start(count + 1, 1);
        (progress.epoch, progress.learnt, progress.epoch_ends) = (count, count, true);
        (progress.nonzeros, progress.validation_loss) = (Some(tried.nonzeros), Some(tried.loss));
        progress.stage = Stage::Choosing;
        watch(&progress);
    }
}

/// What a search needs to know.
struct Search<'a> {
    task: &'a Task,
    settings: &'a Settings,
    units: ElasticNet,
    null: &'a NullHeads,
    tell: &'a (dyn Fn(Tried) + Sync),
}

impl Search<'_> {
    /// Searches on these folds. If they have only some of the rows, `all_rows` gives a fold with all.
    fn run(
        &self,
        mut folds: Vec<Fold>,
        with_ftrl: bool,
        all_rows: &(dyn Fn() -> Option<Fold> + Sync),
    ) -> Result<Choice> {
        let Search { settings, units, tell, .. } = *self;
        let with_ftrl = with_ftrl && settings.has_one_penalty();
        let mut middle = self.walk(&folds, 0, None);
        // The first optimum comes first: it is the model of a run that is interrupted soon.
        let (_, eta) = rayon::join(
            || middle.loss(FIRST),
            || with_ftrl.then(|| ftrl_candidate::rate(&folds[0], units, settings)).flatten(),
        );
        // Solves of a softmax use one thread for half of their time: another ray can use the other one.
        let abreast = folds.len() == 1
            && self.task.targets.heads().is_some_and(|heads| heads.kind == HeadKind::Softmax);
        let (mut found, ftrl) = rayon::join(
            || if abreast { walk_abreast(middle) } else { walk_all(middle) },
            || eta.and_then(|eta| ftrl_candidate::best(&folds, eta, units, settings, tell)),
        );
        let mut ftrl = ftrl.map(|(best, tried)| found.add_ftrl(best, tried));
        if let Some(fold) = all_rows().filter(|_| !settings.interrupted()) {
            folds = vec![fold];
            let ((ray, k), place) = (found.sparsest(), found.place(settings));
            let optimum = found.lowest();
            let rival = ftrl.take().filter(|ftrl| ftrl.held.loss() < raised(optimum, BEHIND));
            let far_ahead = rival.as_ref().is_some_and(|ftrl| ftrl.held.loss() < raised(optimum, -AHEAD));
            let (walk, again) = rayon::join(
                || {
                    let mut walk = (!far_ahead).then(|| self.walk(&folds, ray, Some(place)));
                    walk.iter_mut().for_each(|walk| _ = walk.climb(k, [1, 1]));
                    walk
                },
                || rival.as_ref().map(|ftrl| ftrl_candidate::on(&folds, ftrl, 1, settings, tell)),
            );
            if let Some(walk) = walk {
                found.looked.clear();
                found.lead.iter_mut().for_each(|lead| lead.loss = f64::INFINITY); // that loss is of other rows
                found.add(walk);
            }
            ftrl =
                again.map(|(best, tried)| found.add_ftrl(FtrlCandidate { number: 0, ..best }, vec![tried]));
        }
        if settings.interrupted() {
            return found.so_far(settings);
        }
        self.choice(found, ftrl, &folds[0])
    }

    /// A walk along a ray, from this place or from nothing.
    fn walk<'w>(&'w self, folds: &'w [Fold], ray: usize, place: Option<Place>) -> Walk<'w> {
        let Search { settings, units, tell, .. } = *self;
        let (looked, tried, lead, follows) = (BTreeMap::new(), Vec::new(), None, place.is_some());
        let places = vec![place.unwrap_or_default(); folds.len()];
        let rival = f64::INFINITY;
        Walk { settings, units, folds, ray, places, follows, rival, looked, tried, lead, tell }
    }

    /// How to train, given what was found on some rows and on the fold with all of them.
    fn choice(&self, found: Found, ftrl: Option<FtrlCandidate>, fold: &Fold) -> Result<Choice> {
        let Search { task, settings, units, null, .. } = *self;
        let (ray, k) = found.sparsest();
        let Some(&Looked { held, number, .. }) = found.looked.get(&(ray, k)) else {
            return Err(Kind::Interrupted.into()); // every search tries the middle ray
        };
        let ftrl = ftrl.filter(|ftrl| ftrl.held.loss() < raised(held.loss(), -MARGIN));
        let best = ftrl.as_ref().map_or(held, |ftrl| ftrl.held);
        let with_limits = Some(best.with_limits());
        let (mut place, lead, mut tried) = (found.place(settings), found.lead, found.tried);
        // With penalty factors, some weights may have no penalty, and are not zero at λ₁_max.
        if settings.factors.is_none() && !best.is_better_than_nothing() {
            let penalty = ElasticNet { l1: digits(NOTHING * units.l1), l2: 0.0 };
            let (loss, rows) = (best.loss_of_nothing(), fold.learnt.len());
            let (ElasticNet { l1, l2 }, solver, se) = (penalty, Solver::Newton, f64::NAN);
            tried.push(Tried { solver, l1, l2, loss, se, nonzeros: 0, rows, seconds: 0.0, chosen: true });
            let how = How::Minimise(penalty, start_at(task, &null.heads));
            return Ok(Choice { how, tried, with_limits: None });
        }
        if let Some(ftrl) = ftrl {
            tried[ftrl.number].chosen = true;
            return Ok(Choice { how: How::FtrlCandidate(ftrl), tried, with_limits });
        }
        tried[number].chosen = true;
        let penalty = penalty(units, ray, k);
        let start = match lead.filter(|lead| lead.number == number) {
            Some(lead) => lead.start(settings),
            None => {
                place.look(fold, penalty, settings);
                start_at(task, place.restore(settings))
            }
        };
        Ok(Choice { how: How::Minimise(penalty, start), tried, with_limits })
    }
}

/// Walks along all rays: the middle one first, and the others from where it ends. ℓ₁ alone goes on from there only if it is not far
/// behind both the middle ray and the one with mostly ℓ₂, whose solves are cheaper.
fn walk_all(mut middle: Walk) -> Found {
    let best = middle.descend();
    let best = middle.climb(best, [-1, 1]);
    let (mut first, mut second) = (middle.turn(1), middle.turn(2));
    let (_, near) = rayon::join(|| first.loss(best), || second.climb(best, [-1, 1]));
    first.rival = second.lowest();
    let mut third = second.turn(3);
    rayon::join(|| first.climb(best, [-1, 1]), || third.climb(near, [-1, 1]));
    let mut found = Found::default();
    [middle, first, second, third].into_iter().for_each(|walk| found.add(walk));
    found
}

/// Like `walk_all`, with the middle ray and the one with mostly ℓ₂ at the same time, from strong penalties on.
fn walk_abreast(mut middle: Walk) -> Found {
    let mut second = middle.turn(2);
    let down = |walk: &mut Walk| {
        let best = walk.descend();
        walk.climb(best, [-1, 1])
    };
    let (best, near) = rayon::join(|| down(&mut middle), || down(&mut second));
    let (mut first, mut third) = (middle.turn(1), second.turn(3));
    let lowest = middle.lowest().min(second.lowest());
    (first.rival, third.rival) = (lowest, lowest);
    rayon::join(|| first.climb(best, [-1, 1]), || third.climb(near, [-1, 1]));
    let mut found = Found::default();
    [middle, first, second, third].into_iter().for_each(|walk| found.add(walk));
    found
}

/// What all walks have found.
#[derive(Default)]
struct Found {
    looked: HashMap<(usize, i32), Looked>,
    tried: Vec<Tried>,
    lead: Option<Lead>,
}

impl Found {
    /// Adds the result of a walk.
    fn add(&mut self, walk: Walk) {
        let before = self.tried.len();
        let numbered =
            |(k, looked): (i32, Looked)| ((walk.ray, k), Looked { number: before + looked.number, ..looked });
        self.looked.extend(walk.looked.into_iter().map(numbered));
        self.tried.extend(walk.tried);
        if let Some(lead) = walk.lead
            && self.lead.as_ref().is_none_or(|best| lead.loss < best.loss)
        {
            self.lead = Some(Lead { number: before + lead.number, ..lead });
        }
    }

    /// Adds candidates of FTRL-Proximal, and returns the best with its number among all.
    fn add_ftrl(&mut self, best: FtrlCandidate, tried: Vec<Tried>) -> FtrlCandidate {
        let number = self.tried.len() + best.number;
        self.tried.extend(tried);
        FtrlCandidate { number, ..best }
    }

    /// The place of the best model so far.
    fn place(&self, settings: &Settings) -> Place {
        Place::at(self.lead.as_ref().map(|lead| lead.start(settings).to_heads()))
    }

    /// The choice of an interrupted run: the best of the penalties that were solved, if any.
    fn so_far(mut self, settings: &Settings) -> Result<Choice> {
        let lead = self.lead.take().ok_or(Kind::Interrupted)?;
        self.tried[lead.number].chosen = true;
        let how = How::Minimise(lead.penalty, lead.start(settings));
        Ok(Choice { how, tried: self.tried, with_limits: None })
    }

    /// The lowest held-out loss of all points.
    fn lowest(&self) -> f64 {
        self.looked.values().map(|looked| looked.held.loss()).fold(f64::INFINITY, f64::min)
    }

    /// The point with the fewest weights among all whose loss is at most `SLACK` above the lowest. Of equal points,
    /// the first that was tried.
    fn sparsest(&self) -> (usize, i32) {
        let lowest = self.lowest();
        let near = self.looked.iter().filter(|(_, looked)| looked.held.loss() <= raised(lowest, SLACK));
        near.min_by_key(|(_, looked)| (looked.nonzeros, looked.number))
            .map_or((0, FIRST), |(point, _)| *point)
    }
}

/// A start at these heads, in the form for one model or for many heads.
fn start_at(task: &Task, heads: &[Head]) -> Arc<Start> {
    Arc::new(match (task.targets.heads(), heads) {
        (None, [head, ..]) => Start::one(head.dense(task.data.rows.columns()), head.bias),
        _ => Start { heads: heads.to_vec(), ..Start::default() },
    })
}

/// The units of the penalties: λ₁_max and ‖g₀‖²/F₀.
pub(super) fn units(null: &NullModel) -> ElasticNet {
    let square: f64 = null.gradient.iter().map(|g| g * g).sum();
    let most = null.gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
    ElasticNet { l1: most, l2: square / null.baseline }
}
