//! `evaluate`: weights, unknown classes, confusion, groups and intervals, against counts by hand.

use crate::common::{Dice, Folder, Row, classes, close, numbers, text};
use serde_json::Value;

fn of(figures: &Value, key: &str) -> f64 {
    figures[key].as_f64().unwrap_or_else(|| panic!("{key} in {figures}"))
}

fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(150, 30, 1)));
    folder.write("test.svm", text(&classes(200, 30, 7)));
    folder.ok("train data.svm -o m --l1 0.001");
    folder
}

#[test]
fn two_classes_have_precision_recall_brier_and_a_confusion_matrix() {
    let folder = folder();
    let figures = folder.json("evaluate m test.svm --json");
    let scores = folder.scores("m", "test.svm");
    let mut cells = [[0.0; 2]; 2];
    let mut brier = 0.0;
    for (s, (y, _)) in scores.iter().zip(&classes(200, 30, 7)) {
        cells[usize::from(*y > 0.0)][usize::from(*s > 0.0)] += 1.0;
        brier += (1.0 / (1.0 + (-s).exp()) - f64::from(*y > 0.0)).powi(2) / 200.0;
    }
    let [[right, wrong], [missed, hits]] = cells;
    let recalls = [right / (right + wrong), hits / (hits + missed)];
    for (key, expected) in [
        ("precision", hits / (hits + wrong)),
        ("recall", recalls[1]),
        ("balanced_accuracy", 0.5 * (recalls[0] + recalls[1])),
        ("brier", brier),
    ] {
        assert!(close(of(&figures, key), expected, 1e-12), "{key} {figures}");
    }
    let cell = |k: usize| of(&figures["confusion"][k], "rows");
    assert_eq!([0, 1, 2, 3].map(cell), [right, wrong, missed, hits]);
    assert_eq!(figures["confusion"][1]["target"], "-1");
    assert_eq!(figures["confusion"][1]["prediction"], "1");
    let human = folder.ok("evaluate m test.svm").stdout;
    assert!(human.contains("confusion matrix") && human.contains("brier"), "{human}");
}

#[test]
fn rows_of_weight_two_count_as_often_as_if_they_stood_twice() {
    let folder = folder();
    let rows = classes(60, 30, 9);
    let mut dice = Dice(3);
    let weights: Vec<u64> = rows.iter().map(|_| dice.below(3)).collect();
    let repeated: Vec<_> =
        rows.iter().zip(&weights).flat_map(|(row, &n)| vec![row.clone(); n as usize]).collect();
    folder.write("once.svm", text(&rows));
    folder.write("often.svm", text(&repeated));
    folder.write("w", weights.iter().map(|w| format!("{w}\n")).collect::<String>());
    let [once, often] = ["once.svm --sample-weights w", "often.svm"]
        .map(|data| folder.json(&format!("evaluate m {data} --json")));
    for key in [
        "loss",
        "accuracy",
        "auc",
        "pr_auc",
        "f1",
        "precision",
        "recall",
        "log_loss",
        "brier",
        "calibration_error",
    ] {
        assert!(close(of(&once, key), of(&often, key), 1e-12), "{key}\n{once}\n{often}");
    }
    assert_eq!(of(&once, "weight"), weights.iter().sum::<u64>() as f64);
    folder.write("short", "1\n2\n");
    folder.refuses("evaluate m once.svm --sample-weights short", 1, &["short", "60"]);
    folder.write("none", "0\n".repeat(60));
    folder.refuses("evaluate m once.svm --sample-weights none", 1, &["weight"]);
    // Importances of Vowpal Wabbit are weights; classes and numbers have them, too.
    let vw = |weights: &[u64]| -> String {
        let row = |((y, pairs), n): (&Row, &u64)| {
            let class = ["a", "b", "c"][pairs.len() % 3];
            format!("{} {n} | {class} x{}\n", if *y > 0.0 { "p" } else { class }, pairs.len())
        };
        rows.iter().zip(weights).map(row).collect()
    };
    folder.write("train.vw", vw(&[1; 60]));
    folder.write("w.vw", vw(&weights));
    let split = |text: &str| -> String {
        let times = |line: &str| line.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
        text.lines()
            .map(|line| {
                format!("{}\n", line.replacen(&format!(" {} |", times(line)), " 1 |", 1)).repeat(times(line))
            })
            .collect()
    };
    folder.write("often.vw", split(&vw(&weights)));
    folder.ok("train train.vw --multiclass softmax -o v --l1 0.01");
    let [once, often] = ["w.vw", "often.vw"].map(|data| folder.json(&format!("evaluate v {data} --json")));
    for key in ["loss", "accuracy", "balanced_accuracy", "macro_f1", "micro_f1", "log_loss"] {
        assert!(close(of(&once, key), of(&often, key), 1e-12), "{key}\n{once}\n{often}");
    }
}

#[test]
fn a_class_that_training_never_saw_is_an_error_with_a_warning() {
    let folder = folder();
    let known = text(&classes(40, 30, 9));
    folder.write("known.svm", &known);
    folder.write("more.svm", format!("{known}3 1:1\nspam 2:1\n"));
    let [without, with] =
        ["known.svm", "more.svm"].map(|data| folder.json(&format!("evaluate m {data} --json")));
    assert!(close(of(&with, "accuracy"), of(&without, "accuracy") * 40.0 / 42.0, 1e-12));
    for key in ["loss", "log_loss", "auc", "recall", "brier"] {
        assert_eq!(with[key], without[key], "{key}");
    }
    let recalls = 2.0 * of(&without, "balanced_accuracy");
    assert!(close(of(&with, "balanced_accuracy"), recalls / 3.0, 1e-12), "one more class, of recall 0");
    let warned = folder.ok("evaluate m more.svm").stderr;
    assert!(
        warned.contains("warning:") && warned.contains("2 rows") && warned.contains("'3' at more.svm:41"),
        "{warned}"
    );
    folder.write("strange.svm", "ham 1:1\nspam 2:1\n");
    folder.refuses("evaluate m strange.svm", 1, &["strange.svm:1", "'ham'"]);

    folder.write("abc.svm", "a 1:1\nb 2:1\nc 3:1\n".repeat(20));
    folder.ok("train abc.svm -o abc");
    folder.write("abcd.svm", "a 1:1\nb 2:1\nc 3:1\nd 1:1\n");
    let output = folder.ok("evaluate abc abcd.svm --json");
    let figures: Value = serde_json::from_str(&output.stdout).unwrap();
    for key in ["accuracy", "balanced_accuracy", "micro_recall", "macro_recall"] {
        assert_eq!(of(&figures, key), 0.75, "{key}");
    }
    assert!(
        output.stderr.contains("warning:") && output.stderr.contains("'d' at abcd.svm:4"),
        "{}",
        output.stderr
    );
    let last = &figures["confusion"][0];
    assert_eq!((&last["target"], &last["prediction"]), (&"(unknown)".into(), &"a".into()));

    folder.write("labels.svm", "a,b 1:1\nb 2:1\na 1:2\n".repeat(20));
    folder.ok("train labels.svm -o l --multilabel --l1 0.001");
    folder.write("new.svm", "a,x,x,b 1:1\n");
    let output = folder.ok("evaluate l new.svm --json");
    assert!(output.stderr.contains("1 labels never occurred in training"), "counted once: {}", output.stderr);
    let figures: Value = serde_json::from_str(&output.stdout).unwrap();
    assert!(close(of(&figures, "micro_recall"), 2.0 / 3.0, 1e-12), "{figures}");
}

#[test]
fn groups_have_the_figures_of_their_rows_alone() {
    let mut dice = Dice(5);
    let row = |dice: &mut Dice| {
        let (x, city) = (dice.value(), ["Oslo", "Bergen"][dice.below(2) as usize]);
        format!("{x},{city},{}\n", if x + 0.5 * dice.value() > 0.0 { "yes" } else { "no" })
    };
    let rows: Vec<String> = (0..200).map(|_| row(&mut dice)).collect();
    let table = |keep: &dyn Fn(&String) -> bool| {
        "x,city,y\n".to_string() + &rows.iter().filter(|row| keep(row)).cloned().collect::<String>()
    };
    let folder = Folder::with("all.csv", table(&|_| true));
    folder.write("oslo.csv", table(&|row| row.contains("Oslo")));
    folder.ok("train all.csv --drop city -o m --l1 0.001");
    let all = folder.json("evaluate m all.csv --by city --json");
    let oslo = folder.json("evaluate m oslo.csv --json");
    assert_eq!((&all["groups"][0]["group"], &all["groups"][1]["group"]), (&"Bergen".into(), &"Oslo".into()));
    for key in ["rows", "loss", "accuracy", "auc", "f1", "brier"] {
        assert_eq!(all["groups"][1][key], oslo[key], "{key}");
    }
    let human = folder.ok("evaluate m all.csv --by city").stdout;
    assert!(human.lines().any(|line| line.trim_start().starts_with("Oslo")), "{human}");
    folder.refuses("evaluate m all.csv --by town", 2, &["all.csv", "'town'", "city"]);
}

#[test]
fn bootstrap_intervals_hold_the_figure_and_depend_on_the_seed_alone() {
    let folder = folder();
    folder.write("n.svm", text(&numbers(200, 30, 3)));
    folder.ok("train n.svm -o n --l1 0.001");
    folder.write("abc.svm", "a 1:1\nb 2:1\nc 3:1\nb 1:1\n".repeat(20));
    folder.ok("train abc.svm -o abc --l1 0.001");
    for (model, data, keys) in [
        ("m", "test.svm", ["accuracy", "auc", "log_loss"]),
        ("n", "n.svm", ["rmse", "mae", "r2"]),
        ("abc", "abc.svm", ["accuracy", "macro_f1", "log_loss"]),
    ] {
        let line = format!("evaluate {model} {data} --json --bootstrap 200");
        let figures = folder.json(&line);
        for key in keys {
            let [low, high] = [0, 1].map(|k| figures["intervals"][key][k].as_f64().unwrap());
            assert!(low <= of(&figures, key) && of(&figures, key) <= high && low < high, "{key} {figures}");
        }
        assert_eq!(figures, folder.json(&format!("{line} --seed 1")));
        assert_ne!(figures["intervals"], folder.json(&format!("{line} --seed 2"))["intervals"]);
    }
    // The standard error of an accuracy p over n rows is √(p(1 − p)/n).
    let figures = folder.json("evaluate m test.svm --json --bootstrap 2000");
    let p = of(&figures, "accuracy");
    let [low, high] = [0, 1].map(|k| figures["intervals"]["accuracy"][k].as_f64().unwrap());
    let expected = 2.0 * 1.96 * (p * (1.0 - p) / 200.0).sqrt();
    assert!((high - low - expected).abs() < 0.2 * expected, "{low} {high} {expected}");
    folder.refuses("evaluate m test.svm --bootstrap 1", 2, &["--bootstrap"]);
}

#[test]
fn the_two_losses_are_explained_where_they_differ() {
    let folder = folder();
    let told = |line: &str| folder.ok(line).stderr.contains("log_loss is the mean of");
    assert!(!told("evaluate m test.svm"), "they are the same");
    folder.ok("train data.svm --loss modified-huber -o m --l1 0.001");
    assert!(told("evaluate m test.svm"));
    folder.write("abc.svm", "a 1:1\nb 2:1\nc 3:1\n".repeat(20));
    folder.ok("train abc.svm --multiclass ovr -o m");
    assert!(told("evaluate m abc.svm"));
}

#[test]
fn the_brier_score_of_many_classes_is_the_squared_distance_of_probabilities_and_truth() {
    let folder = Folder::with("abc.svm", "a 1:1\nb 2:1\nc 3:1\na 1:1 2:0.5\nb 2:1 3:1\n".repeat(20));
    for how in ["softmax", "ovr"] {
        folder.ok(&format!("train abc.svm -o m --multiclass {how} --l1 0 --l2 1e-2 --loss auto"));
        let predicted = folder.ok("predict m abc.svm --as probability,json --columns target").stdout;
        let rows: Vec<Value> = predicted.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let row = |row: &Value| {
            let one =
                |class: &str| of(&row["probability"], class) - f64::from(u8::from(row["target"] == class));
            ["a", "b", "c"].map(one).iter().map(|error| error * error).sum::<f64>()
        };
        let brier = rows.iter().map(row).sum::<f64>() / rows.len() as f64;
        let figures = folder.json("evaluate m abc.svm --json");
        assert!(close(of(&figures, "brier"), brier, 1e-9) && brier > 0.01, "{how}: {figures} {brier}");
        assert!(folder.ok("evaluate m abc.svm").stdout.contains("brier"));
    }
    folder.write("sets.svm", "a,b 1:1\nb 2:1\nc,a 3:1\n".repeat(20));
    folder.ok("train sets.svm -o s --multilabel --l1 1e-3");
    assert_eq!(folder.json("evaluate s sets.svm --json")["brier"], Value::Null, "a row has no class");
}
