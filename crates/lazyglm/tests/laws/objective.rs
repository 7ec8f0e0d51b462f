//! Laws of the evaluation: the objective, the optimality conditions, λ₁_max.

use crate::common::problem::Problem;
use crate::common::{log_uniform, sign};
use lazyglm::loss::{self, Admits, Loss};
use lazyglm::objective::Bias;
use lazyglm::synth::{Shape, documents};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, Method, Rows, Settings, Solver, objective, train};
use proptest::prelude::*;

fn few_rows(random: &mut Random, loss: &dyn Loss) -> Problem {
    Problem::draw(random, loss, 40, 8).of_two_sides(loss).weighed(random, 0.2, 2.0)
}

impl Problem {
    /// F by the formula, written out.
    fn by_hand(&self, loss: &dyn Loss, penalty: ElasticNet, w: &[f64], b: f64) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.targets.len() {
            let mut score = b + self.examples().offset(i);
            self.rows.borrow().for_each(i, |j, x| score += w[j] * x);
            sum += self.weights[i] * loss.value(score, self.targets[i]);
        }
        let l1: f64 = w.iter().map(|w| w.abs()).sum();
        let l2: f64 = w.iter().map(|w| w * w).sum();
        sum / self.targets.len() as f64 + penalty.l1 * l1 + 0.5 * penalty.l2 * l2
    }

    /// The minimiser, by plain proximal gradient steps on all rows: slow and sure, for smooth losses.
    fn minimise(&self, loss: &dyn Loss, penalty: ElasticNet) -> (Vec<f64>, f64) {
        let (mut w, mut b) = (vec![0.0; 8], 0.0);
        let n = self.targets.len() as f64;
        let eta = 0.02;
        for _ in 0..60_000 {
            let (mut gradient, mut of_bias) = (vec![0.0; 8], 0.0);
            for i in 0..self.targets.len() {
                let score = self.rows.borrow().dot(i, &w) + b + self.examples().offset(i);
                let g = self.weights[i] * loss.slope(score, self.targets[i]) / n;
                self.rows.borrow().for_each(i, |j, x| gradient[j] += g * x);
                of_bias += g;
            }
            for (w, g) in w.iter_mut().zip(&gradient) {
                *w = Method::Fobos.step(penalty, eta, *w - eta * g);
            }
            b -= eta * of_bias;
        }
        (w, b)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_objective_is_its_formula(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for entry in loss::TABLE {
            let loss = loss::parse(entry.name).unwrap();
            let problem = few_rows(&mut random, &*loss);
            let penalty = crate::common::penalty(&mut random, 1.0, 1.0);
            let w: Vec<f64> = (0..8).map(|_| sign(&mut random) * log_uniform(&mut random, 1e-3, 1.0)).collect();
            let f = objective::objective(problem.examples(), &*loss, penalty, &w, 0.3);
            let by_hand = problem.by_hand(&*loss, penalty, &w, 0.3);
            prop_assert!((f.total() - by_hand).abs() <= 1e-12 * by_hand.abs().max(1.0), "{}", entry.name);
            prop_assert!((f.penalty - penalty.value(&w)).abs() < 1e-15 * f.penalty.max(1.0));
        }
    }

    #[test]
    fn at_l1_max_zero_is_a_minimum_and_nothing_below_it_for_smooth_losses(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for entry in loss::TABLE {
            let loss = loss::parse(entry.name).unwrap();
            let problem = few_rows(&mut random, &*loss);
            let most = objective::l1_max(problem.examples(), &*loss, Bias::Best);
            // The best bias at w = 0, by a fine search on the convex F(0, b).
            let none = ElasticNet::new(0.0, 0.0).unwrap();
            let f = |b: f64| problem.by_hand(&*loss, none, &[0.0; 8], b);
            let (mut low, mut high) = (-20.0, 20.0);
            for _ in 0..200 {
                let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
                if f(a) < f(b) { high = b } else { low = a }
            }
            let best = 0.5 * (low + high);
            // No small move off zero pays at λ₁_max; that holds for losses with a kink as well.
            let penalty = ElasticNet::new(most * (1.0 + 1e-6), 0.0).unwrap();
            for j in 0..8 {
                for step in [1e-3, -1e-3] {
                    let mut w = [0.0; 8];
                    w[j] = step;
                    let moved = problem.by_hand(&*loss, penalty, &w, best);
                    prop_assert!(moved >= f(best) - 1e-9, "{}: weight {j} wants to leave zero", entry.name);
                }
            }
            if loss.kinks(1.0).is_empty() {
                let below = ElasticNet::new(most * 0.99, 0.0).unwrap();
                let violation = objective::violation(problem.examples(), &*loss, below, &[0.0; 8], Some(best));
                prop_assert!((violation - 0.01 * most).abs() < 1e-6 * most.max(1.0) + 1e-6, "{}: {violation}", entry.name);
            }
        }
    }
}

#[test]
fn the_violation_vanishes_at_the_minimum_and_only_there() {
    for name in ["logistic", "squared", "squared-hinge", "modified-huber", "huber"] {
        let loss = loss::parse(name).unwrap();
        let problem = few_rows(&mut Random::new(11), &*loss);
        let penalty = ElasticNet::new(0.05, 0.01).unwrap();
        let (mut w, b) = problem.minimise(&*loss, penalty);
        let at_minimum = objective::violation(problem.examples(), &*loss, penalty, &w, Some(b));
        assert!(at_minimum < 1e-8, "{name}: {at_minimum}");
        let zeros = w.iter().filter(|w| **w == 0.0).count();
        assert!((1..8).contains(&zeros), "{name}: {zeros} zeros make a test of both kinds of conditions");
        let f = objective::objective(problem.examples(), &*loss, penalty, &w, b).total();
        w[0] += 0.05;
        assert!(objective::violation(problem.examples(), &*loss, penalty, &w, Some(b)) > 1e-3, "{name}");
        assert!(objective::objective(problem.examples(), &*loss, penalty, &w, b).total() > f, "{name}");
    }
}

#[test]
fn l1_max_without_a_bias_is_the_largest_slope_at_zero() {
    let mut rows = Rows::new();
    rows.push(&[(0, 2.0)]).unwrap();
    rows.push(&[(0, 1.0), (1, 4.0)]).unwrap();
    let examples = Examples::new(rows.borrow(), &[1.0, -3.0], None).unwrap();
    let loss = loss::parse("squared").unwrap();
    // Slopes at zero are −1 and 3: feature 0 has (−2 + 3)/2, feature 1 has 12/2.
    assert_eq!(objective::l1_max(examples, &*loss, Bias::Zero), 6.0);
    // With a bias at the mean target −1 they are −2 and 2: (−4 + 2)/2 and 8/2.
    assert!((objective::l1_max(examples, &*loss, Bias::Best) - 4.0).abs() < 1e-12);
}

/// The evaluation by slow and separate sums over the rows: objective, violation, λ₁_max, baseline.
struct Slow<'a> {
    examples: Examples<'a>,
    loss: &'a dyn Loss,
    columns: usize,
}

impl Slow<'_> {
    fn sum(&self, of_row: impl Fn(usize) -> f64) -> f64 {
        (0..self.examples.len()).map(|i| self.examples.weight(i) * of_row(i)).sum()
    }

    /// The gradient of the mean loss, given the slope of each row.
    fn gradient(&self, slope: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut gradient = vec![0.0; self.columns];
        for i in 0..self.examples.len() {
            let g = self.examples.weight(i) * slope(i) / self.examples.len() as f64;
            self.examples.rows.for_each(i, |j, x| gradient[j] += g * x);
        }
        gradient
    }

    fn violation(&self, penalty: ElasticNet, w: &[f64], b: Option<f64>) -> f64 {
        let slope = |i: usize| {
            let score = self.examples.rows.dot(i, w) + b.unwrap_or(0.0) + self.examples.offset(i);
            self.loss.slope(score, self.examples.targets[i])
        };
        let mut worst = b.map_or(0.0, |_| (self.sum(slope) / self.examples.len() as f64).abs());
        for (w, g) in w.iter().zip(self.gradient(slope)) {
            let off = match *w {
                0.0 => (g.abs() - penalty.l1).max(0.0),
                w => (g + penalty.l2 * w + if w > 0.0 { penalty.l1 } else { -penalty.l1 }).abs(),
            };
            worst = worst.max(off);
        }
        worst
    }

    /// λ₁_max and the loss there: the best bias lies between two neighbouring numbers, found by halving. Where the
    /// loss has a kink there, slopes are that mixture of both sides whose sum is zero.
    fn at_zero(&self, with_bias: bool) -> (f64, f64) {
        let y = self.examples.targets;
        let offset = |i: usize| self.examples.offset(i);
        let slopes = |b: f64| self.sum(|i| self.loss.slope(b + offset(i), y[i]));
        let (mut low, mut high) = if with_bias { (-64.0, 64.0) } else { (0.0, 0.0) };
        while 0.5 * (low + high) > low && 0.5 * (low + high) < high {
            let middle = 0.5 * (low + high);
            if slopes(middle) < 0.0 { low = middle } else { high = middle }
        }
        let (below, above) = (slopes(low), slopes(high));
        let share = if above > below { (-below / (above - below)).clamp(0.0, 1.0) } else { 0.0 };
        let at = |b: f64, i: usize| self.loss.slope(b + offset(i), y[i]);
        let slope = |i: usize| (1.0 - share) * at(low, i) + share * at(high, i);
        let l1_max = self.gradient(slope).iter().fold(0.0, |most: f64, g| most.max(g.abs()));
        (l1_max, self.sum(|i| self.loss.value(high + offset(i), y[i])) / self.examples.len() as f64)
    }
}

/// Targets with few distinct values, so that many rows are pooled, or with one of its own for each row.
fn many_rows(random: &mut Random, loss: &dyn Loss, count: usize, columns: usize) -> Problem {
    let few = random.below(2) == 0;
    let mut problem = Problem::draw(random, loss, count, columns);
    if few && loss.admits() == Admits::Reals {
        problem.targets.iter_mut().for_each(|y| *y = random.below(5) as f64 - 2.0);
    }
    problem.of_two_sides(loss).weighed(random, 0.01, 10.0)
}

fn weights_with_zeros(random: &mut Random, columns: usize) -> Vec<f64> {
    (0..columns)
        .map(|_| if random.below(3) == 0 { 0.0 } else { sign(random) * log_uniform(random, 1e-4, 1.0) })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_verdict_is_what_slow_and_separate_sums_say(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for (k, entry) in loss::TABLE.iter().enumerate() {
            let loss = loss::parse(entry.name).unwrap();
            let columns = 1 + random.below(12) as usize;
            // Now and then more than one chunk of rows, and more than one gradient side by side.
            let count = if (seed as usize + k).is_multiple_of(7) { 9000 } else { 2 + random.below(60) as usize };
            let problem = many_rows(&mut random, &*loss, count, columns);
            let penalty = crate::common::penalty(&mut random, 1.0, 1.0);
            let w = weights_with_zeros(&mut random, columns);
            let examples = if random.below(2) == 0 { problem.examples() } else { problem.unweighted() };
            let slow = Slow { examples, loss: &*loss, columns };
            for bias in [None, Some(0.3)] {
                let evaluation = objective::evaluate(examples, &*loss, penalty, &w, bias);
                let (l1_max, baseline) = slow.at_zero(bias.is_some());
                let score = |i: usize| examples.rows.dot(i, &w) + bias.unwrap_or(0.0) + examples.offset(i);
                let mean = slow.sum(|i| loss.value(score(i), problem.targets[i])) / count as f64;
                for (what, fast, slow) in [
                    ("loss", evaluation.objective.loss, mean),
                    ("penalty", evaluation.objective.penalty, penalty.value(&w)),
                    ("violation", evaluation.violation, slow.violation(penalty, &w, bias)),
                    ("l1_max", evaluation.l1_max, l1_max),
                    ("baseline", evaluation.baseline, baseline),
                ] {
                    let off = (fast - slow).abs() / slow.abs().max(1.0);
                    prop_assert!(off <= 1e-10, "{}, bias {bias:?}, {count} rows: {what} {fast} {slow}", entry.name);
                }
                prop_assert_eq!(objective::violation(examples, &*loss, penalty, &w, bias), evaluation.violation);
                prop_assert_eq!(objective::l1_max(examples, &*loss, bias.is_some().into()), evaluation.l1_max);
            }
        }
    }
}

#[test]
fn the_verdict_has_the_same_bits_on_any_number_of_threads() {
    let mut random = Random::new(5);
    for name in ["logistic", "hinge", "quantile"] {
        let loss = loss::parse(name).unwrap();
        let problem = many_rows(&mut random, &*loss, 50_000, 20);
        let w = weights_with_zeros(&mut random, 20);
        let penalty = ElasticNet::new(0.01, 0.02).unwrap();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let evaluation =
                pool.install(|| objective::evaluate(problem.examples(), &*loss, penalty, &w, Some(0.1)));
            [evaluation.objective.loss, evaluation.violation, evaluation.l1_max, evaluation.baseline]
                .map(f64::to_bits)
        };
        let alone = on(1);
        assert!([2, 4, 7].iter().all(|&threads| on(threads) == alone), "{name}");
    }
}

/// With many rows, another thread computes the null model while SGD learns; on one thread, the pass over the rows does.
#[test]
fn a_report_of_many_rows_has_the_same_bits_on_any_number_of_threads() {
    let task = documents(&Shape { rows: 30_000, features: 3_000, words: 80.0, ..Shape::default() }).task;
    assert!(task.data.rows.nonzeros() > 1 << 20, "{} are few", task.data.rows.nonzeros());
    let settings = Settings { solver: Solver::Sgd, eta0: Some(0.1), epochs: 1, ..Settings::default() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let report = pool.install(|| train(&task, None, &settings, &mut |_| {})).unwrap().report;
        [report.objective, report.violation, report.l1_max, report.baseline, report.dual.unwrap()]
    };
    let alone = on(1);
    assert_eq!(on(3).map(f64::to_bits), alone.map(f64::to_bits));
    assert_eq!(alone[2], objective::l1_max(task.examples(), &*task.loss, Bias::Best));
}
