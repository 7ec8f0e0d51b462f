//! Penalties to try: lists, or ranges evenly spaced in the logarithm.

use crate::problem::penalty::ElasticNet;
use crate::util::error::{Error, Result};

/// Numbers to try for one λ.
///
/// ```
/// use lazyglm::train::search::Numbers;
/// assert_eq!(Numbers::parse("0,1e-4,1e-3").unwrap().values(), [0.0, 1e-4, 1e-3]);
/// assert_eq!(Numbers::parse("1e-4..1e-2:3").unwrap().values(), [1e-4, 1e-3, 1e-2]);
/// assert!(Numbers::parse("1e-4,nan").is_err() && Numbers::parse("-1").is_err() && Numbers::parse("0..1:5").is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    values: Vec<f64>,
}

impl Numbers {
    /// `A,B,C`, or `LOW..HIGH:N`.
    pub fn parse(text: &str) -> Result<Numbers> {
        let wrong = |why: &str| {
            let what = format!("'{text}' is no list of penalties: {why}");
            Error::call(
                what,
                "write numbers from 0 up with commas (1e-6,1e-5), or LOW..HIGH:N (1e-6..1e-3:10)",
            )
        };
        let number = |part: &str| match part.trim().parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            Ok(value) => Err(wrong(&format!("{value} is no penalty"))),
            Err(_) => Err(wrong(&format!("'{part}' is no number"))),
        };
        let Some((low, rest)) = text.split_once("..") else {
            let mut values = text.split(',').map(number).collect::<Result<Vec<f64>>>()?;
            values.sort_by(f64::total_cmp);
            values.dedup();
            return Ok(Numbers { values });
        };
        let (high, count) = rest.split_once(':').ok_or_else(|| wrong("how many? HIGH:N"))?;
        let (low, high) = (number(low)?, number(high)?);
        let count = count.trim().parse().ok().filter(|count| (2..=10_000).contains(count));
        let count = count.ok_or_else(|| wrong("N is a number from 2 to 10000"))?;
        match low > 0.0 && low < high {
            true => Ok(Numbers::between(low, high, count)),
            false => Err(wrong("a range needs 0 < LOW < HIGH")),
        }
    }

    /// So many numbers from `low` to `high`, each the same multiple of the one before.
    ///
    /// ```
    /// use lazyglm::train::search::Numbers;
    /// assert_eq!(Numbers::between(1.0, 8.0, 4).values(), [1.0, 2.0, 4.0, 8.0]);
    /// ```
    pub fn between(low: f64, high: f64, count: usize) -> Numbers {
        let step = |k: usize| match k {
            0 => low,
            k if k + 1 == count => high,
            k => rounded(low * (high / low).powf(k as f64 / (count - 1) as f64)),
        };
        Numbers { values: (0..count).map(step).collect() }
    }

    /// The numbers, rising.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The number, if there is just one.
    pub fn one(&self) -> Option<f64> {
        Some(self.values[0]).filter(|_| self.values.len() == 1)
    }
}

/// Four digits: nobody should think a grid is finer than that, and logs read better.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// One combination to try.
///
/// ```
/// use lazyglm::{ElasticNet, train::search::Point};
/// let point = Point { penalty: ElasticNet { l1: 1e-4, l2: 0.0 }, eta0: 0.5 };
/// assert!(point.penalty.l1 > point.penalty.l2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// λ₁ and λ₂.
    pub penalty: ElasticNet,
    /// The starting rate; NaN for a schedule that has none.
    pub eta0: f64,
}

/// Every combination: rates apart, λ₂ within them, and λ₁ falling within those.
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
