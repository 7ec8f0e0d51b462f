//! All four updates give the same weights, and these are the weights of the definition, written out here anew.

use crate::common::{Folder, Row, classes, close, numbers, text};
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

const ROWS: usize = 120;
const EPOCHS: usize = 3;
const UPDATES: [&str; 4] = ["lazy", "table", "dense", "dense-sparse-predict"];

/// What is minimised and how, as the definition has it.
struct Definition<'a> {
    sgd: bool,
    l1: f64,
    l2: f64,
    eta: &'a dyn Fn(f64) -> f64,
    slope: fn(f64, f64) -> f64,
}

fn logistic_slope(s: f64, y: f64) -> f64 {
    -y / (1.0 + (y * s).exp())
}

fn squared_slope(s: f64, y: f64) -> f64 {
    s - y
}

/// Every weight at every step, rows in their order: the bias, and the weights that are not zero.
fn by_definition(rows: &[Row], how: &Definition) -> (f64, BTreeMap<u32, f64>) {
    let features = rows.iter().flat_map(|(_, row)| row).map(|pair| pair.0).max().unwrap_or(0) as usize;
    let mut w = vec![0.0; features + 1];
    let (mut b, mut t) = (0.0, 0.0);
    for (y, row) in (0..EPOCHS).flat_map(|_| rows) {
        let eta = (how.eta)(t);
        let score: f64 = row.iter().map(|&(j, x)| w[j as usize] * x).sum::<f64>() + b;
        let slope = (how.slope)(score, *y);
        for &(j, x) in row {
            w[j as usize] -= eta * slope * x;
        }
        b -= eta * slope;
        for w in &mut w {
            let size = w.abs();
            let shrunk = match how.sgd {
                true => size - eta * how.l2 * size - eta * how.l1,
                false => (size - eta * how.l1) / (1.0 + eta * how.l2),
            };
            *w = w.signum() * shrunk.max(0.0);
        }
        t += 1.0;
    }
    (b, w.into_iter().enumerate().filter(|(_, w)| *w != 0.0).map(|(j, w)| (j as u32, w)).collect())
}

/// What the program makes of the same, in f64.
fn by_program(folder: &Folder, flags: &str) -> (f64, BTreeMap<u32, f64>) {
    folder.ok(&format!("train data.svm -o m --precision f64 --quiet {flags}"));
    let (bias, weights) = folder.weights("m");
    (bias, weights.into_iter().collect())
}

fn assert_same(
    found: &(f64, BTreeMap<u32, f64>),
    expected: &(f64, BTreeMap<u32, f64>),
    tolerance: f64,
    what: &str,
) {
    let keys = |weights: &BTreeMap<u32, f64>| weights.keys().copied().collect::<Vec<_>>();
    assert_eq!(keys(&found.1), keys(&expected.1), "{what}: not the same zeros");
    assert!(close(found.0, expected.0, tolerance), "{what}: bias {} and {}", found.0, expected.0);
    for (j, w) in &expected.1 {
        assert!(close(found.1[j], *w, tolerance), "{what}: weight {j}: {} and {w}", found.1[j]);
    }
}

#[test]
fn all_updates_give_the_same_weights_and_zeros_for_both_methods_and_all_penalties() {
    let rows = classes(ROWS, 60, 3);
    let occurring: BTreeSet<u32> = rows.iter().flat_map(|(_, row)| row).map(|pair| pair.0).collect();
    let folder = Folder::with("data.svm", text(&rows));
    for method in ["sgd", "fobos"] {
        for penalty in ["--l1 0.01 --l2 0.02", "--l1 0.01 --l2 0", "--l1 0 --l2 0.02", "--l1 0 --l2 0"] {
            for rate in ["", "--eta0 0.3 --schedule constant", "--eta0 0.3 --schedule inverse-sqrt --no-bias"]
            {
                let flags = format!("--method {method} {penalty} {rate}");
                let truth = by_program(&folder, &format!("--update dense {flags}"));
                assert!(!truth.1.is_empty(), "{flags}");
                assert_eq!(
                    penalty.contains("--l1 0 "),
                    truth.1.len() == occurring.len(),
                    "{flags}: zeros come from l1 alone"
                );
                for update in UPDATES {
                    let found = by_program(&folder, &format!("--update {update} {flags}"));
                    assert_same(&found, &truth, 1e-12, &format!("{update} {flags}"));
                }
            }
        }
    }
}

#[test]
fn the_budget_of_the_table_does_not_matter() {
    let folder = Folder::with("data.svm", text(&classes(ROWS, 60, 4)));
    for method in ["sgd", "fobos"] {
        for schedule in ["cosine", "constant", "power:p=0.75,t0=10"] {
            let flags = format!("--method {method} --l1 0.01 --l2 0.05 --eta0 0.4 --schedule {schedule}");
            let truth = by_program(&folder, &format!("--update dense {flags}"));
            for budget in [1, 2, 7, 1000] {
                let found = by_program(&folder, &format!("--update table --table-budget {budget} {flags}"));
                assert_same(&found, &truth, 1e-12, &format!("budget {budget} {flags}"));
            }
        }
    }
}

#[test]
fn the_weights_are_those_of_the_definition_for_every_schedule_and_both_methods() {
    let rows = classes(ROWS, 60, 5);
    let folder = Folder::with("data.svm", text(&rows));
    let n = ROWS as f64;
    let steps = n * EPOCHS as f64;
    let (eta0, l1, l2) = (0.5, 0.004, 0.02);
    let schedules: [(&str, &dyn Fn(f64) -> f64); 12] = [
        ("constant", &|_| eta0),
        ("inverse", &|t| eta0 / (1.0 + t / n)),
        ("inverse:t0=7", &|t| eta0 / (1.0 + t / 7.0)),
        ("inverse-sqrt", &|t| eta0 / (1.0 + t / n).sqrt()),
        ("power:p=0.75,t0=1000", &|t| eta0 / (1.0 + t / 1000.0).powf(0.75)),
        ("exponential", &|t| eta0 * (-t / n).exp2()),
        ("exponential:half=50", &|t| eta0 * (-t / 50.0).exp2()),
        ("cosine", &|t| 0.5 * eta0 * (1.0 + (PI * t / steps).cos())),
        ("cosine:steps=100", &|t| 0.5 * eta0 * (1.0 + (PI * t / 100.0).cos())),
        ("step:factor=0.3,every=25", &|t| eta0 * 0.3f64.powf((t / 25.0).floor())),
        ("bottou", &|t| 1.0 / (l2 * (t + n))),
        ("bottou:t0=300", &|t| 1.0 / (l2 * (t + 300.0))),
    ];
    for (name, eta) in schedules {
        for sgd in [true, false] {
            let truth = by_definition(&rows, &Definition { sgd, l1, l2, eta, slope: logistic_slope });
            assert!(!truth.1.is_empty() && truth.1.len() < 60, "{name}: some weights are zero, some are not");
            let rate = if name.starts_with("bottou") { String::new() } else { format!("--eta0 {eta0}") };
            let method = if sgd { "sgd" } else { "fobos" };
            let flags = format!(
                "--loss logistic --method {method} --schedule {name} {rate} --l1 {l1} --l2 {l2} --epochs {EPOCHS} --order sequential"
            );
            for update in UPDATES {
                let found = by_program(&folder, &format!("{flags} --update {update}"));
                assert_same(&found, &truth, 1e-9, &format!("{update} {flags}"));
            }
        }
    }
}

#[test]
fn the_weights_are_those_of_the_definition_for_regression_too() {
    let rows = numbers(ROWS, 60, 6);
    let folder = Folder::with("data.svm", text(&rows));
    for sgd in [true, false] {
        let how =
            Definition { sgd, l1: 0.02, l2: 0.1, eta: &|t| 0.2 / (1.0 + t / 40.0), slope: squared_slope };
        let truth = by_definition(&rows, &how);
        let method = if sgd { "sgd" } else { "fobos" };
        for update in UPDATES {
            let flags = format!(
                "--loss squared --method {method} --schedule inverse:t0=40 --eta0 0.2 --l1 0.02 --l2 0.1 --epochs {EPOCHS} \
                 --order sequential --update {update}"
            );
            assert_same(&by_program(&folder, &flags), &truth, 1e-9, &flags);
        }
    }
}

#[test]
fn single_precision_is_close_to_double() {
    let folder = Folder::with("data.svm", text(&classes(2000, 60, 7)));
    for flags in ["", "--l1 0.001 --l2 0.01", "--l1 0.001 --l2 0 --schedule constant --method sgd"] {
        let common = format!("train data.svm --eta0 0.2 --epochs 4 --quiet {flags}");
        folder.ok(&format!("{common} --precision f32 -o single"));
        folder.ok(&format!("{common} --precision f64 -o double"));
        let (single, double) = (folder.weights("single"), folder.weights("double"));
        let largest = double.1.iter().map(|(_, w)| w.abs()).fold(0.0, f64::max);
        let found: BTreeMap<u32, f64> = single.1.into_iter().collect();
        assert_ne!(folder.read("single"), folder.read("double"), "{flags}");
        assert!((single.0 - double.0).abs() < 1e-5 * largest, "{flags}");
        for (j, w) in double.1 {
            let other = found.get(&j).copied().unwrap_or(0.0);
            assert!((other - w).abs() <= 1e-5 * largest, "{flags}: weight {j}: {other} and {w}");
        }
    }
}

#[test]
fn the_bias_is_never_penalised() {
    let rows = classes(400, 20, 8);
    let folder = Folder::with("data.svm", text(&rows));
    folder.ok("train data.svm -o m --l1 1000 --l2 1000 --eta0 0.5 --schedule inverse --epochs 60");
    let (bias, weights) = folder.weights("m");
    let positive = rows.iter().filter(|(y, _)| *y > 0.0).count() as f64 / 400.0;
    assert_eq!(weights, []);
    assert!((bias - (positive / (1.0 - positive)).ln()).abs() < 0.05, "bias {bias}, share {positive}");
    let without = folder.json("train data.svm -o m --no-bias --l1 1000 --json");
    assert_eq!(folder.weights("m"), (0.0, vec![]));
    assert!(close(without["loss"].as_f64().expect("a number"), 2f64.ln(), 1e-12));
}

#[test]
fn without_a_bias_there_is_none() {
    let folder = Folder::with("data.svm", text(&classes(200, 20, 9)));
    folder.write("empty.svm", "1\n-1\n");
    for update in UPDATES {
        folder.ok(&format!("train data.svm -o m --no-bias --update {update}"));
        let (bias, weights) = folder.weights("m");
        assert!(bias == 0.0 && !weights.is_empty(), "{update}");
        assert_eq!(folder.ok("predict m empty.svm").stdout, "0.5\n0.5\n", "{update}");
    }
}
