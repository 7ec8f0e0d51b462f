//! Laws of bounds of weights: every solver keeps them, and those that go to the optimum end at the bounded one.

use lazyglm::search::strongest_l1;
use lazyglm::{
    CacheMode, Dataset, ElasticNet, Features, Kind, Load, SOLVERS, Scale, Settings, Solver, Task,
    WeightBounds, objective, synth, train,
};
use std::sync::Arc;

const COLUMNS: usize = 60;

fn task() -> Task {
    synth::documents(&synth::Shape { rows: 1500, features: COLUMNS, ..Default::default() }).task
}

/// Weights that are free, bounded on one side or on both, and excluded, in turn.
fn bounds() -> Vec<[f64; 2]> {
    let infinity = f64::INFINITY;
    let kinds = [[-infinity, infinity], [-0.1, 0.2], [0.0, infinity], [-0.3, 0.0], [0.0, 0.0]];
    (0..COLUMNS).map(|j| kinds[j % 5]).collect()
}

#[test]
fn every_solver_keeps_bounds_and_factors_and_comes_near_the_bounded_optimum() {
    let task = task();
    let penalty = ElasticNet { l1: 1e-3, l2: 1e-2 };
    let settings = Settings {
        penalty,
        bounds: Some(Arc::new(bounds())),
        factors: Some(Arc::new((0..COLUMNS).map(|j| 0.5 + (j % 3) as f64).collect())),
        epochs: 60,
        tolerance: 1e-6,
        ..Settings::default()
    };
    let run = |solver| train(&task, None, &Settings { solver, ..settings.clone() }, &mut |_| {}).unwrap();
    let least = run(Solver::Newton).report;
    assert!(least.relative_gap.unwrap() < 2e-6, "{least:?}");
    let free = Settings { bounds: None, solver: Solver::Newton, ..settings.clone() };
    let free = train(&task, None, &free, &mut |_| {}).unwrap().report.objective;
    assert!(free < 0.99 * least.objective, "the bounds matter: {free} {}", least.objective);
    for row in SOLVERS {
        let trained = run(row.solver);
        for (j, (w, [low, high])) in trained.weights.iter().zip(bounds()).enumerate() {
            let inside = *w >= low * (1.0 + 1e-6) && *w <= high * (1.0 + 1e-6);
            assert!(inside, "{}: weight {j} is {w}, not in {low} … {high}", row.solver);
        }
        let above = trained.report.objective / least.objective - 1.0;
        let most = if row.tolerance { 1e-5 } else { 0.02 };
        assert!((-1e-6..most).contains(&above), "{}: {above}", row.solver);
        let proof = objective::certify(
            task.examples(),
            &*task.loss,
            settings.weighted_penalty(),
            &trained.weights,
            Some(trained.bias),
        );
        assert!(proof.dual.unwrap() <= least.objective + 1e-12, "{}: {proof:?}", row.solver);
    }
}

#[test]
fn nonnegative_is_a_lower_bound_of_zero() {
    let task = task();
    let base = Settings { penalty: ElasticNet { l1: 1e-3, l2: 1e-3 }, ..Settings::default() };
    for row in SOLVERS {
        let base = Settings { solver: row.solver, eta0: Some(0.1), ..base.clone() };
        let short = Settings { nonnegative: true, ..base.clone() };
        let long = Settings { bounds: Some(Arc::new(vec![[0.0, f64::INFINITY]; COLUMNS])), ..base };
        let [a, b] = [short, long].map(|settings| train(&task, None, &settings, &mut |_| {}).unwrap());
        assert!(a.weights.iter().all(|w| *w >= 0.0) && a.weights.iter().any(|w| *w > 0.0));
        assert_eq!((a.weights, a.bias), (b.weights, b.bias), "{}", row.solver);
    }
}

#[test]
fn a_start_outside_the_bounds_is_moved_inside() {
    let task = task();
    for solver in [Solver::Newton, Solver::Svrg, Solver::Sgd, Solver::Adagrad, Solver::Ftrl] {
        let start = Some(Arc::new(lazyglm::Start::one(vec![5.0; COLUMNS], 0.0)));
        let bounds = Some(Arc::new(vec![[-0.1, 0.1]; COLUMNS]));
        let settings = Settings { solver, start, bounds, eta0: Some(1e-9), epochs: 1, ..Settings::default() };
        let trained = train(&task, None, &settings, &mut |_| {}).unwrap();
        assert!(trained.weights.iter().all(|w| w.abs() <= 0.1 * (1.0 + 1e-6)), "{solver}");
    }
}

#[test]
fn bounds_without_zero_between_them_are_refused() {
    let task = task();
    for (wrong, part) in [
        (vec![[0.1, 1.0]; COLUMNS], "0 must lie between them"),
        (vec![[-1.0, -0.5]; COLUMNS], "0 must lie between them"),
        (vec![[f64::NAN, 1.0]; COLUMNS], "0 must lie between them"),
        (vec![[-1.0, 1.0]; 3], "3 entries"),
    ] {
        let settings = Settings { bounds: Some(Arc::new(wrong)), ..Settings::default() };
        let error = train(&task, None, &settings, &mut |_| {}).unwrap_err();
        assert!(matches!(error.kind(), Kind::Call { .. }) && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn the_strongest_l1_of_a_path_counts_only_directions_that_bounds_allow() {
    let task = task();
    let most = |bounds: [f64; 2]| {
        strongest_l1(
            &task,
            &Settings { bounds: Some(Arc::new(vec![bounds; COLUMNS])), ..Settings::default() },
        )
    };
    let infinity = f64::INFINITY;
    let sides = [most([0.0, infinity]), most([-infinity, 0.0])];
    assert_eq!(most([-1.0, 1.0]), sides[0].max(sides[1]));
    assert!(sides[0] != sides[1] && most([0.0, 0.0]) == 0.0, "{sides:?}");
    let at = |l1: f64| {
        let settings = Settings {
            solver: Solver::Newton,
            penalty: ElasticNet { l1, l2: 0.0 },
            nonnegative: true,
            ..Settings::default()
        };
        train(&task, None, &settings, &mut |_| {}).unwrap().report.nonzeros
    };
    assert!(at(1.0001 * sides[0]) == 0 && at(0.9 * sides[0]) > 0);
}

#[test]
fn bounds_are_read_by_name_in_the_units_of_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let features = Features::columns_from(1, 3);
    let (lower, upper) = (file("lower", "1\t-2\n9\t-1\n"), file("upper", "2\t0\n"));
    let bounds = WeightBounds::parse(Some(&lower), Some(&upper), Some("3")).unwrap().unwrap();
    let infinity = f64::INFINITY;
    let expected = vec![[-2.0, infinity], [-infinity, 0.0], [0.0, 0.0]];
    assert_eq!(bounds.on(&features).unwrap(), (expected, 1), "there is no feature 9");
    let listed = format!("@{}", file("names", "2\n\n7\n"));
    let bounds = WeightBounds::parse(None, Some("1"), Some(&listed)).unwrap().unwrap();
    assert_eq!(bounds.on(&features).unwrap(), (vec![[-infinity, 1.0], [0.0, 0.0], [-infinity, 1.0]], 1));
    assert!(WeightBounds::parse(None, None, None).unwrap().is_none());
    for (lower, upper, exclude, part) in [
        (Some("0.5"), None, None, "invalid lower '0.5': expected a number of at most 0"),
        (None, Some("-1"), None, "invalid upper '-1': expected a number of at least 0"),
        (Some("nan"), None, None, "invalid lower 'nan'"),
        (Some("no/such"), None, None, "invalid lower 'no/such'"),
        (Some(&*file("positive", "1\t0.5\n")), None, None, "positive:1: '1\\t0.5' is no bound of a weight"),
        (None, Some(&*file("twice", "1\t1\n1\t2\n")), None, "twice:2: '1' is given a second time"),
        (None, None, Some(" , "), "invalid exclude"),
        (None, None, Some("@no/such"), "no/such"),
    ] {
        let error = WeightBounds::parse(lower, upper, exclude).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let error = WeightBounds::parse(None, None, Some("1,4")).unwrap().unwrap().on(&features).unwrap_err();
    assert!(error.to_string().contains("the data have no feature '4'"), "{error}");

    let data = file("data.svm", &(0..40).map(|k| format!("{} 1:{} 2:1\n", k % 3, k % 3)).collect::<String>());
    let load = Load { scale: Scale::MaxAbs, cache: CacheMode::Off, ..Load::default() };
    let (data, _) = Dataset::load(std::path::Path::new(&data), &load).unwrap();
    let task = Task::builder(data).loss(lazyglm::loss::parse("squared").unwrap()).build().unwrap();
    let bounds = WeightBounds::parse(None, Some("0.5"), None).unwrap().unwrap();
    let (bounds, _) = bounds.on(&task.data.features).unwrap();
    let settings = Settings { solver: Solver::Newton, bounds: Some(Arc::new(bounds)), ..Settings::default() };
    let trained = train(&task, None, &settings, &mut |_| {}).unwrap();
    let weight = task.data.features.in_data_units(0, trained.weights[0]);
    assert!((weight - 0.5).abs() < 1e-9, "{weight}");
}
