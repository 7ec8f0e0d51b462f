//! The loop over rows, for whatever learns one at a time: memory asked for ahead, a sample of losses, an end at the first
//! step that leaves the finite numbers.

use crate::data::rows::{Examples, Row, RowsRef, Value, ValuesRef};
use crate::problem::loss::Loss;
use crate::simd;

/// A sample of losses, each taken before its row was learnt.
///
/// ```
/// use lazyglm::optim::sgd::Sample;
/// let heavy = Sample { sum: 3.0 * 0.5, weight: 3.0 }; // a row of weight 3 and loss ½
/// let light = Sample { sum: 1.0 * 0.1, weight: 1.0 };
/// assert_eq!(heavy.and(light).mean(), 1.6 / 4.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Their sum, each times the weight of its row.
    pub sum: f64,
    /// The weights of these rows.
    pub weight: f64,
}

impl Sample {
    /// Two samples as one.
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

/// A step that left the finite numbers.
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

/// How many rows ahead memory is asked for.
const AHEAD: usize = 4;

/// Asks for the memory of rows to come after the k-th: first of where a row lies, then of the row.
#[inline(always)]
pub(super) fn ask_ahead<V: Value>(rows: RowsRef, values: &[V], order: &[u32], k: usize) {
    if let Some(&later) = order.get(k + 2 * AHEAD) {
        rows.prefetch_span(later as usize, simd::prefetch);
    }
    if let Some(&soon) = order.get(k + AHEAD) {
        let row = rows.row(values, soon as usize);
        simd::prefetch(row.ids);
        simd::prefetch(row.values);
    }
}

/// A model that learns one row at a time, for [`learn`] to loop over.
pub(super) trait Steps {
    /// Learns a row; its score and slope before.
    fn row<V: Value>(&mut self, loss: &dyn Loss, row: Row<V>, target: f64, weight: f64) -> (f64, f64);

    /// Asks for the memory of a row's weights, where that gains anything; the row is not even found where it does not.
    #[inline(always)]
    fn prefetch<'a, V: Value + 'a>(&self, _row: impl FnOnce() -> Row<'a, V>) {}

    /// The step counter; and one row in how many has its loss noted.
    fn clock(&mut self) -> (&mut u64, u64);

    /// Whether the row just learnt counts as a step.
    #[inline(always)]
    fn counts(&self) -> bool {
        true
    }
}

/// Learns rows in order.
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
        for (k, &i) in order.iter().enumerate() {
            ask_ahead(examples.rows, values, order, k);
            if let Some(&next) = order.get(k + 1) {
                model.prefetch(|| examples.rows.row(values, next as usize));
            }
            let i = i as usize;
            let (target, weight) = (examples.targets[i], examples.weight(i));
            let row = examples.rows.in_range(examples.rows.row(values, i));
            let (score, slope) = model.row(loss, row, target, weight);
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
