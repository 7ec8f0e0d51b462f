//! Where few weights are to be found: Newton's method on a few columns, copied out of the rows; then a look at all of them,
//! by rows. The view by columns, which costs more than all of this, is never made.

use super::model::steepest_of;
use super::point::Point;
use super::{Guard, Look, Newton, Options, Problem, Solution, Stop};
use crate::data::rows::{Examples, RowsRef, Value};
use crate::optim::kernel::Columns;
use crate::problem::penalty::WeightedPenalty;

/// Data below this many non-zeros are seen by column at once: that costs little there.
const LARGE: usize = 1 << 22;
/// A look takes so many columns, or those with this part of all non-zeros; later ones twice that part, and twice as many
/// more columns as there are weights.
const FIRST: usize = 16;
const ROOM: usize = 16;
/// If it wants more columns than this, there are many.
const MOST: usize = 512;
/// Newton steps between looks,
const STEPS: usize = 2;
/// looks at all columns, at most,
const LOOKS: usize = 8;
/// and the part of all non-zeros that the copy may have: beyond, all columns at once are cheaper.
const PART: usize = 2;

/// What came of it.
pub(super) enum Few {
    /// The minimum, or an end that was asked for.
    Ended(Solution),
    /// A point on the way, and the steps to it: there are too many weights for this.
    Many(Point, usize),
}

/// Some columns of the rows, as rows and by column.
struct Part<V> {
    set: Vec<u32>, // in order
    offsets: Vec<usize>,
    ids: Vec<u32>,
    values: Vec<V>,
    columns: Columns<V>,
}

impl<V: Value> Newton<'_, V> {
    /// Whether it is worth trying. `most` is the largest violation of nothing.
    pub(super) fn maybe_few(&self, most: f64) -> bool {
        self.problem.examples.rows.nonzeros() >= LARGE && !self.many(most)
    }

    /// From the point of no weights.
    pub(super) fn few(
        &self,
        mut point: Point,
        guard: &mut Guard,
        watch: &mut dyn FnMut(&Look) -> bool,
    ) -> Few {
        let rows = self.problem.examples.rows;
        let mut counts = vec![0u32; rows.columns()];
        rows.ids().iter().for_each(|&j| counts[j as usize] += 1);
        let (mut steps, mut last) = (0, None);
        for _ in 0..LOOKS {
            let gap = self.relative_gap(&point);
            let room = rows.nonzeros() / if last.is_none() { ROOM } else { ROOM / 2 };
            let set = self.gradient_bound(&point, &counts, room);
            let enough = last.take().filter(|part: &Part<V>| part.has(&set));
            let rest = self.options.steps - steps;
            // No better than it must be, until nothing outside wants to move.
            let within = match enough {
                Some(_) => Options { tolerance: 0.1 * self.options.tolerance, steps: rest },
                None => Options { tolerance: 0.1 * gap.max(self.options.tolerance), steps: STEPS.min(rest) },
            };
            let Some(part) = enough.or_else(|| Part::of(rows, self.values, set)) else { break };
            let found = self.descend_on(&part, &point, &within, guard, &mut |look| {
                watch(&Look { steps: steps + look.steps, gap, ..*look })
            });
            steps += found.steps;
            self.lift(&mut point, &part, &found);
            if let Some(stop) = self.ended(&point, &part.set, &within, &found) {
                return Few::Ended(point.solved(stop, steps, found.predicted_decrease));
            }
            last = Some(part);
        }
        Few::Many(point, steps)
    }

    /// Why it ends here, if it does, now that the weights of `set` are at their best.
    fn ended(&self, point: &Point, set: &[u32], within: &Options, found: &Solution) -> Option<Stop> {
        if found.stop == Stop::Told {
            return Some(Stop::Told);
        }
        if self.relative_gap(point) <= self.options.tolerance {
            return Some(Stop::Gap);
        }
        let beyond = |j: usize| self.problem.weighted_penalty.beyond(j, point.gradient[j] / self.n) > 0.0;
        let outside = |j: usize| set.binary_search(&(j as u32)).is_err();
        let exactly = within.tolerance <= 0.1 * self.options.tolerance;
        if !exactly || (0..point.weights.len()).any(|j| beyond(j) && outside(j)) {
            return None;
        }
        match found.stop {
            Stop::Gap | Stop::PredictedDecrease if self.gap_is_loose() => Some(Stop::PredictedDecrease),
            Stop::Precision => Some(Stop::Precision),
            _ => None,
        }
    }

    /// The weights that are not zero, and the steepest of those that would leave it, as far as there is room; in order.
    fn gradient_bound(&self, point: &Point, counts: &[u32], room: usize) -> Vec<u32> {
        let (mut set, mut near) = (Vec::new(), Vec::new());
        for (j, &w) in point.weights.iter().enumerate() {
            let beyond = self.problem.weighted_penalty.beyond(j, point.gradient[j] / self.n);
            if w != 0.0 {
                set.push(j as u32);
            } else if beyond > 0.0 {
                near.push((beyond, j as u32));
            }
        }
        let mut near = steepest_of(near, MOST + 1);
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let growth = set.len() + FIRST.max(2 * set.len());
        let mut taken: usize = set.iter().map(|&j| counts[j as usize] as usize).sum();
        for (_, j) in near {
            taken += counts[j as usize] as usize;
            if taken > room && set.len() >= growth {
                break;
            }
            set.push(j);
        }
        set.sort_unstable();
        set
    }

    /// The minimum over the weights of the part, from where they are.
    fn descend_on(
        &self,
        part: &Part<V>,
        point: &Point,
        within: &Options,
        guard: &mut Guard,
        watch: &mut dyn FnMut(&Look) -> bool,
    ) -> Solution {
        let Problem { examples, loss, weighted_penalty, bias } = *self.problem;
        let rows = part.rows();
        let of = |numbers: &[f64]| -> Vec<f64> { part.set.iter().map(|&j| numbers[j as usize]).collect() };
        let factors = weighted_penalty.factors.map(of);
        let weighted_penalty = WeightedPenalty { factors: factors.as_deref(), ..weighted_penalty };
        let problem = Problem { examples: Examples { rows, ..examples }, loss, weighted_penalty, bias };
        let newton =
            Newton { problem: &problem, values: &part.values, options: within, n: self.n, work: self.work };
        let start = newton.point_at(of(&point.weights), point.bias, &part.columns);
        newton.descend(start, &part.columns, guard, 0, watch)
    }

    /// All that is known of the point at these weights of the part; the gradient by rows.
    fn lift(&self, point: &mut Point, part: &Part<V>, found: &Solution) {
        point.bias = found.bias;
        part.set.iter().zip(&found.weights).for_each(|(&j, w)| point.weights[j as usize] = *w);
        for (i, score) in point.scores.iter_mut().enumerate() {
            let span = part.offsets[i]..part.offsets[i + 1];
            let terms = part.ids[span.clone()].iter().zip(&part.values[span]);
            *score = found.bias + terms.map(|(&k, x)| x.wide() * found.weights[k as usize]).sum::<f64>();
        }
        self.settle(point, 2);
        self.gradient_by_rows(point);
    }
}

impl<V: Value> Part<V> {
    /// `None` if there are too many columns, or too many non-zeros, to be worth it.
    fn of(rows: RowsRef, values: &[V], set: Vec<u32>) -> Option<Part<V>> {
        if set.len() > MOST {
            return None;
        }
        let most = rows.nonzeros() / PART;
        let mut place = vec![u16::MAX; rows.columns()];
        set.iter().zip(0..).for_each(|(&j, k)| place[j as usize] = k);
        let (mut offsets, mut ids, mut kept) = (Vec::with_capacity(rows.len() + 1), Vec::new(), Vec::new());
        offsets.push(0);
        let mut len = 0;
        for i in 0..rows.len() {
            let row = rows.row(values, i);
            ids.resize(len + row.ids.len(), 0);
            kept.resize(len + row.ids.len(), V::default());
            // Each is written, and the next overwrites it unless it counts: no branch to guess.
            for (&j, &x) in row.ids.iter().zip(row.values) {
                let k = place[j as usize];
                (ids[len], kept[len]) = (u32::from(k), x);
                len += usize::from(k != u16::MAX);
            }
            offsets.push(len);
            if len > most {
                return None;
            }
        }
        ids.truncate(len);
        kept.truncate(len);
        let columns = Columns::of(RowsRef::trusted(&offsets, &ids, V::lent(&kept), set.len()), &kept);
        Some(Part { set, offsets, ids, values: kept, columns })
    }

    /// Whether these columns are among its own.
    fn has(&self, set: &[u32]) -> bool {
        set.iter().all(|j| self.set.binary_search(j).is_ok())
    }

    fn rows(&self) -> RowsRef<'_> {
        RowsRef::trusted(&self.offsets, &self.ids, V::lent(&self.values), self.set.len())
    }
}
