//! The working set of a step: the weights that may move.

use super::SoftmaxNewton;
use super::point::Point;
use crate::data::rows::Value;
use crate::optim::newton::largest_gradients;
use crate::util::random::Random;

/// Maximum growth of the working set, unless twice the number of non-zero weights is larger.
const GROWTH: usize = 1000;

/// The working set of a step.
pub(super) struct WorkingSet {
    pub set: Vec<u32>,
    pub classes: Vec<Vec<u16>>, // of each feature; empty if `all`
    pub all: bool,              // whether all weights are in the set, in order
    pub whole: bool,            // whether the set contains all weights that would move
}

impl<V: Value> SoftmaxNewton<'_, V> {
    /// The non-zero weights and those that would leave zero or nearly would, by feature, in random order.
    pub(super) fn working_set(&self, point: &Point, most: f64) -> WorkingSet {
        let (penalty, width) = (&self.problem.weighted_penalty, self.problem.rows.columns());
        if penalty.penalty.l1 == 0.0 && !penalty.is_bounded() {
            return WorkingSet {
                set: (0..width as u32).collect(),
                classes: Vec::new(),
                all: true,
                whole: true,
            };
        }
        let (mut pairs, mut near) = (Vec::new(), Vec::new());
        for (j, (weights, gradient)) in
            point.weights.chunks(self.blocks).zip(point.gradient.chunks(self.blocks)).enumerate()
        {
            let l1 = self.n * penalty.at(j).l1;
            for (k, (w, g)) in
                weights.as_flattened().iter().zip(gradient.as_flattened()).take(self.count).enumerate()
            {
                let (steep, id) = (penalty.one(j).steepness(*g), (j * self.count + k) as u64);
                if *w != 0.0 {
                    pairs.push(id);
                } else if steep > l1 - (0.5 * most).min(0.1 * l1) && (steep > l1 || l1 > 0.0) {
                    near.push((steep - l1, id));
                }
            }
        }
        let growth = GROWTH.max(2 * pairs.len());
        let whole = near.len() <= growth;
        pairs.extend(largest_gradients(near, growth).into_iter().map(|(_, id)| id));
        pairs.sort_unstable();
        let mut features: Vec<(u32, Vec<u16>)> = Vec::new();
        for id in pairs {
            let (j, k) = ((id / self.count as u64) as u32, (id % self.count as u64) as u16);
            match features.last_mut() {
                Some((last, classes)) if *last == j => classes.push(k),
                _ => features.push((j, vec![k])),
            }
        }
        Random::new(width as u64).shuffle(&mut features);
        let (set, classes) = features.into_iter().unzip();
        WorkingSet { set, classes, all: false, whole }
    }
}
