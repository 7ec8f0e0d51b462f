//! Many classes and labels, end to end.

use crate::common::Folder;
use std::fmt::Write;

/// Rows of three classes, each with two words of its own and one that all have.
fn three_classes(rows: usize) -> String {
    let mut text = String::new();
    for i in 0..rows {
        let (class, own) = (["eggs", "ham", "spam"][i % 3], 2 * (i % 3) + 1);
        let _ = writeln!(text, "{class} {}:1 7:{}", own + (i / 3) % 2, 1 + i % 2);
    }
    text
}

/// Labels 3, 17 and 200, each with a word of its own; every fourth row has none.
fn labels(rows: usize) -> String {
    let mut text = String::new();
    for i in 0..rows {
        let own: Vec<usize> = (0..3).filter(|k| i % 4 > 0 && (i / 4 + k) % 3 < i % 4).collect();
        let names: Vec<&str> = own.iter().map(|&k| ["200", "3", "17"][k]).collect();
        let words: String = own.iter().map(|k| format!(" {}:1", k + 1)).collect();
        let _ = writeln!(text, "{}{words} 9:1", names.join(","));
    }
    text
}

fn lines(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split('\t').map(String::from).collect()).collect()
}

#[test]
fn classes_are_learnt_predicted_measured_and_shown() {
    let folder = Folder::with("data.svm", three_classes(300));
    for how in ["ovr", "softmax"] {
        let report = folder.json(&format!("train data.svm --multiclass {how} -o m --json"));
        let heads = &report["heads"];
        assert_eq!((heads["kind"].as_str(), heads["heads"][1]["name"].as_str()), (Some(how), Some("ham")));
        let sum = |key: &str| (0..3).map(|k| heads["heads"][k][key].as_f64().unwrap()).sum::<f64>();
        assert_eq!(sum("nonzeros"), report["nonzeros"].as_f64().unwrap());
        assert!((sum("loss") - report["loss"].as_f64().unwrap()).abs() < 1e-12);
        assert!(report["objective"].as_f64() < report["baseline"].as_f64());

        let probabilities = lines(&folder.ok("predict m data.svm --as probability").stdout);
        assert_eq!((probabilities.len(), probabilities[0].join(" ")), (301, "eggs ham spam".to_string()));
        for line in &probabilities[1..] {
            let sum: f64 = line.iter().map(|p| p.parse::<f64>().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-12 && line.len() == 3);
        }
        let scores = lines(&folder.ok("predict m data.svm --as score").stdout);
        let targets = folder.ok("predict m data.svm").stdout;
        assert_eq!(targets, folder.ok("predict m data.svm --as target").stdout);
        for (scores, target) in scores[1..].iter().zip(targets.lines()) {
            let scores: Vec<f64> = scores.iter().map(|s| s.parse().unwrap()).collect();
            let best = (0..3).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
            assert_eq!(["eggs", "ham", "spam"][best], target);
        }
        let figures = folder.json("evaluate m data.svm --json");
        assert_eq!(
            (&figures["accuracy"], &figures["macro_f1"], &figures["micro_f1"]),
            (&1.0.into(), &1.0.into(), &1.0.into())
        );
        assert_eq!(
            (&figures["classes"][2]["name"], &figures["classes"][2]["support"]),
            (&"spam".into(), &100.into())
        );
        let loss = figures[if how == "softmax" { "log_loss" } else { "loss" }].as_f64().unwrap();
        assert!((loss - report["loss"].as_f64().unwrap()).abs() < 1e-6, "of the same rows");

        let weights = lines(&folder.ok("inspect m --tsv").stdout);
        assert_eq!(weights.iter().filter(|line| line[1] == "(bias)").count(), 3);
        assert_eq!(weights.len(), 3 + report["nonzeros"].as_u64().unwrap() as usize);
        let own = weights.iter().find(|line| line[0] == "spam" && line[1] == "5").unwrap();
        assert!(own[2].parse::<f64>().unwrap() > 0.0);
        assert!(folder.ok("inspect m --top 1").stdout.contains("spam, bias"));
    }
}

#[test]
fn figures_are_those_of_a_count_by_hand() {
    // A model of hand: whoever has feature 1 is a, 2 b, 3 c.
    let folder = Folder::with("train.svm", "a 1:1\nb 2:1\nc 3:1\n".repeat(50));
    folder.ok("train train.svm -o m");
    folder.write("test.svm", "a 1:1\na 1:1\na 2:1\nb 2:1\nc 2:1\nc 3:1\n");
    let figures = folder.json("evaluate m test.svm --json");
    let near = |value: &serde_json::Value, expected: f64| {
        assert!((value.as_f64().unwrap() - expected).abs() < 1e-12, "{figures}")
    };
    near(&figures["accuracy"], 4.0 / 6.0);
    let b = &figures["classes"][1];
    near(&b["precision"], 1.0 / 3.0);
    near(&b["recall"], 1.0);
    near(&b["f1"], 0.5);
    near(&figures["macro_recall"], (2.0 / 3.0 + 1.0 + 0.5) / 3.0);
    folder.refuses("evaluate m unknown.svm", 1, &["unknown.svm"]);
    folder.write("unknown.svm", "a 1:1\nd 1:1\n");
    let told = folder.ok("evaluate m unknown.svm").stderr;
    assert!(told.contains("warning:") && told.contains("'d' at unknown.svm:2"), "{told}");
    folder.refuses("train train.svm --validation unknown.svm", 1, &["unknown.svm:2", "'d'"]);
}

#[test]
fn labels_are_learnt_predicted_and_measured_and_a_row_may_have_none() {
    let folder = Folder::with("data.svm", labels(240));
    let output = folder.ok("train data.svm -o m --json");
    assert!(output.stderr.contains("--multilabel"), "a note that nobody asked: {}", output.stderr);
    let asked = folder.ok("train data.svm --multilabel -o asked --json");
    assert!(!asked.stderr.contains("--multilabel"));
    assert_eq!(folder.read("m"), folder.read("asked"));
    let predicted = folder.ok("predict m data.svm").stdout;
    let truth: Vec<String> = labels(240)
        .lines()
        .map(|line| {
            let mut names: Vec<u32> =
                line.split(' ').next().unwrap().split(',').filter_map(|name| name.parse().ok()).collect();
            names.sort_unstable();
            names.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
        })
        .collect();
    assert_eq!(
        predicted.lines().collect::<Vec<_>>(),
        truth,
        "sorted by value, nothing for rows without labels"
    );
    let figures = folder.json("evaluate m data.svm --json");
    assert_eq!(
        (&figures["micro_f1"], &figures["macro_f1"], &figures["accuracy"]),
        (&1.0.into(), &1.0.into(), &1.0.into())
    );
    let own = |line: &String| line.split(',').filter(|name| !name.is_empty()).count() as f64;
    let (first, three) = (
        truth.iter().map(|t| own(t).min(1.0)).sum::<f64>() / 240.0,
        truth.iter().map(|t| own(t) / 3.0).sum::<f64>() / 240.0,
    );
    assert!((figures["precision_at_1"].as_f64().unwrap() - first).abs() < 1e-12);
    assert!((figures["precision_at_3"].as_f64().unwrap() - three).abs() < 1e-12);
    assert_eq!(lines(&folder.ok("predict m data.svm --as probability").stdout)[0], ["3", "17", "200"]);
    // From the cache, the same; rows without a target are still refused where targets are no sets.
    folder.ok("train data.svm -o again --json");
    assert_eq!(folder.read("m"), folder.read("again"));
    folder.refuses("train data.svm --multiclass ovr", 1, &["data.svm:1", "no target", "--multilabel"]);
    folder.write("new.svm", "3,99 2:1 9:1\n");
    let output = folder.ok("evaluate m new.svm --json");
    assert!(output.stderr.contains("'99'"), "{}", output.stderr);
    let figures: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&figures["micro_recall"], &figures["accuracy"]), (&0.5.into(), &0.0.into()), "99 is missed");
}

#[test]
fn tuned_thresholds_are_kept_and_never_worse_on_the_rows_they_were_tuned_on() {
    // Label b is rare, and its word says little: at 0 it is never given.
    let text: String = (0..300)
        .map(|i| {
            let labels = match i % 10 {
                0 => "a,b",
                1 | 2 => "a",
                3..=5 => "c",
                _ => "",
            };
            format!("{labels} {}:1 {}:1\n", 1 + i % 3, 4 + i % 5)
        })
        .collect();
    let folder = Folder::with("data.svm", text);
    folder.ok("train data.svm -o plain --l1 1e-3");
    folder.ok("train data.svm -o tuned --l1 1e-3 --thresholds tuned");
    let [plain, tuned] =
        ["plain", "tuned"].map(|model| folder.json(&format!("evaluate {model} data.svm --json")));
    for k in 0..3 {
        let f1 = |figures: &serde_json::Value| figures["labels"][k]["f1"].as_f64().unwrap();
        assert!(f1(&tuned) >= f1(&plain));
    }
    assert!(tuned["macro_f1"].as_f64() > plain["macro_f1"].as_f64());
    assert!(folder.json("inspect tuned --json")["labels"][0]["threshold"].is_number());
    folder.refuses(
        "train no-such-file --multiclass ovr --thresholds tuned",
        2,
        &["--thresholds is for labels"],
    );
    folder.write("words.svm", three_classes(30));
    folder.refuses("train words.svm --thresholds tuned", 2, &["--thresholds is for labels"]);
    folder.write("two.svm", "1 1:1\n-1 2:1\n");
    folder.refuses("train two.svm --thresholds tuned", 2, &["--thresholds is for labels"]);
}

#[test]
fn labels_that_are_none_are_refused_and_labels_named_twice_count_once() {
    let folder = Folder::with("data.svm", "1,2 1:1\n1,,2 1:1\n");
    folder.refuses("train data.svm", 1, &["data.svm:2", "'1,,2'", "empty"]);
    folder.write("data.svm", "1,2 1:1\n1, 1:1\n");
    folder.refuses("train data.svm", 1, &["data.svm:2", "'1,'"]);
    folder.write("data.svm", "1,2 1:1\n1,inf 1:1\n");
    folder.refuses("train data.svm", 1, &["data.svm:2", "not finite"]);
    folder.write("data.svm", "1,1,2 1:1\n2,+1.0 1:1\n2 2:1\n");
    let output = folder.ok("train data.svm -o m --json");
    assert!(output.stderr.contains("1 rows name a label twice"), "{}", output.stderr);
    assert_eq!(folder.json("inspect m --json")["labels"][0]["name"], "1", "+1.0 is 1");
    folder.write("none.svm", " 1:1\n 2:1\n");
    folder.refuses("train none.svm --multilabel", 1, &["none.svm", "no row has a label"]);
}

#[test]
fn odd_numbers_of_classes_are_learnt_with_a_note_or_refused() {
    let folder = Folder::with("data.svm", three_classes(60) + "toast 8:1\n");
    let output = folder.ok("train data.svm --solver sgd -o m");
    assert!(
        output.stderr.contains("1 of 4 classes have one row only, the first of them 'toast'"),
        "{}",
        output.stderr
    );
    assert_eq!(folder.ok("predict m data.svm").stdout.lines().last(), Some("toast"));
    folder.write("ids.svm", (0..20).map(|i| format!("c{i} {}:1\n", i + 1)).collect::<String>());
    let output = folder.ok("train ids.svm -o m");
    assert!(output.stderr.contains("20 classes in 20 rows"), "{}", output.stderr);
    folder.write("one.svm", "a 1:1\na 2:1\n");
    folder.refuses("train one.svm --multiclass ovr", 1, &["one.svm", "one class only"]);
    folder.write("two.svm", "a 1:1\nb 2:1\n".repeat(20));
    assert_eq!(folder.json("train two.svm --multiclass softmax --json")["heads"]["heads"][1]["name"], "b");
    folder.refuses("train two.svm --multiclass softmax --loss hinge", 2, &["softmax", "hinge"]);
    folder.refuses("train two.svm --multiclass ovr --loss squared", 2, &["squared", "classes"]);
    folder.refuses(
        "train two.svm --multiclass ovr --update dense",
        2,
        &["--update is not for more than two classes", "leave --update out"],
    );
    folder.refuses("train two.svm --multiclass ovr --multilabel", 2, &["--multi"]);
    folder.refuses("tune data.svm --solver sgd", 2, &["more than two classes", "train"]);
}

#[test]
fn a_class_that_diverges_is_dropped_and_named_and_the_others_go_on() {
    // Rows of a and b are alike, so that their heads are thrown to and fro; to c both say no, and it has a word of its own.
    let folder = Folder::with("data.svm", "a 1:100\nb 1:100\nc 2:0.1\n".repeat(300));
    let train = "train data.svm --multiclass ovr --loss squared-hinge --schedule constant --eta0 0.01 --epochs 3 --no-bias";
    let output = folder.ok(&format!("{train} -o m --json"));
    for class in ["'a'", "'b'"] {
        assert!(
            output.stderr.contains(&format!("warning: class {class} diverged and was dropped")),
            "{}",
            output.stderr
        );
    }
    let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["heads"]["dropped"], serde_json::json!(["a", "b"]));
    let weights = lines(&folder.ok("inspect m --tsv").stdout);
    assert!(weights.iter().all(|line| line[1] == "(bias)" || line[0] == "c"));
    assert!(weights.iter().any(|line| line[0] == "c" && line[1] == "2"));
    folder.write("all.svm", "a 1:100\nb 1:100\n".repeat(300));
    let all = train.replace("data.svm", "all.svm");
    folder.refuses(&all, 1, &["every class", "--eta0"]);
}

#[test]
fn memory_is_said_before_and_what_does_not_fit_is_refused() {
    let text: String = (0..200).map(|i| format!("c{} {}:1 100000:1\n", i % 80, 1 + 997 * (i % 90))).collect();
    let folder = Folder::with("data.svm", text);
    let output = folder.ok("train data.svm --multiclass ovr --memory 62M --threads 1 -o small");
    assert!(output.stderr.contains("80 classes, 16 at a time: memory for rows"), "{}", output.stderr);
    folder.ok("train data.svm --multiclass ovr -o large");
    assert_eq!(folder.read("small"), folder.read("large"), "groups change nothing");
    folder.refuses(
        "train data.svm --multiclass softmax --solver sgd --memory 62M",
        2,
        &["100000 features and 80 classes", "--multiclass ovr", "--memory", "give "],
    );
    folder.refuses("train data.svm --multiclass ovr --memory 1M", 2, &["--memory", "--hash-bits"]);
    // Newton's method on a softmax has numbers per row and class: 20,000 rows of 10,000 classes take gigabytes.
    let rows: String = (0..20_000).map(|i| format!("c{} {}:1\n", i % 10_000, 1 + i % 7)).collect();
    folder.write("many.svm", rows);
    let limit = "--multiclass softmax --memory 1G --l2 0.1";
    folder.refuses(
        &format!("train many.svm {limit}"),
        2,
        &["MB", "--multiclass ovr", "--solver sgd", "--memory"],
    );
}

#[test]
fn the_same_model_on_any_number_of_threads_and_class_weights_weigh() {
    let folder = Folder::with("data.svm", three_classes(90) + &"ham 1:1 3:1\n".repeat(60));
    for how in ["ovr", "softmax"] {
        folder.ok(&format!("train data.svm --multiclass {how} --threads 1 -o one"));
        folder.ok(&format!("train data.svm --multiclass {how} --threads 3 -o three"));
        assert_eq!(folder.read("one"), folder.read("three"));
    }
    // Feature 1 is of three rows of ham for each of eggs; balanced, of as many.
    folder.write("data.svm", "eggs 1:1\n".repeat(20) + &"ham 1:1\n".repeat(60) + &"spam 2:1\n".repeat(40));
    folder.write("new.svm", "eggs 1:1\n");
    for (flags, expected) in
        [("", 0.75), ("--class-weight balanced", 0.5), ("--class-weight ham=0.1", 20.0 / 26.0)]
    {
        folder.ok(&format!("train data.svm --multiclass softmax --epochs 50 {flags} -o m"));
        let line = &lines(&folder.ok("predict m new.svm --as probability").stdout)[1];
        let share: f64 = line[usize::from(expected < 0.76)].parse().unwrap(); // of ham, at last of eggs
        assert!((share - expected).abs() < 0.05, "{flags}: {line:?}");
    }
    folder.refuses("train data.svm --class-weight hamm=2", 2, &["'hamm'", "did you mean 'ham'?"]);
}

#[test]
fn words_scaling_and_tables_work_with_classes() {
    let text: String = (0..120)
        .map(|i| {
            let (class, word) = [("news", "election"), ("sport", "football"), ("food", "pasta")][i % 3];
            format!("{class}\tthe {word} of day {i}\n")
        })
        .collect();
    let folder = Folder::with("data.txt", text);
    folder.ok("train data.txt --text idf=yes --l1 1e-4 -o m");
    assert_eq!(folder.json("evaluate m data.txt --json")["accuracy"], 1.0);
    assert!(folder.ok("inspect m --top 3").stdout.contains("pasta"));
    let table: String =
        (0..90).map(|i| format!("{},{}\n", 1000 * (i % 3) + i % 7, ["low", "mid", "top"][i % 3])).collect();
    folder.write("data.csv", "income,class\n".to_string() + &table);
    folder.ok("train data.csv --scale maxabs --epochs 200 -o m");
    assert!(folder.json("evaluate m data.csv --json")["accuracy"].as_f64().unwrap() > 0.6);
}

#[test]
fn what_needs_one_set_of_weights_says_so_to_models_of_many() {
    let folder = Folder::with("three.svm", "a 1:1\nb 2:1\nc 3:1\n".repeat(20));
    folder.ok("train three.svm -o m --quiet");
    folder.write("two.svm", "a 1:1\nb 2:1\n".repeat(20));
    let run = folder.run("train two.svm --start m");
    assert!(run.code == 2 && run.stderr.contains("it tells other classes apart"), "{}", run.stderr);
}

#[test]
fn classes_are_trained_to_the_optimum_with_a_certificate_and_from_a_start() {
    let row = |i: usize| format!("{} {}:1 {}:0.5\n", ["a", "b", "c"][(i + i / 7) % 3], 1 + i % 3, 4 + i % 5);
    let folder = Folder::with("three.svm", (0..120).map(row).collect::<String>());
    for how in ["softmax", "ovr"] {
        let flags =
            format!("--multiclass {how} --solver newton --l1 1e-3 --l2 1e-3 --tolerance 1e-6 --quiet --json");
        let found = folder.json(&format!("train three.svm {flags} -o m"));
        assert!(found["relative_gap"].as_f64().unwrap() <= 2e-6, "{found}");
        assert_eq!((found["stop"].as_str(), found["solver"].as_str()), (Some("gap"), Some("newton")));
        let again = folder.json(&format!("train three.svm {flags} --start m"));
        assert!(again["epochs"].as_u64() <= Some(1), "{again}");
        let text = folder
            .ok(&format!("train three.svm --multiclass {how} --solver newton --l1 1e-3 --quiet"))
            .stdout;
        assert!(
            text.contains("above the optimum (lower bound ") && text.contains("at the tolerance"),
            "{text}"
        );
    }
    folder.refuses(
        "train three.svm --multiclass ovr --start m --solver sgd --quiet",
        2,
        &["--start is not for"],
    );
}

#[test]
fn classes_that_a_line_separates_are_learnt_by_default() {
    let folder = Folder::with("data.svm", "a 1:1\nb 2:1 1:0.1\nc 3:1\n".repeat(30));
    for flags in ["", "--multiclass ovr"] {
        folder.ok(&format!("train data.svm {flags} -o m"));
        assert_eq!(folder.json("evaluate m data.svm --json")["accuracy"], 1.0, "{flags}");
    }
}
