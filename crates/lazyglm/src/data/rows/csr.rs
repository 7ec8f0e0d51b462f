//! A CSR matrix in the forms that scipy has: ids of 32 or 64 bits, in any order, duplicates allowed, room behind the last value.

use super::{RowsRef, Value, ValuesRef};
use crate::util::error::{Error, Place, Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// A CSR matrix as arrays that somebody else owns, and may write to.
#[derive(Clone, Copy)]
pub struct Csr<'a> {
    /// Where rows begin; the last entry is the end of the last row.
    pub offsets: &'a [usize],
    /// The column of each value.
    pub ids: Ids<'a>,
    /// The values.
    pub values: ValuesRef<'a>,
    /// The number of columns.
    pub columns: usize,
}

/// The columns of a CSR matrix.
#[derive(Clone, Copy)]
pub enum Ids<'a> {
    /// 32 bits.
    U32(&'a [u32]),
    /// 64 bits.
    I64(&'a [i64]),
}

/// A CSR matrix whose every index was checked.
#[derive(Clone, Copy)]
pub enum CheckedCsr<'a> {
    /// Ids rise in each row.
    Sorted(RowsRef<'a>),
    /// Rows must be put in order.
    Loose(Csr<'a>),
}

impl<'a> Csr<'a> {
    /// Checks every index and every value. `changed` is set when the arrays are later seen to have changed.
    pub fn checked(self, changed: &'a AtomicBool) -> Result<CheckedCsr<'a>> {
        self.sorted_or_loose(changed).map_err(|error| self.not_finite_at().unwrap_or(error))
    }

    fn sorted_or_loose(mut self, changed: &'a AtomicBool) -> Result<CheckedCsr<'a>> {
        let count = match self.ids {
            Ids::U32(ids) => ids.len(),
            Ids::I64(ids) => ids.len(),
        };
        let last = self.offsets.last().copied().unwrap_or(usize::MAX);
        if self.offsets.first() != Some(&0) || last > count || last > self.values.len() {
            let what = "indptr does not begin at 0, or ends beyond indices and data";
            return Err(refused(what, "build the matrix again"));
        }
        self = self.cut(last); // scipy may keep room behind the last value
        if let Ids::U32(ids) = self.ids
            && let Ok(rows) = RowsRef::new(self.offsets, ids, self.values, self.columns)
        {
            return Ok(CheckedCsr::Sorted(rows.shared(changed)));
        }
        if let Some(row) = self.offsets.windows(2).position(|two| two[0] > two[1]) {
            return Err(refused(&format!("indptr falls at row {row}"), "build the matrix again"));
        }
        let outside = match self.ids {
            Ids::U32(ids) => ids.iter().position(|&id| id as usize >= self.columns),
            Ids::I64(ids) => ids.iter().position(|&id| id < 0 || id as usize >= self.columns),
        };
        if let Some(k) = outside {
            let row = self.offsets.partition_point(|&end| end <= k) - 1;
            let id = match self.ids {
                Ids::U32(ids) => i64::from(ids[k] as i32),
                Ids::I64(ids) => ids[k],
            };
            let what = format!("row {row} has a value in column {id} of {}", self.columns);
            return Err(refused(&what, "columns count from 0 and are below the number of features"));
        }
        match self.values.all_finite() {
            true => Ok(CheckedCsr::Loose(self)),
            false => Err(not_finite()),
        }
    }

    /// Calls `see(column, value)` for the values of a row, as long as they are in range.
    pub fn for_each<V: Copy>(
        &self,
        values: &[V],
        row: usize,
        changed: &AtomicBool,
        mut see: impl FnMut(u32, V),
    ) {
        let (start, end) = (self.offsets[row], self.offsets[row + 1]);
        let Some(values) = values.get(start..end) else { return changed.store(true, Ordering::Relaxed) };
        for (k, &x) in (start..end).zip(values) {
            let id = match self.ids {
                Ids::U32(ids) => ids.get(k).map(|&id| u64::from(id)),
                Ids::I64(ids) => ids.get(k).map(|&id| id as u64), // a negative one is far above
            };
            match id {
                Some(id) if id < self.columns as u64 => see(id as u32, x),
                _ => changed.store(true, Ordering::Relaxed),
            }
        }
    }

    /// Appends a row in order, with its duplicates summed.
    pub fn gather<V: Value>(
        &self,
        values: &[V],
        row: usize,
        changed: &AtomicBool,
        pairs: &mut Vec<(u32, V)>,
        of_f64: fn(f64) -> V,
    ) {
        self.for_each(values, row, changed, |id, x| pairs.push((id, x)));
        if pairs.windows(2).all(|two| two[0].0 < two[1].0) {
            return;
        }
        pairs.sort_by_key(|&(id, _)| id);
        pairs.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = of_f64(kept.1.to_f64() + next.1.to_f64());
            }
            same
        });
    }

    /// The error for the first value that is NaN or infinite, if there is one.
    fn not_finite_at(&self) -> Option<Error> {
        let first = |values: &mut dyn Iterator<Item = f64>| values.enumerate().find(|(_, x)| !x.is_finite());
        let end = *self.offsets.last()?;
        let (k, x) = match self.values {
            ValuesRef::F32(values) => first(&mut values.iter().take(end).map(|&x| f64::from(x))),
            ValuesRef::F64(values) => first(&mut values.iter().take(end).copied()),
        }?;
        let what = if x.is_nan() { "NaN" } else { "infinity" };
        let row = self.offsets.partition_point(|&end| end <= k).saturating_sub(1);
        let column = match self.ids {
            Ids::U32(ids) => i64::from(*ids.get(k)?),
            Ids::I64(ids) => *ids.get(k)?,
        };
        let what = format!("the value in row {row}, column {column} is {what}");
        Some(refused(&what, "replace it with a finite number (rows and columns count from 0)"))
    }

    fn cut(self, end: usize) -> Csr<'a> {
        Csr {
            ids: match self.ids {
                Ids::U32(ids) => Ids::U32(&ids[..end]),
                Ids::I64(ids) => Ids::I64(&ids[..end]),
            },
            values: match self.values {
                ValuesRef::F32(values) => ValuesRef::F32(&values[..end]),
                ValuesRef::F64(values) => ValuesRef::F64(&values[..end]),
            },
            ..self
        }
    }
}

impl ValuesRef<'_> {
    fn len(&self) -> usize {
        match self {
            ValuesRef::F32(values) => values.len(),
            ValuesRef::F64(values) => values.len(),
        }
    }

    fn all_finite(&self) -> bool {
        match self {
            ValuesRef::F32(values) => values.iter().all(|x| x.is_finite()),
            ValuesRef::F64(values) => values.iter().all(|x| x.is_finite()),
        }
    }
}

/// The error for a matrix with values that are not finite.
pub fn not_finite() -> Error {
    refused("X contains NaN, infinity or a value too large", "replace or scale such values")
}

fn refused(what: &str, hint: &str) -> Error {
    Error::data(Place::file("X"), what, hint)
}
