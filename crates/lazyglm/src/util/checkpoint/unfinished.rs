//! The state of a solve between two of its steps: a solve of minutes goes on from there.
//!
//! ```text
//! before each step     due: the state goes into the journal, under the key of the solve
//! interrupted          the state before the step that was cut short
//! done                 the result takes the place of the state
//! ```

use super::{Checkpoint, Key};
use crate::util::state::{Fields, State};

/// The place of an unfinished solve in a journal.
#[derive(Clone, Copy)]
pub struct Unfinished<'a> {
    checkpoint: &'a Checkpoint,
    key: Key,
}

impl<'a> Unfinished<'a> {
    /// The place of the solve whose result has this key.
    pub fn of(checkpoint: &'a Checkpoint, result: Key) -> Unfinished<'a> {
        Unfinished { checkpoint, key: result.and_bytes(b"steps") }
    }

    /// The key of the state, which the result replaces.
    pub fn key(&self) -> Key {
        self.key
    }

    /// The state at which the solve was cut short, if the journal has one that `fits`. A damaged one counts as none.
    pub fn find<T: State + Default>(&self, fits: impl Fn(&T) -> bool) -> Option<T> {
        let mut state = T::default();
        let known = self.checkpoint.find(self.key, &mut state).unwrap_or(false);
        (known && fits(&state)).then_some(state)
    }
}

/// Keeps the state of one solve before each of its steps.
pub struct Keeper<'a, T> {
    place: Option<Unfinished<'a>>,
    last: Option<T>,
}

impl<'a, T: State> Keeper<'a, T> {
    /// A keeper without a state; it keeps nothing without a place.
    pub fn new(place: Option<Unfinished<'a>>) -> Keeper<'a, T> {
        Keeper { place, last: None }
    }

    /// Sees the state before a step. If the run was interrupted during the last step, the state before that step is kept, since
    /// a step that is cut short leads elsewhere.
    pub fn see(&mut self, interrupted: bool, now: impl FnOnce() -> T) {
        let Some(Unfinished { checkpoint, key }) = self.place else { return };
        if interrupted {
            return self.cut_short();
        }
        let mut now = now();
        if checkpoint.is_due() {
            checkpoint.replace(&mut [(key, Fields::write(&mut now))], &[]);
        }
        self.last = Some(now);
    }

    /// Keeps the last state, for the run is interrupted.
    pub fn cut_short(&mut self) {
        if let (Some(Unfinished { checkpoint, key }), Some(mut last)) = (self.place, self.last.take()) {
            checkpoint.hold(key, &mut last);
        }
    }
}
