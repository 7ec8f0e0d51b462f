//! What is done where nothing is said of how: a chosen penalty does not see units, and regression does not see where
//! targets lie.

use lazyglm::{
    Dataset, ElasticNet, Features, HeadKind, Kind, Labels, Precision, Rows, Settings, Solver, Stop, Targets,
    Task, Trained, loss, objective, synth, train,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Numbers to predict: the scores of a drawn model, and some noise.
fn numbers(rows: usize) -> Task {
    let mut task = synth::documents(&synth::Shape { rows, features: 120, ..Default::default() }).task;
    let mut random = lazyglm::util::random::Random::new(5);
    let truth: Vec<f64> = (0..120).map(|j| if j % 4 == 0 { random.uniform() - 0.5 } else { 0.0 }).collect();
    let noise: Vec<f64> = (0..rows).map(|_| random.uniform() - 0.5).collect();
    let target = |i: usize| task.data.rows.borrow().dot(i, &truth) + noise[i];
    task.targets = Targets::Real((0..rows).map(target).collect());
    task.loss = loss::parse("squared").unwrap();
    task
}

fn moved(task: &Task, times: f64, plus: f64) -> Task {
    let targets = Targets::Real(task.numbers().iter().map(|y| times * y + plus).collect());
    Task { targets, ..task.clone() }
}

fn auto() -> Settings {
    Settings { solver: Solver::Auto, choose_penalty: true, tolerance: 1e-9, ..Settings::default() }
}

fn run(task: &Task, settings: &Settings) -> Trained {
    train(task, None, settings, &mut |_| {}).unwrap()
}

fn largest(weights: &[f64]) -> f64 {
    weights.iter().fold(0.0, |most: f64, w| most.max(w.abs()))
}

#[test]
fn other_units_of_targets_are_other_units_of_weights() {
    let task = numbers(900);
    let (one, other) = (run(&task, &auto()), run(&moved(&task, 1000.0, 5e6), &auto()));
    assert!(one.report.nonzeros > 5 && one.report.objective < 0.8 * one.report.baseline, "{:?}", one.report);
    for (one, other) in one.report.tried.iter().zip(&other.report.tried).take(5) {
        assert!(one.se > 0.0 && one.se < one.loss && one.seconds > 0.0, "{one:?}");
        assert!((other.se / one.se / 1e6 - 1.0).abs() < 0.01, "{one:?} {other:?}");
    }
    assert!(
        (other.report.l1 / one.report.l1 / 1000.0 - 1.0).abs() < 0.01,
        "to the three digits it is kept to"
    );
    assert!(
        (other.report.l2 / one.report.l2.max(1e-300) - 1.0).abs() < 0.01 || other.report.l2 == one.report.l2
    );
    let most = largest(&one.weights);
    for (a, b) in one.weights.iter().zip(&other.weights) {
        assert!((1000.0 * a - b).abs() < 20.0 * most, "{a} {b}");
    }
    // With the penalty given in the user's units, to the last digits.
    let given = |l1| Settings { penalty: ElasticNet { l1, l2: 1e-3 }, choose_penalty: false, ..auto() };
    let (one, other) = (run(&task, &given(1e-3)), run(&moved(&task, 1024.0, -512.0), &given(1.024)));
    for (a, b) in one.weights.iter().zip(&other.weights) {
        assert!((1024.0 * a - b).abs() < 1e-4 * 1024.0 * most && (*a == 0.0) == (*b == 0.0), "{a} {b}");
    }
    assert!((1024.0 * one.bias - 512.0 - other.bias).abs() < 1e-3 * 1024.0);
}

#[test]
fn steps_for_a_loss_with_kinks_begin_at_the_middle_so_where_targets_lie_does_not_matter() {
    let task = Task { loss: loss::parse("quantile").unwrap(), ..numbers(600) };
    let penalty = ElasticNet { l1: 0.0, l2: 0.0 };
    let settings =
        Settings { choose_penalty: false, penalty, precision: Precision::F64, eta0: Some(0.02), ..auto() };
    let (one, other) = (run(&task, &settings), run(&moved(&task, 1.0, 4096.0), &settings));
    assert_eq!((one.report.solver, one.report.eta0), (Solver::Sgd, 0.02));
    for (a, b) in one.weights.iter().zip(&other.weights) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    assert!((one.bias + 4096.0 - other.bias).abs() < 1e-9);
}

#[test]
fn with_a_penalty_a_loss_with_kinks_goes_to_its_optimum_wherever_targets_lie() {
    for name in ["quantile:tau=0.3", "epsilon-insensitive"] {
        let task = Task { loss: loss::parse(name).unwrap(), ..numbers(600) };
        for (l1, l2) in [(1e-3, 0.0), (1e-3, 1e-3), (0.0, 1e-3)] {
            let penalty = ElasticNet { l1, l2 };
            let settings = Settings { choose_penalty: false, penalty, tolerance: 1e-6, ..auto() };
            let [one, other] = [0.0, 4096.0].map(|plus| run(&moved(&task, 1.0, plus), &settings).report);
            assert_eq!((one.solver, one.stop), (Solver::Newton, Stop::Gap), "{name} {penalty:?}: {one:?}");
            assert!(one.relative_gap.unwrap() <= 1e-6 && other.relative_gap.unwrap() <= 1e-6, "{other:?}");
            assert!((one.objective - other.objective).abs() <= 2e-6 * one.objective, "{name} {penalty:?}");
        }
    }
    let task = Task { loss: loss::parse("quantile").unwrap(), ..numbers(300) };
    let report = run(&task, &Settings { tolerance: 1e-3, ..auto() }).report;
    assert!(report.solver == Solver::Newton && report.tried.len() > 10, "the chosen penalty: {report:?}");
}

#[test]
fn the_best_penalty_tried_is_the_one_that_is_kept() {
    let task = synth::documents(&synth::Shape { rows: 1500, features: 400, ..Default::default() }).task;
    let report = run(&task, &auto()).report;
    let chosen: Vec<_> = report.tried.iter().filter(|point| point.chosen).collect();
    let lowest = report.tried.iter().map(|point| point.loss).fold(f64::INFINITY, f64::min);
    assert!(chosen.len() == 1 && chosen[0].loss <= 1.006 * lowest, "{:?}", report.tried);
    let best_of = |solver: Solver| {
        let of = report.tried.iter().filter(|point| point.solver == solver).map(|point| point.loss);
        of.fold(f64::INFINITY, f64::min)
    };
    match report.solver {
        Solver::Newton => {
            assert!(
                report.predicted_decrease.unwrap_or(0.0) < 1e-9 || report.relative_gap.unwrap() < 1e-8,
                "{report:?}"
            );
            assert!(report.l2 == 0.0 || report.relative_gap.unwrap() < 1e-6, "the proof is of that penalty");
        }
        Solver::Ftrl => {
            let tried = &report.tried;
            assert!(
                best_of(Solver::Ftrl) < 0.996 * best_of(Solver::Newton),
                "only if it is clearly better: {tried:?}"
            );
            assert!(report.runs > 1, "a mean: {report:?}");
        }
        other => panic!("{other}"),
    }
    assert!(best_of(Solver::Ftrl).is_finite() && best_of(Solver::Newton).is_finite(), "both were tried");
    // The program can make the same model of what the report says.
    let same = Settings {
        solver: report.solver,
        choose_penalty: false,
        penalty: ElasticNet { l1: report.l1, l2: report.l2 },
        eta0: Some(report.eta0).filter(|eta0| *eta0 > 0.0),
        epochs: report.epochs.max(1),
        runs: report.runs,
        ..auto()
    };
    let again = run(&task, &same).report;
    assert!((again.objective - report.objective).abs() < 1e-6 * report.objective, "{again:?}");
}

const EVERY_WAY: [(Solver, bool); 7] = [
    (Solver::Auto, true),
    (Solver::Auto, false),
    (Solver::Newton, false),
    (Solver::Sgd, false),
    (Solver::Adagrad, false),
    (Solver::Ftrl, false),
    (Solver::Svrg, false),
];

#[test]
fn a_run_that_is_interrupted_before_it_began_has_no_model() {
    let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    for (solver, choose_penalty) in EVERY_WAY {
        let interrupt = Some(Arc::new(AtomicBool::new(true)));
        let settings = Settings { solver, choose_penalty, interrupt, ..Settings::default() };
        let refusal = train(&task, None, &settings, &mut |_| {}).unwrap_err();
        assert!(matches!(refusal.kind(), Kind::Interrupted), "{solver}: {refusal}");
    }
}

#[test]
fn a_run_that_is_interrupted_has_weights_and_true_figures_of_them() {
    let task = synth::documents(&synth::Shape { rows: 5_000, features: 500, ..Default::default() }).task;
    for (solver, choose_penalty) in EVERY_WAY {
        for looks in [1, 2, 5, 9] {
            let interrupt = Arc::new(AtomicBool::new(false));
            let settings = Settings {
                solver,
                choose_penalty,
                epochs: 50,
                interrupt: Some(interrupt.clone()),
                ..Settings::default()
            };
            let mut left = looks;
            let run = train(&task, None, &settings, &mut |_| {
                left -= 1;
                interrupt.fetch_or(left <= 0, Ordering::Relaxed);
            });
            let trained = match run {
                Ok(trained) => trained,
                Err(refusal) => {
                    assert!(matches!(refusal.kind(), Kind::Interrupted), "{solver}: {refusal}");
                    assert!(looks == 1, "{solver}: something was learnt before look {looks}");
                    continue;
                }
            };
            let report = trained.report;
            if report.stop != Stop::Interrupted {
                continue; // it was done before it was told
            }
            assert!(trained.weights.iter().any(|w| *w != 0.0), "{solver} at {looks}: no weights");
            let penalty = ElasticNet { l1: report.l1, l2: report.l2 };
            let f =
                objective::objective(task.examples(), &*task.loss, penalty, &trained.weights, trained.bias);
            assert!((f.total() - report.objective).abs() < 1e-9 * report.objective, "{solver} at {looks}");
        }
    }
}

#[test]
fn training_from_within_a_pool_of_threads_does_not_wait_for_itself() {
    use rayon::prelude::*;
    let task = synth::documents(&synth::Shape { rows: 3_000, features: 300, ..Default::default() }).task;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let found: Vec<f64> = pool.install(|| {
        (0..8).into_par_iter().map(|_| run(&task, &Settings::default()).report.objective).collect()
    });
    assert!(found.iter().all(|f| *f == found[0]));
}

/// Folds have their share of each class, and none that learns from one class alone is a judge: the loss without weights
/// is that of a rare class, not that of a certain bias that was wrong.
#[test]
fn few_rows_of_a_class_are_in_every_fold_or_the_fold_does_not_count() {
    for positives in [1, 3, 6] {
        let mut task = synth::documents(&synth::Shape { rows: 60, features: 20, ..Default::default() }).task;
        let Targets::Binary { signs, .. } = &mut task.targets else { panic!("two classes") };
        signs.iter_mut().enumerate().for_each(|(i, y)| *y = if i < positives { 1.0 } else { -1.0 });
        let report = run(&task, &auto()).report;
        let lowest = report.tried.iter().map(|point| point.loss).fold(f64::INFINITY, f64::min);
        assert!(!report.tried.is_empty() && lowest < 1.0, "{positives}: {:?}", report.tried);
        let null = report.tried.iter().find(|point| point.chosen && point.nonzeros == 0);
        assert!(null.is_none_or(|null| null.loss < 1.0), "{positives}: {:?}", report.tried);
    }
}

/// The rule that the program prints: the fewest weights of all whose loss is at most 0.1 % above the lowest.
#[test]
fn the_penalty_kept_follows_the_rule_and_every_penalty_is_solved_for() {
    for rows in [400, 1500] {
        let task = synth::documents(&synth::Shape { rows, features: 100, ..Default::default() }).task;
        let report = run(&task, &auto()).report;
        let of_newton = || report.tried.iter().filter(|point| point.solver == Solver::Newton);
        let mut losses: Vec<f64> = of_newton().map(|point| point.loss).collect();
        losses.sort_by(f64::total_cmp);
        let chosen = report.tried.iter().find(|point| point.chosen).unwrap();
        if chosen.solver == Solver::Newton && chosen.nonzeros > 0 {
            let near = of_newton().filter(|point| point.loss <= 1.001 * losses[0]);
            assert_eq!(near.map(|point| point.nonzeros).min(), Some(chosen.nonzeros), "{:?}", report.tried);
            assert!(chosen.loss <= 1.001 * losses[0], "{:?}", report.tried);
        }
        let weak = of_newton().filter(|point| point.nonzeros > 0).count();
        losses.dedup();
        assert!(losses.len() >= weak, "{:?}", report.tried);
    }
}

/// Frequent labels that a column tells, and labels of one row each: a held-out row has labels that no other row has. They cost
/// the same with every penalty, and must not hide what weights gain.
#[test]
fn labels_that_the_training_rows_do_not_have_do_not_count() {
    let (mut rows, mut labels) = (Rows::new(), Labels::default());
    for i in 0..200u32 {
        rows.push(&[(i % 4, 1.0), (4 + i % 7, 0.5)]).unwrap();
        labels.push(format!("f{},r{i},s{i}", i % 4).as_bytes()).unwrap();
    }
    let data = Dataset::made(rows, labels, Features::columns_from(0, 11));
    let task = Task::builder(data).heads(HeadKind::Labels).build().unwrap();
    let trained = run(&task, &auto());
    for (k, head) in trained.heads.iter().enumerate().take(4) {
        assert!(head.columns.contains(&(k as u32)), "the label f{k} has its column");
    }
    let loss = trained.report.tried.iter().map(|tried| tried.loss).fold(f64::INFINITY, f64::min);
    assert!(loss < 4.0, "the labels of one row alone would cost more: {loss}");
}
