//! Prox-SVRG: variance-reduced stochastic steps (Johnson & Zhang 2013, Xiao & Zhang 2014), exactly lazy.
//!
//! ```text
//! snapshot     w̃ = w,  ḡ = ∇L(w̃)                                    before each epoch, one pass over all rows
//! a row        v = ḡ + (ω/π)·(ℓ′(w·x) − ℓ′(w̃·x))·x                  π: mean number of visits of the row per epoch
//! step         w ← prox(w − ηⱼvⱼ) on every weight
//! rates        ηⱼ = step/(L̄·mⱼ),  mⱼ = sⱼ²√fⱼ, fⱼ: share of rows with j   Lᵢ = c·ωᵢ(Σxᵢⱼ²/mⱼ + 1), L̄ their mean, c the loss's curvature
//! visits       πᵢ = Lᵢ/L̄, rounded up or down at random, all of them in random order
//! ```
//!
//! A snapshot at which F is higher than at the last one is rejected: the solver returns to the last one and
//! halves the step.
//!
//! As w and w̃ approach the minimiser, the noise of a step goes to zero. So rates need not decrease, zeros
//! become exact, and F converges to its minimum. A weight that a row does not contain drifts by ḡⱼ at every
//! step. n such steps have a closed form, including zero crossings ([`super::prox_steps::drift`]). With bounds, each step
//! ends with clipping.
//!
//! SAGA needs no snapshots, but it keeps a derivative per row, which is impossible for rows that are not in
//! memory. It also visits all rows equally often, so the longest row determines the rate. Here long rows are
//! visited more often, so the mean length determines the rate. The choice of mⱼ minimises L̄·Σmⱼwⱼ² for
//! weights of equal size in units of 1/sⱼ. Rare features then learn faster, as in AdaGrad.

mod sums;

use super::learner::{Converged, Learner, Pass, dot};
use super::prox_steps;
use super::row_loop::{self, Diverged, Known, Sample, Steps};
use crate::data::rows::{Examples, Row, Value, ValuesRef};
use crate::problem::loss::Loss;
use crate::problem::penalty::one::OneWeight;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::simd;
use crate::util::error::Result as Checked;
use crate::util::random::Random;
use crate::util::state::{Fields, State as _};
use std::sync::Arc;
use sums::Sums;

/// Parameters that are the same for all rows.
#[derive(Clone, Copy, Debug)]
pub struct SvrgOptions {
    /// λ₁ and λ₂.
    pub penalty: ElasticNet,
    /// The step size, in units of 1/L̄.
    pub step: f64,
    /// The relative distance from the optimum at which to stop.
    pub tolerance: f64,
    /// Seed of the row visits.
    pub seed: u64,
}

/// A model in training with prox-SVRG.
///
/// ```
/// use lazyglm::{ElasticNet, optim::{learner::Learner, svrg::*, scales::Scales}, synth};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let penalty = ElasticNet::new(1e-3, 1e-3).unwrap();
/// let options = SvrgOptions { penalty, step: 1.0, tolerance: 1e-3, seed: 1 };
/// let mut model = Svrg::new(options, Scales::of(task.examples()).spreads(), true);
/// for _ in 0..200 {
///     model.look(&*task.loss, &mut |see| Ok(see(task.examples()))).unwrap(); // all rows at once
///     if model.converged().is_some() {
///         break;
///     }
///     let visits = model.visits(task.examples(), &(0..500).collect::<Vec<_>>()).unwrap();
///     model.learn(&*task.loss, task.examples(), &visits).unwrap();
/// }
/// assert!(model.converged().is_some());
/// ```
#[derive(Clone)]
pub struct Svrg {
    options: SvrgOptions,
    states: Vec<State>,
    bias: Bias,
    t: u64,
    sampled: u64,
    mean_length: f64, // L̄/c, after the first pass
    factor: f64,      // step/L̄
    steps: u32,       // number of steps since the snapshot
    random: Random,
    broken: bool,         // whether a step since the snapshot diverged (NaN or infinity)
    now_of_row: Vec<f64>, // current weights of the row
    old_of_row: Vec<f64>, // weights of the row at the snapshot
    epochs: u64,
    snapshot: SnapshotEvaluation,
    each: Option<Arc<Vec<OneWeight>>>, // penalty and bounds per weight, if they differ
    lean: bool,                        // gradients are summed one part after the other
}

/// A weight with its state at the last touch.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))] // half a cache line: one cache miss per touch
struct State {
    weight: f64,
    old: f64,   // w̃
    drift: f64, // ḡ
    last: u32,  // the step of the last touch
    swift: f32, // 1/m
}

impl crate::util::state::State for State {
    fn fields(&mut self, fields: &mut Fields) {
        let numbers = [&mut self.weight, &mut self.old, &mut self.drift];
        numbers.into_iter().for_each(|number| number.fields(fields));
        self.last.fields(fields);
    }
}

#[derive(Clone, Copy, Debug)]
struct Bias {
    learns: bool,
    now: f64,
    old: f64,
    drift: f64,
}

/// The evaluation at the last snapshot.
#[derive(Clone, Copy, Debug)]
struct SnapshotEvaluation {
    objective: f64,
    fell: f64, // |decrease| of F by the last epoch, at least a quarter of the one before
    gap: f64,  // relative duality gap
}

impl Svrg {
    /// Starts at zero weights. `spreads` are mⱼ, one per column.
    pub fn new(options: SvrgOptions, spreads: Vec<f64>, learns_bias: bool) -> Svrg {
        let state = |m: f64| State { weight: 0.0, old: 0.0, drift: 0.0, last: 0, swift: (1.0 / m) as f32 };
        Svrg {
            options,
            states: spreads.into_iter().map(state).collect(),
            bias: Bias { learns: learns_bias, now: 0.0, old: 0.0, drift: 0.0 },
            t: 0,
            sampled: 1,
            mean_length: 1.0,
            factor: 0.0,
            steps: 0,
            random: Random::new(options.seed),
            broken: false,
            now_of_row: Vec::new(),
            old_of_row: Vec::new(),
            epochs: 0,
            snapshot: SnapshotEvaluation {
                objective: f64::INFINITY,
                fell: f64::INFINITY,
                gap: f64::INFINITY,
            },
            each: None,
            lean: false,
        }
    }

    /// Sums gradients on one thread, with the same bits: two sums of all columns are in memory, instead of five.
    pub fn in_little_memory(self) -> Svrg {
        Svrg { lean: true, ..self }
    }

    /// Takes penalty factors and bounds per weight.
    pub fn weighted(self, weighted_penalty: &WeightedPenalty) -> Svrg {
        let each = weighted_penalty.each(self.states.len()).map(Arc::new);
        Svrg { each, ..self }
    }

    /// Starts from these weights.
    pub fn starting_from(mut self, weights: &[f64], bias: f64) -> Svrg {
        self.states.iter_mut().zip(weights).for_each(|(state, &weight)| state.weight = weight);
        self.bias.now = if self.bias.learns { bias } else { 0.0 };
        self
    }

    /// Samples the loss of one row in this many.
    pub fn sampling_one_in(self, rows: u64) -> Svrg {
        Svrg { sampled: rows.max(1), ..self }
    }

    /// The objective F at the last snapshot.
    pub fn objective(&self) -> f64 {
        self.snapshot.objective
    }

    /// The estimate of the relative duality gap at the last snapshot.
    pub fn gap(&self) -> f64 {
        self.snapshot.gap
    }

    /// The current value of a weight.
    #[inline(always)]
    fn now(&self, j: usize) -> f64 {
        let State { weight, drift, last, swift, .. } = self.states[j];
        let (n, rate) = (f64::from(self.steps - last), self.factor * f64::from(swift));
        match &self.each {
            None => prox_steps::drift(self.options.penalty, rate, drift, n, weight),
            Some(each) => within_bounds(&each[j], rate, drift, n, weight),
        }
    }

    /// Penalty and bounds of a weight.
    fn one(&self, j: usize) -> OneWeight {
        let plain = WeightedPenalty::of(self.options.penalty);
        self.each.as_ref().map_or(plain.one(j), |each| each[j])
    }

    /// Brings all weights up to date, for evaluation as a snapshot.
    fn settle(&mut self) {
        let weights = self.weights();
        for (state, weight) in self.states.iter_mut().zip(weights) {
            (state.weight, state.last) = (weight, 0);
        }
        (self.bias.now, self.steps, self.broken) = (self.bias(), 0, false);
    }

    /// Accepts the evaluated weights as the snapshot, with its gradient, or returns to the last snapshot.
    fn take(&mut self, sums: &Sums, better: bool) {
        let n = sums.rows.max(1) as f64;
        for (state, sum) in self.states.iter_mut().zip(&sums.gradient) {
            match better {
                true => (state.old, state.drift) = (state.weight, sum[0] / n),
                false => state.weight = state.old,
            }
        }
        match better {
            true => (self.bias.old, self.bias.drift) = (self.bias.now, sums.slopes / n),
            false => (self.bias.now, self.factor) = (self.bias.old, 0.5 * self.factor),
        }
    }

    /// The length Lᵢ/c of a row of weight one.
    #[inline(always)]
    fn length<V: Value>(&self, row: Row<V>) -> f64 {
        let swift = |j: usize| f64::from(self.states[j].swift);
        row.iter().map(|(j, x)| x * x * swift(j)).sum::<f64>() + f64::from(u8::from(self.bias.learns))
    }

    /// Computes F and its relative duality gap, from sums over rows at the snapshot.
    ///
    /// The derivatives in the gap are those after one Newton step on the bias, as predicted by second
    /// derivatives. They sum to zero, as a dual bound requires.
    fn evaluate(&self, sums: &Sums) -> SnapshotEvaluation {
        let n = sums.rows.max(1) as f64;
        let second_derivative = sums.second_derivatives / n;
        let better = if self.bias.learns && second_derivative > 0.0 {
            -sums.slopes / n / second_derivative
        } else {
            0.0
        };
        let (mut penalty, mut gap) = (0.0, 0.5 * second_derivative * better * better);
        for (j, (&State { weight: w, .. }, sum)) in self.states.iter().zip(&sums.gradient).enumerate() {
            let (g, one) = ((sum[0] + better * sum[1]) / n, self.one(j));
            let cost = one.penalty.l1 * w.abs() + 0.5 * one.penalty.l2 * w * w;
            gap += cost + g * w + one.conjugate(g);
            penalty += cost;
        }
        let objective = sums.losses / n + penalty;
        let fell = (self.snapshot.objective - objective).abs();
        let fell = if self.snapshot.fell.is_finite() { fell.max(self.snapshot.fell / 4.0) } else { fell };
        SnapshotEvaluation { objective, fell, gap: gap / objective.abs().max(f64::MIN_POSITIVE) }
    }
}

/// A weight after `n` steps, each clipped to its bounds.
#[cold]
fn within_bounds(one: &OneWeight, rate: f64, drift: f64, n: f64, weight: f64) -> f64 {
    prox_steps::clipped(one, n, weight, |n, w| prox_steps::drift(one.penalty, rate, drift, n, w))
}

impl Steps for Svrg {
    #[inline(always)]
    fn row<V: Value>(&mut self, loss: &dyn Loss, row: Row<V>, known: Known) -> (f64, f64) {
        let Known { target, weight, offset } = known;
        let (mut now, mut old) = (std::mem::take(&mut self.now_of_row), std::mem::take(&mut self.old_of_row));
        now.clear();
        old.clear();
        let mut length = f64::from(u8::from(self.bias.learns));
        for (&j, &x) in row.ids.iter().zip(row.values) {
            let State { old: before, swift, .. } = self.states[j as usize];
            now.push(self.now(j as usize));
            old.push(before);
            length += x.to_f64() * x.to_f64() * f64::from(swift);
        }
        let score = dot(row.values, &now) + self.bias.now + offset;
        let before = dot(row.values, &old) + self.bias.old + offset;
        let old_slope = loss.slope(before, target);
        let amount = self.mean_length / length * (loss.slope(score, target) - old_slope); // ω/π = L̄/Lᵢ
        self.broken |= !amount.is_finite(); // then the epoch is discarded
        if !self.broken {
            for ((&j, &x), &w) in row.ids.iter().zip(row.values).zip(&now) {
                let state = &mut self.states[j as usize];
                state.weight = w - self.factor * f64::from(state.swift) * amount * x.to_f64();
                state.last = self.steps;
            }
            if self.bias.learns {
                self.bias.now -= self.factor * (amount + self.bias.drift);
            }
            self.steps += 1;
        }
        (self.now_of_row, self.old_of_row) = (now, old);
        (before, weight * old_slope)
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

impl Learner for Svrg {
    /// The state after an epoch: within one, the resampled order is not known.
    fn fields(&mut self, fields: &mut Fields) {
        fields.fixed(&mut self.states);
        let Bias { now, old, drift, .. } = &mut self.bias;
        let SnapshotEvaluation { objective, fell, gap } = &mut self.snapshot;
        let numbers = [now, old, drift, objective, fell, gap, &mut self.mean_length, &mut self.factor];
        numbers.into_iter().for_each(|number| number.fields(fields));
        self.t.fields(fields);
        self.steps.fields(fields);
        self.random.fields(fields);
        self.broken.fields(fields);
        self.epochs.fields(fields);
        let steps = self.steps;
        fields.require(self.states.iter().all(|state| state.last <= steps));
    }

    fn resamples(&self) -> bool {
        true
    }

    fn learn(&mut self, loss: &dyn Loss, examples: Examples, order: &[u32]) -> Result<Sample, Diverged> {
        row_loop::learn(self, loss, examples, order)
    }

    fn weights(&self) -> Vec<f64> {
        let one = |j: usize| if self.broken { self.states[j].old } else { self.now(j) };
        (0..self.states.len()).map(one).map(|w| if w == 0.0 { 0.0 } else { w }).collect()
    }

    fn bias(&self) -> f64 {
        if self.broken { self.bias.old } else { self.bias.now }
    }

    fn visits(&mut self, examples: Examples, order: &[u32]) -> Option<Vec<u32>> {
        let mut visits = Vec::with_capacity(order.len() + order.len() / 8);
        for &i in order {
            let length = match examples.rows.values() {
                ValuesRef::F32(values) => self.length(examples.rows.row(values, i as usize)),
                ValuesRef::F64(values) => self.length(examples.rows.row(values, i as usize)),
            };
            let times = examples.weight(i as usize) * length / self.mean_length; // π
            let whole = times.floor();
            let times = whole as usize + usize::from(self.random.uniform() < times - whole);
            visits.extend(std::iter::repeat_n(i, times));
        }
        self.random.shuffle(&mut visits);
        Some(visits)
    }

    fn t(&self) -> u64 {
        self.t
    }

    fn look(&mut self, loss: &dyn Loss, pass: Pass) -> Checked<()> {
        self.settle();
        let mut all = Sums::new(self.states.len());
        pass(&mut |examples| all.add_rows(self, loss, examples))?;
        if self.epochs == 0 {
            self.mean_length = all.lengths / all.rows.max(1) as f64;
            self.factor = self.options.step / (loss.curvature().unwrap_or(1.0) * self.mean_length);
        }
        let snapshot = self.evaluate(&all);
        let better = self.epochs == 0 || snapshot.objective <= self.snapshot.objective;
        self.take(&all, better);
        if better {
            self.snapshot = snapshot;
        }
        self.epochs += 1;
        Ok(())
    }

    /// Why the solver has converged, if it has.
    ///
    /// If λ₂ > 0, the gap at the snapshot decides. Otherwise the gap is loose. F decreases like 1/k at worst,
    /// so the remaining decrease is about k times that of the last epoch.
    fn converged(&self) -> Option<Converged> {
        let left =
            (self.epochs as f64) * self.snapshot.fell / self.snapshot.objective.abs().max(f64::MIN_POSITIVE);
        let free = |one: &OneWeight| one.penalty.l2 == 0.0;
        let loose = self.each.as_ref().is_some_and(|each| each.iter().any(free));
        match self.options.penalty.l2 > 0.0 && !loose {
            true => (self.snapshot.gap <= self.options.tolerance).then_some(Converged::Gap),
            false => (self.epochs > 2 && left <= 0.1 * self.options.tolerance)
                .then_some(Converged::PredictedDecrease),
        }
    }
}
