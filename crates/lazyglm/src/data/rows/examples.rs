//! Rows with their targets and sample weights.

use super::{RowsRef, broken};
use crate::util::error::Result;

/// Training input of a solver: rows, one target per row, and optional sample weights.
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
        Ok(Examples { rows, targets, weights })
    }

    /// The weight of row `i`.
    #[inline(always)]
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
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
