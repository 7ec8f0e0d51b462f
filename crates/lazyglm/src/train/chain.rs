//! Chains of solves of one model or one head, for one penalty after another, and their places in a checkpoint.
//!
//! ```text
//! solve k     begins where solve k − 1 ended: weights, scores, slopes and curvatures
//! key k       the hash of the rows, the penalty and key k − 1
//! journal     the minimum of every solve, and the place of the last one
//! heads       one chain each, if all places fit into 64 MB
//! ```

use crate::data::rows::Examples;
use crate::optim::newton::Reached;
use crate::problem::task::Task;
use crate::util::checkpoint::{Checkpoint, Key, Unfinished};
use crate::util::state::{Fields, State};

/// The place of a solve in a checkpoint.
#[derive(Clone, Copy)]
pub(super) struct SolveUnit<'a> {
    pub checkpoint: &'a Checkpoint,
    pub key: Key,
}

impl<'a> SolveUnit<'a> {
    /// The place of the state between two steps.
    pub fn unfinished(&self) -> Unfinished<'a> {
        Unfinished::of(self.checkpoint, self.key)
    }
}

/// Solves of one model for one penalty after another. Each begins where the last ended: that place is in memory, or in the
/// checkpoint beside the last minimum.
#[derive(Clone, Default)]
pub(super) struct Chain {
    /// The place at which the last solve ended, if it is in memory.
    pub reached: Option<Reached>,
    key: Option<Key>, // of the last solve, if there is a checkpoint
    branched: bool,   // whether other chains go on from the same place
    alone: bool,      // whether no solve follows the first one
}

impl Chain {
    /// A chain of one solve. No solve goes on from its place, so a checkpoint keeps its minimum alone.
    pub fn of_one() -> Chain {
        Chain { alone: true, ..Chain::default() }
    }

    /// Whether no solve goes on from the place of this chain.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// The key of the last solve, if there is a checkpoint.
    pub fn key(&self) -> Option<Key> {
        self.key
    }

    /// A chain that goes on from the same place, and leaves that place to others.
    pub fn branch(&self) -> Chain {
        Chain { branched: true, ..self.clone() }
    }

    /// Goes on after a solve whose minimum was read from the checkpoint.
    pub fn skip(&mut self, unit: SolveUnit) {
        (self.reached, self.key, self.branched) = (None, Some(unit.key), false);
    }

    /// Drops the place, which no solve needs any more.
    pub fn end(self, checkpoint: Option<&Checkpoint>) {
        if let (Some(checkpoint), Some(key), false) = (checkpoint, self.key, self.branched) {
            checkpoint.replace(&mut [], &[place_of(key)]);
        }
    }

    /// Reads the place at which the last solve ended, if that was read from the checkpoint.
    pub fn restore(&mut self, checkpoint: &Checkpoint, examples: Examples) {
        let (None, Some(key)) = (&self.reached, self.key) else { return };
        let mut reached = Reached::nowhere();
        let known = checkpoint.find(place_of(key), &mut reached).unwrap_or(false);
        self.reached = (known && reached.fits(examples.len(), examples.rows.columns())).then_some(reached);
    }

    /// Keeps a minimum and the place at which it ended, instead of the place before.
    pub fn record(&mut self, unit: SolveUnit, found: &mut impl State) {
        let place = self.reached.as_mut().filter(|_| !self.alone).and_then(Fields::write);
        let before = self.key.filter(|_| !self.branched).map(place_of);
        let dropped: Vec<Key> = before.into_iter().chain([unit.unfinished().key()]).collect();
        let mut kept = [(unit.key, Fields::write(found)), (place_of(unit.key), place)];
        unit.checkpoint.replace(&mut kept, &dropped);
        (self.key, self.branched) = (Some(unit.key), false);
    }
}

/// The largest count of numbers in the places of all heads of a path: 64 MB. Heads with more begin at their last weights, so
/// that paths of several folds side by side fit into memory.
const MOST: usize = 1 << 23;

/// The chains of a path: one for one model or for a softmax, and one per head for heads that are solved alone.
#[derive(Default)]
pub(super) struct Chains {
    each: Vec<Chain>,
    alone: bool, // whether no solve follows the first one
}

impl Chains {
    /// Chains of one solve.
    pub fn of_one() -> Chains {
        Chains { alone: true, ..Chains::default() }
    }

    /// The chain of one model.
    pub fn of_one_model(&mut self) -> &mut Chain {
        self.grow(1);
        &mut self.each[0]
    }

    /// One chain per head; `None` if their places do not fit into memory.
    pub fn of_heads(&mut self, heads: usize, task: &Task) -> Option<&mut [Chain]> {
        let numbers = 5 * task.len() + 3 * task.data.rows.columns();
        (heads.saturating_mul(numbers) <= MOST).then(|| {
            self.grow(heads);
            &mut self.each[..]
        })
    }

    fn grow(&mut self, count: usize) {
        let chain = if self.alone { Chain::of_one() } else { Chain::default() };
        self.each.resize(count, chain);
    }

    /// The key of the last solve of a head, if there is a checkpoint.
    pub fn key(&self, head: usize) -> Option<Key> {
        self.each.get(head).and_then(Chain::key)
    }

    /// Drops all places, which no solve needs any more.
    pub fn end(self, checkpoint: Option<&Checkpoint>) {
        self.each.into_iter().for_each(|chain| chain.end(checkpoint));
    }
}

/// The key of the place at which a solve ended.
fn place_of(solve: Key) -> Key {
    solve.and_bytes(b"place")
}
