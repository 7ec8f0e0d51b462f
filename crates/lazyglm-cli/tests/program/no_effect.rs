//! Flags that change nothing: each is refused, or a warning named `no-effect` says why. The same flags are silent where they work.

use crate::common::{Folder, classes, numbers, text};

fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(60, 20, 1)));
    folder.write("numbers.svm", text(&numbers(60, 20, 1)));
    folder.ok("train data.svm -o m --l2 0.1 --quiet --cache off");
    folder
}

#[test]
fn a_flag_without_effect_is_warned_of_and_the_warning_has_a_name() {
    let folder = folder();
    for (line, flag) in [
        ("tune data.svm --l1 0.01,0.1 --on-divergence retry", "--on-divergence"),
        ("tune data.svm --l1 0.01,0.1 --no-halving", "--no-halving"),
        ("tune data.svm --alpha 0.01,0.1 --no-halving", "--no-halving"),
        ("tune numbers.svm --l1 0.01 --limit-predictions yes", "--limit-predictions yes"),
        ("tune numbers.svm --solver sgd --l1 0.01 --limit-predictions yes", "--limit-predictions yes"),
        ("path data.svm --l1 0.01 --metric auc", "--metric"),
        ("path data.svm --l1 0.01 --choose best", "--choose"),
        ("path data.svm --l1 0.01 --solver sgd --choose one-se", "--choose"),
        ("train data.svm --l1 0.01 --solver newton --on-divergence stop", "--on-divergence"),
        ("train data.svm --l1 0.01 --order sequential --seed 2", "--seed"),
        ("train data.svm --l1 0.01 --solver ftrl --order sequential --seed 2", "--seed"),
        ("path data.svm --l1 0.01 --order sequential --seed 2", "--seed"),
        ("evaluate m data.svm --seed 2", "--seed"),
    ] {
        let told = folder.ok(line).stderr;
        assert!(told.contains(&format!("warning: {flag} has no effect ")), "{line}: {told}");
        let silenced = folder.ok(&format!("{line} --silence no-effect")).stderr;
        assert!(!silenced.contains("has no effect"), "{line}: {silenced}");
    }
}

#[test]
fn the_same_flags_are_silent_where_they_have_an_effect() {
    let folder = folder();
    for line in [
        "tune data.svm --no-halving",
        "tune data.svm --solver sgd --l1 0.01,0.1 --no-halving",
        "tune data.svm --solver sgd --l1 0.01 --on-divergence retry -o o",
        "tune data.svm --l1 0.01 --metric auc --choose one-se",
        "tune data.svm --l1 0.01 --order sequential --seed 2",
        "tune numbers.svm --l1 0.01 --limit-predictions yes -o o",
        "path data.svm --l1 0.01 --metric auc --choose one-se --folds 3",
        "path data.svm --l1 0.01 --metric auc --choose one-se --validation 0.2",
        "train data.svm --l1 0.01 --order sequential",
        "train data.svm --l1 0.01 --order sequential --seed 2 --validation 0.2",
        "train data.svm --l1 0.01 --solver adagrad --order sequential --seed 2 --runs 2",
        "train data.svm --l1 0.01 --solver sgd --on-divergence retry",
        "evaluate m data.svm --seed 2 --bootstrap 10",
    ] {
        let told = folder.ok(line).stderr;
        assert!(!told.contains("has no effect"), "{line}: {told}");
    }
}

#[test]
fn a_search_refuses_limits_where_training_does_and_before_it_searches() {
    let folder = folder();
    for solver in ["newton", "sgd"] {
        for verb in ["tune", "train"] {
            let line = format!("{verb} data.svm --solver {solver} --l1 0.01 --limit-predictions yes -o o");
            folder.refuses(&line, 2, &["--limit-predictions is for targets that are numbers"]);
        }
    }
}

#[test]
fn two_classes_one_against_the_rest_are_said_to_be_two_models() {
    let folder = folder();
    let two = folder.ok("train data.svm --l1 0.01 --multiclass ovr").stderr;
    assert!(two.contains("note: --multiclass ovr trains a model of each of two classes"), "{two}");
    let row = |k: usize| format!("{} {}:1 4:1\n", ["a", "b", "c"][k % 3], k % 3 + 1);
    folder.write("three.svm", (0..30).map(row).collect::<String>());
    let three = folder.ok("train three.svm --l1 0.01 --multiclass ovr").stderr;
    assert!(!three.contains("of two classes"), "{three}");
}

#[test]
fn a_former_name_of_a_solver_is_said_to_be_an_alias() {
    let folder = folder();
    for (former, present) in [("online", "sgd"), ("saga", "svrg")] {
        let line = format!("train data.svm --l1 0.01 --solver {former}");
        let told = folder.ok(&line).stderr;
        let note = format!("note: --solver {former} is an alias of --solver {present}\n");
        assert!(told.contains(&note), "{told}");
        assert!(!folder.ok(&format!("{line} --silence alias")).stderr.contains("alias"));
        let told = folder.ok(&format!("train data.svm --l1 0.01 --solver {present}")).stderr;
        assert!(!told.contains("alias"), "{told}");
    }
}
