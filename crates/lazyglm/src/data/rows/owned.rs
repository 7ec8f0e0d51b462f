//! Sparse rows that own their arrays.

mod ids;
mod known;
mod room;

use super::{RowsRef, ValuesRef, broken};
use crate::util::error::Result;
use rayon::prelude::*;
use std::ops::Range;

/// The values of a block, all in one precision.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// Four bytes per value, for data that f32 represents exactly (such as counts and ones) or that were
    /// rounded.
    F32(Vec<f32>),
    /// Eight bytes per value.
    F64(Vec<f64>),
}

/// A block of sparse rows (CSR) that owns its arrays.
///
/// ```
/// use lazyglm::Rows;
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0), (3, 2.5)]).unwrap();
/// rows.push(&[(1, -1.0)]).unwrap();
/// assert_eq!((rows.len(), rows.columns(), rows.nonzeros()), (2, 4, 3));
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    offsets: Vec<usize>,
    ids: Vec<u32>,
    values: Values,
    columns: usize,
    as_f32: bool, // whether values that f32 cannot represent exactly are rounded instead of kept in f64
    spare: Vec<f64>, // the memory of former f64 values, for reuse
}

impl PartialEq for Rows {
    fn eq(&self, other: &Rows) -> bool {
        let parts = |rows: &Rows| (rows.offsets.clone(), rows.ids.clone(), rows.values.clone(), rows.columns);
        parts(self) == parts(other)
    }
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::new()
    }
}

impl Rows {
    /// A block without rows.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// assert!(rows.is_empty());
    /// rows.push(&[]).unwrap(); // a row without features is a row
    /// assert_eq!((rows.len(), rows.columns()), (1, 0));
    /// ```
    pub fn new() -> Rows {
        Rows {
            offsets: vec![0],
            ids: Vec::new(),
            values: Values::F32(Vec::new()),
            columns: 0,
            as_f32: false,
            spare: Vec::new(),
        }
    }

    /// Appends a row of (id, value) pairs with strictly increasing ids.
    ///
    /// If `f32` cannot represent a value exactly, the whole block is converted to `f64`, so no precision is
    /// lost.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(2, 1.0), (5, -1.0)]).unwrap();
    /// assert!(rows.push(&[(5, 1.0), (2, 1.0)]).is_err(), "ids must rise");
    /// assert!(rows.push(&[(0, f64::NAN)]).is_err(), "values must be finite");
    /// assert_eq!(rows.len(), 1, "what is refused leaves no trace");
    /// ```
    pub fn push(&mut self, pairs: &[(u32, f64)]) -> Result<()> {
        let rising = pairs.windows(2).all(|two| two[0].0 < two[1].0);
        let finite = pairs.iter().all(|&(_, x)| x.is_finite());
        if !rising || !finite {
            return Err(broken("a row whose ids do not rise strictly or whose values are not finite"));
        }
        self.ids.extend(pairs.iter().map(|&(id, _)| id));
        self.push_values(pairs);
        if let Some(&(last, _)) = pairs.last() {
            self.columns = self.columns.max(last as usize + 1);
        }
        self.offsets.push(self.ids.len());
        Ok(())
    }

    fn push_values(&mut self, pairs: &[(u32, f64)]) {
        if let Values::F32(values_f32) = &mut self.values {
            let fits = |x: f64| if self.as_f32 { rounds_well(x) } else { f64::from(x as f32) == x };
            if pairs.iter().all(|&(_, x)| fits(x)) {
                return values_f32.extend(pairs.iter().map(|&(_, x)| x as f32));
            }
            self.convert_to_f64();
        }
        if let Values::F64(values_f64) = &mut self.values {
            values_f64.extend(pairs.iter().map(|&(_, x)| x));
        }
    }

    /// Stores all values in `f64` from now on.
    pub(crate) fn convert_to_f64(&mut self) {
        if let Values::F32(values_f32) = &self.values {
            let mut values_f64 = std::mem::take(&mut self.spare);
            values_f64.extend(values_f32.iter().map(|&x| f64::from(x)));
            self.values = Values::F64(values_f64);
        }
    }

    /// Rounds values to `f32` from now on. Values that are too large or too small for `f32` stay in `f64`.
    pub(crate) fn round_to_f32(&mut self) {
        self.as_f32 = true;
    }

    /// Whether all values are stored in `f32`.
    pub(crate) fn is_f32(&self) -> bool {
        matches!(self.values, Values::F32(_))
    }

    /// Returns the end of a span of at least one row with about `nonzeros` non-zeros, and the span's actual
    /// number.
    pub(crate) fn span_of(&self, start: usize, nonzeros: usize) -> (usize, usize) {
        let from = self.offsets[start];
        let end = self.offsets.partition_point(|&end| end <= from + nonzeros) - 1;
        let end = end.clamp(start + 1, (start + nonzeros.max(1)).min(self.len())); // rows may be empty
        (end, self.offsets[end] - from)
    }

    /// Reserves memory for the expected number of non-zeros, if available. Calls `advise` with the address
    /// and size of the memory.
    pub(crate) fn expect(&mut self, nonzeros: usize, advise: &dyn Fn(*const u8, usize)) {
        let values = match &mut self.values {
            Values::F32(values_f32) => values_f32
                .try_reserve_exact(nonzeros)
                .map(|()| (values_f32.as_ptr().cast(), 4 * values_f32.capacity())),
            Values::F64(values_f64) => values_f64
                .try_reserve_exact(nonzeros)
                .map(|()| (values_f64.as_ptr().cast(), 8 * values_f64.capacity())),
        };
        if let (Ok(()), Ok((start, bytes))) = (self.ids.try_reserve_exact(nonzeros), values) {
            advise(self.ids.as_ptr().cast(), 4 * self.ids.capacity());
            advise(start, bytes);
        }
    }

    /// Reserves memory for exactly this many rows and non-zeros, in `f32` if `as_f32`.
    pub(crate) fn reserve(&mut self, rows: usize, nonzeros: usize, as_f32: bool) {
        self.offsets.reserve_exact((rows + 1).saturating_sub(self.offsets.len()));
        self.ids.reserve_exact(nonzeros.saturating_sub(self.ids.len()));
        if !as_f32
            && let Values::F32(values_f32) = &self.values
            && values_f32.is_empty()
        {
            self.values = Values::F64(Vec::new());
        }
        match &mut self.values {
            Values::F32(values_f32) => values_f32.reserve_exact(nonzeros.saturating_sub(values_f32.len())),
            Values::F64(values_f64) => values_f64.reserve_exact(nonzeros.saturating_sub(values_f64.len())),
        }
    }

    /// Removes all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.offsets.truncate(1);
        self.ids.clear();
        match &mut self.values {
            Values::F32(values) => values.clear(),
            Values::F64(values_f64) => {
                values_f64.clear();
                self.spare = std::mem::take(values_f64);
                self.values = Values::F32(Vec::new());
            }
        }
        self.columns = 0;
    }

    /// Appends the rows of another block, with values rounded to `f32` if `as_f32`. The error is the number
    /// of a row with a value too large for `f32`.
    pub(crate) fn append(&mut self, more: &Rows, as_f32: bool) -> std::result::Result<(), usize> {
        match (&mut self.values, &more.values) {
            (Values::F32(own), Values::F32(more)) => own.extend_from_slice(more),
            (Values::F64(values_f64), Values::F64(more)) => values_f64.extend_from_slice(more),
            (Values::F64(values_f64), Values::F32(more)) => {
                values_f64.extend(more.iter().map(|&x| f64::from(x)))
            }
            (Values::F32(values_f32), Values::F64(values_f64)) if as_f32 => {
                let from = values_f32.len();
                values_f32.extend(values_f64.iter().map(|&x| x as f32));
                if let Some(k) = values_f32[from..].iter().position(|x| !x.is_finite()) {
                    return Err(more.offsets.partition_point(|&end| end <= k) - 1);
                }
            }
            (Values::F32(values_f32), Values::F64(more)) => {
                self.values = Values::F64(
                    values_f32.iter().map(|&x| f64::from(x)).chain(more.iter().copied()).collect(),
                );
            }
        }
        let from = self.ids.len();
        self.ids.extend_from_slice(&more.ids);
        self.offsets.extend(more.offsets[1..].iter().map(|&end| from + end));
        self.columns = self.columns.max(more.columns);
        Ok(())
    }

    /// Replaces each value by a function of its column and of itself.
    pub(crate) fn update(&mut self, f: impl Fn(usize, f64) -> f64 + Sync) {
        const SOME: usize = 1 << 16;
        let ids = self.ids.par_chunks(SOME);
        match &mut self.values {
            Values::F32(values) => values.par_chunks_mut(SOME).zip(ids).for_each(|(xs, ids)| {
                xs.iter_mut().zip(ids).for_each(|(x, id)| *x = f(*id as usize, f64::from(*x)) as f32);
            }),
            Values::F64(values) => values.par_chunks_mut(SOME).zip(ids).for_each(|(xs, ids)| {
                xs.iter_mut().zip(ids).for_each(|(x, id)| *x = f(*id as usize, *x));
            }),
        }
    }

    /// Divides each row by its Euclidean norm.
    pub(crate) fn normalise(&mut self) {
        for i in 0..self.len() {
            let span = self.offsets[i]..self.offsets[i + 1];
            let mut square = 0.0;
            self.borrow().for_each(i, |_, x| square += x * x);
            let length = if square > 0.0 { square.sqrt() } else { 1.0 };
            match &mut self.values {
                Values::F32(values) => {
                    values[span].iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
                }
                Values::F64(values) => values[span].iter_mut().for_each(|x| *x /= length),
            }
        }
    }

    /// Rounds all values to `f32`, which halves the memory traffic. The error is the number of the first row
    /// with a value too large for `f32`.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(0, 0.1)]).unwrap();
    /// let rounded = rows.clone().rounded_to_f32().unwrap();
    /// assert_eq!(rounded.borrow().dot(0, &[1.0]), f64::from(0.1f32));
    /// rows.push(&[(0, 1e300)]).unwrap();
    /// assert_eq!(rows.rounded_to_f32(), Err(1));
    /// ```
    pub fn rounded_to_f32(mut self) -> std::result::Result<Rows, usize> {
        if let Values::F64(values_f64) = &self.values {
            let values_f32: Vec<f32> = values_f64.par_iter().map(|&x| x as f32).collect();
            if let Some(k) = values_f32.iter().position(|x| !x.is_finite()) {
                return Err(self.offsets.partition_point(|&end| end <= k) - 1);
            }
            self.values = Values::F32(values_f32);
        }
        Ok(self)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns: one more than the highest id, or more if declared by [`Rows::declare_columns`].
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Declares that there are at least `columns` columns, whether or not they occur.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(1, 1.0)]).unwrap();
    /// rows.declare_columns(10);
    /// assert_eq!(rows.columns(), 10);
    /// rows.declare_columns(5); // at least five: nothing changes
    /// assert_eq!(rows.columns(), 10);
    /// ```
    pub fn declare_columns(&mut self, columns: usize) {
        self.columns = self.columns.max(columns);
    }

    /// Whether every id lies in a range.
    pub(crate) fn ids_are_in(&self, range: Range<usize>) -> bool {
        // Ids increase within a row, so checking its first and last id is enough.
        let first =
            |two: &[usize]| self.ids[two[0]..two[1]].first().is_none_or(|&id| id as usize >= range.start);
        let last =
            |two: &[usize]| self.ids[two[0]..two[1]].last().is_none_or(|&id| (id as usize) < range.end);
        self.offsets.par_windows(2).with_min_len(1 << 12).all(|two| first(two) && last(two))
    }

    /// Number of stored values.
    pub fn nonzeros(&self) -> usize {
        self.ids.len()
    }

    /// The ids of all rows, concatenated.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// A block of the selected rows, in the given order.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// [1.0, 2.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
    /// let drawn = rows.select(&[2, 0, 2]); // a row may be drawn twice
    /// let values: Vec<f64> = (0..3).map(|i| drawn.borrow().dot(i, &[1.0])).collect();
    /// assert_eq!(values, [3.0, 1.0, 3.0]);
    /// ```
    pub fn select(&self, numbers: &[usize]) -> Rows {
        let spans = || numbers.iter().map(|&i| self.offsets[i]..self.offsets[i + 1]);
        let mut offsets = vec![0];
        offsets.extend(spans().scan(0, |end, span| {
            *end += span.len();
            Some(*end)
        }));
        let ids = spans().flat_map(|span| self.ids[span].iter().copied()).collect();
        let values = match &self.values {
            Values::F32(v) => Values::F32(spans().flat_map(|span| v[span].iter().copied()).collect()),
            Values::F64(v) => Values::F64(spans().flat_map(|span| v[span].iter().copied()).collect()),
        };
        Rows { offsets, ids, values, columns: self.columns, ..Rows::new() }
    }

    /// Borrows the rows.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(0, 1.0), (2, 2.0)]).unwrap();
    /// let lent = rows.borrow(); // no copy, and as many of them as wanted
    /// assert_eq!((lent.nonzeros(), rows.borrow().dot(0, &[1.0, 0.0, 1.0])), (2, 3.0));
    /// ```
    pub fn borrow(&self) -> RowsRef<'_> {
        let values = match &self.values {
            Values::F32(v) => ValuesRef::F32(v),
            Values::F64(v) => ValuesRef::F64(v),
        };
        RowsRef { offsets: &self.offsets, ids: &self.ids, values, columns: self.columns, shared: None }
    }
}

/// Whether `f32` can approximate a number: it does not overflow, and only zero becomes zero.
#[inline]
fn rounds_well(x: f64) -> bool {
    let rounded = x as f32;
    rounded.is_finite() & ((rounded != 0.0) | (x == 0.0))
}
