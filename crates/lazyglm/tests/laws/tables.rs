//! Laws of tables that are scored in another format than the model learnt from: what was dropped stays dropped, booleans
//! are the same classes, NaN is a missing number, and a row has the same score wherever it stands.

use crate::common::reading::{Read, error, read, read_in_blocks, spec};
use lazyglm::data::dataset::for_each_block;
use lazyglm::data::format::{FormatSpec, Parsed, ReadOptions};
use lazyglm::problem::task::{Unknown, signs_or_unknown};
use lazyglm::{CacheMode, Dataset, Labels, Load, Model, Place, Scale, Scorer, Settings, Task, train};
use std::path::Path;

fn rows(read: &Read) -> Vec<Vec<(&str, f64)>> {
    (0..read.rows.len()).map(|row| read.features(row)).collect()
}

fn like(text: &str, file: &str, known: &FormatSpec) -> Read {
    let opened = spec(text.as_bytes(), file, &ReadOptions::default(), Some(known)).unwrap();
    read_in_blocks(text.as_bytes(), file, &opened, 50).unwrap()
}

#[test]
fn columns_that_a_model_dropped_or_never_had_are_ignored_in_json_lines() {
    let csv = "id,in.a,in.b,out.c,age,y\n7,1,x,5,31,1\n8,2,z,6,40,0\n";
    let lines = r#"{"id":7,"in":{"a":1,"b":"x"},"out":{"c":5},"age":31,"new":"word","list":["a",[1]],"y":1}
{"id":8,"in":{"a":2,"b":"z","more":{"x":1}},"out":7,"age":40,"y":0}
"#;
    let asked = ReadOptions { drop: vec!["id".into(), "out.c".into()], ..ReadOptions::default() };
    let known = spec(csv.as_bytes(), "t.csv", &asked, None).unwrap();
    let (table, json) = (like(csv, "t.csv", &known), like(lines, "t.jsonl", &known));
    assert_eq!(table.features(0), [("age", 31.0), ("in.a", 1.0), ("in.b=x", 1.0)]);
    assert_eq!(rows(&json), rows(&table));
    assert_eq!(json.labels, table.labels);
    // A model of JSON Lines has no complete list of keys: new ones count, and those inside a dropped key do not.
    let asked = ReadOptions { drop: vec!["in".into()], ..ReadOptions::default() };
    let lines = "{\"in\":{\"a\":1},\"age\":31,\"y\":1}\n";
    let known = spec(lines.as_bytes(), "t.jsonl", &asked, None).unwrap();
    assert_eq!(
        like("in.a,age,new,y\n1,31,5,1\n", "t.csv", &known).features(0),
        [("age", 31.0), ("new", 5.0)]
    );
}

#[test]
fn lists_of_a_parquet_model_are_taken_by_their_types_in_json_lines() {
    let parquet = r#"{"format":"parquet","target":"y","columns":[{"name":"tags","holds":"lists"},{"name":"v","holds":"vectors"},
        {"name":"of","holds":"maps"},{"name":"a","holds":"numbers"}]}"#;
    let known: FormatSpec = serde_json::from_str(parquet).unwrap();
    let line = r#"{"tags":["p","q"],"v":[0.5,0,2],"of":{"k":3},"a":1,"id":"new","others":{"k":1},"y":1}"#;
    let expected = [("a", 1.0), ("of.k", 3.0), ("tags=p", 1.0), ("tags=q", 1.0), ("v^0", 0.5), ("v^2", 2.0)];
    assert_eq!(like(line, "t.jsonl", &known).features(0), expected);
}

#[test]
fn nan_is_a_missing_number_in_every_format_and_is_counted() {
    let csv = "a,b,y\n1,x,1\nNaN,NaN,0\n3,z,1\nnan,x,0\n";
    let lines = "{\"a\":1,\"b\":\"x\",\"y\":1}\n{\"a\":NaN,\"b\":NaN,\"y\":0}\n{\"a\":3,\"b\":\"z\",\"y\":1}\n{\"a\":NaN,\"b\":\"x\",\"y\":0}\n";
    let asked = ReadOptions::default();
    let table = read(csv.as_bytes(), "t.csv", &asked).unwrap();
    assert_eq!(table.features(1), [("a", 2.0), ("a=missing", 1.0)]);
    let json = read(lines.as_bytes(), "t.jsonl", &asked).unwrap();
    assert_eq!(rows(&json), rows(&table));
    for (text, file, place) in [(&csv[6..], "t.csv", (2, 1)), (lines, "t.jsonl", (2, 6))] {
        let spec = spec(if file == "t.csv" { csv } else { lines }.as_bytes(), file, &asked, None).unwrap();
        let mut parsed = Parsed::default();
        spec.parser().parse(text.as_bytes(), file.as_ref(), &mut parsed).unwrap();
        let dirty = &parsed.dirty;
        assert_eq!((dirty.len(), dirty[0].count, &*dirty[0].value), (1, 2, "NaN"), "{file}");
        assert_eq!((dirty[0].line, dirty[0].at), place, "{file}");
    }
    let vector = read(b"{\"v\":[1,NaN,2],\"w\":{\"x\":[NaN]},\"y\":1}\n", "t.jsonl", &asked).unwrap();
    assert_eq!(vector.features(0), [("v^0", 1.0), ("v^2", 2.0)]);
    let drop = ReadOptions { drop: vec!["w".into()], ..ReadOptions::default() };
    let dropped = read(b"{\"v\":1,\"w\":{\"x\":[NaN,{}]},\"y\":1}\n", "t.jsonl", &drop).unwrap();
    assert_eq!(dropped.features(0), [("v", 1.0)]);
    let target = error(b"{\"a\":1,\"y\":NaN}\n", "t.jsonl", &asked);
    assert!(target.starts_with("t.jsonl:1:12: the target 'NaN' is not finite"), "{target}");
    let infinite = error(b"{\"a\":Infinity,\"y\":1}\n", "t.jsonl", &asked);
    assert!(infinite.starts_with("t.jsonl:1:6: 'Infinity' is not finite"), "{infinite}");
}

pub fn loaded(folder: &Path, name: &str, text: &str, scale: Scale) -> Task {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    let load = Load { cache: CacheMode::Off, scale, ..Load::default() };
    Task::builder(Dataset::load(&file, &load).unwrap().0).build().unwrap()
}

#[test]
fn boolean_targets_are_the_same_classes_in_every_spelling() {
    let folder = tempfile::tempdir().unwrap();
    let csv = |yes: &str, no: &str| format!("a,y\n1,{yes}\n2,{no}\n3,{yes}\n4,{no}\n");
    let json = "{\"a\":1,\"y\":true}\n{\"a\":2,\"y\":false}\n{\"a\":3,\"y\":true}\n{\"a\":4,\"y\":false}\n";
    let expected = loaded(folder.path(), "t.jsonl", json, Scale::None);
    assert_eq!(expected.targets.classes().unwrap(), &["false".to_string(), "true".to_string()]);
    for (yes, no) in [("True", "False"), ("TRUE", "FALSE"), ("true", "false")] {
        let task = loaded(folder.path(), "t.csv", &csv(yes, no), Scale::None);
        assert_eq!(task.targets, expected.targets, "{yes}");
    }
    let mixed = "a,y\n1,True\n2,false\n3,true\n4,False\n";
    assert_eq!(loaded(folder.path(), "t.csv", mixed, Scale::None).targets, expected.targets);
    let words = loaded(folder.path(), "t.csv", "a,y\n1,True\n2,False\n3,Unsure\n", Scale::None);
    let heads = words.targets.heads().unwrap();
    assert_eq!(heads.names, ["False", "True", "Unsure"], "not all are booleans: as written");
    let mut labels = Labels::default();
    ["true", "FALSE", "no"].iter().for_each(|word| labels.push(word.as_bytes()).unwrap());
    let (mut unknown, place) = (Unknown::default(), |_: usize| Place::file("t"));
    let of_old_model = signs_or_unknown(&labels, &["False".into(), "True".into()], &place, &mut unknown);
    assert_eq!((of_old_model, unknown.first.as_deref()), (vec![1.0, -1.0, 0.0], Some("no")));
}

/// The scores of all rows of a file.
pub fn scores(model: &Model, file: &Path) -> Vec<u64> {
    let (mut scorer, mut scores) = (Scorer::new(model), Vec::new());
    for_each_block(file, &ReadOptions::default(), Some(&model.reading), |block| {
        scorer.set_block(block)?;
        (0..block.rows.len()).for_each(|i| scores.push(scorer.score(block.rows.borrow(), i).to_bits()));
        Ok(())
    })
    .unwrap();
    scores
}

#[test]
fn a_row_has_the_same_score_alone_among_others_and_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["red", "green", "blue", "cat", "dog", "bird", "tree", "rock", "sea"];
    let mut dice = lazyglm::util::random::Random::new(3);
    let mut table: Vec<Vec<String>> = Vec::new();
    for i in 0..60 {
        let mut say = || words[dice.below(9) as usize].to_string();
        let (city, said) = (say(), (0..6).map(|_| say()).collect::<Vec<_>>().join(" "));
        let number = || (dice.below(1000) as f64 / 7.0).to_string();
        let numbers: Vec<String> = std::iter::repeat_with(number).take(3).collect();
        table.push([vec![city, said], numbers, vec![(i % 2).to_string()]].concat());
    }
    let header = ["city", "said", "p", "q", "r", "y"];
    let csv = |rows: &[Vec<String>]| {
        let lines: String = rows.iter().map(|row| row.join(",") + "\n").collect();
        header.join(",") + "\n" + &lines
    };
    let line = |row: &Vec<String>| {
        let cell = |k: usize| if k < 2 { format!("\"{}\"", row[k]) } else { row[k].clone() };
        let cells: Vec<String> = (0..6).rev().map(|k| format!("\"{}\":{}", header[k], cell(k))).collect();
        format!("{{{}}}\n", cells.join(","))
    };
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    let (all, reversed) = (csv(&table), table.iter().rev().cloned().collect::<Vec<_>>());
    let settings = Settings::default();
    let with = |scale, hash_bits| {
        let asked = ReadOptions { hash_bits, ..ReadOptions::default() };
        let load = Load { cache: CacheMode::Off, scale, asked, ..Load::default() };
        let (data, _) = Dataset::load(&file("all.csv", &all), &load).unwrap();
        let task = Task::builder(data).build().unwrap();
        Model::new(&task, &settings, train(&task, None, &settings, &mut |_| {}).unwrap())
    };
    for model in [with(Scale::None, None), with(Scale::None, Some(4)), with(Scale::MaxAbs, None)] {
        let expected = scores(&model, &file("all.csv", &all));
        let json: String = table.iter().map(line).collect();
        assert_eq!(scores(&model, &file("all.jsonl", &json)), expected);
        let mut back = scores(&model, &file("back.csv", &csv(&reversed)));
        back.reverse();
        assert_eq!(back, expected);
        for (row, expected) in table.iter().zip(&expected) {
            assert_eq!(scores(&model, &file("one.csv", &csv(std::slice::from_ref(row)))), [*expected]);
            assert_eq!(scores(&model, &file("one.jsonl", &line(row))), [*expected]);
        }
    }
    // Text with idf: the norm of a row sums over all its words.
    let document = |row: &Vec<String>| format!("{}\t{}\n", row[5], row[1]);
    let all: String = table.iter().map(document).collect();
    for (scale, text) in [(Scale::None, Some("idf=yes")), (Scale::TfIdf, Some("norm=none"))] {
        let asked = ReadOptions { text: text.map(str::to_string), ..ReadOptions::default() };
        let load = Load { cache: CacheMode::Off, scale, asked, ..Load::default() };
        let (data, _) = Dataset::load(&file("all.txt", &all), &load).unwrap();
        let task = Task::builder(data).build().unwrap();
        let model = Model::new(&task, &settings, train(&task, None, &settings, &mut |_| {}).unwrap());
        let expected = scores(&model, &file("all.txt", &all));
        for (row, expected) in table.iter().zip(&expected) {
            assert_eq!(scores(&model, &file("one.txt", &document(row))), [*expected]);
        }
    }
}

#[test]
fn all_columns_with_a_wrong_name_are_reported_at_once() {
    let asked = ReadOptions::default();
    for (header, expected) in [
        ("a,,b,,y", "t.csv:1:3: columns 2, 4 have no name; give them names, or write the table without them"),
        (
            "a,b,a,b,a,y",
            "t.csv:1:5: several columns have the same name: 'a', 'b'; give each column a name of its own",
        ),
        (
            "a,,a,y",
            "t.csv:1:3: column 2 has no name; two columns are named 'a'; give each column a name of its own",
        ),
        (",a,,y", "t.csv:1:1: columns 1, 3 have no name; give them names, or write the table without them"),
    ] {
        let row = header.split(',').map(|_| "x").collect::<Vec<_>>().join(",");
        assert_eq!(error(format!("{header}\n{row}\n").as_bytes(), "t.csv", &asked), expected);
    }
}

#[test]
fn statistics_count_zeros_list_vectors_and_show_several_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let stats = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let stats = lazyglm::stats::stats(&file, &ReadOptions::default()).unwrap();
        let told = |column: &lazyglm::stats::ColumnStats| {
            (column.name.clone(), column.kind, column.missing, column.distinct, column.examples.join(" "))
        };
        stats.columns.iter().map(told).collect::<Vec<_>>()
    };
    let column = |name: &str, kind, missing, distinct, examples: &str| {
        (name.to_string(), kind, missing, Some(distinct), examples.to_string())
    };
    let csv = "flag,n,one,gap,y\nTrue,7,1,5,0\nFalse,8,1,,1\nTrue,9,1,-5,0\nTrue,10,1,,1\n";
    let expected = [
        column("flag", "number", Some(0), 2, "1 0"),
        column("n", "number", Some(0), 4, "7 8 9"),
        column("one", "number", Some(0), 1, "1"),
        column("gap", "number", Some(2), 2, "5 -5"), // the mean is zero, and no cell is
    ];
    assert_eq!(stats("t.csv", csv), expected);
    let lines = "{\"v\":[0.5,0,2],\"a\":1,\"y\":0}\n{\"v\":[1,1,1],\"a\":1,\"y\":1}\n";
    let expected = [column("a", "number", Some(0), 1, "1"), column("v", "list", None, 3, "^0 ^2 ^1")];
    assert_eq!(stats("t.jsonl", lines), expected);
    // A missing time counts as the mean of the others, which is no value of the column.
    let times = "at,took,day,y\n13:05:00,1 days 02:00:00,2024-01-02,1\n,-1 days +23:59:59,,0\n00:30,,2024-01-03,1\n23:59:59,0 days,2024-01-04,0\n";
    let expected = [
        column("at", "time of day", Some(1), 3, "hour:0 hour:13 hour:23"),
        column("took", "duration", Some(1), 3, "93600 -1 0"),
        column("day", "date", Some(1), 3, "month:1 year:2024 weekday:Thu"),
    ];
    assert_eq!(stats("times.csv", times), expected);
}

/// The features of the rows of a table with products, by name.
fn products(text: &str, file: &Path, interact: &[&[&str]]) -> Vec<Vec<(String, f64)>> {
    std::fs::write(file, text).unwrap();
    let interact = interact.iter().map(|sides| sides.iter().map(|side| side.to_string()).collect()).collect();
    let asked = ReadOptions { interact, ..ReadOptions::default() };
    let mut rows = Vec::new();
    for_each_block(file, &asked, None, |block| {
        for i in 0..block.rows.len() {
            let mut row = Vec::new();
            let name = |id: usize| block.names.as_ref().unwrap().name(id as u32).to_string();
            block.rows.borrow().for_each(i, |id, x| row.push((name(id), x)));
            row.sort_by(|a, b| a.0.cmp(&b.0));
            rows.push(row.into_iter().filter(|(name, _)| name.contains('*')).collect());
        }
        Ok(())
    })
    .unwrap();
    rows
}

#[test]
fn products_are_of_two_or_three_columns_and_of_any() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    let table = "b,a,c,y\n2,3,red,1\n5,0,blue,0\n";
    let found = |interact: &[&[&str]]| products(table, &file, interact);
    let row =
        |pairs: &[(&str, f64)]| pairs.iter().map(|(name, x)| (name.to_string(), *x)).collect::<Vec<_>>();
    assert_eq!(found(&[&["b", "a"]]), [row(&[("b*a", 6.0)]), row(&[])]);
    assert_eq!(found(&[&["b", "a", "c"]]), [row(&[("b*a*c=red", 6.0)]), row(&[])]);
    assert_eq!(found(&[&["a", "a", "b"]])[0], row(&[("a*a*b", 18.0)]));
    assert_eq!(found(&[&["b", "b", "b"]])[1], row(&[("b*b*b", 125.0)]));
    assert_eq!(found(&[&["b", ":"]])[0], row(&[("b*a", 6.0), ("b*c=red", 2.0)]));
    let all = row(&[("a*b", 6.0), ("a*c=red", 3.0), ("b*c=red", 2.0)]);
    assert_eq!(found(&[&[":", ":"]]), [all, row(&[("b*c=blue", 5.0)])]);
    assert_eq!(found(&[&[":", ":", ":"]])[0], row(&[("a*b*c=red", 6.0)]));
    // The name of a product does not depend on the order in which a file has its features.
    let vw = folder.path().join("t.vw");
    let one = products("1 |f p q r\n", &vw, &[&["f", "f"]]);
    assert_eq!(products("1 |f r q p\n", &vw, &[&["f", "f"]]), one);
    assert_eq!(one[0].len(), 6, "three squares and three pairs");
    let asked = ReadOptions { interact: vec![vec!["a".into()]], ..ReadOptions::default() };
    let error = for_each_block(&file, &asked, None, |_| Ok(())).unwrap_err().to_string();
    assert!(error.starts_with("interact has a product of one factor"), "{error}");
}

#[test]
fn skip_grams_leave_words_out() {
    let asked = |text: &str| ReadOptions { text: Some(text.into()), ..ReadOptions::default() };
    let read = read(b"x\ta b c d\n", "t.txt", &asked("words=2,skip=1,norm=none,value=tf")).unwrap();
    assert_eq!(
        read.features(0).iter().map(|(term, _)| *term).collect::<Vec<_>>(),
        ["a b", "a c", "b c", "b d", "c d"]
    );
    for (wrong, told) in [("skip=5", "text cannot have skip=5"), ("words=1,skip=1", "text has skip without")]
    {
        let error = error(b"x\ta\n", "t.txt", &asked(wrong));
        assert!(error.starts_with(told), "{error}");
    }
    let hostile = r#"{"format":"text","words":{"from":1,"to":2},"skip":9,"chars":null,"case":"lower","value":"tf","idf":false,"norm":"none"}"#;
    assert!(serde_json::from_str::<FormatSpec>(hostile).is_err());
}
