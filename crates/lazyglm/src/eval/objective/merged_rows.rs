//! The same problem with fewer rows, for one of many heads: rows that its weights do not touch are merged into their mean.
//!
//! ```text
//! R     the rows of the head, and those with a value of one of its weights     all other rows have the score b and the target −1
//! x̄     (Σᵢ ωᵢxᵢ − Σ_{i∈R} ωᵢxᵢ)/Ω,   Ω = Σ_{i∉R} ωᵢ       one row of weight Ω: its score is b, and its gradient that of all others
//! ```
//!
//! F, its gradient, the null model and the dual value of a smooth loss are the same on both, since they depend on a row only by its
//! derivative, and rows with the same score and target have the same derivative.

use super::HeadsEvaluation;
use crate::data::rows::{Examples, RowsRef, ValuesRef};
use crate::problem::heads::Head;

/// Rows are merged if those in R have at most one in this many of all non-zeros.
const PART: usize = 4;

/// What all heads share: which rows have a value of a feature, and the weighted sum of all rows.
pub(super) struct ByColumn {
    offsets: Vec<usize>,
    rows: Vec<u32>,
    total: Vec<f64>,
    weight: f64,
}

/// Fewer rows with weights of mean one.
pub(super) struct MergedRows {
    offsets: Vec<usize>,
    ids: Vec<u32>,
    values: Vec<f64>,
    columns: usize,
    targets: Vec<f64>,
    weights: Vec<f64>,
}

impl ByColumn {
    pub fn of(what: &HeadsEvaluation) -> ByColumn {
        let (rows, count) = (what.rows, what.sets.len());
        let mut offsets = vec![0; rows.columns() + 1];
        rows.ids().iter().for_each(|&j| offsets[j as usize + 1] += 1);
        (0..rows.columns()).for_each(|j| offsets[j + 1] += offsets[j]);
        let (mut next, mut of_column) = (offsets.clone(), vec![0; rows.nonzeros()]);
        let (mut total, mut weight) = (vec![0.0; rows.columns()], 0.0);
        for i in 0..count {
            let own = what.weights.map_or(1.0, |weights| weights[i]);
            weight += own;
            rows.for_each(i, |j, x| {
                of_column[next[j]] = i as u32;
                next[j] += 1;
                total[j] += own * x;
            });
        }
        ByColumn { offsets, rows: of_column, total, weight }
    }

    /// The rows for a head with the rows `own`; `None` if its weights touch too many.
    pub fn merged(&self, what: &HeadsEvaluation, head: &Head, own: &[u32]) -> Option<MergedRows> {
        let of = |&j: &u32| &self.rows[self.offsets[j as usize]..self.offsets[j as usize + 1]];
        let most = what.rows.nonzeros() / PART;
        if head.columns.iter().map(|j| of(j).len()).sum::<usize>() > most {
            return None;
        }
        let mut rows: Vec<u32> = own.iter().chain(head.columns.iter().flat_map(of)).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        let lengths = what.rows.offsets();
        let nonzeros: usize = rows.iter().map(|&i| lengths[i as usize + 1] - lengths[i as usize]).sum();
        if nonzeros > most || rows.len() + 1 >= what.sets.len() {
            return None;
        }
        let columns = what.rows.columns();
        let mut offsets = Vec::with_capacity(rows.len() + 2);
        let (mut ids, mut values) =
            (Vec::with_capacity(nonzeros + columns), Vec::with_capacity(nonzeros + columns));
        let (mut rest, mut left, mut weights) = (self.total.clone(), self.weight, Vec::new());
        offsets.push(0);
        for &i in &rows {
            let weight = what.weights.map_or(1.0, |weights| weights[i as usize]);
            what.rows.for_each(i as usize, |j, x| {
                ids.push(j as u32);
                values.push(x);
                rest[j] -= weight * x;
            });
            offsets.push(ids.len());
            weights.push(weight);
            left -= weight;
        }
        head.columns.iter().for_each(|&j| rest[j as usize] = 0.0); // but for rounding, it is
        for (j, sum) in (0..).zip(rest).filter(|(_, sum)| *sum != 0.0) {
            ids.push(j);
            values.push(sum / left);
        }
        offsets.push(ids.len());
        weights.push(left);
        let share = weights.len() as f64 / what.sets.len() as f64;
        weights.iter_mut().for_each(|weight| *weight *= share);
        let mut targets = vec![-1.0; weights.len()];
        own.iter().for_each(|i| rows.binary_search(i).into_iter().for_each(|k| targets[k] = 1.0));
        Some(MergedRows { offsets, ids, values, columns, targets, weights })
    }
}

impl MergedRows {
    pub fn examples(&self) -> Examples<'_> {
        let rows = RowsRef::trusted(&self.offsets, &self.ids, ValuesRef::F64(&self.values), self.columns);
        Examples { rows, targets: &self.targets, weights: Some(&self.weights), offsets: None }
    }
}
