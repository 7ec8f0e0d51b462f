//! Sums over rows by column, where each row is read once: for its score, and for its part in the sums.
//!
//! ```text
//! sᵢ = xᵢ·v          hⱼ = Σᵢ t(i, sᵢ)·xᵢⱼ          XᵀDXv with t = Dᵢsᵢ, Xᵀr with t = rᵢ
//! ```
//!
//! Columns are numbered by their number of non-zeros, so that the numbers of frequent columns stay in the cache. The
//! vectors here are in that order. A column's vⱼ and hⱼ are adjacent in memory: the second access costs no cache miss.
//!
//! Reads and writes skip the bounds check per element. The constructor guarantees that every number is below the
//! number of columns, and each call checks once that the vectors have that length.

use crate::data::rows::{RowsRef, Value};
use crate::simd;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::ops::Range;

use super::column_store::USUAL;

/// One part of the rows for each time that its non-zeros are this many times the columns.
const PER_PART: usize = 16;
/// Range of the number of parts. It does not depend on the number of threads, and so neither do the sums.
const PARTS: [usize; 2] = [2, 16];
/// Number of columns or rows per task.
const CHUNK: usize = 4096;

/// Rows with renumbered columns.
pub(crate) struct NormalRows<V> {
    offsets: Vec<usize>,
    entries: Vec<(u32, V)>,   // numbers are below `columns.len()`
    columns: Vec<u32>,        // the column of each number
    parts: Vec<Range<usize>>, // rows that are summed apart
    usual: bool,
}

/// Room for [v, h] of all columns, one for each part of the rows.
pub(crate) struct Sums(Vec<Vec<[f64; 2]>>);

impl<V: Value> NormalRows<V> {
    /// A copy of some rows, whose values are `values`.
    pub fn of(rows: RowsRef, values: &[V]) -> NormalRows<V> {
        let (height, width) = (rows.len(), rows.columns());
        let mut counts = vec![0u32; width];
        rows.ids().iter().for_each(|&j| counts[j as usize] += 1);
        let mut columns: Vec<u32> = (0..width as u32).collect();
        columns.par_sort_unstable_by_key(|&j| (Reverse(counts[j as usize]), j));
        let mut number = counts; // the number of each column
        columns.iter().zip(0..).for_each(|(&j, k)| number[j as usize] = k);
        let mut offsets = Vec::with_capacity(height + 1);
        let mut entries: Vec<(u32, V)> = Vec::with_capacity(rows.nonzeros());
        simd::advise_huge_pages(entries.as_ptr().cast(), rows.nonzeros() * size_of::<(u32, V)>());
        offsets.push(0);
        for i in 0..height {
            let row = rows.row(values, i);
            entries.extend(row.ids.iter().zip(row.values).map(|(&j, &x)| (number[j as usize], x)));
            offsets.push(entries.len());
        }
        let parts = parts_of(&offsets, width);
        let mut rows = NormalRows { offsets, entries, columns, parts, usual: true };
        rows.usual = rows.entries.iter().all(|(_, x)| is_usual(x.to_f64())) || rows.are_columns_usual();
        rows
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The number of non-zeros.
    pub fn nonzeros(&self) -> usize {
        self.entries.len()
    }

    /// Whether the largest value of every column is of usual magnitude, so that its squares are too.
    pub fn is_usual(&self) -> bool {
        self.usual
    }

    fn are_columns_usual(&self) -> bool {
        let mut largest = vec![0.0f64; self.columns.len()];
        self.entries
            .iter()
            .for_each(|&(k, x)| largest[k as usize] = largest[k as usize].max(x.to_f64().abs()));
        largest.into_iter().all(is_usual)
    }

    /// The numbers of all columns in the order here.
    pub fn in_order(&self, by_column: &[f64]) -> Vec<f64> {
        self.columns.iter().map(|&j| by_column[j as usize]).collect()
    }

    /// The numbers of all columns in the order of the columns.
    pub fn by_column(&self, in_order: &[f64]) -> Vec<f64> {
        let mut by_column = vec![0.0; in_order.len()];
        self.columns.iter().zip(in_order).for_each(|(&j, &v)| by_column[j as usize] = v);
        by_column
    }

    /// Room for sums.
    pub fn room(&self) -> Sums {
        let part = |_: &Range<usize>| {
            let room = vec![[0.0; 2]; self.columns.len()];
            simd::advise_huge_pages(room.as_ptr().cast(), size_of_val(&room[..]));
            room
        };
        Sums(self.parts.iter().map(part).collect())
    }

    /// The scores xᵢ·v of all rows.
    pub fn scores(&self, v: &[f64]) -> Vec<f64> {
        let one = |i: usize| self.score(i, |k| v[k]);
        (0..self.offsets.len() - 1).into_par_iter().with_min_len(1024).map(one).collect()
    }

    /// The product XᵀD(Xv + shift), with D per row.
    pub fn product(&self, v: &[f64], shift: f64, d: &[f64], room: &mut Sums, out: &mut [f64]) {
        self.sum(v, room, out, |i, score| d[i] * (score + shift), |x| x);
    }

    /// The product Xᵀr.
    pub fn transposed(&self, r: &[f64], room: &mut Sums, out: &mut [f64]) {
        self.sum(&[], room, out, |i, _| r[i], |x| x);
    }

    /// The sums Σᵢ Dᵢxᵢⱼ².
    pub fn squares(&self, d: &[f64], room: &mut Sums, out: &mut [f64]) {
        self.sum(&[], room, out, |i, _| d[i], |x| x * x);
    }

    /// The sums Σᵢ t(i, sᵢ)·u(xᵢⱼ) of all columns, where the scores s are zero if v is empty.
    fn sum(
        &self,
        v: &[f64],
        room: &mut Sums,
        out: &mut [f64],
        t: impl Fn(usize, f64) -> f64 + Sync,
        u: impl Fn(f64) -> f64 + Sync,
    ) {
        let width = self.columns.len();
        assert!((v.is_empty() || v.len() == width) && out.len() == width && room.0.len() == self.parts.len());
        self.parts.par_iter().zip(&mut room.0).with_max_len(1).for_each(|(part, pairs)| {
            match v {
                [] => pairs.fill([0.0; 2]),
                v => pairs.iter_mut().zip(v).for_each(|(pair, &v)| *pair = [v, 0.0]),
            }
            assert_eq!(pairs.len(), width);
            for i in part.clone() {
                // SAFETY: as below.
                #[allow(unsafe_code)]
                let weight = |k: usize| unsafe { pairs.get_unchecked(k)[0] };
                let score = if v.is_empty() { 0.0 } else { self.score(i, weight) };
                let times = t(i, score);
                for &(k, x) in &self.entries[self.offsets[i]..self.offsets[i + 1]] {
                    // SAFETY: numbers are below `width`, which is the length of `pairs`.
                    #[allow(unsafe_code)]
                    let pair = unsafe { pairs.get_unchecked_mut(k as usize) };
                    pair[1] += times * u(x.to_f64());
                }
            }
        });
        let rooms = &room.0;
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            out.fill(0.0);
            let span = chunk * CHUNK..chunk * CHUNK + out.len();
            for pairs in rooms {
                out.iter_mut().zip(&pairs[span.clone()]).for_each(|(sum, pair)| *sum += pair[1]);
            }
        });
    }

    /// The score of a row in four sums, with the weight of each number from a function.
    #[inline(always)]
    fn score(&self, i: usize, weight: impl Fn(usize) -> f64) -> f64 {
        let (fours, rest) = self.entries[self.offsets[i]..self.offsets[i + 1]].as_chunks::<4>();
        let mut sums = [0.0; 4];
        for four in fours {
            for k in 0..4 {
                sums[k] += four[k].1.to_f64() * weight(four[k].0 as usize);
            }
        }
        let rest: f64 = rest.iter().map(|(k, x)| x.to_f64() * weight(*k as usize)).sum();
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest
    }
}

fn is_usual(x: f64) -> bool {
    x == 0.0 || USUAL.contains(&x.abs())
}

/// Cuts the rows into parts with about equally many non-zeros.
fn parts_of(offsets: &[usize], width: usize) -> Vec<Range<usize>> {
    let (height, nonzeros) = (offsets.len() - 1, offsets[offsets.len() - 1]);
    let count = (nonzeros / (PER_PART * width.max(1))).clamp(PARTS[0], PARTS[1]);
    let cut = |k: usize| match k {
        _ if k == count => height,
        _ => offsets.partition_point(|&offset| offset < nonzeros * k / count).min(height),
    };
    (0..count).map(|k| cut(k)..cut(k + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::{Rows, ValuesRef};
    use crate::util::random::Random;

    #[test]
    fn sums_by_column_are_those_of_the_dense_matrix() {
        let mut random = Random::new(3);
        for (height, width) in [(0, 3), (1, 1), (57, 9), (200, 31)] {
            let mut rows = Rows::new();
            for i in 0..height {
                let keep = |j: &u32| (i + *j as usize).is_multiple_of(1 + *j as usize % 4);
                let row: Vec<(u32, f64)> =
                    (0..width).filter(keep).map(|j| (j, random.uniform() - 0.5)).collect();
                rows.push(&row).unwrap();
            }
            rows.declare_columns(width as usize);
            let rows = rows.borrow();
            let values: &[f64] = match rows.values() {
                ValuesRef::F64(values) => values,
                ValuesRef::F32(_) => &[], // without rows
            };
            let normal = NormalRows::of(rows, values);
            let mut numbers = |n: usize| (0..n).map(|_| random.uniform()).collect::<Vec<f64>>();
            let (v, d) = (numbers(width as usize), numbers(height));
            let (mut room, mut out) = (normal.room(), vec![f64::NAN; width as usize]);
            let (mut product, mut transposed, mut squares) =
                (vec![0.0; out.len()], vec![0.0; out.len()], vec![0.0; out.len()]);
            for (i, d) in d.iter().enumerate() {
                let score = rows.row(values, i).dot(&v);
                rows.row(values, i).iter().for_each(|(j, x)| {
                    product[j] += d * (score + 0.3) * x;
                    transposed[j] += d * x;
                    squares[j] += d * x * x;
                });
            }
            let close = |out: &[f64], expected: &[f64]| {
                let pairs = normal.by_column(out).into_iter().zip(expected.to_vec()).collect::<Vec<_>>();
                assert!(pairs.iter().all(|(a, b)| (a - b).abs() < 1e-12), "{height} × {width}: {pairs:?}");
            };
            normal.product(&normal.in_order(&v), 0.3, &d, &mut room, &mut out);
            close(&out, &product);
            normal.transposed(&d, &mut room, &mut out);
            close(&out, &transposed);
            normal.squares(&d, &mut room, &mut out);
            close(&out, &squares);
            let scores = normal.scores(&normal.in_order(&v));
            assert!((0..height).all(|i| (scores[i] - rows.row(values, i).dot(&v)).abs() < 1e-12));
        }
    }
}
