//! Laws of hostile input: quotes that swallow rows, nesting without end, names that would be taken for one another,
//! records of megabytes, values that would steer a terminal.

use crate::common::reading::{error, read, read_in_blocks, spec};
use lazyglm::data::dataset::for_each_block;
use lazyglm::data::format::ReadOptions;
use lazyglm::util::random::Random;
use lazyglm::{Error, Place, escaped, excerpt};
use std::collections::BTreeMap;

fn names(text: &str, file: &str, asked: &ReadOptions) -> Vec<Vec<String>> {
    let read = read(text.as_bytes(), file, asked).expect("rows");
    read.rows.iter().map(|(_, features)| features.keys().cloned().collect()).collect()
}

#[test]
fn an_unclosed_quote_is_an_error_where_it_opens_in_any_blocks() {
    let random = &mut Random::new(1);
    for (file, delimiter) in [("a.csv", ','), ("a.tsv", '\t'), ("b.csv", ';')] {
        for case in 0..300 {
            let (before, after) = (random.below(30), random.below(30));
            let column = random.below(2) as usize;
            let row = |quote: &str| match column {
                0 => format!("{quote}red{delimiter}1\n"),
                _ => format!("red{delimiter}{quote}1\n"),
            };
            let mut text = format!("a{delimiter}y\n");
            (0..before).for_each(|k| {
                text += &if k % 3 == 0 { row("").replace("red", "\"r\ne\"\"d\"") } else { row("") }
            });
            let line = text.matches('\n').count() + 1;
            text += &row("\"");
            (0..after).for_each(|_| text += &row("").replace("red", "r\"\"d"));
            let place = format!("{file}:{line}:{}: the quote that opens here is not closed", [1, 5][column]);
            let opened = spec(text.as_bytes(), file, &ReadOptions::default(), None).expect("a table");
            let size = 1 + random.below(80) as usize;
            let told = read_in_blocks(text.as_bytes(), file, &opened, size).expect_err("refused").to_string();
            assert!(told.starts_with(&place), "case {case}: {told}\n{text}");
        }
    }
    let header = error(
        b"a,\"b\n1,2\n3,4\n",
        "a.csv",
        &ReadOptions { target: Some("a".into()), ..ReadOptions::default() },
    );
    assert!(header.starts_with("a.csv:1:3: the quote that opens here is not closed"), "{header}");
}

#[test]
fn text_behind_the_quote_that_closes_a_cell_of_several_lines_is_an_error() {
    for (cell, fine) in [
        ("\"red\ngreen\"", true),
        ("\"red\ngreen\" ", true),
        ("\"red\"\"\n\"\"green\"", true),
        ("\"red\"green", true), // on one line it is what others make of it
        ("\"red\ngreen\"blue", false),
        ("\"red\n\n\ngreen\"\tblue", false),
    ] {
        let text = format!("a,y\nplain,1\n{cell},0\nplain,1\n");
        match (read(text.as_bytes(), "a.csv", &ReadOptions::default()), fine) {
            (Ok(read), true) => assert_eq!(read.rows.len(), 3, "{cell:?}"),
            (Err(told), false) => {
                assert!(
                    told.to_string().starts_with("a.csv:3:1: the quote that opens here closes after"),
                    "{told}"
                );
            }
            (other, _) => panic!("{cell:?}: {other:?}"),
        }
    }
}

#[test]
fn json_nested_without_end_is_an_error_or_passed_over() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = open.repeat(200_000) + "1" + &close.repeat(200_000);
        let text = format!("{{\"y\": 1, \"a\": {deep}}}\n");
        let told = error(text.as_bytes(), "a.jsonl", &ReadOptions::default());
        assert!(told.starts_with("a.jsonl:1:"), "{told}");
        let asked = ReadOptions { drop: vec!["a".into()], ..ReadOptions::default() };
        let _ = read(text.as_bytes(), "a.jsonl", &asked); // rows or an error
        let _ = read(&text.as_bytes()[..150_000], "a.jsonl", &asked);
    }
}

#[test]
fn features_of_different_namespaces_or_keys_have_different_names() {
    let vw = "1 |a b^c\n1 |a^b c\n1 |a b:c\n1 |a^b:1 c^d\n1 |a b^c^d\n1 |a^b^c d\n1 |a\\ b^c\n1 |a\\^b c\n";
    let json = r#"{"y": 1, "a": "b=c"}
{"y": 1, "a=b": "c"}
{"y": 1, "a\\": "b=c"}
{"y": 1, "a\\=b": "c"}
{"y": 1, "a\\\\": "=c"}
"#;
    for (text, file) in [(vw, "a.vw"), (json, "a.jsonl")] {
        let mut seen = BTreeMap::new();
        for (row, names) in names(text, file, &ReadOptions::default()).into_iter().enumerate() {
            for name in names {
                if let Some(other) = seen.insert(name.clone(), row) {
                    panic!("{file}: rows {other} and {row} share '{name}'");
                }
            }
        }
    }
    assert_eq!(
        names("1 |a b\n1 | a^b\n", "a.vw", &ReadOptions::default()),
        [["a^b"], ["a^b"]],
        "a whole name"
    );
    assert_eq!(names("1 |a b^c\n", "a.vw", &ReadOptions::default()), [["a^b\\^c"]]);
}

#[test]
fn products_of_different_features_have_different_names_and_namespaces_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.vw");
    std::fs::write(&file, "1 |a^b p |c q*r\n1 |a^b p*q |c r\n").expect("a file");
    let asked = ReadOptions { interact: vec![vec!["a^b".into(), "c".into()]], ..ReadOptions::default() };
    let mut products = Vec::new();
    for_each_block(&file, &asked, None, |block| {
        let names = block.names.as_ref().expect("names");
        products.extend(names.iter().filter(|name| name.matches('^').count() == 3).map(str::to_string));
        Ok(())
    })
    .expect("rows");
    assert_eq!(products, ["a\\^b^p*c^q\\*r", "a\\^b^p\\*q*c^r"]);
}

/// A table, lines of JSON and a row of Vowpal Wabbit in which one name of so many bytes stands before so many values, which
/// are different or all equal.
fn with_long_names(long: usize, values: usize, differ: bool) -> [(&'static str, String); 5] {
    let (name, value) = ("n".repeat(long), |k: usize| if differ { k } else { 0 });
    let each = |of: &dyn Fn(usize) -> String| (0..values).map(|k| of(value(k))).collect::<String>();
    let object = |of: &dyn Fn(usize) -> String| each(of).trim_end_matches(',').to_string();
    [
        ("a.vw", format!("1 |{name}{}\n-1 |a b\n", each(&|k| format!(" {k:x}")))),
        ("a.csv", format!("y,{name}\n{}", each(&|k| format!("1,v{k:x}\n")))),
        ("items.jsonl", format!("{{\"y\":1,\"{name}\":[{}]}}\n", object(&|k| format!("\"{k:x}\",")))),
        ("inner.jsonl", format!("{{\"y\":1,\"{name}\":[{}]}}\n", object(&|k| format!("{{\"{k:x}\":1}},")))),
        ("keys.jsonl", format!("{{\"y\":1,\"{name}\":{{{}}}}}\n", object(&|k| format!("\"{k:x}\":1,")))),
    ]
}

#[test]
fn a_long_name_that_every_feature_repeats_takes_neither_memory_nor_time_out_of_proportion() {
    for differ in [true, false] {
        for (file, text) in with_long_names(200_000, 20_000, differ) {
            if !differ && file == "keys.jsonl" {
                continue; // an object has each key once
            }
            // All names together would have 4 GB.
            let told = error(text.as_bytes(), file, &ReadOptions::default());
            assert!(told.contains("features would take many times the size of the data"), "{told}");
            assert!(told.contains("shorten"), "{told}");
        }
    }
    for (long, values) in [(200, 20_000), (20_000, 40), (1_000_000, 2)] {
        for (file, text) in with_long_names(long, values, true) {
            let rows = read(text.as_bytes(), file, &ReadOptions::default()).expect(file).rows;
            let features: usize = rows.iter().map(|(_, features)| features.len()).sum();
            assert!(features >= values, "{file}: {features} features");
        }
    }
}

#[test]
fn rows_that_lack_most_of_thousands_of_keys_are_no_table_of_a_billion_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.jsonl");
    let full = |row: usize| {
        let keys: String = (0..5_000).map(|k| format!(",\"key{k}\":{}", (row * k) % 3)).collect();
        format!("{{\"y\":{}{keys}}}\n", row % 2)
    };
    let first: String = (0..25).map(full).collect(); // more than a megabyte, which decides that this is a table
    let count = |few: usize| {
        let rows = first.clone() + &"{\"y\":1}\n".repeat(few);
        std::fs::write(&file, rows).expect("a file");
        let mut count = 0;
        let done = for_each_block(&file, &ReadOptions::default(), None, |block| {
            count += block.rows.len();
            Ok(())
        });
        done.map(|_| count).map_err(|e| e.to_string())
    };
    assert_eq!(count(100), Ok(125));
    let told = count(300_000).expect_err("1.5 billion values");
    assert!(
        told.contains("or rows lack most of thousands of keys; ") && told.contains("drop keys"),
        "{told}"
    );
}

#[test]
fn errors_have_no_control_characters_and_no_long_parts() {
    let hostile = "\x1b[31m\r\n\u{9b}\u{202e}".repeat(10_000);
    let place = Place::file("a\x1b[2Jb.svm").line(3);
    for told in [
        Error::data(place.clone(), hostile.clone(), hostile.clone()),
        Error::call(hostile.clone(), "x".repeat(1_000_000)),
        Error::io("a\x07b", std::io::ErrorKind::NotFound.into(), hostile.clone()),
    ] {
        let told = told.to_string();
        assert!(!told.contains(|c: char| c.is_control() || c == '\u{202e}'), "{:?}", &told[..200]);
        assert!(told.len() < 50_000, "{} bytes", told.len());
    }
    assert_eq!(excerpt(b"\xff\x00a"), "\u{fffd}\\u{0}a");
    assert_eq!(excerpt("y".repeat(60)), "y".repeat(60));
    assert_eq!(excerpt("y".repeat(61)), "y".repeat(60) + "… (61 bytes)");
    assert_eq!(excerpt("\u{1b}".repeat(1000)).len(), 60 * 6 + "… (1000 bytes)".len());
    assert_eq!(escaped("tab\tand 日本"), "tab\\tand 日本");
}
