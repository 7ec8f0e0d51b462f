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

/// A model in training with FTRL-Proximal. With `SCALED = false`, every m is one and compiled away.
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
pub struct Ftrl<const SCALED: bool = true> {
    penalty: ElasticNet,
    rate: f64,             // η·u
    states: Vec<[f64; 2]>, // q and s
    metrics: Vec<f64>,     // m
    bias: f64,
    bias_square: f64,
    learns_bias: bool,
    t: u64, // k
    sampled: u64,
    read: Vec<f64>,
    each: Option<Arc<Vec<OneWeight>>>, // penalty and bounds per weight, if they differ
}

impl Ftrl<true> {
    /// Starts at zero weights, with the bias from `units`. `metrics` are 1/scale², one per column.
    pub fn new(
        penalty: ElasticNet,
        eta: f64,
        metrics: Vec<f64>,
        units: Units,
        learns_bias: bool,
    ) -> Ftrl<true> {
        let states = vec![[0.0, FLOOR * units.slope]; metrics.len()];
        let bias = if learns_bias { units.start } else { 0.0 };
        let bias_square = units.slope * units.slope;
        let (rate, read) = (eta * units.score, Vec::new());
        let (t, sampled, each) = (0, 1, None);
        Ftrl { penalty, rate, states, metrics, bias, bias_square, learns_bias, t, sampled, read, each }
    }

    /// Takes penalty and bounds per weight instead of the common penalty.
    pub(crate) fn with_each(self, each: Option<Vec<OneWeight>>) -> Ftrl<true> {
        Ftrl { each: each.map(Arc::new), ..self }
    }

    /// Takes penalty factors and bounds per weight.
    pub fn weighted(self, weighted_penalty: &WeightedPenalty) -> Ftrl<true> {
        let each = weighted_penalty.each(self.states.len());
        self.with_each(each)
    }

    /// Starts from these weights.
    pub fn starting_from(mut self, weights: &[f64], bias: f64) -> Ftrl<true> {
        for ((state, metric), weight) in self.states.iter_mut().zip(&self.metrics).zip(weights) {
            state[0] = -weight * state[1] / (self.rate * metric);
        }
        self.bias = if self.learns_bias { bias } else { 0.0 };
        self
    }

    /// Samples the loss of one row in this many.
    pub fn sampling_one_in(self, rows: u64) -> Ftrl<true> {
        Ftrl { sampled: rows.max(1), ..self }
    }
}

impl Ftrl<false> {
    /// A model without feature scaling, and with the given s₀.
    pub(crate) fn plain(
        columns: usize,
        penalty: ElasticNet,
        eta: f64,
        s0: f64,
        learns_bias: bool,
    ) -> Ftrl<false> {
        let (states, metrics) = (vec![[0.0, s0]; columns], Vec::new());
        let (bias, bias_square, read) = (0.0, s0 * s0, Vec::new());
        Ftrl {
            penalty,
            rate: eta,
            states,
            metrics,
            bias,
            bias_square,
            learns_bias,
            t: 0,
            sampled: u64::MAX,
            read,
            each: None,
        }
    }

    /// Learns every row once. Diverged weights (NaN or infinity) stay as they are.
    pub(crate) fn pass(&mut self, examples: Examples, loss: &dyn Loss, number: u64) {
        let runs = random::permutation(examples.len().div_ceil(RUN), 1, number);
        let rows = |run: u32| run * RUN as u32..(run * RUN as u32 + RUN as u32).min(examples.len() as u32);
        let order: Vec<u32> = runs.into_iter().flat_map(rows).collect();
        let _ = row_loop::learn(self, loss, examples, &order);
    }
}

impl<const SCALED: bool> Ftrl<SCALED> {
    /// The rate ηum of a weight.
    #[inline(always)]
    fn rate_of(&self, j: u32) -> f64 {
        if SCALED { self.rate * self.metrics[j as usize] } else { self.rate }
    }

    /// Appends the current values of some weights. With bounds they are clipped, because what the leader minimises is
    /// convex in each of them.
    #[inline(always)]
    fn read(&self, ids: impl Iterator<Item = u32>, to: &mut Vec<f64>) {
        let k = self.t as f64;
        let now = |j: u32, ElasticNet { l1, l2 }: ElasticNet| {
            leader(self.states[j as usize], self.rate_of(j), l1 * k, l2 * k)
        };
        match &self.each {
            None => to.extend(ids.map(|j| now(j, self.penalty))),
            Some(each) => to.extend(ids.map(|j| each[j as usize].clip(now(j, each[j as usize].penalty)))),
        }
    }
}

impl<const SCALED: bool> Steps for Ftrl<SCALED> {
    #[inline(always)]
    fn row<V: Value>(&mut self, loss: &dyn Loss, row: Row<V>, known: Known) -> (f64, f64) {
        let Known { target, weight, offset } = known;
        let mut read = std::mem::take(&mut self.read);
        read.clear();
        self.read(row.ids.iter().copied(), &mut read);
        let score = dot(row.values, &read) + self.bias + offset;
        let slope = weight * loss.slope(score, target);
        if slope != 0.0 {
            for ((&j, &x), &w) in row.ids.iter().zip(row.values).zip(&read) {
                let (g, rate) = (slope * x.to_f64(), self.rate_of(j));
                let scaled = if SCALED { g * g * self.metrics[j as usize] } else { g * g };
                let [q, s] = &mut self.states[j as usize];
                let longer = (*s * *s + scaled).sqrt();
                *q += g - (longer - *s) / rate * w;
                *s = longer;
            }
            if self.learns_bias {
                self.bias_square += slope * slope;
                self.bias -= self.rate * slope / self.bias_square.sqrt();
            }
        }
        self.read = read;
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

impl<const SCALED: bool> Learner for Ftrl<SCALED> {
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
        let mut weights = Vec::with_capacity(self.states.len());
        self.read(0..self.states.len() as u32, &mut weights);
        weights
    }

    fn bias(&self) -> f64 {
        self.bias
    }

    fn t(&self) -> u64 {
        self.t
    }
}

#[inline(always)]
fn leader([q, s]: [f64; 2], rate: f64, l1: f64, l2: f64) -> f64 {
    match q.abs() - l1 {
        over if over > 0.0 => -over.copysign(q) / (s / rate + l2),
        _ => 0.0,
    }
}
