//! Rows with their targets, sample weights and offsets.

use super::{RowsRef, broken};
use crate::simd::prefetch_one;
use crate::util::error::Result;

/// Training input of a solver: rows, one target per row, and optional sample weights and offsets.
///
/// The score of row i is w·xᵢ + b + oᵢ, where oᵢ is the offset of the row.
///
/// ```
/// use lazyglm::{Examples, Rows};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0)]).unwrap();
/// rows.push(&[(1, 1.0)]).unwrap();
/// let plain = Examples::new(rows.borrow(), &[1.0, -1.0], None).unwrap();
/// let weighted = Examples::new(rows.borrow(), &[1.0, -1.0], Some(&[0.5, 1.5])).unwrap();
/// assert_eq!((plain.weight(1), weighted.weight(1)), (1.0, 1.5));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Examples<'a> {
    /// The sparse rows.
    pub rows: RowsRef<'a>,
    /// One target per row: ±1 for classes, otherwise a real number.
    pub targets: &'a [f64],
    /// Positive sample weights with mean one, or `None` if all weights are one.
    pub weights: Option<&'a [f64]>,
    /// One number per row that is added to its score, or `None` if all are zero.
    pub offsets: Option<&'a [f64]>,
}

impl<'a> Examples<'a> {
    /// Checks that each row has one finite target, and one positive finite weight if weights are given.
    ///
    /// ```
    /// use lazyglm::{Examples, Rows};
    /// let mut rows = Rows::new();
    /// rows.push(&[(0, 1.0)]).unwrap();
    /// assert!(Examples::new(rows.borrow(), &[1.0], None).is_ok());
    /// assert!(Examples::new(rows.borrow(), &[1.0, 2.0], None).is_err(), "two targets for one row");
    /// assert!(Examples::new(rows.borrow(), &[1.0], Some(&[0.0])).is_err(), "a row that does not count");
    /// ```
    pub fn new(rows: RowsRef<'a>, targets: &'a [f64], weights: Option<&'a [f64]>) -> Result<Examples<'a>> {
        let lengths = targets.len() == rows.len() && weights.is_none_or(|w| w.len() == rows.len());
        let positive = weights.is_none_or(|w| w.iter().all(|w| w.is_finite() && *w > 0.0));
        if !lengths || !positive || !targets.iter().all(|y| y.is_finite()) {
            return Err(broken("targets or weights that are not one finite number a row"));
        }
        Ok(Examples { rows, targets, weights, offsets: None })
    }

    /// The same rows with one offset per row, all of them finite.
    ///
    /// ```
    /// use lazyglm::{Examples, Rows};
    /// let mut rows = Rows::new();
    /// rows.push(&[(0, 2.0)]).unwrap();
    /// let examples = Examples::new(rows.borrow(), &[1.0], None).unwrap();
    /// let shifted = examples.with_offsets(&[10.0]).unwrap();
    /// assert_eq!((examples.score(0, &[3.0], 0.5), shifted.score(0, &[3.0], 0.5)), (6.5, 16.5));
    /// assert!(examples.with_offsets(&[f64::NAN]).is_err());
    /// ```
    pub fn with_offsets(self, offsets: &'a [f64]) -> Result<Examples<'a>> {
        if offsets.len() != self.len() || !offsets.iter().all(|offset| offset.is_finite()) {
            return Err(broken("offsets that are not one finite number per row"));
        }
        Ok(Examples { offsets: Some(offsets), ..self })
    }

    /// The weight of row `i`.
    #[inline(always)]
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    /// The offset of row `i`: zero if there are no offsets.
    #[inline(always)]
    pub fn offset(&self, i: usize) -> f64 {
        self.offsets.map_or(0.0, |offsets| offsets[i])
    }

    /// Prefetches the target, the weight and the offset of row `i`.
    ///
    /// A shuffled epoch reads them at random, the slope of a row waits for them, and the next row waits for the slope.
    #[inline(always)]
    pub(crate) fn prefetch(&self, i: usize) {
        prefetch_one(self.targets, i);
        [self.weights, self.offsets].into_iter().flatten().for_each(|numbers| prefetch_one(numbers, i));
    }

    /// The score w·x + b of row `i`, plus its offset.
    #[inline(always)]
    pub fn score(&self, i: usize, weights: &[f64], bias: f64) -> f64 {
        self.rows.dot(i, weights) + bias + self.offset(i)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}
