//! `train --solver adagrad|ftrl|svrg`: models, what is said of them, and what is refused.

use crate::common::{Folder, classes, text};

fn folder() -> Folder {
    Folder::with("a.svm", text(&classes(400, 40, 1)))
}

#[test]
fn each_learns_and_says_so() {
    let folder = folder();
    let online = folder.json("train a.svm --l1 1e-3 --l2 1e-3 --epochs 20 --json --quiet");
    for solver in ["adagrad", "ftrl", "svrg"] {
        let epochs = if solver == "svrg" { "" } else { "--epochs 20" };
        let call = format!("train a.svm --solver {solver} --l1 1e-3 --l2 1e-3 {epochs} -o {solver}");
        let report = folder.json(&format!("{call} --json --quiet"));
        assert_eq!(report["solver"].as_str(), Some(solver));
        let (f, of_online) = (report["objective"].as_f64().unwrap(), online["objective"].as_f64().unwrap());
        assert!(f < 1.05 * of_online && f >= online["dual"].as_f64().unwrap(), "{solver}: {f} {of_online}");
        assert!(report["eta0"].as_f64() > Some(0.0));
        let output = folder.ok(&call);
        assert!(output.stdout.contains("epochs in"), "{}", output.stdout);
        assert_eq!(
            output.stderr.contains("the best of a search on a sample of the rows"),
            solver != "svrg",
            "{}",
            output.stderr
        );
        assert!(folder.ok(&format!("inspect {solver}")).stdout.contains(&format!("{solver}, ")));
        folder.ok(&format!("evaluate {solver} a.svm"));
        let again = folder.json(&format!("{call} --json --quiet"));
        assert_eq!((&again["objective"], &again["nonzeros"]), (&report["objective"], &report["nonzeros"]));
    }
}

#[test]
fn a_rate_that_is_given_is_taken_and_a_start_is_used() {
    let folder = folder();
    let minimum = folder.json("train a.svm --solver newton --l1 1e-3 --l2 1e-3 -o m --json --quiet");
    for solver in ["adagrad", "ftrl"] {
        let call = format!(
            "train a.svm --solver {solver} --l1 1e-3 --l2 1e-3 --eta0 1e-6 --epochs 1 --json --quiet"
        );
        let cold = folder.json(&call);
        assert_eq!(cold["eta0"].as_f64(), Some(1e-6));
        let warm = folder.json(&format!("{call} --start m"));
        let (f, least) = (warm["objective"].as_f64().unwrap(), minimum["objective"].as_f64().unwrap());
        assert!(f < 1.01 * least && cold["objective"].as_f64() > Some(1.5 * least), "{solver}: {f} {least}");
    }
    let warm = folder
        .json("train a.svm --solver svrg --l1 1e-3 --l2 1e-3 --tolerance 1e-3 --start m --json --quiet");
    assert_eq!(
        (warm["epochs"].as_u64(), warm["stop"].as_str()),
        (Some(0), Some("gap")),
        "it is there already"
    );
}

#[test]
fn the_minimum_is_reached_at_the_tolerance() {
    let folder = folder();
    let report =
        folder.json("train a.svm --solver svrg --l1 1e-2 --l2 1e-2 --tolerance 1e-5 -o m --json --quiet");
    assert_eq!(report["stop"].as_str(), Some("gap"), "{report}");
    assert!(folder.json("certify m a.svm --json")["relative_gap"].as_f64() < Some(2e-5));
    let words = folder.ok("train a.svm --solver svrg --l1 1e-2 --l2 1e-2").stdout;
    assert!(words.contains("stopped    at the tolerance"), "{words}");
    let short = folder
        .json("train a.svm --solver svrg --l1 1e-2 --l2 1e-2 --tolerance 1e-9 --epochs 1 --json --quiet");
    assert_eq!((short["stop"].as_str(), short["epochs"].as_u64()), (Some("epochs"), Some(1)));
}

#[test]
fn rows_are_held_out_and_windows_are_gone_through() {
    let folder = Folder::with("a.svm", text(&classes(4_000, 60, 1)));
    folder.write("b.svm", text(&classes(400, 60, 2)));
    for solver in ["adagrad", "ftrl", "svrg"] {
        let stop = format!(
            "train a.svm --solver {solver} --validation b.svm --early-stop 2 --epochs 30 --json --quiet"
        );
        let report = folder.json(&stop);
        let validation = &report["validation"];
        assert!(validation["loss"].as_f64() > Some(0.0), "{report}");
        let call = format!("train a.svm --solver {solver} --l1 1e-3 --l2 1e-3 --epochs 5 --json --quiet");
        let (whole, windows) = (folder.json(&call), folder.json(&format!("{call} --memory 40M")));
        let (a, b) = (whole["objective"].as_f64().unwrap(), windows["objective"].as_f64().unwrap());
        assert!((a - b).abs() < 0.05 * a, "{solver}: {a} {b}");
    }
}

#[test]
fn the_mean_of_several_runs_is_asked_for_and_told() {
    let folder = folder();
    for solver in ["adagrad", "ftrl"] {
        let report = folder.json(&format!("train a.svm --solver {solver} --runs 3 -o m --json"));
        assert_eq!(report["runs"], 3);
        assert!(folder.ok("inspect m").stdout.contains("mean of 3 runs"));
        folder.refuses(&format!("train a.svm --solver {solver} --runs 0"), 2, &["--runs"]);
    }
    for solver in ["auto", "sgd", "newton", "svrg"] {
        folder.refuses(
            &format!("train a.svm --solver {solver} --runs 3"),
            2,
            &["--runs", "--solver adagrad or --solver ftrl"],
        );
    }
}

#[test]
fn what_has_no_meaning_is_refused_and_said() {
    let folder = folder();
    for solver in ["adagrad", "ftrl", "svrg"] {
        for flag in ["--schedule inverse", "--method sgd", "--update table", "--average"] {
            let name = flag.split(' ').next().unwrap();
            folder.refuses(&format!("train a.svm --solver {solver} {flag}"), 2, &[name, "--solver sgd"]);
        }
        folder.refuses(
            &format!("train a.svm --solver {solver} --eta0 -1"),
            2,
            &["invalid --eta0 '-1': expected a number above 0"],
        );
    }
    folder.refuses("train a.svm --solver svrg --loss hinge", 2, &["without kinks", "squared-hinge"]);
    let noted = folder.ok("train a.svm --solver adagrad --tolerance 0.1").stderr;
    assert!(noted.contains("warning: --tolerance has no meaning"), "{noted}");
    let default = "note: penalty l1 1e-6 and l2 1e-6, since none was given";
    assert!(noted.contains(default), "{noted}");
    for line in ["train a.svm", "train a.svm --solver sgd --l1 1e-3", "train a.svm --solver sgd --alpha 0.1"]
    {
        assert!(!folder.ok(line).stderr.contains(default), "{line}");
    }
    folder.refuses("tune a.svm --solver adagrad", 2, &["--solver"]);
}

#[test]
fn numbers_of_any_size_are_learnt() {
    let folder = Folder::with("a.svm", "");
    for (name, unit) in [("small", 1e-6), ("large", 1e6)] {
        let row = |i: usize| {
            let (a, b) = ((i % 7) as f64, (i % 5) as f64);
            format!("{} 1:{} 2:{}\n", unit * (5.0 + a - 2.0 * b), 1e4 * (1.0 + a), 1e-4 * (1.0 + b))
        };
        folder.write(name, (0..600).map(row).collect::<String>());
        for solver in ["adagrad", "ftrl", "svrg"] {
            let call = format!(
                "train {name} --format svmlight --loss squared --solver {solver} --l1 0 --l2 0 --epochs 60 --json --quiet"
            );
            let report = folder.json(&call);
            let (f, nothing) = (report["objective"].as_f64().unwrap(), report["baseline"].as_f64().unwrap());
            assert!(f < 0.05 * nothing, "{solver} in units of {unit:e}: {f:e} of {nothing:e}");
        }
    }
}
