//! Newton's method for sparse solutions: it works on a copy of a few columns, then checks all columns by
//! rows. The view by columns, which costs more than that, is never created.

use super::descend::{Ending, Memory};
use super::halted::Course;
use super::point::Point;
use super::{Bounds, Newton, NewtonProgress, NewtonStop, Options, Problem, Solution, largest_gradients};
use crate::data::rows::{Examples, RowsRef, Value};
use crate::optim::kernel::Columns;
use crate::problem::penalty::WeightedPenalty;

/// Data with fewer non-zeros than this use the view by columns, which is cheap for them.
const LARGE: usize = 1 << 22;
/// Minimum number of columns that a check adds. Later checks add twice as many columns as there are weights.
const FIRST: usize = 16;
/// The first check adds columns with up to one in this many of all non-zeros. Later checks add twice that part.
const ROOM: usize = 16;
/// Maximum number of columns for this method.
const MOST: usize = 512;
/// Number of Newton steps between checks.
const STEPS: usize = 2;
/// Maximum number of checks of all columns.
const LOOKS: usize = 8;
/// The copy may have at most one in this many of all non-zeros. Beyond that, using all columns is cheaper.
const PART: usize = 2;

/// Outcome of the method.
pub(super) enum SparseStart {
    /// The point is the optimum, or the caller stopped the solver.
    Ended(Ending),
    /// There are too many weights for this method. Holds the number of steps.
    NotSparse(usize),
}

/// Some columns of the data, stored by row and by column.
struct ColumnSubset<V> {
    set: Vec<u32>, // in ascending order
    offsets: Vec<usize>,
    ids: Vec<u32>,
    values: Vec<V>,
    columns: Columns<V>,
}

impl<V: Value> Newton<'_, V> {
    /// Whether the method is worth trying. `most` is the largest violation of the null model.
    pub(super) fn may_be_sparse(&self, most: f64) -> bool {
        self.problem.examples.rows.nonzeros() >= LARGE && !self.expects_many(most)
    }

    /// Runs the method from the null model.
    pub(super) fn sparse_start(
        &self,
        point: &mut Point,
        memory: &mut Memory,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> SparseStart {
        let rows = self.problem.examples.rows;
        let mut counts = vec![0u32; rows.columns()];
        rows.ids().iter().for_each(|&j| counts[j as usize] += 1);
        let (mut steps, mut last) = (0, None);
        for _ in 0..LOOKS {
            let gap = self.look(point).gap;
            let room = rows.nonzeros() / if last.is_none() { ROOM } else { ROOM / 2 };
            let set = self.candidate_columns(point, &counts, room);
            let enough = last.take().filter(|part: &ColumnSubset<V>| part.has(&set));
            let rest = self.options.steps - steps;
            // Solve loosely until no weight outside the set would move.
            let within = match enough {
                Some(_) => Options { tolerance: 0.1 * self.options.tolerance, steps: rest },
                None => Options { tolerance: 0.1 * gap.max(self.options.tolerance), steps: STEPS.min(rest) },
            };
            let Some(part) = enough.or_else(|| ColumnSubset::of(rows, self.values, set)) else { break };
            let found = self.descend_on(&part, point, &within, memory, &mut |look| {
                watch(&NewtonProgress { steps: steps + look.steps, gap, ..*look })
            });
            steps += found.steps;
            self.update_point(point, &part, &found);
            if let Some(stop) = self.ended(point, &part.set, &within, &found) {
                return SparseStart::Ended(Ending {
                    stop,
                    steps,
                    predicted_decrease: found.predicted_decrease,
                    dual: None,
                });
            }
            last = Some(part);
        }
        SparseStart::NotSparse(steps)
    }

    /// Why the method ends, if it does, when the weights of `set` are at their best.
    fn ended(&self, point: &Point, set: &[u32], within: &Options, found: &Solution) -> Option<NewtonStop> {
        if matches!(found.stop, NewtonStop::Interrupted | NewtonStop::NoMinimum | NewtonStop::Diverged) {
            return Some(found.stop);
        }
        if self.look(point).gap <= self.options.tolerance {
            return Some(NewtonStop::Gap);
        }
        let beyond =
            |j: usize| self.problem.weighted_penalty.excess_gradient(j, point.gradient[j] / self.n) > 0.0;
        let outside = |j: usize| set.binary_search(&(j as u32)).is_err();
        let exactly = within.tolerance <= 0.1 * self.options.tolerance;
        if !exactly || (0..point.weights.len()).any(|j| beyond(j) && outside(j)) {
            return None;
        }
        match found.stop {
            NewtonStop::Gap | NewtonStop::PredictedDecrease if self.gap_is_loose() => {
                Some(NewtonStop::PredictedDecrease)
            }
            NewtonStop::Precision => Some(NewtonStop::Precision),
            _ => None,
        }
    }

    /// The non-zero weights, and the columns with the largest violations among the others, up to `room`
    /// non-zeros. In ascending order.
    fn candidate_columns(&self, point: &Point, counts: &[u32], room: usize) -> Vec<u32> {
        let (mut set, mut near) = (Vec::new(), Vec::new());
        for (j, &w) in point.weights.iter().enumerate() {
            let beyond = self.problem.weighted_penalty.excess_gradient(j, point.gradient[j] / self.n);
            if w != 0.0 {
                set.push(j as u32);
            } else if beyond > 0.0 {
                near.push((beyond, j as u32));
            }
        }
        let mut near = largest_gradients(near, MOST + 1);
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

    /// Minimises F over the weights of the part, from their current values.
    fn descend_on(
        &self,
        part: &ColumnSubset<V>,
        point: &Point,
        within: &Options,
        memory: &mut Memory,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let Problem { examples, loss, weighted_penalty, bias } = *self.problem;
        let rows = part.rows();
        let of = |numbers: &[f64]| -> Vec<f64> { part.set.iter().map(|&j| numbers[j as usize]).collect() };
        let factors = weighted_penalty.factors.map(of);
        let bounds: Option<Vec<[f64; 2]>> =
            weighted_penalty.bounds.map(|all| part.set.iter().map(|&j| all[j as usize]).collect());
        let (factors, bounds) = (factors.as_deref(), bounds.as_deref());
        let weighted_penalty = WeightedPenalty { factors, bounds, ..weighted_penalty };
        let problem = Problem { examples: Examples { rows, ..examples }, loss, weighted_penalty, bias };
        let newton = Newton {
            problem: &problem,
            values: &part.values,
            options: within,
            n: self.n,
            bounds: Bounds { unfinished: None, ..self.bounds }, // a few steps on a few columns
            scope: None,
        };
        let mut start = newton.point_at(of(&point.weights), point.bias, &part.columns);
        let ending =
            newton.descend(&mut start, &part.columns, memory, Course::after(0, self.bounds.work), watch);
        start.solved(ending)
    }

    /// Updates the full point from the weights of the part, with the gradient computed by rows.
    fn update_point(&self, point: &mut Point, part: &ColumnSubset<V>, found: &Solution) {
        point.bias = found.bias;
        part.set.iter().zip(&found.weights).for_each(|(&j, w)| point.weights[j as usize] = *w);
        for (i, score) in point.scores.iter_mut().enumerate() {
            let span = part.offsets[i]..part.offsets[i + 1];
            let terms = part.ids[span.clone()].iter().zip(&part.values[span]);
            *score = found.bias
                + terms.map(|(&k, x)| x.to_f64() * found.weights[k as usize]).sum::<f64>()
                + self.problem.examples.offset(i);
        }
        point.penalty = self.n * self.problem.weighted_penalty.value(&point.weights);
        self.settle(point, 2, self.enough());
        self.gradient_by_rows(point);
    }
}

impl<V: Value> ColumnSubset<V> {
    /// Copies the columns. Returns `None` if there are too many columns or non-zeros.
    fn of(rows: RowsRef, values: &[V], set: Vec<u32>) -> Option<ColumnSubset<V>> {
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
            // Every entry is written, and the next one overwrites it unless it counts. This avoids a branch.
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
        let columns = Columns::of(RowsRef::trusted(&offsets, &ids, V::values_ref(&kept), set.len()), &kept);
        Some(ColumnSubset { set, offsets, ids, values: kept, columns })
    }

    /// Whether the part contains all these columns.
    fn has(&self, set: &[u32]) -> bool {
        set.iter().all(|j| self.set.binary_search(j).is_ok())
    }

    fn rows(&self) -> RowsRef<'_> {
        RowsRef::trusted(&self.offsets, &self.ids, V::values_ref(&self.values), self.set.len())
    }
}
