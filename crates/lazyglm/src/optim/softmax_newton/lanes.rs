//! Sums over the non-zeros of a row or a column, for all classes at once.
//!
//! ```text
//! XW: out of row i = Σⱼ xᵢⱼ·(row j of W)          XᵀR: out of column j = Σᵢ xᵢⱼ·(row i of R)
//! ```
//!
//! The numbers of one row or one feature, one per class, stand side by side in blocks of eight. Unused places
//! of the last block are zero.

use crate::data::rows::{Row, RowsRef, Value};
use crate::optim::kernel::{ColumnStore, Columns};
use crate::simd::{self, Work};
use rayon::prelude::*;
use std::ops::{Add, Mul};

/// Number of classes per block.
pub(super) const WIDE: usize = 8;
/// The numbers of eight classes.
pub(super) type Block<T> = [T; WIDE];
/// Number of rows or columns that one task handles.
const CHUNK: usize = 256;

/// The precision of a sum: f32 inside the quadratic model, f64 elsewhere.
pub(super) trait Number:
    Copy + Default + Send + Sync + Add<Output = Self> + Mul<Output = Self>
{
    /// Converts a value of a column with this unit. In f32, values are in units of the column, because f32
    /// cannot hold all values of f64.
    fn of(x: f64, unit: f64) -> Self;
}

impl Number for f32 {
    #[inline(always)]
    fn of(x: f64, unit: f64) -> f32 {
        (x * unit) as f32
    }
}

impl Number for f64 {
    #[inline(always)]
    fn of(x: f64, _: f64) -> f64 {
        x
    }
}

/// Adds Σ x·(vector `i` of `from`) to `out`. The number of blocks is known at compile time, so that the sums stay in
/// registers.
///
/// Inner loops go over indices. Closures and iterators that are zipped may be compiled apart, for the baseline
/// processor, and are then called once per non-zero.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn accumulate<const B: usize, T: Number>(
    entries: impl Iterator<Item = (usize, T)>,
    from: &[Block<T>],
    out: &mut [Block<T>],
) {
    let (vectors, _) = from.as_chunks::<B>();
    let mut sums = [[T::default(); WIDE]; B];
    for (i, x) in entries {
        add_multiple(&mut sums, x, &vectors[i]);
    }
    let out = &mut out[..B];
    for b in 0..B {
        out[b] = std::array::from_fn(|l| out[b][l] + sums[b][l]);
    }
}

/// Like `accumulate`, for any number of blocks.
#[inline(always)]
fn accumulate_any<T: Number>(
    entries: impl Iterator<Item = (usize, T)>,
    from: &[Block<T>],
    out: &mut [Block<T>],
) {
    let blocks = out.len();
    for (i, x) in entries {
        add_multiple(out, x, &from[i * blocks..][..blocks]);
    }
}

/// The columns and values of a row.
#[inline(always)]
fn row_entries<'a, T: Number, V: Value>(row: Row<'a, V>) -> impl Iterator<Item = (usize, T)> + use<'a, T, V> {
    row.ids.iter().zip(row.values).map(|(j, x)| (*j as usize, T::of(x.to_f64(), 1.0)))
}

/// The rows and values of a column.
#[inline(always)]
fn column_entries<'a, T: Number, V: Value>(
    columns: &'a Columns<V>,
    j: u32,
) -> impl Iterator<Item = (usize, T)> + use<'a, T, V> {
    let unit = columns.unit(j as usize);
    columns.column(j as usize).iter().map(move |(i, x)| (*i as usize, T::of(x.to_f64(), unit)))
}

/// The update out ← out + x·vector.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // see `accumulate`
pub(super) fn add_multiple<T: Number>(out: &mut [Block<T>], x: T, vector: &[Block<T>]) {
    let vector = &vector[..out.len()];
    for b in 0..out.len() {
        for l in 0..WIDE {
            out[b][l] = out[b][l] + x * vector[b][l];
        }
    }
}

/// The dot product of two vectors of one number per class.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // see `accumulate`
pub(super) fn dot<T: Number>(a: &[Block<T>], b: &[Block<T>]) -> T {
    let mut sums = [T::default(); WIDE];
    let b = &b[..a.len()];
    for at in 0..a.len() {
        for l in 0..WIDE {
            sums[l] = sums[l] + a[at][l] * b[at][l];
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// Adds XW to `out`, for all rows. `weights` has a vector per column.
pub(super) fn add_by_rows<T: Number, V: Value>(
    rows: RowsRef,
    values: &[V],
    weights: &[Block<T>],
    out: &mut [Block<T>],
) {
    let blocks = out.len() / rows.len().max(1);
    if blocks > 0 {
        out.par_chunks_mut(CHUNK * blocks).enumerate().for_each(|(chunk, out)| {
            simd::fastest(ByRows { rows, values, weights, out, first: chunk * CHUNK, blocks });
        });
    }
}

struct ByRows<'a, T, V> {
    rows: RowsRef<'a>,
    values: &'a [V],
    weights: &'a [Block<T>],
    out: &'a mut [Block<T>],
    first: usize,
    blocks: usize,
}

impl<T: Number, V: Value> ByRows<'_, T, V> {
    #[inline(always)]
    fn of<const B: usize>(self) {
        for (at, out) in self.out.chunks_mut(B).enumerate() {
            accumulate::<B, T>(row_entries(self.rows.row(self.values, self.first + at)), self.weights, out);
        }
    }
}

impl<T: Number, V: Value> Work for ByRows<'_, T, V> {
    type Answer = ();
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) {
        match self.blocks {
            1 => self.of::<1>(),
            2 => self.of::<2>(),
            3 => self.of::<3>(),
            4 => self.of::<4>(),
            _ => {
                for (at, out) in self.out.chunks_mut(self.blocks).enumerate() {
                    accumulate_any(
                        row_entries(self.rows.row(self.values, self.first + at)),
                        self.weights,
                        out,
                    );
                }
            }
        }
    }
}

/// The products XᵀR for some columns. `of` has a vector per row, and `out` one per column of
/// `which`.
pub(super) fn by_columns<T: Number, V: Value>(
    columns: &Columns<V>,
    which: &[u32],
    of: &[Block<T>],
    out: &mut [Block<T>],
) {
    let blocks = out.len() / which.len().max(1);
    if blocks > 0 {
        out.par_chunks_mut(CHUNK * blocks).zip(which.par_chunks(CHUNK)).for_each(|(out, which)| {
            simd::fastest(ByColumns { columns, which, of, out, blocks });
        });
    }
}

struct ByColumns<'a, T, V> {
    columns: &'a Columns<V>,
    which: &'a [u32],
    of: &'a [Block<T>],
    out: &'a mut [Block<T>],
    blocks: usize,
}

impl<T: Number, V: Value> ByColumns<'_, T, V> {
    #[inline(always)]
    fn of<const B: usize>(self) {
        for (&j, out) in self.which.iter().zip(self.out.chunks_mut(B)) {
            out.fill([T::default(); WIDE]);
            accumulate::<B, T>(column_entries(self.columns, j), self.of, out);
        }
    }
}

impl<T: Number, V: Value> Work for ByColumns<'_, T, V> {
    type Answer = ();
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) {
        match self.blocks {
            1 => self.of::<1>(),
            2 => self.of::<2>(),
            3 => self.of::<3>(),
            4 => self.of::<4>(),
            _ => {
                for (&j, out) in self.which.iter().zip(self.out.chunks_mut(self.blocks)) {
                    out.fill([T::default(); WIDE]);
                    accumulate_any(column_entries(self.columns, j), self.of, out);
                }
            }
        }
    }
}

/// Adds XW to `out` for the weights of some columns. `weights` has a vector per column of `which`.
pub(super) fn add_columns<T: Number, V: Value>(
    columns: &Columns<V>,
    which: &[u32],
    weights: &[Block<T>],
    out: &mut [Block<T>],
) {
    simd::fastest(AddColumns { columns, which, weights, out });
}

struct AddColumns<'a, T, V> {
    columns: &'a Columns<V>,
    which: &'a [u32],
    weights: &'a [Block<T>],
    out: &'a mut [Block<T>],
}

impl<T: Number, V: Value> Work for AddColumns<'_, T, V> {
    type Answer = ();
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) {
        let blocks = self.weights.len() / self.which.len().max(1);
        for (&j, weights) in self.which.iter().zip(self.weights.chunks(blocks.max(1))) {
            let unit = self.columns.unit(j as usize);
            for (i, x) in self.columns.column(j as usize) {
                let out = &mut self.out[*i as usize * blocks..][..blocks];
                add_multiple(out, T::of(x.to_f64(), unit), weights);
            }
        }
    }
}
