//! The one judge: F, recomputed in full, sharing no code with the solvers.
//!
//! ```text
//! F(w, b) = (Σᵢ ωᵢ ℓ(w·xᵢ + b, yᵢ))/n + λ₁‖w‖₁ + ½λ₂‖w‖²        ω: row weights with mean one
//! ```
//!
//! ```
//! use lazyglm::{Settings, objective, synth, train};
//! let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
//! let settings = Settings::default();
//! let trained = train(&task, None, &settings, &mut |_| {}).unwrap();
//! let f = |w: &[f64], b| objective::objective(task.examples(), &*task.loss, settings.net, w, b).total();
//! assert_eq!(f(&trained.weights, trained.bias), trained.report.objective);
//! assert!(f(&trained.weights, trained.bias) < f(&[0.0; 100], 0.0));
//! ```

mod gap;
mod heads;

pub use gap::{Certificate, Worst, certify};
pub(crate) use gap::{Dual, Kept, balanced_slopes};
pub use heads::{Verdicts, of_heads};

use crate::loss::{Admits, Loss};
use crate::penalty::{ElasticNet, Prices};
use crate::rows::{Examples, Row, Value, ValuesRef};
use rayon::prelude::*;

/// Rows are summed in chunks of this many, and the chunks in order: the same bits for any number of threads.
const CHUNK: usize = 4096;

/// F and its two parts.
///
/// ```
/// let f = lazyglm::objective::Objective { loss: 0.5, penalty: 0.25 };
/// assert_eq!(f.total(), 0.75);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The mean loss.
    pub loss: f64,
    /// λ₁‖w‖₁ + ½λ₂‖w‖².
    pub penalty: f64,
}

impl Objective {
    /// F.
    pub fn total(&self) -> f64 {
        self.loss + self.penalty
    }
}

/// F at these weights.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Rows, loss, objective};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], None).unwrap();
/// let net = ElasticNet::new(0.1, 0.0).unwrap();
/// let f = objective::objective(examples, &*loss::parse("squared").unwrap(), net, &[1.0], 0.0);
/// assert_eq!((f.loss, f.penalty, f.total()), (0.5, 0.1, 0.6));
/// ```
pub fn objective(
    examples: Examples,
    loss: &dyn Loss,
    net: ElasticNet,
    weights: &[f64],
    bias: f64,
) -> Objective {
    Objective { loss: mean_loss(examples, loss, weights, bias), penalty: net.value(weights) }
}

/// The mean loss at these weights.
///
/// ```
/// use lazyglm::{Examples, Rows, loss, objective};
/// let mut rows = Rows::new();
/// [1.0, 2.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
/// let examples = Examples::new(rows.borrow(), &[1.0, 4.0], Some(&[1.5, 0.5])).unwrap();
/// let loss = objective::mean_loss(examples, &*loss::parse("squared").unwrap(), &[1.0], 0.0);
/// assert_eq!(loss, (1.5 * 0.0 + 0.5 * 2.0) / 2.0);
/// ```
pub fn mean_loss(examples: Examples, loss: &dyn Loss, weights: &[f64], bias: f64) -> f64 {
    let one = |i: usize| {
        let score = examples.rows.dot(i, weights) + bias;
        examples.weight(i) * loss.value(score, examples.targets[i])
    };
    sum(examples.len(), one) / examples.len() as f64
}

/// How far (w, b) is from fulfilling the conditions of a minimum: the largest, over coordinates, of the distance
/// from 0 to the subdifferential of F. Zero at a minimum of a smooth loss and nowhere else.
///
/// ```text
/// wⱼ ≠ 0:  |∂ⱼL + λ₂wⱼ + λ₁·sgn(wⱼ)|      wⱼ = 0:  max(0, |∂ⱼL| − λ₁)      bias:  |∂L/∂b|
/// ```
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Rows, loss, objective};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], None).unwrap();
/// let (loss, net) = (loss::parse("squared").unwrap(), ElasticNet::new(2.0, 0.0).unwrap());
/// let at = |w: f64| objective::violation(examples, &*loss, net, &[w], None);
/// assert_eq!(at(1.0), 0.0, "½(2w − 3)² + 2|w| is least here");
/// assert_eq!(at(0.0), 4.0, "slope −6, of which the kink of |w| makes up for 2");
/// ```
pub fn violation(
    examples: Examples,
    loss: &dyn Loss,
    net: ElasticNet,
    weights: &[f64],
    bias: Option<f64>,
) -> f64 {
    verdict(examples, loss, net, weights, bias).violation
}

/// λ₁_max: the smallest λ₁ at which all weights are zero (the bias, if there is one, at its best). For a loss with
/// a kink there it is an upper bound: at this λ₁ all weights are zero, at a slightly smaller one they may be still.
///
/// At w = 0 the best b makes the slopes sum to zero; then λ₁_max = maxⱼ |∂ⱼL|. Slopes rise with b, so b is found by
/// bisection down to a bracket of almost no width, and slopes that jump inside it are mixed so that the sum is zero.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Rows, loss, objective};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], None).unwrap();
/// let loss = loss::parse("squared").unwrap();
/// assert_eq!(objective::l1_max(examples, &*loss, false), 6.0);
/// let of_zero = |l1| objective::violation(examples, &*loss, ElasticNet { l1, l2: 0.0 }, &[0.0], None);
/// assert!(of_zero(6.0) == 0.0 && of_zero(5.9) > 0.0);
/// ```
pub fn l1_max(examples: Examples, loss: &dyn Loss, with_bias: bool) -> f64 {
    nothing(examples, loss, with_bias).l1_max
}

/// What F is without any weights, the bias (if there is one) at its best: a model that does not beat this is worse
/// than none.
///
/// ```
/// use lazyglm::{Examples, Rows, loss, objective};
/// let mut rows = Rows::new();
/// [1.0, 2.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
/// let examples = Examples::new(rows.borrow(), &[1.0, 3.0], None).unwrap();
/// let loss = loss::parse("squared").unwrap();
/// assert!((objective::baseline(examples, &*loss, true) - 0.5).abs() < 1e-12, "at the mean target, 2");
/// assert_eq!(objective::baseline(examples, &*loss, false), 2.5);
/// ```
pub fn baseline(examples: Examples, loss: &dyn Loss, with_bias: bool) -> f64 {
    Null::new(&pooled_by_target(examples), loss, with_bias).baseline
}

/// Everything there is to say of (w, b), in one pass over the rows.
///
/// ```
/// use lazyglm::{Settings, objective, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let verdict = objective::verdict(task.examples(), &*task.loss, Settings::default().net, &trained.weights, Some(trained.bias));
/// assert_eq!(verdict.objective.total(), trained.report.objective);
/// assert_eq!(verdict.l1_max, objective::l1_max(task.examples(), &*task.loss, true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// F.
    pub objective: Objective,
    /// See [`violation`].
    pub violation: f64,
    /// See [`l1_max`].
    pub l1_max: f64,
    /// See [`baseline`].
    pub baseline: f64,
}

/// The verdict on weights and, if there is one, a bias.
pub fn verdict(
    examples: Examples,
    loss: &dyn Loss,
    net: ElasticNet,
    weights: &[f64],
    bias: Option<f64>,
) -> Verdict {
    let nothing = nothing(examples, loss, bias.is_some());
    let mut judge = Judge::new(loss, weights, bias, examples.rows.nonzeros());
    judge.hear(examples);
    judge.verdict(net, Some(nothing))
}

/// What can be said without any weights, and so before they are learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nothing {
    pub baseline: f64,
    pub l1_max: f64,
}

/// On one thread: it runs beside the learning.
pub(crate) fn nothing(examples: Examples, loss: &dyn Loss, with_bias: bool) -> Nothing {
    let NullPoint { baseline, gradient, .. } = null(examples, loss, with_bias);
    Nothing { baseline, l1_max: largest(gradient.par_iter().map(|g| g.abs())) }
}

/// The best there is without weights.
pub(crate) struct NullPoint {
    pub bias: f64,
    pub baseline: f64,
    pub gradient: Vec<f64>,
}

/// What the rows say before anything is learnt.
pub(crate) fn null(examples: Examples, loss: &dyn Loss, with_bias: bool) -> NullPoint {
    let null = Null::new(&pooled_by_target(examples), loss, with_bias);
    let mut gradient = vec![0.0; examples.rows.columns()];
    for i in 0..examples.len() {
        let slope = examples.weight(i) * null.slope(loss, examples.targets[i]);
        if slope != 0.0 {
            examples.rows.for_each(i, |j, x| gradient[j] += slope * x);
        }
    }
    let n = examples.len() as f64;
    gradient.iter_mut().for_each(|g| *g /= n);
    NullPoint { bias: null.bias(), baseline: null.baseline, gradient }
}

/// Hears rows block by block and gives its verdict at the end.
pub(crate) struct Judge<'a> {
    loss: &'a dyn Loss,
    weights: &'a [f64],
    bias: Option<f64>,
    null: Option<Null>, // if it is to be judged as well
    parts: Vec<Part>,   // gradients, in parts that are summed in order
    losses: f64,
    slopes: f64,
    rows: usize,
}

/// Gradients over some of the rows: at (w, b), and without weights if that is to be judged.
struct Part {
    here: Vec<[f64; 2]>, // a weight and its gradient side by side: scoring a row has fetched what its slope is added to
    null: Vec<f64>,
}

/// The model without weights, its bias at its best: slopes there are a mixture of those at `low` and `high`.
#[derive(Clone, Copy)]
pub(crate) struct Null {
    low: f64,
    high: f64,
    share: f64,
    baseline: f64,
}

impl Null {
    pub fn new(pooled: &[(f64, f64)], loss: &dyn Loss, with_bias: bool) -> Null {
        let total = |b: f64| sum(pooled.len(), |k| pooled[k].1 * loss.slope(b, pooled[k].0));
        let (low, high) = if with_bias { bracket(total) } else { (0.0, 0.0) };
        let (below, above) = (total(low), total(high));
        let share = if with_bias && above > below { (-below / (above - below)).clamp(0.0, 1.0) } else { 0.0 };
        let rows = sum(pooled.len(), |k| pooled[k].1);
        let baseline = sum(pooled.len(), |k| pooled[k].1 * loss.value(high, pooled[k].0)) / rows;
        Null { low, high, share, baseline }
    }

    /// b at its best.
    pub fn bias(&self) -> f64 {
        0.5 * self.low + 0.5 * self.high
    }

    pub fn slope(&self, loss: &dyn Loss, target: f64) -> f64 {
        match self.share {
            0.0 => loss.slope(self.low, target),
            share => (1.0 - share) * loss.slope(self.low, target) + share * loss.slope(self.high, target),
        }
    }
}

/// b at its best without any weights, for two classes of these weights: +1 and −1.
pub(crate) fn best_bias(positive: f64, negative: f64, loss: &dyn Loss) -> f64 {
    let mut pooled = vec![(-1.0, negative), (1.0, positive)];
    pooled.retain(|(_, weight)| *weight > 0.0);
    Null::new(&pooled, loss, true).bias()
}

/// How many gradients are summed side by side: more for more non-zeros a column, at most this many.
const PARTS: usize = 8;

impl<'a> Judge<'a> {
    /// `nonzeros` are those of all rows to come.
    pub fn new(loss: &'a dyn Loss, weights: &'a [f64], bias: Option<f64>, nonzeros: usize) -> Judge<'a> {
        let parts = (nonzeros / (8 * weights.len().max(1))).clamp(1, PARTS);
        let part = |_| Part { here: weights.iter().map(|&w| [w, 0.0]).collect(), null: Vec::new() };
        let (losses, slopes, rows) = (0.0, 0.0, 0);
        Judge { loss, weights, bias, null: None, parts: (0..parts).map(part).collect(), losses, slopes, rows }
    }

    /// Judges the model without weights in the same pass.
    pub fn with_null(mut self, null: Null) -> Judge<'a> {
        self.parts.iter_mut().for_each(|part| part.null = vec![0.0; part.here.len()]);
        Judge { null: Some(null), ..self }
    }

    /// Hears some rows. The sums do not depend on the number of threads.
    pub fn hear(&mut self, examples: Examples) {
        let Judge { loss, bias, null, .. } = *self;
        let chunks = examples.len().div_ceil(CHUNK);
        let of_part = chunks.div_ceil(self.parts.len());
        let sums = self.parts.par_iter_mut().enumerate().map(|(part, gradients)| {
            let one = |chunk: usize| {
                let (mut losses, mut slopes) = (0.0, 0.0);
                for i in chunk * CHUNK..((chunk + 1) * CHUNK).min(examples.len()) {
                    let (target, weight) = (examples.targets[i], examples.weight(i));
                    let score = dot(examples, i, &gradients.here) + bias.unwrap_or(0.0);
                    losses += weight * loss.value(score, target);
                    let here = weight * loss.slope(score, target);
                    slopes += here;
                    examples.rows.for_each(i, |j, x| gradients.here[j][1] += here * x);
                    if let Some(null) = null {
                        let slope = weight * null.slope(loss, target);
                        examples.rows.for_each(i, |j, x| gradients.null[j] += slope * x);
                    }
                }
                (losses, slopes)
            };
            (part * of_part..((part + 1) * of_part).min(chunks)).map(one).collect::<Vec<_>>()
        });
        for (losses, slopes) in sums.collect::<Vec<_>>().into_iter().flatten() {
            self.losses += losses;
            self.slopes += slopes;
        }
        self.rows += examples.len();
    }

    /// Adds the gradients of rows whose slopes are given, in place of those at (w, b).
    pub(crate) fn add(&mut self, examples: Examples, slope: impl Fn(usize) -> f64 + Sync) {
        let of_part = examples.len().div_ceil(CHUNK).div_ceil(self.parts.len()) * CHUNK;
        self.parts.par_iter_mut().enumerate().for_each(|(part, gradients)| {
            for i in (part * of_part).min(examples.len())..((part + 1) * of_part).min(examples.len()) {
                let slope = slope(i);
                examples.rows.for_each(i, |j, x| gradients.here[j][1] += slope * x);
            }
        });
        self.rows += examples.len();
    }

    /// The mean gradient of all rows, column by column.
    pub(crate) fn total_gradient(&self) -> Vec<f64> {
        let n = self.rows as f64;
        let total = |j: usize| self.parts.iter().map(|part| part.here[j][1]).sum::<f64>() / n;
        (0..self.weights.len()).into_par_iter().map(total).collect()
    }

    /// What it all comes to; what is said without weights comes from elsewhere if it was not judged here.
    pub fn verdict<'p>(self, prices: impl Into<Prices<'p>>, nothing: Option<Nothing>) -> Verdict {
        self.verdict_and_worst(prices.into(), nothing).0
    }

    /// The same, with the place of the violation.
    pub fn verdict_and_worst(self, prices: Prices, nothing: Option<Nothing>) -> (Verdict, Worst) {
        let n = self.rows as f64;
        let total = |j: usize, of: fn(&Part, usize) -> f64| {
            self.parts.iter().map(|part| of(part, j)).sum::<f64>() / n
        };
        let columns = 0..self.weights.len();
        let of_weights = columns.clone().into_par_iter().map(|j| {
            (prices.violation(j, self.weights[j], total(j, |part, j| part.here[j][1])), Worst::Column(j))
        });
        let of_bias = self.bias.map_or(0.0, |_| (self.slopes / n).abs());
        let (violation, worst) =
            larger(of_weights.reduce(|| (0.0, Worst::Nowhere), larger), (of_bias, Worst::Bias));
        let nothing = nothing.or_else(|| {
            let baseline = self.null?.baseline;
            let l1_max = largest(columns.into_par_iter().map(|j| total(j, |part, j| part.null[j]).abs()));
            Some(Nothing { baseline, l1_max })
        });
        let verdict = Verdict {
            objective: Objective { loss: self.losses / n, penalty: prices.value(self.weights) },
            violation,
            l1_max: nothing.map_or(f64::NAN, |nothing| nothing.l1_max),
            baseline: nothing.map_or(f64::NAN, |nothing| nothing.baseline),
        };
        (verdict, worst)
    }
}

/// Σ xⱼwⱼ of a row.
fn dot(examples: Examples, i: usize, weights: &[[f64; 2]]) -> f64 {
    match examples.rows.values() {
        ValuesRef::F32(values) => in_four_sums(examples.rows.row(values, i), weights),
        ValuesRef::F64(values) => in_four_sums(examples.rows.row(values, i), weights),
    }
}

/// Four sums, added at the end: one alone would make each term wait for the last.
fn in_four_sums<V: Value>(row: Row<V>, weights: &[[f64; 2]]) -> f64 {
    let term = |id: u32, x: V| x.wide() * weights[id as usize][0];
    let ((ids, last_ids), (values, last)) = (row.ids.as_chunks::<4>(), row.values.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (ids, values) in ids.iter().zip(values) {
        for k in 0..4 {
            sums[k] += term(ids[k], values[k]);
        }
    }
    let rest: f64 = last_ids.iter().zip(last).map(|(&id, &x)| term(id, x)).sum();
    ((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest
}

/// The larger violation, the first of equal ones; one that is NaN, so that a diverged run shows.
pub(crate) fn larger(a: (f64, Worst), b: (f64, Worst)) -> (f64, Worst) {
    if a.0.is_nan() || b.0 <= a.0 { a } else { b }
}

/// The largest; NaN if any is, so that a diverged run shows.
fn largest(numbers: impl ParallelIterator<Item = f64>) -> f64 {
    numbers.reduce(|| 0.0, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

/// (target, total weight of its rows): with w = 0, rows of one target are all alike.
pub(crate) fn pooled_by_target(examples: Examples) -> Vec<(f64, f64)> {
    let mut pooled: Vec<(f64, f64)> =
        (0..examples.len()).map(|i| (examples.targets[i], examples.weight(i))).collect();
    pool(&mut pooled);
    pooled
}

/// Where learning a bias begins: for numbers, at the best there is without weights, which for a squared loss is their mean;
/// for classes at 0, from where it has not far to go. Takes (target, weight) pairs.
pub(crate) fn starting_bias(loss: &dyn Loss, mut pairs: Vec<(f64, f64)>) -> f64 {
    if loss.admits() == Admits::Classes || pairs.is_empty() {
        return 0.0;
    }
    pool(&mut pairs);
    let largest = pairs.iter().fold(1.0, |most: f64, pair| most.max(pair.0.abs()));
    let bias = Null::new(&pairs, loss, true).bias();
    if bias.abs() <= 1e3 * largest { bias } else { 0.0 } // counts that are all zero have no best: −∞
}

/// Sorts (target, weight) pairs and sums the weights of one target.
pub(crate) fn pool(pairs: &mut Vec<(f64, f64)>) {
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
}

/// Two numbers next to each other between which a rising function passes zero; where it never does (a separable
/// problem without both classes, say), the end of the search.
fn bracket(rising: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut low, mut high) = (-1.0, 1.0);
    while rising(low) > 0.0 && low > -1e300 {
        low *= 2.0;
    }
    while rising(high) < 0.0 && high < 1e300 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if rising(middle) < 0.0 { low = middle } else { high = middle }
    }
    (low, high)
}

fn sum(n: usize, one: impl Fn(usize) -> f64 + Sync) -> f64 {
    let chunks: Vec<f64> = (0..n.div_ceil(CHUNK))
        .into_par_iter()
        .map(|c| (c * CHUNK..((c + 1) * CHUNK).min(n)).map(&one).sum())
        .collect();
    chunks.into_iter().sum()
}
