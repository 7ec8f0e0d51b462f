//! The matrix XᵀDX of a small working set, kept for later steps while D stays nearly the same.
//!
//! For squared loss D never changes, so one matrix serves a path until other weights leave zero. For other losses, a step
//! with the D of an earlier point is a little less accurate, and the line search tells by how much.

use super::Newton;
use super::gram::{Gram, pays};
use super::point::Point;
use crate::data::rows::Value;
use crate::optim::kernel::{ColumnStore, F32Rows};
use crate::util::state::{Fields, State};

/// The matrix also contains weights outside the working set whose gradient is above this share of λ₁. Along a path, these
/// weights are the next to leave zero.
const SOON: f64 = 0.8;
/// Maximum number of such weights, unless there are more in the working set.
const FEW: usize = 16;
/// The matrix is summed by rows if the working set has at least one in this many of all non-zeros.
const PART: usize = 4;

/// The matrix of some columns.
#[derive(Clone, Default)]
pub(super) struct KeptGram {
    pub gram: Gram,
    /// The columns, in ascending order.
    pub set: Vec<u32>,
    /// The second derivatives D.
    pub curvature: Vec<f64>,
}

impl KeptGram {
    /// Whether the matrix contains all columns of a set in ascending order.
    pub fn contains(&self, set: &[u32]) -> bool {
        let mut own = self.set.iter();
        set.iter().all(|j| own.any(|k| k == j))
    }

    /// The matrix for a working set in ascending order, if it is worth its cost.
    pub fn of<V: Value>(
        newton: &Newton<V>,
        point: &Point,
        columns: &impl ColumnStore,
        set: &[u32],
    ) -> Option<KeptGram> {
        let rows = newton.problem.examples.rows;
        let count = |set: &[u32]| set.iter().map(|&j| columns.count(j as usize)).sum::<usize>();
        if newton.scope.is_none() || rows.nonzeros() == 0 || !pays(set.len(), count(set), rows.len()) {
            return None;
        }
        let set = with_next(newton, point, set);
        if set.iter().any(|&j| columns.unit(j as usize) != 1.0) {
            return None;
        }
        let curvature = point.second_derivatives.clone();
        let gram = match count(&set) * PART >= rows.nonzeros() {
            true => by_rows(newton, &set, &curvature),
            false => by_columns(columns, &set, &curvature),
        };
        Some(KeptGram { gram, set, curvature })
    }
}

/// The working set and the weights that are the next to leave zero along a path, in ascending order.
fn with_next<V: Value>(newton: &Newton<V>, point: &Point, set: &[u32]) -> Vec<u32> {
    let (mut near, ever) = (Vec::new(), newton.problem.loss.is_quadratic());
    newton.for_each_column(|j| {
        let (l1, steep) = (newton.n * newton.problem.weighted_penalty.at(j).l1, newton.steepness(point, j));
        if l1 > 0.0 && (ever || steep > SOON * l1) && set.binary_search(&(j as u32)).is_err() {
            near.push((steep - l1, j as u32));
        }
    });
    // If D never changes, a matrix of twice as many columns saves the next ones: their work is a geometric series.
    let growth = if newton.problem.loss.is_quadratic() { set.len() + FEW } else { FEW.max(set.len() / 2) };
    let next = super::largest_gradients(near, growth);
    let mut all: Vec<u32> = set.iter().copied().chain(next.into_iter().map(|(_, j)| j)).collect();
    all.sort_unstable();
    all
}

/// Sums the matrix row by row.
fn by_rows<V: Value>(newton: &Newton<V>, set: &[u32], curvature: &[f64]) -> Gram {
    let rows = newton.problem.examples.rows;
    let side = set.len() + 1;
    let mut place = vec![u32::MAX; rows.columns()];
    set.iter().zip(0..).for_each(|(&j, k)| place[j as usize] = k);
    let mut a = vec![0.0; side * side];
    let longest = rows.offsets().windows(2).map(|span| span[1] - span[0]).max().unwrap_or(0);
    let (mut own, mut total) = (vec![(0u32, 0.0); longest + 1], 0.0);
    for (i, &d) in curvature.iter().enumerate() {
        let (row, mut len) = (rows.row(newton.values, i), 0);
        // Every entry is written, and the next one overwrites it unless it counts. This avoids a branch.
        for (&j, x) in row.ids.iter().zip(row.values) {
            own[len] = (place[j as usize], x.to_f64());
            len += usize::from(own[len].0 != u32::MAX);
        }
        for (first, &(k, x)) in own[..len].iter().enumerate() {
            let (weighted, line) = (d * x, &mut a[k as usize * side..][..side]);
            own[first..len].iter().for_each(|&(l, y)| line[l as usize] += weighted * y);
            line[side - 1] += weighted;
        }
        total += d;
    }
    a[side * side - 1] = total;
    Gram::of_upper_triangle(a, side)
}

/// Copies the columns, and sums the matrix row by row of the copy.
fn by_columns(columns: &impl ColumnStore, set: &[u32], curvature: &[f64]) -> Gram {
    let place: Vec<u32> = (0..curvature.len() as u32).collect();
    let roots: Vec<f32> = curvature.iter().map(|d| d.sqrt() as f32).collect();
    let (copied, _) = columns.to_f32(set, &place, &roots, curvature);
    let (mut a, side) = (F32Rows::of(&copied).square(&roots), set.len() + 1);
    a[side * side - 1] = curvature.iter().sum();
    Gram::of_upper_triangle(a, side)
}

impl KeptGram {
    /// Whether the matrix is of columns in ascending order, out of so many rows and columns.
    pub fn fits(&self, rows: usize, columns: usize) -> bool {
        let rising = self.set.windows(2).all(|pair| pair[0] < pair[1]);
        let within = self.set.last().is_none_or(|&last| (last as usize) < columns);
        rising && within && self.curvature.len() == rows && self.gram.has_side(self.set.len() + 1)
    }
}

impl State for KeptGram {
    fn fields(&mut self, fields: &mut Fields) {
        self.gram.fields(fields);
        self.set.fields(fields);
        self.curvature.fields(fields);
    }
}
