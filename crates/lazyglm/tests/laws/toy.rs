//! Toy and degenerate data: the default solver ends after little work, and its report is true.

use lazyglm::loss::{self, Admits};
use lazyglm::util::random::Random;
use lazyglm::{
    Dataset, ElasticNet, Features, Labels, Load, Precision, Rows, Settings, Solver, Stop, Task, Trained,
    train,
};
use std::time::{Duration, Instant};

/// A target and a row.
type Example = (f64, Vec<(u32, f64)>);

fn task(rows: &[Example], columns: usize, loss: &str) -> Task {
    let mut all = Rows::new();
    rows.iter().for_each(|(_, row)| all.push(row).unwrap());
    all.declare_columns(columns);
    let targets = rows.iter().map(|row| row.0).collect();
    let data = Dataset::made(all, Labels::Numbers(targets), Features::columns_from(0, columns));
    Task::builder(data).loss(loss::parse(loss).unwrap()).build().unwrap()
}

fn auto() -> Settings {
    Settings { solver: Solver::Auto, choose_penalty: true, precision: Precision::F64, ..Settings::default() }
}

fn run(task: &Task, settings: &Settings) -> Trained {
    train(task, None, settings, &mut |_| {}).unwrap_or_else(|e| panic!("{}: {e}", task.loss.spec()))
}

/// Sets of rows with a name: targets are ±1, so that every loss but Poisson's admits them.
fn toys() -> Vec<(&'static str, Vec<Example>)> {
    let mut random = Random::new(3);
    let same = |ones: usize, others: usize, row: [f64; 3]| -> Vec<_> {
        let row: Vec<(u32, f64)> = (0..).zip(row).collect();
        (0..ones + others).map(|i| (if i < ones { 1.0 } else { -1.0 }, row.clone())).collect()
    };
    let mut noisy = |constant: bool, size: f64| -> Vec<_> {
        let mut one = |_| {
            let x = random.uniform();
            let row =
                vec![(0, if constant { 1.0 } else { x * size }), (1, if constant { 1.0 } else { x }), (2, x)];
            (if x + 0.3 * random.uniform() > 0.65 { 1.0 } else { -1.0 }, row)
        };
        (0..120).map(&mut one).collect()
    };
    vec![
        ("rows that are all alike", same(5, 5, [1.0; 3])),
        ("more of one class", same(30, 20, [1.0; 3])),
        ("values that are no binary fractions", same(7, 6, [0.1, 0.7, 0.3])),
        ("constant columns", noisy(true, 1.0)),
        ("columns that are copies", noisy(false, 1.0)),
        ("a column of large values", noisy(false, 1e9)),
        ("a column of small values", noisy(false, 1e-9)),
        ("empty rows", (0..20).map(|i| (if i % 2 == 0 { 1.0 } else { -1.0 }, vec![])).collect()),
    ]
}

#[test]
fn no_loss_takes_long_on_toy_data_nor_ends_above_the_bias_alone() {
    let started = Instant::now();
    for (name, rows) in toys() {
        for entry in loss::TABLE.iter() {
            let shift = match loss::parse(entry.name).unwrap().admits() {
                Admits::NonNegative => 1.0,
                Admits::Positive => 1.5,
                Admits::Classes | Admits::Reals => 0.0,
            };
            let rows: Vec<_> = rows.iter().map(|(y, row)| (y + shift, row.clone())).collect();
            let report = run(&task(&rows, 3, entry.name), &auto()).report;
            let smooth = loss::parse(entry.name).unwrap().second_derivative(0.0, 1.0).is_some();
            if smooth && report.solver == Solver::Newton {
                let above = report.objective - report.baseline;
                assert!(above <= 1e-9 * report.baseline.abs(), "{name}, {}: {report:?}", entry.name);
            }
            if rows.iter().all(|row| row.1 == rows[0].1) {
                assert_eq!((report.nonzeros, report.l1_max), (0, 0.0), "{name}, {}: {report:?}", entry.name);
            }
        }
    }
    // Once a single one of them took a minute.
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn targets_far_from_zero_do_not_take_long() {
    let (mut random, started) = (Random::new(9), Instant::now());
    let row = |random: &mut Random| (0..20).map(|j| (j, random.uniform())).collect::<Vec<_>>();
    for size in [1e9, 1e15] {
        let rows: Vec<_> = (0..100).map(|_| (size * (3.0 + random.uniform()), row(&mut random))).collect();
        let report = run(&task(&rows, 20, "huber"), &auto()).report;
        assert!(report.objective <= report.baseline, "{report:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn a_constant_target_gives_the_constant() {
    for loss in ["quantile", "quantile:tau=0.9", "epsilon-insensitive", "huber", "squared"] {
        for target in [3.7, 0.0, -1e6] {
            let rows: Vec<_> = (0..50).map(|i| (target, vec![(i % 3, 1.0 + f64::from(i))])).collect();
            for settings in [auto(), Settings { choose_penalty: false, ..auto() }] {
                let trained = run(&task(&rows, 3, loss), &settings);
                assert_eq!(trained.report.nonzeros, 0, "{loss} {target}");
                let off = (trained.bias - target).abs();
                let within = if loss.starts_with("eps") { 0.1 } else { 0.0 }; // its ε
                assert!(off <= within + 1e-9 * target.abs() + 1e-30, "{loss} {target}: {}", trained.bias);
            }
        }
    }
}

#[test]
fn the_minimum_does_not_see_units_of_columns_however_small_or_large() {
    let mut random = Random::new(4);
    let mut one = |_| {
        let (a, b) = (random.uniform(), random.uniform());
        (if a + 2.0 * b + random.uniform() > 2.0 { 1.0 } else { -1.0 }, vec![(0, a), (1, b)])
    };
    let rows: Vec<_> = (0..100).map(&mut one).collect();
    let none = Settings { penalty: ElasticNet { l1: 0.0, l2: 0.0 }, choose_penalty: false, ..auto() };
    let usual = run(&task(&rows, 2, "logistic"), &none).report;
    assert!(usual.objective < 0.8 * usual.baseline && usual.stop == Stop::PredictedDecrease, "{usual:?}");
    for size in [2f64.powi(-990), 2f64.powi(-200), 2f64.powi(900)] {
        let scaled: Vec<_> = rows.iter().map(|(y, row)| (*y, vec![(0, size * row[0].1), row[1]])).collect();
        let trained = run(&task(&scaled, 2, "logistic"), &none);
        let same = (trained.report.objective - usual.objective).abs() < 1e-4 * usual.objective;
        assert!(same, "{size:e}: {:?}", trained.report);
    }
    // Values that even their units cannot make usual: then there is no claim.
    let tiny: Vec<_> =
        rows.iter().map(|(y, row)| (*y, vec![(0, 5e-324 * (1.0 + row[0].1).floor())])).collect();
    let report = run(&task(&tiny, 1, "logistic"), &none).report;
    assert!(report.stop == Stop::Precision || report.l1_max == 0.0, "{report:?}");
}

#[test]
fn a_feature_that_f32_would_lose_is_refused() {
    let file = std::env::temp_dir().join(format!("lazyglm-laws-toy-{}.svm", std::process::id()));
    let load = |text: &str, narrow: bool| {
        std::fs::write(&file, text).unwrap();
        Dataset::load(&file, &Load { as_f32: narrow, ..Load::default() })
    };
    let error = load("1 1:1 2:1e-300\n-1 1:2 2:3e-300\n", true).unwrap_err().to_string();
    assert!(error.contains(":1: every value of feature 2 is too small for f32"), "{error}");
    assert!(load("1 1:1 2:1e-300\n-1 1:2 2:3e-300\n", false).is_ok());
    assert!(load("1 1:1 2:1e-300\n-1 1:2 2:3\n", true).is_ok(), "beside a larger one it does no harm");
    assert!(load("1 1:1 2:0\n-1 1:2 2:0\n", true).is_ok(), "zeros are zeros");
    std::fs::remove_file(&file).unwrap();
}
