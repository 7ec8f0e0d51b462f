//! One lazy elastic-net pass over a shard, corrected by the gradient of all shards.
//!
//! ```text
//! from w = A, for each row i of the shard, in an order of its own:
//!   v  = ωᵢ(ℓ′(w·xᵢ + b) − ℓ′(W·xᵢ + B))/(1 + ηcωᵢqᵢ)                 qᵢ = m_b + Σⱼ mⱼxᵢⱼ²
//!   wⱼ ← prox(wⱼ − ηmⱼ(v·xᵢⱼ + gⱼ), ηmⱼ)   for all j               b ← b − ηm_b(v + g_b)
//! prox(w, ρ) = sgn(w)·max(0, |w| − ρλ₁)/(1 + ρλ₂)
//! ```
//!
//! g is the gradient at (W, B) of the mean loss of all rows of all shards. A row adds the change of its
//! derivative since (W, B). At the optimum nothing moves, for any η and any divisor 1 + ηcωᵢqᵢ. The divisor
//! keeps rows of large values from overshooting (c bounds ℓ″), so raw counts do not diverge.
//!
//! Only the row's own weights are touched. All other weights owe the drift along g and the proximal step, and
//! pay when they are next touched. η is constant during the pass, so many such steps have a closed form
//! ([`drifted`]), which tests compare with dense steps.

use super::Point;
use crate::data::rows::{Examples, PrivateIds, Row, Value, ValuesRef};
use crate::optim::prox_steps;
use crate::problem::loss::Loss;
use crate::problem::penalty::WeightedPenalty;
use crate::util::random::permutation;

/// Parameters of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Local<'a> {
    /// (W, B), the point at which the gradient was computed.
    pub at: Point<'a>,
    /// Which weights of W the zero test has set to zero in A, if any.
    pub zeroed: Option<&'a [bool]>,
    /// The gradient g.
    pub gradient: &'a [f64],
    /// The derivative g_b with respect to the bias, or `None` without a bias.
    pub bias_gradient: Option<f64>,
    /// The metric m: a rate factor per weight.
    pub metric: &'a [f64],
    /// The rate factor m_b of the bias.
    pub bias_metric: f64,
    /// The learning rate η.
    pub eta: f64,
    /// The penalty.
    pub weighted_penalty: WeightedPenalty<'a>,
    /// Factor that scales sample weights to mean one over all shards.
    pub weight_scale: f64,
    /// Seed of the row permutation.
    pub seed: u64,
}

/// The change of the weights from A and of the bias from B. Zero for columns that do not occur in the shard.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The change w − A.
    pub weights: Vec<f64>,
    /// The change b − B.
    pub bias: f64,
}

/// Runs one pass over the rows of a shard.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, WeightedPenalty, Rows, loss, optim::shard};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[1.0], None).unwrap();
/// let local = shard::Local {
///     at: shard::Point { weights: &[0.0, 5.0], bias: 0.0 }, zeroed: None, gradient: &[-2.0, 0.0], bias_gradient: None,
///     metric: &[1.0, 1.0], bias_metric: 0.0, eta: 0.1, weighted_penalty: WeightedPenalty::of(ElasticNet { l1: 0.5, l2: 0.0 }), weight_scale: 1.0, seed: 1,
/// };
/// let moved = shard::local_pass(examples, &*loss::parse("squared").unwrap(), &local);
/// assert!((moved.weights[0] - 0.1 * (2.0 - 0.5)).abs() < 1e-15, "against the gradient, less the penalty");
/// assert_eq!(moved.weights[1], 0.0, "a weight of no row here is for other shards to move");
/// ```
pub fn local_pass(examples: Examples, loss: &dyn Loss, local: &Local) -> Moved {
    let before = slopes(examples, loss, local.at);
    let mut pass = Pass::new(examples, local);
    let mut private = PrivateIds::of(examples.rows);
    for (t, &i) in permutation(examples.len(), local.seed, 0).iter().enumerate() {
        let (i, t) = (i as usize, t as u32);
        match examples.rows.values() {
            ValuesRef::F32(values) => {
                pass.step(private.row(examples.rows.row(values, i)), t, i, before[i], loss)
            }
            ValuesRef::F64(values) => {
                pass.step(private.row(examples.rows.row(values, i)), t, i, before[i], loss)
            }
        }
    }
    pass.end()
}

/// The loss derivative of each row at a point.
fn slopes(examples: Examples, loss: &dyn Loss, at: Point) -> Vec<f64> {
    let one = |i| loss.slope(examples.score(i, at.weights, at.bias), examples.targets[i]);
    (0..examples.len()).map(one).collect()
}

/// The state of the weights during a pass.
struct Pass<'a> {
    examples: Examples<'a>,
    local: Local<'a>,
    weights: Vec<f64>,
    paid: Vec<u32>, // the step up to which each weight has paid; `NOWHERE` for a column without values
    bias: f64,
}

/// Marks a weight without a step. There are fewer than 2³² rows.
const NOWHERE: u32 = u32::MAX;

impl<'a> Pass<'a> {
    fn new(examples: Examples<'a>, local: &Local<'a>) -> Pass<'a> {
        let mut paid = vec![NOWHERE; local.at.weights.len()];
        (0..examples.len()).for_each(|i| examples.rows.for_each(i, |j, _| paid[j] = 0));
        let weights = (0..paid.len()).map(|j| start(local, j)).collect();
        Pass { examples, local: *local, weights, paid, bias: local.at.bias }
    }

    /// Weight `j` after paying for the steps before `t`.
    #[inline]
    fn settled(&self, j: usize, t: u32) -> f64 {
        let Local { metric, eta, weighted_penalty, gradient, .. } = self.local;
        let steps = t.wrapping_sub(self.paid[j]); // shared rows may change and contain other columns
        let (one, rate) = (weighted_penalty.one(j), eta * metric[j]);
        let drifted = |n: f64, w: f64| prox_steps::drift(one.penalty, rate, gradient[j], n, w);
        prox_steps::clipped(&one, f64::from(steps), self.weights[j], drifted)
    }

    /// Runs step `t`, on row `i`.
    fn step<V: Value>(&mut self, row: Row<V>, t: u32, i: usize, before: f64, loss: &dyn Loss) {
        let Local { metric, eta, .. } = self.local;
        let (mut score, mut size) = (0.0, 0.0);
        for (j, x) in row.iter() {
            (self.weights[j], self.paid[j]) = (self.settled(j, t), t);
            score += x * self.weights[j];
            size += metric[j] * x * x;
        }
        let bias_rate = self.local.bias_gradient.map_or(0.0, |_| self.local.bias_metric);
        (score, size) = (score + self.bias + self.examples.offset(i), size + bias_rate);
        let target = self.examples.targets[i];
        let share = self.examples.weight(i) * self.local.weight_scale;
        let change = (loss.slope(score, target) - before).clamp(-FAR, FAR);
        let second_derivative =
            loss.curvature().or_else(|| loss.second_derivative(score, target)).unwrap_or(0.0).min(FAR);
        let pull = eta * share * change / (1.0 + eta * share * second_derivative * size);
        for (j, x) in row.iter() {
            self.weights[j] -= metric[j] * pull * x;
        }
        self.bias -= bias_rate * (pull + eta * self.local.bias_gradient.unwrap_or(0.0));
    }

    fn end(mut self) -> Moved {
        let rows = self.examples.len() as u32;
        for j in 0..self.weights.len() {
            self.weights[j] = match self.paid[j] {
                NOWHERE => 0.0,
                _ => self.settled(j, rows) - start(&self.local, j),
            };
        }
        Moved { weights: self.weights, bias: self.bias - self.local.at.bias }
    }
}

/// Bound on derivatives, far from where sums overflow.
const FAR: f64 = 1e100;

/// The initial value A of weight `j`.
fn start(local: &Local, j: usize) -> f64 {
    if local.zeroed.is_some_and(|zeroed| zeroed[j]) { 0.0 } else { local.at.weights[j] }
}
