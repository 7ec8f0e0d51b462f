//! Sums of rows times derivatives, several of them in one pass.
//!
//! ```text
//! gⱼₗ = Σᵢ uᵢₗ·xᵢⱼ        for N vectors of derivatives, l = 1 … N, side by side in memory
//! ```

use super::CHUNK;
use crate::data::rows::{RowsRef, SideBySide};
use rayon::prelude::*;
use std::ops::Range;

/// Maximum number of parts of the rows that are summed in parallel.
const PARTS: usize = 8;
/// Each part has at least this many non-zeros per column, because its sums have to be cleared and added up.
const LEAST: usize = 16;
/// Number of rows whose derivatives are computed before they are multiplied with the rows, which are then in cache.
const BLOCK: usize = 128;

/// Sums over parts of the rows. The parts do not depend on the number of threads, so the bits do not either.
pub(crate) struct Gradients<const N: usize> {
    parts: Vec<SideBySide<N>>,
}

impl<const N: usize> Gradients<N> {
    /// Creates sums that are zero, for rows with this number of non-zeros in total.
    pub fn new(columns: usize, nonzeros: usize) -> Gradients<N> {
        let parts = 1 << (nonzeros / (LEAST * columns.max(1))).clamp(1, PARTS).ilog2();
        Gradients { parts: (0..parts).map(|_| SideBySide::zeros(columns)).collect() }
    }

    /// Adds rows. `fill` writes the derivatives of some rows, and may add to sums of its own. Returns these sums for one chunk
    /// of the rows after another.
    pub fn add<const S: usize>(
        &mut self,
        rows: RowsRef,
        fill: impl Fn(Range<usize>, &mut [[f64; N]], &mut [f64; S]) + Sync,
    ) -> Vec<[f64; S]> {
        let chunks = rows.len().div_ceil(CHUNK);
        let of_part = chunks.div_ceil(self.parts.len());
        let sums = self.parts.par_iter_mut().enumerate().map(|(part, gradient)| {
            let mut slopes = [[0.0; N]; BLOCK];
            let mut one = |chunk: usize| {
                let (mut sums, end) = ([0.0; S], ((chunk + 1) * CHUNK).min(rows.len()));
                for first in (chunk * CHUNK..end).step_by(BLOCK) {
                    let some = first..(first + BLOCK).min(end);
                    let slopes = &mut slopes[..some.len()];
                    fill(some, slopes, &mut sums);
                    rows.scatter(first, slopes, gradient);
                }
                sums
            };
            (part * of_part..((part + 1) * of_part).min(chunks)).map(&mut one).collect::<Vec<_>>()
        });
        sums.collect::<Vec<_>>().concat()
    }

    /// The sums over all rows with the l-th derivatives, per column.
    pub fn of(&self, l: usize) -> Vec<f64> {
        let one = |j: usize| self.parts.iter().map(|part| part[j][l]).sum();
        (0..self.parts[0].len()).into_par_iter().with_min_len(CHUNK).map(one).collect()
    }

    /// The sums over all rows, per column. One part is its own sum: with very many columns, a copy would need as much memory
    /// again.
    pub fn total(mut self) -> SideBySide<N> {
        let mut total = self.parts.remove(0); // the others stay in order, on which the bits depend
        let others = &self.parts;
        if !others.is_empty() {
            total.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(j, total)| {
                for part in others {
                    *total = std::array::from_fn(|l| total[l] + part[j][l]);
                }
            });
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_adds_parts_in_their_order() {
        let mut gradients = Gradients::<2>::new(3, 1 << 12);
        assert!(gradients.parts.len() > 2);
        for (k, part) in gradients.parts.iter_mut().enumerate() {
            part.iter_mut().for_each(|sums| *sums = [0.1 / (k + 1) as f64, 1e9 / (7 * k + 3) as f64]);
        }
        let in_order = [0, 1].map(|l| gradients.of(l));
        for (j, sums) in gradients.total().iter().enumerate() {
            assert_eq!(sums.map(f64::to_bits), [0, 1].map(|l: usize| in_order[l][j].to_bits()));
        }
    }
}
