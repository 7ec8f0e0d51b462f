//! AdaGrad with an elastic net: exactly lazy, and invariant to the units of features and targets.
//!
//! ```text
//! per weight   Gⱼ = Σ mⱼ(g·xⱼ)² over its own rows              mⱼ = 1/sⱼ², sⱼ its scale; g = ω·ℓ′
//! rate         ηⱼ = η·u·mⱼ/√(Gⱼ + 0.01v²)                      u, v: units of scores and slopes; the bias: η·u/√(v² + Σg²)
//! step         w ← w − a·ηⱼ·xⱼ on the row's features, then one FoBoS step at its own ηⱼ on every weight
//! explicit     a = g
//! aware        a = (s − s(ωQ))/Q,  Q = Σηⱼxⱼ² + η_b            the change of the score by gradient flow for time ωQ
//! ```
//!
//! A learning rate changes only when its weight is touched. Between touches it is constant, and n steps have
//! a closed form ([`super::prox_steps`]). A touch brings the weight up to date at the *old* rate, then
//! accumulates, then steps. The step's own penalty is paid at the new rate with the next touch. There is no
//! table, and no clock except the number of rows.
//!
//! The aware step is that of Karampatziakis & Langford (2011): it treats a row as infinitely many small
//! steps. So a row cannot overshoot its own target, whatever the rate.

use super::learner::{Learner, dot};
use super::prox_steps::{self, SMALL};
use super::row_loop::{self, Diverged, Known, Sample, Steps};
use super::scales::Units;
use crate::data::rows::{Examples, Row, Value};
use crate::problem::loss::Loss;
use crate::problem::penalty::one::OneWeight;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::simd;
use crate::util::state::{Fields, State as _};
use std::sync::Arc;

/// Initial value of G in squared units of derivatives, which bounds the first steps.
const FLOOR: f64 = 0.01;

/// Parameters that are the same for all rows.
#[derive(Clone, Copy, Debug)]
pub struct AdagradOptions {
    /// λ₁ and λ₂.
    pub penalty: ElasticNet,
    /// The learning rate factor η.
    pub eta: f64,
    /// Whether to use importance-aware steps, if the loss has a closed-form gradient flow.
    pub aware: bool,
}

/// A model in training with AdaGrad.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Rows, loss, optim::{adagrad::*, learner::Learner, scales::Scales}};
/// let weight = |x: f64| {
///     let mut rows = Rows::new();
///     rows.push(&[(0, x)]).unwrap();
///     let examples = Examples::new(rows.borrow(), &[1.0], None).unwrap();
///     let (loss, scales) = (loss::parse("logistic").unwrap(), Scales::of(examples));
///     let options = AdagradOptions { penalty: ElasticNet { l1: 0.0, l2: 0.0 }, eta: 0.5, aware: true };
///     let mut model = Adagrad::new(options, scales.rms(), scales.units(&*loss, true), true);
///     model.learn(&*loss, examples, &[0, 0, 0]).unwrap();
///     model.weights()[0]
/// };
/// assert_eq!(weight(1024.0), weight(1.0) / 1024.0, "in other units, the same model");
/// ```
#[derive(Clone)]
pub struct Adagrad {
    options: AdagradOptions,
    units: Units,
    states: Vec<State>,
    bias: f64,
    bias_square: f64,
    learns_bias: bool,
    t: u64,
    sampled: u64,
    touched: Touched,
    each: Option<Arc<Vec<OneWeight>>>, // penalty and bounds per weight, if they differ
}

/// A weight with its state at the last touch.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))] // half a cache line: one cache miss per touch
struct State {
    weight: f64,
    square: f64, // G
    metric: f64, // m
    last: f64,   // the step of the last touch
}

impl crate::util::state::State for State {
    fn fields(&mut self, fields: &mut Fields) {
        let numbers = [&mut self.weight, &mut self.square, &mut self.last];
        numbers.into_iter().for_each(|number| number.fields(fields));
    }
}

/// The gathered weights of a row, laid out for vectorised arithmetic.
#[derive(Clone, Default)]
struct Touched {
    weights: Vec<f64>,
    squares: Vec<f64>,
    metrics: Vec<f64>,
    gaps: Vec<f64>,
    rates: Vec<f64>,
    pulls: Vec<f64>, // ηⱼxⱼ
}

impl Adagrad {
    /// Starts at zero weights, with the bias from `units`. `metrics` are 1/sⱼ², one per column.
    pub fn new(options: AdagradOptions, metrics: Vec<f64>, units: Units, learns_bias: bool) -> Adagrad {
        let state = |metric| State { weight: 0.0, square: 0.0, metric, last: 0.0 };
        Adagrad {
            options,
            units,
            states: metrics.into_iter().map(state).collect(),
            bias: if learns_bias { units.start } else { 0.0 },
            bias_square: units.slope * units.slope,
            learns_bias,
            t: 0,
            sampled: 1,
            touched: Touched::default(),
            each: None,
        }
    }

    /// Takes penalty and bounds per weight instead of the common penalty.
    pub(crate) fn with_each(self, each: Option<Vec<OneWeight>>) -> Adagrad {
        Adagrad { each: each.map(Arc::new), ..self }
    }

    /// Takes penalty factors and bounds per weight.
    pub fn weighted(self, weighted_penalty: &WeightedPenalty) -> Adagrad {
        let each = weighted_penalty.each(self.states.len());
        self.with_each(each)
    }

    /// Starts from these weights.
    pub fn starting_from(mut self, weights: &[f64], bias: f64) -> Adagrad {
        self.states.iter_mut().zip(weights).for_each(|(state, &weight)| state.weight = weight);
        self.bias = if self.learns_bias { bias } else { 0.0 };
        self
    }

    /// Samples the loss of one row in this many.
    pub fn sampling_one_in(self, rows: u64) -> Adagrad {
        Adagrad { sampled: rows.max(1), ..self }
    }

    /// Brings the gathered weights up to date, at their old rates.
    #[inline(always)]
    fn settle(&mut self, ids: &[u32]) {
        if let Some(each) = &self.each {
            let (factor, floor) = self.factors();
            let Touched { weights, squares, metrics, gaps, rates, .. } = &mut self.touched;
            for (k, &j) in ids.iter().enumerate() {
                rates[k] = factor * metrics[k] / (squares[k] + floor).sqrt();
                weights[k] = after_steps(&each[j as usize], rates[k], gaps[k], weights[k]);
            }
            return;
        }
        let ElasticNet { l1, l2 } = self.options.penalty;
        let (factor, floor) = self.factors();
        let Touched { weights, squares, metrics, gaps, rates, .. } = &mut self.touched;
        let mut largest = 0.0f64; // of ηλ₂ and nηλ₂
        for ((rate, &square), (&metric, &n)) in
            rates.iter_mut().zip(&*squares).zip(metrics.iter().zip(&*gaps))
        {
            *rate = factor * metric / (square + floor).sqrt();
            largest = largest.max(*rate * l2 * n.max(1.0));
        }
        let pairs = weights.iter_mut().zip(rates.iter().zip(&*gaps));
        match largest < SMALL {
            true => pairs.for_each(|(w, (&rate, &n))| {
                let (r, d) = prox_steps::small_steps(rate * l2, rate, n);
                *w = prox_steps::soft_shrink(*w, r, l1 * d);
            }),
            false => {
                pairs.for_each(|(w, (&rate, &n))| *w = prox_steps::shrink(self.options.penalty, rate, n, *w))
            }
        }
    }

    /// The factor η·u, and the initial value of G.
    #[inline(always)]
    fn factors(&self) -> (f64, f64) {
        (self.options.eta * self.units.score, FLOOR * self.units.slope * self.units.slope)
    }

    /// Adds the row's derivatives to G and computes the new rates. Returns Q without the bias.
    #[inline(always)]
    fn accumulate<V: Value>(&mut self, row: Row<V>, slope: f64) -> f64 {
        let (factor, floor) = self.factors();
        let Touched { squares, metrics, rates, pulls, .. } = &mut self.touched;
        let states = squares.iter_mut().zip(&*metrics).zip(rates.iter_mut().zip(pulls.iter_mut()));
        for (((square, &metric), (rate, pull)), x) in states.zip(row.values) {
            let g = slope * x.to_f64();
            *square += g * g * metric;
            *rate = factor * metric / (*square + floor).sqrt();
            *pull = *rate * x.to_f64();
        }
        dot(row.values, pulls)
    }

    /// The length of the step.
    #[inline(always)]
    fn amount(&self, loss: &dyn Loss, at: (f64, f64), weight: f64, slope: f64, reach: f64) -> f64 {
        let slid = if self.options.aware { loss.slide(at.0, at.1, weight * reach) } else { None };
        slid.map(|fall| fall / reach).filter(|amount| amount.is_finite()).unwrap_or(slope)
    }
}

/// A weight after `n` penalty steps, within its bounds.
fn after_steps(one: &OneWeight, rate: f64, n: f64, weight: f64) -> f64 {
    prox_steps::clipped(one, n, weight, |n, w| prox_steps::shrink(one.penalty, rate, n, w))
}

impl Steps for Adagrad {
    #[inline(always)]
    fn row<V: Value>(&mut self, loss: &dyn Loss, row: Row<V>, known: Known) -> (f64, f64) {
        let Known { target, weight, offset } = known;
        self.touched.gather(&self.states, row.ids, self.t as f64);
        self.settle(row.ids);
        let score = dot(row.values, &self.touched.weights) + self.bias + offset;
        let slope = weight * loss.slope(score, target);
        if slope == 0.0 || !(score.is_finite() && slope.is_finite()) {
            return (score, slope);
        }
        let mut reach = self.accumulate(row, slope);
        let mut bias_rate = 0.0;
        if self.learns_bias {
            self.bias_square += slope * slope;
            bias_rate = self.options.eta * self.units.score / self.bias_square.sqrt();
            reach += bias_rate;
        }
        let amount = self.amount(loss, (score, target), weight, slope, reach);
        self.bias -= amount * bias_rate;
        let Touched { weights, squares, pulls, .. } = &mut self.touched;
        weights.iter_mut().zip(&*pulls).for_each(|(w, pull)| *w -= amount * pull);
        let last = self.t as f64;
        for (&j, (&weight, &square)) in row.ids.iter().zip(weights.iter().zip(&*squares)) {
            let state = &mut self.states[j as usize];
            (state.weight, state.square, state.last) = (weight, square, last);
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

impl Touched {
    #[inline(always)]
    fn gather(&mut self, states: &[State], ids: &[u32], t: f64) {
        let Touched { weights, squares, metrics, gaps, rates, pulls } = self;
        for array in [&mut *weights, squares, metrics, gaps, rates, pulls] {
            array.resize(ids.len(), 0.0);
        }
        let places = weights.iter_mut().zip(squares).zip(metrics.iter_mut().zip(gaps));
        for (((to_weight, to_square), (to_metric, to_gap)), &j) in places.zip(ids) {
            let State { weight, square, metric, last } = states[j as usize];
            (*to_weight, *to_square, *to_metric) = (weight, square, metric);
            *to_gap = if weight == 0.0 { 0.0 } else { t - last }; // zero stays zero
        }
    }
}

impl Learner for Adagrad {
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
        let (factor, floor) = self.factors();
        let now = |(j, state): (usize, &State)| {
            let rate = factor * state.metric / (state.square + floor).sqrt();
            let n = self.t as f64 - state.last;
            let weight = match &self.each {
                None => prox_steps::shrink(self.options.penalty, rate, n, state.weight),
                Some(each) => after_steps(&each[j], rate, n, state.weight),
            };
            if weight == 0.0 { 0.0 } else { weight } // not −0
        };
        self.states.iter().enumerate().map(now).collect()
    }

    fn bias(&self) -> f64 {
        self.bias
    }

    fn t(&self) -> u64 {
        self.t
    }
}
