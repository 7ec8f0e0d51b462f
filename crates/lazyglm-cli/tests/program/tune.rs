//! `tune` and `path` with `--solver sgd`: grids as lanes of one pass.

use crate::common::{Folder, classes, close, number, points, text, two_sets as folder};
use serde_json::Value;

#[test]
fn the_contract_of_the_json_and_the_model_that_is_saved() {
    let folder = folder();
    let found =
        folder.json("tune train.svm --solver sgd --l1 1e-4,1e-3 --l2 0,1e-2 --folds 4 -o m --quiet --json");
    assert_eq!(points(&found).len(), 4);
    for point in points(&found) {
        for key in ["l1", "l2", "mean", "se", "nonzeros"] {
            assert!(point[key].is_number(), "{key} of {point}");
        }
    }
    let lowest = points(&found).iter().map(|point| number(&point["mean"])).fold(f64::INFINITY, f64::min);
    assert_eq!(number(&found["best"]["mean"]), lowest);
    assert!(number(&found["one_se"]["mean"]) <= lowest + number(&found["best"]["se"]));
    assert!(number(&found["seconds_search"]) > 0.0);

    let best = &found["best"];
    let flags = format!("--l1 {} --l2 {} --eta0 {}", best["l1"], best["l2"], best["eta0"]);
    folder.ok(&format!("train train.svm {flags} -o alone --quiet"));
    assert_eq!(folder.weights("m"), folder.weights("alone"), "the best, refitted on all rows");
}

#[test]
fn one_se_saves_the_stronger_penalty() {
    let folder = folder();
    let found =
        folder.json("tune train.svm --solver sgd --l1 1e-6..1e-1:8 --choose one-se -o m --quiet --json");
    assert!(number(&found["one_se"]["l1"]) >= number(&found["best"]["l1"]));
    assert_eq!(found["chosen"], found["one_se"]);
    let model = folder.json("inspect m --json");
    assert_eq!(model["training"]["l1"], found["one_se"]["l1"]);
}

#[test]
fn a_penalty_that_is_not_given_is_zero_if_the_other_one_is() {
    let folder = folder();
    for (line, l2) in [
        ("tune train.svm --l1 1e-4,1e-3", 0.0),
        ("path train.svm --l1 1e-4,1e-3", 0.0),
        ("path train.svm --l2 1e-2", 1e-2),
        ("path train.svm", 1e-6),
    ] {
        let found = folder.json(&format!("{line} --solver sgd --quiet --json"));
        assert!(points(&found).iter().all(|point| number(&point["l2"]) == l2), "{line}: {found}");
    }
}

#[test]
fn a_validation_file_gives_the_loss_of_the_model_trained_alone() {
    let folder = folder();
    let flags = "--l1 1e-3 --l2 1e-4 --eta0 0.1 --precision f64 --quiet --json";
    let found = folder.json(&format!("tune train.svm --solver sgd --validation held.svm {flags}"));
    let report = folder.json(&format!("train train.svm --validation held.svm {flags}"));
    let (mean, loss) = (number(&found["best"]["mean"]), number(&report["validation"]["loss"]));
    assert!(close(mean, loss, 1e-13), "{mean} and {loss}");
    assert_eq!(found["best"]["nonzeros"].as_f64(), report["nonzeros"].as_f64());
}

#[test]
fn the_grid_starts_where_all_weights_are_zero_unless_one_is_given() {
    let folder = folder();
    let found = folder.json("tune train.svm --solver sgd --quiet --json");
    let report = folder.json("train train.svm --quiet --json");
    assert_eq!(points(&found).len(), 16);
    assert!(close(number(&points(&found)[0]["l1"]), number(&report["l1_max"]), 1e-12));
}

#[test]
fn a_tuned_search_is_the_same_for_any_number_of_threads() {
    let folder = folder();
    let run = |threads: u32| {
        let line =
            format!("tune train.svm --solver sgd --l1 1e-5..1e-2:20 --threads {threads} --quiet --json");
        points(&folder.json(&line)).clone()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn many_models_go_in_groups_and_say_what_they_need_first() {
    let folder = Folder::with("train.svm", text(&classes(400, 50, 1)) + "1 400000:1\n"); // 25 MB a block of lanes
    let run = folder.ok("tune train.svm --solver sgd --l1 1e-5..1e-2:20 --no-halving --memory 64M --json");
    assert!(run.stderr.contains("they go in groups"), "{}", run.stderr);
    let groups: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert!(groups["groups"].as_u64() > Some(1));
    let whole = folder.json("tune train.svm --solver sgd --l1 1e-5..1e-2:20 --no-halving --json --quiet");
    let means = |found: &Value| points(found).iter().map(|p| number(&p["mean"])).collect::<Vec<_>>();
    for (a, b) in means(&whole).iter().zip(means(&groups)) {
        assert!((a - b).abs() < 1e-5, "{a} and {b}"); // f32: a rebase may come earlier in other company
    }
}

#[test]
fn a_budget_ends_in_time_with_the_best_so_far() {
    let folder = Folder::with("train.svm", text(&classes(20_000, 200, 1)));
    let run = folder
        .ok("tune train.svm --solver sgd --epochs 100000 --budget 1s --l1 1e-5,1e-4 --eta0 0.1 -o m --json");
    let found: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(found["stopped"], true);
    assert!(
        run.stderr.contains("--budget was up") && run.stderr.contains("epochs on all rows"),
        "{}",
        run.stderr
    );
    assert!(found["refit"]["epochs"].as_u64() < Some(100_000));
    folder.ok("predict m train.svm");
}

#[test]
fn wrong_grids_and_folds_are_refused_with_a_next_step() {
    let folder = folder();
    for (flags, words) in [
        ("--l1 1e-4,nan", "NaN is not a finite number"),
        ("--l1 -1e-4", "invalid --l1 '-1e-4'"),
        ("--l1 1e-4,x", "'x' is not a number"),
        ("--l2 1e-4..1e-2", "invalid --l2 '1e-4..1e-2': expected"),
        ("--l1 0..1:5", "0 < LOW < HIGH"),
        ("--eta0 0", "invalid --eta0 '0': expected numbers above 0"),
        ("--folds 500", "invalid --folds '500': expected at most 400"),
        ("--folds 1", "expected a whole number from 2 to 65535"),
        ("--folds 3 --validation held.svm", "cannot be used with"),
        ("--update dense", "--update has no meaning here"),
        ("--early-stop 2 --validation held.svm", "--early-stop has no meaning here"),
        ("--average", "--average has no meaning here"),
        ("--runs 2", "--runs has no meaning here"),
        ("--nonnegative", "--nonnegative has no meaning here"),
        ("--upper 1", "--upper has no meaning here"),
        ("--exclude 1", "--exclude has no meaning here"),
        ("--budget 0s", "a time above 0"),
    ] {
        let run = folder.run(&format!("tune train.svm --solver sgd {flags}"));
        assert_eq!(run.code, 2, "{flags}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{flags}: {}", run.stderr);
    }
    folder.write("lonely.svm", "1 1:1\n".to_string() + &"-1 2:1\n".repeat(20));
    let run = folder.run("tune lonely.svm --solver sgd");
    assert!(run.code == 1 && run.stderr.contains("class '1' has one row"), "{}", run.stderr);
    let run = folder.run("train train.svm --l1 1e-4,1e-3");
    assert!(
        run.code == 2 && run.stderr.contains("invalid --l1 '1e-4,1e-3': expected one number"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("`lazyglm tune` takes several"), "{}", run.stderr);
}

#[test]
fn a_diverging_lane_is_named_and_the_others_go_on() {
    let folder = Folder::with("train.svm", "1.5 1:1 2:3\n-2 1:2\n0.5 2:1\n".repeat(50));
    let run = folder.ok("tune train.svm --solver sgd --loss squared --l1 1e-4 --eta0 1e-3,1e9 --json");
    assert!(
        run.stderr.contains("warning: l1 0.0001, l2 0.0, eta0 1000000000.0 diverged")
            && run.stderr.contains("train.svm:"),
        "{}",
        run.stderr
    );
    let found: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((points(&found)[1]["mean"].is_null(), number(&found["best"]["eta0"])), (true, 1e-3));
}

#[test]
fn a_path_has_more_weights_as_l1_falls_and_writes_them() {
    let folder = folder();
    let path = folder
        .json("path train.svm --solver sgd --l1 1e-4..1e-1:5 --l2 1e-3 --validation held.svm --quiet --json");
    let nonzeros: Vec<u64> = points(&path).iter().filter_map(|point| point["nonzeros"].as_u64()).collect();
    assert!(nonzeros.len() == 5 && nonzeros[0] < nonzeros[4]);
    for point in points(&path) {
        assert_eq!(point["weights"].as_array().map(Vec::len), point["nonzeros"].as_u64().map(|n| n as usize));
        assert!(
            number(&point["objective"]) >= number(&point["loss"]) && point["validation_loss"].is_number()
        );
    }
    let flags = "--l1 1e-4..1e-1:5 --l2 1e-3 --quiet";
    let csv = folder.ok(&format!("path train.svm --solver sgd {flags} --csv --coefficients w.csv")).stdout;
    assert!(csv.starts_with("l1,l2,nonzeros,loss,objective,validation_loss\n") && csv.lines().count() == 6);
    let weights = String::from_utf8(folder.read("w.csv")).expect("text");
    let total: u64 = csv.lines().skip(1).filter_map(|l| l.split(',').nth(2)?.parse::<u64>().ok()).sum();
    assert_eq!(weights.lines().count() as u64, 1 + 5 + total, "a header, a bias each, and the weights");
    let run = folder.run("path train.svm --solver sgd -o m");
    assert!(run.code == 2 && run.stderr.contains("a path is many models"));
}

#[test]
fn averaging_keeps_the_mean_and_says_what_it_cannot_do() {
    let folder = folder();
    let flags = "--schedule constant --eta0 1 --l1 1e-4 --quiet --json";
    let mean = folder.json(&format!("train train.svm {flags} --average -o mean"));
    let last = folder.json(&format!("train train.svm {flags}"));
    assert_ne!(mean["objective"], last["objective"]);
    let later = folder.json(&format!("train train.svm {flags} --average=1000"));
    assert_ne!(later["objective"], mean["objective"]);
    assert_eq!(folder.json("inspect mean --json")["training"]["average"], 0);
    for (flags, words) in [("--update dense", "--update lazy"), ("--precision f32", "works in f64")] {
        let run = folder.run(&format!("train train.svm --average {flags}"));
        assert!(run.code == 2 && run.stderr.contains(words), "{}", run.stderr);
    }
}
