//! FTRL-Proximal with AdaGrad rates (McMahan et al. 2013), a learning rate per weight.
//!
//! ```text
//! leader       w = argmin  Σ gₜ·w + Σⱼ Σₜ ½σₜⱼ(wⱼ − wₜⱼ)² + k(λ₁‖w‖₁ + ½λ₂‖w‖²)      over the k rows learnt so far
//! per weight   q, and s = √(s₀² + Σ m·g²) over its own slopes g = ω·ℓ′·x          m = 1/scale², u the unit of scores
//! read         wⱼ = −sgn(qⱼ)·(|qⱼ| − λ₁k)₊ / (sⱼ/(ηum) + λ₂k), clipped to its bounds if it has any
//! write        s′ = √(s² + m·g²);   q ← q + g − (s′ − s)/(ηum)·w;   s ← s′
//! ```
//!
//! Reading a weight applies the penalty of all k rows. So the penalty relates to k derivatives as the penalty
//! of F relates to their mean. Weights need no catching up, so lazy updates are free. The bias takes AdaGrad
//! steps without a penalty.

use super::learner::{Learner, dot};
use super::row_loop::{self, Diverged, Known, Sample, Steps};
use super::scales::Units;
use crate::data::rows::{Examples, Row, Value};
use crate::problem::loss::Loss;
use crate::problem::penalty::one::OneWeight;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::simd;
use crate::util::random;
use crate::util::state::{Fields, State};
use std::sync::Arc;

/// The initial accumulator s₀ in units of derivatives.
const FLOOR: f64 = 0.1;
/// Number of adjacent rows that [`Ftrl::pass`] learns together. These runs are in random order.
const RUN: usize = 64;

/// A model in training with FTRL-Proximal.
///
/// ```
/// use lazyglm::{ElasticNet, synth, optim::{ftrl::Ftrl, learner::Learner, scales::Scales}};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let (scales, penalty) = (Scales::of(task.examples()), ElasticNet::new(1e-3, 1e-3).unwrap());
/// let mut model = Ftrl::new(penalty, 0.1, scales.rms(), scales.units(&*task.loss, true), true);
/// model.learn(&*task.loss, task.examples(), &(0..500).collect::<Vec<_>>()).unwrap();
/// assert!(model.weights().contains(&0.0), "it is sparse at every step");
/// ```
#[derive(Clone)]
pub struct Ftrl {
    penalty: ElasticNet,
    rate: f64, // η·u
    states: Vec<Weight>,
    bias: f64,
    bias_square: f64,
    learns_bias: bool,
    t: u64, // k
    sampled: u64,
    touched: Touched,
    each: Option<Arc<Vec<OneWeight>>>, // penalty and bounds per weight, if they differ
}

/// The two sums of a weight, and its rate.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))] // half a cache line: one cache miss per touch
struct Weight {
    q: f64,
    s: f64,
    metric: f64,  // m
    inverse: f64, // 1/(ηum): a product takes a fraction of the time of a division
}

impl State for Weight {
    fn fields(&mut self, fields: &mut Fields) {
        self.q.fields(fields);
        self.s.fields(fields);
    }
}

/// The gathered weights of a row, laid out for vectorised arithmetic.
#[derive(Clone, Default)]
struct Touched {
    q: Vec<f64>,
    s: Vec<f64>,
    metrics: Vec<f64>,
    inverses: Vec<f64>,
    weights: Vec<f64>,
}

impl Ftrl {
    /// Starts at zero weights, with the bias from `units`. `metrics` are 1/scale², one per column.
    pub fn new(penalty: ElasticNet, eta: f64, metrics: Vec<f64>, units: Units, learns_bias: bool) -> Ftrl {
        let rate = eta * units.score;
        let s = FLOOR * units.slope;
        let states = metrics.into_iter().map(|metric| Weight::new(s, metric, rate)).collect();
        let bias = if learns_bias { units.start } else { 0.0 };
        let bias_square = units.slope * units.slope;
        let (t, sampled, touched, each) = (0, 1, Touched::default(), None);
        Ftrl { penalty, rate, states, bias, bias_square, learns_bias, t, sampled, touched, each }
    }

    /// A model without feature scaling, and with the given s₀.
    pub(crate) fn plain(columns: usize, penalty: ElasticNet, eta: f64, s0: f64, learns_bias: bool) -> Ftrl {
        Ftrl {
            penalty,
            rate: eta,
            states: vec![Weight::new(s0, 1.0, eta); columns],
            bias: 0.0,
            bias_square: s0 * s0,
            learns_bias,
            t: 0,
            sampled: u64::MAX,
            touched: Touched::default(),
            each: None,
        }
    }

    /// Takes penalty and bounds per weight instead of the common penalty.
    pub(crate) fn with_each(self, each: Option<Vec<OneWeight>>) -> Ftrl {
        Ftrl { each: each.map(Arc::new), ..self }
    }

    /// Takes penalty factors and bounds per weight.
    pub fn weighted(self, weighted_penalty: &WeightedPenalty) -> Ftrl {
        let each = weighted_penalty.each(self.states.len());
        self.with_each(each)
    }

    /// Starts from these weights.
    pub fn starting_from(mut self, weights: &[f64], bias: f64) -> Ftrl {
        for (state, weight) in self.states.iter_mut().zip(weights) {
            state.q = -weight * state.s * state.inverse;
        }
        self.bias = if self.learns_bias { bias } else { 0.0 };
        self
    }

    /// Samples the loss of one row in this many.
    pub fn sampling_one_in(self, rows: u64) -> Ftrl {
        Ftrl { sampled: rows.max(1), ..self }
    }

    /// Learns every row once. Diverged weights (NaN or infinity) stay as they are.
    pub(crate) fn pass(&mut self, examples: Examples, loss: &dyn Loss, number: u64) {
        let runs = random::permutation(examples.len().div_ceil(RUN), 1, number);
        let rows = |run: u32| run * RUN as u32..(run * RUN as u32 + RUN as u32).min(examples.len() as u32);
        let order: Vec<u32> = runs.into_iter().flat_map(rows).collect();
        let _ = row_loop::learn(self, loss, examples, &order);
    }

    /// Computes the gathered weights. With bounds they are clipped, because what the leader minimises is convex in
    /// each of them.
    #[inline(always)]
    fn lead(&mut self, ids: &[u32]) {
        let k = self.t as f64;
        let Touched { q, s, inverses, weights, .. } = &mut self.touched;
        let sums = q.iter().zip(&*s).zip(&*inverses).zip(weights);
        match &self.each {
            None => {
                let ElasticNet { l1, l2 } = self.penalty;
                let (l1, l2) = (l1 * k, l2 * k);
                for (((&q, &s), &inverse), w) in sums {
                    *w = leader(q, s * inverse, l1, l2);
                }
            }
            Some(each) => {
                for ((((&q, &s), &inverse), w), &j) in sums.zip(ids) {
                    *w = each[j as usize].leader(q, s * inverse, k);
                }
            }
        }
    }

    /// Adds the row's derivatives to the sums of its weights.
    #[inline(always)]
    fn accumulate<V: Value>(&mut self, values: &[V], slope: f64) {
        let Touched { q, s, metrics, inverses, weights } = &mut self.touched;
        let states = q.iter_mut().zip(s).zip(metrics.iter().zip(&*inverses)).zip(&*weights);
        for ((((q, s), (&metric, &inverse)), &w), x) in states.zip(values) {
            let g = slope * x.to_f64();
            let longer = (*s * *s + g * g * metric).sqrt();
            *q += g - (longer - *s) * inverse * w;
            *s = longer;
        }
    }
}

impl Weight {
    fn new(s: f64, metric: f64, rate: f64) -> Weight {
        Weight { q: 0.0, s, metric, inverse: 1.0 / (rate * metric) }
    }
}

impl OneWeight {
    /// The leader of a weight with a penalty and bounds of its own.
    #[inline(always)]
    fn leader(&self, q: f64, curvature: f64, k: f64) -> f64 {
        let ElasticNet { l1, l2 } = self.penalty;
        self.clip(leader(q, curvature, l1 * k, l2 * k))
    }
}

impl Touched {
    /// Copies the weights of these columns.
    // Plain loops: `extend` would be a function of its own, compiled for the baseline processor.
    #[inline(always)]
    fn gather(&mut self, states: &[Weight], ids: &[u32]) {
        let Touched { q, s, metrics, inverses, weights } = self;
        for buffer in [&mut *q, &mut *s, &mut *metrics, &mut *inverses, &mut *weights] {
            buffer.resize(ids.len(), 0.0);
        }
        let to = q.iter_mut().zip(s).zip(metrics.iter_mut().zip(inverses));
        for (&j, ((q, s), (metric, inverse))) in ids.iter().zip(to) {
            let state = &states[j as usize];
            (*q, *s, *metric, *inverse) = (state.q, state.s, state.metric, state.inverse);
        }
    }

    /// Copies the sums back.
    #[inline(always)]
    fn scatter(&self, states: &mut [Weight], ids: &[u32]) {
        for (&j, (&q, &s)) in ids.iter().zip(self.q.iter().zip(&self.s)) {
            let state = &mut states[j as usize];
            (state.q, state.s) = (q, s);
        }
    }
}

impl Steps for Ftrl {
    #[inline(always)]
    fn row<V: Value>(&mut self, loss: &dyn Loss, row: Row<V>, known: Known) -> (f64, f64) {
        let Known { target, weight, offset } = known;
        self.touched.gather(&self.states, row.ids);
        self.lead(row.ids);
        let score = dot(row.values, &self.touched.weights) + self.bias + offset;
        let slope = weight * loss.slope(score, target);
        if slope != 0.0 {
            self.accumulate(row.values, slope);
            self.touched.scatter(&mut self.states, row.ids);
            if self.learns_bias {
                self.bias_square += slope * slope;
                self.bias -= self.rate * slope / self.bias_square.sqrt();
            }
        }
        (score, slope)
    }

    #[inline(always)]
    fn prefetch<'a, V: Value + 'a>(&self, row: impl FnOnce() -> Row<'a, V>) {
        row().ids.iter().for_each(|&j| simd::prefetch_one(&self.states, j as usize));
    }

    #[inline(always)]
    fn clock(&mut self) -> (&mut u64, u64) {
        (&mut self.t, self.sampled)
    }
}

impl Learner for Ftrl {
    fn fields(&mut self, fields: &mut Fields) {
        fields.fixed(&mut self.states);
        self.bias.fields(fields);
        self.bias_square.fields(fields);
        self.t.fields(fields);
    }

    fn learn(&mut self, loss: &dyn Loss, examples: Examples, order: &[u32]) -> Result<Sample, Diverged> {
        row_loop::learn(self, loss, examples, order)
    }

    fn weights(&self) -> Vec<f64> {
        let (k, ElasticNet { l1, l2 }) = (self.t as f64, self.penalty);
        let common = |state: &Weight| leader(state.q, state.s * state.inverse, l1 * k, l2 * k);
        let own = |(state, one): (&Weight, &OneWeight)| one.leader(state.q, state.s * state.inverse, k);
        match &self.each {
            None => self.states.iter().map(common).collect(),
            Some(each) => self.states.iter().zip(&**each).map(own).collect(),
        }
    }

    fn bias(&self) -> f64 {
        self.bias
    }

    fn t(&self) -> u64 {
        self.t
    }
}

/// The minimiser of q·w + ½cw² + l1·|w| + ½l2·w², for the curvature c = s/(ηum).
#[inline(always)]
fn leader(q: f64, curvature: f64, l1: f64, l2: f64) -> f64 {
    match q.abs() - l1 {
        over if over > 0.0 => -over.copysign(q) / (curvature + l2),
        _ => 0.0,
    }
}
