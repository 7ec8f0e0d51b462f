//! `lazyglm certify`: the same figures as in training, from a model file and the data alone.

use crate::common::{Folder, classes, text};
use serde_json::Value;

/// Counts of words, some of which speak for a class.
fn rows(count: usize) -> String {
    let mut text = String::new();
    let mut state = 7u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for _ in 0..count {
        let class = draw(2);
        let first = 1 + class * 3 + draw(4);
        let second = 10 + draw(30);
        let value = 1 + draw(5);
        text += &format!("{} {first}:{value} {second}:1.5\n", if class == 1 { "yes" } else { "no" });
    }
    text
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

fn near(a: f64, b: f64, to: f64) {
    assert!((a - b).abs() <= to * a.abs().max(1e-9), "{a} {b}");
}

#[test]
fn it_says_what_training_said_whatever_the_format_and_the_scale() {
    let folder = Folder::with("a.svm", rows(400));
    folder.ok("convert a.svm a.vw");
    let text: String = rows(300)
        .lines()
        .map(|line| format!("{}\n", line.replacen(' ', "\t", 1).replace(':', " ")))
        .collect();
    folder.write("a.txt", text);
    for flags in [
        "a.svm",
        "a.svm --scale std",
        "a.svm --scale maxabs --precision f64",
        "a.svm --hash-bits 4",
        "a.svm --class-weight yes=3",
        "a.svm --no-bias --loss squared-hinge",
        "a.vw --loss hinge",
        "a.txt",
        "a.txt --text idf=yes",
        "a.txt --text idf=yes,norm=none",
        "a.txt --text idf=yes,norm=none --scale maxabs",
    ] {
        let trained =
            folder.json(&format!("train {flags} --l1 1e-3 --l2 1e-3 --epochs 20 -o m --json --quiet"));
        let data = flags.split(' ').next().unwrap();
        let kept: Vec<&str> = ["--scale std", "--scale maxabs", "--class-weight yes=3"]
            .into_iter()
            .filter(|flag| flags.contains(flag))
            .collect();
        let proved = folder.json(&format!("certify m {data} {} --json --quiet", kept.join(" ")));
        near(number(&trained, "objective"), number(&proved, "objective"), 1e-7);
        near(number(&trained, "dual"), number(&proved, "dual"), 1e-6);
        near(number(&trained, "violation"), number(&proved, "kkt"), 1e-4);
        assert!(number(&trained, "relative_gap") < 0.9 || flags.contains("hinge"), "{flags}: {trained}");
    }
}

#[test]
fn weights_from_elsewhere_are_judged_by_the_same_rule() {
    let folder = Folder::with("a.svm", rows(300));
    folder.ok("train a.svm --l1 1e-2 -o m --quiet");
    let own = folder.json("certify m a.svm --json");
    folder.write("w.tsv", folder.ok("inspect m --tsv").stdout);
    assert_eq!(folder.json("certify m a.svm --weights w.tsv --json"), own);
    folder.write("none.tsv", "(bias)\t0\n");
    let none = folder.json("certify m a.svm --weights none.tsv --json");
    near(number(&none, "objective"), std::f64::consts::LN_2, 1e-12);
    assert!(number(&none, "dual") <= number(&own, "objective"));
    folder.write("far.tsv", "1\t5\n4000000000\t1\n");
    let far = folder.json("certify m a.svm --weights far.tsv --json");
    assert!(number(&far, "objective") > number(&own, "objective"));
    folder.refuses("certify m a.svm --weights a.svm", 1, &["a.svm:1", "no tab"]);
    folder.write("word.tsv", "spam\t1\n");
    folder.refuses("certify m a.svm --weights word.tsv", 1, &["word.tsv:1", "'spam' is not an index"]);
    folder.write("twice.tsv", "1\t1\n1\t2\n");
    folder.refuses("certify m a.svm --weights twice.tsv", 1, &["twice.tsv:2", "second time"]);
}

#[test]
fn sample_weights_and_other_penalties_are_part_of_the_problem() {
    let folder = Folder::with("a.svm", rows(200));
    let weights: String = (0..200).map(|k| format!("{}\n", k % 4)).collect();
    folder.write("weights", weights);
    let trained = folder.json("train a.svm --sample-weights weights --l1 1e-2 --l2 0 -o m --json --quiet");
    let proved = folder.json("certify m a.svm --sample-weights weights --json");
    near(number(&trained, "objective"), number(&proved, "objective"), 1e-7);
    near(number(&trained, "dual"), number(&proved, "dual"), 1e-6);
    assert!(folder.ok("certify m a.svm").stderr.contains("rows had weights in training"));
    let unpenalised = folder.json("certify m a.svm --l1 0 --l2 0 --json --quiet");
    assert_eq!((&unpenalised["dual"], &unpenalised["relative_gap"]), (&Value::Null, &Value::Null));
    assert!(number(&unpenalised, "kkt") > 0.0 && unpenalised["worst"].is_string());
    folder.write("few", "1\n2\n");
    folder.refuses("certify m a.svm --sample-weights few", 1, &["2 sample weights for the 200 rows"]);
    folder.refuses(
        "certify m a.svm --l1 -1",
        2,
        &["invalid --l1 '-1': expected a finite number, at least 0"],
    );
    assert!(folder.ok("certify m a.svm --quiet").stdout.contains("a lower bound on the objective"));
}

#[test]
fn heads_have_figures_of_their_own_and_those_of_all_are_the_sums() {
    let class = |i: usize| ["a", "b", "c"][(i + i / 7) % 3];
    let row = |i: usize| format!("{} {}:1 {}:0.5\n", class(i), 1 + i % 3, 4 + i % 5);
    let folder = Folder::with("three.svm", (0..120).map(row).collect::<String>());
    let labels = |i: usize| format!("{},{} {}:1 {}:0.5\n", class(i), class(i / 2), 1 + i % 3, 4 + i % 5);
    folder.write("labels.svm", (0..120).map(labels).collect::<String>());
    for (data, flags) in [
        ("three.svm", "--multiclass softmax"),
        ("three.svm", "--multiclass ovr"),
        ("three.svm", "--multiclass ovr --loss hinge"),
        ("labels.svm", "--multilabel"),
    ] {
        let trained = folder.json(&format!(
            "train {data} {flags} --solver newton --l1 1e-3 --l2 1e-3 --tolerance 1e-6 -o m --json --quiet"
        ));
        let proved = folder.json(&format!("certify m {data} --json"));
        for name in ["objective", "dual"] {
            near(number(&trained, name), number(&proved, name), 1e-7);
        }
        let heads = proved["heads"].as_array().unwrap();
        assert_eq!(
            heads.iter().map(|head| head["name"].as_str().unwrap()).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        near(heads.iter().map(|head| number(head, "objective")).sum(), number(&proved, "objective"), 1e-9);
        match flags.contains("softmax") {
            true => assert!(heads.iter().all(|head| head["dual"].is_null()), "one bound for all: {proved}"),
            false => near(heads.iter().map(|head| number(head, "dual")).sum(), number(&proved, "dual"), 1e-9),
        }
        let text = folder.ok(&format!("certify m {data}")).stdout;
        assert!(text.contains("  a: objective ") && text.contains("a lower bound"), "{text}");
    }
    folder.refuses("certify m three.svm --weights three.svm", 2, &["3 classes or labels"]);
    folder.write("more.svm", "a 1:1\nb 2:1\na,z 3:1\n");
    folder.refuses("certify m more.svm", 1, &["more.svm:3", "the label 'z' is none of those"]);
    folder.ok("train three.svm -o m --quiet");
    folder.refuses("certify m more.svm", 1, &["more.svm:3", "'a,z' is none of the 3 classes"]);
    folder.write("offsets", "1\n".repeat(120));
    folder.refuses("certify m three.svm --offset offsets", 2, &["--offset is not for more than two classes"]);
}

#[test]
fn no_certificate_leaves_out_the_lower_bound_and_nothing_else() {
    let folder = Folder::with("a.svm", text(&classes(300, 20, 1)));
    for solver in ["sgd", "newton", "adagrad"] {
        let run = format!("train a.svm --solver {solver} --l1 1e-3 --json --quiet");
        let (with, without) = (folder.json(&run), folder.json(&format!("{run} --no-certificate")));
        assert!(with["dual"].is_number() && with["relative_gap"].is_number());
        assert!(without["dual"].is_null() && without["relative_gap"].is_null(), "{solver}");
        for key in ["objective", "violation", "baseline", "l1_max", "nonzeros", "stop"] {
            assert_eq!(with[key], without[key], "{solver}: {key}");
        }
    }
    let told = folder.ok("train a.svm --solver sgd --no-certificate").stdout;
    assert!(!told.contains("lower bound"), "{told}");
}
