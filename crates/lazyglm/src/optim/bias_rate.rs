//! How fast the bias learns, as a multiple of the rate η of the weights.
//!
//! ```text
//! Fixed(1)       1
//! Fixed(least)   max(least, 1/(1 + t/100))
//! ByDensity      min(1, max(δ, 1/(η·(1 + t/4))))      δ = max(1/100, the share of the features that a row has, on average)
//! ```
//!
//! The bias is in every row. Where rows have few of the features, each weight learns from few rows, and the bias from all of them: at the full
//! rate it follows the last rows, which costs accuracy. scikit-learn therefore gives it a hundredth of the rate if the matrix is
//! of a sparse kind. [`BiasRule::ByDensity`] goes by the rows instead, so that the same rows give the same model in any kind of matrix:
//! rows without zeros have δ = 1, and text has δ = 1/100. In the beginning, the bias learns faster: 1/(1 + t/4) is the rate
//! of a Newton step on the logistic loss of t rows, whose second derivative is at most 1/4.
//!
//! δ depends on the rows up to the present one alone, so that any chunks of rows give the same bits.

use crate::util::state::{Fields, State};

/// The smallest multiple by density.
const LEAST: f64 = 0.01;

/// The rule for the rate of the bias.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BiasRule {
    /// From the rate of the weights down to this multiple of it.
    Fixed(f64),
    /// By the share of the features that the rows have.
    ByDensity,
}

/// How many features rows have: counted over all rows that were learnt by [`BiasRule::ByDensity`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Density {
    present: u64,
    rows: u64,
}

impl State for Density {
    fn fields(&mut self, fields: &mut Fields) {
        self.present.fields(fields);
        self.rows.fields(fields);
    }
}

/// The rate of the bias of one model, or of lanes that learn the same rows.
///
/// ```
/// use lazyglm::optim::bias_rate::{BiasRate, BiasRule, Density};
/// let mut rate = BiasRate::new(BiasRule::ByDensity, 1000, Density::default());
/// rate.see(20);
/// assert_eq!(rate.multiple(0.5, 0), 1.0, "a step of at most one");
/// assert_eq!(rate.multiple(0.5, 36), 0.2, "1/(1 + 36/4) is a fifth of 0.5");
/// assert_eq!(rate.multiple(0.5, 1_000_000), 0.02, "20 of 1,000 features");
/// rate.see(1000);
/// assert_eq!(rate.multiple(0.5, 1_000_000), 0.51);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BiasRate {
    /// The rule.
    pub rule: BiasRule,
    columns: f64,
    density: Density,
}

impl BiasRate {
    /// The rate for rows with so many columns, after rows of some density.
    pub fn new(rule: BiasRule, columns: usize, density: Density) -> BiasRate {
        BiasRate { rule, columns: columns as f64, density }
    }

    /// The same as that of the weights.
    pub(super) fn of_weights() -> BiasRate {
        BiasRate::new(BiasRule::Fixed(1.0), 0, Density::default())
    }

    /// The density of the rows so far.
    pub fn density(&self) -> Density {
        self.density
    }

    /// Counts a row with so many features.
    #[inline(always)]
    pub fn see(&mut self, present: usize) {
        if self.rule == BiasRule::ByDensity {
            self.density.present += present as u64;
            self.density.rows += 1;
        }
    }

    /// The rate at step t, as a multiple of that of the weights, `eta`.
    #[inline(always)]
    pub fn multiple(&self, eta: f64, t: u64) -> f64 {
        const FIRST_STEPS: f64 = 100.0;
        let t = t as f64;
        match self.rule {
            BiasRule::Fixed(least) if least >= 1.0 => 1.0,
            BiasRule::Fixed(least) => least.max(1.0 / (1.0 + t / FIRST_STEPS)),
            BiasRule::ByDensity => {
                let share = self.density.present as f64 / (self.density.rows as f64 * self.columns);
                share.max(LEAST).max(1.0 / (eta * (1.0 + 0.25 * t))).min(1.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_multiple_is_the_mean_share_of_features_in_a_row_after_a_faster_beginning() {
        let mut rate = BiasRate::new(BiasRule::ByDensity, 200, Density::default());
        [10, 30].iter().for_each(|&present| rate.see(present));
        assert_eq!(rate.density(), Density { present: 40, rows: 2 });
        assert_eq!(rate.multiple(0.5, 1_000_000), 0.1, "20 of 200 features");
        assert_eq!(rate.multiple(0.5, 16), 0.4, "1 / (η·(1 + t/4))");
        assert_eq!(rate.multiple(0.5, 0), 1.0, "never above the rate of the weights");
        let mut sparse = BiasRate::new(BiasRule::ByDensity, 1_000_000, Density::default());
        sparse.see(3);
        assert_eq!(sparse.multiple(0.5, u64::MAX), LEAST);
    }

    #[test]
    fn a_fixed_multiple_is_reached_after_some_hundred_steps() {
        let rate = |least| BiasRate::new(BiasRule::Fixed(least), 7, Density::default());
        assert_eq!([0, 100, 1_000_000].map(|t| rate(0.01).multiple(0.5, t)), [1.0, 0.5, 0.01]);
        assert_eq!(rate(1.0).multiple(0.5, 1_000_000), 1.0);
    }
}
