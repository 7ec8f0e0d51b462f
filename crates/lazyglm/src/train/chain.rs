//! Chains of solves of one model, for one penalty after another, and their places in a checkpoint.
//!
//! ```text
//! solve k     begins where solve k − 1 ended: weights, scores, slopes and curvatures
//! key k       the hash of the rows, the penalty and key k − 1
//! journal     the minimum of every solve, and the place of the last one
//! ```

use crate::data::rows::Examples;
use crate::optim::newton::Reached;
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

/// The key of the place at which a solve ended.
fn place_of(solve: Key) -> Key {
    solve.and_bytes(b"place")
}
