//! Rows in shared memory that other threads may write to, such as numpy arrays after the GIL is released.
//!
//! A check may become invalid after it was made. So the ids of each row are copied, the copy is checked, and
//! only the copy is used. Whatever is written to the arrays meanwhile, no id is out of range. A row that
//! fails the check counts as empty and sets a flag, which the lender of the rows reads.

use super::{Row, RowsRef, Value};
use std::sync::atomic::{AtomicBool, Ordering};

/// Provides the ids of one row at a time, copied if their memory is shared.
pub(crate) struct PrivateIds<'a> {
    changed: Option<&'a AtomicBool>,
    columns: usize,
    ids: Vec<u32>,
}

impl<'a> PrivateIds<'a> {
    /// A provider for the rows of this block.
    pub fn of(rows: RowsRef<'a>) -> PrivateIds<'a> {
        PrivateIds { changed: rows.shared, columns: rows.columns, ids: Vec::new() }
    }

    /// The row with private ids, which increase strictly and lie below the number of columns.
    #[inline(always)]
    pub fn row<'r, V: Value>(&'r mut self, row: Row<'r, V>) -> Row<'r, V> {
        let Some(changed) = self.changed else { return row };
        self.ids.clear();
        self.ids.extend_from_slice(row.ids);
        let rise =
            self.ids.iter().zip(self.ids.iter().skip(1)).fold(true, |all, (id, next)| all & (id < next));
        if !rise || self.ids.last().is_some_and(|&last| last as usize >= self.columns) {
            changed.store(true, Ordering::Relaxed);
            return Row { ids: &[], values: &[] };
        }
        Row { ids: &self.ids, values: row.values }
    }
}

impl<'a> RowsRef<'a> {
    /// Marks the rows as shared memory that others may write to. Readers then check every id before use, and
    /// set `changed` if a row is no longer valid.
    ///
    /// ```
    /// use lazyglm::{RowsRef, ValuesRef};
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// let changed = AtomicBool::new(false);
    /// let rows = RowsRef::new(&[0, 1], &[2], ValuesRef::F32(&[1.5]), 3).unwrap().shared(&changed);
    /// assert_eq!((rows.dot(0, &[0.0, 0.0, 2.0]), changed.load(Ordering::Relaxed)), (3.0, false));
    /// ```
    pub fn shared(self, changed: &'a AtomicBool) -> RowsRef<'a> {
        RowsRef { shared: Some(changed), ..self }
    }

    /// The row, or an empty row if its last id is out of range, in which case the flag is set.
    #[inline(always)]
    pub(crate) fn in_range<'r, V: Value>(&self, row: Row<'r, V>) -> Row<'r, V> {
        match self.shared {
            Some(changed) if row.ids.last().is_some_and(|&last| last as usize >= self.columns) => {
                changed.store(true, Ordering::Relaxed);
                Row { ids: &[], values: &[] }
            }
            _ => row,
        }
    }

    /// The span of row `i`, or an empty span if the offsets are no longer valid, in which case the flag is
    /// set.
    #[inline(always)]
    pub(super) fn span(&self, i: usize) -> std::ops::Range<usize> {
        let span = self.offsets[i]..self.offsets[i + 1];
        match self.shared {
            Some(changed) if span.start > span.end || span.end > self.ids.len() => {
                changed.store(true, Ordering::Relaxed);
                0..0
            }
            _ => span,
        }
    }

    /// Calls `see(id, value)` for a row in shared memory. Ids out of range are skipped and set the flag.
    pub(super) fn for_each_in_range<V: Value>(
        &self,
        row: Row<V>,
        changed: &AtomicBool,
        mut see: impl FnMut(usize, f64),
    ) {
        for (j, x) in row.iter() {
            match j < self.columns {
                true => see(j, x),
                false => changed.store(true, Ordering::Relaxed),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::ValuesRef;

    #[test]
    fn what_is_no_row_any_more_is_empty_and_raises_the_flag() {
        let values = [1.0f32, 2.0, 3.0];
        for (offsets, ids) in [
            ([0, 2, 3], [1, 9, 0]), // an id out of range
            ([0, 2, 3], [4, 1, 0]), // decreasing ids
            ([2, 0, 3], [0, 1, 2]), // a span that ends before it begins
            ([0, 9, 3], [0, 1, 2]), // a span that ends after the last id
        ] {
            let changed = AtomicBool::new(false);
            // As if another thread wrote to the rows after the check.
            let rows = RowsRef::trusted(&offsets, &ids, ValuesRef::F32(&values), 5).shared(&changed);
            let mut private = PrivateIds::of(rows);
            assert_eq!(private.row(rows.row(&values, 0)).iter().count(), 0, "{offsets:?} {ids:?}");
            assert!(changed.swap(false, Ordering::Relaxed), "{offsets:?} {ids:?}");
            rows.for_each(0, |j, _| assert!(j < 5));
            assert!(rows.dot(0, &[1.0; 5]).is_finite());
        }
        let changed = AtomicBool::new(false);
        let rows = RowsRef::trusted(&[0, 2, 3], &[1, 4, 0], ValuesRef::F32(&values), 5).shared(&changed);
        let kept: Vec<_> = PrivateIds::of(rows).row(rows.row(&values, 0)).iter().collect();
        assert_eq!((kept, changed.into_inner()), (vec![(1, 1.0), (4, 2.0)], false));
    }
}
