//! Laws of the solver for piecewise-linear losses: the optimum, with a dual value that proves it.

use crate::common::{Weighted, log_uniform, rows, sign};
use lazyglm::loss::{self, Admits, Loss};
use lazyglm::objective::{Bias, certify, l1_max, mean_loss};
use lazyglm::optim::newton::{NewtonStop, Options, Problem, Solution, solve};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, Rows, WeightedPenalty};
use proptest::prelude::*;
use std::sync::Arc;

struct Made {
    rows: Rows,
    targets: Vec<f64>,
    weights: Vec<f64>,
    loss: Arc<dyn Loss>,
}

const LOSSES: [&str; 5] = [
    "hinge",
    "quantile:tau=0.5",
    "quantile:tau=0.9",
    "epsilon-insensitive:epsilon=0.3",
    "epsilon-insensitive:epsilon=0",
];

impl Made {
    fn draw(random: &mut Random, name: &str, count: usize, columns: usize) -> Made {
        let loss = loss::parse(name).unwrap();
        let target = |random: &mut Random| match loss.admits() {
            Admits::Classes => sign(random),
            _ => sign(random) * log_uniform(random, 0.1, 3.0),
        };
        let mut targets: Vec<f64> = (0..count).map(|_| target(random)).collect();
        (targets[0], targets[1]) = (1.0, -1.0);
        let mut weights: Vec<f64> = (0..count).map(|_| log_uniform(random, 0.1, 5.0)).collect();
        let mean = weights.iter().sum::<f64>() / count as f64;
        weights.iter_mut().for_each(|w| *w /= mean);
        Made { rows: rows(random, count, columns), targets, weights, loss }
    }

    fn examples(&self) -> Examples<'_> {
        Examples::new(self.rows.borrow(), &self.targets, Some(&self.weights)).unwrap()
    }
}

fn value(examples: Examples, loss: &dyn Loss, penalty: &WeightedPenalty, w: &[f64], b: f64) -> f64 {
    mean_loss(examples, loss, w, b) + penalty.value(w)
}

fn solved(
    examples: Examples,
    loss: &dyn Loss,
    weighted_penalty: WeightedPenalty,
    bias: bool,
    tolerance: f64,
) -> Solution {
    let problem = Problem { examples, loss, weighted_penalty, bias };
    solve(&problem, None, &Options { tolerance, steps: 5000 }, &mut |_| true)
}

/// Checks the certificate, and that no step in any of some hundred directions decreases F. Returns F.
fn is_optimal(
    examples: Examples,
    loss: &dyn Loss,
    penalty: WeightedPenalty,
    bias: bool,
    tolerance: f64,
) -> f64 {
    let found = solved(examples, loss, penalty, bias, tolerance);
    let about = format!("{} {penalty:?} bias {bias}: {:?} {} steps", loss.spec(), found.stop, found.steps);
    assert_eq!(found.stop, NewtonStop::Gap, "{about}");
    let f = |w: &[f64], b: f64| value(examples, loss, &penalty, w, b);
    let (least, dual) = (f(&found.weights, found.bias), found.dual.unwrap());
    let null = f(&vec![0.0; found.weights.len()], 0.0);
    assert!(dual <= least + 1e-12 * least.abs(), "{about}: {dual} {least}");
    assert!(least - dual <= 1.001 * tolerance * least.max(1e-3 * null) + 1e-14, "{about}: {dual} {least}");
    assert!(bias || found.bias == 0.0, "{about}");
    let proof = certify(examples, loss, penalty, &found.weights, bias.then_some(found.bias));
    let proved = proof.dual.unwrap();
    assert!(proved <= least + 1e-12 * least.abs() + 1e-14, "{about}: {proof:?}");
    assert!((proof.objective - least).abs() <= 1e-12 * least.abs() + 1e-14, "{about}: {proof:?}");
    let mut random = Random::new(1);
    for k in 0..300 {
        let size = log_uniform(&mut random, 1e-6, 1.0);
        let mut moved = found.weights.clone();
        let lone = random.below(moved.len() as u64) as usize;
        for (j, w) in moved.iter_mut().enumerate().filter(|(j, _)| k % 2 == 0 || *j == lone) {
            *w += size * (random.uniform() - 0.5) * if j % 2 == 0 { 1.0 } else { 0.1 };
            let [low, high] = penalty.range(j);
            *w = w.clamp(low, high);
        }
        let b = found.bias + if bias { size * (random.uniform() - 0.5) } else { 0.0 };
        assert!(f(&moved, b) >= dual - 1e-12 * least.abs(), "{about}: {} {dual}", f(&moved, b));
    }
    least
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_ridge_on_few_columns_has_the_same_optimum_from_any_start(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for name in LOSSES {
            let (count, columns) = (300 + random.below(200) as usize, 2 + random.below(10) as usize);
            let made = Made::draw(&mut random, name, count, columns);
            let (examples, bias) = (made.examples(), random.below(2) == 0);
            for l2 in [log_uniform(&mut random, 1e-5, 1e-3), log_uniform(&mut random, 0.1, 1.0)] {
                let penalty = WeightedPenalty::of(ElasticNet { l1: 0.0, l2 });
                let least = is_optimal(examples, &*made.loss, penalty, bias, 1e-7);
                let problem = Problem { examples, loss: &*made.loss, weighted_penalty: penalty, bias };
                let far = vec![1.0; made.rows.columns()];
                let options = Options { tolerance: 1e-7, steps: 5000 };
                let found = solve(&problem, Some((&far, 0.0)), &options, &mut |_| true);
                let other = value(examples, &*made.loss, &penalty, &found.weights, found.bias);
                prop_assert!((other - least).abs() <= 1.1e-7 * least, "{name} {l2}: {other} {least}");
            }
        }
    }

    #[test]
    fn every_penalty_ends_at_a_proved_optimum(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for name in LOSSES {
            let (count, columns) = (20 + random.below(100) as usize, 2 + random.below(60) as usize);
            let made = Made::draw(&mut random, name, count, columns);
            let factors: Vec<f64> = (0..columns).map(|_| log_uniform(&mut random, 0.2, 5.0)).collect();
            let bias = random.below(2) == 0;
            let l1 = l1_max(made.examples(), &*made.loss, bias.into()) * log_uniform(&mut random, 0.01, 0.9);
            let l2 = log_uniform(&mut random, 1e-3, 1.0);
            for (l1, l2) in [(l1, 0.0), (l1, l2), (0.0, l2)] {
                for (factors, nonnegative) in [(None, false), (Some(&factors[..]), false), (None, true), (Some(&factors[..]), true)] {
                    let plain = WeightedPenalty::of(ElasticNet { l1, l2 });
                    let penalty = WeightedPenalty { factors, nonnegative, ..plain };
                    is_optimal(made.examples(), &*made.loss, penalty, bias, 1e-8);
                }
                let drawn = Weighted::draw(&mut random, columns, 0.3);
                is_optimal(made.examples(), &*made.loss, drawn.of(ElasticNet { l1, l2 }), bias, 1e-8);
            }
        }
    }

    #[test]
    fn a_weight_of_two_is_a_row_twice(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for name in LOSSES {
            let made = Made::draw(&mut random, name, 30, 8);
            let (mut twice, mut targets, mut weights) = (Rows::new(), Vec::new(), Vec::new());
            for i in 0..30 {
                let mut row = Vec::new();
                made.rows.borrow().for_each(i, |j, x| row.push((j as u32, x)));
                for _ in 0..1 + i % 2 {
                    twice.push(&row).unwrap();
                    targets.push(made.targets[i]);
                }
                weights.push((1 + i % 2) as f64 / 1.5);
            }
            twice.declare_columns(8);
            let weighted = Examples::new(made.rows.borrow(), &made.targets, Some(&weights)).unwrap();
            let doubled = Examples::new(twice.borrow(), &targets, None).unwrap();
            for (l1, l2) in [(0.01, 0.0), (0.01, 0.01), (0.0, 0.01)] {
                let penalty = WeightedPenalty::of(ElasticNet { l1, l2 });
                let of = |examples| is_optimal(examples, &*made.loss, penalty, true, 1e-9);
                let (a, b) = (of(weighted), of(doubled));
                prop_assert!((a - b).abs() <= 1e-8 * a, "{name} {penalty:?}: {a} {b}");
            }
        }
    }
}

/// Half the absolute error is the limit of Huber's loss over twice its width, and Newton's method minimises that one.
#[test]
fn the_median_is_the_limit_of_hubers_loss() {
    let mut random = Random::new(21);
    let made = Made::draw(&mut random, "quantile:tau=0.5", 60, 12);
    for (l1, l2) in [(0.02, 0.0), (0.02, 0.05), (0.0, 0.05)] {
        let penalty = WeightedPenalty::of(ElasticNet { l1, l2 });
        let exact = is_optimal(made.examples(), &*made.loss, penalty, true, 1e-9);
        let delta = 1e-4;
        let huber = loss::parse(&format!("huber:delta={delta}")).unwrap();
        let scaled = WeightedPenalty::of(ElasticNet { l1: 2.0 * delta * l1, l2: 2.0 * delta * l2 });
        let near = solved(made.examples(), &*huber, scaled, true, 1e-8);
        let f = value(made.examples(), &*made.loss, &penalty, &near.weights, near.bias);
        assert!(f >= exact - 1e-9 && f - exact <= delta, "{penalty:?}: {exact} {f}");
    }
}

#[test]
fn wide_and_long_problems_end_at_a_proof() {
    let mut random = Random::new(22);
    for (count, columns) in [(300, 2000), (3000, 40), (1000, 1000)] {
        for name in LOSSES {
            let made = Made::draw(&mut random, name, count, columns);
            let most = l1_max(made.examples(), &*made.loss, Bias::Best);
            for (l1, l2) in [(0.05 * most, 0.0), (0.02 * most, 1e-3), (0.0, 1e-3)] {
                let penalty = WeightedPenalty::of(ElasticNet { l1, l2 });
                is_optimal(made.examples(), &*made.loss, penalty, true, 1e-6);
            }
        }
    }
}

/// The judge sees the weights alone. Derivatives of the loss, which are at a bound for every row, would prove far less.
#[test]
fn the_judge_proves_nearly_as_much_without_the_dual_variables() {
    let mut random = Random::new(28);
    for (count, columns) in [(3000, 40), (1000, 1000)] {
        for name in LOSSES {
            let made = Made::draw(&mut random, name, count, columns);
            for (l1, l2) in [(0.0, 1e-2), (1e-3, 1e-2), (0.0, 1e-1)] {
                let penalty = WeightedPenalty::of(ElasticNet { l1, l2 });
                let found = solved(made.examples(), &*made.loss, penalty, true, 1e-7);
                let proof = certify(made.examples(), &*made.loss, penalty, &found.weights, Some(found.bias));
                let gap = proof.relative_gap.unwrap();
                assert!(gap <= 1e-2, "{name} {penalty:?} {count}: {gap}");
            }
        }
    }
}

#[test]
fn another_start_ends_at_the_same_objective() {
    let mut random = Random::new(23);
    for name in LOSSES {
        let made = Made::draw(&mut random, name, 80, 10);
        for (l1, l2) in [(0.01, 0.0), (0.01, 0.01), (0.0, 0.01)] {
            let weighted_penalty = WeightedPenalty::of(ElasticNet { l1, l2 });
            let least = is_optimal(made.examples(), &*made.loss, weighted_penalty, true, 1e-8);
            let start: Vec<f64> = (0..10).map(|_| sign(&mut random) * random.uniform()).collect();
            let problem =
                Problem { examples: made.examples(), loss: &*made.loss, weighted_penalty, bias: true };
            let options = Options { tolerance: 1e-8, steps: 5000 };
            let found = solve(&problem, Some((&start, 0.7)), &options, &mut |_| true);
            let f = value(made.examples(), &*made.loss, &weighted_penalty, &found.weights, found.bias);
            assert_eq!(found.stop, NewtonStop::Gap);
            assert!((f - least).abs() <= 2e-8 * least, "{name} {weighted_penalty:?}: {f} {least}");
        }
    }
}

#[test]
fn twin_columns_empty_rows_separable_classes_and_constant_targets_do_no_harm() {
    let mut random = Random::new(24);
    let mut rows = Rows::new();
    for k in 0..60u32 {
        let x = log_uniform(&mut random, 0.1, 2.0);
        match k % 10 {
            0 => rows.push(&[]).unwrap(),
            _ => rows.push(&[(0, 3.0), (1, x), (2, x), (5, [1.0, -1.0][k as usize % 2])]).unwrap(), // 3 and 4 are empty
        }
    }
    rows.declare_columns(6);
    for name in LOSSES {
        let loss = loss::parse(name).unwrap();
        let drawn: Vec<f64> = (0..60).map(|_| sign(&mut random)).collect();
        let separable: Vec<f64> = (0..60).map(|k| [1.0, -1.0][k % 2]).collect();
        for targets in [drawn, separable, vec![1.0; 60], vec![-1.0; 60]] {
            let examples = Examples::new(rows.borrow(), &targets, None).unwrap();
            for (l1, l2) in [(1e-3, 0.0), (1e-3, 1e-3), (0.0, 1e-3), (1e3, 0.0)] {
                for bias in [true, false] {
                    let penalty = WeightedPenalty::of(ElasticNet { l1, l2 });
                    let f = is_optimal(examples, &*loss, penalty, bias, 1e-8);
                    let constant = bias && targets.iter().all(|y| *y == targets[0]);
                    assert!(!constant || f.abs() < 1e-12, "{name} {penalty:?}: {f}");
                }
            }
        }
    }
}

#[test]
fn weights_without_a_penalty_reach_their_optimum_without_a_proof() {
    let mut random = Random::new(25);
    for name in LOSSES {
        let made = Made::draw(&mut random, name, 120, 8);
        let factors: Vec<f64> = (0..8).map(|j| if j == 1 { 0.0 } else { 1.0 }).collect();
        let almost: Vec<f64> = factors.iter().map(|p: &f64| p.max(1e-7)).collect();
        for (l1, l2) in [(0.01, 0.0), (0.01, 0.01), (0.0, 0.01)] {
            let with = |factors| WeightedPenalty {
                factors: Some(factors),
                ..WeightedPenalty::of(ElasticNet { l1, l2 })
            };
            let found = solved(made.examples(), &*made.loss, with(&factors), true, 1e-6);
            assert_eq!(found.stop, NewtonStop::PredictedDecrease, "{name} {l1} {l2}");
            let f = value(made.examples(), &*made.loss, &with(&factors), &found.weights, found.bias);
            let near = solved(made.examples(), &*made.loss, with(&almost), true, 1e-7);
            let g = value(made.examples(), &*made.loss, &with(&factors), &near.weights, near.bias);
            assert!((f - g).abs() <= 1e-5 * g, "{name} {l1} {l2}: {f} {g}");
        }
    }
}

#[test]
fn the_perceptron_has_its_optimum_without_weights() {
    let mut random = Random::new(26);
    let made = Made::draw(&mut random, "hinge", 30, 5);
    let loss = loss::parse("perceptron").unwrap();
    let penalty = WeightedPenalty::of(ElasticNet { l1: 0.0, l2: 1.0 });
    let found = solved(made.examples(), &*loss, penalty, true, 1e-9);
    assert_eq!((found.stop, found.steps, found.dual), (NewtonStop::Gap, 0, Some(0.0)));
    assert_eq!(value(made.examples(), &*loss, &penalty, &found.weights, found.bias), 0.0);
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_every_run_ends() {
    let mut random = Random::new(27);
    for (columns, l1) in [(40, 0.001), (1500, 0.0)] {
        let made = Made::draw(&mut random, "hinge", 6000, columns);
        let weighted_penalty = WeightedPenalty::of(ElasticNet { l1, l2: 1e-3 });
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| solved(made.examples(), &*made.loss, weighted_penalty, true, 1e-5).weights)
        };
        assert!(on(1) == on(2) && on(1) == on(3));
        let problem = Problem { examples: made.examples(), loss: &*made.loss, weighted_penalty, bias: true };
        let options = Options { tolerance: 1e-30, steps: 400 };
        let mut calls = 0;
        let told = solve(&problem, None, &options, &mut |_| {
            calls += 1;
            calls < 2
        });
        assert_eq!((told.stop, calls), (NewtonStop::Interrupted, 2));
        let beyond = solve(&problem, None, &options, &mut |_| true);
        assert!(beyond.stop != NewtonStop::Interrupted);
        assert!(beyond.steps <= 400 + 100 && beyond.dual.unwrap() > 0.0);
    }
}
