//! What `predict` prints beside and instead of a number: copied columns, CSV and JSON, the best classes, thresholds.

use crate::common::{Dice, Folder, close};
use serde_json::Value;

/// A table of people with a category, a number and a name that is no feature; one of two classes.
fn people(rows: usize) -> Vec<(String, f64, &'static str, &'static str)> {
    let mut dice = Dice(5);
    let row = |k: usize| {
        let (age, city) = (dice.value(), ["Oslo", "Bergen", "Vik, old"][dice.below(3) as usize]);
        let bought = age + f64::from(city == "Oslo") + 0.3 * dice.value() > 0.4;
        (format!("p{k}"), age, city, if bought { "yes" } else { "no" })
    };
    (0..rows).map(row).collect()
}

fn csv(rows: &[(String, f64, &str, &str)]) -> String {
    let row = |(id, age, city, y): &(String, f64, &str, &str)| format!("{id},{age},\"{city}\",{y}\n");
    "id,age,city,bought\n".to_string() + &rows.iter().map(row).collect::<String>()
}

fn jsonl(rows: &[(String, f64, &str, &str)]) -> String {
    let row = |(id, age, city, y): &(String, f64, &str, &str)| {
        format!("{{\"id\": \"{id}\", \"age\": {age}, \"city\": \"{city}\", \"bought\": \"{y}\"}}\n")
    };
    rows.iter().map(row).collect()
}

fn folder() -> Folder {
    let rows = people(120);
    let folder = Folder::with("train.csv", csv(&rows));
    folder.write("new.csv", csv(&rows[..9]));
    folder.write("new.jsonl", jsonl(&rows[..9]));
    folder.ok("train train.csv --target bought --drop id -o m --l1 0.001");
    folder
}

#[test]
fn columns_are_copied_beside_the_prediction_in_every_form() {
    let folder = folder();
    let plain: Vec<String> = folder.ok("predict m new.csv").stdout.lines().map(str::to_string).collect();
    let tabs = folder.ok("predict m new.csv --columns id,city").stdout;
    let comma = folder.ok("predict m new.csv --columns id,city --as csv").stdout;
    let json = folder.ok("predict m new.csv --columns id,city --as json").stdout;
    assert_eq!(tabs.lines().next(), Some("id\tcity\tprobability"));
    assert_eq!(comma.lines().next(), Some("id,city,probability"));
    for (k, (id, _, city, _)) in people(120)[..9].iter().enumerate() {
        assert_eq!(tabs.lines().nth(k + 1), Some(format!("{id}\t{city}\t{}", plain[k]).as_str()));
        let quoted = if city.contains(',') { format!("\"{city}\"") } else { city.to_string() };
        assert_eq!(comma.lines().nth(k + 1), Some(format!("{id},{quoted},{}", plain[k]).as_str()));
        let object: Value = serde_json::from_str(json.lines().nth(k).unwrap()).unwrap();
        assert_eq!((object["id"].as_str(), object["city"].as_str()), (Some(id.as_str()), Some(*city)));
        assert_eq!(object["probability"].as_f64(), plain[k].parse().ok());
    }
    assert_eq!(folder.ok("predict m new.csv --as csv").stdout.lines().next(), Some("probability"));
    let on_input = folder.run_on(&folder.read("new.csv"), "predict m - --columns id,city").stdout;
    assert_eq!(on_input, tabs, "standard input is read once");
    let target = folder.ok("predict m new.jsonl --columns bought,target --as target,csv").stdout;
    assert_eq!(target.lines().next(), Some("bought,target,prediction"));
    assert!(target.lines().skip(1).all(|line| line.split(',').next() == line.split(',').nth(1)));
}

#[test]
fn keys_of_inner_objects_are_copied() {
    let row = |i: usize| {
        format!("{{\"y\": {}, \"a\": {{\"x\": {i}, \"in\": {{\"k\": \"n{i}\"}}}}, \"a.z\": true}}\n", i % 2)
    };
    let folder = Folder::with("d.jsonl", (0..40).map(row).collect::<String>());
    folder.ok("train d.jsonl -o m --l1 0.01");
    let text = folder.ok("predict m d.jsonl --columns a.in.k,a.x,a.z --as csv").stdout;
    for (i, line) in text.lines().skip(1).enumerate() {
        assert!(line.starts_with(&format!("n{i},{i},true,")), "{line}");
    }
    assert_eq!(text.lines().count(), 41);
}

#[test]
fn tags_of_vowpal_wabbit_and_targets_of_svmlight_are_copied() {
    let folder = Folder::with("d.vw", "1 'a7 |f x:1\n-1 2 b7|f y:1\n\n1 |f x:2\n-1 c| y\n".repeat(9));
    folder.ok("train d.vw -o m --l1 0.001");
    let text = folder.ok("predict m d.vw --columns tag,target --as target").stdout;
    let lines: Vec<&str> = text.lines().take(5).collect();
    assert_eq!(lines[0], "tag\ttarget\tprediction");
    let cells = |line: &str| line.split('\t').take(2).map(str::to_string).collect::<Vec<_>>();
    assert_eq!(
        [1, 2, 3, 4].map(|k| cells(lines[k])),
        [["a7", "1"], ["b7", "-1"], ["", "1"], ["c", "-1"]].map(|pair| pair.map(String::from).to_vec())
    );
    folder.write("d.svm", "1 1:1\n-1 2:1\n".repeat(9));
    folder.ok("train d.svm -o s --l1 0.001");
    folder.write("bare.svm", "1:1\n1 2:1\n");
    let text = folder.ok("predict s bare.svm --columns target --as target").stdout;
    assert_eq!(text, "target\tprediction\n\t1\n1\t-1\n");
    folder.refuses("predict s d.svm --columns id", 2, &["no column 'id' to copy", "target"]);
}

#[test]
fn a_column_that_is_not_there_is_an_error_before_any_output() {
    let folder = folder();
    for (file, place) in [("new.csv", "new.csv"), ("new.jsonl", "new.jsonl")] {
        folder.refuses(
            &format!("predict m {file} --columns citty"),
            2,
            &[place, "'citty'", "did you mean 'city'"],
        );
        folder.refuses(&format!("predict m {file} --columns citty -o out"), 2, &["citty"]);
    }
    folder.write("odd.csv", "age,city,score\n1,Oslo,7\n");
    let two = ["two columns named 'score'", "--columns"];
    folder.refuses("predict m odd.csv --columns score --as score", 2, &two);
    folder.refuses("predict m new.csv --as score,target", 2, &["--as"]);
    folder.refuses("predict m new.csv --as csv,json", 2, &["--as"]);
}

#[test]
fn the_same_columns_give_the_same_numbers_in_another_format() {
    let folder = folder();
    let expected = folder.ok("predict m new.csv --as score").stdout;
    let output = folder.ok("predict m new.jsonl --as score");
    assert_eq!(output.stdout, expected);
    let figures = |file: &str| folder.ok(&format!("evaluate m {file} --json")).stdout;
    assert_eq!(figures("new.jsonl"), figures("new.csv"));
    let bare =
        |(_, age, city, _): &(String, f64, &str, &str)| format!("{{\"city\": \"{city}\", \"age\": {age}}}\n");
    folder.write("bare.jsonl", people(120)[..9].iter().map(bare).collect::<String>());
    for (a, b) in folder.scores("m", "bare.jsonl").iter().zip(folder.scores("m", "new.csv")) {
        assert!(close(*a, b, 1e-13), "without a target, and keys in another order");
    }
    // A category of numbers is a category in JSON, too.
    let zips: String = (0..60).map(|k| format!("{},{}\n", k % 2, [501, 7000][k % 2])).collect();
    folder.write("zips.csv", format!("y,zip\n{zips}"));
    folder.write("zips.jsonl", "{\"zip\": 7000}\n{\"zip\": 501}\n");
    folder.ok("train zips.csv --categorical zip -o z --l1 0.001");
    assert_eq!(folder.ok("predict z zips.jsonl --as target").stdout, "1\n0\n");
}

#[test]
fn the_best_classes_come_with_their_probabilities() {
    let folder = Folder::with("d.svm", "a 1:1\nb 2:1\nc 3:1\nc 3:1 1:0.4\n".repeat(20));
    folder.ok("train d.svm -o m --l1 0.001");
    let all = folder.ok("predict m d.svm --as probability").stdout;
    let best = folder.ok("predict m d.svm --top 2").stdout;
    let scores = folder.ok("predict m d.svm --top 9 --as score,json").stdout;
    assert_eq!(best.lines().next(), Some("class_1\tprobability_1\tclass_2\tprobability_2"));
    let names = ["a", "b", "c"];
    for (k, line) in all.lines().skip(1).enumerate() {
        let mut found: Vec<(&str, &str)> = names.into_iter().zip(line.split('\t')).collect();
        found.sort_by(|x, y| y.1.parse::<f64>().unwrap().total_cmp(&x.1.parse().unwrap()));
        let expected = format!("{}\t{}\t{}\t{}", found[0].0, found[0].1, found[1].0, found[1].1);
        assert_eq!(best.lines().nth(k + 1), Some(expected.as_str()));
        let object: Value = serde_json::from_str(scores.lines().nth(k).unwrap()).unwrap();
        assert_eq!(object["top"].as_array().unwrap().len(), 3);
        assert_eq!(object["top"][0]["class"], found[0].0);
    }
    let object: Value = serde_json::from_str(
        folder.ok("predict m d.svm --as probability,json").stdout.lines().next().unwrap(),
    )
    .unwrap();
    let sum: f64 = names.iter().map(|name| object["probability"][name].as_f64().unwrap()).sum();
    assert!(close(sum, 1.0, 1e-12));
    folder.write("two.svm", "no 1:1\nyes 2:1\n".repeat(20));
    folder.ok("train two.svm -o two --l1 0.001");
    let p: Vec<f64> = folder.ok("predict two two.svm").stdout.lines().map(|p| p.parse().unwrap()).collect();
    let top = folder.ok("predict two two.svm --top 1 --as csv").stdout;
    let line = |k: usize| top.lines().nth(k + 1).unwrap().split_once(',').unwrap();
    assert_eq!((line(0).0, line(1).0), ("no", "yes"));
    assert!(close(line(0).1.parse().unwrap(), 1.0 - p[0], 1e-12));
    folder.write("numbers.svm", "1.5 1:1\n2.5 2:1\n7 1:1\n".repeat(9));
    folder.ok("train numbers.svm -o n --l1 0.001");
    folder.refuses("predict n numbers.svm --top 2", 2, &["--top", "numbers"]);
}

#[test]
fn a_threshold_moves_the_line_between_two_classes_and_between_labels() {
    let folder = folder();
    let p: Vec<f64> = folder.ok("predict m new.csv").stdout.lines().map(|p| p.parse().unwrap()).collect();
    for threshold in [0.0, 0.2, 0.5, 0.9, 1.0] {
        let text = folder.ok(&format!("predict m new.csv --threshold {threshold}")).stdout;
        let expected: Vec<&str> = p.iter().map(|&p| if p > threshold { "yes" } else { "no" }).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
    folder.refuses("predict m new.csv --threshold 1.5", 2, &["--threshold", "from 0 to 1"]);
    folder.refuses("predict m new.csv --threshold nan", 2, &["--threshold"]);
    folder.refuses("predict m new.csv --threshold 0.5 --as score", 2, &["--threshold", "--as target"]);
    folder.write("labels.svm", "a,b 1:1\nb 2:1\nc 3:1\na,c 1:1 3:1\n".repeat(20));
    folder.ok("train labels.svm -o l --l1 0.001");
    let all = folder.ok("predict l labels.svm --as probability").stdout;
    let chosen = folder.ok("predict l labels.svm --threshold 0.3 --as json").stdout;
    for (line, object) in all.lines().skip(1).zip(chosen.lines()) {
        let above = ["a", "b", "c"]
            .into_iter()
            .zip(line.split('\t'))
            .filter(|(_, p)| p.parse::<f64>().unwrap() > 0.3);
        let above: Vec<Value> = above.map(|(name, _)| name.into()).collect();
        assert_eq!(serde_json::from_str::<Value>(object).unwrap()["prediction"], Value::Array(above));
    }
    folder.write("three.svm", "a 1:1\nb 2:1\nc 3:1\n".repeat(9));
    folder.ok("train three.svm -o t --l1 0.001");
    folder.refuses("predict t three.svm --threshold 0.5", 2, &["--threshold is for two classes"]);
}

#[test]
fn probabilities_are_never_nan_even_of_huge_scores() {
    let folder = Folder::with("d.svm", "a 1:1\nb 2:1\nc 3:1\n".repeat(20));
    folder.write("two.svm", "a 1:1\nb 2:1\n".repeat(20));
    folder.write("huge.svm", "1:1e300 2:-1e300\n1:-1e300 3:1e300\n1:1e300 2:1e300 3:1e300\n");
    for (flags, data) in [("", "d"), ("--multiclass ovr", "d"), ("", "two"), ("--loss modified-huber", "two")]
    {
        folder.ok(&format!("train {data}.svm {flags} -o m --l1 0.001 --quiet"));
        let text = folder.ok("predict m huge.svm --as probability").stdout;
        let numbers = text.lines().skip(usize::from(data == "d")).flat_map(|line| line.split('\t'));
        for p in numbers.map(|p| p.parse::<f64>().unwrap()) {
            assert!((0.0..=1.0).contains(&p), "{flags}: {p}");
        }
    }
}

#[test]
fn numbers_are_limited_to_the_training_targets_where_that_helps_on_held_out_rows() {
    // Targets stop at 0 and 1, and the best line goes beyond them.
    let mut dice = Dice(11);
    let row = |dice: &mut Dice| {
        let x = 3.0 * dice.value();
        format!("{} 1:{x}\n", (x + 0.1 * dice.value()).clamp(0.0, 1.0))
    };
    let folder = Folder::with("d.svm", (0..400).map(|_| row(&mut dice)).collect::<String>());
    folder.write("new.svm", (0..200).map(|_| row(&mut dice)).collect::<String>());
    let output = folder.ok("train d.svm -o m");
    assert!(output.stderr.contains("limited to the range of the training targets"), "{}", output.stderr);
    folder.ok("train d.svm -o free --limit-predictions no");
    let lines = |model: &str, what: &str| -> Vec<f64> {
        let text = folder.ok(&format!("predict {model} new.svm --as {what}")).stdout;
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let (free, limited) = (lines("free", "target"), lines("m", "target"));
    assert_eq!(lines("m", "score"), free, "scores are not limited");
    assert!(free.iter().any(|y| *y < 0.0) && free.iter().any(|y| *y > 1.0));
    assert!(free.iter().zip(&limited).all(|(free, limited)| free.clamp(0.0, 1.0) == *limited));
    let r2 = |model: &str| folder.json(&format!("evaluate {model} new.svm --json"))["r2"].as_f64().unwrap();
    assert!(r2("m") > r2("free") + 0.01, "{} {}", r2("m"), r2("free"));
    // Held-out rows beyond the range speak against it; a flag decides in any case.
    folder.write("low.svm", "0 1:0\n0.5 1:0.5\n1 1:1\n".repeat(9));
    folder.write("high.svm", "2 1:2\n3 1:3\n".repeat(9));
    let flags = "train low.svm -o m --l2 1e-4 --solver newton --validation high.svm";
    assert!(!folder.ok(flags).stderr.contains("limited"));
    assert!(folder.ok(&format!("{flags} --limit-predictions yes")).stderr.contains("from 0 to 1"));
    assert_eq!(folder.ok("predict m high.svm").stdout.lines().next(), Some("1.0"));
    folder.write("two.svm", "a 1:1\nb 2:1\n".repeat(9));
    folder.refuses("train two.svm --limit-predictions yes", 2, &["--limit-predictions", "numbers"]);
}
