//! `--scale`, `--interact` and idf: what training does to values, predictions and held-out rows must see too.

use crate::common::{Dice, Folder};

const PEOPLE: &str = "city,age,income,label\nparis,31,1000,yes\nrome,52,2000,no\nparis,44,1500,yes\nberlin,23,700,no\nrome,18,900,no\nparis,61,3000,yes\nberlin,35,1200,yes\nrome,41,800,no\n";
const MAILS: &str = "ham\tsee you at lunch\nspam\twin a prize now now\nham\tlunch is at noon\nspam\tprize prize for you\nham\tthe report is late\nspam\tclaim the prize\n";

/// Counts of words in documents of very different lengths. The share of two topics tells how likely each class is, so that
/// long documents are no more certain than short ones.
pub fn counts(rows: usize, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut row = |_| {
        let mut words = [0; 200];
        let (length, share) = (4 + dice.below(8) * dice.below(8) * dice.below(8), dice.below(100));
        for _ in 0..length {
            let word = match dice.below(2) {
                0 => dice.below(10) * dice.below(10),
                _ => 100 + if dice.below(100) < share { 50 } else { 0 } + dice.below(50),
            };
            words[word as usize] += 1;
        }
        let pairs = words.iter().enumerate().filter(|(_, count)| **count > 0);
        let pairs: String = pairs.map(|(word, count)| format!(" {}:{count}", word + 1)).collect();
        format!("{}{pairs}\n", if dice.below(100) < share { 1 } else { -1 })
    };
    (0..rows).map(&mut row).collect()
}

/// The same rows as Vowpal Wabbit text, where features have names.
fn named(svmlight: &str) -> String {
    let row = |line: &str| {
        let (target, pairs) = line.split_once(' ').expect("a row with features");
        format!("{target} | {}\n", pairs.split(' ').map(|pair| format!("w{pair} ")).collect::<String>())
    };
    svmlight.lines().map(row).collect()
}

fn figure(value: &serde_json::Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn held_out_rows_and_evaluation_see_values_as_training_did() {
    let folder = Folder::with("people.csv", PEOPLE);
    folder.write("mails.txt", MAILS);
    let counted = counts(60, 1);
    folder.write("counts.svm", &counted);
    folder.write("far.svm", counted.replace(" 2", " 42000002")); // too far apart for a table of indices
    folder.write("counts.vw", named(&counted));
    let runs = [
        ("counts.svm", "--scale tfidf"),
        ("counts.svm", "--scale tfidf --renumber"),
        ("far.svm", "--scale tfidf"),
        ("counts.vw", "--scale tfidf"),
        ("counts.vw", "--scale tfidf --hash-bits 6"),
        ("mails.txt", "--scale tfidf"),
        ("mails.txt", "--scale tfidf --hash-bits 10"),
        ("people.csv", "--scale maxabs"),
        ("people.csv", "--scale std --interact city*age"),
        ("people.csv", "--interact age*age --interact city*income --scale maxabs"),
        ("mails.txt", "--text idf=yes"),
        ("mails.txt", "--text idf=yes,norm=none,value=tf"),
        ("mails.txt", "--text idf=yes --scale std"),
        ("mails.txt", "--text chars=2-3 --scale maxabs"),
    ];
    for (file, flags) in runs {
        for precision in ["f32", "f64"] {
            let line = format!("train {file} -o m --epochs 20 --precision {precision} --json {flags}");
            let report = folder.json(&format!("{line} --validation {file}"));
            let evaluated = folder.json(&format!("evaluate m {file} --json"));
            let (held_out, loss) = (figure(&report["validation"]["loss"]), figure(&evaluated["loss"]));
            assert!((held_out - loss).abs() < 2e-5 * (1.0 + loss), "{line}: {held_out} against {loss}");
            assert!((figure(&report["loss"]) - loss).abs() < 2e-5 * (1.0 + loss), "{line}: {report}");
        }
    }
}

#[test]
fn scaled_training_is_training_on_scaled_data_with_weights_in_original_units() {
    let plain = "1 1:1 2:300\n-1 1:2 3:4\n1 2:900 3:1\n-1 1:4 3:2\n";
    let scaled = "1 1:0.25 2:0.3333333333333333\n-1 1:0.5 3:1\n1 2:1 3:0.25\n-1 1:1 3:0.5\n";
    let folder = Folder::with("plain.svm", plain);
    folder.write("scaled.svm", scaled);
    let flags = "--precision f64 --eta0 0.5 --epochs 30 --l1 1e-3 --l2 1e-3";
    folder.ok(&format!("train plain.svm -o a --scale maxabs {flags}"));
    folder.ok(&format!("train scaled.svm -o b {flags}"));
    let ((bias, a), (other_bias, b)) = (folder.weights("a"), folder.weights("b"));
    assert!((bias - other_bias).abs() < 1e-12);
    let largest = [4.0, 900.0, 4.0];
    for ((index, w), (_, v)) in a.iter().zip(&b) {
        assert!((w * largest[*index as usize - 1] - v).abs() < 1e-12, "{index}: {w} and {v}");
    }
}

#[test]
fn products_are_named_and_squares_are_among_them() {
    let folder = Folder::with("people.csv", PEOPLE);
    folder.ok("train people.csv -o m --interact age*age --interact city*income --l1 0 --l2 0 --scale std");
    let told = folder.ok("inspect m --all --tsv").stdout;
    for name in ["age*age", "city=paris*income", "city=rome", "income"] {
        assert!(told.lines().any(|line| line.split('\t').next() == Some(name)), "no {name} in\n{told}");
    }
    assert!(!told.contains("city=paris*age"), "{told}");
}

#[test]
fn flags_that_mean_nothing_for_the_data_are_refused() {
    let folder = Folder::with("data.svm", "1 1:1\n-1 2:1\n");
    folder.write("people.csv", PEOPLE);
    folder.write("mails.txt", MAILS);
    folder.refuses("train data.svm --target y", 2, &["--target", "svmlight"]);
    folder.refuses("train data.svm --interact a*b", 2, &["--interact", "svmlight"]);
    folder.refuses("train mails.txt --interact a*b", 2, &["--interact", "text"]);
    folder.refuses("train people.csv --text idf=yes", 2, &["--text", "csv"]);
    folder.refuses("train people.csv --interact cty*age", 2, &["cty", "city"]);
    folder.refuses("train people.csv --interact age", 2, &["--interact"]);
    folder.refuses("train people.csv --scale minmax", 2, &["minmax", "maxabs"]);
    folder.refuses("train people.csv --features 9", 2, &["--features"]);
    folder.refuses("train mails.txt --text idf=yes --hash-bits 8", 2, &["idf", "--hash-bits"]);
}

#[test]
fn a_cache_can_be_given_as_the_data() {
    let folder = Folder::with("people.csv", PEOPLE);
    folder.ok("train people.csv -o m --cache kept");
    folder.ok("train kept -o again");
    assert_eq!(folder.read("m"), folder.read("again"));
    assert_eq!(folder.json("stats kept --json")["rows"], 8);
    folder.refuses("train kept --drop age", 2, &["kept", "cache"]);
}

#[test]
fn the_default_takes_tf_idf_where_it_predicts_better_and_says_so() {
    let folder = Folder::with("counts.svm", counts(600, 2));
    folder.write("more.svm", counts(600, 3));
    let told = folder.ok("train counts.svm -o m").stderr;
    assert!(told.contains("note: counts are replaced by their tf-idf"), "{told}");
    folder.ok("train counts.svm -o given --scale tfidf");
    assert_eq!(folder.read("m"), folder.read("given"), "the same model as with the flag");
    let told = folder.ok("train counts.svm -o raw --scale none").stderr;
    assert!(!told.contains("tf-idf"), "{told}");
    let loss = |model: &str| figure(&folder.json(&format!("evaluate {model} more.svm --json"))["loss"]);
    assert!(loss("m") < 0.97 * loss("raw"), "{} against {}", loss("m"), loss("raw"));
    // Held-out rows see what training saw.
    let report = folder.json("train counts.svm -o v --validation more.svm --json");
    let held_out = figure(&report["validation"]["loss"]);
    assert!((held_out - loss("v")).abs() < 2e-5, "{held_out} against {}", loss("v"));
    // A given penalty, indicators, fractions and tables are left as they are.
    folder.write("halves.svm", counts(300, 2).replace(":1\n", ":0.5\n"));
    folder.write("people.csv", PEOPLE);
    for line in ["train counts.svm --l1 1e-4", "train halves.svm", "train people.csv"] {
        let told = folder.ok(line).stderr;
        assert!(!told.contains("tf-idf"), "{line}: {told}");
    }
}

#[test]
fn products_of_three_and_of_any_columns_are_predicted_as_they_were_learnt() {
    let rows: String = (0..80)
        .map(|i| format!("{},{},{},{}\n", i % 7, ["Rome", "Oslo"][i % 2], i % 5, (i % 7) * (i % 5) * (i % 2)))
        .collect();
    let folder = Folder::with("t.csv", format!("a,city,b,y\n{rows}"));
    for (flags, name) in [
        ("--interact a*city*b", "a*city=Oslo*b"),
        ("--interact *", "a*b"),
        ("--interact city*:", "city=Oslo*a"),
    ] {
        folder.ok(&format!("train t.csv {flags} --task regress --solver newton --l1 0 --l2 1e-6 -o m"));
        let weights = folder.ok("inspect m --all --tsv").stdout;
        assert!(weights.contains(name), "{flags}: {weights}");
        folder.ok("predict m t.csv --strict");
    }
    folder.ok("train t.csv --interact a*city*b --task regress --solver newton --l1 0 --l2 1e-9 -o m");
    let r2 = folder.json("evaluate m t.csv --json")["r2"].as_f64().unwrap_or(0.0);
    assert!(r2 > 0.999, "the product of three is the target: {r2}");
    folder.refuses("train t.csv --interact a*b*city*a", 2, &["--interact", "two or three"]);
}

#[test]
fn rows_on_disk_are_tried_as_tf_idf_too_and_predictions_take_raw_counts() {
    let folder = Folder::with("train.svm", counts(14_000, 8));
    folder.write("test.svm", counts(2_000, 9));
    let line = "train train.svm -o m --memory 34M --cache off";
    let told = folder.ok(line).stderr;
    assert!(
        told.contains("gone through in ") && told.contains("counts are replaced by their tf-idf"),
        "{told}"
    );
    assert!(told.contains("on a sample of "), "{told}");
    let loss =
        |model: &str| figure(&folder.json(&format!("evaluate {model} test.svm --json --quiet"))["loss"]);
    folder.ok("train train.svm -o counts --memory 34M --cache off --scale none");
    folder.ok("train train.svm -o whole --cache off");
    let [disk, counts, whole] = ["m", "counts", "whole"].map(loss);
    assert!(disk < 0.99 * counts && disk < 1.03 * whole, "{disk}, counts {counts}, in memory {whole}");
    // A checkpoint knows the choice.
    folder.ok(&format!("{line} --checkpoint c"));
    assert!(!folder.path("c").exists());
    let held = folder.ok("train train.svm --memory 34M --cache off --validation test.svm --json");
    let held: serde_json::Value = serde_json::from_str(&held.stdout).unwrap();
    assert!(
        (figure(&held["validation"]["loss"]) / disk - 1.0).abs() < 1e-6,
        "held-out rows are scaled alike"
    );
}

#[test]
fn numbers_in_units_far_apart_are_scaled_for_rows_on_disk_as_well() {
    let mut dice = Dice(5);
    let mut row = |_| {
        let [a, b, c] = [(); 3].map(|()| dice.below(4001) as f64 / 1000.0 - 2.0);
        let target = a + b - c + dice.below(3465) as f64 / 1000.0; // noise of variance one
        format!("{a},{:.0},{:.6},{target:.3}\n", 1e4 * b, 1e-3 * c)
    };
    let table = "a,b,c,target\n".to_string() + &(0..120_000).map(&mut row).collect::<String>();
    let folder = Folder::with("units.csv", &table);
    let run = folder.run("train units.csv -o m --memory 40M");
    assert!(run.stderr.contains("do not fit into --memory"), "{}", run.stderr);
    let told = "numbers are divided by their standard deviation: held-out loss";
    assert!(run.stderr.contains(told) && run.stderr.contains("on a sample of"), "{}", run.stderr);
    // The model takes rows as written: its weights are in the units of the file.
    let judged = folder.json("evaluate m units.csv --json");
    assert!(figure(&judged["r2"]) > 0.78, "{judged}");
}
