//! One lazy elastic-net pass over a shard, corrected by the gradient of all shards.
//!
//! ```text
//! from w = A, for each row i of the shard, in an order of its own:
//!   v  = ωᵢ(ℓ′(w·xᵢ + b) − ℓ′(W·xᵢ + B))/(1 + ηcqᵢ)                 qᵢ = m_b + Σⱼ mⱼxᵢⱼ²
//!   wⱼ ← prox(wⱼ − ηmⱼ(v·xᵢⱼ + gⱼnₖ/cₖⱼ), ηmⱼ)   for j in the row     b ← b − ηm_b(v + g_b)
//!   wⱼ ← prox(wⱼ, ηmⱼ)                           for all other j
//! prox(w, ρ) = sgn(w)·max(0, |w| − ρλ₁)/(1 + ρλ₂)
//! ```
//!
//! g is the gradient at (W, B) of the mean loss of all rows. A row adds how its slope has changed since (W, B), and a share of
//! g: each of the cₖⱼ rows that hold j adds gⱼnₖ/cₖⱼ, so that over the nₖ rows of the shard it is gⱼ at each step, and only
//! the row's own weights are touched. At the minimum every term is nothing, whatever the divisor 1 + ηcqᵢ, which keeps a
//! row of large values from throwing the weights across (c bounds ℓ″): raw counts do not diverge.
//!
//! The prox of all other weights is owed, and paid when the weight is next touched: η is one number for the whole pass, so
//! n steps at the rate ρ = ηmⱼ are |w|R − λ₁(1 − R)/λ₂ with R = (1 + ρλ₂)⁻ⁿ. A law ties it to the dense steps.

use super::Point;
use crate::loss::Loss;
use crate::penalty::{ElasticNet, Method, Prices};
use crate::random::permutation;
use crate::rows::{Examples, Row, Value, ValuesRef};

/// What a pass is told.
#[derive(Clone, Copy, Debug)]
pub struct Local<'a> {
    /// (W, B): where the gradient was taken.
    pub at: Point<'a>,
    /// Which weights of W the zero test has set to zero in A, if any.
    pub zeroed: Option<&'a [bool]>,
    /// g.
    pub gradient: &'a [f64],
    /// g_b; `None` without a bias.
    pub bias_gradient: Option<f64>,
    /// m: a rate for each weight.
    pub metric: &'a [f64],
    /// m_b.
    pub bias_metric: f64,
    /// η.
    pub eta: f64,
    /// The penalty.
    pub prices: Prices<'a>,
    /// What row weights are multiplied by to have mean one over all shards.
    pub weight_scale: f64,
    /// Of the order of the rows.
    pub seed: u64,
}

/// How far a pass moved the weights from A, zero for those the shard does not hold; and the bias from B.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// w − A.
    pub weights: Vec<f64>,
    /// b − B.
    pub bias: f64,
}

/// One pass over the rows of a shard.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Prices, Rows, loss, shard};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[1.0], None).unwrap();
/// let local = shard::Local {
///     at: shard::Point { weights: &[0.0, 5.0], bias: 0.0 }, zeroed: None, gradient: &[-2.0, 0.0], bias_gradient: None,
///     metric: &[1.0, 1.0], bias_metric: 0.0, eta: 0.1, prices: Prices::of(ElasticNet { l1: 0.5, l2: 0.0 }), weight_scale: 1.0, seed: 1,
/// };
/// let moved = shard::local_pass(examples, &*loss::parse("squared").unwrap(), &local);
/// assert!((moved.weights[0] - (0.1 * 2.0 - 0.1 * 0.5)).abs() < 1e-15, "against the gradient, less the penalty");
/// assert_eq!(moved.weights[1], 0.0, "a weight of no row here is for other shards to move");
/// ```
pub fn local_pass(examples: Examples, loss: &dyn Loss, local: &Local) -> Moved {
    let before = slopes(examples, loss, local.at);
    let mut pass = Pass::new(examples, local);
    for (t, &i) in permutation(examples.len(), local.seed, 0).iter().enumerate() {
        let (i, t) = (i as usize, t as u32);
        match examples.rows.values() {
            ValuesRef::F32(values) => pass.step(examples.rows.row(values, i), t, i, before[i], loss),
            ValuesRef::F64(values) => pass.step(examples.rows.row(values, i), t, i, before[i], loss),
        }
    }
    pass.end()
}

/// The slope of each row at a point.
fn slopes(examples: Examples, loss: &dyn Loss, at: Point) -> Vec<f64> {
    let one = |i| loss.slope(examples.rows.dot(i, at.weights) + at.bias, examples.targets[i]);
    (0..examples.len()).map(one).collect()
}

/// The weights on their way.
struct Pass<'a> {
    examples: Examples<'a>,
    local: Local<'a>,
    weights: Vec<f64>,
    seen: Vec<[u32; 2]>, // the step up to which a weight has paid, and how many rows hold it
    bias: f64,
}

impl<'a> Pass<'a> {
    fn new(examples: Examples<'a>, local: &Local<'a>) -> Pass<'a> {
        let mut seen = vec![[0; 2]; local.at.weights.len()];
        examples.rows.ids().iter().for_each(|&id| seen[id as usize][1] += 1);
        let weights = (0..seen.len()).map(|j| start(local, j)).collect();
        Pass { examples, local: *local, weights, seen, bias: local.at.bias }
    }

    /// Step `t`, at row `i`.
    fn step<V: Value>(&mut self, row: Row<V>, t: u32, i: usize, before: f64, loss: &dyn Loss) {
        let Local { metric, eta, prices, gradient, .. } = self.local;
        let (mut score, mut size) = (0.0, 0.0);
        for (j, x) in row.iter() {
            let [paid, _] = &mut self.seen[j];
            let weight = settled(prices.at(j), eta * metric[j], t - *paid, self.weights[j]);
            (self.weights[j], *paid) = (weight, t);
            score += x * weight;
            size += metric[j] * x * x;
        }
        let with_bias = self.local.bias_gradient.is_some();
        score += self.bias;
        size += if with_bias { self.local.bias_metric } else { 0.0 };
        let target = self.examples.targets[i];
        let share = self.examples.weight(i) * self.local.weight_scale;
        let change = (loss.slope(score, target) - before).clamp(-FAR, FAR);
        let bend = loss.curvature().or_else(|| loss.bend(score, target)).unwrap_or(0.0).min(FAR);
        let pull = share * change / (1.0 + eta * share * bend * size);
        let rows = self.examples.len() as f64;
        for (j, x) in row.iter() {
            let correction = gradient[j] * rows / f64::from(self.seen[j][1]);
            self.weights[j] -= eta * metric[j] * (pull * x + correction);
        }
        if let Some(of_bias) = self.local.bias_gradient {
            self.bias -= eta * self.local.bias_metric * (pull + of_bias);
        }
    }

    fn end(mut self) -> Moved {
        let (local, rows) = (self.local, self.examples.len() as u32);
        for (j, weight) in self.weights.iter_mut().enumerate() {
            let [paid, holders] = self.seen[j];
            let start = start(&local, j);
            *weight = match holders {
                0 => 0.0,
                _ => settled(local.prices.at(j), local.eta * local.metric[j], rows - paid, *weight) - start,
            };
        }
        Moved { weights: self.weights, bias: self.bias - local.at.bias }
    }
}

/// Beyond any slope that means something, and far from where sums overflow.
const FAR: f64 = 1e100;

/// A of weight `j`.
fn start(local: &Local, j: usize) -> f64 {
    if local.zeroed.is_some_and(|zeroed| zeroed[j]) { 0.0 } else { local.at.weights[j] }
}

/// A weight after `steps` proximal steps at one rate and nothing else.
///
/// ```
/// use lazyglm::{ElasticNet, Method, shard};
/// let net = ElasticNet::new(0.01, 0.1).unwrap();
/// let one_by_one = (0..20).fold(-3.0, |w, _| Method::Fobos.step(net, 0.5, w));
/// assert!((shard::settled(net, 0.5, 20, -3.0) - one_by_one).abs() < 1e-14);
/// ```
#[inline]
pub fn settled(net: ElasticNet, rate: f64, steps: u32, weight: f64) -> f64 {
    if weight == 0.0 || steps == 0 {
        return weight;
    }
    if steps == 1 {
        return Method::Fobos.step(net, rate, weight);
    }
    let steps = f64::from(steps);
    let magnitude = weight.abs();
    let left = match net.l2 {
        0.0 => magnitude - steps * rate * net.l1,
        l2 => {
            let lost = -(-steps * ln_1p(rate * l2)).exp_m1(); // 1 − R
            magnitude - lost * magnitude - net.l1 * lost / l2
        }
    };
    if left > 0.0 { left.copysign(weight) } else { 0.0 }
}

/// ln(1 + z) for z ≥ 0: small ones, as rates times λ₂ are, without a call. The next term is below 2⁻⁵³ of the sum.
#[inline]
fn ln_1p(z: f64) -> f64 {
    if z < 1e-3 {
        z * (1.0 - z * (1.0 / 2.0 - z * (1.0 / 3.0 - z * (1.0 / 4.0 - z * (1.0 / 5.0 - z / 6.0)))))
    } else {
        z.ln_1p()
    }
}
