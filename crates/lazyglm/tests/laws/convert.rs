//! Laws of conversion: what is written in another format reads back as the same rows, to the last bit.

use lazyglm::convert::{Converted, convert};
use lazyglm::data::format::ReadOptions;
use lazyglm::{CacheMode, Dataset, Load, data::dataset, data::format::write};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

/// A target, a weight, and the bits of the values of features by name.
type Row = (Option<String>, f64, BTreeMap<String, u64>);

/// The rows of a file, as the library reads them.
fn read(path: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    dataset::for_each_block(path, &ReadOptions::default(), None, |block| {
        for i in 0..block.rows.len() {
            let mut features = BTreeMap::new();
            block.rows.borrow().for_each(i, |id, x| {
                let name =
                    block.names.as_ref().map_or(id.to_string(), |names| names.name(id as u32).to_string());
                features.insert(name, x.to_bits());
            });
            let target =
                (!block.labels.is_empty()).then(|| block.labels.name(i)).filter(|name| !name.is_empty());
            rows.push((target, block.weights.get(i).copied().unwrap_or(1.0), features));
        }
        Ok(())
    })
    .unwrap();
    rows
}

fn to(from: &Path, to: &Path) -> lazyglm::Result<Converted> {
    convert(from, &ReadOptions::default(), to, write::find(to, None)?)
}

/// The rows of a file once it was converted; names that became indices are names again.
fn through(from: &Path, name: &str) -> Vec<Row> {
    let path = from.with_file_name(name);
    let Converted { names, rows, .. } = to(from, &path).unwrap();
    let mut back = read(&path);
    assert_eq!(back.len() as u64, rows);
    if let Some(names) = names {
        let text = std::fs::read_to_string(names).unwrap();
        let names: HashMap<&str, &str> = text.lines().map(|line| line.split_once('\t').unwrap()).collect();
        for (_, _, features) in &mut back {
            *features = features.iter().map(|(index, x)| (names[&**index].to_string(), *x)).collect();
        }
    }
    back
}

/// A table without quotes, read by hand.
fn read_table(path: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let row = |cells: Vec<&str>| {
        let value = |(name, cell): (&&str, &&str)| (name.to_string(), cell.parse::<f64>().unwrap());
        let features = header.iter().zip(&cells).skip(1).map(value).filter(|(_, x)| *x != 0.0);
        let features = features.map(|(name, x)| (name, x.to_bits())).collect();
        (Some(cells[0].to_string()).filter(|target| !target.is_empty()), 1.0, features)
    };
    lines.map(row).collect()
}

fn values() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL};
    prop_oneof![
        Just(1.0),
        (-9i32..9).prop_map(f64::from),
        -1.0..1.0,
        NORMAL | SUBNORMAL | POSITIVE | NEGATIVE
    ]
    .prop_filter("zeros are not written", |x| *x != 0.0)
}

/// A word, or a number, in an ordinary form or another.
fn targets() -> impl Strategy<Value = String> {
    let fine = |text: &String| text.parse::<f64>().is_ok_and(f64::is_finite) || text.parse::<f64>().is_err();
    prop_oneof![
        "[+-]?[0-3]",
        "[0-9]{1,3}[.][0-9]{1,3}",
        "[a-zé_.+-]{1,6}",
        values().prop_map(|x| x.to_string())
    ]
    .prop_filter("targets are finite, and none says that it is missing", move |text| {
        fine(text) && text != "null"
    })
}

/// Rows with indices, as svmlight text.
fn indexed() -> impl Strategy<Value = String> {
    let row = (targets(), prop::collection::btree_map(0u32..40, values(), 0..8), 0u32..2);
    prop::collection::vec(row, 1..20).prop_map(|rows| {
        let mut text = String::new();
        for (target, pairs, high) in rows {
            let _ = write!(text, "{target}");
            pairs.iter().for_each(|(index, x)| _ = write!(text, " {index}:{x:e}"));
            let _ = writeln!(text, " {}:1 # a word", u32::MAX - high);
        }
        text
    })
}

/// Rows with names, as JSON lines; the names from this pattern.
fn named(names: &'static str) -> impl Strategy<Value = String> {
    let row = (targets(), prop::collection::btree_map(names, values(), 1..8));
    prop::collection::vec(row, 1..20).prop_map(|rows| {
        let mut text = String::new();
        for (target, pairs) in rows {
            let mut object: serde_json::Map<String, serde_json::Value> =
                pairs.into_iter().map(|(name, x)| (name, x.into())).collect();
            object.insert("target".into(), target.into());
            let _ = writeln!(text, "{}", serde_json::Value::Object(object));
        }
        text
    })
}

/// A folder with a file in it.
fn folder(name: &str, text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_with_indices_stay_what_they_are(text in indexed()) {
        let (_folder, from) = folder("a.svm", &text);
        let rows = read(&from);
        for name in ["b.svm", "b.svm.gz", "b.svm.zst", "b.vw", "b.jsonl", "b.jsonl.gz"] {
            prop_assert_eq!(&through(&from, name), &rows, "{}", name);
        }
        to(&from, &from.with_file_name("b.csv")).unwrap();
        prop_assert_eq!(read_table(&from.with_file_name("b.csv")), rows);
    }

    #[test]
    fn any_name_can_be_written_as_svmlight_and_jsonl(text in named("[^\\p{Cc}]{0,8}")) {
        let (_folder, from) = folder("a.jsonl", &text);
        let rows = read(&from);
        for name in ["b.svm", "b.jsonl", "b.svm.zst"] {
            prop_assert_eq!(&through(&from, name), &rows, "{}", name);
        }
    }

    #[test]
    fn plain_names_can_be_written_in_every_format(text in named("[a-zé^=_0-9]{1,5}")) {
        let (_folder, from) = folder("a.jsonl", &text);
        let rows = read(&from);
        for name in ["b.svm", "b.vw", "b.jsonl"] {
            prop_assert_eq!(&through(&from, name), &rows, "{}", name);
        }
        prop_assert_eq!(&through(&from.with_file_name("b.vw"), "c.jsonl"), &rows);
        to(&from, &from.with_file_name("b.csv")).unwrap();
        prop_assert_eq!(read_table(&from.with_file_name("b.csv")), rows);
    }

    #[test]
    fn a_cache_that_was_written_is_read_instead_of_the_data(text in indexed()) {
        let (_folder, from) = folder("a.svm", &text);
        to(&from, &from.with_file_name("a.svm.lazyglm-cache")).unwrap();
        let load = |cache| Dataset::load(&from, &Load { cache, ..Load::default() }).unwrap().0;
        let (cached, direct) = (load(CacheMode::Only), load(CacheMode::Off));
        prop_assert_eq!(cached.rows, direct.rows);
        prop_assert_eq!(cached.labels, direct.labels);
    }
}

#[test]
fn weights_stay_in_vowpal_wabbit_text_and_are_missed_elsewhere() {
    let (_folder, from) = folder("a.vw", "1 0.1 |a b:2\nword 3 |a c\n1 0 | d\n0 | e\n");
    assert_eq!(through(&from, "b.vw"), read(&from));
    let done = to(&from, &from.with_file_name("b.jsonl")).unwrap();
    assert_eq!(
        done.notes,
        ["warning: 3 rows have weights of their own, which jsonl cannot hold: they are lost"]
    );
}

#[test]
fn rows_without_targets_stay_so_and_a_mixture_is_refused() {
    let (_folder, from) = folder("a.svm", "1:1 2:0.5\n7:1\n");
    for name in ["b.svm", "b.vw", "b.jsonl"] {
        assert_eq!(through(&from, name), read(&from), "{name}");
    }
    to(&from, &from.with_file_name("b.csv")).unwrap();
    assert_eq!(read_table(&from.with_file_name("b.csv")), read(&from));
    for text in ["1 1:1\n2:1\n", "1:1\n\n1 2:1\n2 3:1\n"] {
        std::fs::write(&from, text).unwrap();
        let error = to(&from, &from.with_file_name("c.vw")).unwrap_err().to_string();
        assert!(
            error.contains(&format!(
                "a.svm:{}: the row has no target",
                1 + usize::from(text.starts_with("1 "))
            ))
        );
    }
}

#[test]
fn what_a_format_cannot_say_is_refused_with_its_place() {
    let refused = |row: &str, name: &str, what: &str| {
        let (folder, from) = folder("a.jsonl", &format!("{{\"target\": 1, \"a\": 1}}\n{row}\n"));
        let error = to(&from, &from.with_file_name(name)).unwrap_err().to_string();
        assert!(error.contains("a.jsonl") && error.contains(what), "{error}");
        assert!(name.ends_with("csv") || error.contains("a.jsonl:2: "), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left");
    };
    for target in ["New York", "a:b", "#1"] {
        refused(&format!("{{\"target\": \"{target}\", \"a\": 1}}"), "b.svm", "the target '");
    }
    for target in ["New York", "a:b", "a|b", "a,b", "'a"] {
        refused(&format!("{{\"target\": \"{target}\", \"a\": 1}}"), "b.vw", "the target '");
    }
    for name in ["a b", "a|b", "a:b", "", "a\\tb", "a\\nb"] {
        refused(&format!("{{\"target\": 1, \"{name}\": 1}}"), "b.vw", "the feature '");
    }
    for name in ["", " a", "a\\t"] {
        refused(&format!("{{\"target\": 1, \"{name}\": 1}}"), "b.csv", "a feature is called '");
    }
    for target in ["NA", "?", " a"] {
        refused(&format!("{{\"target\": \"{target}\", \"a\": 1}}"), "b.csv", "would read back as another");
    }
    let (_folder, from) = folder("a.vw", "1 | target:2\n");
    for name in ["b.jsonl", "b.csv"] {
        let error = to(&from, &from.with_file_name(name)).unwrap_err().to_string();
        assert!(error.contains("a feature is called 'target'"), "{error}");
    }
}
