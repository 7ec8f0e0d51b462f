//! Laws of tables: what is written reads back, in blocks of any size, and every error has its place and a next step.

use crate::common::reading::{error, read, read_in_blocks, spec};
use lazyglm::data::format::{ColumnKind, FormatSpec, Missing, Parsed, ReadOptions};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const PEOPLE: &[u8] = b"age,city,label\n31,Oslo,yes\n,Bergen,no\n0,NA,yes\n";

fn asked() -> ReadOptions {
    ReadOptions::default()
}

/// Missing numbers give no feature.
fn zero() -> ReadOptions {
    ReadOptions { missing: Some(Missing::Zero), ..asked() }
}

fn with_target(target: &str) -> ReadOptions {
    ReadOptions { target: Some(target.into()), ..asked() }
}

fn kinds(bytes: &[u8], file: &str, asked: &ReadOptions) -> Vec<ColumnKind> {
    let FormatSpec::Csv(csv) = spec(bytes, file, asked, None).unwrap() else { panic!("no table") };
    csv.columns.iter().map(|column| column.kind).collect()
}

#[test]
fn numbers_and_categories_become_features_and_missing_cells_none() {
    let people = read(PEOPLE, "people.csv", &zero()).unwrap();
    assert_eq!(people.labels, ["yes", "no", "yes"]);
    assert_eq!(people.features(0), [("age", 31.0), ("city=Oslo", 1.0)]);
    assert_eq!(people.features(1), [("city=Bergen", 1.0)]);
    assert_eq!(people.features(2), [], "a zero and a missing cell");
    assert_eq!(people.rows.iter().map(|row| row.0).collect::<Vec<_>>(), [2, 3, 4]);
    for missing in ["", "NA", "NaN", "nan", "null", "NULL", "?", " ? "] {
        let table = format!("y,a,b\n1,{missing},2\n1,3,{missing}\n");
        let table = read(table.as_bytes(), "t.csv", &zero()).unwrap();
        assert_eq!((table.features(0), table.features(1)), (vec![("b", 2.0)], vec![("a", 3.0)]), "{missing}");
    }
}

#[test]
fn spaces_around_cells_are_no_part_of_them() {
    let table = read(b" y , age,\tjob \n 1 , 39 , State-gov\n", "t.csv", &asked()).unwrap();
    assert_eq!(
        (table.features(0), &table.labels[..]),
        (vec![("age", 39.0), ("job=State-gov", 1.0)], &["1".into()][..])
    );
}

#[test]
fn the_delimiter_is_the_most_frequent_one_outside_quotes() {
    let delimiter = |bytes: &[u8], file: &str| match spec(bytes, file, &asked(), None).unwrap() {
        FormatSpec::Csv(csv) => csv.delimiter,
        other => panic!("{other:?}"),
    };
    assert_eq!(delimiter(b"y,a;b,c\n", "t.csv"), ',');
    assert_eq!(delimiter(b"y;a,b;c\n", "t.csv"), ';');
    assert_eq!(delimiter(b"y\ta\n", "t.csv"), '\t');
    assert_eq!(delimiter(b"y;\"a,b,c\";d\n", "t.csv"), ';');
    assert_eq!(delimiter(b"y\ta,b,c,d\n1\t2\n", "t.tsv"), '\t');
    assert_eq!(delimiter(b"y\ta,b,c,d\n1\t2\n", "T.TSV.gz"), '\t');
    assert_eq!(delimiter(b"y\n1\n", "t.csv"), ',');
}

#[test]
fn roles_of_columns() {
    use ColumnKind::{Category, Dropped, Number, Target};
    let table = b"id,zip,age,y\nx7,0150,3,1\n";
    assert_eq!(
        kinds(table, "t.csv", &asked()),
        [Category, Category, Number, Target],
        "leading zeros are no number"
    );
    let all = ReadOptions { drop: vec!["id".into()], categorical: vec!["zip".into()], ..asked() };
    assert_eq!(kinds(table, "t.csv", &all), [Dropped, Category, Number, Target]);
    assert_eq!(read(table, "t.csv", &all).unwrap().features(0), [("age", 3.0), ("zip=0150", 1.0)]);
    assert_eq!(kinds(table, "t.csv", &with_target("age")), [Category, Category, Target, Number]);
    for usual in ["target", "label", "y", "class", "Class"] {
        assert_eq!(kinds(format!("a,{usual}\n1,2\n").as_bytes(), "t.csv", &asked()), [Number, Target]);
    }
    let drop_y = ReadOptions { drop: vec!["y".into()], ..asked() };
    assert_eq!(
        kinds(b"y,label\n1,2\n", "t.csv", &drop_y),
        [Dropped, Target],
        "a dropped column is no target"
    );
    assert_eq!(
        kinds(b"y,a\n1,\n1,2\n1,x", "t.csv", &asked()),
        [Target, Category],
        "the last line counts too"
    );
    let cut_short = b"y,a\n1,2\n1,\"3\n"; // as in the first block of a longer file
    assert_eq!(kinds(cut_short, "t.csv", &asked()), [Target, Number], "its last record is not judged");
    assert_eq!(
        kinds(b"y,a,b\n1,\n", "t.csv", &asked()),
        [Target, Number, Number],
        "nothing speaks against it"
    );
}

#[test]
fn roles_that_cannot_be_are_refused() {
    let call = |bytes: &[u8], asked: &ReadOptions| {
        let error = spec(bytes, "t.csv", asked, None).unwrap_err();
        assert!(error.is_wrong_call(), "{error}");
        error.to_string()
    };
    let hint = "set target to one of: a, b";
    assert_eq!(call(b"a,b\n", &asked()), format!("t.csv: no column is known to be the target; {hint}"));
    let both = call(b"x,y,class\n", &asked());
    assert_eq!(both, "t.csv: both 'y' and 'class' may be the target; set target to one of: x, y, class");
    let typo = "did you mean 'label'? There are: age, city, label";
    assert_eq!(call(PEOPLE, &with_target("lable")), format!("there is no column 'lable' (target); {typo}"));
    let drop = |name: &str| ReadOptions { drop: vec![name.into()], ..asked() };
    assert!(
        call(PEOPLE, &drop("citi")).starts_with("there is no column 'citi' (drop); did you mean 'city'?")
    );
    let names = |name: &str| ReadOptions { categorical: vec![name.into()], ..asked() };
    assert!(
        call(PEOPLE, &names("agee"))
            .starts_with("there is no column 'agee' (categorical); did you mean 'age'?")
    );
    let twice = ReadOptions { drop: vec!["age".into()], categorical: vec!["age".into()], ..asked() };
    let hint = "name it once among target, offset_column, drop and categorical";
    assert_eq!(call(PEOPLE, &twice), format!("column 'age' cannot be both dropped and categorical; {hint}"));
    let clash = call(b"color,color=red,y\nblue,1,1\n", &asked());
    assert!(
        clash.starts_with("a value of column 'color' could have the name of column 'color=red'; rename one")
    );
    assert!(clash.ends_with("or use drop = color=red"));
}

#[test]
fn headers_that_cannot_be_are_refused() {
    let twice = error(b"a,b,\"a\",y\n", "t.csv", &asked());
    assert_eq!(twice, "t.csv:1:5: two columns are named 'a'; give each column a name of its own");
    let empty = error(b"\n\n,b,y\n", "t.csv", &asked());
    assert_eq!(empty, "t.csv:3:1: column 1 has no name; give it one, or write the table without it");
    assert!(error(b"y, ,b\n", "t.csv", &asked()).starts_with("t.csv:1:3: column 2 has no name"));
    let none = "t.csv:1: there is no header; the first line must name the columns";
    assert_eq!(error(b"", "t.csv", &asked()), none);
    assert_eq!(error(b"\r\n\n", "t.csv", &asked()), none);
    assert!(
        error(b"y,\xff\n", "t.csv", &asked())
            .starts_with("t.csv:1:3: byte 0xff is not text; save the table as")
    );
}

#[test]
fn rows_that_cannot_be_are_refused_with_their_place() {
    let few = error(b"y,a\n1,2\n1\n", "t.csv", &asked());
    let hint = "put double quotes around a cell that has ',' or a line end in it";
    assert_eq!(few, format!("t.csv:3:1: the row has 1 cell, the header 2 cells; {hint}"));
    let many = error(b"y,a\n1,\"2\n\"\n\n1,2,3,4\n", "t.csv", &asked());
    assert_eq!(many, format!("t.csv:5:1: the row has 4 cells, the header 2 cells; {hint}"));
    let bytes = error(b"y,a\r\n\"x\r\ny\",b\xc3\r\n", "t.csv", &asked());
    assert!(bytes.starts_with("t.csv:3:5: byte 0xc3 is not text; save the table as UTF-8"), "{bytes}");
    assert!(error(b"y,a\n\xc3,\xa9\n", "t.csv", &asked()).starts_with("t.csv:2:1: byte 0xc3 is not text"));
    assert!(error(b"y,a\n1,b\0\n", "t.csv", &asked()).starts_with("t.csv:2:4: byte 0x00 is not text"));
    let target = error(b"y,a\ninf,1\n", "t.csv", &asked());
    assert_eq!(target, "t.csv:2:1: the target 'inf' is not finite; targets are finite numbers or words");
    let infinite = error(b"y,a\n1,2\n1,inf\n", "t.csv", &asked());
    assert!(
        infinite.starts_with("t.csv:3:3: 'inf' in the number column 'a' is not a finite number"),
        "{infinite}"
    );
}

#[test]
fn a_word_in_a_number_column_names_its_cell_and_the_way_out() {
    let first = b"note,\"the age\",y\n\"one\ntwo\",3,1\n";
    let spec = spec(first, "t.csv", &asked(), None).unwrap();
    let later = [&first[..], b"\"\"\"a\nb\n,\" , \"old\",0\n"].concat();
    let error = read_in_blocks(&later, "t.csv", &spec, later.len()).unwrap_err().to_string();
    let hint = "mend or empty the cell, or train with categorical = the age";
    let what = "'\"old\"' in the number column 'the age' is not a finite number";
    assert_eq!(error, format!("t.csv:6:5: {what}; {hint}"), "a quote behind a space is text");
    for size in 1..later.len() {
        assert_eq!(read_in_blocks(&later, "t.csv", &spec, size).unwrap_err().to_string(), error);
    }
}

#[test]
fn a_model_s_columns_are_found_by_name() {
    let trained = spec(PEOPLE, "people.csv", &asked(), None).unwrap();
    let predict = |bytes: &[u8]| {
        let spec = spec(bytes, "new.tsv", &with_target("no such column"), Some(&trained))?;
        read_in_blocks(bytes, "new.tsv", &spec, 1000)
    };
    let other = predict(b"label\textra\tcity\tage\nyes\t7\tOslo\t4\n").unwrap();
    assert_eq!(
        (other.features(0), &other.labels[..]),
        (vec![("age", 4.0), ("city=Oslo", 1.0)], &["yes".into()][..])
    );
    let numbers = predict(b"city\tage\tlabel\n17\t4\t\n18\t5\tno\n").unwrap();
    assert_eq!(numbers.features(0), [("age", 4.0), ("city=17", 1.0)], "a category stays one");
    assert_eq!(
        (numbers.unlabelled, &numbers.labels[..]),
        (Some(0), &["no".into()][..]),
        "an empty target cell"
    );
    assert_eq!(predict(b"city\tage\nOslo\t4\n").unwrap().unlabelled, Some(0), "no target column");
    let missing = predict(b"age\tlabel\n4\tyes\n").unwrap_err().to_string();
    assert!(
        missing.starts_with("new.tsv:1: there is no column 'city', which the model was trained on; add it")
    );
    assert!(predict(b"age\tcity\tage\n").unwrap_err().to_string().contains("two columns are named 'age'"));
    let json = serde_json::to_string(&trained).unwrap();
    let age = r#"{"name":"age","kind":"number","missing":{"value":15.5,"indicator":true}}"#;
    assert!(json.starts_with(&format!(r#"{{"format":"csv","delimiter":",","columns":[{age}"#)), "{json}");
    assert_eq!(serde_json::from_str::<FormatSpec>(&json).unwrap(), trained);
    let dropped = ReadOptions { drop: vec!["city".into()], ..asked() };
    let trained = spec(PEOPLE, "people.csv", &dropped, None).unwrap();
    assert!(spec(b"age\n1\n", "new.csv", &asked(), Some(&trained)).is_ok(), "a dropped column is not needed");
}

#[test]
fn tables_are_recognised() {
    let name = |bytes: &[u8], file: &str| spec(bytes, file, &with_target("y"), None).map(|spec| spec.name());
    assert_eq!(name(b"y,a\n1,2\n1,3\n", "-").unwrap(), "csv");
    assert_eq!(name(b"y;a\n1;2", "data").unwrap(), "csv");
    assert_eq!(
        name(b"y,a,b\n1,\"2\n\",3\n1,\"b\n", "data").unwrap(),
        "csv",
        "a record cut short does not count"
    );
    assert_eq!(name(b"y,a\n1,2,3\n", "data").unwrap(), "svmlight", "the lines do not agree");
    assert_eq!(name(b"y\n1\n", "data.csv.zst").unwrap(), "csv", "by its ending");
    assert_eq!(name(b"1 1:0.5 2:1,5\n", "data").unwrap(), "svmlight");
    assert_eq!(name(b"y\ta\tb\n1\t2\t3\n", "data").unwrap(), "csv");
    let trained = spec(PEOPLE, "people.csv", &asked(), None).unwrap();
    assert_eq!(
        spec(b"city,age\nOslo\n", "-", &asked(), Some(&trained)).unwrap().name(),
        "csv",
        "as the model has it"
    );
}

#[test]
fn the_header_is_no_data() {
    let header = |bytes: &[u8]| spec(bytes, "t.csv", &asked(), None).unwrap().header(bytes);
    assert_eq!(header(b"y,a\n1,2\n"), 4);
    assert_eq!(header(b"y,a\r\n1,2\r\n"), 5);
    assert_eq!(header("\u{feff}\n\"y\",\"a\nb\"\n1,2\n".as_bytes()), 3 + 1 + 10);
    assert_eq!(header(b"y,a"), 3);
    let marked = read("\u{feff}y,a\n1,2\n".as_bytes(), "t.csv", &asked()).unwrap();
    assert_eq!((marked.rows[0].0, marked.features(0)), (2, vec![("a", 2.0)]));
    let old = read(b"y,a\r1,2\r3,4", "t.csv", &asked()).unwrap();
    assert_eq!((old.rows.len(), &old.labels[1][..]), (2, "3"), "a lone CR ends a record");
}

#[test]
fn rows_to_pass_over_are_not_looked_at() {
    let bytes = b"y,a\n1,2\n1,2,3\n4,\"5\n\"\n0,6\n";
    let spec = spec(bytes, "t.csv", &asked(), None).unwrap();
    let mut parsed = Parsed { absent: vec![false, true, true], ..Parsed::default() };
    spec.parser().parse(&bytes[4..], Path::new("t.csv"), &mut parsed).unwrap();
    assert_eq!((parsed.file_rows, parsed.rows.len(), parsed.lines.of(1)), (4, 2, 5));
    assert_eq!(parsed.labels.name(1), "0");
    let mut empty = Parsed::default();
    let FormatSpec::Csv(mut csv) = spec else { panic!("no table") };
    csv.columns[1].missing = None;
    FormatSpec::Csv(csv).parser().parse(b"1,NA\n", Path::new("t.csv"), &mut empty).unwrap();
    assert!(
        empty.names.is_some_and(|names| names.is_empty()),
        "features have names, even where there are none"
    );
}

/// A cell as people may write it: words, numbers, and all that needs quotes.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c\",;\n\r\t é'=?]{0,6}",
        (-1000i32..1000).prop_map(|n| (f64::from(n) / 8.0).to_string()),
        Just("NA".to_string()),
        Just(String::new()),
    ]
}

/// Columns, then rows of as many cells; the first is the target.
fn table() -> impl Strategy<Value = (Vec<String>, Vec<Vec<String>>)> {
    (2usize..6).prop_flat_map(|width| {
        let names = prop::collection::vec("[a-d\",;\n é]{1,4}", width).prop_map(|names| {
            let numbered = names.iter().enumerate().map(|(k, name)| format!("{name}{k}")); // no two alike, none empty
            numbered.map(|name| name.trim_matches([' ', '\t']).to_string()).collect()
        });
        (names, prop::collection::vec(prop::collection::vec(cell(), width), 1..30))
    })
}

fn written(names: &[String], rows: &[Vec<String>], delimiter: u8, crlf: bool) -> Vec<u8> {
    let end = if crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).terminator(end).from_writer(Vec::new());
    writer.write_record(names).unwrap();
    rows.iter().for_each(|row| writer.write_record(row).unwrap());
    writer.into_inner().unwrap()
}

/// What a table must read as, told from its cells.
fn expected(names: &[String], rows: &[Vec<String>]) -> Vec<BTreeMap<String, f64>> {
    let trim = |cell: &String| cell.trim_matches([' ', '\t']).to_string();
    let missing = |cell: &str| ["", "NA", "NaN", "nan", "null", "NULL", "?"].contains(&cell);
    let number = |k: usize| {
        rows.iter().map(|row| trim(&row[k])).all(|cell| missing(&cell) || cell.parse::<f64>().is_ok())
    };
    let feature = |(k, cell): (usize, String)| match cell.parse() {
        Ok(value) if number(k) => (names[k].clone(), value),
        _ => (format!("{}={cell}", names[k]), 1.0),
    };
    let features = |row: &Vec<String>| {
        let cells = row.iter().map(trim).enumerate().skip(1).filter(|(_, cell)| !missing(cell));
        cells.map(feature).filter(|(_, value)| *value != 0.0).collect()
    };
    rows.iter().map(features).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_the_csv_crate_writes_reads_back(
        (mut names, mut rows) in table(), delimiter in prop::sample::select(vec![b',', b'\t', b';']), crlf in any::<bool>(),
    ) {
        rows.iter_mut().enumerate().for_each(|(k, row)| row[0] = format!("t{}", k % 3));
        // The writer quotes its own delimiter alone: others would count when the delimiter is looked for.
        let own = char::from(delimiter).to_string();
        names.iter_mut().for_each(|name| *name = name.replace([',', ';'], &own).trim_matches(['\t', ' ']).to_string());
        let bytes = written(&names, &rows, delimiter, crlf);
        let file = if delimiter == b'\t' { "t.tsv" } else { "t.csv" };
        let opened = spec(&bytes, file, &ReadOptions { target: Some(names[0].clone()), ..zero() }, None).unwrap();
        prop_assert!(matches!(&opened, FormatSpec::Csv(csv) if csv.delimiter == char::from(delimiter)));
        let read = read_in_blocks(&bytes, file, &opened, bytes.len()).unwrap();
        prop_assert_eq!(&read.labels, &rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>());
        let features: Vec<_> = read.rows.iter().map(|row| row.1.clone()).collect();
        prop_assert_eq!(features, expected(&names, &rows));
        let mut line = 1;
        for (k, row) in read.rows.iter().enumerate() {
            let before = if k == 0 { &names } else { &rows[k - 1] };
            line += 1 + before.concat().matches('\n').count() as u64;
            prop_assert_eq!(row.0, line);
        }
    }

    #[test]
    fn blocks_of_any_size_read_alike((names, mut rows) in table(), crlf in any::<bool>(), size in 1usize..200) {
        // Nearly all targets are fine, or most tables would end with an error in their first rows.
        rows.iter_mut().enumerate().filter(|(k, _)| k % 16 != 15).for_each(|(_, row)| row[0] = "1".into());
        let bytes = written(&names, &rows, b',', crlf);
        let asked = with_target(&names[0]);
        let Ok(opened) = spec(&bytes, "t.csv", &asked, None) else { return Ok(()) };
        let told = |read: lazyglm::Result<_>| read.map_err(|error| error.to_string());
        let whole = told(read_in_blocks(&bytes, "t.csv", &opened, bytes.len()));
        prop_assert_eq!(told(read_in_blocks(&bytes, "t.csv", &opened, size)), whole);
    }

    #[test]
    fn bytes_of_the_format_s_own_alphabet_read_alike_in_blocks(
        text in "[ab1,\"\n\r\u{feff}é]{0,60}", size in 1usize..20,
    ) {
        let bytes = format!("y,a\n{text}").into_bytes();
        let opened = spec(&bytes, "t.csv", &asked(), None).unwrap();
        // Of several problems, a reader of small blocks names those of one block: the first is the same.
        let first = |error: lazyglm::Error| error.to_string().split("; ").next().map(str::to_string);
        let told = |read: lazyglm::Result<_>| read.map_err(first);
        let whole = told(read_in_blocks(&bytes, "t.csv", &opened, bytes.len()));
        prop_assert_eq!(told(read_in_blocks(&bytes, "t.csv", &opened, size)), whole);
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[y=a1.,;\t\"\n\r ?é\u{feff}\0-]{0,200}".prop_map(String::into_bytes),
            "y,a\n[a1,\"\n\r]{0,100}".prop_map(String::into_bytes),
        ],
        cut in 0usize..200, tsv in any::<bool>(),
    ) {
        let file = if tsv { "t.tsv" } else { "t.csv" };
        let named = ReadOptions { format: Some("csv".into()), ..asked() };
        let first = spec(PEOPLE, "people.csv", &asked(), None).unwrap();
        let _ = spec(&bytes, file, &asked(), None);
        let known = spec(&bytes, file, &named, Some(&first)).unwrap_or(first);
        for opened in [Ok(known), spec(&bytes, file, &named, None)].into_iter().flatten() {
            prop_assert!(opened.header(&bytes) <= bytes.len() && opened.whole(&bytes) <= bytes.len());
            let _ = opened.parser().parse(&bytes[cut.min(bytes.len())..], Path::new(file), &mut Parsed::default());
            let _ = read_in_blocks(&bytes, file, &opened, cut);
        }
    }
}
