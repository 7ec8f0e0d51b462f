//! The reader: svmlight text as people write it, compressed or not, from a file or a pipe.

use crate::common::{Folder, classes, finish, text};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write;
use std::time::{Duration, Instant};

const FLAGS: &str = "--order sequential --epochs 3 --eta0 0.5 --precision f64";

/// The model file that comes of this text.
fn model_of(data: impl AsRef<[u8]>) -> Vec<u8> {
    let folder = Folder::with("data.svm", data);
    folder.ok(&format!("train data.svm -o m {FLAGS}"));
    folder.read("m")
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).expect("memory");
    encoder.finish().expect("memory")
}

fn zstandard(data: &[u8]) -> Vec<u8> {
    zstd::encode_all(data, 3).expect("memory")
}

const PLAIN: &str = "1 1:0.5 3:2\n-1 2:1 3:-1\n1 1:1 4:0.25\n-1 2:3\n";

#[test]
fn every_way_to_write_the_same_rows_gives_the_same_model() {
    let plain = model_of(PLAIN);
    let ways = [
        (
            "comments",
            "# a head\n1 1:0.5 3:2 # 9:9\n-1 2:1 3:-1#x\n   # indented: text\n1 1:1 4:0.25\n-1 2:3\n",
        ),
        ("line ends of Windows", "1 1:0.5 3:2\r\n-1 2:1 3:-1\r\n1 1:1 4:0.25\r\n-1 2:3\r\n"),
        ("blank lines", "\n\n1 1:0.5 3:2\n  \t \n-1 2:1 3:-1\n\r\n1 1:1 4:0.25\n-1 2:3\n\n\n"),
        ("no last line end", "1 1:0.5 3:2\n-1 2:1 3:-1\n1 1:1 4:0.25\n-1 2:3"),
        ("no last line end on Windows", "1 1:0.5 3:2\r\n-1 2:1 3:-1\r\n1 1:1 4:0.25\r\n-1 2:3\r"),
        ("tabs and spaces", "  1\t1:0.5   3:2  \n-1 2:1\t\t3:-1\n1 1:1 4:0.25 \n-1 2:3\n"),
        ("unsorted indices", "1 3:2 1:0.5\n-1 3:-1 2:1\n1 4:0.25 1:1\n-1 2:3\n"),
        ("duplicates", "1 1:0.25 3:1 1:0.25 3:1\n-1 2:1 3:-1\n1 1:1 4:0.25\n-1 2:1 2:1 2:1\n"),
        ("duplicates that cancel", "1 1:0.5 3:2 2:1 2:-1\n-1 2:1 3:-1\n1 1:1 4:0.25\n-1 2:3\n"),
        ("other forms of numbers", "+1 1:5e-1 3:+2.0\n-1.0 2:1. 3:-1\n1.0 1:1 4:.25\n-1e0 2:0.3E1\n"),
        ("leading zeros", "1 001:0.5 03:2\n-1 2:1 3:-1\n01 1:1 0004:0.25\n-1 2:3\n"),
        ("query ids", "1 qid:1 1:0.5 3:2\n-1 qid:1 2:1 3:-1\n1 qid:2 1:1 4:0.25\n-1 qid:2 2:3\n"),
    ];
    for (what, data) in ways {
        assert!(model_of(data) == plain, "{what}");
    }
    assert!(model_of(gzip(PLAIN.as_bytes())) == plain, "gzip");
    assert!(
        model_of([gzip(&PLAIN.as_bytes()[..20]), gzip(&PLAIN.as_bytes()[20..])].concat()) == plain,
        "two gzips"
    );
    assert!(model_of(zstandard(PLAIN.as_bytes())) == plain, "zstd");
    assert!(
        model_of("1 1:0.5 3:2\n-1 2:1 3:-1\n1 1:1 4:0.25\n-1 2:3.0000001\n") != plain,
        "other data differ"
    );
}

#[test]
fn standard_input_is_read_like_a_file() {
    let folder = Folder::with("data.svm", PLAIN);
    folder.ok(&format!("train data.svm -o m {FLAGS}"));
    let expected = folder.read("m");
    for input in [PLAIN.as_bytes().to_vec(), gzip(PLAIN.as_bytes()), zstandard(PLAIN.as_bytes())] {
        let output = folder.run_on(&input, &format!("train - -o m2 {FLAGS}"));
        assert_eq!(output.code, 0, "{}", output.stderr);
        assert_eq!(folder.read("m2"), expected);
        assert_eq!(folder.run_on(&input, "predict m -").stdout, folder.ok("predict m data.svm").stdout);
        assert_eq!(folder.run_on(&input, "evaluate m -").stdout, folder.ok("evaluate m data.svm").stdout);
    }
    let output = folder.run_on(b"1 1:1\n-1 x\n", "train -");
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("standard input:2:4"), "{}", output.stderr);
}

#[test]
fn blocks_and_members_of_compressed_data_join_without_a_seam() {
    let data = text(&classes(60_000, 2000, 1)); // more than two blocks of 1 MiB
    assert!(data.len() > 2 << 20, "{}", data.len());
    let folder = Folder::with("data.svm", &data);
    let (head, tail) = data.as_bytes().split_at(data.len() / 2);
    folder.write("data.gz", [gzip(head), gzip(tail)].concat());
    folder.write("data.zst", [zstandard(head), zstandard(tail)].concat());
    folder.ok("train data.svm -o m --epochs 1 --quiet");
    for name in ["data.gz", "data.zst"] {
        folder.ok(&format!("train {name} -o m2 --epochs 1 --quiet"));
        assert!(folder.read("m") == folder.read("m2"), "{name}");
    }
    let predicted = folder.ok("predict m data.gz").stdout;
    assert_eq!(predicted.lines().count(), 60_000);
    assert!(predicted == folder.ok("predict m data.svm").stdout);
    folder.write("late.svm", format!("{data}1 5:x\n"));
    folder.refuses("train late.svm", 1, &["late.svm:60001:5"]);
    folder.refuses("predict m late.svm -o out", 1, &["late.svm:60001:5"]);
}

#[test]
fn query_ids_are_reported() {
    let folder = Folder::with("data.svm", "1 qid:1 1:1\n-1 qid:2 2:1\n1 1:1\n");
    let output = folder.ok("train data.svm -o m");
    assert!(output.stderr.contains("qid on 2 rows"), "{}", output.stderr);
    assert_eq!(folder.ok("train data.svm --quiet").stderr, "");
}

#[test]
fn query_ids_are_reported_by_predict_and_evaluate_too() {
    let folder = Folder::with("data.svm", "1 qid:1 1:1\n-1 qid:2 2:1\n1 1:1\n");
    folder.ok("train data.svm -o m");
    for line in ["predict m data.svm", "evaluate m data.svm"] {
        assert!(folder.ok(line).stderr.contains("qid on 2 rows"), "{line}");
        assert_eq!(folder.ok(&format!("{line} --quiet")).stderr, "");
    }
}

#[test]
fn the_first_index_is_detected_or_declared_and_stored() {
    let base_and_count = |data: &str, flags: &str| {
        let folder = Folder::with("data.svm", data);
        let report = folder.json(&format!("train data.svm -o m --json {flags}"));
        let model = folder.json("inspect m --json");
        assert_eq!(report["features"], model["features"]);
        (model["index_base"].as_u64().expect("a base"), model["features"].as_u64().expect("a count"))
    };
    assert_eq!(base_and_count("1 0:1 4:1\n-1 2:1\n", ""), (0, 5));
    assert_eq!(base_and_count("1 1:1 4:1\n-1 2:1\n", ""), (1, 4));
    assert_eq!(base_and_count("1 1:1 4:1\n-1 2:1\n", "--index-base 0"), (0, 5));
    assert_eq!(base_and_count("1 0:1 4:1\n-1 2:1\n", "--index-base 0"), (0, 5));
    assert_eq!(base_and_count("1 1:1 4:1\n-1 2:1\n", "--features 100"), (1, 100));
    assert_eq!(base_and_count("1 0:0 4:1\n-1 2:1\n", ""), (0, 5));
    let folder = Folder::with("data.svm", "1 1:1 4:1\n-1 0:1 2:1\n");
    folder.refuses("train data.svm --index-base 1", 1, &["data.svm", "index 0", "--index-base"]);
    folder.refuses("train data.svm --features 4", 1, &["data.svm:1:7", "index 4", "--features"]);
    folder.refuses("train data.svm --index-base 2", 2, &["--index-base"]);
}

#[test]
fn the_first_index_is_not_detected_again_on_other_data() {
    let folder = Folder::with("zero.svm", "1 0:1 1:0.5\n-1 1:1 2:1\n".repeat(20));
    folder.write("one.svm", "1 1:1\n-1 2:1\n"); // no index 0 here, yet index 1 is the same feature
    folder.ok("train zero.svm -o m --epochs 5");
    let (bias, weights) = folder.weights("m");
    assert_eq!(weights.iter().map(|w| w.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(folder.scores("m", "one.svm"), [bias + weights[1].1, bias + weights[2].1]);
    let report = folder.json("train zero.svm --validation one.svm -o m --precision f64 --json");
    let loss = folder.json("evaluate m one.svm --json")["loss"].as_f64().unwrap();
    let found = report["validation"]["loss"].as_f64().unwrap();
    assert!((found - loss).abs() <= 1e-12 * loss, "{found} in training, {loss} in evaluation");
}

#[test]
fn the_highest_index_there_is_costs_neither_time_nor_memory() {
    let folder = Folder::with("data.svm", "1 1:1 4294967295:1\n-1 2:1 4294967294:1\n".repeat(50));
    folder.write("new.svm", "1 4294967295:1\n-1 4294967290:1\n");
    let started = Instant::now();
    let little = "ulimit -v 600000"; // kilobytes: a byte for each index would not fit
    for update in ["lazy", "table", "dense"] {
        let train = format!("train data.svm -o m --update {update}");
        for line in [
            train.as_str(),
            "predict m new.svm",
            "evaluate m new.svm",
            "inspect m",
            "train data.svm --validation new.svm",
        ] {
            let output = finish(&mut folder.command_under(little, line));
            assert_eq!(output.code, 0, "{line}: {}", output.stderr);
        }
        let (_, weights) = folder.weights("m");
        assert_eq!(weights.iter().map(|w| w.0).collect::<Vec<_>>(), [1, 2, 4294967294, 4294967295]);
        assert!(weights[3].1 > 0.0 && weights[2].1 < 0.0);
        assert_eq!(folder.json("inspect m --json")["features"], json!(4_294_967_295u32));
        let (bias, score) = (folder.weights("m").0, folder.scores("m", "new.svm")[0]);
        assert_eq!(score, bias + weights[3].1);
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    folder.refuses("evaluate m new.svm --strict", 1, &["new.svm:2", "4294967290"]);
    folder.write("over.svm", "1 1:1\n-1 2:1 4294967296:1\n");
    folder.refuses("train over.svm", 1, &["over.svm:2:8", "4294967296", "4294967295"]);
}

#[test]
fn no_index_costs_more_memory_than_the_highest() {
    for index in [4_194_304u32, 20_000_000, 67_000_000, 1_000_000_000] {
        let folder = Folder::with("data.svm", format!("1 1:1 {index}:1\n-1 2:1\n").repeat(50));
        for line in ["train data.svm --epochs 5 -o m", "predict m data.svm", "evaluate m data.svm"] {
            let output = finish(&mut folder.command_under("ulimit -v 400000", line));
            assert_eq!(output.code, 0, "index {index}: {line}: {}", output.stderr);
        }
    }
}

#[test]
fn the_greater_of_two_targets_is_the_positive_class() {
    let pairs = [
        ("-1", "1"),
        ("0", "1"),
        ("1", "2"),
        ("2", "10"),
        ("-7.5", "-3"),
        ("3", "1000000"),
        ("ham", "spam"),
        ("B", "a"),
        ("no", "yes"),
        ("10x", "2x"),
    ];
    for (negative, positive) in pairs {
        for flip in [false, true] {
            let (first, second) = if flip { (positive, negative) } else { (negative, positive) };
            let (f, s) = if flip { (1, 2) } else { (2, 1) }; // feature 1 goes with the positive class
            let folder = Folder::with("data.svm", format!("{first} {f}:1\n{second} {s}:1\n").repeat(20));
            folder.ok("train data.svm -o m");
            let model = folder.json("inspect m --all --json");
            assert_eq!(model["classes"], json!([negative, positive]));
            assert_eq!(model["loss"], "logistic");
            let weights = folder.weights("m").1;
            assert!(weights[0].1 > 0.0 && weights[1].1 < 0.0, "{negative} {positive}: {weights:?}");
            let expected = format!("{first}\n{second}\n").repeat(20);
            assert_eq!(folder.ok("predict m data.svm --as target").stdout, expected);
            assert_eq!(folder.json("evaluate m data.svm --json")["accuracy"], 1.0);
        }
    }
}

#[test]
fn more_than_two_numbers_are_regression_with_a_note_and_more_than_two_words_are_classes() {
    let folder = Folder::with("data.svm", "1 1:1\n2 2:1\n3 1:1 2:1\n");
    let output = folder.ok("train data.svm -o m");
    assert!(output.stderr.contains("squared") && output.stderr.contains("classes"), "{}", output.stderr);
    assert_eq!(folder.json("inspect m --json")["loss"], "squared");
    let output = folder.ok("train data.svm --loss logistic -o m");
    assert!(output.stderr.contains("--multiclass ovr"), "{}", output.stderr);
    assert_eq!(folder.json("inspect m --json")["kind"], "ovr");
    folder.write("words.svm", "a 1:1\nb 2:1\nc 1:1 2:1\n");
    let output = folder.ok("train words.svm -o m");
    assert!(output.stderr.contains("--multiclass softmax"), "{}", output.stderr);
    assert_eq!(folder.json("inspect m --json")["kind"], "softmax");
    folder.ok("train words.svm --memory 100M -o w"); // the rows fit
    assert_eq!(folder.json("inspect w --json")["kind"], "softmax");
    folder.refuses("train words.svm --loss squared", 1, &["words.svm:1", "'a'"]);
}

#[test]
fn features_never_seen_count_as_zero_with_a_note_and_strict_refuses_them() {
    let folder = Folder::with("data.svm", "1 1:1 5:1\n-1 2:1 5:1\n".repeat(20));
    folder.ok("train data.svm -o m");
    let beyond = ("beyond.svm", "1 1:1\n-1 2:1 3000000000:4 9:2 10:1\n", "9");
    let inside = ("inside.svm", "1 1:1\n-1 2:1 3:4 4:7 8:1\n", "3"); // 3 and 4 lie between features that occurred
    folder.write("known.svm", "1 1:1\n-1 2:1\n");
    let known = folder.ok("predict m known.svm --strict");
    assert_eq!(known.stderr, "");
    for (name, data, feature) in [beyond, inside] {
        folder.write(name, data);
        let place = [format!("{name}:2"), format!("feature {feature}")];
        let place: Vec<&str> = place.iter().map(String::as_str).collect();
        for line in [format!("predict m {name}"), format!("evaluate m {name}")] {
            let told = folder.ok(&line).stderr;
            assert!(
                told.contains("note:")
                    && told.contains(feature)
                    && told.contains("zero")
                    && told.contains("3 values"),
                "{line}: {told}"
            );
        }
        folder.refuses(&format!("evaluate m {name} --strict"), 1, &place);
        folder.refuses(&format!("predict m {name} --strict -o out"), 1, &place);
        assert_eq!(folder.run(&format!("predict m {name} --strict")).code, 1);
        assert_eq!(folder.ok(&format!("predict m {name}")).stdout, known.stdout);
    }
}
