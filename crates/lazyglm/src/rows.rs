//! `Rows`, the one currency between rooms: a block of sparse rows (CSR).
//!
//! Parsers make it, solvers eat it, other languages lend it without a copy ([`RowsRef`]). Its invariants are
//! checked once, when it is made, so that the kernel may rely on them for every non-zero:
//!
//! * `offsets` has one entry more than there are rows, starts at 0, never falls, and ends at the number of non-zeros;
//! * inside a row the ids rise strictly: sorted, no duplicates;
//! * every id is below `columns`, every value is finite.

use crate::error::{Error, Place, Result};

/// A number a value can be stored in: `f32` or `f64`.
///
/// ```
/// use lazyglm::Value;
/// fn mean<V: Value>(values: &[V]) -> f64 {
///     values.iter().map(|x| x.wide()).sum::<f64>() / values.len() as f64
/// }
/// assert_eq!(mean(&[1.0f32, 2.0]), mean(&[1.0f64, 2.0]));
/// assert_eq!(0.1f64.narrow(), 0.1f32);
/// ```
pub trait Value: Copy + Send + Sync + 'static {
    /// As `f64`, exactly.
    fn wide(self) -> f64;
    /// As `f32`, rounded to nearest.
    fn narrow(self) -> f32;
}

impl Value for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn narrow(self) -> f32 {
        self
    }
}

impl Value for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(self) -> f32 {
        self as f32
    }
}

/// One row: ids and values side by side, ids rising strictly. Only [`RowsRef::row`] makes one, so the order of
/// the ids can be relied on.
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
    /// The non-zeros, widened to `f64`.
    ///
    /// ```
    /// use lazyglm::{RowsRef, ValuesRef};
    /// let values = [0.5f32, 2.0];
    /// let rows = RowsRef::new(&[0, 2], &[1, 4], ValuesRef::F32(&values), 5).unwrap();
    /// assert_eq!(rows.row(&values, 0).iter().collect::<Vec<_>>(), [(1, 0.5), (4, 2.0)]);
    /// ```
    pub fn iter(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.ids.iter().zip(self.values).map(|(&id, &x)| (id as usize, x.wide()))
    }

    /// Σ xⱼwⱼ over the row's non-zeros, in f64.
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
}

/// The values of a block, all in one precision.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// Four bytes a value: also used for wider data that fit exactly (counts, ones).
    F32(Vec<f32>),
    /// Eight bytes a value.
    F64(Vec<f64>),
}

/// The values of a lent block, all in one precision.
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
    /// Four bytes a value.
    F32(&'a [f32]),
    /// Eight bytes a value.
    F64(&'a [f64]),
}

/// A block of sparse rows, owned.
///
/// ```
/// use lazyglm::Rows;
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0), (3, 2.5)]).unwrap();
/// rows.push(&[(1, -1.0)]).unwrap();
/// assert_eq!((rows.len(), rows.columns(), rows.nonzeros()), (2, 4, 3));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    offsets: Vec<usize>,
    ids: Vec<u32>,
    values: Values,
    columns: usize,
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::new()
    }
}

impl Rows {
    /// No rows yet.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// assert!(rows.is_empty());
    /// rows.push(&[]).unwrap(); // a row without features is a row
    /// assert_eq!((rows.len(), rows.columns()), (1, 0));
    /// ```
    pub fn new() -> Rows {
        Rows { offsets: vec![0], ids: Vec::new(), values: Values::F32(Vec::new()), columns: 0 }
    }

    /// Appends a row of (id, value) pairs, ids rising strictly. A value that `f32` cannot hold exactly widens
    /// the whole block to `f64`, so nothing is lost.
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
        if let Values::F32(narrow) = &mut self.values {
            if pairs.iter().all(|&(_, x)| f64::from(x as f32) == x) {
                return narrow.extend(pairs.iter().map(|&(_, x)| x as f32));
            }
            self.values = Values::F64(narrow.iter().map(|&x| f64::from(x)).collect());
        }
        if let Values::F64(wide) = &mut self.values {
            wide.extend(pairs.iter().map(|&(_, x)| x));
        }
    }

    /// The same rows with values rounded to `f32`: half the memory traffic for models in `f32`. The error is the
    /// number of the first row with a value too large for that.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(0, 0.1)]).unwrap();
    /// let narrow = rows.clone().narrowed().unwrap();
    /// assert_eq!(narrow.borrow().dot(0, &[1.0]), f64::from(0.1f32));
    /// rows.push(&[(0, 1e300)]).unwrap();
    /// assert_eq!(rows.narrowed(), Err(1));
    /// ```
    pub fn narrowed(mut self) -> std::result::Result<Rows, usize> {
        if let Values::F64(wide) = &self.values {
            let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
            if let Some(k) = narrow.iter().position(|x| !x.is_finite()) {
                return Err(self.offsets.partition_point(|&end| end <= k) - 1);
            }
            self.values = Values::F32(narrow);
        }
        Ok(self)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest id, or more if declared by [`Rows::declare_columns`].
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Says that there are at least this many columns, seen or not.
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

    /// How many values are stored.
    pub fn nonzeros(&self) -> usize {
        self.ids.len()
    }

    /// All ids, row after row.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Renames every id by a strictly increasing map into `0..columns`, so that rows stay sorted; refuses any other.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(1, 1.0), (700, 2.0)]).unwrap();
    /// rows.rename(2, |id| u32::from(id > 1)).unwrap(); // a column each for the two that occur
    /// assert_eq!((rows.ids(), rows.columns()), (&[0, 1][..], 2));
    /// assert!(rows.clone().rename(2, |_| 0).is_err(), "two ids became one");
    /// ```
    pub fn rename(&mut self, columns: usize, rename: impl Fn(u32) -> u32) -> Result<()> {
        let ids: Vec<u32> = self.ids.iter().map(|&id| rename(id)).collect();
        RowsRef::new(&self.offsets, &ids, self.borrow().values, columns)?; // the rows stay as they were if it fails
        (self.ids, self.columns) = (ids, columns);
        Ok(())
    }

    /// The rows with these numbers, in this order.
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
        Rows { offsets, ids, values, columns: self.columns }
    }

    /// Lends the rows.
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
        RowsRef { offsets: &self.offsets, ids: &self.ids, values, columns: self.columns }
    }
}

/// A block of sparse rows, lent by whoever owns the arrays.
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
    offsets: &'a [usize],
    ids: &'a [u32],
    values: ValuesRef<'a>,
    columns: usize,
}

impl<'a> RowsRef<'a> {
    /// Checks the invariants and lends the arrays.
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
            ValuesRef::F32(v) => (v.len(), v.iter().all(|x| x.is_finite())),
            ValuesRef::F64(v) => (v.len(), v.iter().all(|x| x.is_finite())),
        };
        let ends = offsets.first() == Some(&0) && offsets.last() == Some(&ids.len());
        if !ends || count != ids.len() || offsets.windows(2).any(|two| two[0] > two[1]) {
            return Err(broken("offsets, ids and values that do not fit together"));
        }
        let rising = |span: &[usize]| ids[span[0]..span[1]].windows(2).all(|two: &[u32]| two[0] < two[1]);
        if !offsets.windows(2).all(rising) {
            return Err(broken("a row whose ids do not rise strictly"));
        }
        if ids.iter().any(|&id| id as usize >= columns) {
            return Err(broken("an id beyond the last column"));
        }
        if !finite {
            return Err(broken("a value that is not finite"));
        }
        Ok(RowsRef { offsets, ids, values, columns })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many columns there are; every id is below it.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many values are stored.
    pub fn nonzeros(&self) -> usize {
        self.ids.len()
    }

    /// The values, to choose the code for their precision once a block.
    pub fn values(&self) -> ValuesRef<'a> {
        self.values
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
        let span = self.offsets[i]..self.offsets[i + 1];
        Row { ids: &self.ids[span.clone()], values: &values[span] }
    }

    /// Hands the place where row `i`'s span is written to a prefetcher.
    #[inline(always)]
    pub(crate) fn prefetch_span(&self, i: usize, prefetch: impl Fn(&[usize])) {
        prefetch(&self.offsets[i..i + 2]);
    }

    /// Calls `see(id, value)` for the non-zeros of row `i`, widened.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(0, 3.0), (7, -4.0)]).unwrap();
    /// let mut square = 0.0;
    /// rows.borrow().for_each(0, |_id, x| square += x * x);
    /// assert_eq!(square, 25.0);
    /// ```
    pub fn for_each(&self, i: usize, mut see: impl FnMut(usize, f64)) {
        match self.values {
            ValuesRef::F32(v) => self.row(v, i).iter().for_each(|(j, x)| see(j, x)),
            ValuesRef::F64(v) => self.row(v, i).iter().for_each(|(j, x)| see(j, x)),
        }
    }

    /// Σ xⱼwⱼ of row `i`, in f64.
    ///
    /// ```
    /// let mut rows = lazyglm::Rows::new();
    /// rows.push(&[(0, 3.0), (2, -4.0)]).unwrap();
    /// assert_eq!(rows.borrow().dot(0, &[1.0, 100.0, 0.5]), 1.0);
    /// ```
    pub fn dot(&self, i: usize, weights: &[f64]) -> f64 {
        match self.values {
            ValuesRef::F32(v) => self.row(v, i).dot(weights),
            ValuesRef::F64(v) => self.row(v, i).dot(weights),
        }
    }
}

/// What a solver learns from: rows, one target each, and a weight each unless all are one.
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
    /// The features.
    pub rows: RowsRef<'a>,
    /// ±1 for classes, real otherwise.
    pub targets: &'a [f64],
    /// Positive, with mean one; `None` when all are one.
    pub weights: Option<&'a [f64]>,
}

impl<'a> Examples<'a> {
    /// Checks that there is one finite target, and one positive finite weight, for each row.
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

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

fn broken(what: &str) -> Error {
    Error::data(Place::default(), what, "sort each row's ids, sum its duplicates and check the arrays")
}
