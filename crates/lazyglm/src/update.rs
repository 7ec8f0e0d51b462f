//! What an update is: the part of a step that knows how weights are kept.
//!
//! A step is the same in all of them (order A: the loss gradient on the row's features, then one penalty step on
//! every weight), and so is its loop, [`crate::solver::online`]. They differ in when the penalty is paid:
//!
//! | update | penalty | where |
//! |---|---|---|
//! | lazy | never touches a weight: two numbers change | [`crate::kernel`] |
//! | table | when the weight is next needed, from two tables (the paper) | [`crate::reference`] |
//! | dense, dense-sparse-predict | on every weight at every step | [`crate::reference`] |

use crate::rows::{Row, Value};

/// One way of keeping weights under a penalty.
pub trait Update {
    /// w·x of the row, with the weights as they are now. It is followed by [`Update::pull`] of the same row, or
    /// by none.
    fn score<V: Value>(&mut self, row: Row<V>) -> f64;

    /// w ← w − amount·x on the features of the row just scored.
    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64);

    /// One penalty step at rate `eta` on every weight.
    fn charge(&mut self, eta: f64);

    /// Every weight as it is now; looking changes nothing.
    fn weights(&self) -> Vec<f64>;
}
