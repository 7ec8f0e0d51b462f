//! Evaluates the objective F from scratch, sharing no code with the solvers.
//!
//! ```text
//! F(w, b) = (Σᵢ ωᵢ ℓ(w·xᵢ + b + oᵢ, yᵢ))/n + λ₁‖w‖₁ + ½λ₂‖w‖²        ω: row weights with mean one, o: offsets
//! ```
//!
//! ```
//! use lazyglm::{Settings, objective, synth, train};
//! let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
//! let settings = Settings::default();
//! let trained = train(&task, None, &settings, &mut |_| {}).unwrap();
//! let f = |w: &[f64], b| objective::objective(task.examples(), &*task.loss, settings.penalty, w, b).total();
//! assert_eq!(f(&trained.weights, trained.bias), trained.report.objective);
//! assert!(f(&trained.weights, trained.bias) < f(&[0.0; 100], 0.0));
//! ```

mod balance;
mod evaluator;
mod gap;
mod gradients;
mod heads;
mod heads_gap;
mod heads_on_disk;
mod judge;
mod merged_rows;
mod near_kinks;
mod null_model;
mod softmax_gap;
mod softmax_on_disk;
mod streamed_gap;

pub(crate) use evaluator::Evaluator;
use evaluator::{judge_rows, larger};
pub use gap::{Certificate, Worst, certify};
pub(crate) use gap::{Dual, Known, ScoredRow, certify_known, certify_with};
pub use heads::{HeadsEvaluation, of_heads};
pub(crate) use heads::{NullHeads, side_by_side};
pub(crate) use heads_gap::{certify_each_head, certify_heads, judge_heads_while};
pub(crate) use heads_on_disk::IndependentHeads;
pub(crate) use judge::Judge;
pub(crate) use null_model::{NullFigures, NullModel, null_head, starting_bias};
pub use softmax_gap::{SoftmaxProblem, certify_softmax};
pub(crate) use softmax_on_disk::of_softmax_on;
pub(crate) use streamed_gap::{StreamedDual, StreamedGap};

use crate::data::rows::Examples;
use crate::problem::loss::Loss;
use crate::problem::penalty::ElasticNet;
use crate::problem::source::pooled_by_target;
use rayon::prelude::*;

/// Number of rows per chunk. Chunks are summed in a fixed order, so the bits do not depend on the number of
/// threads.
const CHUNK: usize = 4096;

/// The bias of a model without weights.
///
/// ```
/// use lazyglm::{Settings, objective::Bias};
/// assert_eq!(Bias::from(Settings::default().bias), Bias::Best);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// The bias with the smallest loss.
    Best,
    /// No bias.
    Zero,
}

impl From<bool> for Bias {
    fn from(with_bias: bool) -> Bias {
        if with_bias { Bias::Best } else { Bias::Zero }
    }
}

/// The objective F, split into loss and penalty.
///
/// ```
/// let f = lazyglm::objective::Objective { loss: 0.5, penalty: 0.25 };
/// assert_eq!(f.total(), 0.75);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The mean loss.
    pub loss: f64,
    /// The penalty λ₁‖w‖₁ + ½λ₂‖w‖².
    pub penalty: f64,
}

impl Objective {
    /// The objective F: loss plus penalty.
    pub fn total(&self) -> f64 {
        self.loss + self.penalty
    }
}

/// Computes F at these weights.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Rows, loss, objective};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], None).unwrap();
/// let penalty = ElasticNet::new(0.1, 0.0).unwrap();
/// let f = objective::objective(examples, &*loss::parse("squared").unwrap(), penalty, &[1.0], 0.0);
/// assert_eq!((f.loss, f.penalty, f.total()), (0.5, 0.1, 0.6));
/// ```
pub fn objective(
    examples: Examples,
    loss: &dyn Loss,
    penalty: ElasticNet,
    weights: &[f64],
    bias: f64,
) -> Objective {
    Objective { loss: mean_loss(examples, loss, weights, bias), penalty: penalty.value(weights) }
}

/// Computes the mean loss at these weights.
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
    let n = examples.len();
    let of_chunk = |c: usize| {
        let (rows, mut sum) = (c * CHUNK..((c + 1) * CHUNK).min(n), 0.0);
        let score = |i: usize| examples.score(i, weights, bias);
        judge_rows(examples, loss, rows, score, |_, of_loss, _| sum += of_loss);
        sum
    };
    let chunks: Vec<f64> = (0..n.div_ceil(CHUNK)).into_par_iter().map(of_chunk).collect();
    chunks.iter().sum::<f64>() / n as f64
}

/// Violation of the optimality (KKT) conditions at (w, b): the largest distance, over coordinates, from 0 to
/// the subdifferential of F. For a smooth loss, it is zero exactly at a minimum.
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
/// let (loss, penalty) = (loss::parse("squared").unwrap(), ElasticNet::new(2.0, 0.0).unwrap());
/// let at = |w: f64| objective::violation(examples, &*loss, penalty, &[w], None);
/// assert_eq!(at(1.0), 0.0, "½(2w − 3)² + 2|w| is least here");
/// assert_eq!(at(0.0), 4.0, "slope −6, of which the kink of |w| makes up for 2");
/// ```
pub fn violation(
    examples: Examples,
    loss: &dyn Loss,
    penalty: ElasticNet,
    weights: &[f64],
    bias: Option<f64>,
) -> f64 {
    evaluate(examples, loss, penalty, weights, bias).violation
}

/// λ₁_max, the smallest λ₁ at which all weights are zero and the bias, if any, is at its best.
///
/// For a loss with a kink there, the value is an upper bound: a slightly smaller λ₁ may also give zero
/// weights.
///
/// At w = 0 and the best b, the loss derivatives sum to zero, and λ₁_max = maxⱼ |∂ⱼL|. The derivatives
/// increase with b, so bisection finds b. Derivatives that jump inside the final bracket are mixed so that
/// the sum is zero.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Rows, loss, objective};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let examples = Examples::new(rows.borrow(), &[3.0], None).unwrap();
/// let loss = loss::parse("squared").unwrap();
/// assert_eq!(objective::l1_max(examples, &*loss, objective::Bias::Zero), 6.0);
/// let of_zero = |l1| objective::violation(examples, &*loss, ElasticNet { l1, l2: 0.0 }, &[0.0], None);
/// assert!(of_zero(6.0) == 0.0 && of_zero(5.9) > 0.0);
/// ```
pub fn l1_max(examples: Examples, loss: &dyn Loss, bias: Bias) -> f64 {
    NullModel::of(examples, loss, bias == Bias::Best).l1_max()
}

/// The objective of the null model: no weights, and the bias (if any) at its best. A model with a larger
/// objective is worse than the null model.
///
/// ```
/// use lazyglm::{Examples, Rows, loss, objective::{self, Bias}};
/// let mut rows = Rows::new();
/// [1.0, 2.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
/// let examples = Examples::new(rows.borrow(), &[1.0, 3.0], None).unwrap();
/// let loss = loss::parse("squared").unwrap();
/// assert!((objective::baseline(examples, &*loss, Bias::Best) - 0.5).abs() < 1e-12, "at the mean target, 2");
/// assert_eq!(objective::baseline(examples, &*loss, Bias::Zero), 2.5);
/// ```
pub fn baseline(examples: Examples, loss: &dyn Loss, bias: Bias) -> f64 {
    NullModel::new(&pooled_by_target(examples), loss, bias == Bias::Best).baseline
}

/// Evaluation of (w, b), computed in one pass over the rows.
///
/// ```
/// use lazyglm::{Settings, objective, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let evaluation = objective::evaluate(task.examples(), &*task.loss, Settings::default().penalty, &trained.weights, Some(trained.bias));
/// assert_eq!(evaluation.objective.total(), trained.report.objective);
/// assert_eq!(evaluation.l1_max, objective::l1_max(task.examples(), &*task.loss, objective::Bias::Best));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The objective F.
    pub objective: Objective,
    /// Violation of the optimality conditions: see [`violation`].
    pub violation: f64,
    /// λ₁_max: see [`l1_max`].
    pub l1_max: f64,
    /// Objective of the null model: see [`baseline`].
    pub baseline: f64,
}

/// Evaluates weights and an optional bias.
pub fn evaluate(
    examples: Examples,
    loss: &dyn Loss,
    penalty: ElasticNet,
    weights: &[f64],
    bias: Option<f64>,
) -> Evaluation {
    Judge { examples, loss, weighted_penalty: penalty.into(), weights, bias, null: None }.evaluate()
}

/// Σ of `one(i)` over 0..n.
fn sum(n: usize, one: impl Fn(usize) -> f64 + Sync) -> f64 {
    let chunks: Vec<f64> = (0..n.div_ceil(CHUNK))
        .into_par_iter()
        .map(|c| (c * CHUNK..((c + 1) * CHUNK).min(n)).map(&one).sum())
        .collect();
    chunks.into_iter().sum()
}

/// The largest number, or NaN if any is NaN, so that a diverged run is visible.
fn largest(numbers: impl ParallelIterator<Item = f64>) -> f64 {
    numbers.reduce(|| 0.0, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

/// The number of weights that are not zero.
pub(crate) fn nonzeros(weights: &[f64]) -> usize {
    weights.iter().filter(|w| **w != 0.0).count()
}
