//! Adds rows times numbers to columns, several numbers per row.
//!
//! ```text
//! gⱼₗ ← gⱼₗ + uᵢₗ·xᵢⱼ        for l = 1 … N, side by side in memory
//! ```

use super::{PrivateIds, RowsRef, Value, ValuesRef};
use crate::simd::{Work, fastest};

impl RowsRef<'_> {
    /// Adds the rows from `first` on, each times its numbers in `times`, to the sums of their columns.
    pub(crate) fn scatter<const N: usize>(&self, first: usize, times: &[[f64; N]], sums: &mut [[f64; N]]) {
        let rows = *self;
        match self.values {
            ValuesRef::F32(values) => fastest(Scatter { rows, values, first, times, sums }),
            ValuesRef::F64(values) => fastest(Scatter { rows, values, first, times, sums }),
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

    #[inline(always)]
    fn run(self) {
        let mut private = PrivateIds::of(self.rows);
        for (k, times) in self.times.iter().enumerate() {
            let row = private.row(self.rows.row(self.values, self.first + k));
            for (&id, &x) in row.ids.iter().zip(row.values) {
                let (sums, x) = (&mut self.sums[id as usize], x.to_f64());
                (0..N).for_each(|l| sums[l] += times[l] * x);
            }
        }
    }
}
