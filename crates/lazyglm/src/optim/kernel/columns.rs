//! Sparse rows by column (CSC), for solvers that update one weight at a time.
//!
//! Reads and writes skip the bounds check per element. The constructors guarantee that every row number is
//! below `height`, and each call checks once that the vectors have that length.

use super::F32Columns;
use crate::data::rows::{RowsRef, Value};
use crate::simd;
use rayon::prelude::*;

/// The non-zeros of each column, in ascending order of rows. A row number and its value are adjacent, which
/// costs one cache miss instead of two.
pub(crate) struct Columns<V> {
    offsets: Vec<usize>,
    entries: Vec<(u32, V)>, // row numbers are below `height`
    height: usize,
    units: Option<Vec<f64>>, // see `unit`
}

/// Range of magnitudes that are copied without rescaling, because f32 can hold their squares.
const USUAL: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

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
        columns.units = (!usual).then(|| (0..width).map(|j| columns.unit_of(j)).collect());
        columns
    }

    /// A power of two that scales the values of a column so that f32 can hold them and their squares. One for
    /// values of usual magnitude.
    pub fn unit(&self, j: usize) -> f64 {
        self.units.as_ref().map_or(1.0, |units| units[j])
    }

    /// Whether every column has a unit of one.
    pub fn are_usual(&self) -> bool {
        self.units.is_none()
    }

    fn unit_of(&self, j: usize) -> f64 {
        let largest = self.column(j).iter().fold(0.0, |most: f64, (_, x)| most.max(x.to_f64().abs()));
        if largest == 0.0 || USUAL.contains(&largest) {
            return 1.0;
        }
        2f64.powi(-(largest.log2().floor() as i32).clamp(-1022, 1022))
    }

    /// Number of non-zeros in a column.
    pub fn count(&self, j: usize) -> usize {
        self.offsets[j + 1] - self.offsets[j]
    }

    /// The non-zeros of a column, as (row, value).
    pub fn column(&self, j: usize) -> &[(u32, V)] {
        &self.entries[self.offsets[j]..self.offsets[j + 1]]
    }

    /// The rows in which a column is not zero.
    pub fn rows_of(&self, j: usize) -> impl Iterator<Item = usize> {
        self.column(j).iter().map(|(i, _)| *i as usize)
    }

    /// The products Σᵢ xᵢⱼ·vᵢ for all columns.
    pub fn products(&self, vector: &[f64], products: &mut [f64]) {
        assert_eq!(vector.len(), self.height);
        products.par_iter_mut().with_min_len(512).enumerate().for_each(|(j, product)| {
            *product = self.product(j, vector);
        });
    }

    fn product(&self, j: usize, vector: &[f64]) -> f64 {
        // SAFETY: rows are below `height`, which is the length of `vector`: the caller has just checked it.
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

    /// Adds a multiple of a column to a vector: vᵢ ← vᵢ + a·xᵢⱼ.
    pub fn add(&self, j: usize, a: f64, vector: &mut [f64]) {
        self.column(j).iter().for_each(|(i, x)| vector[*i as usize] += a * x.to_f64());
    }

    /// A copy of these columns in f32, each multiplied by its unit and √a.
    ///
    /// It contains the rows for which `place` gives a position in `roots` (√a of those rows). Also returns Σ
    /// xᵢ²·aᵢ per column, over the rows kept and over the others.
    pub fn to_f32(
        &self,
        columns: &[u32],
        place: &[u32],
        roots: &[f32],
        a: &[f64],
    ) -> (F32Columns, Vec<[f64; 2]>) {
        let room = columns.iter().map(|&j| self.count(j as usize)).sum();
        let mut entries = Vec::with_capacity(room);
        let mut offsets = Vec::with_capacity(columns.len() + 1);
        offsets.push(0);
        let mut squares = Vec::with_capacity(columns.len());
        for &j in columns {
            let unit = self.unit(j as usize);
            let mut square = [0.0; 2];
            for &(i, x) in self.column(j as usize) {
                let (to, wide) = (place[i as usize], unit * x.to_f64());
                let root = roots.get(to as usize);
                square[usize::from(root.is_none())] += wide * wide * a[i as usize];
                if let Some(root) = root {
                    let rounded = if unit == 1.0 { x.to_f32() } else { wide as f32 };
                    entries.push((to, rounded * root));
                }
            }
            squares.push(square);
            offsets.push(entries.len());
        }
        (F32Columns::trusted(offsets, entries, roots.len()), squares)
    }
}
