//! The same rows give the same model, bit for bit, however they are read.

use crate::common::{FORMATS, Folder, classes, in_format, numbers, text};
use crate::memory::{LITTLE, figure, many};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Trains in every way there is to read the rows, and compares the bytes of the models.
fn same_model_in_every_way(data: &str, format: &str, file: &str, flags: &str) {
    let folder = Folder::with(file, data);
    let packed = gzip(data.as_bytes());
    folder.write(&format!("{file}.gz"), &packed);
    folder.write(&format!("{file}.zst"), zstd::encode_all(data.as_bytes(), 1).expect("memory"));
    folder.ok(&format!("train {file} {flags} --cache off -o plain"));
    let plain = folder.read("plain");
    let check = |way: &str| assert!(folder.read("m") == plain, "{format} {flags}: {way}");
    for (way, line) in [
        ("a cache is made", format!("train {file} {flags} -o m")),
        ("a cache is read", format!("train {file} {flags} -o m")),
        ("the cache alone", format!("train {file} {flags} --cache only -o m")),
        ("gzip", format!("train {file}.gz {flags} --cache off -o m")),
        ("zstd", format!("train {file}.zst {flags} -o m")),
        ("memory to spare", format!("train {file} {flags} --memory 1G -o m")),
        ("memory to spare and no cache", format!("train {file}.gz {flags} --cache off --memory 1G -o m")),
        ("one thread", format!("train {file} {flags} --cache off --threads 1 -o m")),
    ] {
        folder.ok(&line);
        check(way);
    }
    for (way, input) in [("standard input", data.as_bytes()), ("gzip on standard input", &packed[..])] {
        for memory in ["", "--memory 1G"] {
            let output = folder.run_on(input, &format!("train - --format {format} {flags} {memory} -o m"));
            assert_eq!(output.code, 0, "{format} {way} {memory}: {}", output.stderr);
            check(&format!("{way} {memory}"));
        }
    }
}

#[test]
fn a_file_a_cache_a_stream_and_a_packed_file_give_the_same_bits_in_every_format() {
    for (format, file) in FORMATS {
        let rows = classes(120, 40, 3);
        same_model_in_every_way(&in_format(&rows, format), format, file, "--l1 0.001");
        same_model_in_every_way(&in_format(&rows, format), format, file, "--solver sgd --precision f64");
    }
}

#[test]
fn numbers_classes_and_labels_are_read_alike_in_every_way() {
    same_model_in_every_way(&text(&numbers(120, 40, 3)), "svmlight", "n.svm", "");
    same_model_in_every_way(
        &"a 1:1\nb 2:1 1:0.1\nc 3:1\nc 1:1\nb 3:1\na 2:1\n".repeat(20),
        "svmlight",
        "c.svm",
        "--multiclass softmax --l1 0.001",
    );
    same_model_in_every_way(
        &"a,b 1:1\nb 2:1 1:0.1\nc 3:1\n".repeat(30),
        "svmlight",
        "l.svm",
        "--multilabel --thresholds tuned --l1 0.001",
    );
}

#[test]
fn classes_that_nobody_named_are_trained_within_memory_and_on_disk() {
    for (name, flags) in [("a", "--l1 0.001"), ("1", "--task classify --l1 0.001"), ("1", "--loss hinge")] {
        let rows = "a 1:1\nb 2:1 1:0.1\nc 3:1\nc 1:1\nb 3:1\na 2:1\n".repeat(20);
        let rows =
            if name == "a" { rows } else { rows.replace('a', "1").replace('b', "2").replace('c', "3") };
        same_model_in_every_way(&rows, "svmlight", "c.svm", flags);
    }
    let mut rows = many(false);
    rows.iter_mut().enumerate().for_each(|(i, row)| row.0 = (i % 3) as f64);
    let folder = Folder::with("d.svm", text(&rows));
    let line = format!("train d.svm --task classify --l1 0.001 {LITTLE} -o m");
    for flags in ["--cache off", "--multiclass ovr", "--validation d.svm --early-stop 1"] {
        let report = folder.json(&format!("{line} {flags} --json"));
        assert!(!report["relative_gap"].is_null(), "a softmax has a certificate, too: {report}");
        let found = folder.json("evaluate m d.svm --json");
        assert!(figure(&found, "accuracy") > 0.3, "{found}");
    }
    let told = folder.ok(&line).stderr;
    assert!(told.contains("do not fit into --memory"), "{told}");
    assert!(told.contains("epochs of SGD") && !told.contains("0 epochs"), "{told}");
    for (flags, parts) in [
        ("--solver newton", ["all rows must be in memory", "--solver auto or --solver sgd"]),
        ("--nonnegative", ["--nonnegative", "do not fit into memory"]),
    ] {
        folder.refuses(&format!("{line} {flags}"), 2, &parts);
    }
}

#[test]
fn where_rows_do_not_fit_into_memory_a_note_says_why_the_model_may_differ() {
    let folder = Folder::with("d.svm", text(&many(false)));
    let output = folder.ok(&format!("train d.svm --l1 0.001 {LITTLE} -o windows"));
    assert!(output.stderr.contains("do not fit into --memory"), "{}", output.stderr);
    assert!(output.stderr.contains("the model may differ"), "{}", output.stderr);
}

#[test]
fn the_summary_has_the_penalty_of_the_model() {
    let folder = Folder::with("d.svm", text(&classes(120, 40, 3)));
    let line = |flags: &str| {
        let output = folder.ok(&format!("train d.svm -o m {flags}")).stdout;
        let line = output.lines().find(|line| line.starts_with("penalty ")).unwrap_or_default();
        line.split(" (l1_max ").next().unwrap_or_default().to_string()
    };
    assert_eq!(line("--l1 0.25 --l2 0.5"), "penalty    l1 0.25, l2 0.5");
    let chosen = line("");
    let training = &folder.json("inspect m --json")["training"];
    assert_eq!(chosen, format!("penalty    l1 {}, l2 {}", training["l1"], training["l2"]));
}
