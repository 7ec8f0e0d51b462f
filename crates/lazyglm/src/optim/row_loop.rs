//! The loop over rows of all stochastic algorithms, which prefetches memory: [`walk`]. Models that are trained alone
//! share its body as well, [`learn`]: it samples losses and ends at the first step that diverges (NaN or infinity).

use crate::data::rows::{Examples, Row, RowsRef, Value, ValuesRef};
use crate::problem::loss::Loss;
use crate::simd;
use crate::util::state::{Fields, State};

/// A sample of losses, each taken before the step on its row.
///
/// ```
/// use lazyglm::optim::sgd::Sample;
/// let heavy = Sample { sum: 3.0 * 0.5, weight: 3.0 }; // a row of weight 3 and loss ½
/// let light = Sample { sum: 1.0 * 0.1, weight: 1.0 };
/// assert_eq!(heavy.and(light).mean(), 1.6 / 4.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// The sum of the losses, each times the weight of its row.
    pub sum: f64,
    /// The sum of the weights of these rows.
    pub weight: f64,
}

impl Sample {
    /// Merges two samples.
    ///
    /// ```
    /// use lazyglm::optim::sgd::Sample;
    /// let parts = [Sample { sum: 1.0, weight: 2.0 }, Sample { sum: 3.0, weight: 2.0 }];
    /// assert_eq!(parts.into_iter().fold(Sample::default(), Sample::and).mean(), 1.0);
    /// ```
    pub fn and(self, more: Sample) -> Sample {
        Sample { sum: self.sum + more.sum, weight: self.weight + more.weight }
    }

    /// The mean loss.
    ///
    /// ```
    /// use lazyglm::optim::sgd::Sample;
    /// assert_eq!(Sample { sum: 1.0, weight: 4.0 }.mean(), 0.25);
    /// assert!(Sample::default().mean().is_nan(), "no rows, no mean");
    /// ```
    pub fn mean(self) -> f64 {
        self.sum / self.weight
    }
}

/// A step that diverged (NaN or infinity).
///
/// ```
/// # use lazyglm::{ElasticNet, Examples, Method, Rows, loss, optim::reference::Dense};
/// # use lazyglm::{schedule, optim::sgd::*, optim::update::Update};
/// # let setting = schedule::Setting { eta0: 1.0, l2: 0.0, rows: None, epochs: 1 };
/// # let schedule = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
/// # let rule = Rule { loss: &*loss::parse("squared").unwrap(), schedule: &*schedule };
/// # let update = Dense::<true>::new(vec![0.0], ElasticNet::new(0.0, 0.0).unwrap(), Method::Fobos);
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1e200)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[1.0], None).unwrap();
/// let mut model = Online::new(update, false);
/// let diverged = model.learn(&rule, examples, &[0, 0]).unwrap_err();
/// assert_eq!((diverged.row, diverged.t, diverged.score), (0, 1, f64::INFINITY));
/// assert_eq!((model.t, model.update.weights()), (1, vec![1e200]), "as they were before that step");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Diverged {
    /// The number of the row.
    pub row: usize,
    /// The number of the step.
    pub t: u64,
    /// The score at this step.
    pub score: f64,
    /// The derivative of the loss at this step.
    pub slope: f64,
}

/// The prefetch distance, in rows.
const AHEAD: usize = 4;

/// The way through the rows, for one model, lanes and classes alike: prefetches the rows ahead, first their offsets, then
/// their values. (An iterator, because a closure that is not
/// inlined has no access to the instruction set of its caller.)
pub(super) struct Walk<'a, V> {
    rows: RowsRef<'a>,
    values: &'a [V],
    order: &'a [u32],
    k: usize,
}

/// A row on the way, and rows to prefetch for, all by number.
pub(super) struct At {
    pub i: usize,
    /// The row after this one, whose weights a model may prefetch.
    pub next: Option<usize>,
    /// A row further ahead, whose target and weight the caller may prefetch.
    pub soon: Option<usize>,
}

/// Walks through the rows in this order.
#[inline(always)]
pub(super) fn walk<'a, V: Value>(rows: RowsRef<'a>, values: &'a [V], order: &'a [u32]) -> Walk<'a, V> {
    Walk { rows, values, order, k: 0 }
}

impl<V: Value> Iterator for Walk<'_, V> {
    type Item = At;

    #[inline(always)]
    fn next(&mut self) -> Option<At> {
        let from = |k: usize| self.order.get(k).map(|&row| row as usize);
        let (i, soon) = (from(self.k)?, from(self.k + AHEAD));
        if let Some(later) = from(self.k + 2 * AHEAD) {
            self.rows.prefetch_span(later, simd::prefetch);
        }
        if let Some(soon) = soon {
            let row = self.rows.row(self.values, soon);
            simd::prefetch(row.ids);
            simd::prefetch(row.values);
        }
        let next = from(self.k + 1);
        self.k += 1;
        Some(At { i, next, soon })
    }
}

/// The numbers of a row besides its features.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub target: f64,
    pub weight: f64,
    pub offset: f64, // added to the score
}

/// A model that is trained one row at a time by [`learn`].
pub(super) trait Steps {
    /// Makes a step on a row, and returns the score and the derivative before the step.
    fn row<V: Value>(&mut self, loss: &dyn Loss, row: Row<V>, known: Known) -> (f64, f64);

    /// Prefetches the weights of a row, for models that gain from it.
    #[inline(always)]
    fn prefetch<'a, V: Value + 'a>(&self, _row: impl FnOnce() -> Row<'a, V>) {}

    /// The step counter, and the sampling interval of losses.
    fn clock(&mut self) -> (&mut u64, u64);

    /// Whether the row just learnt counts as a step.
    #[inline(always)]
    fn counts(&self) -> bool {
        true
    }
}

/// Trains on rows in this order, and returns a sample of their losses.
pub(super) fn learn<S: Steps>(
    model: &mut S,
    loss: &dyn Loss,
    examples: Examples,
    order: &[u32],
) -> Result<Sample, Diverged> {
    match examples.rows.values() {
        ValuesRef::F32(values) => simd::fastest(Rows { model, loss, examples, values, order }),
        ValuesRef::F64(values) => simd::fastest(Rows { model, loss, examples, values, order }),
    }
}

struct Rows<'a, S, V> {
    model: &'a mut S,
    loss: &'a dyn Loss,
    examples: Examples<'a>,
    values: &'a [V],
    order: &'a [u32],
}

impl<S: Steps, V: Value> simd::Work for Rows<'_, S, V> {
    type Answer = Result<Sample, Diverged>;

    #[inline(always)]
    fn run(self) -> Result<Sample, Diverged> {
        let Rows { model, loss, examples, values, order } = self;
        let mut sample = Sample::default();
        for At { i, next, soon } in walk(examples.rows, values, order) {
            if let Some(soon) = soon {
                examples.prefetch(soon);
            }
            if let Some(next) = next {
                model.prefetch(|| examples.rows.row(values, next));
            }
            let (target, weight, offset) = (examples.targets[i], examples.weight(i), examples.offset(i));
            let row = examples.rows.in_range(examples.rows.row(values, i));
            let (score, slope) = model.row(loss, row, Known { target, weight, offset });
            let counts = u64::from(model.counts());
            let (t, sampled) = model.clock();
            if !(score.is_finite() && slope.is_finite()) {
                return Err(Diverged { row: i, t: *t, score, slope });
            }
            if t.is_multiple_of(sampled) {
                sample = sample.and(Sample { sum: weight * loss.value(score, target), weight });
            }
            *t += counts;
        }
        Ok(sample)
    }
}

impl State for Sample {
    fn fields(&mut self, fields: &mut Fields) {
        self.sum.fields(fields);
        self.weight.fields(fields);
    }
}

impl State for Diverged {
    fn fields(&mut self, fields: &mut Fields) {
        self.row.fields(fields);
        self.t.fields(fields);
        self.score.fields(fields);
        self.slope.fields(fields);
    }
}
