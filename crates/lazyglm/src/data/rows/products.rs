//! Products of rows with several vectors at once, whose numbers are side by side in memory.
//!
//! ```text
//! scatter     gⱼₗ ← gⱼₗ + uᵢₗ·xᵢⱼ        for l = 1 … N
//! gather      sᵢₗ = Σⱼ wⱼₗ·xᵢⱼ
//! ```

use super::{PrivateIds, RowsRef, Value, ValuesRef};
use crate::simd::{Work, fastest, prefetch_one};

/// Sums of more bytes than this are prefetched for the next row. Smaller ones that are used often stay in the second-level cache, and
/// the instructions of the prefetches cost more than the others wait.
const CACHED: usize = 1 << 22;

impl RowsRef<'_> {
    /// Adds the rows from `first` on, each times its numbers in `times`, to the sums of their columns.
    pub(crate) fn scatter<const N: usize>(&self, first: usize, times: &[[f64; N]], sums: &mut [[f64; N]]) {
        let rows = *self;
        match self.values {
            ValuesRef::F32(values) => fastest(Scatter { rows, values, first, times, sums }),
            ValuesRef::F64(values) => fastest(Scatter { rows, values, first, times, sums }),
        }
    }

    /// The products of the rows from `first` on with N vectors of weights.
    pub(crate) fn gather<const N: usize>(&self, first: usize, weights: &[[f64; N]], scores: &mut [[f64; N]]) {
        let rows = *self;
        match self.values {
            ValuesRef::F32(values) => fastest(Gather { rows, values, first, weights, scores }),
            ValuesRef::F64(values) => fastest(Gather { rows, values, first, weights, scores }),
        }
    }
}

struct Scatter<'a, V, const N: usize> {
    rows: RowsRef<'a>,
    values: &'a [V],
    first: usize,
    times: &'a [[f64; N]],
    sums: &'a mut [[f64; N]],
}

impl<V: Value, const N: usize> Work for Scatter<'_, V, N> {
    type Answer = ();
    const WIDE: bool = N >= 8;

    #[inline(always)]
    fn run(self) {
        let mut private = PrivateIds::of(self.rows);
        let far = size_of_val(self.sums) > CACHED;
        for (k, times) in self.times.iter().enumerate() {
            if far && k + 1 < self.times.len() {
                let next = self.rows.row(self.values, self.first + k + 1).ids;
                next.iter().for_each(|&id| prefetch_one(self.sums, id as usize));
            }
            let row = private.row(self.rows.row(self.values, self.first + k));
            for (&id, &x) in row.ids.iter().zip(row.values) {
                let (sums, x) = (&mut self.sums[id as usize], x.to_f64());
                for l in 0..N {
                    sums[l] += times[l] * x;
                }
            }
        }
    }
}

struct Gather<'a, V, const N: usize> {
    rows: RowsRef<'a>,
    values: &'a [V],
    first: usize,
    weights: &'a [[f64; N]],
    scores: &'a mut [[f64; N]],
}

impl<V: Value, const N: usize> Work for Gather<'_, V, N> {
    type Answer = ();
    const WIDE: bool = N >= 8;

    #[inline(always)]
    fn run(self) {
        let mut private = PrivateIds::of(self.rows);
        for (k, scores) in self.scores.iter_mut().enumerate() {
            let row = private.row(self.rows.row(self.values, self.first + k));
            let mut sums = [0.0; N];
            for (&id, &x) in row.ids.iter().zip(row.values) {
                let (weights, x) = (&self.weights[id as usize], x.to_f64());
                for l in 0..N {
                    sums[l] += x * weights[l];
                }
            }
            *scores = sums;
        }
    }
}
