//! Sparse rows by column (CSC), for solvers that update one weight at a time.
//!
//! Reads and writes skip the bounds check per element. The constructors guarantee that every row number is
//! below `height`, and each call checks once that the vectors have that length.

use super::column_store::{ColumnStore, USUAL, unit_of};
use crate::data::rows::{RowsRef, Value};
use crate::simd;

/// The non-zeros of each column, in ascending order of rows. A row number and its value are adjacent, which
/// costs one cache miss instead of two.
pub(crate) struct Columns<V> {
    offsets: Vec<usize>,
    entries: Vec<(u32, V)>, // row numbers are below `height`
    height: usize,
    units: Option<Vec<f64>>, // see `unit`
}

impl<V: Value> Columns<V> {
    /// The columns of some rows, whose values are `values`.
    pub fn of(rows: RowsRef, values: &[V]) -> Columns<V> {
        let (height, width) = (rows.len(), rows.columns());
        let mut offsets = vec![0; width + 1];
        rows.ids().iter().for_each(|&j| offsets[j as usize + 1] += 1);
        (0..width).for_each(|j| offsets[j + 1] += offsets[j]);
        let mut next = offsets.clone();
        let mut entries: Vec<(u32, V)> = Vec::with_capacity(rows.nonzeros());
        simd::advise_huge_pages(entries.as_ptr().cast(), rows.nonzeros() * size_of::<(u32, V)>());
        let room = entries.spare_capacity_mut();
        for i in 0..height {
            let row = rows.row(values, i);
            for (&j, &x) in row.ids.iter().zip(row.values) {
                let place = &mut next[j as usize];
                room[*place].write((i as u32, x));
                *place += 1;
            }
        }
        // SAFETY: the places of column j are offsets[j]..offsets[j + 1], as many as it has entries, and each
        // entry took the next of them (later ones would be out of `room`, and panic). So all of the first
        // `nonzeros` are written.
        #[allow(unsafe_code)]
        unsafe {
            entries.set_len(rows.nonzeros());
        }
        let usual = values.iter().all(|x| x.to_f64() == 0.0 || USUAL.contains(&x.to_f64().abs()));
        let mut columns = Columns { offsets, entries, height, units: None };
        columns.units = (!usual).then(|| (0..width).map(|j| unit_of(&columns, j)).collect());
        columns
    }

    /// Whether every column has a unit of one.
    pub fn are_usual(&self) -> bool {
        self.units.is_none()
    }

    /// The non-zeros of a column, as (row, value).
    pub fn column(&self, j: usize) -> &[(u32, V)] {
        &self.entries[self.offsets[j]..self.offsets[j + 1]]
    }
}

impl<V: Value> ColumnStore for Columns<V> {
    fn count(&self, j: usize) -> usize {
        self.offsets[j + 1] - self.offsets[j]
    }

    fn unit(&self, j: usize) -> f64 {
        self.units.as_ref().map_or(1.0, |units| units[j])
    }

    fn for_each(&self, j: usize, mut see: impl FnMut(usize, f64)) {
        self.column(j).iter().for_each(|(i, x)| see(*i as usize, x.to_f64()));
    }

    fn product(&self, j: usize, vector: &[f64]) -> f64 {
        assert_eq!(vector.len(), self.height);
        // SAFETY: rows are below `height`, which is the length of `vector`.
        #[allow(unsafe_code)]
        let term = |(i, x): (u32, V)| x.to_f64() * unsafe { *vector.get_unchecked(i as usize) };
        let (fours, rest) = self.column(j).as_chunks::<4>();
        let mut sums = [0.0; 4];
        for four in fours {
            for k in 0..4 {
                sums[k] += term(four[k]);
            }
        }
        let rest: f64 = rest.iter().map(|&entry| term(entry)).sum();
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest
    }
}
