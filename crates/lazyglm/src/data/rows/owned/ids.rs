//! Renaming the ids of rows.

use super::{Rows, Values};
use crate::data::rows::{RowsRef, broken};
use crate::util::error::Result;
use rayon::prelude::*;

impl Rows {
    /// The rows with renamed ids, sorted again, with values of equal ids summed. The error is the number of a
    /// row whose sum is not finite.
    pub(crate) fn renamed(
        &self,
        rename: &mut (dyn FnMut(u32) -> u32 + '_),
    ) -> std::result::Result<Rows, usize> {
        let (mut rows, mut pairs, borrowed) = (Rows::new(), Vec::new(), self.borrow());
        for i in 0..borrowed.len() {
            pairs.clear();
            borrowed.for_each(i, |id, x| pairs.push((rename(id as u32), x)));
            pairs.sort_by_key(|&(id, _)| id);
            pairs.dedup_by(|next: &mut (u32, f64), kept| {
                let same = next.0 == kept.0;
                kept.1 += if same { next.1 } else { 0.0 };
                same
            });
            pairs.retain(|&(_, x)| x != 0.0);
            rows.push(&pairs).map_err(|_| i)?;
        }
        Ok(rows)
    }

    /// Renumbers the ids and sorts each row by the new numbers. Fails if two ids of one row get the same
    /// number, and the rows must not be used after that.
    pub(crate) fn renumber(&mut self, number: &dyn Fn(u32) -> u32) -> Result<()> {
        let Rows { offsets, ids, values, columns, .. } = self;
        let (mut keys, mut short, mut wide) = (Vec::new(), Vec::new(), Vec::new());
        *columns = 0;
        for span in offsets.windows(2).map(|two| two[0]..two[1]) {
            // Sorting a combined key of number and position is twice as fast as sorting pairs.
            keys.clear();
            keys.extend((0..).zip(&ids[span.clone()]).map(|(k, &id)| u64::from(number(id)) << 32 | k));
            keys.sort_unstable();
            if keys.windows(2).any(|two| two[0] >> 32 == two[1] >> 32) {
                return Err(broken("two ids with one number"));
            }
            ids[span.clone()].iter_mut().zip(&keys).for_each(|(id, key)| *id = (key >> 32) as u32);
            match values {
                Values::F32(values) => arrange(&mut values[span.clone()], &keys, &mut short),
                Values::F64(values) => arrange(&mut values[span.clone()], &keys, &mut wide),
            }
            *columns = ids[span].last().map_or(0, |&last| last as usize + 1).max(*columns);
        }
        Ok(())
    }

    /// Subtracts `base` from every id and declares the columns. Fails if an id lies below `base` or beyond
    /// the columns, because the kernel relies on valid ids.
    pub(crate) fn count_from(&mut self, base: u32, columns: usize) -> Result<()> {
        if !self.ids_are_in(base as usize..columns.saturating_add(base as usize)) {
            return Err(broken("an id that stands for no column"));
        }
        if base > 0 {
            self.ids.par_chunks_mut(1 << 16).for_each(|ids| ids.iter_mut().for_each(|id| *id -= base));
        }
        self.columns = columns;
        Ok(())
    }

    /// Renames every id by a strictly increasing map into `0..columns`, so that rows stay sorted. Fails for
    /// any other map.
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
        RowsRef::new(&self.offsets, &ids, self.borrow().values, columns)?; // on failure, the rows stay unchanged
        (self.ids, self.columns) = (ids, columns);
        Ok(())
    }
}

/// Permutes the values of a row by the sort keys.
fn arrange<V: Copy>(values: &mut [V], keys: &[u64], before: &mut Vec<V>) {
    before.clear();
    before.extend_from_slice(values);
    values.iter_mut().zip(keys).for_each(|(value, &key)| *value = before[key as u32 as usize]);
}
