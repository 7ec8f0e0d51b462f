//! Converts single models to lanes and lanes to single models, bit for bit in f64.
//!
//! Both representations hold the same numbers. They differ in the list of ids that may be non-zero, which
//! affects how weights are found for a rebase but not their values. In f32, lanes are also rebased together,
//! so there a conversion changes the rounding.

use super::lane_vector::{LaneVector, each};
use super::lanes::Lanes;
use super::state::{FrameState, no_state};
use crate::problem::penalty::{ElasticNet, Method};
use crate::util::error::Result;

impl<P: LaneVector<f64, L>, const L: usize> Lanes<f64, P, L> {
    /// The state of one lane.
    pub fn state(&self, lane: usize) -> FrameState {
        let ([limit, largest, eta], touched, alone) = self.rebases.of(lane);
        FrameState {
            stored: self.stored.iter().map(|v| v.lanes()[lane]).collect(),
            totals: self.ledgers.totals(lane),
            rebase: [limit, largest, eta, 1.0],
            touched: touched as u64,
            alone,
        }
    }

    /// Creates one lane per state, each with its own penalty. Invalid numbers are an error.
    pub fn from_state(states: &[FrameState], penalties: &[ElasticNet], method: Method) -> Result<Self> {
        let columns = states.first().map_or(0, |one| one.stored.len());
        let fits = states.len() == penalties.len() && states.len() <= L;
        if !fits || states.iter().any(|one| one.stored.len() != columns) {
            return Err(no_state());
        }
        let mut lanes = Lanes::new(columns, penalties, method);
        for (lane, one) in states.iter().enumerate() {
            one.check()?;
            lanes.ledgers.set_totals(lane, one.totals);
            let [limit, largest, eta, _] = one.rebase;
            lanes.rebases.set(lane, [limit, largest, eta], one.touched as f64, one.alone.as_deref());
        }
        let weight = |l: usize, j: usize| states.get(l).map_or(0.0, |one| one.stored[j]);
        lanes.stored.iter_mut().enumerate().for_each(|(j, v)| *v = P::of(each(|l| weight(l, j))));
        lanes.debt = *lanes.ledgers.debt();
        lanes.scale = lanes.ledgers.stretch().map(|stretch| 1.0 / stretch);
        Ok(lanes)
    }
}
