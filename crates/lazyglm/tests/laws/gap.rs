//! Laws of the certificate: D is below F everywhere, and at the minimum it is F.

use crate::common::problem::Problem;
use crate::common::{Weighted, log_uniform, rows, sign};
use lazyglm::loss::{self, Admits, Loss};
use lazyglm::objective::{Bias, Worst, certify, mean_loss, objective};
use lazyglm::optim::newton;
use lazyglm::util::random::Random;
use lazyglm::{
    Certify, Dataset, Declared, ElasticNet, Examples, Method, Model, Rows, Settings, Task, WeightedPenalty,
    train,
};
use proptest::prelude::*;

const COLUMNS: usize = 8;

/// Sometimes all targets of one class, targets far away, or rows without features.
fn extreme(random: &mut Random, loss: &dyn Loss) -> Problem {
    let count = 2 + random.below(40) as usize;
    let one_sided = random.below(8) == 0;
    let far = if random.below(4) == 0 { 100.0 } else { 1.0 };
    let mut problem = Problem::draw(random, loss, count, COLUMNS).weighed(random, 0.01, 10.0);
    problem.targets.iter_mut().for_each(|y| match loss.admits() {
        Admits::Classes if one_sided => *y = 1.0,
        Admits::NonNegative if one_sided => *y = 0.0,
        Admits::Reals => *y *= far,
        _ => {}
    });
    problem
}

fn some_weights(random: &mut Random, most: f64) -> Vec<f64> {
    let one = |random: &mut Random| match random.below(3) {
        0 => 0.0,
        _ => sign(random) * log_uniform(random, 1e-4, most),
    };
    (0..COLUMNS).map(|_| one(random)).collect()
}

/// A point of low F: proximal (sub)gradient steps on all rows, at falling rates; the best point met.
fn low<'p>(
    examples: Examples,
    loss: &dyn Loss,
    weighted_penalty: impl Into<WeightedPenalty<'p>>,
    bias: bool,
    steps: usize,
) -> (Vec<f64>, f64) {
    let weighted_penalty = weighted_penalty.into();
    let n = examples.len() as f64;
    let f = |w: &[f64], b: f64| mean_loss(examples, loss, w, b) + weighted_penalty.value(w);
    let step = |j: usize, rate: f64, w: f64| {
        let [low, high] = weighted_penalty.range(j);
        Method::Fobos.step(weighted_penalty.at(j), rate, w).clamp(low, high)
    };
    let (mut w, mut b) = (vec![0.0; COLUMNS], 0.0);
    let (mut best, mut rate) = ((w.clone(), b, f(&w, b)), 0.05);
    for _ in 0..steps {
        let (mut gradient, mut of_bias) = ([0.0; COLUMNS], 0.0);
        for i in 0..examples.len() {
            let score = examples.rows.dot(i, &w) + b + examples.offset(i);
            let g = examples.weight(i) * loss.slope(score, examples.targets[i]) / n;
            examples.rows.for_each(i, |j, x| gradient[j] += g * x);
            of_bias += g;
        }
        let moved: Vec<f64> = (0..COLUMNS).map(|j| step(j, rate, w[j] - rate * gradient[j])).collect();
        let moved_bias = if bias { b - rate * of_bias } else { 0.0 };
        match f(&moved, moved_bias) {
            value if value < best.2 => {
                (w, b) = (moved.clone(), moved_bias);
                best = (moved, moved_bias, value);
            }
            _ if rate > 1e-9 => {
                (w, b) = (best.0.clone(), best.1);
                rate *= 0.7;
            }
            _ => break,
        }
    }
    (best.0, best.1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_point_is_below_the_bound_whatever_point_it_was_made_at(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for entry in loss::TABLE {
            let loss = loss::parse(entry.name).unwrap();
            let problem = extreme(&mut random, &*loss);
            let examples = if random.below(2) == 0 { problem.examples() } else { problem.unweighted() };
            let penalty = match crate::common::penalty(&mut random, 1.0, 1.0) {
                penalty if penalty.is_none() => ElasticNet { l1: 1e-3, l2: 0.0 },
                penalty => penalty,
            };
            for with_bias in [false, true] {
                let at = |w: &[f64], b: f64| objective(examples, &*loss, penalty, w, b).total();
                let mut points: Vec<(Vec<f64>, f64)> = vec![(vec![0.0; COLUMNS], 0.0)];
                points.push(low(examples, &*loss, penalty, with_bias, 300));
                for most in [0.01, 1.0] {
                    let b = if with_bias { sign(&mut random) * log_uniform(&mut random, 1e-3, 5.0) } else { 0.0 };
                    points.push((some_weights(&mut random, most), b));
                }
                let least = points.iter().map(|(w, b)| at(w, *b)).fold(f64::INFINITY, f64::min);
                for (w, b) in &points {
                    let proof = certify(examples, &*loss, penalty, w, with_bias.then_some(*b));
                    let (dual, gap) = (proof.dual.unwrap(), proof.relative_gap.unwrap());
                    let slack = 1e-11 * (1.0 + least.abs() + proof.objective.abs());
                    prop_assert!(dual <= least + slack, "{}: {penalty:?} bias {with_bias}: D {dual} F {least}", entry.name);
                    prop_assert!(dual.is_finite() && gap >= 0.0);
                    prop_assert!(gap * proof.objective.abs() >= proof.objective - least - slack, "{}", entry.name);
                    prop_assert!((proof.objective - at(w, *b)).abs() <= slack);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn nor_with_factors_and_without_weights_below_zero(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for entry in loss::TABLE {
            let loss = loss::parse(entry.name).unwrap();
            let problem = extreme(&mut random, &*loss);
            let examples = problem.examples();
            let penalty = ElasticNet { l1: log_uniform(&mut random, 1e-4, 1.0), l2: [0.0, 0.1][random.below(2) as usize] };
            let free = random.below(3) == 0;
            let factor = |random: &mut Random| if free && random.below(4) == 0 { 0.0 } else { log_uniform(random, 0.1, 10.0) };
            let factors: Vec<f64> = (0..COLUMNS).map(|_| factor(&mut random)).collect();
            let nonnegative = random.below(2) == 0;
            let drawn = Weighted::draw(&mut random, COLUMNS, 2.0);
            let weighted_penalty = WeightedPenalty { factors: Some(&factors), nonnegative, ..drawn.of(penalty) };
            let mut points = vec![low(examples, &*loss, weighted_penalty, true, 300)];
            let mut some = some_weights(&mut random, 1.0);
            for (j, w) in some.iter_mut().enumerate() {
                let [low, high] = weighted_penalty.range(j);
                *w = w.clamp(low, high);
            }
            points.push((some, 0.3));
            let at = |w: &[f64], b: f64| mean_loss(examples, &*loss, w, b) + weighted_penalty.value(w);
            let least = points.iter().map(|(w, b)| at(w, *b)).fold(f64::INFINITY, f64::min);
            for (w, b) in &points {
                let proof = certify(examples, &*loss, weighted_penalty, w, Some(*b));
                let slack = 1e-11 * (1.0 + least.abs() + proof.objective.abs());
                prop_assert!(proof.dual.unwrap() <= least + slack, "{} {weighted_penalty:?}: {proof:?} {least}", entry.name);
                prop_assert!((proof.objective - at(w, *b)).abs() <= slack);
            }
        }
    }
}

#[test]
fn at_the_minimum_the_gap_closes() {
    let mut random = Random::new(3);
    for name in [
        "logistic",
        "squared",
        "squared-hinge",
        "modified-huber",
        "huber",
        "poisson",
        "gamma",
        "tweedie",
        "squared-epsilon-insensitive",
    ] {
        let loss = loss::parse(name).unwrap();
        for (l1, l2) in [(0.05, 0.0), (0.02, 0.02), (0.0, 0.1)] {
            let problem = Problem {
                rows: rows(&mut random, 40, COLUMNS),
                targets: (0..40)
                    .map(|k| match loss.admits() {
                        Admits::Classes => [1.0, -1.0][k % 2],
                        Admits::Positive => (1 + k % 4) as f64,
                        _ => (k % 4) as f64,
                    })
                    .collect(),
                weights: vec![1.0; 40],
                offsets: (l1 == l2).then(|| (0..40).map(|k| (k % 3) as f64 - 0.5).collect()),
            };
            let (examples, penalty) = (problem.unweighted(), ElasticNet::new(l1, l2).unwrap());
            let (w, b) = low(examples, &*loss, penalty, true, 200_000);
            let proof = certify(examples, &*loss, penalty, &w, Some(b));
            assert!(proof.relative_gap.unwrap() < 1e-5, "{name}, {penalty:?}: {proof:?}");
        }
    }
}

#[test]
fn a_wrong_bias_is_moved_before_anything_is_proved() {
    let mut random = Random::new(4);
    let loss = loss::parse("logistic").unwrap();
    let problem = Problem {
        rows: rows(&mut random, 60, COLUMNS),
        targets: (0..60).map(|k| if k % 3 == 0 { 1.0 } else { -1.0 }).collect(),
        weights: vec![1.0; 60],
        offsets: Some((0..60).map(|k| (k % 5) as f64 - 2.0).collect()),
    };
    let (examples, penalty) = (problem.unweighted(), ElasticNet::new(0.02, 0.01).unwrap());
    let (w, b) = low(examples, &*loss, penalty, true, 50_000);
    let right = certify(examples, &*loss, penalty, &w, Some(b));
    let wrong = certify(examples, &*loss, penalty, &w, Some(b + 3.0));
    assert!((right.dual.unwrap() - wrong.dual.unwrap()).abs() < 1e-7, "{right:?} {wrong:?}");
    assert_eq!(wrong.worst, Worst::Bias);
}

#[test]
fn without_a_penalty_there_is_no_bound_and_the_worst_place_is_named() {
    let mut rows = Rows::new();
    rows.push(&[(0, 1.0)]).unwrap();
    rows.push(&[(1, 3.0)]).unwrap();
    let examples = Examples::new(rows.borrow(), &[0.0, 1.0], None).unwrap();
    let loss = loss::parse("squared").unwrap();
    let proof = certify(examples, &*loss, ElasticNet::new(0.0, 0.0).unwrap(), &[0.0, 0.0], None);
    assert_eq!((proof.dual, proof.relative_gap, proof.kkt, proof.worst), (None, None, 1.5, Worst::Column(1)));
    let at_best = certify(examples, &*loss, ElasticNet::new(0.0, 0.0).unwrap(), &[0.0, 1.0 / 3.0], None);
    assert_eq!((at_best.kkt, at_best.worst), (0.0, Worst::Nowhere));
}

/// Nothing is proved of data that somebody writes to meanwhile: an error, never a gap of other rows and never a panic.
#[test]
fn data_that_change_while_they_are_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data.svm");
    let rows = |count: usize| -> String {
        (0..count).map(|k| format!("{} {}:1 {}:0.5\n", [1, -1][k % 2], 1 + k % 7, 10 + k % 11)).collect()
    };
    let (short, long) = (rows(3_000), rows(9_000) + "1 4000000:1\n-1 4999999:1\n");
    std::fs::write(&file, &short).unwrap();
    let task = Task::builder(Dataset::read(&file, Declared::default()).unwrap()).build().unwrap();
    let penalty = ElasticNet::new(0.01, 0.01).unwrap();
    let settings = Settings { penalty, epochs: 1, eta0: Some(0.01), ..Settings::default() };
    let model = Model::new(&task, &settings, train(&task, None, &settings, &mut |_| {}).unwrap());
    let certify = Certify { penalty, ..Certify::default() };
    let expected = [&short, &long].map(|text| {
        std::fs::write(&file, text).unwrap();
        certify.run(&model, &file).unwrap().certificate.relative_gap.unwrap()
    });
    let done = std::sync::atomic::AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                [&long, &short].iter().for_each(|text| std::fs::write(&file, text).unwrap());
            }
        });
        let mut refused = 0;
        for _ in 0..300 {
            match certify.run(&model, &file) {
                // Unchanged from the first byte to the last: then it is one of the two, whole or cut at the writer's pace.
                Ok(proved) => {
                    assert!(proved.certificate.relative_gap.unwrap() > 0.1 * expected[0].min(expected[1]))
                }
                Err(error) => {
                    refused +=
                        usize::from(error.to_string().contains("the data changed while they were read"))
                }
            }
            if refused > 20 {
                break;
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        refused
    });
    assert!(refused > 0, "the file changed all the time");
}

#[test]
fn an_objective_that_is_not_finite_proves_nothing_and_violates_the_conditions() {
    let mut random = Random::new(16);
    for name in loss::TABLE.iter().map(|entry| entry.name) {
        let loss = loss::parse(name).unwrap();
        let problem = Problem::draw(&mut random, &*loss, 40, COLUMNS);
        for weight in [f64::NAN, f64::INFINITY, 1e308] {
            let weights = [weight, -weight, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            for l2 in [0.0, 0.1] {
                let penalty = ElasticNet::new(0.1, l2).unwrap();
                let proof = certify(problem.examples(), &*loss, penalty, &weights, Some(0.0));
                if !proof.objective.is_finite() {
                    assert_eq!((proof.dual, proof.relative_gap), (None, None), "{name} {weight}: {proof:?}");
                }
                assert!(proof.kkt.is_nan() || proof.kkt > 0.0, "{name} {weight}: {proof:?}");
            }
        }
    }
}

#[test]
fn a_report_without_a_certificate_has_the_same_figures_otherwise() {
    let shape = lazyglm::synth::Shape { rows: 9_000, features: 300, ..Default::default() };
    let task = lazyglm::synth::documents(&shape).task;
    let report = |certificate| {
        let settings = Settings { certificate, ..Settings::default() };
        let mut report = train(&task, None, &settings, &mut |_| {}).unwrap().report;
        (report.seconds_search, report.seconds_train, report.seconds_evaluate) = (0.0, 0.0, 0.0);
        report
    };
    let (mut with, without) = (report(true), report(false));
    assert!(with.dual.is_some() && with.relative_gap.is_some() && without.dual.is_none());
    (with.dual, with.relative_gap) = (None, None);
    assert_eq!(with, without, "scores and sums have the same bits on both ways through the rows");
    let l1_max = lazyglm::objective::l1_max(task.examples(), &*task.loss, Bias::Best);
    assert_eq!(l1_max, without.l1_max);
}

/// Counts of words: some in almost all rows, which depend on each other, and many in few.
fn counts(random: &mut Random, rows: usize, columns: u32) -> (Rows, Vec<f64>) {
    let (mut made, mut targets) = (Rows::new(), Vec::new());
    for _ in 0..rows {
        let length = 0.5 + random.uniform();
        let mut row = Vec::new();
        for j in 0..columns {
            let mean = 40.0 * length / f64::from(1 + j);
            let count = (mean * (0.5 + random.uniform()) + random.uniform()).floor();
            if count > 0.0 && random.uniform() < mean {
                row.push((j, count));
            }
        }
        let sum: f64 = row.iter().map(|(j, x)| if j % 3 == 0 { *x } else { -0.5 * x }).sum();
        targets.push(if sum + 8.0 * random.uniform() > 12.0 { 1.0 } else { -1.0 });
        made.push(&row).unwrap();
    }
    (made, targets)
}

#[test]
fn without_l2_the_constraints_of_a_few_columns_prove_a_point_near_the_minimum() {
    let mut random = Random::new(40);
    for name in ["logistic", "squared-hinge", "huber"] {
        let (rows, targets) = counts(&mut random, 1500, 400);
        let examples = Examples::new(rows.borrow(), &targets, None).unwrap();
        let loss = loss::parse(name).unwrap();
        let penalty = ElasticNet { l1: 1e-3, l2: 0.0 };
        let weighted_penalty = WeightedPenalty::of(penalty);
        let problem = newton::Problem { examples, loss: &*loss, weighted_penalty, bias: true };
        let solve = |tolerance: f64| {
            let found =
                newton::solve(&problem, None, &newton::Options { tolerance, steps: 300 }, &mut |_| true);
            (certify(examples, &*loss, penalty, &found.weights, Some(found.bias)), found)
        };
        let (proof, found) = solve(1e-3);
        let (least, _) = solve(1e-9);
        // Shrinking all derivatives to satisfy the worst constraint would cost about this violation.
        assert!(proof.kkt > 0.01 * penalty.l1, "{name}: the point is better than this law means");
        assert!(found.stop == newton::NewtonStop::Gap && found.steps <= 30, "{name}: {:?}", found.stop);
        assert!(proof.relative_gap.unwrap() <= 1e-3, "{name}: {proof:?}");
        for dual in [proof.dual, found.dual] {
            assert!(dual.unwrap() <= least.objective * (1.0 + 1e-9), "{name}: {dual:?} {least:?}");
        }
    }
}
