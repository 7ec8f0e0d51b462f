//! Borrowed sparse rows, and a view of a single row.

use super::broken;
use crate::util::error::Result;
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

/// The storage type of values: `f32` or `f64`.
///
/// ```
/// use lazyglm::Value;
/// fn mean<V: Value>(values: &[V]) -> f64 {
///     values.iter().map(|x| x.to_f64()).sum::<f64>() / values.len() as f64
/// }
/// assert_eq!(mean(&[1.0f32, 2.0]), mean(&[1.0f64, 2.0]));
/// assert_eq!(0.1f64.to_f32(), 0.1f32);
/// ```
pub trait Value: Copy + Default + Send + Sync + 'static {
    /// Converts the value to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Converts the value to `f32`, rounded to nearest.
    fn to_f32(self) -> f32;
    /// Wraps a slice of values in the variant for its precision.
    fn values_ref(values: &[Self]) -> ValuesRef<'_>
    where
        Self: Sized;
}

impl Value for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }
    fn values_ref(values: &[f32]) -> ValuesRef<'_> {
        ValuesRef::F32(values)
    }
}

impl Value for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self as f32
    }
    fn values_ref(values: &[f64]) -> ValuesRef<'_> {
        ValuesRef::F64(values)
    }
}

/// One sparse row: parallel slices of ids and values, with strictly increasing ids.
///
/// Only [`RowsRef::row`] creates rows, so callers can rely on the order of the ids.
///
/// ```
/// use lazyglm::{RowsRef, ValuesRef};
/// let values = [0.5f32, 2.0, 1.0];
/// let rows = RowsRef::new(&[0, 2, 3], &[1, 4, 0], ValuesRef::F32(&values), 5).unwrap();
/// let (first, second) = (rows.row(&values, 0), rows.row(&values, 1));
/// assert_eq!((first.iter().count(), second.iter().count()), (2, 1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Row<'a, V> {
    pub(crate) ids: &'a [u32],
    pub(crate) values: &'a [V],
}

impl<'a, V: Value> Row<'a, V> {
    /// Iterates over the non-zeros as (id, value), with values converted to `f64`.
    ///
    /// ```
    /// use lazyglm::{RowsRef, ValuesRef};
    /// let values = [0.5f32, 2.0];
    /// let rows = RowsRef::new(&[0, 2], &[1, 4], ValuesRef::F32(&values), 5).unwrap();
    /// assert_eq!(rows.row(&values, 0).iter().collect::<Vec<_>>(), [(1, 0.5), (4, 2.0)]);
    /// ```
    pub fn iter(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.ids.iter().zip(self.values).map(|(&id, &x)| (id as usize, x.to_f64()))
    }

    /// The dot product Σ xⱼwⱼ over the row's non-zeros, in f64.
    ///
    /// ```
    /// use lazyglm::{RowsRef, ValuesRef};
    /// let values = [0.5, 2.0];
    /// let rows = RowsRef::new(&[0, 2], &[1, 4], ValuesRef::F64(&values), 5).unwrap();
    /// assert_eq!(rows.row(&values, 0).dot(&[9.0, 2.0, 9.0, 9.0, 1.0]), 0.5 * 2.0 + 2.0 * 1.0);
    /// ```
    pub fn dot(self, weights: &[f64]) -> f64 {
        self.iter().map(|(j, x)| x * weights[j]).sum()
    }

    /// The dot product with weights that a function gives, in four partial sums. A single sum would make each addition
    /// wait for the previous one.
    #[inline(always)]
    pub(crate) fn dot_in_four_sums(self, weight: impl Fn(usize) -> f64) -> f64 {
        let term = |id: u32, x: V| x.to_f64() * weight(id as usize);
        let ((ids, last_ids), (values, last)) = (self.ids.as_chunks::<4>(), self.values.as_chunks::<4>());
        let mut sums = [0.0; 4];
        for (ids, values) in ids.iter().zip(values) {
            for k in 0..4 {
                sums[k] += term(ids[k], values[k]);
            }
        }
        let rest: f64 = last_ids.iter().zip(last).map(|(&id, &x)| term(id, x)).sum();
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest
    }
}

/// The values of a borrowed block, all in one precision.
///
/// ```
/// use lazyglm::{Rows, ValuesRef};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 0.5)]).unwrap();
/// assert!(matches!(rows.borrow().values(), ValuesRef::F32(_)), "a half fits into four bytes");
/// rows.push(&[(0, 0.1)]).unwrap();
/// assert!(matches!(rows.borrow().values(), ValuesRef::F64([0.5, 0.1])), "a tenth takes eight");
/// ```
#[derive(Clone, Copy, Debug)]
pub enum ValuesRef<'a> {
    /// Four bytes per value.
    F32(&'a [f32]),
    /// Eight bytes per value.
    F64(&'a [f64]),
}

/// A block of sparse rows (CSR) in borrowed arrays.
///
/// ```
/// use lazyglm::{RowsRef, ValuesRef};
/// // 1 0 2
/// // 0 3 0, as any library of sparse matrices keeps it
/// let (offsets, ids, values) = ([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0]);
/// let rows = RowsRef::new(&offsets, &ids, ValuesRef::F64(&values), 3).unwrap();
/// assert_eq!((rows.len(), rows.columns(), rows.nonzeros()), (2, 3, 3));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RowsRef<'a> {
    pub(super) offsets: &'a [usize],
    pub(super) ids: &'a [u32],
    pub(super) values: ValuesRef<'a>,
    pub(super) columns: usize,
    pub(super) shared: Option<&'a AtomicBool>, // see shared.rs
}

impl<'a> RowsRef<'a> {
    /// Borrows CSR arrays after checking their invariants.
    ///
    /// ```
    /// use lazyglm::{RowsRef, ValuesRef};
    /// let rows = RowsRef::new(&[0, 1], &[2], ValuesRef::F32(&[1.0]), 3).unwrap();
    /// assert_eq!(rows.len(), 1);
    /// assert!(RowsRef::new(&[0, 1], &[3], ValuesRef::F32(&[1.0]), 3).is_err(), "id 3 of 3 columns");
    /// ```
    pub fn new(
        offsets: &'a [usize],
        ids: &'a [u32],
        values: ValuesRef<'a>,
        columns: usize,
    ) -> Result<RowsRef<'a>> {
        let (count, finite) = match values {
            ValuesRef::F32(v) => (v.len(), all(v, |x| x.is_finite())),
            ValuesRef::F64(v) => (v.len(), all(v, |x| x.is_finite())),
        };
        let ends = offsets.first() == Some(&0) && offsets.last() == Some(&ids.len());
        if !ends || count != ids.len() || offsets.windows(2).any(|two| two[0] > two[1]) {
            return Err(broken("offsets, ids and values that do not fit together"));
        }
        let rows = || offsets.windows(2).map(|span| &ids[span[0]..span[1]]);
        if !rows().all(rises) {
            return Err(broken("a row whose ids do not rise strictly"));
        }
        // Ids increase within a row, so checking the last id of each row is enough.
        if rows().any(|row| row.last().is_some_and(|&id| id as usize >= columns)) {
            return Err(broken("an id beyond the last column"));
        }
        if !finite {
            return Err(broken("a value that is not finite"));
        }
        Ok(RowsRef { offsets, ids, values, columns, shared: None })
    }

    /// Borrows arrays of rows that were checked before.
    pub(crate) fn trusted(
        offsets: &'a [usize],
        ids: &'a [u32],
        values: ValuesRef<'a>,
        columns: usize,
    ) -> RowsRef<'a> {
        RowsRef { offsets, ids, values, columns, shared: None }
    }

    /// The same rows with other values.
    pub(crate) fn with_values(self, values: ValuesRef<'a>) -> RowsRef<'a> {
        RowsRef { values, ..self }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns. Every id is smaller.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored values.
    pub fn nonzeros(&self) -> usize {
        self.ids.len()
    }

    /// The start of each row in the arrays, followed by the end of the last row.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(0, 3.0), (2, -4.0)]).unwrap();
    /// rows.push(&[(1, 1.0)]).unwrap();
    /// assert_eq!((rows.borrow().offsets(), rows.borrow().ids()), (&[0, 2, 3][..], &[0, 2, 1][..]));
    /// ```
    pub fn offsets(&self) -> &'a [usize] {
        self.offsets
    }

    /// The ids of all rows, concatenated.
    pub fn ids(&self) -> &'a [u32] {
        self.ids
    }

    /// The values of all rows. Match on their precision once per block.
    pub fn values(&self) -> ValuesRef<'a> {
        self.values
    }

    /// The largest magnitude of a value, or 0 if there are none.
    pub(crate) fn largest_magnitude(&self) -> f64 {
        // The bits of magnitudes have their order, and the maximum of integers is a vector instruction.
        match self.values {
            ValuesRef::F32(values) => {
                let of = |some: &[f32]| some.iter().fold(0, |most: u32, x| most.max(x.abs().to_bits()));
                f64::from(f32::from_bits(values.par_chunks(1 << 16).map(of).max().unwrap_or(0)))
            }
            ValuesRef::F64(values) => {
                let of = |some: &[f64]| some.iter().fold(0, |most: u64, x| most.max(x.abs().to_bits()));
                f64::from_bits(values.par_chunks(1 << 16).map(of).max().unwrap_or(0))
            }
        }
    }

    /// Row `i` of a block whose values are `values`.
    ///
    /// ```
    /// use lazyglm::{RowsRef, ValuesRef};
    /// let values = [1.0f32, 2.0, 3.0];
    /// let rows = RowsRef::new(&[0, 2, 3], &[0, 2, 1], ValuesRef::F32(&values), 3).unwrap();
    /// assert_eq!(rows.row(&values, 1).iter().collect::<Vec<_>>(), [(1, 3.0)]);
    /// ```
    #[inline(always)]
    pub fn row<'v, V>(&self, values: &'v [V], i: usize) -> Row<'v, V>
    where
        'a: 'v,
    {
        let span = self.span(i);
        Row { ids: &self.ids[span.clone()], values: &values[span] }
    }

    /// Calls `prefetch` with the offsets of row `i`.
    #[inline(always)]
    pub(crate) fn prefetch_span(&self, i: usize, prefetch: impl Fn(&[usize])) {
        prefetch(&self.offsets[i..i + 2]);
    }

    /// Calls `see(id, value)` for each non-zero of row `i`, with values converted to `f64`.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(0, 3.0), (7, -4.0)]).unwrap();
    /// let mut square = 0.0;
    /// rows.borrow().for_each(0, |_id, x| square += x * x);
    /// assert_eq!(square, 25.0);
    /// ```
    pub fn for_each(&self, i: usize, mut see: impl FnMut(usize, f64)) {
        match (self.values, self.shared) {
            (ValuesRef::F32(v), None) => self.row(v, i).iter().for_each(|(j, x)| see(j, x)),
            (ValuesRef::F64(v), None) => self.row(v, i).iter().for_each(|(j, x)| see(j, x)),
            (ValuesRef::F32(v), Some(changed)) => self.for_each_in_range(self.row(v, i), changed, see),
            (ValuesRef::F64(v), Some(changed)) => self.for_each_in_range(self.row(v, i), changed, see),
        }
    }

    /// The dot product Σ xⱼwⱼ of row `i`, in f64.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(0, 3.0), (2, -4.0)]).unwrap();
    /// assert_eq!(rows.borrow().dot(0, &[1.0, 100.0, 0.5]), 1.0);
    /// ```
    pub fn dot(&self, i: usize, weights: &[f64]) -> f64 {
        if self.shared.is_some() {
            let mut sum = -0.0; // as `Iterator::sum` begins
            self.for_each(i, |j, x| sum += x * weights[j]);
            return sum;
        }
        match self.values {
            ValuesRef::F32(v) => self.row(v, i).dot(weights),
            ValuesRef::F64(v) => self.row(v, i).dot(weights),
        }
    }
}

/// Whether all items pass. Items are tested in chunks without early exit, so that the compiler can vectorise
/// the loop.
fn all<T: Copy>(items: &[T], pass: impl Fn(T) -> bool) -> bool {
    items.chunks(1 << 10).all(|some| some.iter().fold(true, |all, &item| all & pass(item)))
}

/// Whether ids increase strictly.
fn rises(ids: &[u32]) -> bool {
    ids.iter().zip(ids.iter().skip(1)).fold(true, |all, (id, next)| all & (id < next))
}
