//! Stochastic gradient steps for softmax regression: all classes at once.
//!
//! ```text
//! for t = 0, 1, …               row (x, y) of weight ω, for every class c
//!     s_c = w_c·x + b_c         p_c = e^s_c/Σ e^s          ℓ = −ln p_y
//!     g_c = ω·(p_c − [y = c])   w_c ← w_c − ηₜ·g_c·x       b_c ← b_c − ηₜ·g_c
//!     w_c ← penalty step
//! ```
//!
//! Classes are lanes, as in [`super::lanes`], of one kernel or several; the scores of all classes come first.

use super::row_loop::{At, walk};
use super::sgd::{Diverged, SAMPLED, Sample};
use crate::data::rows::{Row, RowsRef, Value, ValuesRef};
use crate::optim::kernel::{Half, LaneVector, Lanes, Line, Weight};
use crate::problem::penalty::{ElasticNet, Method};
use crate::problem::schedule::Schedule;
use crate::problem::settings::Precision;
use crate::simd;
use crate::util::state::{Fields, State};

/// A softmax model in training: the heads of all classes.
///
/// ```
/// use lazyglm::{ElasticNet, Method, Rows, schedule, Precision, optim::softmax::Softmax};
/// let mut rows = Rows::new();
/// (0..3).for_each(|class| rows.push(&[(class, 1.0)]).unwrap());
/// let setting = schedule::Setting { eta0: 0.5, l2: 0.0, rows: Some(3), epochs: 1 };
/// let rate = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
/// let mut model = Softmax::new(3, 3, ElasticNet { l1: 1e-3, l2: 0.0 }, Method::Fobos, true, Precision::F32);
/// for _ in 0..20 {
///     model.learn(&*rate, (rows.borrow(), None), &[0, 1, 2], &[0, 1, 2]).unwrap();
/// }
/// let own: Vec<bool> = model.weights(1).map(|w| w > 0.0).collect();
/// assert_eq!(own, [false, true, false]);
/// ```
pub struct Softmax {
    parts: Vec<Box<dyn Part>>,
    width: usize, // lanes per part; the last part may have fewer
    bias: Vec<f64>,
    learns_bias: bool,
    t: u64,
    scores: Vec<f64>,
    amounts: Vec<f64>,
    sampled: u64,
}

impl Softmax {
    /// Starts with all weights and biases zero.
    pub fn new(
        columns: usize,
        classes: usize,
        penalty: ElasticNet,
        method: Method,
        learns_bias: bool,
        width: Precision,
    ) -> Softmax {
        let lanes: Vec<usize> = (0..classes)
            .step_by(width.most_lanes())
            .map(|first| (classes - first).min(width.most_lanes()))
            .collect();
        Softmax {
            parts: lanes.iter().map(|&lanes| part(columns, &vec![penalty; lanes], method, width)).collect(),
            width: width.most_lanes(),
            bias: vec![0.0; classes],
            learns_bias,
            t: 0,
            scores: vec![0.0; classes],
            amounts: vec![0.0; classes],
            sampled: SAMPLED,
        }
    }

    /// Bytes for a number of columns and classes.
    pub fn bytes(columns: usize, classes: usize, width: Precision) -> usize {
        let (whole, rest) = (classes / width.most_lanes(), classes % width.most_lanes());
        columns
            * (whole * width.lane_bytes(width.most_lanes())
                + if rest > 0 { width.lane_bytes(rest) } else { 0 })
    }

    /// Sets the sampling interval of the running loss, in rows.
    pub fn sampling_one_in(self, rows: u64) -> Softmax {
        Softmax { sampled: rows.max(1), ..self }
    }

    /// Trains on these rows, with the given classes, in this order. Any split of an order into calls gives the same bits.
    pub fn learn(
        &mut self,
        rate: &dyn Schedule,
        (rows, weights): (RowsRef, Option<&[f64]>),
        classes: &[u32],
        order: &[u32],
    ) -> Result<Sample, Diverged> {
        match rows.values() {
            ValuesRef::F32(values) => self.steps(rate, (rows, values, weights), classes, order),
            ValuesRef::F64(values) => self.steps(rate, (rows, values, weights), classes, order),
        }
    }

    fn steps<V: Value>(
        &mut self,
        rate: &dyn Schedule,
        (rows, values, weights): (RowsRef, &[V], Option<&[f64]>),
        classes: &[u32],
        order: &[u32],
    ) -> Result<Sample, Diverged> {
        let mut sample = Sample::default();
        for At { i, next, soon } in walk(rows, values, order) {
            if let Some(soon) = soon {
                simd::prefetch_one(classes, soon);
                weights.iter().for_each(|weights| simd::prefetch_one(weights, soon));
            }
            let weight = weights.map_or(1.0, |w| w[i]);
            let class = classes[i] as usize;
            self.score_row(rows, i, next.map_or(&[], |next| rows.row(values, next).ids));
            if let Some(&score) = self.scores.iter().find(|score| !score.is_finite()) {
                return Err(Diverged { row: i, t: self.t, score, slope: f64::NAN });
            }
            let own = self.scores[class];
            let log_sum = to_probabilities(&mut self.scores);
            if self.t.is_multiple_of(self.sampled) {
                sample = sample.and(Sample { sum: weight * (log_sum - own), weight });
            }
            let eta = rate.eta(self.t);
            self.scores[class] -= 1.0;
            for (amount, slope) in self.amounts.iter_mut().zip(&self.scores) {
                *amount = eta * (weight * slope);
            }
            if self.learns_bias {
                self.bias.iter_mut().zip(&self.amounts).for_each(|(b, amount)| *b -= amount);
            }
            for (part, amounts) in self.parts.iter_mut().zip(self.amounts.chunks(self.width)) {
                part.step(rows, i, amounts, eta);
            }
            self.t += 1;
        }
        Ok(sample)
    }

    /// Calls back with the scores of these rows, without training.
    pub fn score(&mut self, rows: RowsRef, order: &[u32], see: &mut dyn FnMut(usize, &[f64])) {
        match rows.values() {
            ValuesRef::F32(values) => self.score_all(rows, values, order, see),
            ValuesRef::F64(values) => self.score_all(rows, values, order, see),
        }
    }

    fn score_all<V: Value>(
        &mut self,
        rows: RowsRef,
        values: &[V],
        order: &[u32],
        see: &mut dyn FnMut(usize, &[f64]),
    ) {
        for At { i, next, .. } in walk(rows, values, order) {
            self.score_row(rows, i, next.map_or(&[], |next| rows.row(values, next).ids));
            see(i, &self.scores);
        }
    }

    fn score_row(&mut self, rows: RowsRef, i: usize, soon: &[u32]) {
        for (part, scores) in self.parts.iter_mut().zip(self.scores.chunks_mut(self.width)) {
            part.score(rows, i, soon, scores);
        }
        self.scores.iter_mut().zip(&self.bias).for_each(|(score, bias)| *score += bias);
    }

    /// The settled weights of a class.
    pub fn weights(&self, class: usize) -> Box<dyn Iterator<Item = f64> + '_> {
        self.parts[class / self.width].weights(class % self.width)
    }

    /// The bias of each class.
    pub fn biases(&self) -> &[f64] {
        &self.bias
    }

    /// The state, for a checkpoint after any rows.
    pub fn fields(&mut self, fields: &mut Fields) {
        self.parts.iter_mut().for_each(|part| part.fields(fields));
        fields.fixed(&mut self.bias);
        self.t.fields(fields);
    }

    /// The number of steps so far.
    pub fn t(&self) -> u64 {
        self.t
    }
}

/// Converts scores to probabilities and returns ln Σ e^s. The largest score is subtracted first, so that nothing overflows.
fn to_probabilities(scores: &mut [f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|score| *score = (*score - most).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|part| *part /= sum);
    most + sum.ln()
}

/// Some of the classes, as lanes of one kernel.
trait Part: Send {
    fn score(&mut self, rows: RowsRef, i: usize, soon: &[u32], into: &mut [f64]);
    fn step(&mut self, rows: RowsRef, i: usize, amounts: &[f64], eta: f64);
    fn weights(&self, lane: usize) -> Box<dyn Iterator<Item = f64> + '_>;
    fn fields(&mut self, fields: &mut Fields);
}

fn part(columns: usize, penalties: &[ElasticNet], method: Method, width: Precision) -> Box<dyn Part> {
    match (width, penalties.len()) {
        (Precision::F32, ..=8) => Box::new(Lanes::<f32, Half<f32, 8>, 8>::new(columns, penalties, method)),
        (Precision::F32, _) => Box::new(Lanes::<f32, Line<f32, 16>, 16>::new(columns, penalties, method)),
        (Precision::F64, _) => Box::new(Lanes::<f64, Line<f64, 8>, 8>::new(columns, penalties, method)),
    }
}

impl<W: Weight, P: LaneVector<W, L>, const L: usize> Part for Lanes<W, P, L> {
    fn score(&mut self, rows: RowsRef, i: usize, soon: &[u32], into: &mut [f64]) {
        match rows.values() {
            ValuesRef::F32(values) => {
                simd::fastest(Score { lanes: self, row: rows.row(values, i), soon, into });
            }
            ValuesRef::F64(values) => {
                simd::fastest(Score { lanes: self, row: rows.row(values, i), soon, into });
            }
        }
    }

    fn step(&mut self, rows: RowsRef, i: usize, amounts: &[f64], eta: f64) {
        match rows.values() {
            ValuesRef::F32(values) => {
                simd::fastest(Step { lanes: self, row: rows.row(values, i), amounts, eta });
            }
            ValuesRef::F64(values) => {
                simd::fastest(Step { lanes: self, row: rows.row(values, i), amounts, eta });
            }
        }
    }

    fn weights(&self, lane: usize) -> Box<dyn Iterator<Item = f64> + '_> {
        Box::new(self.weights_with(lane))
    }

    fn fields(&mut self, fields: &mut Fields) {
        State::fields(self, fields);
    }
}

struct Score<'a, W, P, V, const L: usize> {
    lanes: &'a mut Lanes<W, P, L>,
    row: Row<'a, V>,
    soon: &'a [u32],
    into: &'a mut [f64],
}

impl<W: Weight, P: LaneVector<W, L>, V: Value, const L: usize> simd::Work for Score<'_, W, P, V, L> {
    type Answer = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let scores = self.lanes.score(self.row, self.soon);
        self.into.copy_from_slice(&scores[..self.into.len()]);
    }
}

struct Step<'a, W, P, V, const L: usize> {
    lanes: &'a mut Lanes<W, P, L>,
    row: Row<'a, V>,
    amounts: &'a [f64],
    eta: f64,
}

impl<W: Weight, P: LaneVector<W, L>, V: Value, const L: usize> simd::Work for Step<'_, W, P, V, L> {
    type Answer = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let mut amounts = [0.0; L];
        amounts[..self.amounts.len()].copy_from_slice(self.amounts);
        if amounts != [0.0; L] {
            self.lanes.pull(self.row, &amounts, &amounts.map(|amount| amount == 0.0));
        }
        self.lanes.charge([self.eta; L], self.row.ids.len());
    }
}
