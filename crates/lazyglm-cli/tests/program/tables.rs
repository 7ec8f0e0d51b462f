//! Tables as people have them: dirty numbers, and the same table in several formats.

use crate::common::Folder;

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
    let warning = "20 cells of the number column 'age' are no numbers and count as missing; the first is 'unknown' in line 5, column 1";
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
