//! Rows that own their arrays.

use super::{RowsRef, ValuesRef, broken};
use crate::error::Result;

/// The values of a block, all in one precision.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// Four bytes a value: also used for wider data that fit exactly (counts, ones).
    F32(Vec<f32>),
    /// Eight bytes a value.
    F64(Vec<f64>),
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
