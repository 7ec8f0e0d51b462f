//! Magnitudes of features and targets, which make learning rates comparable across data sets. Computed in one
//! pass.
//!
//! ```text
//! rms    sⱼ² = mean of xⱼ² over the rows that have feature j         mⱼ = 1/sⱼ²
//! max    sⱼ  = largest |xⱼ|                                          the same
//! ```
//!
//! A step of wⱼ along mⱼ·∂ⱼ does not depend on the unit of feature j.

use crate::data::rows::Examples;
use crate::problem::loss::{Admits, Loss};

/// Sums over rows, from which scales are computed.
///
/// ```
/// use lazyglm::{Examples, Rows, optim::scales::Scales};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 3.0)]).unwrap();
/// rows.push(&[(0, 4.0), (1, 2.0)]).unwrap();
/// let scales = Scales::of(Examples::new(rows.borrow(), &[1.0, 3.0], None).unwrap());
/// assert_eq!(scales.rms(), [1.0 / 12.5, 1.0 / 4.0]);
/// assert_eq!(scales.max(), [1.0 / 16.0, 1.0 / 4.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Scales {
    squares: Vec<f64>,
    largest: Vec<f64>,
    counts: Vec<u32>,
    rows: u64,
    weight: f64,
    target: f64,
    rest: f64, // Σω(y − o), for row offsets o
    rest_square: f64,
    target_square: f64,
    exposure: f64, // Σωe^o
}

impl Scales {
    /// Sums over no rows, for this many columns.
    pub fn new(columns: usize) -> Scales {
        let (squares, largest, counts) = (vec![0.0; columns], vec![0.0; columns], vec![0; columns]);
        Scales {
            squares,
            largest,
            counts,
            rows: 0,
            weight: 0.0,
            target: 0.0,
            target_square: 0.0,
            rest: 0.0,
            rest_square: 0.0,
            exposure: 0.0,
        }
    }

    /// The sums over some rows.
    pub fn of(examples: Examples) -> Scales {
        let mut scales = Scales::new(examples.rows.columns());
        scales.see(examples);
        scales
    }

    /// Adds rows to the sums. They must not have more columns than declared.
    pub fn see(&mut self, examples: Examples) {
        self.rows += examples.len() as u64;
        for i in 0..examples.len() {
            examples.rows.for_each(i, |j, x| {
                self.squares[j] += x * x;
                self.largest[j] = self.largest[j].max(x.abs());
                self.counts[j] = self.counts[j].saturating_add(u32::from(x != 0.0));
            });
            let (weight, target) = (examples.weight(i), examples.targets[i]);
            self.weight += weight;
            self.target += weight * target;
            self.target_square += weight * target * target;
            let offset = examples.offset(i);
            let rest = target - offset;
            self.rest += weight * rest;
            self.rest_square += weight * rest * rest;
            self.exposure += if offset == 0.0 { weight } else { weight * offset.exp() };
        }
    }

    /// The factors 1/sⱼ², where sⱼ is the root mean square of present values. 1 for a feature that does not
    /// occur.
    pub fn rms(&self) -> Vec<f64> {
        let one = |(square, count): (&f64, &u32)| inverse(square / f64::from(*count));
        self.squares.iter().zip(&self.counts).map(one).collect()
    }

    /// The factors 1/sⱼ², where sⱼ is the largest magnitude.
    pub fn max(&self) -> Vec<f64> {
        self.largest.iter().map(|largest| inverse(largest * largest)).collect()
    }

    /// The factors sⱼ²·√fⱼ, with sⱼ as in [`Scales::rms`] and fⱼ the share of rows that contain the feature.
    ///
    /// 1 for a feature that does not occur. The factors lie in the range that f32 can invert.
    pub fn spreads(&self) -> Vec<f64> {
        let one = |(square, &count): (&f64, &u32)| {
            let count = f64::from(count);
            match square / count * (count / self.rows as f64).sqrt() {
                spread if spread > 0.0 => spread.clamp(1e-30, 1e30),
                _ => 1.0,
            }
        };
        self.squares.iter().zip(&self.counts).map(one).collect()
    }

    /// The units of this loss on these targets, and the initial score.
    pub fn units(&self, loss: &dyn Loss, with_bias: bool) -> Units {
        if loss.admits() == Admits::Classes || self.weight == 0.0 {
            return Units { score: 1.0, slope: 1.0, start: 0.0 };
        }
        let (sum, squares) = match loss.variance_power() {
            Some(_) => (self.target, self.target_square),
            None => (self.rest, self.rest_square), // what is left for the model to explain
        };
        let (mean, square) = (sum / self.weight, squares / self.weight);
        let spread = if with_bias { (square - mean * mean).max(0.0) } else { square }.sqrt();
        let spread = if spread > 1e-9 * square.sqrt() { spread } else { 1.0 }; // if all targets are equal, any unit will do
        match loss.variance_power() {
            Some(power) if with_bias && mean > 0.0 && self.exposure.is_finite() => {
                let slope = spread * mean.powf(1.0 - power);
                Units { score: 1.0, slope, start: (self.target / self.exposure).ln() }
            }
            Some(_) => Units { score: 1.0, slope: spread, start: 0.0 },
            None => {
                let start = if with_bias { mean } else { 0.0 };
                Units { score: spread, slope: spread.min(loss.gradient_bound()), start }
            }
        }
    }
}

/// Units of scores and derivatives: 1 for classes, the spread of the targets for numbers.
///
/// ```
/// use lazyglm::{Examples, Rows, loss, optim::scales::Scales};
/// let mut rows = Rows::new();
/// (0..2).for_each(|_| rows.push(&[]).unwrap());
/// let scales = Scales::of(Examples::new(rows.borrow(), &[10.0, 30.0], None).unwrap());
/// let units = scales.units(&*loss::parse("squared").unwrap(), true);
/// assert_eq!((units.score, units.start), (10.0, 20.0), "the targets' spread and mean");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// Unit of scores.
    pub score: f64,
    /// Unit of derivatives.
    pub slope: f64,
    /// Initial value of the bias: a score that is right on average.
    pub start: f64,
}

/// 1/x, or 1 if that is not a usable number.
fn inverse(square: f64) -> f64 {
    let inverse = 1.0 / square;
    if inverse.is_finite() && inverse > 0.0 { inverse } else { 1.0 }
}
