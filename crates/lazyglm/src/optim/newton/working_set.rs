//! The working set: the weights that a step may move.

use super::Newton;
use super::point::Point;
use crate::data::rows::Value;

/// Maximum growth of the working set, unless twice the number of non-zero weights is larger.
const GROWTH: usize = 1000;

/// The non-zero weights and those that would leave zero or nearly would, in ascending order. Also returns whether these
/// are all.
pub(super) fn working_set<V: Value>(newton: &Newton<V>, point: &Point, most: f64) -> (Vec<u32>, bool) {
    let (mut set, mut near) = (Vec::new(), Vec::new());
    newton.for_each_column(|j| {
        let l1 = newton.n * newton.problem.weighted_penalty.at(j).l1;
        let steep = newton.steepness(point, j);
        if point.weights[j] != 0.0 {
            set.push(j as u32);
        } else if steep > l1 - (0.5 * most).min(0.1 * l1) && (steep > l1 || l1 > 0.0) {
            near.push((steep - l1, j as u32));
        }
    });
    let growth = GROWTH.max(2 * set.len());
    let whole = near.len() <= growth;
    set.extend(largest_gradients(near, growth).into_iter().map(|(_, j)| j));
    set.sort_unstable();
    (set, whole)
}

impl<V: Value> Newton<'_, V> {
    /// The gradient in the direction in which weight `j` may leave zero, times n.
    pub(super) fn steepness(&self, point: &Point, j: usize) -> f64 {
        self.problem.weighted_penalty.one(j).steepness(point.gradient[j])
    }

    /// Calls `see` for each column that steps may move, in ascending order.
    pub(super) fn for_each_column(&self, mut see: impl FnMut(usize)) {
        match self.scope {
            None => (0..self.problem.examples.rows.columns()).for_each(see),
            Some(scope) => scope.iter().for_each(|&j| see(j as usize)),
        }
    }
}

/// At most `most` columns with the largest gradients. Among equal gradients, the first column wins.
pub(crate) fn largest_gradients<I: Copy + Ord>(mut near: Vec<(f64, I)>, most: usize) -> Vec<(f64, I)> {
    if near.len() > most {
        near.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near.truncate(most);
    }
    near
}
