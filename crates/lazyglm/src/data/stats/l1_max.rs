//! λ₁_max in one pass, for the loss that `auto` chooses.
//!
//! ```text
//! λ₁_max = maxⱼ |Σᵢ ωᵢ gᵢ xᵢⱼ| / Σᵢ ωᵢ      gᵢ: loss derivative of row i at w = 0 and the best bias
//! logistic: gᵢ = p − [i is of the class]      p: the (weighted) share of that class; both classes give the same
//! squared:  gᵢ = ȳ − yᵢ                       ȳ: the (weighted) mean target
//! ```
//!
//! p and ȳ are known only at the end. So each feature keeps Σω·x, Σω·x over the first class seen, and Σω·x·(y
//! − y₀). Subtracting y₀, the first target seen, avoids cancellation for targets far from zero.

use super::columns::Columns;
use super::targets::{Target, Targets};
use serde::Serialize;

/// λ₁_max, the smallest λ₁ at which all weights are zero, with an unpenalised bias.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-l1-max.svm");
/// std::fs::write(&file, "a 1:1\nb 2:1\nc 3:1\n").unwrap();
/// let l1_max = lazyglm::stats::stats(&file, &Default::default()).unwrap().l1_max;
/// assert_eq!((l1_max.value, l1_max.why_not.as_deref()), (None, Some("more than two classes, given as words")));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct L1Max {
    /// The value of λ₁_max, or `None` if no loss applies to these targets.
    pub value: Option<f64>,
    /// The loss that `auto` chooses for these targets.
    pub loss: Option<&'static str>,
    /// The reason why the value is undefined, if it is.
    pub why_not: Option<String>,
}

/// A row's contribution to its features' gradient sums per unit of value, or a sum of such contributions.
#[derive(Clone, Copy, Default)]
pub(super) struct GradientTerms {
    all: f64,   // ω
    first: f64, // ω, if the row is of the first class seen
    above: f64, // ω·(y − y₀)
}

impl GradientTerms {
    #[inline]
    pub fn add(&mut self, terms: GradientTerms, x: f64) {
        self.all += terms.all * x;
        self.first += terms.first * x;
        self.above += terms.above * x;
    }
}

/// Gradient sums over the rows with a positive weight.
#[derive(Default)]
pub(super) struct NullGradient {
    distinct: Vec<u64>, // hashes of up to three targets
    start: f64,         // y₀
    total: GradientTerms,
}

impl NullGradient {
    /// Adds a row and returns its contribution to its features' gradient sums.
    pub fn add_row(&mut self, target: Option<&Target>, weight: f64) -> GradientTerms {
        let Some(target) = target.filter(|_| weight > 0.0) else { return GradientTerms::default() };
        if self.distinct.len() < 3 && !self.distinct.contains(&target.hash) {
            if self.distinct.is_empty() {
                self.start = target.number.unwrap_or(0.0);
            }
            self.distinct.push(target.hash);
        }
        let is_first = self.distinct[0] == target.hash;
        let above = target.number.map_or(0.0, |y| y - self.start);
        let terms =
            GradientTerms { all: weight, first: if is_first { weight } else { 0.0 }, above: weight * above };
        self.total.add(terms, 1.0);
        terms
    }

    pub fn l1_max(&self, columns: &Columns, targets: &Targets) -> L1Max {
        let none = |why: &str| L1Max { value: None, loss: None, why_not: Some(why.to_string()) };
        let total = self.total;
        let largest = |loss: &'static str, slope: &dyn Fn(&GradientTerms) -> f64| {
            let value = columns.all.iter().map(|column| (slope(&column.sums) / total.all).abs());
            L1Max { value: Some(value.fold(0.0, f64::max)), loss: Some(loss), why_not: None }
        };
        match self.distinct.len() {
            _ if targets.missing() > 0 => none("some rows have no target"),
            0 | 1 => none("all rows that count have the same target"),
            2 => {
                let share = total.first / total.all;
                largest("logistic", &|sums| share * sums.all - sums.first)
            }
            _ if targets.has_words() => none("more than two classes, given as words"),
            _ => {
                let mean = total.above / total.all;
                largest("squared", &|sums| mean * sums.all - sums.above)
            }
        }
    }
}
