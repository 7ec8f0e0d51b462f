//! The columns of a quadratic model, x̃ = √a·x in f32: copied for speed, or decoded at each use to save memory.

use super::column_store::ColumnStore;
use super::{CompactColumns, F32Columns, F32Rows};
use rayon::prelude::*;
use std::sync::Arc;

/// The columns of a quadratic model.
pub(crate) enum ModelColumns<'a> {
    /// A copy, restricted to some of the rows.
    Copied(F32Columns),
    /// The original columns, with all rows.
    Decoded(DecodedColumns<'a>),
}

/// Some columns of a compact store, multiplied by √a and their units when they are read.
pub(crate) struct DecodedColumns<'a> {
    columns: &'a CompactColumns,
    set: Vec<u32>,
    roots: Arc<Vec<f32>>, // √a of each row
}

impl<'a> DecodedColumns<'a> {
    /// These columns, with √a of each row. Also returns Σ xᵢ²·aᵢ per column, as [`ColumnStore::to_f32`] does.
    pub fn new(
        columns: &'a CompactColumns,
        set: &[u32],
        roots: &Arc<Vec<f32>>,
    ) -> (DecodedColumns<'a>, Vec<[f64; 2]>) {
        let square = |&j: &u32| {
            let (unit, mut sum) = (columns.unit(j as usize), 0.0);
            columns.for_each(j as usize, |i, x| {
                let scaled = unit * x * f64::from(roots[i]);
                sum += scaled * scaled;
            });
            [sum, 0.0]
        };
        let squares = set.par_iter().map(square).collect();
        (DecodedColumns { columns, set: set.to_vec(), roots: roots.clone() }, squares)
    }

    fn product(&self, k: usize, vector: &[f32]) -> f64 {
        let (j, mut sum) = (self.set[k] as usize, 0.0); // in f64: a column may have millions of rows
        self.columns.for_each(j, |i, x| sum += x * f64::from(self.roots[i] * vector[i]));
        self.columns.unit(j) * sum
    }

    fn add(&self, k: usize, a: f32, vector: &mut [f32]) {
        let j = self.set[k] as usize;
        let a = a * self.columns.unit(j) as f32;
        self.columns.for_each(j, |i, x| vector[i] += a * x as f32 * self.roots[i]);
    }
}

impl ModelColumns<'_> {
    /// Number of non-zeros.
    pub fn nonzeros(&self) -> usize {
        match self {
            ModelColumns::Copied(columns) => columns.nonzeros(),
            ModelColumns::Decoded(columns) => {
                columns.set.iter().map(|&j| columns.columns.count(j as usize)).sum()
            }
        }
    }

    /// The product Σᵢ x̃ᵢₖ·vᵢ.
    #[inline]
    pub fn product(&self, k: usize, vector: &[f32]) -> f64 {
        match self {
            ModelColumns::Copied(columns) => columns.product(k, vector),
            ModelColumns::Decoded(columns) => columns.product(k, vector),
        }
    }

    /// Adds a multiple of a column to a vector: vᵢ ← vᵢ + a·x̃ᵢₖ.
    #[inline]
    pub fn add(&self, k: usize, a: f32, vector: &mut [f32]) {
        match self {
            ModelColumns::Copied(columns) => columns.add(k, a, vector),
            ModelColumns::Decoded(columns) => columns.add(k, a, vector),
        }
    }

    /// A copy by row; `None` if there is no memory for it.
    pub fn by_rows(&self) -> Option<F32Rows> {
        match self {
            ModelColumns::Copied(columns) => Some(F32Rows::of(columns)),
            ModelColumns::Decoded(_) => None,
        }
    }

    /// Computes uᵢ ← x̃ᵢᵀv + uᵢ, and then X̃ᵀu into `product`: by rows if there is a copy of them.
    pub fn gram_product(&self, rows: Option<&F32Rows>, v: &[f32], u: &mut [f32], product: &mut [f64]) {
        if let Some(rows) = rows {
            return rows.gram_product(v, u, product);
        }
        v.iter().enumerate().filter(|(_, v)| **v != 0.0).for_each(|(k, &v)| self.add(k, v, u));
        let u = &*u;
        product.par_iter_mut().enumerate().for_each(|(k, product)| *product = self.product(k, u));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::random::Random;

    #[test]
    fn decoded_columns_are_the_same_as_a_copy() {
        const ROWS: usize = 300;
        let mut random = Random::new(4);
        let mut columns = CompactColumns::new(ROWS);
        columns.grow(5);
        for i in 0..ROWS {
            for k in 0..5 {
                if random.below(3) > 0 {
                    continue;
                }
                columns.push(k, i, [1.0, 2.0, 0.5, 0.25, 1e-20][k] * (1 + random.below(3)) as f64);
            }
        }
        columns.finish(0);
        let a: Vec<f64> = (0..ROWS).map(|i| 0.5 + (i % 5) as f64).collect();
        let roots: Vec<f32> = a.iter().map(|a| a.sqrt() as f32).collect();
        let place: Vec<u32> = (0..ROWS as u32).collect();
        let set = [4, 0, 2];
        let (copied, squares) = columns.to_f32(&set, &place, &roots, &a);
        let (decoded, others) = DecodedColumns::new(&columns, &set, &Arc::new(roots));
        let (copied, decoded) = (ModelColumns::Copied(copied), ModelColumns::Decoded(decoded));
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (1.0 + a.abs());
        assert_eq!(copied.nonzeros(), decoded.nonzeros());
        assert!(squares.iter().zip(&others).all(|(a, b)| close(a[0], b[0]) && a[1] == b[1]));
        let of = |columns: &ModelColumns| {
            let (mut u, mut product) = (vec![0.5; ROWS], vec![0.0; 3]);
            columns.gram_product(columns.by_rows().as_ref(), &[1.0, -0.5, 2.0], &mut u, &mut product);
            product
        };
        assert!(of(&copied).iter().zip(of(&decoded)).all(|(a, b)| close(*a, b)));
    }
}
