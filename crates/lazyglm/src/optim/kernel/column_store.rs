//! Access to sparse data by column, whatever their layout in memory.

use super::{CompactColumns, F32Columns};
use rayon::prelude::*;

/// Range of magnitudes that are copied without rescaling, because f32 can hold their squares.
pub(super) const USUAL: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

/// Sparse data that can be read one column at a time, in ascending order of rows.
pub(crate) trait ColumnStore: Sync {
    /// Number of non-zeros in a column.
    fn count(&self, j: usize) -> usize;

    /// A power of two that scales the values of a column so that f32 can hold them and their squares. One for
    /// values of usual magnitude.
    fn unit(&self, j: usize) -> f64;

    /// Calls `see(row, value)` for each non-zero of a column.
    fn for_each(&self, j: usize, see: impl FnMut(usize, f64));

    /// The product Σᵢ xᵢⱼ·vᵢ.
    fn product(&self, j: usize, vector: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.for_each(j, |i, x| sum += x * vector[i]);
        sum
    }

    /// The products Σᵢ xᵢⱼ·vᵢ for all columns.
    fn products(&self, vector: &[f64], products: &mut [f64]) {
        products.par_iter_mut().with_min_len(512).enumerate().for_each(|(j, product)| {
            *product = self.product(j, vector);
        });
    }

    /// Adds a multiple of a column to a vector: vᵢ ← vᵢ + a·xᵢⱼ.
    fn add(&self, j: usize, a: f64, vector: &mut [f64]) {
        self.for_each(j, |i, x| vector[i] += a * x);
    }

    /// The store itself, if a copy of these columns would take too much memory.
    fn instead_of_copy(&self, _columns: &[u32]) -> Option<&CompactColumns> {
        None
    }

    /// A copy of these columns in f32, each multiplied by its unit and √a.
    ///
    /// It contains the rows for which `place` gives a position in `roots` (√a of those rows). Also returns Σ
    /// xᵢ²·aᵢ per column, over the rows kept and over the others.
    fn to_f32(
        &self,
        columns: &[u32],
        place: &[u32],
        roots: &[f32],
        a: &[f64],
    ) -> (F32Columns, Vec<[f64; 2]>) {
        let room = columns.iter().map(|&j| self.count(j as usize)).sum::<usize>();
        // The numbers of a row are adjacent: one cache miss instead of three.
        let of_row = |(&to, &a): (&u32, &f64)| match roots.get(to as usize) {
            Some(&root) => (to, root, a),
            None => (u32::MAX, 0.0, a),
        };
        let of_rows: Vec<(u32, f32, f64)> = place.iter().zip(a).map(of_row).collect();
        let mut entries = vec![(0u32, 0f32); room + 1];
        let mut offsets = Vec::with_capacity(columns.len() + 1);
        offsets.push(0);
        let (mut squares, mut len) = (Vec::with_capacity(columns.len()), 0);
        for &j in columns {
            let (unit, mut kept, mut rest) = (self.unit(j as usize), 0.0, 0.0);
            if roots.len() == place.len() {
                self.for_each(j as usize, |i, x| {
                    let ((to, root, a), wide) = (of_rows[i], unit * x);
                    entries[len] = (to, wide as f32 * root);
                    len += 1;
                    kept += wide * wide * a;
                });
                squares.push([kept, 0.0]);
                offsets.push(len);
                continue;
            }
            // Every entry is written, and the next one overwrites it unless its row is kept. This avoids a branch.
            self.for_each(j as usize, |i, x| {
                let ((to, root, a), wide) = (of_rows[i], unit * x);
                let (is_kept, square) = (to != u32::MAX, wide * wide * a);
                entries[len] = (to, wide as f32 * root);
                len += usize::from(is_kept);
                kept += if is_kept { square } else { 0.0 };
                rest += if is_kept { 0.0 } else { square };
            });
            squares.push([kept, rest]);
            offsets.push(len);
        }
        entries.truncate(len);
        (F32Columns::trusted(offsets, entries, roots.len()), squares)
    }
}

/// The unit of a column: see [`ColumnStore::unit`].
pub(super) fn unit_of(columns: &impl ColumnStore, j: usize) -> f64 {
    let mut largest: f64 = 0.0;
    columns.for_each(j, |_, x| largest = largest.max(x.abs()));
    if largest == 0.0 || USUAL.contains(&largest) {
        return 1.0;
    }
    2f64.powi(-(largest.log2().floor() as i32).clamp(-1022, 1022))
}
