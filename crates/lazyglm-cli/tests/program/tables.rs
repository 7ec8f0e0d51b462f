//! Tables as people have them: dirty numbers, and the same table in several formats.

use crate::common::Folder;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// A table of two hundred rows with numbers that are not known, and the same as JSON Lines.
fn table() -> (String, String) {
    let (mut csv, mut jsonl) = ("age,city,flag,y\n".to_string(), String::new());
    for i in 0..200u32 {
        let age = (i * 37 % 60) + 18;
        let (city, flag, y) = (["Oslo", "Bergen", "Voss"][i as usize % 3], i % 4 == 0, i * 37 % 60 > 25);
        let (cell, value) = match i % 10 {
            3 => ("unknown".to_string(), "\"unknown\"".to_string()),
            7 => (String::new(), "null".to_string()),
            _ => (age.to_string(), age.to_string()),
        };
        csv += &format!("{cell},{city},{flag},{}\n", u8::from(y));
        jsonl += &format!("{{\"age\":{value},\"city\":\"{city}\",\"flag\":{flag},\"y\":{}}}\n", u8::from(y));
    }
    (csv, jsonl)
}

#[test]
fn dirty_numbers_count_as_missing_and_a_warning_says_where() {
    let (csv, jsonl) = table();
    let folder = Folder::with("t.csv", &csv);
    folder.write("t.jsonl", &jsonl);
    let warning = "20 cells of the number column 'age' are not numbers and count as missing; the first is 'unknown' in line 5, column 1";
    for line in
        ["train t.csv -o m", "train t.csv -o m2", "stats t.csv", "predict m t.csv", "evaluate m t.csv"]
    {
        let told = folder.ok(line).stderr;
        assert!(told.contains(&format!("warning: t.csv: {warning}")), "{line}: {told}");
        assert!(told.contains("--categorical age"), "{told}");
    }
    let weights = folder.ok("inspect m --all --tsv").stdout;
    assert!(weights.contains("age=missing\t") && !weights.contains("age=unknown"), "{weights}");
    assert_eq!(folder.ok("predict m t.csv").stdout, folder.ok("predict m t.jsonl").stdout);
    folder.ok("train t.jsonl -o mj");
    assert_eq!(folder.ok("predict mj t.csv").stdout, folder.ok("predict m t.csv").stdout);
    folder.ok("train t.csv --missing zero -o mz");
    assert!(!folder.ok("inspect mz --all --tsv").stdout.contains("missing"));
    let wrong = folder.run("train t.csv --missing median");
    assert!(wrong.code != 0 && wrong.stderr.contains("indicator"), "{}", wrong.stderr);
}

#[test]
fn a_table_reads_alike_from_a_file_a_cache_standard_input_and_in_windows() {
    let (csv, _) = table();
    let folder = Folder::with("t.csv", &csv);
    let train = "--solver newton --l1 0 --l2 0.01 --quiet";
    folder.ok(&format!("train t.csv --cache off {train} -o m"));
    let expected = folder.ok("predict m t.csv").stdout;
    folder.ok(&format!("train t.csv {train} -o m1")); // writes the cache
    folder.ok(&format!("train t.csv --cache only {train} -o m2"));
    folder.ok(&format!("train t.csv --memory 1G {train} -o m3"));
    let piped = folder.run_on(csv.as_bytes(), &format!("train - --format csv {train} -o m4"));
    assert_eq!(piped.code, 0, "{}", piped.stderr);
    for model in ["m1", "m2", "m3", "m4"] {
        assert_eq!(folder.ok(&format!("predict {model} t.csv")).stdout, expected, "{model}");
    }
}

#[test]
fn few_whole_numbers_as_targets_are_warned_of_at_once_and_task_says_what_they_are() {
    let rows: String = (0..60).map(|i| format!("{},{}\n", i % 5 + 1, i % 5 * 3 + i % 2)).collect();
    let folder = Folder::with("t.csv", format!("y,a\n{rows}"));
    let told = folder.ok("train t.csv -o m").stderr;
    let warning = "warning: targets are 5 distinct whole numbers from 1 to 5, and are learnt as numbers";
    assert!(told.contains(warning) && told.contains("--task classify"), "{told}");
    assert!(told.find(warning) < told.find("note: loss squared"), "before the work: {told}");
    let told = folder.ok("train t.csv --task regress -o m").stderr;
    assert!(!told.contains("warning"), "{told}");
    folder.ok("train t.csv --task classify -o m");
    assert_eq!(folder.ok("predict m t.csv --as probability").stdout.lines().next(), Some("1\t2\t3\t4\t5"));
    folder.ok("train t.csv --task classify --multiclass ovr -o m");
    let two: String = (0..60).map(|i| format!("{},{}\n", i % 2 + 1, i % 2 * 3 + i % 3)).collect();
    folder.write("two.csv", format!("y,a\n{two}"));
    folder.ok("train two.csv --task classify -o m");
    for (line, what) in [
        ("--task regress --multiclass ovr", "--task regress does not go with --multiclass"),
        ("--task classify --multilabel", "--task classify does not go with --multilabel"),
        ("--task regress --loss hinge", "--task regress does not go with --loss hinge"),
        ("--task classify --loss squared", "--task classify does not go with --loss squared"),
    ] {
        let refused = folder.run(&format!("train t.csv {line}"));
        assert!(refused.code != 0 && refused.stderr.contains(what), "{line}: {}", refused.stderr);
    }
}

#[test]
fn targets_that_are_text_are_classes_and_several_labels_of_fasttext_are_a_set() {
    let lines: String =
        (0..60).map(|i| format!("{{\"y\":\"{}\",\"a\":{}}}\n", i % 3 + 1, i % 3 * 4 + i % 2)).collect();
    let folder = Folder::with("t.jsonl", lines);
    folder.ok("train t.jsonl -o m");
    assert_eq!(folder.ok("predict m t.jsonl --as probability").stdout.lines().next(), Some("1\t2\t3"));
    let text: String = (0..60)
        .map(|i| {
            format!("__label__{} {}word{} here\n", ["a", "b"][i % 2], ["", "__label__c "][i / 2 % 2], i % 4)
        })
        .collect();
    folder.write("t.ft", text);
    let told = folder.ok("train t.ft -o m").stderr;
    assert!(told.contains("each is read as a set of labels"), "{told}");
    assert_eq!(folder.ok("predict m t.ft --as probability").stdout.lines().next(), Some("a\tb\tc"));
    folder.ok("train t.ft --cache only -o m2");
    assert_eq!(folder.ok("predict m2 t.ft").stdout, folder.ok("predict m t.ft").stdout, "from the cache too");
}

#[test]
fn a_table_with_a_column_of_text_can_be_learnt_and_stats_shows_its_columns() {
    let (spam, ham) = (
        ["win a free phone now", "free entry in a contest today"],
        ["see you at the station", "are we having lunch today"],
    );
    let rows: String = (0..80)
        .map(|i| {
            let (text, y) = if i % 2 == 0 { (spam[i / 2 % 2], 1) } else { (ham[i / 2 % 2], 0) };
            format!("{i},{text} number{i},{},{y}\n", ["Oslo", "Voss", ""][i % 3])
        })
        .collect();
    let folder = Folder::with("t.csv", format!(",text,city,y\n{rows}"));
    let told = folder.ok("train t.csv -o m").stderr;
    let note =
        "note: columns: 1 category (city), 1 text (text), 1 dropped (without a name: the index of pandas)";
    assert!(told.contains(note), "{told}");
    folder.write("new.csv", "text,city\na free contest for you now,Oslo\nlunch at the station today,Oslo\n");
    let scores: Vec<f64> =
        folder.ok("predict m new.csv").stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert!(scores[0] > 0.5 && scores[1] < 0.5, "{scores:?}");
    let shown = folder.ok("stats t.csv").stdout;
    assert!(shown.contains("city  category 26 missing, 2 distinct, as Oslo, Voss"), "{shown}");
    assert!(shown.contains("text  text"), "{shown}");
    let json = folder.json("stats t.csv --json");
    assert_eq!(
        (&json["columns"][2]["kind"], &json["columns"][2]["missing"]),
        (&"category".into(), &26.into())
    );
    let told = folder.ok("train t.csv --categorical text -o m").stderr;
    assert!(told.contains("2 categories (text, city)"), "{told}");
}

#[test]
fn predictions_are_the_same_in_csv_and_json_lines_where_columns_were_dropped() {
    let (mut csv, mut jsonl) = ("id,uid,said,age,won\n".to_string(), String::new());
    let words = ["free", "entry", "call", "now", "home", "soon", "win", "later"];
    for i in 0..120usize {
        let said: Vec<&str> = (0..5).map(|k| words[(i * 7 + k * k * (i % 5 + 1)) % 8]).collect();
        let (said, age, won) = (said.join(" "), i * 37 % 60, i % 3 == 0);
        let python = if won { "True" } else { "False" };
        csv += &format!("{i},u{i},{said},{age},{python}\n");
        jsonl +=
            &format!("{{\"id\":{i},\"uid\":\"u{i}\",\"said\":\"{said}\",\"age\":{age},\"won\":{won}}}\n");
    }
    let folder = Folder::with("t.csv", &csv);
    folder.write("t.jsonl", &jsonl);
    folder.write("one.jsonl", jsonl.lines().nth(7).unwrap_or_default());
    for flags in ["", "--hash-bits 10", "--l1 0.001 --solver newton"] {
        folder.ok(&format!("train t.csv --target won --drop id,uid {flags} -o m"));
        let expected = folder.ok("predict m t.csv --strict").stdout;
        assert_eq!(folder.ok("predict m t.jsonl --strict").stdout, expected, "{flags}");
        let alone = folder.ok("predict m one.jsonl --strict").stdout;
        assert_eq!(alone.lines().next(), expected.lines().nth(7), "{flags}: a row alone");
        let evaluated = |file: &str| folder.json(&format!("evaluate m {file} --json"));
        assert_eq!(evaluated("t.jsonl"), evaluated("t.csv"), "{flags}: True in CSV is true in JSON");
        folder.ok(&format!("train t.csv --target won --drop id,uid {flags} --class-weight True=2 -o m"));
    }
}

#[test]
fn a_json_array_is_read_as_json_lines_are() {
    let (_, jsonl) = table();
    let folder = Folder::with("lines.jsonl", &jsonl);
    let rows: Vec<&str> = jsonl.lines().collect();
    let one_line = format!("[{}]", rows.join(","));
    let pretty =
        format!("[\n  {}\n]\n", rows.join(",\n  ").replace(",\"", ",\n    \"").replace('}', "\n  }"));
    folder.write("pretty.json", &pretty);
    folder.write("one_line.json", &one_line);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(one_line.as_bytes()).expect("memory");
    let packed = gzip.finish().expect("memory");
    folder.write("packed.json.gz", &packed);
    let train = "--solver newton --l1 0 --l2 0.01 --quiet";
    folder.ok(&format!("train lines.jsonl {train} -o m"));
    let expected = (folder.read("m"), folder.ok("predict m lines.jsonl --columns city").stdout);
    for file in ["pretty.json", "one_line.json", "packed.json.gz"] {
        for way in ["", "--cache off", "--memory 1G"] {
            folder.ok(&format!("train {file} {train} {way} -o m2"));
            assert!(folder.read("m2") == expected.0, "{file} {way}");
        }
        assert_eq!(folder.ok(&format!("predict m {file} --columns city")).stdout, expected.1, "{file}");
        folder.ok(&format!("stats {file}"));
        folder.ok(&format!("convert {file} out.jsonl --quiet"));
    }
    for input in [pretty.as_bytes(), one_line.as_bytes(), &packed] {
        let piped = folder.run_on(input, &format!("train - {train} -o m2"));
        assert_eq!(piped.code, 0, "{}", piped.stderr);
        assert!(folder.read("m2") == expected.0);
    }
    for (text, told) in [
        ("[\n {\"a\": 1, \"y\": 0},\n {\n  \"a\": oops, \"y\": 1}\n]", "bad.json:3:"),
        ("[{\"a\": 1, \"y\": 0}, {\"a\": 2, \"y\": 1},]", "bad.json:3:1: the line is no JSON object"),
        ("[{\"a\": 1, \"y\": 0} {\"a\": 2, \"y\": 1}]", "something follows the object"),
        ("[{\"a\": 1, \"y\": 0}, {\"a\": 2, \"y\": 1}", "the JSON array is not closed"),
        ("[{\"a\": 1, \"y\": 0}] {\"a\": 2, \"y\": 1}", "the line is no JSON object"),
        ("[]", "there are no rows in it"),
    ] {
        folder.write("bad.json", text);
        folder.refuses("train bad.json", 1, &[told]);
    }
}

#[test]
fn a_word_in_a_number_column_is_the_same_error_in_csv_and_in_json_lines() {
    let row = |i: usize| format!("{},{},{}\n", i % 7, i % 5, ["no", "yes"][usize::from(i % 7 > 3)]);
    let folder = Folder::with("t.csv", "a,b,y\n".to_string() + &(0..60).map(row).collect::<String>());
    folder.ok("train t.csv -o m --l1 0.001");
    folder.write("new.csv", "a,b,y\n1,2,no\n3,foo,yes\n");
    folder.write("new.jsonl", "{\"a\":1,\"b\":2,\"y\":\"no\"}\n{\"a\":3,\"b\":\"foo\",\"y\":\"yes\"}\n");
    for verb in ["predict", "evaluate"] {
        for (file, place) in [("new.csv", "new.csv:3:3"), ("new.jsonl", "new.jsonl:2:12")] {
            let parts = [place, "'foo' in the number column 'b' is not a finite number", "--categorical b"];
            folder.refuses(&format!("{verb} m {file}"), 1, &parts);
        }
    }
    // Words that stand for a missing number are none of them errors.
    folder.write("new.jsonl", "{\"a\":1,\"b\":\"n/a\",\"y\":\"no\"}\n{\"a\":3,\"b\":\"2\",\"y\":\"yes\"}\n");
    let told = folder.ok("predict m new.jsonl").stderr;
    assert!(told.contains("the first is 'n/a' in line 1, column 12"), "{told}");
}

/// Ages tell the class, and incomes are a thousand times as large: without scaling, no model is better than none.
#[test]
fn numbers_in_units_far_apart_are_scaled_by_default() {
    let (mut dice, mut table) = (7u64, "age,income,y\n".to_string());
    let mut draw = |below: u64| {
        dice = dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (dice >> 33) % below
    };
    for _ in 0..300 {
        let (age, income) = (20 + draw(60), 100_000 + draw(90_000));
        table += &format!("{age},{income},{}\n", u8::from(age + draw(20) > 60));
    }
    let folder = Folder::with("t.csv", &table);
    let told = folder.ok("train t.csv -o m").stderr;
    assert!(told.contains("numbers are divided by their standard deviation: held-out loss"), "{told}");
    let figures = folder.ok("evaluate m t.csv --json").stdout;
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    assert!(figures["auc"].as_f64().unwrap() > 0.9, "{figures}");
    let told = folder.ok("train t.csv -o m --scale none").stderr;
    assert!(!told.contains("standard deviation"), "{told}");
    folder.refuses("train t.csv -o m --scale tfidf:lgo=no", 2, &["tfidf has no part 'lgo=no'"]);
}
