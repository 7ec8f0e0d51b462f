//! `train --passes 1`: one pass over standard input in constant memory, with the zero test and without files.

use crate::common::{Dice, Folder, classes, close, in_format, number, numbers, text};
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

#[test]
fn standard_input_and_a_file_give_the_same_model_however_the_input_arrives() {
    let rows = text(&classes(20_000, 60, 1));
    let folder = Folder::with("data.svm", &rows);
    for flags in
        ["--l1 1e-3", "--hash-bits 8 --l1 1e-4 --l2 1e-4", "--precision f64 --loss squared --no-bias"]
    {
        folder.ok(&format!("train data.svm --passes 1 {flags} -o file"));
        for pieces in [rows.len(), 70_000] {
            let line = format!("train - --format svmlight --passes 1 {flags} -o pipe");
            let mut command = folder.command(&line);
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            rows.as_bytes().chunks(pieces).for_each(|piece| input.write_all(piece).unwrap());
            drop(input);
            assert!(child.wait().unwrap().success(), "{flags}");
            assert!(folder.read("pipe") == folder.read("file"), "{flags} in pieces of {pieces}");
        }
    }
    assert_eq!(folder.names(), ["data.svm", "file", "pipe"], "no cache");
}

#[test]
fn without_l1_the_steps_are_those_of_sgd_in_the_order_of_the_file() {
    let folder = Folder::with("data.svm", text(&classes(12_000, 60, 1)));
    let flags = "--schedule inverse-sqrt:t0=500 --eta0 0.2 --l1 0 --l2 1e-4 --hash-bits 8 --quiet";
    folder.ok(&format!("train data.svm --passes 1 {flags} -o once"));
    folder.ok(&format!(
        "train data.svm --solver sgd --epochs 1 --order sequential --cache off {flags} -o file"
    ));
    assert_eq!(folder.weights("once"), folder.weights("file"), "to the last bit");
}

#[test]
fn the_zero_test_leaves_fewer_weights_and_the_model_predicts() {
    let rows = text(&classes(30_000, 100, 1));
    let folder = Folder::with("held.svm", text(&classes(2_000, 100, 2)));
    let line = "train - --format svmlight --passes 1 --l1 2e-3 --l2 0 -o m";
    let run = folder.run_on(rows.as_bytes(), line);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("there is no certificate"), "{}", run.stderr);
    assert!(run.stdout.contains("(the mean of each row before its step)"), "{}", run.stdout);
    let found = folder.run_on(rows.as_bytes(), &format!("{line} --json --quiet"));
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let (nonzeros, zeroed) = (number(&found["nonzeros"]), number(&found["zeroed"]));
    assert!(zeroed > 0.0 && nonzeros > 0.0 && found["rows"] == 30_000, "{found}");
    assert_eq!(folder.weights("m").1.len() as f64, nonzeros);
    let accuracy = number(&folder.json("evaluate m held.svm --json")["accuracy"]);
    assert!(accuracy > 0.8, "{accuracy}");
}

#[test]
fn numbers_words_and_tables_are_learnt_in_one_pass() {
    let folder = Folder::new();
    let mean = |rows: &[crate::common::Row]| rows.iter().map(|row| row.0).sum::<f64>() / rows.len() as f64;
    for (format, file) in crate::common::FORMATS {
        let mut rows = numbers(3_000, 90, 3);
        rows.iter_mut().for_each(|row| row.0 += 50.0); // the bias begins at the mean
        folder.write(file, in_format(&rows, format));
        let line =
            format!("train - --format {format} --passes 1 --loss squared --l1 0 --l2 0 -o m --json --quiet");
        let found = folder.run_on(&folder.read(file), &line);
        assert_eq!(found.code, 0, "{format}: {}", found.stderr);
        let spread = rows.iter().map(|row| (row.0 - mean(&rows)).powi(2)).sum::<f64>() / 3_000.0;
        let loss = number(&folder.json(&format!("evaluate m {file} --json"))["loss"]);
        assert!(loss < if format == "text" { 0.6 } else { 0.45 } * spread, "{format}: {loss}, {spread}");
    }
}

/// The most memory of a run, in bytes, which reads so many rows from standard input, and no folder for temporary files.
#[cfg(target_os = "linux")]
fn peak(folder: &Folder, rows: usize) -> u64 {
    let line = "train - --format svmlight --passes 1 --l1 1e-4 --eta0 0.1 --threads 1 -o m --quiet";
    let mut command = folder.command(line);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).env("TMPDIR", "/nowhere");
    let mut child = command.spawn().unwrap();
    let mut input = std::io::BufWriter::new(child.stdin.take().unwrap());
    let mut dice = Dice(5);
    for _ in 0..rows {
        let (a, b) = (1 + dice.below(500), 501 + dice.below(500));
        writeln!(input, "{} {a}:1 {b}:1", if a % 2 == 0 { 1 } else { -1 }).unwrap();
    }
    input.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500)); // it waits for more
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
    most.unwrap() << 10
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_rows_and_no_disk_is_needed() {
    let folder = Folder::new();
    let (few, many) = (peak(&folder, 300_000), peak(&folder, 1_000_000));
    assert!(many < few + few / 4, "{few} and {many} bytes");
    assert_eq!(folder.names(), ["m"]);
}

#[test]
fn what_needs_all_rows_or_more_than_one_pass_is_refused_before_anything_is_read() {
    let folder = Folder::with("data.svm", text(&classes(300, 50, 1)));
    for (flags, word) in [
        ("--solver newton", "--solver does not go with --passes 1"),
        ("--solver auto --validation 0.2", "--validation"),
        ("--epochs 3", "--epochs does not go with --passes 1: it reads the rows more than once"),
        ("--scale tfidf", "--scale"),
        ("--class-weight balanced", "--class-weight"),
        ("--cache only", "nothing is kept on disk"),
        ("--checkpoint c", "--checkpoint"),
        ("--nonnegative", "weights have no bounds"),
        ("--multilabel", "one model is trained"),
        ("--schedule cosine", "give it: 'cosine:steps=…'"),
    ] {
        folder.refuses(&format!("train data.svm --passes 1 {flags} -o m"), 2, &[word]);
    }
    folder.refuses("train data.svm --passes 3", 2, &["expected 1, a single pass", "--epochs"]);
    folder.refuses("tune data.svm --passes 1", 2, &["--passes has no meaning here"]);
    folder.write("words.txt", in_format(&classes(300, 50, 1), "text"));
    folder.refuses("train words.txt --text idf=yes --passes 1", 2, &["idf needs the number of rows"]);
    folder.write("three.txt", "a\tx\nb\ty\nc\tz\n".repeat(50));
    folder.refuses("train three.txt --passes 1", 2, &["there are more than two classes"]);
}

#[test]
fn rows_that_contradict_the_first_ones_are_named_with_their_place() {
    let folder = Folder::new();
    let rows = text(&classes(10_000, 50, 1));
    folder.write("third.svm", rows.clone() + "7 3:1\n");
    let words = &["third.svm:10001", "the target '7' is none of the classes"];
    folder.refuses("train third.svm --passes 1 --loss logistic -o m", 1, words);
    folder.write("zero.svm", rows + "1 0:1\n");
    folder.refuses("train zero.svm --passes 1 -o m", 1, &["zero.svm:10001", "--index-base 0"]);
    folder.ok("train zero.svm --passes 1 --index-base 0 -o m");
    folder.write("one.svm", "1 1:1\n".repeat(500));
    folder.refuses("train one.svm --passes 1", 1, &["there is one class only"]);
}

#[test]
fn weights_of_rows_count_and_rows_of_weight_zero_do_not() {
    let mut lines = String::new();
    for (k, (y, row)) in classes(2_000, 60, 1).iter().enumerate() {
        let pairs: String = row.iter().map(|(j, x)| format!(" x{j}:{x}")).collect();
        lines += &format!("{y} {} |{pairs}\n", [1, 0, 3][k % 3]);
    }
    let folder = Folder::with("data.vw", &lines);
    let without: String =
        lines.lines().filter(|line| !line.contains(" 0 |")).map(|line| format!("{line}\n")).collect();
    folder.write("fewer.vw", without);
    let weights = |file: &str| {
        folder.ok(&format!(
            "train {file} --passes 1 --l1 0 --l2 1e-3 --eta0 0.1 --schedule constant --precision f64 -o m"
        ));
        let shown = folder.ok("inspect m --all --tsv").stdout;
        let pair =
            |line: &str| line.split_once('\t').map(|(name, w)| (name.to_string(), w.parse::<f64>().unwrap()));
        let mut pairs: Vec<(String, f64)> = shown.lines().filter_map(pair).collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs
    };
    let (all, fewer) = (weights("data.vw"), weights("fewer.vw"));
    assert!(all.len() == fewer.len() && all.len() > 10);
    for (a, b) in all.iter().zip(&fewer) {
        assert!(a.0 == b.0 && close(a.1, b.1, 1e-12), "{a:?} {b:?}");
    }
}

/// A search on two rows prefers whatever fits both. It may be hundreds of times the rate at which a step just about cancels the
/// error of its row, 1/(c(mean‖x‖² + 1)), and says nothing of the next rows.
#[test]
fn few_rows_have_a_rate_near_the_natural_one_and_a_warning() {
    let folder = Folder::new();
    let rows = text(&classes(1_200, 60, 1));
    let first = |n: usize| rows.lines().take(n).map(|line| format!("{line}\n")).collect::<String>();
    for (n, within) in [(2, 1.2), (20, 1.6), (200, 4.0)] {
        folder.write("few.svm", first(n));
        let line = "train few.svm --passes 1 --loss logistic --l1 1e-6 --json";
        let run = folder.run(line);
        if n == 2 && run.code != 0 {
            assert!(run.stderr.contains("one class only"), "{}", run.stderr); // two rows of one class
            continue;
        }
        let found: Value = serde_json::from_str(&run.stdout).unwrap();
        let length = |row: &crate::common::Row| 1.0 + row.1.iter().map(|(_, x)| x * x).sum::<f64>();
        let used = &classes(1_200, 60, 1)[..n];
        let natural = 4.0 * n as f64 / used.iter().map(length).sum::<f64>();
        let ratio = number(&found["eta0"]) / natural;
        assert!(ratio < within && ratio > 1.0 / within, "{n} rows: {} against {natural}", found["eta0"]);
        let words = format!("warning: {n} rows are too few for a search of the learning rate");
        assert!(run.stderr.contains(&words) && run.stderr.contains("Give --eta0"), "{}", run.stderr);
        assert!(!folder.ok(&format!("{line} --eta0 0.1")).stderr.contains("too few"), "nothing to search");
    }
    let all = folder.run_on(rows.as_bytes(), "train - --format svmlight --passes 1 --l1 1e-6");
    assert!(all.stderr.contains("the best of a search") && !all.stderr.contains("too few"), "{}", all.stderr);
}
