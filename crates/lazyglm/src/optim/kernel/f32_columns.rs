//! A copy of some columns in f32: by column for updates of one weight, and by row for updates of all weights.
//!
//! Reads and writes skip the bounds check per element. Row and column numbers are in range by construction,
//! and each call checks once that the vectors have the right length.

/// Some columns in f32, restricted to some of the rows.
#[derive(Default)]
pub(crate) struct F32Columns {
    offsets: Vec<usize>,
    entries: Vec<(u32, f32)>, // row numbers are below `height`
    height: usize,
}

impl F32Columns {
    /// Wraps columns whose row numbers are below `height`.
    pub(super) fn trusted(offsets: Vec<usize>, entries: Vec<(u32, f32)>, height: usize) -> F32Columns {
        debug_assert!(entries.iter().all(|(i, _)| (*i as usize) < height));
        F32Columns { offsets, entries, height }
    }

    /// Number of non-zeros.
    pub fn nonzeros(&self) -> usize {
        self.entries.len()
    }

    /// The non-zeros of a column.
    pub fn column(&self, k: usize) -> &[(u32, f32)] {
        &self.entries[self.offsets[k]..self.offsets[k + 1]]
    }

    /// The product Σᵢ xᵢₖ·vᵢ.
    #[inline]
    pub fn product(&self, k: usize, vector: &[f32]) -> f64 {
        assert_eq!(vector.len(), self.height);
        // SAFETY: rows are below `height`, which is the length of `vector`.
        #[allow(unsafe_code)]
        let sum = unsafe { dot(self.column(k), vector) };
        f64::from(sum)
    }

    /// Adds a multiple of a column to a vector: vᵢ ← vᵢ + a·xᵢₖ.
    #[inline]
    pub fn add(&self, k: usize, a: f32, vector: &mut [f32]) {
        assert_eq!(vector.len(), self.height);
        for &(i, x) in self.column(k) {
            // SAFETY: rows are below `height`, which is the length of `vector`.
            #[allow(unsafe_code)]
            unsafe {
                *vector.get_unchecked_mut(i as usize) += a * x;
            }
        }
    }
}

/// Some columns in f32, stored by row.
pub(crate) struct F32Rows {
    starts: Vec<usize>,
    entries: Vec<(u32, f32)>, // column numbers are below `width`
    width: usize,
}

impl F32Rows {
    /// Transposes columns to rows, with ascending columns in each row.
    pub fn of(columns: &F32Columns) -> F32Rows {
        let width = columns.offsets.len() - 1;
        let mut starts = vec![0; columns.height + 2];
        columns.entries.iter().for_each(|(i, _)| starts[*i as usize + 2] += 1);
        (2..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        let mut entries = vec![(0, 0.0); columns.entries.len()];
        for k in 0..width {
            for &(i, x) in columns.column(k) {
                let place = &mut starts[i as usize + 1]; // the next position of row i; finally the start of row i + 1
                entries[*place] = (k as u32, x);
                *place += 1;
            }
        }
        starts.pop();
        F32Rows { starts, entries, width }
    }

    /// The upper triangle of XᵀX by rows, where X has `last` as an additional last column. The last row is
    /// omitted.
    pub fn square(&self, last: &[f32]) -> Vec<f64> {
        assert_eq!(last.len() + 1, self.starts.len());
        let side = self.width + 1;
        let mut a = vec![0.0; side * side];
        for (span, &end) in self.starts.windows(2).zip(last) {
            let row = &self.entries[span[0]..span[1]];
            for (first, &(k, x)) in row.iter().enumerate() {
                let (x, line) = (f64::from(x), &mut a[k as usize * side..][..side]);
                for &(l, y) in &row[first..] {
                    // SAFETY: columns are below `width`, and lines are longer than that.
                    #[allow(unsafe_code)]
                    unsafe {
                        *line.get_unchecked_mut(l as usize) += x * f64::from(y);
                    }
                }
                line[side - 1] += x * f64::from(end);
            }
        }
        a
    }

    /// Computes uᵢ ← xᵢᵀv + uᵢ, and then Xᵀu into `product`, in one pass.
    pub fn gram_product(&self, v: &[f32], u: &mut [f32], product: &mut [f64]) {
        assert!(v.len() == self.width && product.len() == self.width && u.len() + 1 == self.starts.len());
        product.fill(0.0);
        for (span, u) in self.starts.windows(2).zip(u) {
            let row = &self.entries[span[0]..span[1]];
            // SAFETY: columns are below `width`, which is the length of `v` and of `product`.
            #[allow(unsafe_code)]
            unsafe {
                *u += dot(row, v);
                row.iter().for_each(|&(k, x)| *product.get_unchecked_mut(k as usize) += f64::from(x * *u));
            }
        }
    }
}

/// The product Σ x·v over the entries, in four partial sums. A single sum would make each addition wait for
/// the previous one.
///
/// # Safety
/// Positions must be below the length of `vector`.
#[allow(unsafe_code)]
#[inline]
unsafe fn dot(entries: &[(u32, f32)], vector: &[f32]) -> f32 {
    // SAFETY: guaranteed by the caller.
    let term = |(i, x): (u32, f32)| x * unsafe { *vector.get_unchecked(i as usize) };
    let (fours, rest) = entries.as_chunks::<4>();
    let mut sums = [0.0f32; 4];
    for four in fours {
        for k in 0..4 {
            sums[k] += term(four[k]);
        }
    }
    let rest: f32 = rest.iter().map(|&entry| term(entry)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_row_and_by_column_are_the_same_matrix() {
        // Rows 0 … 6, columns 0 … 2. Row 3 is empty, and column 0 has more than four entries.
        let columns: [&[(u32, f32)]; 3] = [
            &[(0, 1.0), (1, 2.0), (2, -1.0), (4, 0.5), (5, 3.0)],
            &[(1, -2.0), (5, 1.0)],
            &[(5, 4.0), (6, 1.0)],
        ];
        let offsets = [0, 5, 7, 9].to_vec();
        let columns = F32Columns::trusted(offsets, columns.concat(), 7);
        let v = [1.0, -2.0, 0.5];
        let mut there = vec![0.25f32; 7];
        (0..3).for_each(|k| columns.add(k, v[k], &mut there));
        let back: Vec<f64> = (0..3).map(|k| columns.product(k, &there)).collect();
        let (mut u, mut product) = (vec![0.25; 7], vec![9.0; 3]);
        F32Rows::of(&columns).gram_product(&v, &mut u, &mut product);
        assert_eq!((u, product), (there, back)); // small integers and quarters are exact
        let square = F32Rows::of(&columns).square(&[1.0; 7]);
        let by_hand = [15.25, -1.0, 12.0, 5.5, 0.0, 5.0, 4.0, -1.0, 0.0, 0.0, 17.0, 5.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(square, by_hand);
    }
}
