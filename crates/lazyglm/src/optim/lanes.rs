//! Stochastic gradient steps for many models at once, a block of lanes at a time.
//!
//! ```text
//! for t = 0, 1, …             row (x, y) of weight ω, for every lane l of the block
//!     sₗ = wₗ·x + bₗ           gₗ = ω·∂ℓ(sₗ, yₗ)
//!     wₗ ← wₗ − ηₗₜ·gₗ·x       bₗ ← bₗ − ηₗₜ·gₗ
//!     wₗ ← penalty step with λ₁ₗ, λ₂ₗ and ηₗₜ
//! ```
//!
//! The lanes of a block train on the same rows and share t; each has its own λ, rate, bias and targets. In f64, a lane has
//! the bits of [`super::sgd`] alone. A lane that diverges (NaN or infinity) is stopped, and the others go on.

use super::bias_rate::BiasRate;
use super::lane_loss::LaneLoss;
use super::row_loop::{At, walk};
use super::sgd::Diverged;
use crate::data::rows::{PrivateIds, RowsRef, Value, ValuesRef};
use crate::optim::kernel::{FrameState, Half, LaneVector, Lanes, Line, Weight, each};
use crate::problem::penalty::{ElasticNet, Method};
use crate::problem::schedule::Schedule;
use crate::problem::settings::Precision;
use crate::simd;
use crate::util::error::Result;
use crate::util::state::{Fields, State};

/// A block of lanes, for any number of lanes and any precision.
///
/// ```
/// use lazyglm::{ElasticNet, Method, Precision, schedule, synth};
/// use lazyglm::optim::{lane_loss::Same, lanes::*};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// # let setting = schedule::Setting { eta0: 0.1, l2: 0.0, rows: Some(500), epochs: 1 };
/// # let schedule = schedule::Spec::parse("inverse").unwrap().resolve(&setting).unwrap();
/// let penalties = [1e-5, 1e-3, 100.0].map(|l1| ElasticNet::new(l1, 0.0).unwrap());
/// let mut block = block(100, &penalties, Method::Fobos, true, Precision::F32);
/// let mut lane_loss = Same { loss: &*task.loss, examples: task.examples() };
/// let (rows, order) = (task.data.rows.borrow(), Vec::from_iter(0..500));
/// block.learn(&mut lane_loss, &Pass { rates: &[&*schedule], rows, weights: None, order: &order });
/// let nonzeros = [0, 1, 2].map(|lane| block.weights(lane).filter(|w| *w != 0.0).count());
/// assert!(nonzeros[0] >= nonzeros[1] && nonzeros[1] > 0 && nonzeros[2] == 0);
/// ```
pub trait Block: Send {
    /// Trains on these rows in this order. Any split of an order into calls gives the same bits.
    fn learn(&mut self, lane_loss: &mut dyn LaneLoss, pass: &Pass);
    /// Calls back with the scores of these rows, without training.
    fn score(&mut self, rows: RowsRef, order: &[u32], see: &mut dyn FnMut(usize, &[f64]));
    /// The number of lanes.
    fn lanes(&self) -> usize;
    /// The settled weights of a lane.
    fn weights(&self, lane: usize) -> Box<dyn Iterator<Item = f64> + '_>;
    /// The bias of a lane.
    fn bias(&self, lane: usize) -> f64;
    /// Sets the bias of all lanes, before training.
    fn begin_at(&mut self, bias: f64);
    /// Where a lane diverged (NaN or infinity), if it did; it has not been trained since.
    fn diverged(&self, lane: usize) -> Option<Diverged>;
    /// Stops the training of a lane.
    fn drop_lane(&mut self, lane: usize);
    /// The state, for a checkpoint after any rows.
    fn fields(&mut self, fields: &mut Fields);
    /// A block with these lanes alone, bit by bit the same, of the smallest width that holds them.
    fn select(&self, lanes: &[usize]) -> Box<dyn Block>;
}

/// Rows to train on, with their order and learning rates.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    /// The learning-rate schedules: one for all lanes, or one per lane.
    pub rates: &'a [&'a dyn Schedule],
    /// The rows.
    pub rows: RowsRef<'a>,
    /// Row weights; `None` if all are one.
    pub weights: Option<&'a [f64]>,
    /// The rows to train on, in this order.
    pub order: &'a [u32],
}

impl Precision {
    /// The largest number of lanes per block: one cache line of weights per feature.
    pub fn most_lanes(self) -> usize {
        match self {
            Precision::F32 => 16,
            Precision::F64 => 8,
        }
    }

    /// Bytes per column of a block with this number of lanes.
    pub fn lane_bytes(self, lanes: usize) -> usize {
        if self == Precision::F32 && lanes <= 8 { 32 } else { 64 }
    }
}

/// A block with one lane for each penalty, at most [`Precision::most_lanes`].
pub fn block(
    columns: usize,
    penalties: &[ElasticNet],
    method: Method,
    bias: bool,
    width: Precision,
) -> Box<dyn Block> {
    match (width, penalties.len()) {
        (Precision::F32, ..=8) => {
            Box::new(Together::<f32, Half<f32, 8>, 8>::new(columns, penalties, method, bias))
        }
        (Precision::F32, _) => {
            Box::new(Together::<f32, Line<f32, 16>, 16>::new(columns, penalties, method, bias))
        }
        (Precision::F64, _) => {
            Box::new(Together::<f64, Line<f64, 8>, 8>::new(columns, penalties, method, bias))
        }
    }
}

/// At most eight models in f64 with the same t, each trained alone, that continue as lanes of one block, with the same bits.
/// [`Joined::part`] separates them again.
///
/// ```
/// use lazyglm::{ElasticNet, Method, optim::kernel::Folded, optim::lanes::Joined, optim::update::Update};
/// let penalties = [0.1, 0.2].map(|l1| ElasticNet::new(l1, 0.0).unwrap());
/// let mut alone = penalties.map(|penalty| Folded::<f64>::new(vec![1.0, -2.0], penalty, Method::Fobos));
/// alone.iter_mut().for_each(|model| model.charge(0.5));
/// let states = alone.each_ref().map(Folded::state);
/// let joined = Joined::new(&states, &[0.0, 0.5], 1, &penalties, Method::Fobos, true).unwrap();
/// let (back, bias) = joined.part(1);
/// assert_eq!((Folded::<f64>::from_state(back, penalties[1], Method::Fobos).unwrap().weights(), bias), (alone[1].weights(), 0.5));
/// ```
pub struct Joined(Together<f64, Line<f64, 8>, 8>);

impl Joined {
    /// Joins models, given their state, biases, number of steps and penalties.
    pub fn new(
        states: &[FrameState],
        biases: &[f64],
        t: u64,
        penalties: &[ElasticNet],
        method: Method,
        learns_bias: bool,
    ) -> Result<Joined> {
        let kernel = Lanes::from_state(states, penalties, method)?;
        let bias = each(|l| biases.get(l).copied().unwrap_or(0.0));
        let (count, dropped) = (penalties.len(), each(|l| l >= penalties.len()));
        let bias_rate = BiasRate::of_weights();
        Ok(Joined(Together { kernel, bias, learns_bias, bias_rate, t, count, out: [None; 8], dropped }))
    }

    /// Sets how fast the biases learn; they learn like weights unless it is set.
    pub fn set_bias_rate(&mut self, rate: BiasRate) {
        self.0.bias_rate = rate;
    }

    /// How fast the biases learn.
    pub fn bias_rate(&self) -> BiasRate {
        self.0.bias_rate
    }

    /// The lanes.
    pub fn block(&mut self) -> &mut dyn Block {
        &mut self.0
    }

    /// The settled weights of a lane, and its bias.
    pub fn weights(&self, lane: usize) -> (Vec<f64>, f64) {
        (self.0.weights(lane).collect(), self.0.bias[lane])
    }

    /// The state of a lane, and its bias.
    pub fn part(&self, lane: usize) -> (FrameState, f64) {
        (self.0.kernel.state(lane), self.0.bias[lane])
    }

    /// The same block with these lanes alone.
    pub fn select(&self, lanes: &[usize]) -> Joined {
        Joined(self.0.some(lanes))
    }
}

struct Together<W, P, const L: usize> {
    kernel: Lanes<W, P, L>,
    bias: [f64; L],
    learns_bias: bool,
    bias_rate: BiasRate,
    t: u64,
    count: usize,
    out: [Option<Diverged>; L],
    dropped: [bool; L],
}

impl<W: Weight, P: LaneVector<W, L>, const L: usize> Together<W, P, L> {
    fn new(columns: usize, penalties: &[ElasticNet], method: Method, learns_bias: bool) -> Self {
        Together {
            kernel: Lanes::new(columns, penalties, method),
            bias: [0.0; L],
            learns_bias,
            bias_rate: BiasRate::of_weights(),
            t: 0,
            count: penalties.len(),
            out: [None; L],
            dropped: each(|l| l >= penalties.len()),
        }
    }

    /// Stops the lanes that diverged at this row, and sets their slopes to zero.
    #[cold]
    #[inline(never)]
    fn part(&mut self, row: usize, scores: &[f64; L], slopes: &mut [f64; L]) {
        for l in 0..L {
            let (score, slope) = (scores[l], slopes[l]);
            if !(score.is_finite() && slope.is_finite()) {
                self.out[l].get_or_insert(Diverged { row, t: self.t, score, slope });
                self.drop_lane(l);
                slopes[l] = 0.0;
            }
        }
    }
}

impl<W: Weight, P: LaneVector<W, L>, const L: usize> Together<W, P, L> {
    fn some<Q: LaneVector<W, M>, const M: usize>(&self, lanes: &[usize]) -> Together<W, Q, M> {
        let of = |m: usize| lanes.get(m).copied();
        Together {
            kernel: self.kernel.select(lanes),
            bias: each(|m| of(m).map_or(0.0, |l| self.bias[l])),
            learns_bias: self.learns_bias,
            bias_rate: self.bias_rate,
            t: self.t,
            count: lanes.len(),
            out: each(|m| of(m).and_then(|l| self.out[l])),
            dropped: each(|m| of(m).is_none_or(|l| self.dropped[l])),
        }
    }
}

impl<W: Weight, P: LaneVector<W, L>, const L: usize> Block for Together<W, P, L> {
    fn learn(&mut self, lane_loss: &mut dyn LaneLoss, pass: &Pass) {
        match pass.rows.values() {
            ValuesRef::F32(values) => simd::fastest(Learn { block: self, lane_loss, pass, values }),
            ValuesRef::F64(values) => simd::fastest(Learn { block: self, lane_loss, pass, values }),
        }
    }

    fn score(&mut self, rows: RowsRef, order: &[u32], see: &mut dyn FnMut(usize, &[f64])) {
        match rows.values() {
            ValuesRef::F32(values) => simd::fastest(Score { block: self, rows, values, order, see }),
            ValuesRef::F64(values) => simd::fastest(Score { block: self, rows, values, order, see }),
        }
    }

    fn lanes(&self) -> usize {
        self.count
    }

    fn weights(&self, lane: usize) -> Box<dyn Iterator<Item = f64> + '_> {
        Box::new(self.kernel.weights_with(lane))
    }

    fn bias(&self, lane: usize) -> f64 {
        self.bias[lane]
    }

    fn begin_at(&mut self, bias: f64) {
        self.bias = each(|l| if l < self.count { bias } else { 0.0 });
    }

    fn diverged(&self, lane: usize) -> Option<Diverged> {
        self.out[lane]
    }

    fn select(&self, lanes: &[usize]) -> Box<dyn Block> {
        match size_of::<P>() == 64 && size_of::<W>() == 4 && lanes.len() <= 8 {
            true => Box::new(self.some::<Half<W, 8>, 8>(lanes)),
            false => Box::new(self.some::<P, L>(lanes)),
        }
    }

    fn fields(&mut self, fields: &mut Fields) {
        self.kernel.fields(fields);
        self.bias.fields(fields);
        self.t.fields(fields);
        self.out.fields(fields);
        self.dropped.fields(fields);
    }

    fn drop_lane(&mut self, lane: usize) {
        self.dropped[lane] = true;
        self.bias[lane] = 0.0;
        self.kernel.erase(lane);
    }
}

struct Learn<'a, 'b, W, P, V, const L: usize> {
    block: &'a mut Together<W, P, L>,
    lane_loss: &'a mut (dyn LaneLoss + 'b),
    pass: &'a Pass<'a>,
    values: &'a [V],
}

impl<W: Weight, P: LaneVector<W, L>, V: Value, const L: usize> simd::Work for Learn<'_, '_, W, P, V, L> {
    type Answer = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let Learn { block, lane_loss, pass, values } = self;
        let Pass { rates, rows, weights, order } = *pass;
        let mut private = PrivateIds::of(rows);
        for At { i, next, soon } in walk(rows, values, order) {
            if let Some(soon) = soon {
                lane_loss.prefetch(soon);
                weights.iter().for_each(|weights| simd::prefetch_one(weights, soon));
            }
            let row = private.row(rows.row(values, i));
            let scores = block.kernel.score(row, next.map_or(&[], |next| rows.row(values, next).ids));
            let scores: [f64; L] = each(|l| scores[l] + block.bias[l]);
            let (weight, mut slopes) = (weights.map_or(1.0, |w| w[i]), [0.0; L]);
            lane_loss.slopes(i, &scores[..block.count], &mut slopes[..block.count]);
            let mut slopes = each(|l| if block.dropped[l] { 0.0 } else { weight * slopes[l] });
            let finite: [bool; L] = each(|l| scores[l].is_finite() & slopes[l].is_finite());
            if finite != [true; L] {
                block.part(i, &scores, &mut slopes);
            }
            let eta: [f64; L] = match rates {
                [one] => [one.eta(block.t); L],
                _ => each(|l| rates.get(l).map_or(0.0, |rate| rate.eta(block.t))),
            };
            let amounts: [f64; L] = each(|l| eta[l] * slopes[l]);
            block.bias_rate.see(row.ids.len());
            if slopes != [0.0; L] {
                block.kernel.pull(row, &amounts, &slopes.map(|slope| slope == 0.0));
                if block.learns_bias {
                    let multiple = |l: usize| block.bias_rate.multiple(eta[l], block.t);
                    block.bias = each(|l| block.bias[l] - multiple(l) * amounts[l]);
                }
            }
            block.kernel.charge(eta, row.ids.len());
            block.t += 1;
        }
    }
}

struct Score<'a, 'b, W, P, V, const L: usize> {
    block: &'a mut Together<W, P, L>,
    rows: RowsRef<'a>,
    values: &'a [V],
    order: &'a [u32],
    see: &'a mut (dyn FnMut(usize, &[f64]) + 'b),
}

impl<W: Weight, P: LaneVector<W, L>, V: Value, const L: usize> simd::Work for Score<'_, '_, W, P, V, L> {
    type Answer = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let Score { block, rows, values, order, see } = self;
        let mut private = PrivateIds::of(rows);
        for At { i, next, .. } in walk(rows, values, order) {
            let row = private.row(rows.row(values, i));
            let scores = block.kernel.score(row, next.map_or(&[], |next| rows.row(values, next).ids));
            let scores: [f64; L] = each(|l| scores[l] + block.bias[l]);
            see(i, &scores[..block.count]);
        }
    }
}
