//! Times of day, durations, lists of structs, and keys that rows of JSON Lines lack: alike in every format that has them.

use super::tables::*;
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use lazyglm::data::format::{Missing, ReadOptions};
use std::path::PathBuf;
use std::sync::Arc;

/// Whichever file a model learns from, it reads all of them alike.
fn alike(files: &[PathBuf], asked: &ReadOptions) -> Vec<Row> {
    let expected = read(&files[0], asked, None).unwrap();
    for trained_on in files {
        let known = opened(trained_on, asked, None).unwrap();
        for file in files {
            let read = read(file, &ReadOptions::default(), Some(&known)).unwrap();
            assert_eq!(read, expected, "{} ▸ {}", trained_on.display(), file.display());
        }
    }
    expected
}

#[test]
fn times_of_day_and_durations() {
    let folder = Folder::new();
    let columns = |time: ArrayRef, took: ArrayRef| {
        vec![("at", time), ("took", took), ("y", Arc::new(Int8Array::from(vec![1, 0, 1, 0])) as ArrayRef)]
    };
    let at = [Some(47_100_500), None, Some(0), Some(86_399_000)];
    let took = [Some(93_600), Some(-1), None, Some(0)];
    let in_micros = |x: Option<i32>| x.map(|x| i64::from(x) * 1000);
    let in_nanos = |x: Option<i64>| x.map(|x| x * 1_000_000_000);
    let in_millis = columns(
        Arc::new(Time32MillisecondArray::from(at.to_vec())),
        Arc::new(DurationSecondArray::from(took.to_vec())),
    );
    let finer = columns(
        Arc::new(at.iter().map(|x| in_micros(*x)).collect::<Time64MicrosecondArray>()),
        Arc::new(took.iter().map(|x| in_nanos(*x)).collect::<DurationNanosecondArray>()),
    );
    let csv = "at,took,y\n13:05:00.5,1 days 02:00:00,1\n,-1 days +23:59:59,0\n00:00,,1\n23:59:59,0 days,0\n";
    let lines = r#"{"at":"13:05:00.5","took":"P1DT2H","y":1}
{"at":null,"took":"-PT1S","y":0}
{"at":"00:00:00","y":1}
{"at":"23:59:59","took":"PT0S","y":0}
"#;
    let files = [
        folder.file("a.csv", csv),
        folder.file("a.jsonl", lines),
        folder.parquet(in_millis.clone()),
        folder.arrow(finer),
    ];
    for missing in [Missing::Zero, Missing::Indicator] {
        let rows = alike(&files, &ReadOptions { missing: Some(missing), ..ReadOptions::default() });
        assert_eq!(rows[0].1["at"], 47_100.5 / 3600.0);
        assert_eq!((rows[0].1["at=hour:13"], rows[0].1["took"], rows[1].1["took"]), (1.0, 93_600.0, -1.0));
    }
    let wrong: ArrayRef = Arc::new(Time32MillisecondArray::from(vec![86_400_000]));
    let y: ArrayRef = Arc::new(Int8Array::from(vec![1]));
    let told = read(&folder.arrow(vec![("at", wrong), ("y", y)]), &ReadOptions::default(), None);
    assert!(told.unwrap_err().starts_with("a.arrow:1: the time of day in 'at' is out of range"));
}

/// Lists of structs with a text, a number and a struct with a truth; or of other fields.
fn lists_of(fields: Vec<(&str, ArrayRef)>, lengths: &[usize], valid: Vec<bool>) -> ArrayRef {
    let of = |(name, array): &(&str, ArrayRef)| Arc::new(Field::new(*name, array.data_type().clone(), true));
    let types: Vec<Arc<Field>> = fields.iter().map(of).collect();
    let items = StructArray::new(types.into(), fields.into_iter().map(|(_, array)| array).collect(), None);
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(item, offsets, Arc::new(items), Some(NullBuffer::from(valid))))
}

#[test]
fn lists_of_structs_and_arrays_of_objects() {
    let folder = Folder::new();
    let truths: ArrayRef =
        Arc::new(BooleanArray::from(vec![Some(true), Some(true), None, Some(true), Some(false)]));
    let inner = StructArray::from(vec![(Arc::new(Field::new("ok", DataType::Boolean, true)), truths)]);
    let sku: ArrayRef =
        Arc::new(StringArray::from(vec![Some("p"), Some("q"), Some("p"), Some("hidden"), None]));
    let n: ArrayRef = Arc::new(Int32Array::from(vec![Some(2), Some(1), None, Some(9), Some(5)]));
    let lists = lists_of(
        vec![("sku", sku), ("n", n), ("more", Arc::new(inner))],
        &[3, 1, 1, 0],
        vec![true, false, true, true], // under the null stands an item
    );
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("items", lists.clone()),
            ("a", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0]))),
            ("y", Arc::new(Int8Array::from(vec![1, 0, 1, 0]))),
        ]
    };
    let lines = r#"{"items":[{"sku":"p","n":2,"more":{"ok":true}},{"sku":"q","n":1,"more":{"ok":true}},{"sku":"p","n":null}],"a":1,"y":1}
{"items":null,"a":2,"y":0}
{"items":[{"n":5,"more":{"ok":false}}],"a":3,"y":1}
{"items":[],"a":4,"y":0}
"#;
    let files = [folder.parquet(columns()), folder.arrow(columns()), folder.file("a.jsonl", lines)];
    let rows = alike(&files, &ReadOptions::default());
    let first: Vec<(&str, f64)> = rows[0].1.iter().map(|(name, x)| (name.as_str(), *x)).collect();
    assert_eq!(
        first,
        [("a", 1.0), ("items.more.ok", 2.0), ("items.n", 3.0), ("items.sku=p", 2.0), ("items.sku=q", 1.0)]
    );
    assert_eq!(rows[1].1.len(), 1, "a null list has no items");
    let asked = ReadOptions { copy: vec!["items".into(), "items.n".into()], ..ReadOptions::default() };
    for file in &files[..2] {
        let mut copied = Vec::new();
        lazyglm::data::dataset::for_each_block(file, &asked, None, |block| {
            copied.extend(block.copied.clone());
            Ok(())
        })
        .unwrap();
        let first = r#"[{"sku":"p","n":2,"more":{"ok":true}},{"sku":"q","n":1,"more":{"ok":true}},{"sku":"p","n":null,"more":{"ok":null}}]"#;
        assert_eq!(copied[..4], [first, "[2,1,null]", "", ""]);
        assert_eq!(copied[4..], [r#"[{"sku":null,"n":5,"more":{"ok":false}}]"#, "[5]", "[]", "[]"]);
    }
    let drop = vec!["items.sku".to_string()];
    let dropped = alike(&files, &ReadOptions { drop, ..ReadOptions::default() });
    assert!(!dropped[0].1.contains_key("items.sku=p") && dropped[0].1.contains_key("items.n"));
}

#[test]
fn lists_inside_lists_of_structs_are_refused_by_name() {
    let folder = Folder::new();
    let tags = super::tables::lists(&[Some(vec![Some("x")]), Some(vec![])]);
    let n: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let columns = vec![
        ("items", lists_of(vec![("tags", tags), ("n", n.clone())], &[1, 1], vec![true, true])),
        ("when", Arc::new(IntervalDayTimeArray::from(vec![None, None])) as ArrayRef),
        ("y", n),
    ];
    let told = opened(&folder.arrow(columns), &ReadOptions::default(), None).unwrap_err();
    assert!(told.contains("2 columns") && told.contains("items.tags") && told.contains("when"), "{told}");
    let line = "{\"items\":[{\"tags\":[1],\"n\":1}],\"y\":1}\n";
    let told = read(&folder.file("a.jsonl", line), &ReadOptions::default(), None).unwrap_err();
    assert!(
        told.contains("the array of 'items.tags' is inside another array") && told.contains("drop"),
        "{told}"
    );
    let drop = vec!["items.tags".to_string()];
    let asked = ReadOptions { drop, ..ReadOptions::default() };
    assert_eq!(read(&folder.file("a.jsonl", line), &asked, None).unwrap()[0].1["items.n"], 1.0);
}

/// A key that a row of JSON Lines lacks is missing, as an empty cell and a null are, whatever the model learnt from.
#[test]
fn an_absent_key_of_a_table_is_missing() {
    let folder = Folder::new();
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("age", Arc::new(Float64Array::from(vec![Some(31.0), None, Some(40.0), Some(1.0)]))),
            ("day", Arc::new(Date32Array::from(vec![Some(0), Some(1), None, Some(5)]))),
            ("rare", Arc::new(Int32Array::from(vec![None, None, None, Some(3)]))),
            ("city", Arc::new(StringArray::from(vec![Some("Oslo"), None, Some("Bergen"), Some("Oslo")]))),
            ("y", Arc::new(Int8Array::from(vec![1, 0, 1, 0]))),
        ]
    };
    let csv =
        "age,day,rare,city,y\n31,1970-01-01,,Oslo,1\n,1970-01-02,,,0\n40,,,Bergen,1\n1,1970-01-06,3,Oslo,0\n";
    let lines = r#"{"age":31,"day":"1970-01-01","city":"Oslo","y":1}
{"day":"1970-01-02","y":0}
{"age":40,"city":"Bergen","y":1}
{"age":1,"day":"1970-01-06","rare":3,"city":"Oslo","y":0}
"#;
    let files = [
        folder.file("a.csv", csv),
        folder.file("a.jsonl", lines),
        folder.parquet(columns()),
        folder.arrow(columns()),
    ];
    for missing in [Missing::Zero, Missing::Mean, Missing::Indicator] {
        let rows = alike(&files, &ReadOptions { missing: Some(missing), ..ReadOptions::default() });
        assert_eq!(rows[1].1.get("age").copied(), (missing != Missing::Zero).then_some(24.0));
        assert_eq!(rows[0].1.contains_key("rare=missing"), missing == Missing::Indicator);
    }
    // A table must have the columns whose missing numbers something stands for.
    let known = opened(&files[1], &ReadOptions::default(), None).unwrap();
    let told =
        opened(&folder.file("b.csv", "age,y\n1,1\n"), &ReadOptions::default(), Some(&known)).unwrap_err();
    assert!(told.contains("there are no columns 'day', 'rare', which the model was trained on"), "{told}");
}

/// Rows that list the few features they have are no table: what is absent is zero.
#[test]
fn an_absent_key_of_sparse_rows_is_zero() {
    let folder = Folder::new();
    let line = |k: usize| format!("{{\"the\":1,\"w{k}\":2,\"v{}\":1,\"y\":{}}}\n", k % 3, k % 2);
    let lines: String =
        (0..20).map(line).collect::<String>() + "{\"w1\":1,\"y\":1}\n{\"the\":null,\"y\":0}\n";
    let rows = read(&folder.file("a.jsonl", lines), &ReadOptions::default(), None).unwrap();
    assert_eq!(rows[20].1.keys().collect::<Vec<_>>(), ["w1"]);
    assert!(rows[21].1.contains_key("the=missing"), "a null says that the number is missing");
}
