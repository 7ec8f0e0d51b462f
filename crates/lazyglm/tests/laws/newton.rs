//! Laws of the solver that finds the minimum: the judge agrees, whatever the loss, the penalty and the start.

use crate::common::problem::some_offsets;
use crate::common::{Weighted, log_uniform, rows, sign};
use lazyglm::loss::{self, Admits, Loss};
use lazyglm::objective::{Bias, certify, l1_max, objective, violation};
use lazyglm::optim::newton::{NewtonStop, Options, Problem, Solution, solve};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, Rows, WeightedPenalty, synth};
use proptest::prelude::*;
use std::sync::Arc;

pub(crate) struct Made {
    pub(crate) rows: Rows,
    pub(crate) targets: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    pub(crate) offsets: Option<Vec<f64>>,
    pub(crate) loss: Arc<dyn Loss>,
}

impl Made {
    pub(crate) fn draw(random: &mut Random, loss: Arc<dyn Loss>, count: usize, columns: usize) -> Made {
        let target = |random: &mut Random| match loss.admits() {
            Admits::Classes => sign(random),
            Admits::Reals => sign(random) * log_uniform(random, 0.1, 3.0),
            Admits::NonNegative => random.below(4) as f64,
            Admits::Positive => log_uniform(random, 0.1, 3.0),
        };
        let mut targets: Vec<f64> = (0..count).map(|_| target(random)).collect();
        (targets[0], targets[1]) = (1.0, if loss.admits() == Admits::Classes { -1.0 } else { 2.0 });
        let mut weights: Vec<f64> = (0..count).map(|_| log_uniform(random, 0.1, 5.0)).collect();
        let mean = weights.iter().sum::<f64>() / count as f64;
        weights.iter_mut().for_each(|w| *w /= mean);
        let offsets = some_offsets(&weights);
        Made { rows: rows(random, count, columns), targets, weights, offsets, loss }
    }

    pub(crate) fn examples(&self) -> Examples<'_> {
        let examples = Examples::new(self.rows.borrow(), &self.targets, Some(&self.weights)).unwrap();
        Examples { offsets: self.offsets.as_deref(), ..examples }
    }

    pub(crate) fn solve(
        &self,
        penalty: ElasticNet,
        bias: bool,
        tolerance: f64,
        start: Option<(&[f64], f64)>,
    ) -> Solution {
        let problem = Problem {
            examples: self.examples(),
            loss: &*self.loss,
            weighted_penalty: WeightedPenalty::of(penalty),
            bias,
        };
        solve(&problem, start, &Options { tolerance, steps: 300 }, &mut |_| true)
    }

    pub(crate) fn value(&self, penalty: ElasticNet, found: &Solution) -> f64 {
        objective(self.examples(), &*self.loss, penalty, &found.weights, found.bias).total()
    }
}

pub(crate) fn smooth() -> Vec<Arc<dyn Loss>> {
    let all = loss::TABLE.iter().map(|entry| loss::parse(entry.name).unwrap());
    let smooth: Vec<_> = all.filter(|loss| loss.kinks(1.0).is_empty()).collect();
    assert!(smooth.len() >= 7 && smooth.iter().all(|loss| loss.second_derivative(0.3, 1.0).is_some()));
    smooth
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_judge_proves_what_the_solver_claims(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for loss in smooth() {
            let (count, columns) = (20 + random.below(100) as usize, 2 + random.below(40) as usize);
            let made = Made::draw(&mut random, loss, count, columns);
            let spec = made.loss.spec();
            for bias in [false, true] {
                let most = l1_max(made.examples(), &*made.loss, bias.into());
                let l1 = most * log_uniform(&mut random, 0.01, 0.9);
                let l2 = log_uniform(&mut random, 1e-3, 1.0);
                for penalty in [ElasticNet { l1, l2: 0.0 }, ElasticNet { l1, l2 }, ElasticNet { l1: 0.0, l2 }] {
                    let found = made.solve(penalty, bias, 1e-8, None);
                    let proof = certify(made.examples(), &*made.loss, penalty, &found.weights, bias.then_some(found.bias));
                    // The bound of the solver's last model may be higher than that of its weights; a law of its own tells whether it is one.
                    let dual = proof.dual.into_iter().chain(found.dual).fold(f64::MIN, f64::max);
                    let gap = proof.relative_gap.unwrap().min((proof.objective - dual) / proof.objective);
                    prop_assert!(found.stop != NewtonStop::Steps, "{spec} {penalty:?} bias {bias}: {found:?}");
                    if penalty.l2 > 0.0 && found.stop == NewtonStop::Gap {
                        prop_assert!(gap <= 2e-8, "{spec} {penalty:?} bias {bias}: {gap} {found:?}");
                    }
                    // F is second order in the violation: a gap of 10⁻⁴ at λ₂ = 0 is far below that in distance.
                    prop_assert!(gap <= 1e-3, "{spec} {penalty:?} bias {bias}: {gap} {:?} {}", found.stop, found.steps);
                    // From somewhere else, the same minimum.
                    let start: Vec<f64> = (0..columns).map(|_| sign(&mut random) * random.uniform()).collect();
                    let again = made.solve(penalty, bias, 1e-8, Some((&start, 0.7)));
                    let (a, b) = (made.value(penalty, &found), made.value(penalty, &again));
                    prop_assert!((a - b).abs() <= 1e-7 * a.abs(), "{spec} {penalty:?} bias {bias}: {a} {b} {:?}", again.stop);
                }
            }
        }
    }
}

#[test]
fn the_bound_of_the_last_model_is_below_the_minimum_and_proves_the_tolerance_early() {
    let mut random = Random::new(21);
    let (mut bounds, mut proofs) = (0, 0);
    for loss in smooth() {
        for (count, columns) in [(200, 15), (400, 60), (300, 700)] {
            let made = Made::draw(&mut random, loss.clone(), count, columns);
            for (bias, share, of_l1) in [
                (true, 10.0, 0.0),
                (true, 60.0, 0.0),
                (false, 30.0, 0.0),
                (true, 60.0, 0.01),
                (false, 30.0, 0.3),
            ] {
                let l1 = l1_max(made.examples(), &*loss, bias.into()) / share;
                let penalty = ElasticNet { l1, l2: of_l1 * l1 };
                let least = made.value(penalty, &made.solve(penalty, bias, 1e-11, None));
                for tolerance in [1e-2, 1e-3, 1e-4] {
                    let found = made.solve(penalty, bias, tolerance, None);
                    let Some(dual) = found.dual else { continue };
                    let value = made.value(penalty, &found);
                    let what = format!("{} {columns} {bias} {share} {tolerance}", loss.spec());
                    assert!(
                        dual <= least + 1e-10 * least.abs(),
                        "{what}: {dual} is no lower bound on {least}"
                    );
                    let own =
                        certify(made.examples(), &*loss, penalty, &found.weights, bias.then_some(found.bias));
                    let [gap, own] = [dual, own.dual.unwrap()].map(|dual| (value - dual) / value.abs());
                    let proved = gap.min(own) <= tolerance * (1.0 + 1e-6);
                    assert!(found.stop != NewtonStop::Gap || proved, "{what}: {gap} {own}");
                    bounds += 1;
                    proofs += usize::from(gap <= tolerance);
                }
            }
        }
    }
    assert!(bounds >= 60 && 2 * proofs > bounds, "{proofs} of {bounds} bounds proved the tolerance");
}

#[test]
fn wide_problems_go_through_sweeps_and_end_at_the_same_proof() {
    let mut random = Random::new(8);
    for name in ["logistic", "squared", "squared-hinge", "huber"] {
        // More weights than a dense matrix is made for, and enough rows for a start by passes.
        let made = Made::draw(&mut random, loss::parse(name).unwrap(), 3000, 3000);
        let most = l1_max(made.examples(), &*made.loss, Bias::Best);
        let penalty = |share: f64, l2: f64| ElasticNet { l1: most / share, l2 };
        for penalty in
            [penalty(200.0, 0.0), penalty(200.0, 1e-3), penalty(1000.0, 0.0), penalty(1000.0, 1e-3)]
        {
            let found = made.solve(penalty, true, 1e-7, None);
            let nonzeros = found.weights.iter().filter(|w| **w != 0.0).count();
            assert!(nonzeros > 600, "{name}: {nonzeros} weights");
            let proof = certify(made.examples(), &*made.loss, penalty, &found.weights, Some(found.bias));
            let limit = if penalty.l2 > 0.0 { 2e-7 } else { 0.5 };
            assert!(
                proof.relative_gap.unwrap() <= limit,
                "{name} {penalty:?}: {proof:?} {:?} {}",
                found.stop,
                found.steps
            );
            let finer = made.solve(penalty, true, 1e-11, Some((&found.weights, found.bias)));
            let (a, b) = (made.value(penalty, &found), made.value(penalty, &finer));
            assert!(a - b <= 1e-7 * a, "{name} {penalty:?}: stopped {} too early", (a - b) / a);
            for tolerance in [1e-1, 1e-3, 1e-5] {
                let a = made.value(penalty, &made.solve(penalty, true, tolerance, None));
                assert!(a - b <= tolerance * a, "{name} {penalty:?} {tolerance}: {} too early", (a - b) / a);
            }
            let zeros = |found: &Solution| found.weights.iter().map(|w| *w == 0.0).collect::<Vec<_>>();
            let differ = zeros(&found).iter().zip(zeros(&finer)).filter(|(a, b)| **a != *b).count();
            assert!(differ <= nonzeros / 50, "{name}: {differ} of {nonzeros} zeros moved");
        }
    }
}

#[test]
fn factors_and_bounds_end_at_their_own_minimum() {
    let mut random = Random::new(13);
    for loss in smooth() {
        for columns in [12, 900] {
            let made = Made::draw(&mut random, loss.clone(), 400, columns);
            let factors: Vec<f64> = (0..columns).map(|_| log_uniform(&mut random, 0.2, 5.0)).collect();
            let penalty = ElasticNet { l1: l1_max(made.examples(), &*loss, Bias::Best) / 50.0, l2: 0.01 };
            let drawn: Vec<Weighted> = (0..4).map(|_| Weighted::draw(&mut random, columns, 0.3)).collect();
            for (nonnegative, bounds) in
                [(false, None), (true, None), (false, Some(0)), (true, Some(1)), (false, Some(2))]
            {
                let bounds = bounds.and_then(|k: usize| drawn[k].bounds.as_deref());
                let weighted_penalty = WeightedPenalty {
                    factors: Some(&factors),
                    nonnegative,
                    bounds,
                    ..WeightedPenalty::of(penalty)
                };
                let problem =
                    Problem { examples: made.examples(), loss: &*loss, weighted_penalty, bias: true };
                let found = solve(&problem, None, &Options { tolerance: 1e-8, steps: 300 }, &mut |_| true);
                for (j, w) in found.weights.iter().enumerate() {
                    let [low, high] = weighted_penalty.range(j);
                    assert!(low <= *w && *w <= high, "{} {low} {w} {high}", loss.spec());
                }
                let proof =
                    certify(made.examples(), &*loss, weighted_penalty, &found.weights, Some(found.bias));
                let gap = proof.relative_gap.unwrap();
                assert!(
                    gap < 1e-6,
                    "{} {columns} nonnegative {nonnegative}: {gap} {:?}",
                    loss.spec(),
                    found.stop
                );
            }
        }
    }
}

#[test]
fn at_l1_max_the_model_of_zeros_comes_at_once() {
    let mut random = Random::new(9);
    for loss in smooth() {
        let made = Made::draw(&mut random, loss, 50, 10);
        let most = l1_max(made.examples(), &*made.loss, Bias::Best);
        let zero = made.solve(ElasticNet { l1: most * (1.0 + 1e-9), l2: 0.0 }, true, 1e-6, None);
        assert_eq!((zero.stop, zero.steps), (NewtonStop::Gap, 0), "{}", made.loss.spec());
        assert!(zero.weights.iter().all(|w| *w == 0.0));
        let penalty = ElasticNet { l1: most, l2: 0.0 };
        assert!(
            violation(made.examples(), &*made.loss, penalty, &zero.weights, Some(zero.bias))
                < 1e-6 * most.max(1.0)
        );
        let some = made.solve(ElasticNet { l1: most * 0.9, l2: 0.0 }, true, 1e-6, None);
        assert!(some.weights.iter().any(|w| *w != 0.0), "{}", made.loss.spec());
    }
}

#[test]
fn a_separable_problem_without_a_penalty_has_no_minimum_and_ends_with_finite_weights() {
    let mut rows = Rows::new();
    (0..40).for_each(|k| rows.push(&[(k % 2, 1.0), (2, 1.0)]).unwrap());
    let targets: Vec<f64> = (0..40).map(|k| [1.0, -1.0][k % 2]).collect();
    let examples = Examples::new(rows.borrow(), &targets, None).unwrap();
    let loss = loss::parse("logistic").unwrap();
    let penalty = ElasticNet { l1: 0.0, l2: 0.0 };
    let problem =
        Problem { examples, loss: &*loss, weighted_penalty: WeightedPenalty::of(penalty), bias: true };
    let found = solve(&problem, None, &Options { tolerance: 1e-4, steps: 30 }, &mut |_| true);
    assert_eq!(found.stop, NewtonStop::NoMinimum);
    assert!(found.weights.iter().all(|w| w.is_finite()));
    assert!(objective(examples, &*loss, penalty, &found.weights, found.bias).total() < 1e-3);
    // A loss that reaches zero has a minimum, and the counts of nothing have none.
    for (name, targets, exists) in [
        ("squared-hinge", targets, true),
        ("poisson", vec![0.0; 40], false),
        ("squared", vec![3.0; 40], true),
    ] {
        let loss = loss::parse(name).unwrap();
        let examples = Examples::new(rows.borrow(), &targets, None).unwrap();
        let weighted_penalty = WeightedPenalty::of(penalty);
        let problem = Problem { examples, loss: &*loss, weighted_penalty, bias: true };
        let found = solve(&problem, None, &Options { tolerance: 1e-4, steps: 100 }, &mut |_| true);
        let ended = !matches!(found.stop, NewtonStop::Steps | NewtonStop::Diverged);
        assert!(ended && (found.stop != NewtonStop::NoMinimum) == exists, "{name}: {found:?}");
        assert!(found.weights.iter().all(|w| w.is_finite()), "{name}: {found:?}");
    }
}

#[test]
fn constant_and_twin_columns_empty_rows_and_empty_columns_do_no_harm() {
    let mut random = Random::new(10);
    let mut rows = Rows::new();
    for k in 0..60u32 {
        let x = log_uniform(&mut random, 0.1, 2.0);
        match k % 10 {
            0 => rows.push(&[]).unwrap(),
            _ => rows.push(&[(0, 3.0), (1, x), (2, x), (5, sign(&mut random))]).unwrap(), // 3 and 4 are empty
        }
    }
    rows.declare_columns(6);
    for loss in smooth() {
        let targets: Vec<f64> = match loss.admits() {
            Admits::Classes => (0..60).map(|_| sign(&mut random)).collect(),
            _ => (0..60).map(|_| random.below(5) as f64).collect(),
        };
        let examples = Examples::new(rows.borrow(), &targets, None).unwrap();
        for (l1, l2) in [(1e-3, 0.0), (1e-3, 1e-3), (0.0, 1e-3), (0.0, 0.0)] {
            let (penalty, spec) = (ElasticNet { l1, l2 }, loss.spec());
            let problem = Problem {
                examples,
                loss: &*loss,
                weighted_penalty: WeightedPenalty::of(penalty),
                bias: true,
            };
            let found = solve(&problem, None, &Options { tolerance: 1e-8, steps: 300 }, &mut |_| true);
            assert_eq!((found.weights[3], found.weights[4]), (0.0, 0.0), "{spec} {penalty:?}");
            let kkt = violation(examples, &*loss, penalty, &found.weights, Some(found.bias));
            assert!(kkt < 1e-3 && found.stop != NewtonStop::Steps, "{spec} {penalty:?}: {kkt} {found:?}");
        }
    }
}

#[test]
fn a_tolerance_beyond_the_precision_ends_and_says_so() {
    let mut random = Random::new(11);
    let made = Made::draw(&mut random, loss::parse("logistic").unwrap(), 200, 20);
    let found = made.solve(ElasticNet { l1: 1e-3, l2: 1e-4 }, true, 1e-30, None);
    assert!(matches!(found.stop, NewtonStop::Precision | NewtonStop::Gap), "{found:?}");
    let none = made.solve(ElasticNet { l1: 1e-3, l2: 0.0 }, true, 1e-30, None);
    assert!(matches!(none.stop, NewtonStop::Precision | NewtonStop::Gap), "{none:?}");
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_a_watcher_can_end_it() {
    let mut random = Random::new(12);
    let made = Made::draw(&mut random, loss::parse("logistic").unwrap(), 9000, 200);
    let penalty = ElasticNet { l1: 1e-4, l2: 1e-5 };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| made.solve(penalty, true, 1e-6, None).weights)
    };
    assert!(on(1) == on(2) && on(1) == on(3));
    let problem = Problem {
        examples: made.examples(),
        loss: &*made.loss,
        weighted_penalty: WeightedPenalty::of(penalty),
        bias: true,
    };
    let told = solve(&problem, None, &Options { tolerance: 1e-9, steps: 300 }, &mut |look| look.steps < 1);
    assert_eq!((told.stop, told.steps), (NewtonStop::Interrupted, 1));
    assert!(
        made.value(penalty, &told)
            < objective(made.examples(), &*made.loss, penalty, &[0.0; 200], 0.0).total()
    );
}

/// Data large enough for the way by few columns. A start, though it is nothing, takes the way by all of them.
#[test]
fn few_columns_end_where_all_do() {
    let shape = synth::Shape { rows: 60_000, features: 20_000, words: 75.0, ..Default::default() };
    let task = synth::documents(&shape).task;
    assert!(task.data.rows.nonzeros() > 1 << 22, "{} non-zeros", task.data.rows.nonzeros());
    let most = l1_max(task.examples(), &*task.loss, Bias::Best);
    let factors: Vec<f64> = (0..shape.features).map(|j| [0.7, 1.0, 3.0][j % 3]).collect();
    let nothing = vec![0.0; shape.features];
    for (share, l2, factors, nonnegative) in
        [(0.5, 0.0, None, false), (0.2, 1e-3, None, false), (0.5, 1e-3, Some(&factors[..]), true)]
    {
        let penalty = ElasticNet::new(share * most, l2).unwrap();
        let weighted_penalty = WeightedPenalty { factors, nonnegative, ..WeightedPenalty::of(penalty) };
        let problem = Problem { examples: task.examples(), loss: &*task.loss, weighted_penalty, bias: true };
        let options = Options { tolerance: 1e-8, steps: 200 };
        let few = solve(&problem, None, &options, &mut |_| true);
        let all = solve(&problem, Some((&nothing, 0.0)), &options, &mut |_| true);
        assert!(matches!(few.stop, NewtonStop::Gap | NewtonStop::PredictedDecrease), "{:?}", few.stop);
        assert!(few.weights.iter().filter(|w| **w != 0.0).count() > 2);
        for (j, (a, b)) in few.weights.iter().zip(&all.weights).enumerate() {
            let near = (a - b).abs() < 1e-5 && (*a == 0.0) == (*b == 0.0);
            assert!(near, "l1 {share} of the largest: weight {j} is {a} by few columns, {b} by all");
        }
    }
    let weighted_penalty = WeightedPenalty::of(ElasticNet::new(0.2 * most, 0.0).unwrap());
    let problem = Problem { examples: task.examples(), loss: &*task.loss, weighted_penalty, bias: true };
    let told = solve(&problem, None, &Options { tolerance: 1e-8, steps: 200 }, &mut |look| look.steps < 1);
    assert_eq!((told.stop, told.steps), (NewtonStop::Interrupted, 1), "told to stop, it stops");
}
