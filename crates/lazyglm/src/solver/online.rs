//! Stochastic gradient steps with a penalty step after each: SGD and FoBoS, whatever the update.
//!
//! ```text
//! for t = 0, 1, …          row (x, y) of weight ω
//!     s = w·x + b          score
//!     g = ω·∂ℓ(s, y)       slope
//!     w ← w − ηₜ·g·x       pull: the row's features alone
//!     b ← b − ηₜ·g         the bias is the weight of a constant feature, free of penalty
//!     w ← penalty step     charge: every weight
//! ```

use crate::kernel;
use crate::loss::Loss;
use crate::rows::{Examples, Value, ValuesRef};
use crate::schedule::Schedule;
use crate::update::Update;

/// One row in so many has its loss noted before it is learnt: enough for a running figure, and too few to cost time.
pub const SAMPLED: u64 = 16;

/// How many rows ahead memory is asked for.
const AHEAD: usize = 4;

/// A model being learnt, a row at a time.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Method, Rows, kernel::Folded, loss, schedule, solver::online::*, update::Update};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0)]).unwrap();
/// rows.push(&[(1, 1.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[1.0, -1.0], None).unwrap();
///
/// let setting = schedule::Setting { eta0: 0.5, l2: 0.0, rows: Some(2), epochs: 1 };
/// let rule = Rule {
///     loss: &*loss::parse("logistic").unwrap(),
///     schedule: &*schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap(),
/// };
/// let net = ElasticNet::new(1e-3, 1e-3).unwrap();
/// let mut model = Online::new(Folded::<f32>::new(vec![0.0; 2], net, Method::Fobos), true);
/// model.learn(&rule, examples, &[0, 1]).unwrap();
/// assert_eq!(model.t, 2);
/// assert!(model.update.weights()[0] > 0.0 && model.update.weights()[1] < 0.0);
/// ```
#[derive(Clone)]
pub struct Online<U> {
    /// The weights and what they owe.
    pub update: U,
    /// b.
    pub bias: f64,
    /// How many rows were learnt.
    pub t: u64,
    learns_bias: bool,
    sampled: u64,
}

/// What stays the same from row to row.
#[derive(Clone, Copy)]
pub struct Rule<'a> {
    /// ℓ.
    pub loss: &'a dyn Loss,
    /// η.
    pub schedule: &'a dyn Schedule,
}

/// A sample of losses, each taken before its row was learnt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Their sum, each times the weight of its row.
    pub sum: f64,
    /// The weights of these rows.
    pub weight: f64,
}

impl Sample {
    /// Two samples as one.
    pub fn and(self, more: Sample) -> Sample {
        Sample { sum: self.sum + more.sum, weight: self.weight + more.weight }
    }

    /// The mean loss.
    pub fn mean(self) -> f64 {
        self.sum / self.weight
    }
}

/// A step that left the finite numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diverged {
    /// The row.
    pub row: usize,
    /// The step.
    pub t: u64,
    /// The score there.
    pub score: f64,
    /// The slope there.
    pub slope: f64,
}

impl<U: Update> Online<U> {
    /// Starts with no bias and t = 0; without `learns_bias` the bias stays 0.
    pub fn new(update: U, learns_bias: bool) -> Online<U> {
        Online { update, bias: 0.0, t: 0, learns_bias, sampled: SAMPLED }
    }

    /// Notes the loss of one row in so many.
    pub fn sampling_one_in(self, rows: u64) -> Online<U> {
        Online { sampled: rows.max(1), ..self }
    }

    /// Learns these rows in this order. Any split of an order into calls gives the same bits.
    pub fn learn(&mut self, rule: &Rule, examples: Examples, order: &[u32]) -> Result<Sample, Diverged> {
        match examples.rows.values() {
            ValuesRef::F32(values) => kernel::fastest(Pass { model: self, rule, examples, values, order }),
            ValuesRef::F64(values) => kernel::fastest(Pass { model: self, rule, examples, values, order }),
        }
    }
}

struct Pass<'a, U, V> {
    model: &'a mut Online<U>,
    rule: &'a Rule<'a>,
    examples: Examples<'a>,
    values: &'a [V],
    order: &'a [u32],
}

impl<U: Update, V: Value> kernel::Work for Pass<'_, U, V> {
    type Answer = Result<Sample, Diverged>;

    #[inline(always)]
    fn run(self) -> Result<Sample, Diverged> {
        let Pass { model, rule, examples, values, order } = self;
        let mut sample = Sample::default();
        for (k, &i) in order.iter().enumerate() {
            if let Some(&later) = order.get(k + 2 * AHEAD) {
                examples.rows.prefetch_span(later as usize, kernel::prefetch);
            }
            if let Some(&soon) = order.get(k + AHEAD) {
                let row = examples.rows.row(values, soon as usize);
                kernel::prefetch(row.ids);
                kernel::prefetch(row.values);
            }
            let i = i as usize;
            let row = examples.rows.row(values, i);
            let target = examples.targets[i];

            let score = model.update.score(row) + model.bias;
            let weight = examples.weight(i);
            let slope = weight * rule.loss.slope(score, target);
            if !(score.is_finite() && slope.is_finite()) {
                return Err(Diverged { row: i, t: model.t, score, slope });
            }
            if model.t.is_multiple_of(model.sampled) {
                sample = sample.and(Sample { sum: weight * rule.loss.value(score, target), weight });
            }
            let eta = rule.schedule.eta(model.t);
            if slope != 0.0 {
                model.update.pull(row, eta * slope);
                if model.learns_bias {
                    model.bias -= eta * slope;
                }
            }
            model.update.charge(eta);
            model.t += 1;
        }
        Ok(sample)
    }
}
