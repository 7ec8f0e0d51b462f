//! The contract of the program: verbs, flags, keys, exit codes, and what goes where.

use crate::common::{Folder, classes, close, finish, logistic, numbers, text};
use lazyglm::Model;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

const NUMBERS: &[&str] = &[
    "objective",
    "loss",
    "penalty",
    "nonzeros",
    "features",
    "rows",
    "epochs",
    "eta0",
    "seconds_read",
    "seconds_search",
    "seconds_train",
    "seconds_evaluate",
    "seconds_write",
];

pub(crate) fn folder() -> Folder {
    Folder::with("data.svm", text(&classes(200, 40, 1)))
}

#[test]
fn train_prints_one_json_object_with_the_keys_of_the_contract() {
    let folder = folder();
    let output = folder.ok("train data.svm --solver online --json");
    assert_eq!(output.stdout.lines().count(), 1);
    let report: Value = serde_json::from_str(&output.stdout).expect("one object");
    for key in NUMBERS {
        assert!(report[key].is_number(), "{key}: {}", report[key]);
    }
    for key in ["nonzeros", "features", "rows", "epochs"] {
        assert!(report[key].is_u64(), "{key} is a whole number: {}", report[key]);
    }
    assert!(report["dual"].is_number() && report["relative_gap"].as_f64() >= Some(0.0));
    assert_eq!(report["solver"], "sgd");
    assert_eq!(report["stop"], "epochs");
    assert!(report.as_object().expect("an object").contains_key("validation"));
    assert_eq!(report["validation"], Value::Null);
    assert_eq!((report["rows"].as_u64(), report["features"].as_u64()), (Some(200), Some(40)));
    assert_eq!(report["epochs"], 5);
    assert!(report["seconds_read"].as_f64() > Some(0.0) && report["seconds_train"].as_f64() > Some(0.0));
}

#[test]
fn the_objective_is_loss_plus_penalty_of_the_weights_that_are_saved() {
    let folder = folder();
    let report = folder.json("train data.svm -o m --precision f64 --l1 0.02 --l2 0.01 --json");
    let number = |key: &str| report[key].as_f64().expect(key);
    assert_eq!(number("objective"), number("loss") + number("penalty"));

    let (bias, weights) = folder.weights("m");
    let penalty: f64 = weights.iter().map(|(_, w)| 0.02 * w.abs() + 0.5 * 0.01 * w * w).sum();
    assert!(close(number("penalty"), penalty, 1e-13));
    assert!(
        bias != 0.0 && !weights.is_empty() && weights.len() < 40,
        "some weights are zero, the bias is not"
    );
    assert_eq!(report["nonzeros"], weights.len(), "the bias does not count");

    let rows = classes(200, 40, 1);
    let losses = rows.iter().zip(folder.scores("m", "data.svm")).map(|((y, _), s)| logistic(y * s));
    assert!(close(number("loss"), losses.sum::<f64>() / 200.0, 1e-13));
}

#[test]
fn the_defaults_are_those_of_the_contract() {
    let folder = folder();
    folder.ok("train data.svm -o a --solver online");
    folder.ok(
        "train data.svm -o b --loss auto --l1 1e-6 --l2 1e-6 --solver online --method fobos --update lazy --eta0 auto \
         --epochs 5 --order shuffled --seed 1 --precision f32 --threads 2",
    );
    assert_eq!(folder.read("a"), folder.read("b"));
}

#[test]
fn the_same_command_twice_writes_the_same_bytes_and_another_seed_does_not() {
    let folder = folder();
    for line in ["", "--validation 0.2 --early-stop 1", "--update table", "--method sgd --schedule constant"]
    {
        folder.ok(&format!("train data.svm -o a {line}"));
        folder.ok(&format!("train data.svm -o b {line} --threads 1"));
        folder.ok(&format!("train data.svm -o c {line} --seed 2"));
        assert_eq!(folder.read("a"), folder.read("b"), "{line}");
        assert_ne!(folder.read("a"), folder.read("c"), "{line}");
    }
}

#[test]
fn a_starting_rate_that_was_found_is_told_and_one_that_was_given_is_used() {
    let folder = folder();
    let output = folder.ok("train data.svm --epochs 5 --json");
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let eta0 = report["eta0"].as_f64().expect("a number");
    assert!(eta0 > 0.0);
    assert!(output.stderr.contains(&format!("eta0 {eta0:?}")), "{}", output.stderr);
    assert_eq!(folder.json("train data.svm --eta0 0.25 --json")["eta0"], 0.25);
}

#[test]
fn results_go_to_standard_output_and_notes_to_standard_error() {
    let folder = folder();
    let output = folder.ok("train data.svm");
    assert!(output.stdout.contains("objective") && !output.stdout.contains("note:"), "{}", output.stdout);
    assert!(output.stderr.contains("note:") && !output.stderr.contains("error:"), "{}", output.stderr);
    assert!(!output.stderr.contains('\r') && !output.stderr.contains('\x1b'), "no terminal, no bar");
}

#[test]
fn quiet_silences_notes_but_neither_json_nor_errors() {
    let folder = folder();
    folder.write("new.svm", "1 1:1 999:1\n");
    let output = folder.ok("train data.svm -o m --quiet --json");
    assert_eq!(output.stderr, "");
    assert!(serde_json::from_str::<Value>(&output.stdout).is_ok());
    assert!(folder.ok("predict m new.svm").stderr.contains("999"));
    assert_eq!(folder.ok("predict m new.svm --quiet").stderr, "");
    let output = folder.ok("evaluate m new.svm --quiet --json");
    assert_eq!(output.stderr, "");
    assert!(serde_json::from_str::<Value>(&output.stdout).is_ok());
    folder.refuses("train gone.svm --quiet", 1, &["gone.svm"]);
    folder.refuses("predict m gone.svm --quiet", 1, &["gone.svm"]);
    folder.refuses("evaluate m new.svm --strict --quiet", 1, &["new.svm:1", "999"]);
}

#[test]
fn without_an_output_nothing_is_written() {
    let folder = folder();
    folder.ok("train data.svm --validation 0.1");
    assert_eq!(folder.files(), ["data.svm"]);
    folder.ok("train data.svm -o m");
    folder.ok("predict m data.svm");
    folder.ok("evaluate m data.svm");
    folder.ok("inspect m");
    assert_eq!(folder.files(), ["data.svm", "m"]);
}

#[test]
fn help_names_every_flag_of_the_contract() {
    let folder = Folder::new();
    let flags = "--loss --l1 --l2 --solver --method --update --schedule --eta0 --epochs --order --seed --precision --validation \
                 --early-stop --sample-weights --offset --offset-column --class-weight --no-bias --table-budget --features --index-base --threads \
                 --quiet --json -o";
    let words = [
        ("train", flags),
        ("predict", "-o --as probability score target --strict"),
        ("evaluate", "--json --strict"),
        ("inspect", "--top --all --tsv --json"),
        ("bench paper", "--rows --json"),
    ];
    for (verb, words) in words {
        let help = folder.ok(&format!("{verb} --help")).stdout;
        for word in words.split_whitespace() {
            assert!(help.contains(word), "{verb} --help does not tell of {word}");
        }
    }
    for verb in ["train", "tune", "path", "predict", "evaluate", "certify", "inspect", "stats", "convert"] {
        let short = folder.ok(&format!("{verb} -h")).stdout;
        assert!(short.lines().count() <= 50, "one screen:\n{short}");
        assert!(short.matches(&format!("\n  lazyglm {verb} ")).count() >= 2, "two examples:\n{short}");
        let names = short.split(['<', '>']).skip(1).step_by(2);
        assert!(names.clone().all(|name| name.len() > 1 || name == "N"), "values have names:\n{short}");
    }
    for verb in ["train", "tune", "path", "predict", "evaluate", "certify", "inspect", "stats", "convert"] {
        let narrow = finish(folder.command(&format!("{verb} -h")).env("COLUMNS", "80")).stdout;
        let most = if ["tune", "path"].contains(&verb) { 40 } else { 50 };
        assert!(narrow.lines().count() <= most, "{verb}: {} lines\n{narrow}", narrow.lines().count());
        let wide = narrow.lines().filter(|line| line.chars().count() > 80 && !line.contains("words=1-2,"));
        assert_eq!(wide.count(), 0, "{narrow}"); // one default value is a single long word
        assert!(narrow.matches(&format!("\n  lazyglm {verb} ")).count() >= 2, "two examples:\n{narrow}");
        assert!(narrow.matches("      --").count() + narrow.matches("\n  -").count() <= 19, "{narrow}");
        let flags = narrow.find("\nOptions:\n").and_then(|at| narrow[at..].split("\n\n").next()).unwrap();
        assert_eq!(flags.lines().count(), 3, "all flags but -h are in groups:\n{narrow}");
    }
    let short = folder.ok("train -h").stdout;
    assert!(!short.contains("--table-budget") && short.contains("-q, --quiet"), "{short}");
    let train = folder.ok("train --help").stdout;
    let groups = ["Input:", "Model:", "Solver:", "Stopping:", "Performance:", "Output:", "Advanced:"];
    let places: Vec<usize> =
        groups.iter().map(|group| train.find(&format!("\n{group}\n")).unwrap()).collect();
    assert!(places.is_sorted(), "{train}");
    for verb in ["tune", "path"] {
        let help = folder.ok(&format!("{verb} --help")).stdout;
        let places =
            ["Search:", "Input:", "Output:", "Advanced:"].map(|group| help.find(&format!("\n{group}\n")));
        assert!(places.is_sorted() && places[0].is_some(), "its own flags come first:\n{help}");
        assert!(!help.contains("--on-divergence") && !help.contains("after each epoch"), "{help}");
    }
    assert!(
        !train.contains("Losses (") && train.contains("lazyglm list solvers"),
        "tables are in `list`: {train}"
    );
    let top = folder.ok("--help").stdout;
    assert!(top.contains("lazyglm train messages_train.txt -o spam.model"), "{top}");
    let version = folder.ok("--version").stdout;
    assert!(
        version.starts_with("lazyglm 0.") && version.contains("(commit ") && version.contains("Parquet)"),
        "{version}"
    );
    assert_eq!(folder.ok("-V").stdout, version);
}

#[test]
fn every_loss_of_the_contract_trains_predicts_and_evaluates() {
    let folder = folder();
    let positive: Vec<_> = numbers(200, 40, 2).into_iter().map(|(y, row)| (y.abs() + 0.1, row)).collect();
    folder.write("numbers.svm", text(&positive));
    let losses = [
        ("data.svm", "logistic hinge squared-hinge modified-huber perceptron"),
        (
            "numbers.svm",
            "squared huber huber:delta=1.0 absolute epsilon-insensitive:epsilon=0.2 squared-epsilon-insensitive quantile:tau=0.9 poisson gamma tweedie tweedie:1.2",
        ),
    ];
    for (data, names) in losses {
        for name in names.split_whitespace() {
            let report = folder.json(&format!("train {data} --loss {name} -o m --json"));
            assert!(report["objective"].as_f64().is_some_and(f64::is_finite), "{name}");
            assert_eq!(folder.ok(&format!("predict m {data}")).stdout.lines().count(), 200, "{name}");
            let loss = folder.json(&format!("evaluate m {data} --json"))["loss"].as_f64().expect("a number");
            assert!(close(loss, report["loss"].as_f64().expect("a number"), 1e-6), "{name}");
        }
    }
}

#[test]
fn output_into_a_closed_pipe_ends_quietly() {
    let folder = Folder::with("data.svm", text(&classes(20_000, 3000, 1)));
    folder.ok("train data.svm -o m --quiet --epochs 1");
    let lines = [
        "predict m data.svm",
        "inspect m --all --tsv",
        "inspect m --all --json",
        "inspect m --all",
        "train data.svm -o m2 --quiet --json",
    ];
    for line in lines {
        let mut command = folder.command(line);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a start");
        let mut reader = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
        if line.starts_with("predict") {
            assert!(reader.read_line(&mut String::new()).expect("a line") > 0);
        }
        drop(reader);
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        assert_eq!(child.wait().expect("an end").code(), Some(0), "{line}: {said}");
        assert_eq!(said, "", "{line}");
    }
    assert!(Model::load(&folder.path("m2")).is_ok(), "the model is kept all the same");
}

#[test]
fn a_standard_error_that_cannot_be_written_changes_neither_result_nor_exit_code() {
    let folder = folder();
    let full = || File::options().write(true).open("/dev/full").expect("/dev/full");
    let expected = folder.ok("train data.svm -o a --quiet");
    let output = finish(folder.command("train data.svm -o b --json").stderr(full()));
    assert_eq!((output.code, expected.stderr.as_str()), (0, ""));
    assert!(serde_json::from_str::<Value>(&output.stdout).is_ok());
    assert_eq!(folder.read("a"), folder.read("b"));
    assert_eq!(finish(folder.command("train gone.svm").stderr(full())).code, 1);
    assert_eq!(finish(folder.command("train data.svm --loss x").stderr(full())).code, 2);
}

#[test]
fn progress_lines_tell_each_epoch_and_a_short_run_without_a_terminal_has_none() {
    let folder = folder();
    let short = folder.ok("train data.svm --epochs 3 --eta0 0.5").stderr;
    assert!(!short.contains("epoch 1/3"), "{short}");
    let said = folder.ok("train data.svm --epochs 3 --eta0 0.5 --progress lines").stderr;
    for epoch in 1..=3 {
        let line =
            said.lines().find(|line| line.contains(&format!("epoch {epoch}/3"))).expect("a line an epoch");
        for word in ["%", "rows/s", "loss 0.", "non-zeros"] {
            assert!(line.contains(word), "no '{word}' in {line}");
        }
    }
}

#[test]
fn a_model_of_any_number_of_rows_can_be_read_again() {
    for rows in [2, 3, 5, 8, 15, 16, 17, 31, 33] {
        let folder = Folder::with(
            "few.svm",
            "1 1:1\n-1 2:1\n".repeat(rows).lines().take(rows).collect::<Vec<_>>().join("\n"),
        );
        folder.json("train few.svm -o m --epochs 20 --json");
        assert_eq!(folder.ok("predict m few.svm").stdout.lines().count(), rows);
        folder.ok("inspect m");
    }
}

#[test]
fn bench_paper_measures_all_updates_beside_the_papers_figures() {
    let report = Folder::new().json("bench paper --rows 100 --json");
    assert_eq!((report["rows"].as_u64(), report["features"].as_f64()), (Some(100), Some(260_941.0)));
    let p = report["nonzeros_per_row"].as_f64().expect("a number");
    assert!((p - 88.54).abs() < 10.0, "{p} non-zeros a row"); // so few rows are not quite the mean
    assert!(close(report["bound"].as_f64().expect("a number"), 260_941.0 / p, 1e-9));
    let methods = report["methods"].as_array().expect("a list");
    let names: Vec<&str> = methods.iter().filter_map(|m| m["method"].as_str()).collect();
    assert_eq!(names, ["sgd", "fobos"]);
    for method in methods {
        let updates = method["updates"].as_array().expect("a list");
        for name in ["lazy f32", "table", "dense", "dense, sparse predictions"] {
            let line = updates.iter().find(|line| line["update"] == name).unwrap_or_else(|| panic!("{name}"));
            assert!(line["seconds_per_row"].as_f64() > Some(0.0), "{name}");
        }
        let nonzeros: Vec<_> =
            updates.iter().filter(|u| u["update"] != "no penalty f32").map(|u| &u["nonzeros"]).collect();
        assert!(
            nonzeros.windows(2).all(|two| two[0] == two[1]),
            "all updates give the same zeros: {nonzeros:?}"
        );
    }
    assert_eq!(methods[0]["paper"]["lazy"], 0.0102);
    assert_eq!(methods[1]["paper"]["dense"], 22.511);
}

#[test]
fn demo_needs_no_file_and_finds_the_planted_words() {
    let folder = Folder::new();
    let output = finish(&mut folder.command("demo"));
    assert_eq!(output.code, 0, "{}", output.stderr);
    for word in ["planted", "held-out", "accuracy", "µs per row", "largest difference"] {
        assert!(output.stdout.contains(word), "no '{word}' in\n{}", output.stdout);
    }
    assert!(output.stdout.contains("zero in one and not in the other: 0"), "{}", output.stdout);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_model_worse_than_none_is_called_so() {
    let folder = Folder::with("data.svm", text(&classes(80, 10, 3)));
    let bad = folder.ok("train data.svm --eta0 1e6 --schedule constant");
    assert!(bad.stderr.contains("warning: this model is worse than the bias alone"), "{}", bad.stderr);
    assert!(!folder.ok("train data.svm").stderr.contains("worse than"));
    let report = folder.json("train data.svm --json --quiet");
    assert!(report["objective"].as_f64() < report["baseline"].as_f64());
}

#[test]
fn a_row_that_holds_the_rate_down_is_named() {
    let rows: String = (1..60).map(|k| format!("{k} 1:{k} 2:1\n")).collect();
    let folder = Folder::with("data.svm", format!("# first\n{rows}7.5 1:9000\n"));
    let output = folder.ok("train data.svm --loss squared --epochs 5");
    assert!(output.stderr.contains("held down by the row at data.svm:61"), "{}", output.stderr);
}

#[test]
fn a_dash_is_standard_output_for_predictions_and_no_place_for_a_model() {
    let folder = Folder::with("data.svm", text(&classes(20, 5, 3)));
    folder.ok("train data.svm -o m");
    assert_eq!(folder.ok("predict m data.svm -o -").stdout, folder.ok("predict m data.svm").stdout);
    folder.refuses("train data.svm -o -", 2, &["standard output"]);
    folder.refuses("inspect -", 2, &["standard input"]);
}

#[test]
fn text_without_any_feature_is_no_training_data() {
    let folder = Folder::with("data.svm", "1,2.0,3.0\n0,1.0,2.0\n");
    folder.refuses("train data.svm -o m", 1, &["data.svm", "does not look like svmlight"]);
    folder.write("data.csv", "1,2.0,3.0\n0,1.0,2.0\n");
    folder.refuses("train data.csv -o m", 2, &["data.csv", "--target"]);
}
