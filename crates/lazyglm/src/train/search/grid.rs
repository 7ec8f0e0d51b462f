//! Grids of penalties: lists, or ranges evenly spaced in the logarithm.

use crate::problem::penalty::ElasticNet;
use crate::util::error::{Error, Result, excerpt};
use crate::util::parameter::Parameter;

/// The values of one parameter that a search tries, in ascending order.
///
/// ```
/// use lazyglm::{Parameter, train::search::Numbers};
/// let parse = |text| Numbers::parse(Parameter::L1, text);
/// assert_eq!(parse("0,1e-4,1e-3").unwrap().values(), [0.0, 1e-4, 1e-3]);
/// assert_eq!(parse("1e-4..1e-2:3").unwrap().values(), [1e-4, 1e-3, 1e-2]);
/// assert!(parse("1e-4,nan").is_err() && parse("-1").is_err() && parse("0..1:5").is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    values: Vec<f64>,
}

impl Numbers {
    /// Parses the values of a parameter: `A,B,C`, or `LOW..HIGH:N` for N values evenly spaced in the logarithm.
    pub fn parse(parameter: Parameter, text: &str) -> Result<Numbers> {
        let wrong = |why: &str| {
            let expected = "numbers, as in 1e-6,1e-5, or a range LOW..HIGH:N, as in 1e-6..1e-3:10";
            Error::parameter(parameter, text, format!("{expected} ({why})"))
        };
        let number = |part: &str| match part.trim().parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            Ok(value) => Err(wrong(&format!("{value} is not a finite number that is at least 0"))),
            Err(_) => Err(wrong(&format!("'{}' is not a number", excerpt(part)))),
        };
        let Some((low, rest)) = text.split_once("..") else {
            let mut values = text.split(',').map(number).collect::<Result<Vec<f64>>>()?;
            values.sort_by(f64::total_cmp);
            values.dedup();
            return Ok(Numbers { values });
        };
        let (high, count) = rest.split_once(':').ok_or_else(|| wrong("':N' is missing"))?;
        let (low, high) = (number(low)?, number(high)?);
        let count = count.trim().parse().ok().filter(|count| (2..=10_000).contains(count));
        let count = count.ok_or_else(|| wrong("N must be between 2 and 10000"))?;
        match low > 0.0 && low < high {
            true => Ok(Numbers::between(low, high, count)),
            false => Err(wrong("a range needs 0 < LOW < HIGH")),
        }
    }

    /// A geometric sequence of `count` numbers from `low` to `high`.
    ///
    /// ```
    /// use lazyglm::train::search::Numbers;
    /// assert_eq!(Numbers::between(1.0, 8.0, 4).values(), [1.0, 2.0, 4.0, 8.0]);
    /// assert_eq!(Numbers::between(1e-300, 1e300, 3).values(), [1e-300, 1.0, 1e300]);
    /// ```
    pub fn between(low: f64, high: f64, count: usize) -> Numbers {
        let step = |k: usize| match k as f64 / (count - 1) as f64 {
            0.0 => low,
            1.0 => high,
            part if (high / low).is_finite() => rounded(low * (high / low).powf(part)),
            part => rounded(low.powf(1.0 - part) * high.powf(part)), // the quotient overflows
        };
        Numbers { values: (0..count).map(step).collect() }
    }

    /// The numbers, in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The number, if there is only one.
    pub fn one(&self) -> Option<f64> {
        Some(self.values[0]).filter(|_| self.values.len() == 1)
    }
}

/// Rounds to four digits, which are enough for a grid.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A point of a grid: one combination of parameters to try.
///
/// ```
/// use lazyglm::{ElasticNet, train::search::Point};
/// let point = Point { penalty: ElasticNet { l1: 1e-4, l2: 0.0 }, eta0: 0.5 };
/// assert!(point.penalty.l1 > point.penalty.l2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The penalty λ₁ and λ₂.
    pub penalty: ElasticNet,
    /// The starting learning rate; NaN for a schedule without one.
    pub eta0: f64,
}

/// All combinations, ordered by rate, then λ₂, then descending λ₁.
///
/// ```
/// use lazyglm::train::search::points;
/// let penalties: Vec<_> = points(&[0.1, 0.2], &[0.0, 1.0], &[0.5]).iter().map(|p| (p.penalty.l1, p.penalty.l2)).collect();
/// assert_eq!(penalties, [(0.2, 0.0), (0.1, 0.0), (0.2, 1.0), (0.1, 1.0)]);
/// ```
pub fn points(l1: &[f64], l2: &[f64], rates: &[f64]) -> Vec<Point> {
    let mut points = Vec::with_capacity(l1.len() * l2.len() * rates.len());
    for &eta0 in rates {
        for &l2 in l2 {
            points.extend(l1.iter().rev().map(|&l1| Point { penalty: ElasticNet { l1, l2 }, eta0 }));
        }
    }
    points
}
