//! Laws of row offsets for rows on disk: they count as they do in memory, for every solver, and certificates hold.

use crate::out_of_core::{made, on_disk};
use lazyglm::objective::{certify, mean_loss, objective};
use lazyglm::util::random::Random;
use lazyglm::{
    ElasticNet, Load, Order, Precision, Settings, Solver, Task, Windows, WindowsOptions, loss, train,
};
use std::path::PathBuf;

/// Rows with offsets as Vowpal Wabbit text, and their file.
fn file(name: &str, random: &mut Random, rows: usize) -> PathBuf {
    let row = |_| {
        let [y, base] = [0.0; 2].map(|_: f64| random.below(200) as f64 / 50.0);
        let feature = |j: u32| (random.below(3) == 0).then(|| format!("f{j}:{}", 1.0 + random.uniform()));
        let features: Vec<String> = (0..20).filter_map(feature).collect();
        format!("{y} 1 {base} | {} \n", features.join(" "))
    };
    let text: String = (0..rows).map(row).collect();
    let path = std::env::temp_dir().join(format!("lazyglm-law-{}-{name}.vw", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn stochastic_steps_on_disk_have_the_bits_of_those_in_memory() {
    let path = file("bits", &mut Random::new(3), 700);
    for name in ["squared", "poisson", "absolute"] {
        for solver in [Solver::Sgd, Solver::Adagrad, Solver::Ftrl] {
            let settings = Settings {
                solver,
                penalty: ElasticNet { l1: 1e-3, l2: 1e-3 },
                precision: Precision::F64,
                eta0: Some(0.01),
                order: Order::Sequential,
                ..Settings::default()
            };
            let loss = loss::parse(name).unwrap();
            let options =
                WindowsOptions { memory: 1 << 26, loss: Some(loss.clone()), ..WindowsOptions::default() };
            let windows = Windows::open(&path, &options, &settings).unwrap();
            let task = Task::builder(windows.load(&Load::default()).unwrap().0).loss(loss).build().unwrap();
            let disk = train(&windows, None, &settings, &mut |_| {}).unwrap();
            let memory = train(&task, None, &settings, &mut |_| {}).unwrap();
            assert_eq!((&disk.weights, disk.bias), (&memory.weights, memory.bias), "{name} {solver}");
            let f =
                objective(task.examples(), &*task.loss, settings.penalty, &disk.weights, disk.bias).total();
            let report = disk.report;
            assert!((report.objective - f).abs() <= 1e-12 * f, "{name} {solver}");
            assert!(
                (report.baseline - memory.report.baseline).abs() <= 1e-12 * report.baseline,
                "{name} {solver}"
            );
            assert!((report.l1_max - memory.report.l1_max).abs() <= 1e-9 * report.l1_max, "{name} {solver}");
            let bare = mean_loss(
                lazyglm::Examples { offsets: None, ..task.examples() },
                &*task.loss,
                &disk.weights,
                disk.bias,
            );
            assert!(bare > report.loss, "{name} {solver}: the offsets are part of the scores");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_optimum_on_disk_is_that_in_memory_and_its_certificate_holds() {
    let mut random = Random::new(8);
    for name in ["squared", "logistic", "poisson"] {
        let plain = made(&mut random, name, false);
        let offsets: Vec<f64> = (0..plain.len()).map(|_| 2.0 * random.uniform() - 0.5).collect();
        let task =
            Task::builder(plain.data.clone()).loss(plain.loss.clone()).offsets(offsets).build().unwrap();
        for (solver, choose_penalty) in [(Solver::Newton, false), (Solver::Auto, true)] {
            let settings = Settings {
                solver,
                choose_penalty,
                penalty: ElasticNet { l1: 2e-3, l2: 1e-4 },
                precision: Precision::F64,
                tolerance: 1e-5,
                ..Settings::default()
            };
            let disk = train(&on_disk(&task, 1 << 24), None, &settings, &mut |_| {}).unwrap();
            let report = &disk.report;
            let penalty = ElasticNet { l1: report.l1, l2: report.l2 };
            let proof = certify(task.examples(), &*task.loss, penalty, &disk.weights, Some(disk.bias));
            assert!(
                (proof.objective - report.objective).abs() <= 1e-9 * proof.objective.abs(),
                "{name} {solver}"
            );
            assert!(proof.relative_gap.is_some_and(|gap| gap <= 1e-4), "{name} {solver}: {proof:?}");
            if choose_penalty {
                assert!(report.objective < report.baseline, "{name}: {report:?}");
                continue;
            }
            let memory = train(&task, None, &settings, &mut |_| {}).unwrap();
            let best = memory.report.objective;
            assert!(
                (report.objective - best).abs() <= 1e-5 * best.abs(),
                "{name}: {} {best}",
                report.objective
            );
            assert!(report.dual.is_some_and(|dual| dual <= best * (1.0 + 1e-12)), "{name}: a lower bound");
            assert!((report.baseline - memory.report.baseline).abs() <= 1e-9 * best.abs(), "{name}");
        }
    }
}
