//! Newton's method on columns alone, for some columns of rows that are on disk.

use super::descend::{Ending, Memory};
use super::halted::Course;
use super::lean_rows::{LeanRows, RowNumbers, Score};
use super::point::Point;
use super::{Bounds, Newton, NewtonProgress, Options, Problem, Solution};
use crate::data::rows::{Examples, RowsRef, ValuesRef};
use crate::optim::kernel::{ColumnStore, CompactColumns};
use crate::problem::loss::Loss;
use crate::problem::penalty::WeightedPenalty;
use std::sync::atomic::AtomicBool;

/// Share of their magnitudes to which the derivatives sum at the end,
const BALANCED: f64 = 1e-14;
/// after at most this many steps on the bias.
const BIAS_STEPS: usize = 30;

/// What Newton steps store per row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// All terms: the fastest.
    Terms,
    /// The score, from which terms are computed again.
    Scores,
    /// The score in f32, in the least memory. Steps are less exact near the optimum.
    ShortScores,
}

impl Stored {
    /// All, from the most memory to the least.
    pub const ALL: [Stored; 3] = [Stored::Terms, Stored::Scores, Stored::ShortScores];

    /// Memory of a step in bytes per row, beside targets, weights and offsets.
    pub fn bytes(self) -> usize {
        match self {
            Stored::Terms => 88,
            Stored::Scores => 28,
            Stored::ShortScores => 16,
        }
    }
}

/// A problem whose data are stored by column only.
pub(crate) struct ColumnProblem<'a> {
    /// The columns.
    pub columns: &'a CompactColumns,
    /// Targets, weights and offsets of the rows.
    pub numbers: RowNumbers<'a>,
    /// A loss without kinks.
    pub loss: &'a dyn Loss,
    /// The penalty of these columns.
    pub weighted_penalty: WeightedPenalty<'a>,
    /// Whether there is a bias.
    pub bias: bool,
    /// What is stored per row.
    pub stored: Stored,
    /// A flag that ends loops within a step when it is set.
    pub interrupt: Option<&'a AtomicBool>,
}

impl ColumnProblem<'_> {
    /// Finds the minimiser from initial weights and a bias. Calls `watch` after every step, and stops if `watch` returns
    /// false. At the bias of the solution, the loss derivatives sum to zero.
    pub fn solve(
        &self,
        start: (&[f64], f64),
        options: &Options,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        match self.stored {
            Stored::Scores => return self.solve_lean::<f64>(start, true, options, watch),
            Stored::ShortScores => return self.solve_lean::<f32>(start, false, options, watch),
            Stored::Terms => {}
        }
        let mut found = self.solve_fast(start, options, watch);
        if self.bias {
            found.bias += self.rows::<f64>(&found.weights, found.bias).balance(BALANCED, BIAS_STEPS);
        }
        found
    }

    /// Stores all terms of the rows.
    fn solve_fast(
        &self,
        (weights, bias): (&[f64], f64),
        options: &Options,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let RowNumbers { targets, weights: of_rows, offsets } = self.numbers;
        let targets = targets.to_f64();
        let [of_rows, offsets] = [of_rows, offsets].map(|numbers| numbers.map(|all| all.to_f64()));
        let rows = RowsRef::trusted(&[0], &[], ValuesRef::F32(&[]), self.columns.len());
        let examples =
            Examples { rows, targets: &targets, weights: of_rows.as_deref(), offsets: offsets.as_deref() };
        let problem = self.problem(examples);
        let newton = self.newton(&problem, options);
        let mut point = self.point(&newton, weights, bias);
        point.scores = self.rows(weights, point.bias).scores;
        newton.settle(&mut point, 30, newton.enough());
        self.columns.products(&point.slopes, &mut point.gradient);
        let (mut memory, course) = (Memory::new(targets.len()), Course::after(0, newton.bounds.work));
        let ending = newton.descend(&mut point, self.columns, &mut memory, course, watch);
        point.solved(ending)
    }

    /// Computes the terms of the rows again whenever they are needed.
    fn solve_lean<S: Score>(
        &self,
        (weights, bias): (&[f64], f64),
        on_face: bool,
        options: &Options,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let rows = RowsRef::trusted(&[0], &[], ValuesRef::F32(&[]), self.columns.len());
        let problem = self.problem(Examples { rows, targets: &[], weights: None, offsets: None });
        let newton = Newton { n: self.numbers.targets.len() as f64, ..self.newton(&problem, options) };
        let mut point = self.point(&newton, weights, bias);
        let mut rows = self.rows::<S>(weights, point.bias);
        let ending: Ending = newton.descend_lean(&mut point, &mut rows, self.columns, on_face, watch);
        if self.bias {
            point.bias += rows.balance(BALANCED, BIAS_STEPS);
        }
        point.solved(ending)
    }

    fn problem<'b>(&'b self, examples: Examples<'b>) -> Problem<'b> {
        Problem { examples, loss: self.loss, weighted_penalty: self.weighted_penalty, bias: self.bias }
    }

    fn newton<'b>(&'b self, problem: &'b Problem<'b>, options: &'b Options) -> Newton<'b, f32> {
        Newton::new(problem, &[], options, Bounds { interrupt: self.interrupt, ..Bounds::none() })
    }

    /// The point at these weights, without what depends on the rows.
    fn point(&self, newton: &Newton<f32>, weights: &[f64], bias: f64) -> Point {
        Point {
            weights: weights.to_vec(),
            bias: if self.bias { bias } else { 0.0 },
            penalty: newton.n * self.weighted_penalty.value(weights),
            ..Point::empty(weights.len())
        }
    }

    /// The rows with their scores.
    fn rows<S: Score>(&self, weights: &[f64], bias: f64) -> LeanRows<'_, S> {
        let RowNumbers { targets, offsets, .. } = self.numbers;
        let offset = |i: usize| offsets.map_or(0.0, |offsets| offsets.at(i));
        let mut scores: Vec<S> = (0..targets.len()).map(|i| S::of(bias + offset(i))).collect();
        for (k, &w) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            self.columns.for_each(k, |i, x| scores[i] = S::of(scores[i].get() + w * x));
        }
        LeanRows { numbers: self.numbers, loss: self.loss, scores }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::kernel::CompactNumbers;
    use crate::optim::newton::NewtonStop;
    use crate::problem::loss::{Admits, parse};
    use crate::problem::penalty::ElasticNet;
    use crate::util::random::Random;

    const ROWS: usize = 3000;

    #[test]
    fn the_optimum_does_not_depend_on_what_is_stored() {
        let mut random = Random::new(6);
        let mut columns = CompactColumns::new(ROWS);
        columns.grow(40);
        let mut scores = vec![-0.3; ROWS];
        for (i, score) in scores.iter_mut().enumerate() {
            for k in (0..40).filter(|_| random.below(6) == 0).collect::<Vec<_>>() {
                let x = (1 + random.below(3)) as f64;
                columns.push(k, i, x);
                *score += if k % 4 == 0 { 0.4 * x * ((k % 3) as f64 - 1.0) } else { 0.0 };
            }
            *score += random.uniform() - 0.5;
        }
        columns.finish(0);
        for (name, weighted, bias) in [
            ("logistic", false, true),
            ("squared", true, false),
            ("poisson", true, true),
            ("huber", false, true),
        ] {
            let loss = parse(name).unwrap();
            let target = |s: &f64| match loss.admits() {
                Admits::Classes => s.signum(),
                Admits::Reals => *s,
                _ => s.exp().round(),
            };
            let compact = |numbers: &[f64]| {
                let mut compact = CompactNumbers::with_capacity(ROWS);
                compact.extend(numbers);
                compact
            };
            let targets = compact(&scores.iter().map(target).collect::<Vec<_>>());
            let weights = compact(&(0..ROWS).map(|i| 0.5 + (i % 3) as f64 / 2.0).collect::<Vec<_>>());
            let offsets = compact(&(0..ROWS).map(|i| (i % 2) as f64 / 8.0).collect::<Vec<_>>());
            let (weights, offsets) = (weighted.then_some(&weights), weighted.then_some(&offsets));
            for l2 in [0.0, 1e-2] {
                let mut found = Stored::ALL.map(|stored| {
                    let numbers = RowNumbers { targets: &targets, weights, offsets };
                    let weighted_penalty = WeightedPenalty::of(ElasticNet { l1: 1e-2, l2 });
                    let (columns, loss) = (&columns, &*loss);
                    let problem = ColumnProblem {
                        columns,
                        numbers,
                        loss,
                        weighted_penalty,
                        bias,
                        stored,
                        interrupt: None,
                    };
                    let tolerance = if stored == Stored::ShortScores { 1e-6 } else { 1e-9 };
                    let options = Options { tolerance, steps: 100 };
                    problem.solve((&[0.0; 40], 0.0), &options, &mut |_| true)
                });
                found.iter_mut().for_each(|one| one.weights.push(one.bias));
                for (one, stored) in found.iter().zip(Stored::ALL) {
                    let cell = format!("{name} {l2} {stored:?}: {:?}", one.stop);
                    let stops = [NewtonStop::Gap, NewtonStop::PredictedDecrease, NewtonStop::Precision];
                    assert!(stops.contains(&one.stop), "{cell}");
                    let close = if stored == Stored::ShortScores { 3e-3 } else { 1e-4 };
                    for (a, b) in one.weights.iter().zip(&found[0].weights) {
                        assert!((a - b).abs() < close, "{cell}: {a} {b}");
                    }
                }
            }
        }
    }
}
