//! Laws of softmax regression to the optimum: the certificate is a bound at any point, and it is tight where the solver ends.

use crate::common::{Weighted, log_uniform, rows, sign};
use lazyglm::loss;
use lazyglm::objective::{Certificate, SoftmaxProblem, Worst, certify_softmax};
use lazyglm::optim::newton;
use lazyglm::optim::softmax_newton::{NewtonStop, Options, Problem, Solution, solve};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, Head, Rows, WeightedPenalty};

pub(crate) struct Made {
    pub(crate) rows: Rows,
    pub(crate) classes: Vec<u32>,
    pub(crate) count: usize,
    pub(crate) weights: Option<Vec<f64>>,
}

impl Made {
    /// Classes that depend on the rows, with noise; the last class has no row if `absent`.
    pub(crate) fn draw(random: &mut Random, n: usize, columns: usize, count: usize, absent: bool) -> Made {
        let rows = rows(random, n, columns);
        let present = if absent { count - 1 } else { count };
        let truth: Vec<f64> = (0..columns * count).map(|_| sign(random) * random.uniform()).collect();
        let class = |i: usize, random: &mut Random| {
            let mut scores = vec![0.0; present];
            rows.borrow().for_each(i, |j, x| {
                (0..present).for_each(|k| scores[k] += x * truth[j * count + k]);
            });
            scores.iter_mut().for_each(|s| *s += 2.0 * random.uniform());
            (0..present).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap() as u32
        };
        let mut classes: Vec<u32> = (0..n).map(|i| class(i, random)).collect();
        (0..present).for_each(|k| classes[k] = k as u32);
        Made { rows, classes, count, weights: None }
    }

    fn weighted(mut self, random: &mut Random) -> Made {
        let mut weights: Vec<f64> = self.classes.iter().map(|_| log_uniform(random, 0.1, 5.0)).collect();
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        weights.iter_mut().for_each(|w| *w /= mean);
        self.weights = Some(weights);
        self
    }

    pub(crate) fn solve<'a>(
        &'a self,
        penalty: impl Into<WeightedPenalty<'a>>,
        bias: bool,
        tolerance: f64,
        start: Option<&[Head]>,
    ) -> Solution {
        let Made { rows, classes, count, weights } = self;
        let (rows, count, weights) = (rows.borrow(), *count, weights.as_deref());
        let problem = Problem { rows, classes, count, weights, weighted_penalty: penalty.into(), bias };
        solve(&problem, start, &Options { tolerance, steps: 300 }, &mut |_| true)
    }

    pub(crate) fn certify<'a>(
        &'a self,
        penalty: impl Into<WeightedPenalty<'a>>,
        bias: bool,
        heads: &[Head],
    ) -> Certificate {
        let (rows, weights) = (self.rows.borrow(), self.weights.as_deref());
        let problem =
            SoftmaxProblem { rows, classes: &self.classes, weights, weighted_penalty: penalty.into(), bias };
        certify_softmax(&problem, heads)
    }

    /// The smallest λ₁ at which all weights are zero, without row weights.
    fn l1_max(&self) -> f64 {
        let zero = vec![Head::default(); self.count];
        let n = self.classes.len() as f64;
        let sizes: Vec<f64> =
            (0..self.count).map(|k| self.classes.iter().filter(|c| **c == k as u32).count() as f64).collect();
        let heads: Vec<Head> = zero
            .into_iter()
            .zip(&sizes)
            .map(|(head, size)| Head { bias: (size / n).max(1e-30).ln(), ..head })
            .collect();
        self.certify(ElasticNet { l1: 0.0, l2: 0.0 }, true, &heads).kkt
    }
}

fn penalties(most: f64) -> [ElasticNet; 5] {
    let net = |share: f64, l2: f64| ElasticNet { l1: share * most, l2 };
    [net(0.3, 0.0), net(0.02, 0.0), net(0.02, 0.01), net(0.0, 0.003), net(1e-5, 0.01)]
}

#[test]
fn the_bound_is_never_above_the_minimum() {
    let mut random = Random::new(21);
    for (count, absent, weighted) in [(2, false, false), (5, false, true), (4, true, false)] {
        let mut made = Made::draw(&mut random, 80, 12, count, absent);
        if weighted {
            made = made.weighted(&mut random);
        }
        for penalty in penalties(made.l1_max()) {
            for bias in [false, true] {
                let best = made.solve(penalty, bias, 1e-11, None);
                let least = made.certify(penalty, bias, &best.heads).objective;
                for draw in 0..200 {
                    let scale = log_uniform(&mut random, 1e-6, 1e2);
                    let near = if draw % 2 == 0 { 1.0 } else { 0.0 };
                    let head = |k: usize| {
                        let from = best.heads[k].dense(12);
                        let mut v = |at: f64| near * at + scale * sign(&mut random) * random.uniform();
                        let bias = v(best.heads[k].bias);
                        Head::of(from.iter().map(|w| v(*w)).collect::<Vec<_>>().into_iter(), bias)
                    };
                    let heads: Vec<Head> = (0..count).map(head).collect();
                    let proof = made.certify(penalty, bias, &heads);
                    assert!(proof.objective >= least * (1.0 - 1e-9), "{count} {penalty:?}: not the minimum");
                    assert!(
                        proof.dual.unwrap() <= least * (1.0 + 1e-10),
                        "{count} {penalty:?} {proof:?} {least}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_certificate_proves_what_the_solver_claims_for_any_number_of_classes() {
    let mut random = Random::new(22);
    for count in 2..=20 {
        let (n, columns) = (60 + random.below(200) as usize, 3 + random.below(60) as usize);
        let mut made = Made::draw(&mut random, n, columns, count, count % 5 == 4);
        let most = made.l1_max();
        if count % 3 == 0 {
            made = made.weighted(&mut random);
        }
        for penalty in penalties(most) {
            for bias in [false, true] {
                let found = made.solve(penalty, bias, 1e-9, None);
                let proof = made.certify(penalty, bias, &found.heads);
                let gap = proof.relative_gap.unwrap();
                let said = format!("{count} {penalty:?} bias {bias}: {gap} {:?} {}", found.stop, found.steps);
                assert!(found.stop != NewtonStop::Steps, "{said}");
                assert!(gap <= if penalty.l2 > 0.0 { 2e-9 } else { 1e-4 }, "{said}");
                // From somewhere else, the same minimum.
                let start: Vec<Head> = (0..count)
                    .map(|_| {
                        Head::of(
                            (0..columns)
                                .map(|_| sign(&mut random) * random.uniform())
                                .collect::<Vec<_>>()
                                .into_iter(),
                            0.3,
                        )
                    })
                    .collect();
                let again = made.solve(penalty, bias, 1e-9, Some(&start));
                let other = made.certify(penalty, bias, &again.heads).objective;
                assert!(
                    (other - proof.objective).abs() <= 2e-9 * proof.objective,
                    "{said}: {other} {:?}",
                    again.stop
                );
            }
        }
    }
}

#[test]
fn a_wrong_bias_of_a_class_violates_the_conditions_by_its_mean_residual() {
    let made = Made::draw(&mut Random::new(5), 80, 12, 3, false);
    let heads: Vec<Head> = (0..3).map(|k| Head { bias: f64::from(k), ..Head::default() }).collect();
    let proof = made.certify(ElasticNet { l1: 10.0, l2: 1.0 }, true, &heads);
    let total: f64 = (0..3).map(|k| f64::from(k).exp()).sum();
    let share = |k: u32| made.classes.iter().filter(|class| **class == k).count() as f64 / 80.0;
    let residual = |k: u32| (f64::from(k).exp() / total - share(k)).abs();
    let most = (0..3).map(residual).fold(0.0, f64::max);
    assert!((proof.kkt - most).abs() < 1e-12 && proof.worst == Worst::Bias, "{proof:?} {most}");
}

#[test]
fn two_classes_are_logistic_regression() {
    let mut random = Random::new(23);
    let made = Made::draw(&mut random, 150, 20, 2, false);
    let targets: Vec<f64> = made.classes.iter().map(|c| if *c == 1 { 1.0 } else { -1.0 }).collect();
    let examples = Examples::new(made.rows.borrow(), &targets, None).unwrap();
    let logistic = loss::parse("logistic").unwrap();
    // Weights (−w/2, w/2) have half of the ℓ₂² penalty of w, and the same ℓ₁ penalty.
    for (l1, l2) in [(0.0, 0.02), (0.01, 0.02), (0.01, 0.0)] {
        let of = ElasticNet { l1, l2: 0.5 * l2 };
        let problem = newton::Problem {
            examples,
            loss: &*logistic,
            weighted_penalty: WeightedPenalty::of(of),
            bias: true,
        };
        let one = newton::solve(&problem, None, &Options { tolerance: 1e-11, steps: 300 }, &mut |_| true);
        let two = made.solve(ElasticNet { l1, l2 }, true, 1e-11, None);
        let value = lazyglm::objective::objective(examples, &*logistic, of, &one.weights, one.bias).total();
        let proof = made.certify(ElasticNet { l1, l2 }, true, &two.heads);
        assert!((proof.objective - value).abs() < 1e-9 * value, "{l1} {l2}: {} {value}", proof.objective);
        let [low, high] = [0, 1].map(|k| two.heads[k].dense(20));
        for (j, w) in one.weights.iter().enumerate() {
            assert!((high[j] - low[j] - w).abs() < 1e-3 * (1.0 + w.abs()), "{l1} {l2}: weight {j}");
        }
        assert!((two.heads[1].bias - two.heads[0].bias - one.bias).abs() < 1e-3);
        assert!((two.heads[0].bias + two.heads[1].bias).abs() < 1e-12, "biases sum to zero");
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let mut random = Random::new(24);
    let made = Made::draw(&mut random, 90, 15, 4, false);
    let (mut twice, mut classes, mut weights) = (Rows::new(), Vec::new(), Vec::new());
    for (i, &class) in made.classes.iter().enumerate() {
        let mut row = Vec::new();
        made.rows.borrow().for_each(i, |j, x| row.push((j as u32, x)));
        for _ in 0..1 + i % 2 {
            twice.push(&row).unwrap();
            classes.push(class);
        }
        weights.push((1 + i % 2) as f64);
    }
    twice.declare_columns(15);
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    weights.iter_mut().for_each(|w| *w /= mean);
    let twice = Made { rows: twice, classes, count: 4, weights: None };
    let made = Made { weights: Some(weights), ..made };
    for penalty in penalties(made.l1_max()) {
        let [a, b] = [&made, &twice].map(|of| {
            let found = of.solve(penalty, true, 1e-10, None);
            of.certify(penalty, true, &found.heads).objective
        });
        assert!((a - b).abs() < 1e-9 * a, "{penalty:?}: {a} {b}");
    }
}

#[test]
fn penalty_factors_and_bounds_end_at_their_own_minimum() {
    let mut random = Random::new(25);
    for columns in [12, 300] {
        let made = Made::draw(&mut random, 250, columns, 5, false);
        let factors: Vec<f64> = (0..columns).map(|_| log_uniform(&mut random, 0.2, 5.0)).collect();
        for penalty in penalties(made.l1_max()) {
            let drawn = [(); 3].map(|()| Weighted::draw(&mut random, columns, 0.3).bounds);
            let free = [None, None];
            for (nonnegative, bounds) in
                [false, true, false, true, false].into_iter().zip(free.iter().chain(&drawn))
            {
                let plain = WeightedPenalty::of(penalty);
                let penalty = WeightedPenalty {
                    factors: Some(&factors),
                    nonnegative,
                    bounds: bounds.as_deref(),
                    ..plain
                };
                let found = made.solve(penalty, true, 1e-9, None);
                let proof = made.certify(penalty, true, &found.heads);
                let limit = if penalty.penalty.l2 > 0.0 { 1e-8 } else { 1e-4 };
                assert!(proof.relative_gap.unwrap() < limit, "{penalty:?} {proof:?} {:?}", found.stop);
                for (&j, w) in found.heads.iter().flat_map(|head| head.columns.iter().zip(&head.weights)) {
                    let [low, high] = penalty.range(j as usize);
                    assert!(low <= *w && *w <= high, "{penalty:?}: {low} {w} {high}");
                }
            }
        }
        // A weight without a penalty: no bound, and still the minimum.
        let factors: Vec<f64> = (0..columns).map(|j| if j == 0 { 0.0 } else { 1.0 }).collect();
        let penalty = WeightedPenalty {
            penalty: ElasticNet { l1: 0.003, l2: 0.01 },
            factors: Some(&factors),
            ..WeightedPenalty::of(ElasticNet { l1: 0.0, l2: 0.0 })
        };
        let found = made.solve(penalty, true, 1e-9, None);
        assert!(found.stop != NewtonStop::Steps, "{found:?}");
        assert!(made.certify(penalty, true, &found.heads).kkt < 1e-5);
    }
}

#[test]
fn twin_columns_empty_columns_and_empty_rows_do_no_harm() {
    let mut random = Random::new(26);
    let mut rows = Rows::new();
    for k in 0..90 {
        let x = log_uniform(&mut random, 0.1, 2.0);
        match k % 10 {
            0 => rows.push(&[]).unwrap(),
            _ => rows.push(&[(0, 3.0), (1, x), (2, x), (5, sign(&mut random))]).unwrap(), // 3 and 4 are empty
        }
    }
    rows.declare_columns(6);
    let classes = (0..90).map(|_| random.below(3) as u32).collect();
    let made = Made { rows, classes, count: 3, weights: None };
    for (l1, l2) in [(1e-3, 0.0), (1e-3, 1e-3), (0.0, 1e-3), (0.0, 0.0)] {
        let found = made.solve(ElasticNet { l1, l2 }, true, 1e-9, None);
        assert!(found.stop != NewtonStop::Steps, "{l1} {l2}: {found:?}");
        assert!(found.heads.iter().all(|head| head.dense(6)[3..5] == [0.0, 0.0]), "{l1} {l2}");
        let proof = made.certify(ElasticNet { l1, l2 }, true, &found.heads);
        assert!(proof.kkt < 1e-4, "{l1} {l2}: {proof:?} {:?}", found.stop);
    }
}

#[test]
fn a_class_without_rows_takes_nothing_from_the_others() {
    let mut random = Random::new(27);
    let made = Made::draw(&mut random, 120, 15, 4, true);
    let without = Made { rows: made.rows.clone(), classes: made.classes.clone(), count: 3, weights: None };
    for penalty in penalties(without.l1_max()) {
        let [a, b] = [&made, &without].map(|of| of.solve(penalty, true, 1e-10, None));
        let [with, alone] =
            [(&made, &a), (&without, &b)].map(|(of, found)| of.certify(penalty, true, &found.heads));
        assert!(
            (with.objective - alone.objective).abs() < 1e-9 * alone.objective,
            "{penalty:?} {with:?} {alone:?}"
        );
        assert!(a.heads[3].weights.iter().all(|w| w.abs() < 1e-3) && a.heads[3].is_finite(), "{penalty:?}");
        if penalty.l2 > 0.0 {
            assert!(with.relative_gap.unwrap() < 1e-9, "{penalty:?} {with:?}");
        }
    }
}

#[test]
fn at_l1_max_all_weights_are_zero_at_once() {
    let mut random = Random::new(28);
    let made = Made::draw(&mut random, 100, 20, 6, false);
    let most = made.l1_max();
    let zero = made.solve(ElasticNet { l1: most * (1.0 + 1e-9), l2: 0.0 }, true, 1e-6, None);
    assert_eq!((zero.stop, zero.steps), (NewtonStop::Gap, 0));
    assert!(zero.heads.iter().all(|head| head.weights.is_empty()));
    assert!(
        made.certify(ElasticNet { l1: most * (1.0 + 1e-9), l2: 0.0 }, true, &zero.heads)
            .relative_gap
            .unwrap()
            < 1e-12
    );
    let some = made.solve(ElasticNet { l1: most * 0.9, l2: 0.0 }, true, 1e-6, None);
    assert!(some.heads.iter().any(|head| !head.weights.is_empty()));
}

#[test]
fn softmax_has_the_same_bits_on_any_number_of_threads_and_a_watcher_can_end_it() {
    let mut random = Random::new(29);
    let made = Made::draw(&mut random, 3000, 400, 9, false);
    for penalty in [ElasticNet { l1: 1e-3, l2: 0.0 }, ElasticNet { l1: 0.0, l2: 1e-4 }] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| made.solve(penalty, true, 1e-6, None).heads)
        };
        assert!(on(1) == on(2) && on(1) == on(3), "{penalty:?}");
        let problem = Problem {
            rows: made.rows.borrow(),
            classes: &made.classes,
            count: 9,
            weights: None,
            weighted_penalty: WeightedPenalty::of(penalty),
            bias: true,
        };
        let told =
            solve(&problem, None, &Options { tolerance: 1e-12, steps: 300 }, &mut |look| look.steps < 1);
        assert_eq!((told.stop, told.steps), (NewtonStop::Interrupted, 1));
        let at_once = solve(&problem, None, &Options { tolerance: 1e-12, steps: 300 }, &mut |_| false);
        assert_eq!((at_once.stop, at_once.steps), (NewtonStop::Interrupted, 0));
    }
}
