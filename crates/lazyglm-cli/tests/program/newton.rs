//! `train --solver newton`: the minimum, and what is said of it.

use crate::common::{Folder, classes, text};

fn folder() -> Folder {
    Folder::with("a.svm", text(&classes(300, 40, 1)))
}

#[test]
fn it_stops_at_the_tolerance_and_says_what_proved_it() {
    let folder = folder();
    let report =
        folder.json("train a.svm --solver newton --l1 1e-3 --l2 1e-3 --tolerance 1e-7 -o m --json --quiet");
    assert_eq!((report["solver"].as_str(), report["stop"].as_str()), (Some("newton"), Some("gap")));
    assert!(
        report["relative_gap"].as_f64() <= Some(2e-7) && report["epochs"].as_u64() >= Some(1),
        "{report}"
    );
    let proved = folder.json("certify m a.svm --json");
    assert!(proved["relative_gap"].as_f64() <= Some(2e-7), "{proved}");

    let online = folder.json("train a.svm --l1 1e-3 --l2 1e-3 --epochs 50 --json --quiet");
    assert!(report["objective"].as_f64() <= online["objective"].as_f64());
    assert!(report["objective"].as_f64() >= online["dual"].as_f64(), "{online}");

    let lasso = folder.json("train a.svm --solver newton --l1 1e-3 --l2 0 --json --quiet");
    assert!(["gap", "promise"].contains(&lasso["stop"].as_str().unwrap()), "{lasso}");
    assert!(lasso["promise"].as_f64() <= Some(1e-2));
    let words = folder.ok("train a.svm --solver newton --l1 1e-3 --l2 1e-3").stdout;
    assert!(words.contains("stopped    at the tolerance: proved") && words.contains("steps in"), "{words}");
    assert!(folder.ok("inspect m").stdout.contains("newton, "));
    folder.ok("predict m a.svm");
}

#[test]
fn what_it_cannot_do_is_refused_and_what_has_no_meaning_is_said() {
    let folder = folder();
    folder.refuses(
        "train a.svm --solver newton --loss hinge --l1 0 --l2 0",
        2,
        &["needs a penalty for loss 'hinge'", "set --l1 or --l2 above 0"],
    );
    let hinge = folder.json("train a.svm --solver newton --loss hinge --l1 1e-3 --l2 1e-3 --json --quiet");
    assert_eq!(hinge["stop"].as_str(), Some("gap"), "{hinge}");
    assert!(hinge["relative_gap"].as_f64() <= Some(1e-4), "{hinge}");
    folder.refuses("train a.svm --solver newton --tolerance 0", 2, &["above 0 and below 1"]);
    folder.refuses("train a.svm --solver newtn", 2, &["newton"]);
    folder.refuses(
        "train a.svm --solver newton --early-stop 2 --validation 0.2",
        2,
        &["--early-stop has no meaning"],
    );
    for flags in ["--epochs 9", "--eta0 0.1", "--order sequential"] {
        let said = folder.ok(&format!("train a.svm --solver newton {flags} --quiet")).stderr;
        let flag = flags.split(' ').next().unwrap_or_default();
        assert!(said.contains(&format!("warning: {flag} has no meaning")), "{said}");
        let silent = folder.ok(&format!("train a.svm --solver newton {flags} --quiet --silence no-effect"));
        assert_eq!(silent.stderr, "");
    }
    assert!(
        folder.ok("train a.svm --epochs 5 --tolerance 0.1").stderr.contains("--tolerance has no meaning")
    );
    let zero = folder.ok("train a.svm --solver newton --l1 10");
    assert!(
        zero.stderr.contains("the smallest l1 at which all weights are zero")
            && zero.stdout.contains("non-zeros  0 of")
    );
    let held_out = folder.json("train a.svm --solver newton --validation 0.2 --json --quiet");
    assert!(held_out["validation"]["loss"].as_f64() > Some(0.0));
    let fine = folder.ok("train a.svm --solver newton --l1 1e-3 --tolerance 1e-40");
    assert!(
        fine.stderr.contains("does not decrease further in this precision") || fine.stdout.contains("proved"),
        "{}",
        fine.stderr
    );
}

#[test]
fn classes_that_a_plane_separates_have_no_minimum_without_a_penalty() {
    let folder = Folder::with("a.svm", "1 1:1 3:2\n-1 2:1\n".repeat(20));
    let output = folder.ok("train a.svm --solver newton --l1 0 --l2 0 --json");
    assert!(
        output.stderr.contains("there is no minimum: the classes are linearly separable"),
        "{}",
        output.stderr
    );
    let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((report["stop"].as_str(), report["dual"].is_null()), (Some("no-minimum"), true));
}

#[test]
fn a_start_changes_the_way_and_not_the_end() {
    let folder = folder();
    let net = "--l1 1e-3 --l2 1e-3 --quiet --json";
    let cold = folder.json(&format!("train a.svm --solver newton --tolerance 1e-8 {net} -o m"));
    let warm = folder.json(&format!("train a.svm --solver newton --tolerance 1e-8 --start m {net}"));
    assert_eq!((warm["epochs"].as_u64(), &warm["stop"]), (Some(0), &cold["stop"]), "it is there already");
    let online = folder.json(&format!("train a.svm --start m --epochs 1 --eta0 1e-9 {net}"));
    let (a, b) = (cold["objective"].as_f64().unwrap(), online["objective"].as_f64().unwrap());
    assert!((a - b).abs() < 1e-5 * a, "{a} {b}");
    folder.write("b.svm", "2 1:1\n3 2:1\n");
    folder.refuses("train b.svm --start m", 2, &["other classes"]);
    folder.write("c.svm", "1 1:1\n-1 2:1\n");
    assert!(folder.ok("train c.svm --start m").stderr.contains("features that these data do not have"));
}

#[test]
fn factors_and_bounds_are_part_of_the_problem() {
    let folder = folder();
    let net = "--solver newton --l1 5e-3 --l2 1e-3 --tolerance 1e-7 --quiet";
    folder.ok(&format!("train a.svm {net} -o plain"));
    folder.ok(&format!("train a.svm {net} --nonnegative -o up"));
    let (_, up) = folder.weights("up");
    assert!(!up.is_empty() && up.iter().all(|(_, w)| *w > 0.0));
    assert!(folder.weights("plain").1.iter().any(|(_, w)| *w < 0.0));
    let proved = folder.json("certify up a.svm --nonnegative --json");
    assert!(proved["relative_gap"].as_f64() < Some(1e-6), "{proved}");
    assert!(
        folder.json("certify up a.svm --json")["relative_gap"].as_f64() > Some(1e-4),
        "not the free minimum"
    );

    let (_, plain) = folder.weights("plain");
    let dear = plain[0].0;
    folder.write("factors", format!("{dear}\t1000\n"));
    let report = folder.json(&format!("train a.svm {net} --penalty-factor factors -o priced --json"));
    assert!(folder.weights("priced").1.iter().all(|(j, _)| *j != dear));
    let proved = folder.json("certify priced a.svm --penalty-factor factors --json");
    assert!(proved["relative_gap"].as_f64() < Some(1e-6), "{proved}");
    assert!((proved["objective"].as_f64().unwrap() - report["objective"].as_f64().unwrap()).abs() < 1e-9);
    folder.write("all", (0..=40).map(|j| format!("{j}\t2\n")).collect::<String>());
    let twice = folder.json(&format!("train a.svm {net} --penalty-factor all --json"));
    let doubled =
        folder.json("train a.svm --solver newton --l1 1e-2 --l2 2e-3 --tolerance 1e-7 --quiet --json");
    assert!((twice["objective"].as_f64().unwrap() - doubled["objective"].as_f64().unwrap()).abs() < 1e-7);

    let online = "--epochs 300 --eta0 0.1 --l1 5e-3 --l2 1e-3 --quiet --json";
    let near = folder.json(&format!("train a.svm {online} --nonnegative --penalty-factor factors -o online"));
    let (_, near_weights) = folder.weights("online");
    assert!(near_weights.iter().all(|(j, w)| *j != dear && *w > 0.0), "{near_weights:?}");
    let both = folder.json(&format!("train a.svm {net} --nonnegative --penalty-factor factors --json"));
    let [near, best] = [near, both].map(|report| report["objective"].as_f64().unwrap());
    assert!(near >= best - 1e-9 && near < 1.01 * best, "{near} {best}");
    folder.refuses("train a.svm --nonnegative --update table", 2, &["not for --update table"]);
    folder.write("bad", "1\t-1\n");
    folder.refuses("train a.svm --solver newton --penalty-factor bad", 1, &["bad:1", "no factor"]);
}
