//! A model reads the same table alike in every format, whichever it learnt from.

use super::tables::*;
use arrow_array::*;
use lazyglm::data::format::{Fill, FormatSpec, Missing, ReadOptions};
use std::path::PathBuf;
use std::sync::Arc;

const TABLE: &str = "age,id,city,flag,code,day,at,said,y\n31,9007199254740993,Oslo,true,7,2024-07-31,2024-07-31T13:05:00Z,see you there then,1\n,9007199254740994,Bergen,false,8,,1969-12-31T23:59:59,not so sure really,0\n40,1,,true,7,1970-01-01,1970-01-01 00:00:00,well well well then,1\n";
const LINES: &str = r#"{"age":31,"id":9007199254740993,"city":"Oslo","flag":true,"code":7,"day":"2024-07-31","at":"2024-07-31T13:05:00Z","said":"see you there then","y":1}
{"age":null,"id":9007199254740994,"city":"Bergen","flag":false,"code":8,"day":null,"at":"1969-12-31T23:59:59","said":"not so sure really","y":0}
{"age":40,"id":1,"city":null,"flag":true,"code":7,"day":"1970-01-01","at":"1970-01-01T00:00:00","said":"well well well then","y":1}
"#;

/// The same table in CSV, JSON Lines, Parquet and Arrow.
fn files(folder: &Folder) -> [PathBuf; 4] {
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("age", Arc::new(Float32Array::from(vec![Some(31.0), None, Some(40.0)]))),
            ("id", Arc::new(Int64Array::from(vec![9007199254740993, 9007199254740994, 1]))),
            ("city", Arc::new(StringArray::from(vec![Some("Oslo"), Some("Bergen"), None]))),
            ("flag", Arc::new(BooleanArray::from(vec![true, false, true]))),
            ("code", Arc::new(Int16Array::from(vec![7, 8, 7]))),
            ("day", Arc::new(Date32Array::from(vec![Some(19_935), None, Some(0)]))),
            ("at", Arc::new(TimestampMicrosecondArray::from(vec![1_722_431_100_000_000, -1_000_000, 0]))),
            (
                "said",
                Arc::new(LargeStringArray::from(vec![
                    "see you there then",
                    "not so sure really",
                    "well well well then",
                ])),
            ),
            ("y", Arc::new(Int8Array::from(vec![1, 0, 1]))),
        ]
    };
    [
        folder.file("a.csv", TABLE),
        folder.file("a.jsonl", LINES),
        folder.parquet(columns()),
        folder.arrow(columns()),
    ]
}

#[test]
fn a_model_reads_the_same_table_alike_in_every_format() {
    let folder = Folder::new();
    for missing in [Missing::Zero, Missing::Mean, Missing::Indicator] {
        let (categorical, missing) = (vec!["code".to_string()], Some(missing));
        let asked = ReadOptions { categorical, missing, ..ReadOptions::default() };
        let files = files(&folder);
        let expected = read(&files[0], &asked, None).unwrap();
        for trained_on in &files {
            let known = opened(trained_on, &asked, None).unwrap();
            for file in &files {
                let read = read(file, &ReadOptions::default(), Some(&known)).unwrap();
                assert_eq!(read, expected, "{} ▸ {}", trained_on.display(), file.display());
            }
        }
    }
}

#[test]
fn a_missing_number_has_the_mean_of_the_first_rows() {
    let folder = Folder::new();
    let known = opened(&files(&folder)[2], &ReadOptions::default(), None).unwrap();
    let FormatSpec::Parquet { columns, .. } = &known else { panic!("{known:?}") };
    assert_eq!(columns[0].missing, Some(Fill { value: 35.5, indicator: true }));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["unknown", "7", "old"]));
    let new = folder.arrow(vec![("age", text)]);
    let csv = r#"{"format":"csv","delimiter":",","columns":[{"name":"age","kind":"number","missing":{"value":2.0,"indicator":true}}]}"#;
    let known: FormatSpec = serde_json::from_str(csv).unwrap();
    let error = read(&new, &ReadOptions::default(), Some(&known)).unwrap_err();
    assert!(
        error.starts_with("a.arrow:3: 'old' in the number column 'age' is not a finite number"),
        "{error}"
    );
}

#[test]
fn all_columns_that_a_model_misses_are_named_at_once() {
    let folder = Folder::new();
    for known in files(&folder).iter().take(3).filter(|file| !file.ends_with("a.jsonl")) {
        let known = opened(known, &ReadOptions::default(), None).unwrap();
        let some: ArrayRef = Arc::new(Int8Array::from(vec![1]));
        let error = read(
            &folder.arrow(vec![("flag", some.clone()), ("id", some)]),
            &ReadOptions::default(),
            Some(&known),
        );
        let expected = "a.arrow: the columns 'age', 'city', 'code', 'day', 'at', 'said' are missing: the model learnt from them; add them";
        assert!(error.as_ref().unwrap_err().starts_with(expected), "{error:?}");
    }
}

#[test]
fn what_was_dropped_in_training_stays_dropped_in_every_format() {
    let folder = Folder::new();
    let drop = ["id", "at", "said"].map(str::to_string).to_vec();
    let asked = ReadOptions { drop, ..ReadOptions::default() };
    let files = files(&folder);
    let expected = read(&files[0], &asked, None).unwrap();
    for trained_on in &files {
        let known = opened(trained_on, &asked, None).unwrap();
        for file in &files {
            let read = read(file, &ReadOptions::default(), Some(&known)).unwrap();
            assert_eq!(read, expected, "{} ▸ {}", trained_on.display(), file.display());
        }
    }
}

#[test]
fn nan_is_a_missing_number_in_every_format() {
    let folder = Folder::new();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Float64Array::from(vec![1.0, f64::NAN, 3.0]))),
        ("b", Arc::new(Float32Array::from(vec![f32::NAN, 5.0, 5.0]))),
        ("y", Arc::new(Int8Array::from(vec![1, 0, 1]))),
    ];
    let lines = "{\"a\":1,\"b\":NaN,\"y\":1}\n{\"a\":NaN,\"b\":5,\"y\":0}\n{\"a\":3,\"b\":5,\"y\":1}\n";
    let files = [
        folder.file("a.csv", "a,b,y\n1,NaN,1\nNaN,5,0\n3,5,1\n"),
        folder.file("a.jsonl", lines),
        folder.parquet(columns.clone()),
        folder.arrow(columns),
    ];
    for categorical in [vec![], vec!["b".to_string()]] {
        let asked = ReadOptions { categorical, ..ReadOptions::default() };
        let expected = read(&files[0], &asked, None).unwrap();
        for file in &files {
            assert_eq!(read(file, &asked, None).unwrap(), expected, "{}", file.display());
        }
    }
    let mut warned = Vec::new();
    lazyglm::data::dataset::for_each_block(&files[2], &ReadOptions::default(), None, |block| {
        warned.extend(block.dirty.iter().map(|cells| (cells.column.clone(), cells.count, cells.line)));
        Ok(())
    })
    .unwrap();
    warned.sort();
    assert_eq!(warned, [("a".to_string(), 1, 2), ("b".to_string(), 1, 1)]);
}
