//! The place of a walk on one fold: the optimum for the last penalty, in memory or in the checkpoint.
//!
//! For independent heads, a checkpoint has a record of every look (the held-out score and the number of non-zeros) and the
//! heads of the last look and of the best one. Heads of other looks are dropped, since nothing begins at them any more.

use crate::optim::newton::Bounds;
use crate::problem::heads::{Head, HeadKind};
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::settings::Settings;
use crate::train::chain::Chain;
use crate::train::fold::Fold;
use crate::train::holdout_score::HoldoutScore;
use crate::train::minimiser::Solve;
use crate::util::checkpoint::{Checkpoint, Key};
use crate::util::state::Fields;

/// Tolerance of the solves that compare penalties.
const TOLERANCE: f64 = 5e-3;
/// With many weak weights, F is far below the held-out loss, which is what is compared. Then the tolerance is relative to this
/// share of the held-out loss,
const SHARE: f64 = 0.2;
/// and at most so many times larger.
const LOOSER: f64 = 10.0;
/// Work limit of a solve that compares penalties, in operations per non-zero of its rows,
const WORK: usize = 400;
/// or this many operations in all, if that is more: a hundred solves on tiny data then take less than 0.2 s.
const LEAST_WORK: usize = 400_000;

/// The last optimum on the training rows of a fold, from which the next solve begins.
#[derive(Clone, Default)]
pub(super) struct Place {
    /// The heads, unless no solve was made, or the checkpoint has them.
    pub heads: Option<Vec<Head>>,
    chain: Chain,
    kept: Option<Key>,   // of the last look, if the checkpoint has its record
    branched: bool,      // whether other walks go on from the same place
    looser: Option<f64>, // factor of the tolerance for a softmax, from the last look
}

impl Place {
    /// The place of these heads.
    pub fn at(heads: Option<Vec<Head>>) -> Place {
        Place { heads, ..Place::default() }
    }

    /// The same place, from which several walks go on.
    pub fn branch(&self) -> Place {
        Place { chain: self.chain.branch(), branched: true, ..self.clone() }
    }

    /// The key of the last look, if the checkpoint has its record.
    pub fn kept(&self) -> Option<Key> {
        self.kept
    }

    /// The key of the last look, if its heads can be dropped after the next one.
    pub fn to_drop(&self) -> Option<Key> {
        self.kept.filter(|_| !self.branched)
    }

    /// Moves to the optimum for this penalty. Returns its held-out score and number of non-zeros; after an interruption,
    /// the score is of no use.
    pub fn look(&mut self, fold: &Fold, penalty: ElasticNet, settings: &Settings) -> (HoldoutScore, usize) {
        let unit = self.unit(fold, penalty, settings);
        if let Some((checkpoint, key)) = unit {
            let mut known = (HoldoutScore::default(), 0);
            let heads = fold.learnt.targets.heads().map_or(1, |heads| heads.names.len());
            let most = fold.learnt.data.rows.columns().saturating_mul(heads); // a larger number was made up
            if checkpoint.find(key, &mut known).unwrap_or(false) && known.1 <= most {
                *self = Place { kept: Some(key), ..Place::default() };
                return known;
            }
            self.restore(settings);
        }
        let Fold { learnt, minimiser, .. } = fold;
        let work = LEAST_WORK.max(WORK.saturating_mul(learnt.data.rows.nonzeros()));
        let solve = Solve {
            weighted_penalty: WeightedPenalty { penalty, ..settings.weighted_penalty() },
            bias: settings.bias,
            start: self.heads.as_deref(),
            tolerance: TOLERANCE * self.looser.unwrap_or(1.0),
            bounds: Bounds {
                work,
                least_steps: 1,
                interrupt: settings.interrupt.as_deref(),
                unfinished: None,
            },
            watch: &|_, _| !settings.interrupted(),
            checkpoint: settings.checkpoint.as_deref(),
        };
        let mut found = minimiser.minimise_next(learnt, &solve, &mut self.chain, false);
        if settings.interrupted() {
            return (HoldoutScore::LOST, 0);
        }
        let held = fold.judge(&found.heads);
        let nonzeros = found.heads.iter().map(|head| head.weights.len()).sum();
        if let Some((checkpoint, key)) = unit {
            let record = (key, Fields::write(&mut (held, nonzeros)));
            let heads = (heads_of(key), Fields::write(&mut found.heads));
            checkpoint.replace(&mut [record, heads], &minimiser.keys_of_heads(learnt, &solve));
            (self.kept, self.branched) = (Some(key), false);
        }
        self.looser = found.objective.map(|objective| (SHARE * held.loss() / objective).clamp(1.0, LOOSER));
        self.looser = self.looser.filter(|factor| factor.is_finite());
        self.heads = Some(found.heads);
        (held, nonzeros)
    }

    /// The heads, read from the checkpoint if it has them.
    pub fn restore(&mut self, settings: &Settings) -> &[Head] {
        if let (None, Some(look)) = (&self.heads, self.kept) {
            self.heads = heads_after(look, settings);
        }
        self.heads.as_deref().unwrap_or_default()
    }

    /// The place of a look in the checkpoint, for independent heads: its key has all that the look depends on. A single
    /// model and a softmax have their solves there.
    fn unit<'s>(
        &self,
        fold: &Fold,
        penalty: ElasticNet,
        settings: &'s Settings,
    ) -> Option<(&'s Checkpoint, Key)> {
        let checkpoint = settings.checkpoint.as_deref()?;
        fold.learnt.targets.heads().filter(|heads| heads.kind != HeadKind::Softmax)?;
        let key = Key::of(fold.purpose).and_key(settings.key()).and_key(fold.key().ok()?);
        let key = key.and_numbers(&[penalty.l1, penalty.l2]);
        let key = match (self.kept, &self.heads) {
            (Some(last), _) => key.and(1).and_key(last),
            (None, Some(heads)) => heads.iter().fold(key.and(2), |key, head| head.and_key(key)),
            (None, None) => key.and(3),
        };
        Some((checkpoint, key))
    }
}

/// The heads after a look, if the checkpoint has them.
pub(super) fn heads_after(look: Key, settings: &Settings) -> Option<Vec<Head>> {
    let mut heads = Vec::new();
    let known = settings.checkpoint.as_deref()?.find(heads_of(look), &mut heads).unwrap_or(false);
    known.then_some(heads)
}

/// Drops the heads after these looks from the checkpoint.
pub(super) fn drop_heads(looks: impl Iterator<Item = Key>, settings: &Settings) {
    let Some(checkpoint) = settings.checkpoint.as_deref() else { return };
    let dropped: Vec<Key> = looks.map(heads_of).collect();
    if !dropped.is_empty() {
        checkpoint.replace(&mut [], &dropped);
    }
}

/// The key of the heads after a look.
fn heads_of(look: Key) -> Key {
    look.and_bytes(b"heads")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::penalty_search::tests::documents;

    #[test]
    fn the_tolerance_is_relative_to_the_held_out_loss_where_that_is_far_above_the_objective() {
        let task = documents(400, 0.6);
        let order: Vec<usize> = (0..400).collect();
        let fold = Fold::new(&task, &order, 0..80, 400, true).unwrap();
        let after = |l: f64| {
            let mut place = Place::default();
            let (held, _) = place.look(&fold, ElasticNet { l1: l, l2: l }, &Settings::default());
            (place.looser.unwrap(), held.loss())
        };
        let ((strong, _), (weak, held)) = (after(1e-2), after(1e-6));
        assert_eq!(strong, 1.0);
        assert!(weak > 1.5 && weak <= LOOSER, "{weak}, held out {held}");
    }
}
