//! Wrong calls end with exit 2, a word on what is meant, and nothing done.

use crate::common::{Folder, classes, text};

fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(50, 10, 1)));
    folder.ok("train data.svm -o m");
    folder
}

/// The name without its second letter.
fn typo(name: &str) -> String {
    name.chars().enumerate().filter(|(k, _)| *k != 1).map(|(_, letter)| letter).collect()
}

#[test]
fn a_typo_in_any_loss_or_schedule_gets_the_nearest_name() {
    let folder = folder();
    for entry in lazyglm::loss::TABLE {
        let (typed, meant) = (typo(entry.name), format!("did you mean '{}'?", entry.name));
        folder.refuses(&format!("train data.svm -o m --loss {typed}"), 2, &[&typed, &meant]);
        for key in entry.keys {
            folder.refuses(
                &format!("train data.svm --loss {}:{}=1", entry.name, typo(key.name)),
                2,
                &[key.name],
            );
        }
    }
    for entry in lazyglm::schedule::TABLE {
        let (typed, meant) = (typo(entry.name), format!("did you mean '{}'?", entry.name));
        folder.refuses(&format!("train data.svm -o m --schedule {typed}"), 2, &[&typed, &meant]);
    }
    folder.refuses("train data.svm --loss atuo", 2, &["did you mean 'auto'?"]);
    folder.refuses("train data.svm --loss xyzzy", 2, &["logistic", "poisson", "auto"]);
    for name in ["absolute_error", "mae", "l1"] {
        folder.refuses(&format!("train data.svm --loss {name}"), 2, &["did you mean 'absolute'?"]);
    }
}

#[test]
fn a_typo_in_a_verb_a_flag_or_a_value_gets_the_nearest_name() {
    let folder = folder();
    for (line, meant) in [
        ("trian data.svm", "'train'"),
        ("predct m data.svm", "'predict'"),
        ("evalute m data.svm", "'evaluate'"),
        ("bench papr", "'paper'"),
        ("train data.svm --los hinge", "'--loss'"),
        ("train data.svm --sample-weight w", "'--sample-weights'"),
        ("train data.svm --method fobo", "'fobos'"),
        ("train data.svm --update lasy", "'lazy'"),
        ("train data.svm --update dense-sparse-predct", "'dense-sparse-predict'"),
        ("train data.svm --order shufled", "'shuffled'"),
        ("train data.svm --precision f46", "f64"),
        ("train data.svm --solver newtn", "'newton'"),
        ("predict m data.svm --as scor", "'score'"),
        ("predict m data.svm --strct", "'--strict'"),
        ("evaluate m data.svm --jsn", "'--json'"),
        ("inspect m --tsvv", "'--tsv'"),
    ] {
        folder.refuses(line, 2, &[meant]);
    }
}

#[test]
fn numbers_out_of_range_are_wrong_calls() {
    let folder = folder();
    for flags in [
        "--l1 -1",
        "--l1 nan",
        "--l1 inf",
        "--l1 x",
        "--l2 -1e-9",
        "--l2 nan",
        "--l2 inf",
        "--eta0 0",
        "--eta0 -1",
        "--eta0 nan",
        "--eta0 inf",
        "--eta0 fast",
        "--epochs 0",
        "--epochs -1",
        "--epochs 1.5",
        "--seed -1",
        "--threads 0",
        "--update table --table-budget 0",
        "--index-base 2",
        "--features x",
        "--loss huber:delta=0",
        "--loss huber:delta=nan",
        "--loss huber:delta",
        "--loss huber:delta=1,delta=2",
        "--loss quantile:tau=0",
        "--loss quantile:tau=1",
        "--loss epsilon-insensitive:epsilon=-1",
        "--loss hinge:delta=1",
        "--schedule power:p=-1",
        "--schedule inverse:t0=0",
        "--schedule step:factor=2",
        "--schedule exponential:half=inf",
        "--schedule constant:t0=1",
    ] {
        folder.refuses(&format!("train data.svm -o m {flags}"), 2, &[]);
    }
}

#[test]
fn combinations_that_make_no_sense_are_wrong_calls() {
    let folder = folder();
    folder.refuses("train no-such.svm --schedule bottou --l2 0", 2, &["bottou", "--l2"]);
    folder.refuses("train - --validation -", 2, &["'-'", "standard input"]);
    folder.refuses("train data.svm --class-weight 1=5,1=7", 2, &["twice"]);
    folder.refuses("train data.svm --threads 4294967295", 2, &["--threads"]);
    folder.refuses("train data.svm -o data.svm", 2, &["would replace"]);
    folder.refuses("train data.svm -o ./data.svm", 2, &["would replace"]);
    folder.refuses("train data.svm --schedule bottou --eta0 1", 2, &["--eta0", "bottou"]);
    folder.refuses("train", 2, &["DATA"]);
    folder.refuses("predict m", 2, &["DATA"]);
    folder.refuses("train data.svm more.svm", 2, &["more.svm"]);
}

#[test]
fn flags_that_have_no_meaning_here_are_noted() {
    let folder = folder();
    let dense = folder.ok("train data.svm --update dense --precision f32");
    assert!(dense.stderr.contains("work in f64"), "{}", dense.stderr);
    let lazy = folder.ok("train data.svm --table-budget 10");
    assert!(lazy.stderr.contains("--update table"), "{}", lazy.stderr);
    assert!(!folder.ok("train data.svm --table-budget 10 --quiet").stderr.contains("note"));
}

#[test]
fn sgd_with_a_rate_that_would_throw_weights_across_zero_is_refused() {
    let folder = folder();
    for (eta0, l2) in [("1", "1"), ("0.5", "2"), ("0.5", "2.5"), ("1e3", "1e-3"), ("100", "0.5")] {
        for schedule in ["constant", "cosine", "inverse-sqrt"] {
            for update in ["lazy", "table", "dense"] {
                let flags = format!("--eta0 {eta0} --l2 {l2} --schedule {schedule} --update {update}");
                folder.refuses(
                    &format!("train data.svm -o m --method sgd {flags}"),
                    2,
                    &["l2", "--eta0", "fobos"],
                );
                folder.ok(&format!("train data.svm --method fobos --epochs 1 {flags}"));
            }
        }
    }
    folder.ok("train data.svm --method sgd --eta0 0.5 --l2 1.99");
}

#[test]
fn a_schedule_without_eta0_that_is_too_fast_for_sgd_says_to_raise_its_t0() {
    let folder = folder();
    let sgd = "train data.svm --method sgd --l2 0.1 --schedule";
    folder.refuses(&format!("{sgd} bottou:t0=1"), 2, &["fobos", "t0"]);
    folder.ok(&format!("{sgd} bottou:t0=2"));
}

#[test]
fn a_rate_that_is_found_is_one_that_sgd_can_take() {
    let folder = folder();
    for l2 in ["0.1", "1", "10", "1000", "1e6"] {
        let report = folder.json(&format!("train data.svm --method sgd --l2 {l2} --json"));
        let product = report["eta0"].as_f64().expect("a rate") * l2.parse::<f64>().expect("a number");
        assert!(product < 1.0, "l2 {l2}: {report}");
    }
}

#[test]
fn an_error_is_one_line_and_its_hint_another() {
    let folder = Folder::with("a.svm", "1 1:1\n-1 2:1\n");
    let told = folder.run("train a.svm --solver svrg --loss hinge").stderr;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    let what = "needs a loss without kinks and of bounded curvature, and 'hinge' is not one";
    assert_eq!(lines[0], format!("error: --solver svrg {what}"));
    assert!(lines[1].starts_with("help: use --solver auto or --solver sgd, or "), "{told}");
    let told = folder.run("train a.svm --eta0 x").stderr;
    assert_eq!(told, "error: invalid --eta0 'x': expected a number above 0, or 'auto'\n");
}

#[test]
fn what_the_parser_of_arguments_refuses_is_an_error_and_a_hint() {
    let folder = Folder::new();
    for (line, what, hint) in [
        ("train", "missing argument: <DATA>", "`lazyglm train --help` describes the arguments"),
        ("trian x", "there is no verb 'trian'", "did you mean 'train'?"),
        ("zzz", "there is no verb 'zzz'", "`lazyglm --help` lists the verbs"),
        ("train x --los hinge", "there is no argument '--los'", "did you mean '--loss'?"),
        (
            "train x --folds 3",
            "there is no argument '--folds'",
            "--folds is an argument of `lazyglm tune` and of `lazyglm path`",
        ),
        (
            "train x --budget 3s",
            "there is no argument '--budget'",
            "--budget is an argument of `lazyglm tune`",
        ),
        (
            "evaluate m x --threshold 0.3",
            "there is no argument '--threshold'",
            "--threshold is an argument of `lazyglm predict`",
        ),
        (
            "certify m x --timings",
            "there is no argument '--timings'",
            "--timings is an argument of `lazyglm train`, `lazyglm tune`, `lazyglm path`, `lazyglm predict` and of `lazyglm evaluate`",
        ),
        ("train x y", "unexpected argument 'y'", "`lazyglm train --help` describes the arguments"),
        (
            "train x --seed y",
            "invalid --seed 'y': expected a whole number",
            "`lazyglm train --help` describes the arguments",
        ),
        (
            "train x --threads 0",
            "invalid --threads '0': expected a whole number from 1 to 1024",
            "`lazyglm train --help` describes the arguments",
        ),
        (
            "train x --order shufled",
            "invalid --order 'shufled': expected one of shuffled, sequential",
            "did you mean 'shuffled'?",
        ),
        ("train x --l1", "--l1 needs a value", "`lazyglm train --help` describes the arguments"),
        (
            "train x --multilabel --multiclass ovr",
            "--multilabel cannot be used with --multiclass",
            "leave one of them out",
        ),
        ("train x --quiet --quiet", "--quiet is given twice", "give it once"),
        (
            "train x --memory 3",
            "invalid --memory '3': expected at least 1M, with its unit, as in 2G or 500M",
            "`lazyglm train --help` describes the arguments",
        ),
    ] {
        let output = folder.run(line);
        assert_eq!(output.code, 2, "{line}");
        assert_eq!(output.stderr, format!("error: {what}\nhelp: {hint}\n"), "{line}");
    }
    let solver = folder.run("train x --solver newtn").stderr;
    assert!(
        solver.starts_with("error: there is no solver 'newtn'\nhelp: did you mean 'newton'?"),
        "{solver}"
    );
}
