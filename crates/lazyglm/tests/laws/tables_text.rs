//! Laws of text and counts in tables: columns of text have options of their own, and auto tries idf and tf-idf where they may help.

use crate::common::reading::{error, read};
use crate::tables::{loaded, scores};
use lazyglm::data::format::ReadOptions;
use lazyglm::{CacheMode, Dataset, Load, Model, Scale, Settings, Task, train};
/// A table whose column `said` tells the target by rare words among frequent ones.
fn mails() -> String {
    let mut dice = lazyglm::util::random::Random::new(9);
    let mut table = "said,subject,age,y\n".to_string();
    for i in 0..240 {
        let common: Vec<String> = (0..8).map(|_| format!("c{}", dice.below(12))).collect();
        let rare = format!("r{}", 2 * dice.below(15) + i % 2);
        table +=
            &format!("{} {rare},Re: c{},{},{}\n", common.join(" "), dice.below(5), dice.below(60), i % 2);
    }
    table
}

#[test]
fn columns_of_text_have_options_of_their_own() {
    let asked = |text_columns: &str, text: &str| ReadOptions {
        text_columns: text_columns.split(',').map(str::to_string).collect(),
        text: Some(text.to_string()),
        ..ReadOptions::default()
    };
    let table = "a:b,c,y\nbig dog,cat,1\nsad dog,cow,0\n";
    let options = asked("a:b:words=2:norm=none,c:words=none:chars=3", "value=tf,norm=none");
    let found = read(table.as_bytes(), "t.csv", &options).unwrap();
    let expected = [("a:b=big dog", 1.0), ("c=~ ca", 1.0), ("c=~at ", 1.0), ("c=~cat", 1.0)];
    assert_eq!(found.features(0), expected);
    let lines = "{\"a:b\":\"big dog\",\"c\":\"cat\",\"y\":1}\n";
    assert_eq!(read(lines.as_bytes(), "t.jsonl", &options).unwrap().features(0), expected);
    let wrong = error(table.as_bytes(), "t.csv", &asked("c:words=0", ""));
    assert!(wrong.starts_with("text cannot have words=0"), "{wrong}");
    let unknown = error(table.as_bytes(), "t.csv", &asked("d:words=1", ""));
    assert!(unknown.starts_with("there is no column 'd' (text_columns)"), "{unknown}");
}

#[test]
fn idf_weighs_the_terms_of_text_columns_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    std::fs::write(&file, mails()).unwrap();
    let load = |text: Option<&str>, hash_bits| {
        let asked = ReadOptions {
            text_columns: vec!["said:idf=yes".into(), "subject".into()],
            text: text.map(str::to_string),
            hash_bits,
            ..ReadOptions::default()
        };
        Dataset::load(&file, &Load { cache: CacheMode::Off, asked, ..Load::default() })
    };
    let (data, _) = load(None, None).unwrap();
    let (plain, _) = load(Some("idf=no"), None).unwrap();
    let asked = ReadOptions { text_columns: vec!["said".into(), "subject".into()], ..Default::default() };
    let (raw, _) = Dataset::load(&file, &Load { cache: CacheMode::Off, asked, ..Load::default() }).unwrap();
    assert_eq!(plain.rows, data.rows, "the options of the column come first");
    let count = |wanted: usize| {
        (0..240)
            .filter(|&i| {
                let mut found = false;
                raw.rows.borrow().for_each(i, |j, _| found |= j == wanted);
                found
            })
            .count() as f64
    };
    let factors: Vec<f64> = (0..raw.features.columns())
        .map(|j| match raw.features.name(j).starts_with("said=") {
            true => (241.0 / (1.0 + count(j))).ln() + 1.0,
            false => 1.0,
        })
        .collect();
    for i in 0..240 {
        let mut expected = Vec::new();
        raw.rows.borrow().for_each(i, |j, x| expected.push((j, factors[j] * x)));
        let mut found = Vec::new();
        data.rows.borrow().for_each(i, |j, x| found.push((j, x)));
        assert_eq!(found, expected, "row {i}");
    }
    // The factors are part of the weights: the model scores raw rows, in every format.
    let task = Task::builder(data).build().unwrap();
    let settings = Settings::default();
    let trained = train(&task, None, &settings, &mut |_| {}).unwrap();
    let (weights, bias) = (trained.weights.clone(), trained.bias);
    let model = Model::new(&task, &settings, trained);
    for (i, score) in scores(&model, &file).into_iter().enumerate() {
        let known = task.data.rows.borrow().dot(i, &weights) + bias;
        assert!((f64::from_bits(score) - known).abs() < 1e-9, "row {i}");
    }
    let error = load(None, Some(10)).unwrap_err().to_string();
    assert!(error.starts_with("idf=yes needs to know the words"), "{error}");
}

#[test]
fn auto_tries_idf_on_tables_with_columns_of_text() {
    let folder = tempfile::tempdir().unwrap();
    let task = loaded(folder.path(), "t.csv", &mails(), Scale::None);
    let settings = Settings { solver: lazyglm::Solver::Auto, choose_penalty: true, ..Settings::default() };
    let found = lazyglm::train::tf_idf_if_better(&task, None, &settings, &mut |_| {}).unwrap();
    let (chosen, _) = found.expect("idf is better");
    let note = chosen.notes.iter().find(|note| note.contains("idf"));
    assert!(note.is_some_and(|note| note.starts_with("terms of text are weighted by their idf")), "{note:?}");
    assert_ne!(chosen.data.rows, task.data.rows);
    let table = "said,age,y\n".to_string() + &"x,3,1\nz,4,0\n".repeat(50);
    let task = loaded(folder.path(), "t.csv", &table, Scale::None);
    let found = lazyglm::train::tf_idf_if_better(&task, None, &settings, &mut |_| {}).unwrap();
    assert!(found.is_none(), "no column of text");
}

/// Rows with few of many words, whose counts vary widely, as CSV and as JSON lines; and a table of few whole numbers per row.
fn documents(rows: usize) -> [(&'static str, String); 3] {
    let mut random = lazyglm::util::random::Random::new(9);
    let header: String = (0..60).map(|word| format!("w{word},")).collect();
    let (mut csv, mut json, mut wide) = (header + "y\n", String::new(), "a,b,c,town,y\n".to_string());
    for i in 0..rows {
        let topic = 30 * (i % 2);
        let mut counts = [0u64; 60];
        (0..4).for_each(|_| {
            counts[random.below(30) as usize + topic] += 1 + random.below(20) * random.below(20)
        });
        (0..3).for_each(|_| counts[random.below(60) as usize] += 1 + random.below(20) * random.below(20));
        let class = ["no", "yes"][i % 2];
        let cells: String = counts.iter().map(|count| format!("{count},")).collect();
        csv += &format!("{cells}{class}\n");
        let keys = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let keys: String = keys.map(|(word, count)| format!("\"w{word}\":{count},")).collect();
        json += &format!("{{{keys}\"y\":\"{class}\"}}\n");
        let [a, b, c, town] = [9, 50, 7, 40].map(|most| 1 + random.below(most));
        wide += &format!("{a},{b},{c},town {town},{class}\n");
    }
    [("d.csv", csv), ("d.jsonl", json), ("wide.csv", wide)]
}

#[test]
fn auto_tries_tf_idf_on_counts_in_tables_but_not_on_columns_of_amounts() {
    let folder = tempfile::tempdir().unwrap();
    let (solver, precision) = (lazyglm::Solver::Auto, lazyglm::Precision::F64);
    let settings = Settings { solver, precision, choose_penalty: true, ..Settings::default() };
    for (name, text) in documents(300) {
        let task = loaded(folder.path(), name, &text, Scale::None);
        let mut tried = 0;
        let found = lazyglm::train::tf_idf_if_better(&task, None, &settings, &mut |_| tried += 1).unwrap();
        assert_eq!((found.is_some(), tried > 0), (name != "wide.csv", name != "wide.csv"), "{name}");
        if let Some((scaled, _)) = found {
            let asked = loaded(folder.path(), name, &text, Scale::TfIdf);
            assert!(scaled.data.rows == asked.data.rows, "{name}");
        }
    }
}
