//! Passive-aggressive steps (Crammer et al. 2006): the step length depends on the row, not on a learning rate.
//!
//! ```text
//! s = w·x + b,  ℓ = ℓ(s, y)        a row that costs nothing changes nothing
//! τ = min(C, ℓ/‖x‖²)               PA-I: C is the longest step
//! τ = ℓ/(‖x‖² + 1/(2C))            PA-II: C penalises long steps
//! w ← w − ω·τ·sgn(∂ℓ)·x,  b alike, and then one penalty step at rate C on every weight
//! ```
//!
//! For losses whose slope is ±1 where it is not 0: hinge and epsilon-insensitive. A row without features is passed over.

use super::row_loop::{self, Known};
use super::sgd::{Diverged, Online, Sample};
use crate::data::rows::{Examples, Row, Value};
use crate::optim::update::Update;
use crate::problem::loss::Loss;

/// The step-length rule of a passive-aggressive step.
///
/// ```
/// use lazyglm::optim::passive_aggressive::PassiveAggressive;
/// assert_eq!(PassiveAggressive::Pa1(0.25).step(1.0, 2.0), 0.25);
/// assert_eq!(PassiveAggressive::Pa2(0.25).step(1.0, 2.0), 1.0 / (2.0 + 2.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PassiveAggressive {
    /// PA-I, with its aggressiveness C.
    Pa1(f64),
    /// PA-II, with its aggressiveness C.
    Pa2(f64),
}

impl PassiveAggressive {
    /// The step length τ for a row with this loss and this ‖x‖².
    pub fn step(self, loss: f64, square: f64) -> f64 {
        match self {
            PassiveAggressive::Pa1(most) => most.min(loss / square),
            PassiveAggressive::Pa2(c) => loss / (square + 0.5 / c),
        }
    }

    /// The aggressiveness C.
    fn rate(self) -> f64 {
        match self {
            PassiveAggressive::Pa1(c) | PassiveAggressive::Pa2(c) => c,
        }
    }
}

impl<U: Update> Online<U> {
    /// Trains on these rows by passive-aggressive steps, in this order. Any split of an order into calls gives the same bits.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Examples, Method, Rows, loss, optim::reference::Dense, optim::passive_aggressive::PassiveAggressive};
    /// use lazyglm::{optim::sgd::Online, optim::update::Update};
    /// let mut rows = Rows::new();
    /// rows.push(&[(0, 2.0)]).unwrap();
    /// let examples = Examples::new(rows.borrow(), &[1.0], None).unwrap();
    /// let update = Dense::<true>::new(vec![0.0], ElasticNet::new(0.0, 0.0).unwrap(), Method::Fobos);
    /// let mut model = Online::new(update, false);
    /// model.learn_passive_aggressive(&*loss::parse("hinge").unwrap(), PassiveAggressive::Pa1(1.0), examples, &[0, 0]).unwrap();
    /// assert_eq!(model.update.weights(), [0.5], "just enough for a margin of one, and the second time nothing");
    /// ```
    pub fn learn_passive_aggressive(
        &mut self,
        loss: &dyn Loss,
        aggression: PassiveAggressive,
        examples: Examples,
        order: &[u32],
    ) -> Result<Sample, Diverged> {
        row_loop::learn(&mut Steps { model: self, aggression, counts: true }, loss, examples, order)
    }
}

/// A model with its step length, for the loop over rows.
struct Steps<'a, U> {
    model: &'a mut Online<U>,
    aggression: PassiveAggressive,
    counts: bool,
}

impl<U: Update> row_loop::Steps for Steps<'_, U> {
    #[inline(always)]
    fn row<V: Value>(&mut self, loss: &dyn Loss, row: Row<V>, known: Known) -> (f64, f64) {
        let Known { target, weight, offset } = known;
        let Steps { model, aggression, counts } = self;
        let score = model.update.score(row) + model.bias + offset;
        let (cost, slope) = (loss.value(score, target), loss.slope(score, target));
        let square: f64 = row.values.iter().map(|x| x.to_f64() * x.to_f64()).sum();
        *counts = square != 0.0;
        if square == 0.0 || !(score.is_finite() && cost.is_finite()) {
            return (score, if cost.is_finite() { slope } else { cost });
        }
        if cost > 0.0 {
            let amount = weight * aggression.step(cost, square) * slope.signum();
            model.update.pull(row, amount);
            if model.learns_bias {
                model.bias -= amount;
            }
        }
        model.update.charge(aggression.rate());
        model.add_to_average();
        (score, slope)
    }

    #[inline(always)]
    fn clock(&mut self) -> (&mut u64, u64) {
        (&mut self.model.t, 1)
    }

    #[inline(always)]
    fn counts(&self) -> bool {
        self.counts
    }
}
