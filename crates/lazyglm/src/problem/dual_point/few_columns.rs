//! A few columns of the rows, and the minimum of a quadratic function of one number per column and a bias.

use crate::data::rows::{RowsRef, Value, ValuesRef};
use crate::problem::penalty::ElasticNet;
use crate::problem::penalty::one::shrunk;
use rayon::prelude::*;
use std::ops::Range;

/// Number of parts of the rows, each with a matrix of its own. It does not depend on the number of threads,
const PARTS: usize = 8;
/// Least number of rows in a part.
const LEAST: usize = 1024;
/// Sweeps stop when moves have fallen to this share of the first ones,
const SHARE: f64 = 1e-8;
/// or after so many sweeps.
const SWEEPS: usize = 1000;

/// Some columns, by row. Values are rounded to f32: whoever moves along them looks at the exact sums afterwards.
pub(crate) struct FewColumns {
    starts: Vec<usize>,
    entries: Vec<(u32, f32)>, // position among the columns, in ascending order per row
    width: usize,
}

impl FewColumns {
    /// The columns of rows.
    pub fn of(rows: RowsRef, columns: &[u32]) -> FewColumns {
        match rows.values() {
            ValuesRef::F32(values) => FewColumns::of_values(rows, values, columns),
            ValuesRef::F64(values) => FewColumns::of_values(rows, values, columns),
        }
    }

    fn of_values<V: Value>(rows: RowsRef, values: &[V], columns: &[u32]) -> FewColumns {
        let mut place = vec![u32::MAX; rows.columns()];
        columns.iter().zip(0..).for_each(|(&j, k)| place[j as usize] = k);
        let (mut starts, mut entries) = (vec![0], Vec::new());
        for i in 0..rows.len() {
            let (row, first) = (rows.row(values, i), entries.len());
            let chosen = row.ids.iter().zip(row.values).map(|(j, x)| (place[*j as usize], x.to_f32()));
            entries.extend(chosen.filter(|(k, _)| *k != u32::MAX));
            entries[first..].sort_unstable_by_key(|(k, _)| *k);
            starts.push(entries.len());
        }
        FewColumns { starts, entries, width: columns.len() }
    }

    /// The columns of a store by column: `for_each` calls a function for each (row, value) of a column.
    pub fn by_column(
        rows: usize,
        columns: &[u32],
        for_each: impl Fn(usize, &mut dyn FnMut(usize, f64)),
    ) -> FewColumns {
        let mut starts = vec![0; rows + 2];
        columns.iter().for_each(|&j| for_each(j as usize, &mut |i, _| starts[i + 2] += 1));
        (2..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        let mut entries = vec![(0, 0.0); starts[rows + 1]];
        for (&j, k) in columns.iter().zip(0..) {
            for_each(j as usize, &mut |i, x| {
                let place = &mut starts[i + 1]; // the next position of row i; finally the start of row i + 1
                entries[*place] = (k, x as f32);
                *place += 1;
            });
        }
        starts.pop();
        FewColumns { starts, entries, width: columns.len() }
    }

    fn row(&self, i: usize) -> &[(u32, f32)] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of products that the matrix is the sum of.
    pub fn cost(&self) -> usize {
        self.starts.windows(2).map(|span| (span[1] - span[0]).pow(2) / 2).sum()
    }

    /// XᵀDX, where X has a last column of ones, by rows.
    pub fn square(&self, curvature: &[f64]) -> Vec<f64> {
        let side = self.width + 1;
        let size = self.rows().div_ceil(PARTS).max(LEAST);
        let firsts: Vec<usize> = (0..self.rows()).step_by(size).collect();
        let square = |&first: &usize| self.square_of(first..self.rows().min(first + size), curvature);
        let squares: Vec<Vec<f64>> = firsts.par_iter().map(square).collect();
        let mut a = vec![0.0; side * side];
        squares.iter().for_each(|square| a.iter_mut().zip(square).for_each(|(a, more)| *a += more));
        for k in 0..side {
            (0..k).for_each(|l| a[k * side + l] = a[l * side + k]);
        }
        a
    }

    /// The upper triangle of the same for some rows.
    fn square_of(&self, rows: Range<usize>, curvature: &[f64]) -> Vec<f64> {
        let side = self.width + 1;
        let mut a = vec![0.0; side * side];
        for i in rows {
            let row = self.row(i);
            for (first, &(k, x)) in row.iter().enumerate() {
                let (weighted, line) = (curvature[i] * f64::from(x), &mut a[k as usize * side..][..side]);
                row[first..].iter().for_each(|&(l, y)| line[l as usize] += weighted * f64::from(y));
                line[side - 1] += weighted;
            }
            a[side * side - 1] += curvature[i];
        }
        a
    }

    /// Calls `add(row, (Xδ)ᵢ)` for each row, where the last number of δ is that of the bias.
    pub fn add(&self, moves: &[f64], mut add: impl FnMut(usize, f64)) {
        let bias = moves[self.width];
        for i in 0..self.rows() {
            add(i, self.row(i).iter().map(|&(k, x)| f64::from(x) * moves[k as usize]).sum::<f64>() + bias);
        }
    }
}

/// A weight, its penalty and its bounds.
pub(super) struct Own {
    pub from: f64,
    pub penalty: ElasticNet,
    pub range: [f64; 2],
}

/// The minimiser δ of ½δᵀAδ + slope·δ + Σ rₖ(wₖ + δₖ), by coordinate descent.
pub(super) fn moves_to_minimum(a: &[f64], mut slope: Vec<f64>, own: &[Own]) -> Vec<f64> {
    let side = slope.len();
    let (mut moves, mut first) = (vec![0.0; side], 0.0);
    for sweep in 0..SWEEPS {
        let mut most: f64 = 0.0;
        for (k, line) in a.chunks_exact(side).enumerate() {
            let &Own { from, penalty: ElasticNet { l1, l2 }, range } = &own[k];
            let (second_derivative, old) = (line[k] + l2, from + moves[k]);
            if line[k] <= 0.0 {
                continue;
            }
            let down = (slope[k] + l2 * old) / second_derivative;
            let by = shrunk(old - down, l1 / second_derivative, range) - old;
            if by != 0.0 {
                moves[k] += by;
                slope.iter_mut().zip(line).for_each(|(slope, a)| *slope += by * a);
                most = most.max(by.abs() * second_derivative);
            }
        }
        first = if sweep == 0 { most } else { first };
        if most <= SHARE * first {
            break;
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::Rows;
    use crate::problem::penalty::one::OneWeight;
    use crate::util::random::Random;

    fn made(random: &mut Random, rows: usize, columns: u64) -> Rows {
        let mut made = Rows::new();
        for _ in 0..rows {
            let row: Vec<(u32, f64)> = (0..columns)
                .filter_map(|j| {
                    (random.below(3) > 0).then_some((j as u32, (1 + random.below(4)) as f64 / 2.0))
                })
                .collect();
            made.push(&row).unwrap();
        }
        made
    }

    #[test]
    fn columns_by_row_are_those_of_the_rows_and_of_a_store_by_column() {
        let mut random = Random::new(3);
        let rows = made(&mut random, 2500, 7);
        let rows = rows.borrow();
        let set = [5, 0, 3];
        let value = |i: usize, j: usize| {
            let mut found = 0.0;
            rows.for_each(i, |k, x| found += if k == j { x } else { 0.0 });
            found
        };
        let for_each = |j: usize, see: &mut dyn FnMut(usize, f64)| {
            (0..2500).filter(|i| value(*i, j) != 0.0).for_each(|i| see(i, value(i, j)));
        };
        let [by_row, by_column] = [FewColumns::of(rows, &set), FewColumns::by_column(2500, &set, for_each)];
        assert_eq!((&by_row.starts, &by_row.entries), (&by_column.starts, &by_column.entries));

        let curvature: Vec<f64> = (0..2500).map(|i| 0.25 * (1 + i % 4) as f64).collect();
        let of = |i: usize, k: usize| set.get(k).map_or(1.0, |&j| value(i, j as usize));
        let by_hand = |k: usize, l: usize| (0..2500).map(|i| curvature[i] * of(i, k) * of(i, l)).sum::<f64>();
        let expected: Vec<f64> = (0..16).map(|at| by_hand(at / 4, at % 4)).collect();
        assert_eq!(by_row.square(&curvature), expected, "quarters are exact");

        let (moves, mut moved) = ([2.0, -1.0, 0.5, 0.25], vec![0.0; 2500]);
        by_row.add(&moves, |i, along| moved[i] += along);
        assert!((0..2500).all(|i| moved[i] == (0..4).map(|k| of(i, k) * moves[k]).sum::<f64>()));
    }

    #[test]
    fn the_minimiser_meets_the_conditions_of_optimality() {
        let mut random = Random::new(5);
        let rows = made(&mut random, 200, 6);
        let a = FewColumns::of(rows.borrow(), &[0, 1, 2, 3, 4, 5]).square(&[0.5; 200]);
        let slope: Vec<f64> = (0..7).map(|_| 400.0 * random.uniform() - 200.0).collect();
        let own: Vec<Own> = (0..7)
            .map(|k| Own {
                from: [0.0, 0.5, 0.0, -0.5, 0.0, 0.1, 0.0][k],
                penalty: ElasticNet { l1: if k < 6 { 50.0 } else { 0.0 }, l2: 10.0 * (k % 2) as f64 },
                range: [if k == 2 { 0.0 } else { f64::NEG_INFINITY }, f64::INFINITY],
            })
            .collect();
        let moves = moves_to_minimum(&a, slope.clone(), &own);
        let weights: Vec<f64> = moves.iter().zip(&own).map(|(by, own)| own.from + by).collect();
        for (k, own) in own.iter().enumerate() {
            let g: f64 = slope[k] + (0..7).map(|l| a[7 * k + l] * moves[l]).sum::<f64>();
            let one = OneWeight { penalty: own.penalty, range: own.range };
            let violation = one.violation(if weights[k].abs() < 1e-12 { 0.0 } else { weights[k] }, g);
            assert!(violation <= 1e-4, "{k}: {} with slope {g}", weights[k]);
        }
        assert!(
            weights.iter().any(|w| w.abs() < 1e-12) && weights.iter().filter(|w| w.abs() > 1e-3).count() > 2
        );
    }
}
