//! Held-out rows and early stopping.

use crate::common::{Folder, classes, close, text};
use serde_json::Value;

/// Few noisy training rows with many features, and other rows to validate on: a run that soon learns too much.
fn folder() -> Folder {
    let folder = Folder::with("train.svm", text(&classes(60, 50, 1)));
    let held_out: Vec<_> = classes(300, 50, 2)
        .into_iter()
        .map(|(y, row)| (y, row.into_iter().filter(|pair| pair.0 < 40).collect()))
        .collect();
    folder.write("held.svm", text(&held_out));
    folder
}

const OVERFIT: &str =
    "train train.svm --l1 0 --l2 0 --schedule constant --eta0 2 --precision f64 --quiet --json";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn the_held_out_loss_is_that_of_the_saved_model() {
    let folder = folder();
    for (flags, tolerance) in [
        ("--epochs 5 --precision f64", 1e-14),
        ("--epochs 5 --precision f32", 1e-6),
        ("--update table", 1e-14),
    ] {
        let report = folder.json(&format!("train train.svm --validation held.svm -o m --json {flags}"));
        let loss = number(&folder.json("evaluate m held.svm --json")["loss"]);
        assert!(close(number(&report["validation"]["loss"]), loss, tolerance), "{flags}");
        assert!(report["validation"]["best_epoch"].is_u64());
        assert_eq!((&report["rows"], &report["stop"]), (&Value::from(60), &Value::from("epochs")));
    }
}

#[test]
fn validation_rows_do_not_change_what_is_learnt() {
    let folder = folder();
    folder.ok(&format!("{OVERFIT} -o without"));
    folder.ok(&format!("{OVERFIT} --validation held.svm -o with"));
    assert_eq!(folder.weights("without"), folder.weights("with"));
}

#[test]
fn early_stopping_restores_the_best_epoch() {
    let folder = folder();
    let losses: Vec<f64> = (1..=12)
        .map(|epochs| {
            folder.ok(&format!("{OVERFIT} --epochs {epochs} -o m{epochs}"));
            number(&folder.json(&format!("evaluate m{epochs} held.svm --json"))["loss"])
        })
        .collect();
    for patience in [1, 2, 3] {
        // By the rule: the first epoch after which `patience` epochs bring nothing better.
        let best_until =
            |end: usize| (0..end).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).expect("one") + 1;
        let end = (1..=12).find(|&end| end - best_until(end) >= patience).expect("it overfits");
        let best = best_until(end);
        let report = folder
            .json(&format!("{OVERFIT} --epochs 12 --validation held.svm --early-stop {patience} -o stopped"));
        assert_eq!(report["stop"], "early-stop");
        assert_eq!(report["epochs"], end);
        assert_eq!(report["validation"]["best_epoch"], best);
        assert_eq!(folder.weights("stopped"), folder.weights(&format!("m{best}")), "patience {patience}");
        let loss = number(&report["validation"]["loss"]);
        assert!(close(loss, losses[best - 1], 1e-14));
        assert!(close(loss, number(&folder.json("evaluate stopped held.svm --json")["loss"]), 1e-14));
        assert_eq!(number(&report["objective"]), number(&report["loss"]) + number(&report["penalty"]));
        let trained = number(&folder.json("evaluate stopped train.svm --json")["loss"]);
        assert!(
            close(number(&report["loss"]), trained, 1e-14),
            "the figures are those of the model restored"
        );
    }
}

#[test]
fn a_run_that_is_never_worse_runs_all_epochs_and_the_best_is_kept_at_the_end() {
    let folder = folder();
    let report =
        folder.json(&format!("{OVERFIT} --epochs 12 --validation held.svm --early-stop 100 -o patient"));
    assert_eq!((&report["stop"], &report["epochs"]), (&Value::from("epochs"), &Value::from(12)));
    let best = report["validation"]["best_epoch"].as_u64().expect("an epoch");
    assert!(best < 12, "it overfits");
    folder.ok(&format!("{OVERFIT} --epochs {best} -o best"));
    assert_eq!(folder.weights("patient"), folder.weights("best"));
}

#[test]
fn a_share_of_the_rows_is_held_out_by_the_seed() {
    let folder = Folder::with("data.svm", text(&classes(80, 30, 3)));
    let train = |flags: &str| {
        folder.json(&format!("train data.svm --precision f64 -o m --json --validation 0.25 {flags}"))
    };
    let report = train("--l1 0 --l2 0");
    assert_eq!(report["rows"], 60, "rows that were learnt");
    // Losses of learnt and held-out rows together are the loss of all rows.
    let all = number(&folder.json("evaluate m data.svm --json")["loss"]);
    let parts = (60.0 * number(&report["loss"]) + 20.0 * number(&report["validation"]["loss"])) / 80.0;
    assert!(close(all, parts, 1e-13), "{all} and {parts}");
    assert!(number(&report["loss"]) != number(&report["validation"]["loss"]));

    let first = folder.read("m");
    train("--l1 0 --l2 0");
    assert_eq!(folder.read("m"), first);
    let other = train("--l1 0 --l2 0 --seed 2 --order sequential");
    let same = train("--l1 0 --l2 0 --seed 1 --order sequential");
    assert!(
        number(&other["validation"]["loss"]) != number(&same["validation"]["loss"]),
        "other rows are held out"
    );
}

#[test]
fn a_share_of_the_rows_can_stop_a_run_early() {
    let folder = Folder::with("train.svm", text(&classes(90, 60, 1)));
    let report = folder.json(&format!("{OVERFIT} --epochs 200 --validation 0.3 --early-stop 2 -o m"));
    assert_eq!((&report["rows"], &report["stop"]), (&Value::from(63), &Value::from("early-stop")));
    let (epochs, best) = (&report["epochs"], &report["validation"]["best_epoch"]);
    assert_eq!(epochs.as_u64(), best.as_u64().map(|best| best + 2));
}

#[test]
fn validation_that_makes_no_sense_is_a_wrong_call() {
    let folder = folder();
    for share in ["0", "1", "1.5", "-0.1", "nan", "inf"] {
        folder.refuses(&format!("train train.svm --validation={share}"), 2, &["--validation", "above 0"]);
    }
    folder.refuses("train train.svm --validation 0.001", 2, &["--validation", "60 rows"]);
    folder.refuses("train train.svm --early-stop 2", 2, &["--early-stop", "--validation"]);
    folder.refuses("train train.svm --validation 0.1 --early-stop 0", 2, &["--early-stop"]);
}

#[test]
fn a_bad_validation_file_is_refused_with_its_place() {
    let folder = folder();
    folder.write("m", "an old model");
    let train = "train train.svm -o m --validation";
    folder.refuses(&format!("{train} gone.svm"), 1, &["gone.svm"]);
    for (data, parts) in [
        ("1 1:1\n2 1:1\n", ["bad.svm:2", "'2'"]),
        ("1 1:1\nspam 1:1\n", ["bad.svm:2", "'spam'"]),
        ("1 1:1\n\n-1 1:nan\n", ["bad.svm:3:6", "nan"]),
        ("", ["bad.svm", "no rows"]),
    ] {
        folder.write("bad.svm", data);
        folder.refuses(&format!("{train} bad.svm"), 1, &parts);
    }
}

#[test]
fn a_validation_file_of_one_class_is_good_enough() {
    let folder = folder();
    folder.write("ones.svm", "1 1:1\n1 2:1\n");
    let report = folder.json("train train.svm -o m --precision f64 --validation ones.svm --json");
    let loss = number(&folder.json("evaluate m ones.svm --json")["loss"]);
    assert!(close(number(&report["validation"]["loss"]), loss, 1e-14));
}

#[test]
fn features_of_validation_rows_that_training_lacks_are_noted() {
    let folder = Folder::with("train.svm", "1 1:1 5:1\n-1 2:1 5:1\n".repeat(10));
    folder.write("known.svm", "1 1:1\n");
    folder.write("beyond.svm", "1 1:1 9:2\n");
    folder.write("inside.svm", "1 1:1 3:2\n"); // 3 lies between features that occur
    let told = |held: &str| folder.ok(&format!("train train.svm --validation {held}")).stderr;
    assert!(!told("known.svm").contains("count as zero"));
    assert!(told("beyond.svm").contains("count as zero"), "{}", told("beyond.svm"));
    assert!(told("inside.svm").contains("count as zero"), "{}", told("inside.svm"));
}

#[test]
fn a_share_that_leaves_one_class_to_learn_from_is_refused() {
    let folder = Folder::with("two.svm", "1 1:1\n-1 2:1\n");
    folder.refuses("train two.svm --validation 0.5 -o m", 1, &["two.svm", "one class only"]);
}

#[test]
fn held_out_rows_count_alike_whether_from_a_file_or_a_share() {
    let folder = folder();
    let report = folder
        .json("train train.svm --class-weight balanced --validation held.svm -o m --json --precision f64");
    let loss = number(&folder.json("evaluate m held.svm --json")["loss"]);
    assert!(close(number(&report["validation"]["loss"]), loss, 1e-14), "class weights are for learning");
}
