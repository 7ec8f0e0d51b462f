//! The rows with enough curvature to be kept in the sums by column.

use super::kept_gram::KeptGram;
use super::point::{Point, total};
use super::{Newton, Problem};
use crate::data::rows::Value;
use crate::optim::kernel::{ColumnStore, CompactColumns, DecodedColumns, F32Columns, ModelColumns};
use std::sync::Arc;

/// Rows whose curvature, divided by their sample weight, is below this share of the largest may be omitted,
const FAINT: f64 = 4e-3;
/// if the omitted rows together have at most this share of all curvature,
const FAINT_TOTAL: f64 = 5e-3;
/// and at most this share of the curvature of each weight.
const FAINT_COLUMN: f64 = 0.3;

/// Rows are omitted only if they have at least this share of all non-zeros: else their columns are not worth a look.
const FEW: f64 = 0.25;

/// The columns of a quadratic model, on the rows that are kept.
pub(super) struct KeptRows<'c> {
    pub columns: ModelColumns<'c>,
    pub squares: Vec<[f64; 2]>,
    pub roots: Arc<Vec<f32>>,
    pub of_bias: [f64; 3],
    /// Whether each row is kept; `None` if all are.
    pub keep: Option<Vec<bool>>,
}

impl<'c> KeptRows<'c> {
    pub fn of<V: Value>(
        newton: &Newton<V>,
        point: &Point,
        columns: &'c impl ColumnStore,
        set: &[u32],
        all_rows: bool,
    ) -> KeptRows<'c> {
        let curvature = &point.second_derivatives;
        if let Some(columns) = columns.instead_of_copy(set) {
            return KeptRows::all_rows(point, columns, set);
        }
        if all_rows {
            return KeptRows::rows(point, columns, set, curvature.iter().map(|d| *d > 0.0).collect());
        }
        let mut keep = rows_to_keep(curvature, |i| newton.problem.examples.weight(i));
        if newton.share_of_nonzeros(|i| !keep[i]) < FEW {
            return KeptRows::rows(point, columns, set, curvature.iter().map(|d| *d > 0.0).collect());
        }
        let faint = |&&j: &&u32| {
            let mut squares = [0.0; 2];
            columns.for_each(j as usize, |i, x| squares[usize::from(keep[i])] += x * x * curvature[i]);
            squares[0] > FAINT_COLUMN * (squares[0] + squares[1])
        };
        let all_of: Vec<u32> = set.iter().filter(faint).copied().collect();
        for j in all_of {
            columns.for_each(j as usize, |i, _| keep[i] = curvature[i] > 0.0);
        }
        KeptRows::rows(point, columns, set, keep)
    }

    fn rows(point: &Point, columns: &impl ColumnStore, set: &[u32], keep: Vec<bool>) -> KeptRows<'c> {
        let (mut place, mut roots) = (vec![u32::MAX; keep.len()], Vec::new());
        let mut of_bias = [total(&point.slopes), 0.0, 0.0];
        for (i, &second_derivative) in point.second_derivatives.iter().enumerate() {
            if keep[i] {
                place[i] = roots.len() as u32;
                roots.push(second_derivative.sqrt() as f32);
                of_bias[1] += second_derivative;
            } else {
                of_bias[2] += second_derivative;
            }
        }
        let (copied, squares) = columns.to_f32(set, &place, &roots, &point.second_derivatives);
        let columns = ModelColumns::Copied(copied);
        KeptRows { columns, squares, roots: Arc::new(roots), of_bias, keep: Some(keep) }
    }

    /// No rows, for a model with a matrix instead.
    pub fn none(point: &Point, kept: &KeptGram) -> KeptRows<'c> {
        let squares = (0..kept.set.len()).map(|k| [kept.gram.diagonal(k), 0.0]).collect();
        let of_bias = [total(&point.slopes), kept.gram.diagonal(kept.set.len()), 0.0];
        KeptRows {
            columns: ModelColumns::Copied(F32Columns::default()),
            squares,
            roots: Arc::default(),
            of_bias,
            keep: None,
        }
    }

    /// All rows, of columns that are decoded at each use.
    fn all_rows(point: &Point, columns: &'c CompactColumns, set: &[u32]) -> KeptRows<'c> {
        let curvature = &point.second_derivatives;
        let roots = curvature.iter().map(|second_derivative| second_derivative.sqrt() as f32).collect();
        KeptRows::decoded(columns, set, roots, [total(&point.slopes), total(curvature)])
    }
}

impl<'c> KeptRows<'c> {
    /// All rows with these √D, of columns that are decoded at each use. The sums are those of the derivatives and of D.
    pub fn decoded(
        columns: &'c CompactColumns,
        set: &[u32],
        roots: Vec<f32>,
        sums: [f64; 2],
    ) -> KeptRows<'c> {
        let roots = Arc::new(roots);
        let (columns, squares) = DecodedColumns::new(columns, set, &roots);
        let of_bias = [sums[0], sums[1], 0.0];
        KeptRows { columns: ModelColumns::Decoded(columns), squares, roots, of_bias, keep: None }
    }
}

impl<V: Value> Newton<'_, V> {
    /// The share of some rows in all non-zeros; in all rows, if only columns are stored.
    fn share_of_nonzeros(&self, which: impl Fn(usize) -> bool) -> f64 {
        let Problem { examples, .. } = self.problem;
        let offsets = examples.rows.offsets();
        let stored = offsets.len() == examples.len() + 1;
        let count = |i: usize| if stored { offsets[i + 1] - offsets[i] } else { 1 };
        let [some, all] = (0..examples.len()).fold([0, 0], |[some, all], i| {
            let count = count(i);
            [some + if which(i) { count } else { 0 }, all + count]
        });
        some as f64 / all.max(1) as f64
    }
}

/// Whether each row is kept. A row is omitted because its loss is nearly straight, never because its weight is
/// small: light rows may have all the curvature in a direction that heavy rows do not have.
fn rows_to_keep(curvature: &[f64], weight: impl Fn(usize) -> f64) -> Vec<bool> {
    let most = FAINT_TOTAL * total(curvature);
    let rows = || curvature.iter().enumerate();
    let highest = rows().filter(|(_, d)| **d > 0.0).map(|(i, d)| d / weight(i)).fold(0.0, f64::max);
    let mut least = FAINT * highest.min(f64::MAX); // not infinite, so that it can fall
    while rows().filter(|(i, d)| **d <= least * weight(*i)).map(|(_, d)| d).sum::<f64>() > most {
        least *= 0.25;
    }
    rows().map(|(i, d)| *d > least * weight(i)).collect()
}
