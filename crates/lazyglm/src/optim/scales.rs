//! How large features and targets are: what makes a rate mean the same on all data. One counting pass.
//!
//! ```text
//! rms    sⱼ² = mean of xⱼ² over the rows that have feature j         mⱼ = 1/sⱼ²
//! max    sⱼ  = largest |xⱼ|                                          the same
//! ```
//!
//! A step of wⱼ along mⱼ·∂ⱼ is the same step whatever unit feature j is measured in.

use crate::data::rows::Examples;
use crate::problem::loss::{Admits, Loss};

/// Sums over rows, from which scales are taken.
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
    target_square: f64,
}

impl Scales {
    /// Of so many columns, before any row.
    pub fn new(columns: usize) -> Scales {
        let (squares, largest, counts) = (vec![0.0; columns], vec![0.0; columns], vec![0; columns]);
        Scales { squares, largest, counts, rows: 0, weight: 0.0, target: 0.0, target_square: 0.0 }
    }

    /// Those of some rows.
    pub fn of(examples: Examples) -> Scales {
        let mut scales = Scales::new(examples.rows.columns());
        scales.see(examples);
        scales
    }

    /// Counts these rows too; they have no more columns than were said.
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
        }
    }

    /// 1/sⱼ², sⱼ the root of the mean square where it is present; 1 for a feature that never is.
    pub fn rms(&self) -> Vec<f64> {
        let one = |(square, count): (&f64, &u32)| inverse(square / f64::from(*count));
        self.squares.iter().zip(&self.counts).map(one).collect()
    }

    /// 1/sⱼ², sⱼ the largest magnitude.
    pub fn max(&self) -> Vec<f64> {
        self.largest.iter().map(|largest| inverse(largest * largest)).collect()
    }

    /// sⱼ²·√fⱼ, sⱼ as for [`Scales::rms`] and fⱼ the share of the rows that have the feature; 1 for a feature that never is present. Within
    /// what f32 can invert.
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

    /// The units of this loss on these targets, and the score to start at.
    pub fn units(&self, loss: &dyn Loss, with_bias: bool) -> Units {
        if loss.admits() == Admits::Classes || self.weight == 0.0 {
            return Units { score: 1.0, slope: 1.0, start: 0.0 };
        }
        let mean = self.target / self.weight;
        let square = self.target_square / self.weight;
        let spread = if with_bias { (square - mean * mean).max(0.0) } else { square }.sqrt();
        let spread = if spread > 1e-9 * square.sqrt() { spread } else { 1.0 }; // all targets alike: any unit will do
        match loss.admits() {
            Admits::NonNegative if with_bias && mean > 0.0 => {
                Units { score: 1.0, slope: spread, start: mean.ln() }
            }
            Admits::NonNegative => Units { score: 1.0, slope: spread, start: 0.0 },
            _ => {
                let start = if with_bias { mean } else { 0.0 };
                Units { score: spread, slope: spread.min(loss.gradient_bound()), start }
            }
        }
    }
}

/// What scores and slopes are measured in: 1 for classes, the spread of the targets for numbers.
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
    /// Of a score.
    pub score: f64,
    /// Of a slope.
    pub slope: f64,
    /// Where the bias starts: a score that is right on average.
    pub start: f64,
}

/// 1/x, and 1 where that is no number to work with.
fn inverse(square: f64) -> f64 {
    let inverse = 1.0 / square;
    if inverse.is_finite() && inverse > 0.0 { inverse } else { 1.0 }
}
