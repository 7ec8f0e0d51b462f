//! The folded frame with a penalty factor and bounds per weight. λ₁ and λ₂ of weight j are pⱼλ₁ and pⱼλ₂.
//!
//! ```text
//! λ₂ = 0    one ledger: a weight owes pⱼ·θ
//! λ₂ > 0    one ledger per distinct factor: scales are not multiples of each other
//! bounds    the step after a pull clips the weights of that row; all other weights are within their bounds
//! ```
//!
//! A step is clip(shrink(w − pull)) on every weight. A weight that no row touches only moves towards zero, which lies
//! within its bounds, so that clipping does nothing to it. So only the weights of the last row are clipped, after its
//! step is charged, and the result is exactly that of clipping all weights at every step.
//!
//! The code is plain f64, because this case is rare and the fast kernel should stay simple.

use crate::data::rows::{Row, Value};
use crate::optim::ledger::Ledger;
use crate::optim::update::Update;
use crate::problem::penalty::one::clip;
use crate::problem::penalty::{ElasticNet, Method, WeightedPenalty};
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;
use crate::util::state::{Fields, State};

/// Maximum number of ledgers. Charging more would take longer than learning the rows.
const MOST_LEDGERS: usize = 4096;
/// All weights are settled after this many times d non-zeros, to limit the loss of digits.
const LOOK_AGAIN: usize = 16;
/// Stretch of a frame at which all weights are settled.
const MAX_STRETCH: f64 = 1e100;

/// Lazy updates with a penalty factor per weight.
///
/// ```
/// use lazyglm::{ElasticNet, Method, WeightedPenalty, optim::kernel::FactoredWeights, optim::update::Update};
/// let penalty = ElasticNet::new(0.5, 0.0).unwrap();
/// let weighted_penalty = WeightedPenalty { factors: Some(&[1.0, 0.0, 2.0]), ..WeightedPenalty::of(penalty) };
/// let mut lazy = FactoredWeights::new(vec![2.0, 2.0, 2.0], &weighted_penalty, Method::Fobos).unwrap();
/// lazy.charge(1.0);
/// assert_eq!(lazy.weights(), [1.5, 2.0, 1.0], "one pays, one is free, one pays double");
/// ```
#[derive(Clone)]
pub struct FactoredWeights {
    stored: Vec<f64>,
    settled: Vec<f64>, // weights of the last scored row
    accounts: Vec<Account>,
    ledgers: Vec<Ledger>,
    ranges: Option<Vec<[f64; 2]>>,
    beyond: Vec<u32>, // columns that the last pull moved out of their bounds
    touched: usize,
}

/// The ledger of a weight, and the multiple of its debt that the weight owes.
#[derive(Clone, Copy)]
struct Account {
    ledger: u32,
    times: f64,
}

impl FactoredWeights {
    /// Starts from these weights, without debt.
    pub fn new(
        weights: Vec<f64>,
        weighted_penalty: &WeightedPenalty,
        method: Method,
    ) -> Result<FactoredWeights> {
        let factor = |j: usize| weighted_penalty.factors.map_or(1.0, |factors| factors[j]);
        let mut each: Vec<f64> = match weighted_penalty.penalty.l2 == 0.0 {
            true => vec![1.0],
            false => (0..weights.len()).map(factor).collect(),
        };
        each.sort_unstable_by(f64::total_cmp);
        each.dedup();
        if each.len() > MOST_LEDGERS {
            return Err(Error::call(
                format!("{} different penalty factors are too many for stochastic steps with l2", each.len()),
                format!(
                    "use {}, or {}, or round the factors",
                    Parameter::Solver.set("newton"),
                    Parameter::L2.set(0)
                ),
            ));
        }
        let account = |j: usize| match each.binary_search_by(|price| price.total_cmp(&factor(j))) {
            Ok(ledger) if weighted_penalty.penalty.l2 > 0.0 => Account { ledger: ledger as u32, times: 1.0 },
            _ => Account { ledger: 0, times: factor(j) },
        };
        let ElasticNet { l1, l2 } = weighted_penalty.penalty;
        let ledger = |price: &f64| Ledger::new(ElasticNet { l1: price * l1, l2: price * l2 }, method);
        let start = |(j, weight): (usize, f64)| clip(weight, weighted_penalty.range(j));
        Ok(FactoredWeights {
            accounts: (0..weights.len()).map(account).collect(),
            ledgers: each.iter().map(ledger).collect(),
            ranges: weighted_penalty
                .is_bounded()
                .then(|| (0..weights.len()).map(|j| weighted_penalty.range(j)).collect()),
            stored: weights.into_iter().enumerate().map(start).collect(),
            settled: Vec::new(),
            beyond: Vec::new(),
            touched: 0,
        })
    }

    /// The current weight A·sgn(v)·max(|v| − pθ, 0).
    fn weight(&self, j: usize) -> f64 {
        let Account { ledger, times } = self.accounts[j];
        let ledger = &self.ledgers[ledger as usize];
        let magnitude = (self.stored[j].abs() - times * ledger.debt()) / ledger.stretch();
        if magnitude > 0.0 { magnitude.copysign(self.stored[j]) } else { 0.0 }
    }

    fn store(&mut self, j: usize, weight: f64) {
        let Account { ledger, times } = self.accounts[j];
        let ledger = &self.ledgers[ledger as usize];
        self.stored[j] = match weight {
            0.0 => 0.0,
            weight => weight.signum() * (weight.abs() * ledger.stretch() + times * ledger.debt()),
        };
    }

    /// Clips the weights that the last pull moved out of their bounds, unless the penalty has brought them back.
    fn clip_pulled(&mut self) {
        let Some(ranges) = self.ranges.take() else { return };
        for j in std::mem::take(&mut self.beyond) {
            let (j, weight) = (j as usize, self.weight(j as usize));
            self.store(j, clip(weight, ranges[j]));
        }
        self.ranges = Some(ranges);
    }

    fn rebase(&mut self) {
        self.stored = self.weights();
        self.ledgers.iter_mut().for_each(Ledger::clear);
        self.touched = 0;
    }
}

impl Update for FactoredWeights {
    fn fields(&mut self, fields: &mut Fields) {
        fields.fixed(&mut self.stored);
        fields.fixed(&mut self.ledgers);
        self.touched.fields(fields);
    }

    fn score<V: Value>(&mut self, row: Row<V>) -> f64 {
        let mut settled = std::mem::take(&mut self.settled);
        settled.clear();
        settled.extend(row.iter().map(|(j, _)| self.weight(j)));
        self.settled = settled;
        row.iter().zip(&self.settled).map(|((_, x), weight)| weight * x).sum()
    }

    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64) {
        for (k, (j, x)) in row.iter().enumerate() {
            let weight = self.settled[k] - amount * x;
            self.store(j, weight);
            if self.ranges.as_ref().is_some_and(|ranges| clip(weight, ranges[j]) != weight) {
                self.beyond.push(j as u32);
            }
        }
        self.touched += self.settled.len();
    }

    fn charge(&mut self, eta: f64) {
        self.ledgers.iter_mut().for_each(|ledger| ledger.charge(eta));
        self.clip_pulled();
        let far = self.ledgers.iter().any(|ledger| ledger.stretch() > MAX_STRETCH);
        if far || self.touched > LOOK_AGAIN * self.stored.len() {
            self.rebase();
        }
    }

    fn weights(&self) -> Vec<f64> {
        (0..self.stored.len()).map(|j| self.weight(j)).collect()
    }
}
