//! Features with names: shown by `inspect`, used by `predict` and `evaluate`, missed by `--strict`; and buckets.

use crate::common::{FORMATS, Folder, Row, classes, close, in_format, logistic, text};
use std::collections::BTreeMap;

/// The bias and the weights by name.
fn named_weights(folder: &Folder, model: &str) -> (f64, BTreeMap<String, f64>) {
    let table = folder.ok(&format!("inspect {model} --all --tsv")).stdout;
    let mut lines = table.lines().map(|line| line.split_once('\t').expect("a tab"));
    let bias = lines.next().expect("a bias").1.parse().expect("a number");
    (bias, lines.map(|(name, w)| (name.to_string(), w.parse().expect("a number"))).collect())
}

/// What a feature is called in a format.
fn name(format: &str, feature: u32) -> String {
    match format {
        "svmlight" => feature.to_string(),
        _ => format!("x{feature}"),
    }
}

/// Labelled text by hand: words and pairs of neighbours, each with 1 + ln(count), the row of length 1.
fn terms(words: &[String]) -> BTreeMap<String, f64> {
    let pairs = words.windows(2).map(|two| two.join(" "));
    let mut counts = BTreeMap::new();
    words.iter().cloned().chain(pairs).for_each(|term| *counts.entry(term).or_insert(0.0) += 1.0);
    counts.values_mut().for_each(|count: &mut f64| *count = 1.0 + count.ln());
    let length = counts.values().map(|x| x * x).sum::<f64>().sqrt();
    counts.values_mut().for_each(|x| *x /= length);
    counts
}

fn features(format: &str, row: &Row) -> BTreeMap<String, f64> {
    match format {
        "text" => {
            let words = row.1.iter().map(|(j, _)| format!("x{j}"));
            terms(&["word".to_string()].into_iter().chain(words).collect::<Vec<_>>())
        }
        _ => row.1.iter().map(|&(j, x)| (name(format, j), x)).collect(),
    }
}

#[test]
fn predictions_are_weights_times_values_by_name_in_every_format() {
    let (train, check) = (classes(400, 40, 1), classes(200, 40, 2));
    for (format, file) in FORMATS {
        let folder = Folder::with(file, in_format(&train, format));
        let ending = file.split_once('.').expect("an ending").1;
        let check_file = format!("check.{ending}");
        folder.write(&check_file, in_format(&check, format));
        folder.ok(&format!("train {file} -o m --l1 0.003"));
        let (bias, weights) = named_weights(&folder, "m");
        assert!(weights.len() > 3, "{format}: {weights:?}");
        let shown = if format == "text" { "word" } else { &name(format, 1) };
        assert!(weights.contains_key(shown) || format == "text", "{format}: {weights:?}");
        let scores = folder.scores("m", &check_file);
        assert_eq!(scores.len(), check.len());
        let mut loss = 0.0;
        for (row, score) in check.iter().zip(&scores) {
            let features = features(format, row);
            let by_hand: f64 = features.iter().filter_map(|(name, x)| Some(weights.get(name)? * x)).sum();
            assert!(close(bias + by_hand, *score, 1e-9), "{format}: {} against {score}", bias + by_hand);
            loss += logistic(row.0 * score) / check.len() as f64;
        }
        let measured = folder.json(&format!("evaluate m {check_file} --json"));
        assert!(close(measured["loss"].as_f64().expect("a loss"), loss, 1e-9), "{format}: {measured}");
        let json = folder.json("inspect m --json");
        let by_json = json["weights"].as_array().expect("weights").iter();
        for weight in by_json {
            let name = weight["feature"].as_str().expect("a name");
            assert_eq!(weights[name], weight["weight"].as_f64().expect("a weight"));
        }
    }
}

#[test]
fn a_feature_never_seen_is_noted_and_refused_by_strict_with_its_name_and_place() {
    let cases = [
        ("t.vw", "1 |f a b\n-1 |f b c\n", "p.vw", "1 |f a\n\n1 |f c new:2 other\n", "f^new", 3, 2),
        ("t.csv", "k,label\nu,1\nv,2\nu,1\n", "p.csv", "k\nu\nw\n", "k=w", 3, 1),
        (
            "t.jsonl",
            "{\"y\": 1, \"a\": 2}\n{\"y\": 0, \"b\": 1}\n",
            "p.jsonl",
            "{\"a\": 1}\n{\"b\": 1, \"new\": 3}\n",
            "new",
            2,
            1,
        ),
        ("t.txt", "s\tgood day\nh\tbad day\n", "p.txt", "s\tgood\nh\tworse\n", "worse", 2, 1),
        ("t.svm", "1 1:1 5:1\n-1 2:1\n", "p.svm", "1 1:1\n1 2:1\n# x\n-1 4:1 3:2\n", "3", 4, 2),
    ];
    for (train, data, predict, rows, unseen, line, values) in cases {
        let folder = Folder::with(train, data);
        folder.write(predict, rows);
        folder.ok(&format!("train {train} -o m"));
        let told = folder.ok(&format!("predict m {predict}")).stderr;
        assert!(
            told.contains(&format!("{values} values")) && told.contains(&format!("them '{unseen}':")),
            "{told}"
        );
        let parts = [format!("{predict}:{line}"), format!("feature {unseen} never occurred")];
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        folder.refuses(&format!("predict m {predict} --strict -o out"), 1, &parts);
        assert_eq!(folder.ok(&format!("predict m {predict} --quiet")).stderr, "");
        folder.ok(&format!("predict m {train} --strict"));
        folder.ok(&format!("evaluate m {train} --strict"));
    }
}

#[test]
fn a_feature_that_occurred_and_got_no_weight_is_no_stranger() {
    // With so high a price all weights are zero, and every feature of the data still is one that was seen.
    for (format, file) in FORMATS {
        let folder = Folder::with(file, in_format(&classes(200, 40, 1), format));
        for flags in ["", "--hash-bits 12"] {
            folder.ok(&format!("train {file} -o m --l1 100 {flags}"));
            assert_eq!(named_weights(&folder, "m").1.len(), 0, "{format}");
            folder.ok(&format!("predict m {file} --strict"));
            let told = folder.ok(&format!("evaluate m {file}")).stderr;
            assert!(!told.contains("never occurred"), "{format}: {told}");
        }
    }
}

#[test]
fn a_model_of_names_and_data_of_numbers_do_not_go_together() {
    let folder = Folder::with("t.svm", text(&classes(50, 20, 1)));
    folder.ok("train t.svm -o numbers");
    for (format, file) in &FORMATS[1..] {
        folder.write(file, in_format(&classes(50, 20, 1), format));
        folder.ok(&format!("train {file} -o names"));
        for line in ["predict names t.svm -o out", "evaluate names t.svm"] {
            folder.refuses(line, 1, &["by name", "by number"]);
        }
        for line in [format!("predict numbers {file} -o out"), format!("evaluate numbers {file}")] {
            folder.refuses(&line, 1, &["by number", "by name"]);
        }
    }
}

#[test]
fn the_columns_of_a_table_are_found_by_name() {
    let folder = Folder::with("t.csv", "x,job,label\n1,cook,yes\n2,nurse,no\n3,cook,yes\n0,nurse,no\n");
    folder.ok("train t.csv -o m");
    let scores = folder.scores("m", "t.csv");
    // A row is summed in the order of its columns: other orders give the same score up to rounding.
    let same = |found: &[f64], what: &str| {
        assert_eq!(found.len(), scores.len(), "{what}");
        for (found, score) in found.iter().zip(&scores) {
            assert!((found - score).abs() <= 1e-14 * score.abs(), "{what}: {found} is not {score}");
        }
    };
    folder.write("p.csv", "label,new,job,x\nyes,9,cook,1\nno,9,nurse,2\nyes,9,cook,3\nno,9,nurse,0\n");
    same(&folder.scores("m", "p.csv"), "other order");
    folder.write("p.tsv", "job\tx\ncook\t1\nnurse\t2\ncook\t3\nnurse\t0\n");
    same(&folder.scores("m", "p.tsv"), "no target, other delimiter");
    let piped = folder.run_on(b"job,x\ncook,1\nnurse,2\ncook,3\nnurse,0\n", "predict m - --as score");
    let piped: Vec<f64> = piped.stdout.lines().map(|line| line.parse().expect("a number")).collect();
    same(&piped, "piped");
    folder.refuses("evaluate m p.tsv", 1, &["p.tsv:2", "no target"]);
    folder.write("p.csv", "label,x\nyes,1\n");
    for line in ["predict m p.csv -o out", "evaluate m p.csv"] {
        folder.refuses(line, 1, &["p.csv:1", "'job'"]);
    }
    // A column of numbers stays one, and one of names stays one, whatever the cells look like.
    folder.write("p.csv", "x,job\n1,7\n");
    let told = folder.ok("predict m p.csv").stderr;
    assert!(told.contains("job=7"), "{told}");
    folder.write("p.csv", "x,job\nmany,cook\n");
    folder.refuses("predict m p.csv -o out", 1, &["p.csv:2:1", "'many'"]);
}

#[test]
fn class_names_may_have_spaces_in_them() {
    let folder = Folder::with("t.csv", "a,label\n1,not spam\n2,spam\n3,spam\n0,not spam\n");
    folder.ok("train t.csv -o m");
    let predicted = folder.ok("predict m t.csv --as target").stdout;
    assert!(predicted.lines().all(|line| line == "spam" || line == "not spam"), "{predicted}");
    assert_eq!(folder.json("inspect m --json")["classes"], serde_json::json!(["not spam", "spam"]));
    folder.write("t.jsonl", "{\"label\": \"São\\u0085Paulo\", \"a\": 1}\n{\"label\": \"x\", \"a\": 2}\n");
    folder.ok("train t.jsonl -o m");
    folder.ok("inspect m");
}

#[test]
fn hashed_features_give_the_same_scores_as_in_training_and_say_how_many_collide() {
    let rows = classes(300, 40, 1);
    for (format, file) in FORMATS {
        let folder = Folder::with(file, in_format(&rows, format));
        let told = folder.ok(&format!("train {file} -o m --hash-bits 4 --epochs 5")).stderr;
        let note = told.lines().find(|line| line.contains("buckets with a weight")).expect("a note");
        let words: Vec<&str> = note.split_whitespace().collect();
        // "note: 15 of the 16 buckets with a weight stand for more than one feature (93.75 %)"
        let (shared, all): (f64, f64) = (words[1].parse().unwrap(), words[4].parse().unwrap());
        assert!(shared >= 8.0 && shared <= all && all <= 16.0, "{note}");
        assert!(note.contains(&format!("({:.2} %)", 100.0 * shared / all)), "{note}");
        // The second time the buckets come from the cache.
        let again = folder.ok(&format!("train {file} -o m --hash-bits 4 --epochs 5")).stderr;
        assert!(again.contains(note), "{again}");
        let report = folder.json(&format!("train {file} -o m --hash-bits 4 --json --precision f64"));
        let measured = folder.json(&format!("evaluate m {file} --json"));
        assert!(
            close(report["loss"].as_f64().unwrap(), measured["loss"].as_f64().unwrap(), 1e-12),
            "{format}"
        );
        let (_, weights) = folder.weights("m");
        assert!(weights.iter().all(|(bucket, _)| *bucket < 16), "{weights:?}");
        // With many buckets there are no collisions, and the answer is that without hashing.
        let told = folder.ok(&format!("train {file} -o hashed --hash-bits 30 --order sequential")).stderr;
        assert!(told.contains("note: 0 of the"), "{told}");
        folder.ok(&format!("train {file} -o exact --order sequential"));
        let (a, b) = (folder.scores("hashed", file), folder.scores("exact", file));
        assert!(a.iter().zip(&b).all(|(a, b)| close(*a, *b, 1e-3)), "{format}");
    }
    let folder = Folder::with("t.svm", text(&rows));
    for bits in ["0", "31", "x"] {
        folder.refuses(&format!("train t.svm --hash-bits {bits}"), 2, &["--hash-bits"]);
    }
}

#[test]
fn a_model_with_a_byte_of_its_names_changed_is_refused() {
    let folder = Folder::with("t.vw", "1 |f alpha beta\n-1 |f gamma delta:2\n".repeat(5));
    folder.ok("train t.vw -o m --epochs 5");
    let model = folder.read("m");
    let at = model.windows(7).position(|bytes| bytes == b"f^alpha").expect("a name in the file");
    for at in [at, at + 2, at + 6, model.len() - 9] {
        for change in [1, 0x80] {
            let mut bad = model.clone();
            bad[at] ^= change;
            folder.write("bad", &bad);
            for line in ["inspect bad", "predict bad t.vw -o out", "evaluate bad t.vw"] {
                folder.refuses(line, 1, &["bad", "checksum"]);
            }
        }
    }
}
