//! Notes and warnings: levels, names, `--quiet` and `--silence`.

use crate::common::{Folder, classes, text};

fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(60, 20, 1)));
    folder.ok("train data.svm -o m --l2 0.1 --quiet --cache off");
    folder.write("other.svm", "1 900:1\n-1 901:1\n");
    folder.write("some.svm", "1 1:1 900:1\n-1 2:1\n");
    folder
}

#[test]
fn quiet_hides_notes_and_keeps_warnings() {
    let folder = folder();
    let loud = folder.ok("train data.svm --l2 0.1 --cache off").stderr;
    assert!(loud.contains("note: "), "{loud}");
    let quiet = folder.ok("train data.svm --l2 0.1 --cache off --quiet").stderr;
    assert_eq!(quiet, "");
    let warned = folder.ok("predict m other.svm --quiet").stderr;
    assert!(warned.starts_with("warning: "), "{warned}");
}

#[test]
fn each_message_is_silenced_by_its_name_alone() {
    let folder = folder();
    let all = folder.ok("train data.svm --l2 0.1 --cache off").stderr;
    assert!(all.contains("note: loss ") && all.contains("note: auto: "), "{all}");
    let some = folder.ok("train data.svm --l2 0.1 --cache off --silence loss").stderr;
    assert!(!some.contains("note: loss ") && some.contains("note: auto: "), "{some}");
    let none = folder.ok("train data.svm --l2 0.1 --cache off --silence loss --silence auto").stderr;
    assert_eq!(none, "");
    assert_eq!(folder.ok("predict m other.svm --silence no-features").stderr, "");
    assert_eq!(folder.ok("predict m other.svm --silence all").stderr, "");
    folder.refuses(
        "predict m other.svm --silence nothing",
        2,
        &["there is no message", "lazyglm list messages"],
    );
}

#[test]
fn every_listed_name_can_be_silenced() {
    let folder = folder();
    let listed = folder.ok("list messages").stdout;
    let names: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 30 && names.contains(&"worse-than-none"), "{listed}");
    let flags: Vec<String> = names.iter().map(|name| format!("--silence {name}")).collect();
    assert_eq!(folder.ok(&format!("train data.svm --cache off {}", flags.join(" "))).stderr, "");
}

#[test]
fn data_without_any_feature_of_the_model_are_warned_of() {
    let folder = folder();
    for verb in ["predict", "evaluate"] {
        let said = folder.ok(&format!("{verb} m other.svm")).stderr;
        assert!(
            said.contains("warning: no feature of these rows occurs in the model (the first is '900')"),
            "{said}"
        );
        let said = folder.ok(&format!("{verb} m some.svm")).stderr;
        assert!(said.contains("note: 1 values belong to features that never occurred in training"), "{said}");
    }
}

#[test]
fn words_for_a_model_of_numbers_are_refused_without_naming_a_flag_that_is_not_there() {
    let folder = Folder::with("numbers.svm", "1 1:1\n2 1:2\n3.5 1:3\n4 1:4\n".repeat(5));
    folder.ok("train numbers.svm -o m --l2 0.1 --quiet");
    folder.write("words.svm", "ham 1:1\nspam 1:2\n");
    let output = folder.run("evaluate m words.svm");
    assert_eq!(output.code, 1);
    assert!(
        output.stderr.contains("the targets are words, and this model predicts numbers"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains("use a loss"), "{}", output.stderr);
}

#[test]
fn names_of_other_tools_get_the_name_here() {
    let folder = folder();
    for (line, parts) in [
        ("train data.svm --lr 0.1", ["there is no argument '--lr'", "help: use --eta0"]),
        ("train data.svm --C 1", ["there is no argument '--C'", "--alpha"]),
        ("train data.svm --n-jobs 2", ["there is no argument '--n-jobs'", "help: use --threads"]),
        ("fit data.svm", ["there is no verb 'fit'", "`lazyglm train`"]),
    ] {
        folder.refuses(line, 2, &parts);
    }
}

#[test]
fn alpha_and_its_ratio_are_l1_and_l2() {
    let folder = folder();
    folder.ok("train data.svm -o a --alpha 0.5 --l1-ratio 0.25 --quiet");
    folder.ok("train data.svm -o b --l1 0.125 --l2 0.375 --quiet");
    assert!(folder.read("a") == folder.read("b"));
    folder.ok("train data.svm -o c --alpha 0.5 --quiet");
    folder.ok("train data.svm -o d --l1 0.25 --l2 0.25 --quiet");
    assert!(folder.read("c") == folder.read("d"));
    for (flags, part) in [
        ("--alpha 1 --l1 1", "--alpha"),
        ("--l1-ratio 0.5", "--alpha is missing"),
        ("--alpha x", "invalid --alpha 'x'"),
        ("--alpha 1 --l1-ratio 2", "--l1-ratio"),
    ] {
        folder.refuses(&format!("train data.svm {flags}"), 2, &[part]);
    }
    let path = folder.json("path data.svm --alpha 0.01,0.1 --l1-ratio 0.5 --json --quiet");
    let nets: Vec<_> =
        path["points"].as_array().unwrap().iter().map(|p| (p["l1"].as_f64(), p["l2"].as_f64())).collect();
    assert_eq!(nets, [(Some(0.05), Some(0.05)), (Some(0.005), Some(0.005))]);
    folder.refuses(
        "tune data.svm --alpha 0.1 --solver sgd",
        2,
        &["--alpha is not supported by --solver sgd"],
    );
}

#[test]
fn a_problem_without_a_minimum_is_said_once_and_truly() {
    let row = |k: usize| format!("{} {}:1 4:1\n", ["a", "b", "c"][k % 3], k % 3 + 1);
    let folder = Folder::with("classes.svm", (0..30).map(row).collect::<String>());
    folder
        .write("zeros.svm", (0..50).map(|k| format!("0 1:{} 2:{}\n", k % 3 + 1, k % 5)).collect::<String>());
    for kind in ["softmax", "ovr"] {
        let line = format!("train classes.svm --multiclass {kind} --l1 0 --l2 0 --cache off");
        let said = folder.ok(&format!("{line} --quiet")).stderr;
        assert!(said.contains("warning: there is no minimum: the classes are linearly separable"), "{said}");
        let loud = folder.ok(&line).stderr;
        assert!(!loud.contains("the optimum to a tolerance"), "{loud}");
        assert_eq!(folder.json(&format!("{line} --quiet --silence no-minimum --json"))["stop"], "no-minimum");
    }
    for flags in ["", "--l1 1e-3", "--l1 0 --l2 0", "--solver newton --l2 0.1"] {
        let said = folder.ok(&format!("train zeros.svm --loss poisson {flags} --cache off")).stderr;
        assert!(said.contains("warning: all targets are zero: there is no minimum"), "{flags}: {said}");
        for false_words in ["optimum for any penalty", "worse than", "Give --l1", "l1_max"] {
            assert!(!said.contains(false_words), "{flags}: {said}");
        }
    }
}

#[test]
fn a_model_far_from_the_optimum_that_does_not_aim_at_it_has_no_alarming_figure() {
    let folder = Folder::with("data.svm", text(&classes(60, 20, 1)));
    let far = "train data.svm --solver sgd --epochs 1 --eta0 1e-6 --l1 1e-5 --quiet --cache off";
    let shown = folder.ok(far).stdout;
    assert!(shown.contains("optimum    sgd does not aim at it: --solver newton does"), "{shown}");
    assert!(!shown.contains("certified"), "{shown}");
    assert!(folder.json(&format!("{far} --json"))["relative_gap"].as_f64() > Some(0.1));
    let near = "train data.svm --solver sgd --epochs 300 --eta0 0.1 --l1 1e-2 --l2 1e-2 --quiet --cache off";
    assert!(folder.ok(near).stdout.contains("certified  at most "));
}
