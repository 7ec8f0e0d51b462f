//! Laws of opening JSON Lines: the target, keys that never occur, and how the format is recognised.

use crate::format_jsonl::{opened, spec};
use lazyglm::data::format::{ColumnKind, FormatSpec, Opening, ReadOptions, open};

#[test]
fn the_target_is_as_asked_or_the_first_usual_name() {
    let asked = ReadOptions::default();
    let target = |first: &str| opened(first, "a.jsonl", &asked, None);
    assert_eq!(target("{\"y\": 1, \"label\": 2}").unwrap(), spec("label", &[], &[]));
    assert_eq!(target("\n{\"y\": 1}\n{\"label\": 2}").unwrap(), spec("y", &[], &[]), "the first row decides");
    assert_eq!(target("{\"a\": 1}\n{\"class\": 2}").unwrap(), spec("class", &[], &[]));
    assert_eq!(
        target("{\"price\": 1, \"Label\": {\"deep\": 1}}").unwrap_err(),
        "a.jsonl: no key is called target, label, y, class; set target to the name of the target; there are: price, Label, Label.deep"
    );
    assert!(target("").is_ok() && target("\n").is_ok(), "that there are no rows is said elsewhere");
    assert!(target("{\"y\": 1}\n{\"y\"").unwrap_err().starts_with("a.jsonl:2:5: no ':' follows"));
    let asked = ReadOptions { target: Some("price".into()), ..ReadOptions::default() };
    assert_eq!(opened("{\"y\": 1, \"price\": 2}", "a.jsonl", &asked, None).unwrap(), spec("price", &[], &[]));
}

#[test]
fn names_that_never_occur_are_refused_with_a_suggestion() {
    let first = "{\"y\": 1, \"price\": 2}\n{\"city\": 1}";
    let unknown =
        "a.jsonl: no key 'pirce' occurs in the first lines; did you mean 'price'? There are: price, city, y";
    let name = || vec!["pirce".to_string()];
    for asked in [
        ReadOptions { target: Some("pirce".into()), ..ReadOptions::default() },
        ReadOptions { drop: name(), ..ReadOptions::default() },
        ReadOptions { categorical: name(), ..ReadOptions::default() },
    ] {
        assert_eq!(opened(first, "a.jsonl", &asked, None).unwrap_err(), unknown);
        let known = spec("other", &["gone"], &[]);
        assert_eq!(opened(first, "a.jsonl", &asked, Some(&known)).unwrap(), known, "a model's spec stands");
    }
    let asked = ReadOptions {
        drop: vec!["city".into()],
        categorical: vec!["price".into()],
        ..ReadOptions::default()
    };
    assert_eq!(opened(first, "a.jsonl", &asked, None).unwrap(), spec("y", &["city"], &["price"]));
    let asked = ReadOptions { drop: vec!["y".into()], ..ReadOptions::default() };
    let both = "the key 'y' is the target and is to be left out; take it off drop, or name another target";
    assert_eq!(opened(first, "a.jsonl", &asked, None).unwrap_err(), both);
    let many: String = (0..1000).map(|k| format!("\"key{k}\": 1, ")).collect();
    let error = opened(
        &format!("{{{many}\"y\": 1}}"),
        "a.jsonl",
        &ReadOptions { drop: name(), ..ReadOptions::default() },
        None,
    );
    assert!(error.unwrap_err().len() < 300, "a long list of keys is cut");
}

#[test]
fn it_is_recognised_by_its_ending_or_its_first_byte() {
    let asked = ReadOptions::default();
    for (first, file) in
        [("{\"y\": 1}", "mail"), ("\u{feff}\n {\"y\": 1}", "mail"), ("", "a.ndjson.gz"), ("", "a.json")]
    {
        assert_eq!(opened(first, file, &asked, None).unwrap().name(), "jsonl");
    }
    assert_ne!(opened("1 3:1", "mail", &asked, None).unwrap().name(), "jsonl");
    let text = serde_json::to_string(&spec("y", &["a"], &[])).unwrap();
    assert_eq!(text, r#"{"format":"jsonl","target":"y","drop":["a"],"categorical":[]}"#);
    assert_eq!(serde_json::from_str::<FormatSpec>(&text).unwrap(), spec("y", &["a"], &[]));
}

/// Remarks that one row in four has are text, as they are in a CSV file.
#[test]
fn a_rare_key_of_text_is_text() {
    let words = ["quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "today"];
    let remark = |i: usize| (0..6).map(|k| words[(i * (k + 3) + k) % 8]).collect::<Vec<_>>().join(" ");
    let row = |i: usize| match i % 4 {
        0 => format!("{{\"y\": {}, \"remark\": \"{} and word{i}\"}}\n", i % 2, remark(i)),
        _ => format!("{{\"y\": {}}}\n", i % 2),
    };
    let text: String = (0..200).map(row).collect();
    let asked = ReadOptions::default();
    let opening = Opening { first: text.as_bytes(), file: "a.jsonl".as_ref(), asked: &asked, known: None };
    let FormatSpec::Jsonl { columns, .. } = open(&opening).unwrap() else { panic!("JSON lines") };
    let kinds: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
    assert_eq!(kinds, [("remark", ColumnKind::Text)]);
}
