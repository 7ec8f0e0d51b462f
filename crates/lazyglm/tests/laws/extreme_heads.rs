//! Laws of values near the largest number of f64: sums over them overflow, and a solver says so instead of proving anything.

use lazyglm::optim::softmax_newton::{NewtonStop, Options, Problem, solve};
use lazyglm::util::random::Random;
use lazyglm::{
    Dataset, ElasticNet, Features, HeadKind, Labels, Rows, Settings, Solver, Task, WeightedPenalty, loss,
    train,
};

const COLUMNS: usize = 7;
const LARGE: f64 = 1e308;

/// Rows whose values are near 1e308, with three classes.
fn large(random: &mut Random, n: usize) -> (Rows, Labels) {
    let (mut rows, mut labels) = (Rows::new(), Labels::default());
    for i in 0..n {
        let sign = if i % 2 == 0 { -1.0 } else { 1.0 };
        let row = [((i % 3) as u32, sign * LARGE), (3 + (i % 4) as u32, random.uniform() * LARGE)];
        rows.push(&row).unwrap();
        labels.push(format!("{}", i % 3).as_bytes()).unwrap();
    }
    (rows, labels)
}

fn penalties() -> [ElasticNet; 4] {
    [(1e-3, 0.0), (0.0, 1e-3), (1e-3, 1e-3), (0.0, 0.0)].map(|(l1, l2)| ElasticNet { l1, l2 })
}

#[test]
fn values_near_the_largest_number_are_a_failure_for_heads_and_no_proof() {
    for (kind, n) in [(HeadKind::Softmax, 60), (HeadKind::Ovr, 60), (HeadKind::Softmax, 6)] {
        for penalty in penalties() {
            let (rows, labels) = large(&mut Random::new(7), n);
            let data = Dataset::made(rows, labels, Features::columns_from(0, COLUMNS));
            let task = Task::builder(data).heads(kind).build().unwrap();
            let settings = Settings { solver: Solver::Newton, penalty, ..Settings::default() };
            match train(&task, None, &settings, &mut |_| {}) {
                Err(error) => {
                    assert!(error.to_string().contains("diverged"), "{kind:?} {penalty:?}: {error}")
                }
                Ok(trained) => {
                    let figures = [trained.report.violation, trained.report.l1_max, trained.report.objective];
                    assert!(figures.iter().all(|f| f.is_finite()), "{kind:?} {penalty:?}: {figures:?}");
                }
            }
        }
    }
}

#[test]
fn softmax_ends_as_diverged_if_its_gradient_is_not_finite() {
    let mut rows = Rows::new();
    (0..60).for_each(|i| rows.push(&[(i % 4, LARGE)]).unwrap());
    let classes: Vec<u32> = (0..60).map(|i| i / 20).collect(); // sums over the rows of one class overflow
    for penalty in penalties() {
        let problem = Problem {
            rows: rows.borrow(),
            classes: &classes,
            count: 3,
            weights: None,
            weighted_penalty: WeightedPenalty::of(penalty),
            bias: true,
        };
        let found = solve(&problem, None, &Options { tolerance: 1e-3, steps: 50 }, &mut |_| true);
        assert_eq!(found.stop, NewtonStop::Diverged, "{penalty:?}");
    }
}

#[test]
fn values_near_the_largest_number_are_a_failure_for_losses_with_kinks() {
    for spec in ["hinge", "quantile"] {
        for penalty in penalties().into_iter().filter(|penalty| !penalty.is_none()) {
            let (rows, _) = large(&mut Random::new(9), 60);
            let mut labels = Labels::default();
            (0..60).for_each(|i| labels.push(if i % 3 == 0 { b"-1" } else { b"1" }).unwrap());
            let data = Dataset::made(rows, labels, Features::columns_from(0, COLUMNS));
            let task = Task::builder(data).loss(loss::parse(spec).unwrap()).build().unwrap();
            let settings = Settings { solver: Solver::Newton, penalty, ..Settings::default() };
            let error = train(&task, None, &settings, &mut |_| {}).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains("diverged"), "{spec} {penalty:?}: {error}");
        }
    }
}
