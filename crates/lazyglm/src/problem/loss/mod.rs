//! Loss functions ℓ(s, y) of a score s and a target y, one module per loss.
//!
//! To add a loss, write its module and add its `mod` line and its entry in [`TABLE`]. The program's `--loss`,
//! its help, lists in errors and the tests follow from the table.
//!
//! ```
//! use lazyglm::loss;
//! for entry in loss::TABLE {
//!     let loss = loss::parse(entry.name).unwrap();
//!     assert!(loss.value(0.5, 1.0) <= 0.5 * (loss.value(0.0, 1.0) + loss.value(1.0, 1.0)), "convex");
//! }
//! ```

mod clipped;
mod epsilon_insensitive;
mod gamma;
mod hinge;
mod huber;
mod logistic;
mod modified_huber;
mod perceptron;
mod poisson;
mod quantile;
mod squared;
mod squared_epsilon_insensitive;
mod squared_hinge;
mod tweedie;

pub use clipped::clipped;

use crate::util::error::{Error, Result};
use crate::util::registry::{self, Entry};
use std::sync::Arc;

/// The targets that a loss accepts.
///
/// ```
/// use lazyglm::loss::{self, Admits};
/// let admits = |name: &str| loss::parse(name).unwrap().admits();
/// assert_eq!(admits("hinge"), Admits::Classes);
/// assert_eq!(admits("huber"), Admits::Reals);
/// assert_eq!(admits("poisson"), Admits::NonNegative);
/// assert_eq!(admits("gamma"), Admits::Positive);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admits {
    /// Two classes, as y = −1 and y = +1.
    Classes,
    /// Any real number.
    Reals,
    /// Non-negative numbers.
    NonNegative,
    /// Positive numbers.
    Positive,
}

/// The scores whose predictions are the ends of a range of targets; infinite where no score reaches an end.
pub(crate) fn score_limits(loss: &dyn Loss, range: [f64; 2]) -> [f64; 2] {
    match loss.admits() {
        Admits::NonNegative | Admits::Positive => range.map(f64::ln), // predictions are exponentials
        Admits::Reals | Admits::Classes => range,
    }
}

/// A loss function that is convex in the score s, for every accepted target y.
///
/// ```
/// let loss = lazyglm::loss::parse("huber:delta=1").unwrap();
/// assert_eq!(loss.value(3.0, 0.0), 2.5);
/// assert_eq!(loss.slope(3.0, 0.0), 1.0);
/// ```
pub trait Loss: Send + Sync + std::fmt::Debug {
    /// The specification of the loss: `name` or `name:key=value`. [`parse`] of it gives the same loss.
    fn spec(&self) -> String;

    /// The loss ℓ(s, y).
    fn value(&self, score: f64, target: f64) -> f64;

    /// The derivative ∂ℓ/∂s, or a subgradient at a kink.
    fn slope(&self, score: f64, target: f64) -> f64;

    /// The smallest c with ∂²ℓ/∂s² ≤ c everywhere, if there is one.
    fn curvature(&self) -> Option<f64> {
        None
    }

    /// The smallest g with |∂ℓ/∂s| ≤ g everywhere, or infinity.
    ///
    /// With an unbounded derivative, a learning rate that is too large makes the weights diverge. With a
    /// bounded one, they only oscillate.
    fn gradient_bound(&self) -> f64 {
        f64::INFINITY
    }

    /// The second derivative ∂²ℓ/∂s², one-sided where it jumps. `None` for a loss whose first derivative
    /// jumps.
    fn second_derivative(&self, _score: f64, _target: f64) -> Option<f64> {
        None
    }

    /// Whether the second derivative is the same everywhere, so that a quadratic model of the loss is the loss.
    fn is_quadratic(&self) -> bool {
        false
    }

    /// Whether the first derivative jumps.
    fn has_kinks(&self) -> bool {
        self.second_derivative(0.0, 1.0).is_none()
    }

    /// The smallest known c for which the parabola ℓ(s) + ℓ′(s)(v − s) + ½c(v − s)² majorises ℓ(v) for all v.
    /// `None` if there is none.
    fn majoriser(&self, _score: f64, _target: f64) -> Option<f64> {
        self.curvature()
    }

    /// Value, first derivative and second derivative (0 if undefined) in one call.
    fn taylor(&self, score: f64, target: f64) -> [f64; 3] {
        let second_derivative = self.second_derivative(score, target).unwrap_or(0.0);
        [self.value(score, target), self.slope(score, target), second_derivative]
    }

    /// Writes value, first derivative and second derivative of many rows, as [`Loss::taylor`] gives them for one, apart
    /// from rounding. All slices have the same length.
    fn taylor_of_rows(&self, scores: &[f64], targets: &[f64], out: Derivatives) {
        let Derivatives { values, slopes, second_derivatives } = out;
        let rows = scores.iter().zip(targets).zip(values).zip(slopes).zip(second_derivatives);
        for ((((&score, &target), value), slope), second_derivative) in rows {
            [*value, *slope, *second_derivative] = self.taylor(score, target);
        }
    }

    /// The decrease s(0) − s(h) of the score under gradient flow ds/dτ = −ℓ′(s) for the time h, starting at
    /// s(0) = `score`.
    ///
    /// Unlike a gradient step of length h, the flow never overshoots the minimum. `None` if it has no closed
    /// form.
    ///
    /// ```
    /// let loss = lazyglm::loss::parse("squared").unwrap();
    /// assert!((loss.slide(3.0, 1.0, 100.0).unwrap() - 2.0).abs() < 1e-12, "from 3 to the target, not to −197");
    /// ```
    fn slide(&self, _score: f64, _target: f64, _time: f64) -> Option<f64> {
        None
    }

    /// The convex conjugate ℓ*(u, y) = sup over s of us − ℓ(s, y), or +∞ outside its domain.
    fn conjugate(&self, slope: f64, target: f64) -> f64;

    /// Writes the conjugates of many rows, as [`Loss::conjugate`] gives them for one, apart from rounding. All slices have
    /// the same length.
    fn conjugate_of_rows(&self, slopes: &[f64], targets: &[f64], conjugates: &mut [f64]) {
        for ((&slope, &target), conjugate) in slopes.iter().zip(targets).zip(conjugates) {
            *conjugate = self.conjugate(slope, target);
        }
    }

    /// The loss as a maximum over dual variables, if it is piecewise linear. `None` for other losses.
    fn linear_pieces(&self, _target: f64) -> Option<LinearPieces> {
        None
    }

    /// The scores at which the derivative jumps.
    fn kinks(&self, _target: f64) -> Vec<f64> {
        Vec::new()
    }

    /// The inverse link function, which maps a score to a prediction.
    fn inverse_link(&self, score: f64) -> f64 {
        score
    }

    /// Whether [`Loss::inverse_link`] is the probability of the positive class.
    fn gives_probability(&self) -> bool {
        false
    }

    /// The power p of the variance μ^p of a target whose prediction is μ = e^s, for a loss of a distribution with log
    /// link: 1 for poisson, 2 for gamma. `None` for other losses. The slope of such a loss is (μ − y)·μ^(1 − p).
    fn variance_power(&self) -> Option<f64> {
        None
    }

    /// The targets that the loss accepts.
    fn admits(&self) -> Admits;
}

/// Where [`Loss::taylor_of_rows`] writes its results, one number per row.
pub struct Derivatives<'a> {
    /// The loss ℓ.
    pub values: &'a mut [f64],
    /// The first derivative ℓ′.
    pub slopes: &'a mut [f64],
    /// The second derivative ℓ″.
    pub second_derivatives: &'a mut [f64],
}

/// A piecewise-linear loss of one target, as a maximum over a dual variable a:
///
/// ```text
/// ℓ(s) = max over a in [low, high] of a(centre − s) − ε|a|
/// ```
///
/// ```
/// use lazyglm::loss;
/// let pieces = loss::parse("hinge").unwrap().linear_pieces(-1.0).unwrap();
/// assert_eq!((pieces.centre, pieces.epsilon, pieces.low, pieces.high), (-1.0, 0.0, -1.0, 0.0));
/// assert!(loss::parse("logistic").unwrap().linear_pieces(1.0).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearPieces {
    /// The score at the kink, or midway between two kinks.
    pub centre: f64,
    /// Half the distance between two kinks, or 0 for a single kink.
    pub epsilon: f64,
    /// The smallest dual variable, at most 0.
    pub low: f64,
    /// The largest dual variable, at least 0.
    pub high: f64,
}

impl LinearPieces {
    /// The pieces of max(0, y(centre − s)) for a class y = ±1.
    fn of_class(class: f64, centre: f64) -> LinearPieces {
        LinearPieces { centre, epsilon: 0.0, low: class.min(0.0), high: class.max(0.0) }
    }
}

/// Constructor of a loss from the numbers given for its parameters.
///
/// ```
/// use lazyglm::loss::{Make, TABLE};
/// let make: Make = TABLE.iter().find(|entry| entry.name == "huber").unwrap().make;
/// assert_eq!(make(&[Some(2.0)]).spec(), "huber:delta=2");
/// assert_eq!(make(&[None]).spec(), "huber:delta=1.35", "the default");
/// ```
pub type Make = fn(&[Option<f64>]) -> Arc<dyn Loss>;

/// The table of all losses.
///
/// ```
/// use lazyglm::loss::TABLE;
/// let hinge = TABLE.iter().find(|entry| entry.name == "hinge").unwrap();
/// assert_eq!(hinge.formula, "max(0, 1 - ys)");
/// ```
pub static TABLE: &[Entry<Make>] = &[
    logistic::ENTRY,
    hinge::ENTRY,
    squared_hinge::ENTRY,
    modified_huber::ENTRY,
    perceptron::ENTRY,
    squared::ENTRY,
    huber::ENTRY,
    epsilon_insensitive::ABSOLUTE,
    epsilon_insensitive::ENTRY,
    squared_epsilon_insensitive::ENTRY,
    quantile::ENTRY,
    poisson::ENTRY,
    gamma::ENTRY,
    tweedie::ENTRY,
];

/// Parses a loss written as `name` or `name:key=value`.
///
/// ```
/// use lazyglm::loss;
/// let median = loss::parse("quantile:tau=0.5").unwrap();
/// assert_eq!((median.value(3.0, 1.0), median.value(-1.0, 1.0)), (1.0, 1.0));
/// assert!(loss::parse("quantile:tau=2").is_err(), "tau is above 0 and below 1");
/// ```
pub fn parse(text: &str) -> Result<Arc<dyn Loss>> {
    let name = text.split(':').next().unwrap_or(text);
    let names: Vec<&str> = TABLE.iter().map(|entry| entry.name).collect();
    if !names.contains(&name) {
        return Err(Error::call(format!("there is no loss '{name}'"), suggest(name, &names)));
    }
    let choice = registry::find("loss", TABLE, text)?;
    Ok((choice.entry.make)(&choice.given))
}

/// Names that other libraries give to losses of the table.
const ELSEWHERE: [(&str, &[&str]); 3] = [
    ("absolute", &["absolute_error", "mae", "l1", "lad"]),
    ("squared", &["squared_error", "mse", "l2", "gaussian"]),
    ("logistic", &["log_loss", "binomial", "cross_entropy"]),
];

/// A hint for a name of a loss that is not in the table: the name here of a loss that is called so elsewhere, or else the
/// nearest name.
///
/// ```
/// use lazyglm::loss::suggest;
/// assert!(suggest("mae", &["squared", "absolute"]).starts_with("did you mean 'absolute'?"));
/// assert!(suggest("sqared", &["squared", "absolute"]).starts_with("did you mean 'squared'?"));
/// ```
pub fn suggest(typed: &str, names: &[&str]) -> String {
    let known = ELSEWHERE.iter().find(|(_, others)| others.contains(&typed));
    match known {
        Some((name, _)) => format!("did you mean '{name}'? There are: {}", registry::listed(names)),
        None => registry::suggest(typed, names),
    }
}

/// The indicator function of a conjugate's domain: zero inside, +∞ outside.
fn inside(domain: bool) -> f64 {
    if domain { 0.0 } else { f64::INFINITY }
}
