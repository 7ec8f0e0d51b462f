//! Newton's method for one of many heads: rows that no weight touches are merged into one row.
//!
//! ```text
//! S           columns whose weights may move              R     the rows of the head, and the rows with a value in S
//! F           Σ_{i∈R} ωᵢℓ(sᵢ, yᵢ) + Ω·ℓ(b, −1) + n·R(w)    Ω     the weight of all other rows: their score is the bias
//! gradient    g = a·T + Σ_{i∈R} (ωᵢℓ′(sᵢ, yᵢ) − ωᵢa)xᵢ     a     ℓ′(b, −1);  T = Σᵢ ωᵢxᵢ, the same for all heads
//! ```
//!
//! S begins with the weights of the start. Columns whose gradient exceeds λ₁ join it until none is left, so the result is the optimum of
//! all rows and columns. A step takes time proportional to R, which is small for a label of few rows.

use super::{
    Bounds, From, NewtonProgress, NewtonStop, Options, Problem, Solution, View, largest_gradients, solve_on,
};
use crate::data::rows::{Examples, RowsRef, Value, ValuesRef};
use crate::optim::kernel::Columns;
use crate::problem::loss::Derivatives;
use crate::problem::penalty::WeightedPenalty;

/// Least number of rows, and the largest share of them that a head may have: one in this many.
const LEAST_ROWS: usize = 1000;
const RARE: usize = 32;
/// Maximum number of columns in S.
const MOST: usize = 1024;
/// Minimum number of columns that join S at once. Later rounds add twice as many columns as there are weights.
const FIRST: usize = 16;
/// The rows in R may have at most one in this many of all non-zeros. Beyond that, all rows are cheaper.
const PART: usize = 3;
/// Maximum number of rounds.
const ROUNDS: usize = 30;
/// Share of the tolerance for the solve on S, and of the gap outside of S for a solve that is not the last.
const WITHIN: f64 = 0.5;
const LOOSE: f64 = 0.1;
/// The largest tolerance of a solve that is not the last.
const LOOSEST: f64 = 0.05;

/// The weighted sum of all rows, which the heads share.
pub(crate) fn total_of_rows(examples: Examples) -> Vec<f64> {
    let mut total = vec![0.0; examples.rows.columns()];
    for i in 0..examples.len() {
        let weight = examples.weight(i);
        examples.rows.for_each(i, |j, x| total[j] += weight * x);
    }
    total
}

/// Whether rows may be merged for a head with these rows.
pub(crate) fn may_merge(problem: &Problem, own: &[u32]) -> bool {
    let Problem { examples, loss, weighted_penalty, .. } = problem;
    let rare = examples.len() >= LEAST_ROWS && own.len() <= examples.len() / RARE && !own.is_empty();
    rare && examples.offsets.is_none() && !loss.has_kinks() && weighted_penalty.penalty.l1 > 0.0
}

/// Minimises F of the head with the rows `own`, given the sum of all rows. `None` if too many rows have a weight: then all
/// rows are cheaper.
pub(crate) fn solve_merged(
    view: &View,
    problem: &Problem,
    (own, total): (&[u32], &[f64]),
    start: Option<(&[f64], f64)>,
    options: &Options,
    bounds: Bounds,
    watch: &mut dyn FnMut(&NewtonProgress) -> bool,
) -> Option<Solution> {
    let rows = problem.examples.rows;
    match rows.values() {
        ValuesRef::F32(values) => {
            let columns = view.in_f32.by_column.get_or_init(|| Columns::of(rows, values));
            Merged { problem, values, columns, own, total }.solve(start, options, bounds, watch)
        }
        ValuesRef::F64(values) => {
            let columns = view.in_f64.by_column.get_or_init(|| Columns::of(rows, values));
            Merged { problem, values, columns, own, total }.solve(start, options, bounds, watch)
        }
    }
}

/// A head, and the rows by row and by column.
struct Merged<'a, V> {
    problem: &'a Problem<'a>,
    values: &'a [V],
    columns: &'a Columns<V>,
    own: &'a [u32],
    total: &'a [f64],
}

/// The rows in R with the columns in S, and last the row that all others are merged into.
struct Part<V> {
    rows: Vec<u32>, // the numbers of the rows in R, in ascending order
    offsets: Vec<usize>,
    ids: Vec<u32>,
    values: Vec<V>,
    targets: Vec<f64>,
    weights: Vec<f64>, // of mean one
}

/// The columns in S with their weights, and the bias.
struct At {
    set: Vec<u32>, // in ascending order
    weights: Vec<f64>,
    bias: f64,
}

impl<V: Value> Merged<'_, V> {
    fn solve(
        &self,
        start: Option<(&[f64], f64)>,
        options: &Options,
        bounds: Bounds,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Option<Solution> {
        let mut at = At::of(start);
        let mut place = vec![u32::MAX; self.problem.examples.len()];
        let (mut steps, mut from, mut tolerance) = (0, start.is_some(), LOOSEST.max(options.tolerance));
        for _ in 0..ROUNDS {
            let part = self.part(&at.set, &mut place)?;
            let exactly = tolerance <= WITHIN * options.tolerance;
            let within = Options { tolerance, steps: options.steps.saturating_sub(steps) };
            let found = self.solve_on_part(&part, &at, from, &within, bounds, &mut |look| {
                watch(&NewtonProgress { steps: steps + look.steps, ..*look })
            });
            (steps, from) = (steps + found.steps, true);
            (at.weights, at.bias) = (found.weights, found.bias);
            let ended = |stop| Some(at.solution(self.total.len(), stop, steps, found.predicted_decrease));
            match found.stop {
                NewtonStop::Interrupted => return ended(NewtonStop::Interrupted),
                NewtonStop::Steps => return ended(NewtonStop::Steps),
                NewtonStop::NoMinimum | NewtonStop::Diverged => return None,
                NewtonStop::Gap | NewtonStop::PredictedDecrease | NewtonStop::Precision => {}
            }
            let (beyond, gap) = self.look(&part, &at);
            // Without λ₂, a gradient beyond λ₁ leaves no bound at all.
            let closed = beyond.is_empty() || gap <= (1.0 - WITHIN) * options.tolerance;
            if closed && exactly {
                return ended(found.stop);
            }
            let last = WITHIN * options.tolerance;
            tolerance = if closed { last } else { (LOOSE * gap).clamp(last, LOOSEST.max(last)) };
            if !closed {
                at.grow(beyond);
            }
        }
        None
    }

    /// The rows in R, with the columns in S; `None` if there are too many. `place` is of no use afterwards, but must be as long as
    /// there are rows and full of `u32::MAX`, as it is left.
    fn part(&self, set: &[u32], place: &mut [u32]) -> Option<Part<V>> {
        let examples = self.problem.examples;
        let most = examples.rows.nonzeros() / PART;
        if set.len() > MOST {
            return None;
        }
        let mut rows = Vec::new();
        let mut touch = |i: u32| {
            if place[i as usize] == u32::MAX {
                place[i as usize] = 0;
                rows.push(i);
            }
        };
        self.own.iter().for_each(|&i| touch(i));
        set.iter().for_each(|&j| self.columns.column(j as usize).iter().for_each(|&(i, _)| touch(i)));
        rows.sort_unstable();
        let nonzeros: usize =
            rows.iter().map(|&i| examples.rows.row(self.values, i as usize).ids.len()).sum();
        let part = (nonzeros <= most).then(|| {
            rows.iter().zip(0..).for_each(|(&i, k)| place[i as usize] = k);
            self.part_of(set, &rows, place)
        });
        rows.iter().for_each(|&i| place[i as usize] = u32::MAX);
        part.map(|part| Part { rows, ..part })
    }

    fn part_of(&self, set: &[u32], rows: &[u32], place: &[u32]) -> Part<V> {
        let examples = self.problem.examples;
        let mut offsets = vec![0; rows.len() + 2];
        for &j in set {
            self.columns
                .column(j as usize)
                .iter()
                .for_each(|&(i, _)| offsets[place[i as usize] as usize + 2] += 1);
        }
        (2..offsets.len()).for_each(|k| offsets[k] += offsets[k - 1]);
        let all = offsets[rows.len() + 1];
        let (mut ids, mut values) = (vec![0; all], vec![V::default(); all]);
        for (k, &j) in (0..).zip(set) {
            for &(i, x) in self.columns.column(j as usize) {
                let next = &mut offsets[place[i as usize] as usize + 1];
                (ids[*next], values[*next]) = (k, x);
                *next += 1;
            }
        }
        offsets.truncate(rows.len() + 1);
        let mut targets = vec![-1.0; rows.len()];
        self.own.iter().for_each(|&i| targets[place[i as usize] as usize] = 1.0);
        let mut weights: Vec<f64> = rows.iter().map(|&i| examples.weight(i as usize)).collect();
        let of_all = examples.weights.map_or(examples.len() as f64, |weights| weights.iter().sum());
        weights.push((of_all - weights.iter().sum::<f64>()).max(f64::MIN_POSITIVE));
        targets.push(-1.0);
        offsets.push(all);
        let share = weights.len() as f64 / examples.len() as f64; // sums of the part are divided by its number of rows
        weights.iter_mut().for_each(|weight| *weight *= share);
        Part { rows: Vec::new(), offsets, ids, values, targets, weights }
    }

    /// Minimises F over the weights in S.
    fn solve_on_part(
        &self,
        part: &Part<V>,
        at: &At,
        from: bool,
        options: &Options,
        bounds: Bounds,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let Problem { loss, weighted_penalty, bias, .. } = *self.problem;
        let factors: Option<Vec<f64>> =
            weighted_penalty.factors.map(|all| at.set.iter().map(|&j| all[j as usize]).collect());
        let limits: Option<Vec<[f64; 2]>> =
            weighted_penalty.bounds.map(|all| at.set.iter().map(|&j| all[j as usize]).collect());
        let weighted_penalty =
            WeightedPenalty { factors: factors.as_deref(), bounds: limits.as_deref(), ..weighted_penalty };
        let rows = RowsRef::trusted(&part.offsets, &part.ids, V::values_ref(&part.values), at.set.len());
        let examples = Examples { rows, targets: &part.targets, weights: Some(&part.weights), offsets: None };
        let problem = Problem { examples, loss, weighted_penalty, bias };
        let weights = from.then_some((at.weights.as_slice(), at.bias));
        let from = From { weights, reached: &mut None };
        solve_on(&View::default(), &problem, from, options, Bounds { unfinished: None, ..bounds }, watch)
    }

    /// The columns outside of S whose gradient is beyond λ₁, and their part of the relative duality gap.
    fn look(&self, part: &Part<V>, at: &At) -> (Vec<(f64, u32)>, f64) {
        let Problem { examples, loss, weighted_penalty, .. } = self.problem;
        let rows = RowsRef::trusted(&part.offsets, &part.ids, V::values_ref(&part.values), at.set.len());
        let scores: Vec<f64> =
            (0..rows.len()).map(|k| rows.row(&part.values, k).dot(&at.weights) + at.bias).collect();
        let [mut values, mut slopes, mut second_derivatives] = [(); 3].map(|()| vec![0.0; scores.len()]);
        let out = Derivatives {
            values: &mut values,
            slopes: &mut slopes,
            second_derivatives: &mut second_derivatives,
        };
        loss.taylor_of_rows(&scores, &part.targets, out);
        let n = examples.len() as f64;
        let others = slopes[scores.len() - 1]; // the loss derivative of the rows that are merged
        let mut gradient: Vec<f64> = self.total.iter().map(|total| others * total).collect();
        for (k, &i) in part.rows.iter().enumerate() {
            let by = examples.weight(i as usize) * (slopes[k] - others);
            examples.rows.row(self.values, i as usize).iter().for_each(|(j, x)| gradient[j] += by * x);
        }
        let (mut beyond, mut gap, mut next) = (Vec::new(), 0.0, 0);
        for (j, g) in gradient.into_iter().enumerate() {
            if at.set.get(next).is_some_and(|&in_set| in_set as usize == j) {
                next += 1;
                continue;
            }
            let excess = weighted_penalty.excess_gradient(j, g / n);
            if excess > 0.0 {
                beyond.push((excess, j as u32));
                gap += weighted_penalty.one(j).conjugate(g / n);
            }
        }
        let share = part.weights.len() as f64;
        let loss: f64 = part.weights.iter().zip(&values).map(|(weight, value)| weight * value / share).sum();
        let penalty: f64 = (at.set.iter().zip(&at.weights))
            .map(|(&j, &w)| weighted_penalty.at(j as usize).value(&[w]))
            .sum();
        let loose = weighted_penalty.penalty.l2 == 0.0 && !beyond.is_empty();
        let gap = if loose { f64::INFINITY } else { gap / (loss + penalty).abs().max(f64::MIN_POSITIVE) };
        (beyond, gap)
    }
}

impl At {
    /// The weights of the start that are not zero.
    fn of(start: Option<(&[f64], f64)>) -> At {
        let Some((all, bias)) = start else { return At { set: Vec::new(), weights: Vec::new(), bias: 0.0 } };
        let set: Vec<u32> = (0..all.len()).filter(|&j| all[j] != 0.0).map(|j| j as u32).collect();
        let weights = set.iter().map(|&j| all[j as usize]).collect();
        At { set, weights, bias }
    }

    /// Adds the columns with the largest gradients.
    fn grow(&mut self, beyond: Vec<(f64, u32)>) {
        let nonzeros = self.weights.iter().filter(|w| **w != 0.0).count();
        let added = largest_gradients(beyond, FIRST.max(2 * nonzeros));
        let old = std::mem::take(&mut self.set).into_iter().zip(std::mem::take(&mut self.weights));
        let mut all: Vec<(u32, f64)> = old.chain(added.into_iter().map(|(_, j)| (j, 0.0))).collect();
        all.sort_unstable_by_key(|(j, _)| *j);
        (self.set, self.weights) = all.into_iter().unzip();
    }

    fn solution(&self, width: usize, stop: NewtonStop, steps: usize, predicted_decrease: f64) -> Solution {
        let mut weights = vec![0.0; width];
        self.set.iter().zip(&self.weights).for_each(|(&j, &w)| weights[j as usize] = w);
        Solution { weights, bias: self.bias, stop, steps, predicted_decrease, dual: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::Rows;
    use crate::problem::loss;
    use crate::problem::penalty::ElasticNet;

    #[test]
    fn a_rare_head_is_solved_on_few_rows_and_a_frequent_feature_needs_all() {
        for frequent in [false, true] {
            let mut rows = Rows::new();
            let own: Vec<u32> = (0..1200).filter(|i| i % 60 == 0).collect();
            for i in 0..1200u32 {
                let first = if frequent { 0 } else { i % 50 };
                let mark = if own.contains(&i) { 100 } else { 50 + i % 50 };
                rows.push(&[(first, if i % 60 == 0 { 2.0 } else { 1.0 }), (mark, 1.0)]).unwrap();
            }
            let targets: Vec<f64> = (0..1200).map(|i| if i % 60 == 0 { 1.0 } else { -1.0 }).collect();
            let examples = Examples { rows: rows.borrow(), targets: &targets, weights: None, offsets: None };
            let loss = loss::parse("logistic").unwrap();
            let weighted_penalty = WeightedPenalty::of(ElasticNet { l1: 1e-3, l2: 1e-4 });
            let problem = Problem { examples, loss: &*loss, weighted_penalty, bias: true };
            assert!(may_merge(&problem, &own));
            let (total, options) = (total_of_rows(examples), Options { tolerance: 1e-9, steps: 100 });
            let found = solve_merged(
                &View::default(),
                &problem,
                (&own, &total),
                None,
                &options,
                Bounds::none(),
                &mut |_| true,
            );
            assert_eq!(found.is_none(), frequent);
            if let Some(found) = found {
                assert!(found.stop == NewtonStop::Gap && found.weights[100] > 1.0, "{found:?}");
            }
        }
    }
}
