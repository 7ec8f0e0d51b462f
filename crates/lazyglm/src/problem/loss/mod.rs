//! Losses ℓ(s, y): how wrong is the score s when the target is y? One file each.
//!
//! To add one: write its file, add its `mod` line and its line in [`TABLE`]. The program's flag for the loss, its help,
//! the error lists and every law follow from the table.
//!
//! ```
//! use lazyglm::loss;
//! for entry in loss::TABLE {
//!     let loss = loss::parse(entry.name).unwrap();
//!     assert!(loss.value(0.5, 1.0) <= 0.5 * (loss.value(0.0, 1.0) + loss.value(1.0, 1.0)), "convex");
//! }
//! ```

mod epsilon_insensitive;
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

use crate::util::error::Result;
use crate::util::registry::{self, Entry};
use std::sync::Arc;

/// Which targets a loss admits.
///
/// ```
/// use lazyglm::loss::{self, Admits};
/// let admits = |name: &str| loss::parse(name).unwrap().admits();
/// assert_eq!(admits("hinge"), Admits::Classes);
/// assert_eq!(admits("huber"), Admits::Reals);
/// assert_eq!(admits("poisson"), Admits::NonNegative);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admits {
    /// Two classes, as y = −1 and y = +1.
    Classes,
    /// Any real number.
    Reals,
    /// Zero and above.
    NonNegative,
}

/// A loss: convex in the score s, for every admitted target y.
///
/// ```
/// let loss = lazyglm::loss::parse("huber:delta=1").unwrap();
/// assert_eq!(loss.value(3.0, 0.0), 2.5);
/// assert_eq!(loss.slope(3.0, 0.0), 1.0);
/// ```
pub trait Loss: Send + Sync + std::fmt::Debug {
    /// As it is written: `name` or `name:key=value`. [`parse`] of it gives the same loss back.
    fn spec(&self) -> String;

    /// ℓ(s, y).
    fn value(&self, score: f64, target: f64) -> f64;

    /// ∂ℓ/∂s; at a kink, one of the subgradients.
    fn slope(&self, score: f64, target: f64) -> f64;

    /// The smallest c with ∂²ℓ/∂s² ≤ c everywhere, if there is one.
    fn curvature(&self) -> Option<f64> {
        None
    }

    /// The smallest g with |∂ℓ/∂s| ≤ g everywhere; infinite if there is none. A loss that is steep without bound can
    /// be thrown further and further by a rate that is too large; one that is not can only wander.
    fn gradient_bound(&self) -> f64 {
        f64::INFINITY
    }

    /// ∂²ℓ/∂s²; where the slope has a corner, the derivative on one side of it. `None` for a loss whose slope jumps.
    fn second_derivative(&self, _score: f64, _target: f64) -> Option<f64> {
        None
    }

    /// A curvature c with which the parabola ℓ(s) + ℓ′(s)(v − s) + ½c(v − s)² is above ℓ(v) for all v, the smallest known;
    /// `None` if there is none.
    fn majoriser(&self, _score: f64, _target: f64) -> Option<f64> {
        self.curvature()
    }

    /// Value, slope and bend (0 for none) at once.
    fn taylor(&self, score: f64, target: f64) -> [f64; 3] {
        let second_derivative = self.second_derivative(score, target).unwrap_or(0.0);
        [self.value(score, target), self.slope(score, target), second_derivative]
    }

    /// How far the score falls when it slides down the loss for this long: s(0) − s(h) with ds/dτ = −ℓ′(s), s(0) the score.
    /// However long that is, it does not slide past the bottom, where a step of length h may. `None` if it has no closed form.
    ///
    /// ```
    /// let loss = lazyglm::loss::parse("squared").unwrap();
    /// assert!((loss.slide(3.0, 1.0, 100.0).unwrap() - 2.0).abs() < 1e-12, "from 3 to the target, not to −197");
    /// ```
    fn slide(&self, _score: f64, _target: f64, _time: f64) -> Option<f64> {
        None
    }

    /// The conjugate ℓ*(u, y) = sup over s of us − ℓ(s, y); +∞ outside its domain.
    fn conjugate(&self, slope: f64, target: f64) -> f64;

    /// The scores at which the slope jumps.
    fn kinks(&self, _target: f64) -> Vec<f64> {
        Vec::new()
    }

    /// From score to prediction.
    fn inverse_link(&self, score: f64) -> f64 {
        score
    }

    /// Whether [`Loss::inverse_link`] is the probability of the positive class.
    fn gives_probability(&self) -> bool {
        false
    }

    /// The targets it is made for.
    fn admits(&self) -> Admits;
}

/// Makes a loss from the numbers given for its keys.
///
/// ```
/// use lazyglm::loss::{Make, TABLE};
/// let make: Make = TABLE.iter().find(|entry| entry.name == "huber").unwrap().make;
/// assert_eq!(make(&[Some(2.0)]).spec(), "huber:delta=2");
/// assert_eq!(make(&[None]).spec(), "huber:delta=1.35", "the default");
/// ```
pub type Make = fn(&[Option<f64>]) -> Arc<dyn Loss>;

/// Every loss there is.
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
    epsilon_insensitive::ENTRY,
    squared_epsilon_insensitive::ENTRY,
    quantile::ENTRY,
    poisson::ENTRY,
];

/// The loss written as `name` or `name:key=value`.
///
/// ```
/// use lazyglm::loss;
/// let median = loss::parse("quantile:tau=0.5").unwrap();
/// assert_eq!((median.value(3.0, 1.0), median.value(-1.0, 1.0)), (1.0, 1.0));
/// assert!(loss::parse("quantile:tau=2").is_err(), "tau is above 0 and below 1");
/// ```
pub fn parse(text: &str) -> Result<Arc<dyn Loss>> {
    let choice = registry::find("loss", TABLE, text)?;
    Ok((choice.entry.make)(&choice.given))
}

/// Zero inside the domain of a conjugate, +∞ outside.
fn inside(domain: bool) -> f64 {
    if domain { 0.0 } else { f64::INFINITY }
}
