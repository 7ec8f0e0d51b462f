//! `lazyglm stats`: counts that can be counted by hand, and an l1_max that training finds too.

use crate::common::{Dice, Folder, Row, classes, numbers, text};
use serde_json::Value;

fn near(a: &Value, b: &Value) {
    let (a, b) = (a.as_f64().expect("a number"), b.as_f64().expect("a number"));
    assert!((a - b).abs() <= 1e-9 * b.abs() && b > 0.0, "{a} is not {b}");
}

/// What `stats` suggests is what `train` reports.
#[track_caller]
fn agrees(folder: &Folder, data: &str, loss: &str) {
    let stats = folder.json(&format!("stats {data} --json"));
    let report = folder.json(&format!("train {data} --json --precision f64 --epochs 1 --cache off"));
    assert_eq!(stats["l1_max"]["loss"], loss);
    near(&stats["l1_max"]["value"], &report["l1_max"]);
    assert_eq!(stats["rows"], report["rows"]);
}

#[test]
fn small_data_are_counted_in_full() {
    let rows = "spam 1:1 3:2 # a word\nham 1:1\n\nspam 3:2 1:1\nham 1:1 7:-0.5 9:0\n";
    let folder = Folder::with("a.svm", rows);
    let stats = folder.json("stats a.svm --json");
    assert_eq!(
        (&stats["format"], &stats["rows"], &stats["nonzeros"]),
        (&"svmlight".into(), &4.into(), &7.into())
    );
    let features = &stats["features"];
    assert_eq!(
        (&features["distinct"], &features["once"], &features["constant"]),
        (&3.into(), &1.into(), &1.into())
    );
    assert_eq!(
        (&features["lowest"], &features["highest"], &features["kind"]),
        (&1.into(), &9.into(), &"indices".into())
    );
    assert_eq!(stats["density"], 7.0 / 12.0);
    let sizes = &stats["row_nonzeros"];
    let sizes = ["min", "p25", "p50", "p75", "p90", "p99", "max"].map(|key| sizes[key].as_u64());
    assert_eq!(sizes, [1, 1, 2, 2, 2, 2, 2].map(Some));
    let values = &stats["values"];
    assert_eq!((values["min"].as_f64(), values["max"].as_f64()), (Some(-0.5), Some(2.0)));
    assert_eq!(
        (&values["ones"], &values["negative"], &values["whole"]),
        (&(4.0 / 7.0).into(), &(1.0 / 7.0).into(), &false.into())
    );
    let targets = &stats["targets"];
    assert_eq!(
        (&targets["kind"], &targets["distinct"], &targets["missing"]),
        (&"words".into(), &2.into(), &0.into())
    );
    assert_eq!(
        (&targets["classes"][0]["target"], &targets["classes"][0]["rows"]),
        (&"ham".into(), &2.into())
    );
    assert_eq!((&stats["duplicates"], &stats["weights"]), (&1.into(), &Value::Null));
    // A feature's slope is a quarter of: its sum in one class less that in the other, halved.
    near(&stats["l1_max"]["value"], &0.5.into());
}

#[test]
fn what_is_said_to_people_has_aligned_lines() {
    let folder = Folder::with("a.svm", "1 1:1\n-1 2:1\n-1 2:1\n");
    let lines = folder.ok("stats a.svm").stdout;
    for part in [
        "rows        3\n",
        "features    2 occur, with indices from 1 to 2\n            1 in one row only, 0 with one value in all rows\n",
        "per row     min 1, 25 % 1, 50 % 1, 75 % 1, 90 % 1, 99 % 1, max 1 non-zeros\n",
        "values      1 to 1; 100.0 % are 1, 0.0 % are negative, all are whole numbers\n",
        "            -1            2   66.7 %\n            1             1   33.3 %\n",
        "copies      1 row is a copy of an earlier row\n",
        "(loss logistic): the smallest l1 at which all weights are zero",
    ] {
        assert!(lines.contains(part), "no '{part}' in\n{lines}");
    }
}

#[test]
fn the_suggested_l1_is_the_one_that_training_reports() {
    for seed in 1..4 {
        let folder = Folder::with("classes.svm", text(&classes(3000, 60, seed)));
        agrees(&folder, "classes.svm", "logistic");
        folder.write("numbers.svm", text(&numbers(3000, 60, seed)));
        agrees(&folder, "numbers.svm", "squared");
        let far: Vec<Row> = numbers(3000, 60, seed).into_iter().map(|(y, row)| (y + 1e5, row)).collect();
        folder.write("far.svm", text(&far));
        agrees(&folder, "far.svm", "squared");
    }
}

#[test]
fn row_weights_count_and_rows_of_weight_zero_do_not() {
    let mut dice = Dice(5);
    let mut row = |y: &str| {
        let (weight, x, z) = (dice.below(4), dice.value(), dice.value());
        format!("{y} {weight} | a:{x} b:{z}\n")
    };
    let mut rows: String = (0..300).map(|i| row(["1", "2"][i % 2])).collect();
    let folder = Folder::with("two.vw", &rows);
    agrees_but_for_rows(&folder, "two.vw", "logistic");
    rows.push_str("3 0 | a:100\n"); // a third class, as if absent
    folder.write("two.vw", &rows);
    agrees_but_for_rows(&folder, "two.vw", "logistic");
    rows.push_str("3 2 | a:1 c:2\n");
    folder.write("three.vw", &rows);
    agrees_but_for_rows(&folder, "three.vw", "squared");
    let stats = folder.json("stats three.vw --json");
    assert_eq!((stats["weights"]["min"].as_f64(), stats["weights"]["max"].as_f64()), (Some(0.0), Some(3.0)));
    assert_eq!((&stats["features"]["kind"], &stats["features"]["distinct"]), (&"names".into(), &3.into()));
}

#[track_caller]
fn agrees_but_for_rows(folder: &Folder, data: &str, loss: &str) {
    let stats = folder.json(&format!("stats {data} --json"));
    let report = folder.json(&format!("train {data} --json --precision f64 --epochs 1 --cache off"));
    assert_eq!(stats["l1_max"]["loss"], loss);
    near(&stats["l1_max"]["value"], &report["l1_max"]);
}

#[test]
fn without_a_loss_there_is_no_l1_max_and_a_reason() {
    let folder = Folder::new();
    for (rows, reason) in [
        ("a 1:1\nb 1:2\nc 1:3\n", "more than two classes"),
        ("a 1:1\na 1:2\n", "the same target"),
        ("a 1:1\n1:2\nb 1:1\n", "have no target"),
    ] {
        folder.write("a.svm", rows);
        let l1_max = &folder.json("stats a.svm --json")["l1_max"];
        assert_eq!(l1_max["value"], Value::Null, "{rows}");
        assert!(l1_max["why_not"].as_str().is_some_and(|why| why.contains(reason)), "{l1_max}");
        assert!(folder.ok("stats a.svm").stdout.contains(reason));
    }
    let mixed = folder.json("stats a.svm --json");
    assert_eq!((&mixed["targets"]["missing"], &mixed["duplicates"]), (&1.into(), &Value::Null));
}

#[test]
fn many_targets_are_summed_up() {
    let rows: String = (1..=1000).rev().map(|y| format!("{y} 1:1\n")).collect();
    let folder = Folder::with("a.svm", rows);
    let targets = &folder.json("stats a.svm --json")["targets"];
    let spread = ["min", "p25", "p50", "p75", "max", "mean"].map(|key| targets["spread"][key].as_f64());
    assert_eq!(spread, [1.0, 250.0, 500.0, 750.0, 1000.0, 500.5].map(Some));
    assert_eq!((&targets["spread"]["sampled"], &targets["distinct"]), (&false.into(), &1000.into()));
    let words: String = (0..25).map(|k| format!("w{k} 1:{k}\n").repeat(1 + k % 3)).collect();
    folder.write("words.svm", words);
    let targets = &folder.json("stats words.svm --json")["targets"];
    assert_eq!((&targets["distinct"], targets["classes"].as_array().map(Vec::len)), (&25.into(), Some(20)));
    assert_eq!(
        (&targets["classes"][0]["target"], &targets["classes"][0]["rows"]),
        (&"w11".into(), &3.into())
    );
    assert!(folder.ok("stats words.svm").stdout.contains("…"));
}

#[test]
fn a_number_is_one_target_in_blocks_with_and_without_words() {
    let mut rows = "1 1:1\n".repeat(300_000); // more than a block
    rows.push_str("one 1:1\n1.0 1:1\n");
    let folder = Folder::with("a.svm", rows);
    let stats = folder.json("stats a.svm --json --threads 2");
    assert_eq!((&stats["targets"]["distinct"], &stats["duplicates"]), (&2.into(), &300_000.into()));
    assert_eq!(stats, folder.json("stats a.svm --json --threads 1"));
}

#[test]
fn names_are_hashed_if_asked_and_standard_input_is_read() {
    let rows = "{\"y\": 1, \"a\": 2, \"city\": \"Oslo\"}\n{\"y\": 0, \"a\": 1}\n";
    let folder = Folder::with("a.jsonl", rows);
    let features = folder.json("stats a.jsonl --json --hash-bits 10")["features"].clone();
    assert_eq!((&features["kind"], &features["distinct"]), (&"buckets".into(), &2.into()));
    assert!(folder.ok("stats a.jsonl").stdout.contains("2 occur, with names"));
    let piped = folder.run_on(rows.as_bytes(), "stats - --format jsonl --target y --json");
    assert_eq!(piped.stdout, folder.ok("stats a.jsonl --json").stdout);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let folder = Folder::with("bad.svm", "1 1:1\n1 2:x\n");
    folder.refuses("stats bad.svm", 1, &["bad.svm:2:5", "'2:x' has no valid number"]);
    folder.refuses("stats gone.svm --json", 1, &["gone.svm", "check the name"]);
    folder.refuses("stats bad.svm --format svmlite", 2, &["there is no format 'svmlite'", "svmlight"]);
    folder.write("empty.svm", "# nothing\n");
    folder.refuses("stats empty.svm", 1, &["empty.svm", "there are no rows in it"]);
    folder.write("prose.svm", "hello\n");
    folder.refuses("stats prose.svm", 1, &["no row has a feature"]);
    folder.refuses("stats", 2, &["DATA"]);
    folder.refuses("stats bad.svm --threads 0", 2, &["--threads"]);
}

#[test]
fn columns_in_any_script_are_shown() {
    let table =
        "город,عمر,年齢,label\n東京都,31,5,a\n大阪府,,7,b\nŻyrardów,40,missing,a\nहिन्दी,unknown,8,b\n";
    let folder = Folder::with("c.csv", table);
    let stats = folder.json("stats c.csv --json");
    let column = |k: usize| &stats["columns"][k];
    assert_eq!((&column(0)["name"], &column(0)["distinct"]), (&"город".into(), &4.into()));
    assert_eq!(column(0)["examples"].as_array().map(Vec::len), Some(3), "{stats}");
    assert_eq!((&column(1)["name"], &column(1)["missing"]), (&"عمر".into(), &2.into()));
    assert_eq!((&column(2)["name"], &column(2)["missing"]), (&"年齢".into(), &1.into()));
    let shown = folder.ok("stats c.csv").stdout;
    assert!(shown.contains("大阪府") && shown.contains("Żyrardów"), "{shown}");
    folder.write("c.jsonl", "{\"都\":\"京\",\"label\":1}\n{\"都\":\"阪\",\"label\":0}\n");
    assert_eq!(folder.json("stats c.jsonl --json")["columns"][0]["distinct"], 2);
}

#[test]
fn the_mean_of_missing_numbers_is_no_value_of_its_column() {
    let folder = Folder::with("t.csv", "age,size,y\n30,1,1\n,2,0\n45,,1\n30,3,0\n");
    let stats = folder.json("stats t.csv --json");
    let [age, size] = [0, 1].map(|k| &stats["columns"][k]);
    assert_eq!((&age["missing"], &age["distinct"]), (&1.into(), &2.into()), "{age}");
    assert_eq!(age["examples"], serde_json::json!(["30", "45"]));
    // The mean of 1, 2 and 3 is a value that a row has, too.
    assert_eq!((&size["distinct"], &size["examples"]), (&3.into(), &serde_json::json!(["1", "2", "3"])));
}

#[test]
fn keys_that_few_rows_have_are_columns_as_well() {
    let row = |i: usize| {
        let rare = match i % 10 {
            0 => format!(",\"once\":{i},\"kind\":\"k{}\"", i / 50),
            1 => ",\"tags\":[\"p\",\"q\"],\"of\":{\"deep\":2}".to_string(),
            _ => String::new(),
        };
        format!("{{\"age\":{i},\"y\":{}{rare}}}\n", i % 2)
    };
    let folder = Folder::with("t.jsonl", (1..=100).map(row).collect::<String>());
    let stats = folder.json("stats t.jsonl --json");
    let column = |name: &str| {
        let all = stats["columns"].as_array().unwrap();
        all.iter().find(|column| column["name"] == name).unwrap_or_else(|| panic!("{name}: {stats}")).clone()
    };
    assert_eq!(column("age")["kind"], "number");
    assert_eq!((&column("once")["kind"], &column("of.deep")["kind"]), (&"number".into(), &"number".into()));
    let kind = column("kind");
    assert_eq!(
        (&kind["kind"], &kind["missing"], &kind["distinct"]),
        (&"category".into(), &90.into(), &3.into())
    );
    assert_eq!((&column("tags")["kind"], &column("tags")["distinct"]), (&"category".into(), &2.into()));
    let words = |i: usize| format!("{{\"y\":{},\"w{i}\":1,\"w{}\":2}}\n", i % 2, i + 1);
    folder.write("w.jsonl", (0..100).map(words).collect::<String>());
    let told = folder.ok("stats w.jsonl");
    assert!(told.stderr.contains("51 keys that fewer rows have are not listed"), "{}", told.stderr);
}
