//! Every second of a run belongs to one stage.

use crate::common::{Folder, classes, text};
use serde_json::Value;
use std::time::Instant;

const STAGES: [&str; 5] = ["read", "search", "train", "evaluate", "write"];

/// What the start and the end of a process may take, which no stage contains.
const PROCESS: f64 = 0.05;

fn seconds(report: &Value) -> [f64; 5] {
    STAGES.map(|stage| report[format!("seconds_{stage}")].as_f64().unwrap())
}

#[test]
fn seconds_by_stage_add_up_to_the_time_that_the_run_took() {
    let folder = Folder::with("a.svm", text(&classes(20_000, 400, 3)));
    let runs = [
        "train --l1 1e-4 -o m",
        "train --solver sgd -o m",
        "train --solver ftrl --epochs 3 --adaptive",
        "train --solver ftrl --runs 3",
        "tune --l1 1e-4..1e-2:4 --folds 2 -o m",
        "tune --solver sgd --l1 1e-4..1e-2:4 --folds 2 --epochs 2 -o m",
        "path --l1 1e-4..1e-2:4 --folds 2 -o m",
        "path --solver sgd --l1 1e-4..1e-2:4 --epochs 2",
    ];
    for run in runs {
        let (verb, flags) = run.split_once(' ').unwrap();
        // The best of a few runs: another process may keep this one from its end.
        let missed = (0..3).map(|_| {
            let started = Instant::now();
            let report = folder.json(&format!("{verb} a.svm {flags} --cache off --json --quiet"));
            let (took, sum) = (started.elapsed().as_secs_f64(), seconds(&report).iter().sum::<f64>());
            assert!(sum <= took && seconds(&report).iter().all(|&stage| stage >= 0.0), "{run}: {report}");
            (took - sum - PROCESS) / took
        });
        let missed = missed.fold(f64::INFINITY, f64::min);
        assert!(missed <= 0.03, "{run}: {missed} of the time belongs to no stage");
    }
}

#[test]
fn timings_are_a_table_on_standard_error() {
    let folder = Folder::with("a.svm", text(&classes(2000, 100, 3)));
    let plain = folder.ok("train a.svm -o m --solver sgd --quiet --json").stdout.lines().count();
    let verbs = [
        ("train a.svm -o m --solver sgd --json", &STAGES[..]),
        ("tune a.svm --l1 1e-3,1e-2 --folds 2 -o m --json", &STAGES[..]),
        ("path a.svm --l1 1e-3,1e-2 --csv", &["read", "train", "write"]),
        ("predict m a.svm", &["read", "evaluate", "write"]),
        ("evaluate m a.svm --json", &["read", "evaluate"]),
    ];
    for (line, stages) in verbs {
        let output = folder.ok(&format!("{line} --timings --quiet"));
        let lines: Vec<Vec<&str>> =
            output.stderr.lines().map(|row| row.split_whitespace().collect()).collect();
        let names: Vec<&str> = lines.iter().map(|row| row[0]).collect();
        assert_eq!(names, [stages, &["total"]].concat(), "{line}: {}", output.stderr);
        let number = |row: &Vec<&str>| row[1].parse::<f64>().unwrap();
        let sum: f64 = lines[..stages.len()].iter().map(number).sum();
        assert!((sum - number(&lines[stages.len()])).abs() < 0.0031, "{line}: {}", output.stderr);
        assert!(!line.starts_with("train") || output.stdout.lines().count() == plain, "{}", output.stdout);
    }
    assert!(folder.ok("train a.svm --solver sgd --quiet").stderr.is_empty());
}

#[test]
fn a_model_file_has_no_times() {
    let folder = Folder::with("a.svm", text(&classes(2000, 100, 3)));
    for run in ["train a.svm", "tune a.svm --l1 1e-3,1e-2 --folds 2", "path a.svm --l1 1e-3,1e-2 --folds 2"] {
        let models = [(); 2].map(|()| {
            folder.ok(&format!("{run} -o m --quiet"));
            folder.read("m")
        });
        assert!(models[0] == models[1], "{run}");
    }
}
