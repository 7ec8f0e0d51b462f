//! `predict` and `evaluate`: one line a row, and figures that another count confirms.

use crate::common::{Folder, classes, close, logistic, numbers, text};
use lazyglm::{Dataset, Declared, Model, Scorer};
use serde_json::Value;

fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(150, 30, 1)));
    folder.ok("train data.svm -o m --l1 0.001");
    folder
}

fn lines(text: &str) -> Vec<f64> {
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

#[test]
fn predict_prints_one_line_a_row_to_the_last_bit() {
    let folder = folder();
    let model = Model::load(&folder.path("m")).expect("a model");
    let data =
        Dataset::read(&folder.path("data.svm"), Declared { base: Some(0), count: None }).expect("data");
    let mut scorer = Scorer::new(&model);
    let expected: Vec<f64> = (0..150).map(|i| scorer.score(data.rows.borrow(), i)).collect();
    let printed = folder.ok("predict m data.svm --as score");
    assert_eq!(printed.stderr, "");
    assert_eq!(lines(&printed.stdout).len(), 150);
    for (printed, expected) in lines(&printed.stdout).iter().zip(&expected) {
        assert_eq!(printed.to_bits(), expected.to_bits());
    }
}

#[test]
fn a_score_is_the_bias_and_the_sum_over_weights_that_inspect_shows() {
    let folder = folder();
    let (bias, weights) = folder.weights("m");
    for ((_, row), score) in classes(150, 30, 1).iter().zip(folder.scores("m", "data.svm")) {
        let weight = |j: u32| weights.iter().find(|w| w.0 == j).map_or(0.0, |w| w.1);
        let sum: f64 = row.iter().map(|&(j, x)| weight(j) * x).sum();
        assert!(close(score, bias + sum, 1e-14));
    }
}

#[test]
fn a_prediction_is_a_probability_a_score_or_a_target() {
    let folder = folder();
    let scores = folder.scores("m", "data.svm");
    let probabilities = lines(&folder.ok("predict m data.svm --as probability").stdout);
    let targets = folder.ok("predict m data.svm --as target").stdout;
    assert_eq!(
        folder.ok("predict m data.svm").stdout,
        folder.ok("predict m data.svm --as probability").stdout
    );
    for ((s, p), target) in scores.iter().zip(&probabilities).zip(targets.lines()) {
        assert!(close(*p, 1.0 / (1.0 + (-s).exp()), 1e-14));
        assert_eq!(target, if *s > 0.0 { "1" } else { "-1" });
    }
    assert!(targets.contains("-1\n") && targets.contains("\n1\n"));
    folder.refuses("predict m data.svm --as probabilty", 2, &["probability"]);
}

#[test]
fn classes_are_predicted_by_name_and_rows_may_lack_a_target() {
    let rows = classes(150, 30, 1);
    let word = |y: f64| if y > 0.0 { "spam" } else { "ham" };
    let row = |y: &str, row: &[(u32, f64)]| {
        format!("{y}{}\n", row.iter().map(|(j, x)| format!(" {j}:{x}")).collect::<String>())
    };
    let named: String = rows.iter().map(|(y, pairs)| row(word(*y), pairs)).collect();
    let bare: String = rows.iter().map(|(_, pairs)| row("", pairs)).collect();
    let mixed: String =
        rows.iter().map(|(y, pairs)| row(if *y > 0.0 { "spam" } else { "" }, pairs)).collect();
    let folder = Folder::with("named.svm", &named);
    folder.write("bare.svm", &bare);
    folder.write("mixed.svm", &mixed);
    folder.ok("train named.svm -o m");
    for what in ["probability", "score", "target"] {
        let known = folder.ok(&format!("predict m named.svm --as {what}")).stdout;
        assert_eq!(folder.ok(&format!("predict m bare.svm --as {what}")).stdout, known);
        assert_eq!(folder.ok(&format!("predict m mixed.svm --as {what}")).stdout, known);
        assert_eq!(folder.run_on(bare.as_bytes(), &format!("predict m - --as {what}")).stdout, known);
    }
    let predicted = folder.ok("predict m named.svm --as target").stdout;
    let right = predicted.lines().zip(&rows).filter(|(name, (y, _))| *name == word(*y)).count();
    assert!(right > 120, "{right} of 150 are right");
    folder.refuses("evaluate m bare.svm", 1, &["bare.svm", "target"]);
    folder.refuses("train bare.svm", 1, &["bare.svm", "target"]);
}

#[test]
fn a_row_that_lacks_a_target_is_named_by_its_line_when_one_is_needed() {
    let folder = folder();
    folder.write("gap.svm", "1 1:1\n-1 2:1\n\n3:1 4:1\n-1 1:1\n");
    folder.refuses("train gap.svm", 1, &["gap.svm:4", "target"]);
    folder.refuses("evaluate m gap.svm", 1, &["gap.svm:4", "target"]);
}

#[test]
fn predictions_can_go_to_a_file() {
    let folder = folder();
    let output = folder.ok("predict m data.svm -o out");
    assert_eq!(output.stdout, "");
    assert_eq!(folder.read("out"), folder.ok("predict m data.svm").stdout.as_bytes());
    assert_eq!(folder.files(), ["data.svm", "m", "out"]);
}

#[test]
fn a_loss_without_probabilities_gives_scores_and_says_so_when_asked_for_more() {
    let folder = folder();
    folder.ok("train data.svm --loss hinge -o m");
    assert_eq!(folder.ok("predict m data.svm").stdout, folder.ok("predict m data.svm --as score").stdout);
    folder.refuses("predict m data.svm --as probability", 2, &["hinge", "--as score"]);
    let figures = folder.json("evaluate m data.svm --json");
    assert_eq!((&figures["log_loss"], &figures["calibration_error"]), (&Value::Null, &Value::Null));
}

#[test]
fn regression_predicts_numbers_and_poisson_their_exponential() {
    let counts: Vec<_> = numbers(200, 30, 2).into_iter().map(|(y, row)| (y.abs().round(), row)).collect();
    let folder = Folder::with("counts.svm", text(&counts));
    folder.ok("train counts.svm --loss squared -o m");
    let scores = folder.ok("predict m counts.svm --as score").stdout;
    assert_eq!(folder.ok("predict m counts.svm").stdout, scores);
    assert_eq!(folder.ok("predict m counts.svm --as target").stdout, scores);
    for loss in ["poisson", "tweedie"] {
        folder.ok(&format!("train counts.svm --loss {loss} -o m"));
        let predicted = lines(&folder.ok("predict m counts.svm").stdout);
        let scores = folder.scores("m", "counts.svm");
        assert!(scores.iter().zip(&predicted).all(|(s, p)| close(s.exp(), *p, 1e-14)));
        folder.refuses("predict m counts.svm --as probability", 2, &[loss]);
    }
}

#[test]
fn evaluate_measures_classes_as_another_count_does() {
    let folder = folder();
    let mut test = classes(294, 30, 77);
    test.extend([1.0, -1.0, -1.0, 1.0, 1.0, -1.0].map(|y| (y, vec![]))); // rows that tie
    folder.write("test.svm", text(&test));
    let figures = folder.json("evaluate m test.svm --json");
    let scores = folder.scores("m", "test.svm");
    let pairs: Vec<(f64, bool)> = scores.iter().zip(&test).map(|(s, (y, _))| (*s, *y > 0.0)).collect();
    let count = |keep: &dyn Fn(&(f64, bool)) -> bool| pairs.iter().filter(|pair| keep(pair)).count() as f64;
    let check = |key: &str, expected: f64| {
        let found = figures[key].as_f64().unwrap_or_else(|| panic!("{key} is a number"));
        assert!(close(found, expected, 1e-12), "{key}: {found}, not {expected}");
    };
    assert_eq!(figures["rows"], 300);
    let mean_loss = pairs.iter().map(|&(s, y)| logistic(if y { s } else { -s })).sum::<f64>() / 300.0;
    check("loss", mean_loss);
    check("log_loss", mean_loss);
    check("accuracy", count(&|&(s, y)| (s > 0.0) == y) / 300.0);
    let hits = count(&|&(s, y)| s > 0.0 && y);
    check("f1", 2.0 * hits / (count(&|&(s, _)| s > 0.0) + count(&|&(_, y)| y)));

    let (mut won, mut games) = (0.0, 0.0);
    let mut precisions = 0.0;
    for &(up, _) in pairs.iter().filter(|pair| pair.1) {
        precisions += count(&|&(s, y)| s >= up && y) / count(&|&(s, _)| s >= up);
        for &(down, _) in pairs.iter().filter(|pair| !pair.1) {
            won += if up > down {
                1.0
            } else if up == down {
                0.5
            } else {
                0.0
            };
            games += 1.0;
        }
    }
    check("auc", won / games);
    check("pr_auc", precisions / count(&|&(_, y)| y));

    let mut bins = [0.0; 10]; // positives found minus positives expected
    for &(s, y) in &pairs {
        let p = 1.0 / (1.0 + (-s).exp());
        bins[((p * 10.0) as usize).min(9)] += f64::from(y) - p;
    }
    check("calibration_error", bins.iter().map(|gap: &f64| gap.abs()).sum::<f64>() / 300.0);
}

#[test]
fn evaluate_measures_numbers_as_another_count_does() {
    let train = numbers(200, 30, 3);
    let folder = Folder::with("data.svm", text(&train));
    folder.ok("train data.svm -o m");
    let figures = folder.json("evaluate m data.svm --json");
    let errors: Vec<f64> =
        folder.scores("m", "data.svm").iter().zip(&train).map(|(s, (y, _))| s - y).collect();
    let mean = |values: &dyn Fn(usize) -> f64| (0..200).map(values).sum::<f64>() / 200.0;
    let squared = mean(&|i| errors[i] * errors[i]);
    let centre = mean(&|i| train[i].0);
    let expected = [
        ("loss", 0.5 * squared),
        ("rmse", squared.sqrt()),
        ("mae", mean(&|i| errors[i].abs())),
        ("r2", 1.0 - squared / mean(&|i| (train[i].0 - centre).powi(2))),
    ];
    assert_eq!(figures["rows"], 200);
    for (key, expected) in expected {
        let found = figures[key].as_f64().unwrap_or_else(|| panic!("{key} is a number"));
        assert!(close(found, expected, 1e-12), "{key}: {found}, not {expected}");
    }
    assert!(figures.get("accuracy").is_none() && figures.get("auc").is_none());
}

#[test]
fn evaluate_on_one_class_has_no_auc_and_says_null() {
    let folder = folder();
    folder.write("ones.svm", "1 1:1\n1 2:1\n");
    let figures = folder.json("evaluate m ones.svm --json");
    assert_eq!(figures["auc"], Value::Null);
    assert!(figures["accuracy"].is_number() && figures["loss"].is_number());
    let human = folder.ok("evaluate m ones.svm").stdout;
    for key in ["loss", "accuracy", "auc", "pr_auc", "f1", "log_loss", "calibration_error", "rows"] {
        assert!(human.lines().any(|line| line.starts_with(key)), "{key} in\n{human}");
    }
}
