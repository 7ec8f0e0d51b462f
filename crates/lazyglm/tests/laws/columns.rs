//! Laws of columns: what the first rows make of a column, what stands for a missing number, and that a model reads the
//! same table alike in every format.

use crate::common::reading::{Read, error, read, read_in_blocks, spec};
use lazyglm::data::format::{Column, ColumnKind, Fill, FormatSpec, Missing, Parsed, ReadOptions};
use lazyglm::{CacheMode, Dataset, Load};

fn with(missing: Missing) -> ReadOptions {
    ReadOptions { missing: Some(missing), ..ReadOptions::default() }
}

fn columns(spec: &FormatSpec) -> Vec<Column> {
    match spec {
        FormatSpec::Csv(csv) => csv.columns.clone(),
        FormatSpec::Jsonl { columns, .. } => columns.clone(),
        other => panic!("{other:?}"),
    }
}

/// The kind of column `a` in a table of these cells.
fn kind(cells: &[&str]) -> ColumnKind {
    let table: String = cells.iter().map(|cell| format!("1,{cell}\n")).collect();
    let spec = spec(format!("y,a\n{table}").as_bytes(), "t.csv", &ReadOptions::default(), None).unwrap();
    columns(&spec)[1].kind
}

#[test]
fn words_for_unknown_leave_a_column_one_of_numbers() {
    for word in ["unknown", "-", "N/A", "?", "n/a", "none", "UNKNOWN", "--", "."] {
        let table = format!("y,a\n1,2\n1,{word}\n0,4\n1, {word}\n");
        let asked = ReadOptions::default();
        let spec = spec(table.as_bytes(), "t.csv", &asked, None).unwrap();
        let column = &columns(&spec)[1];
        let fill = Some(Fill { value: 3.0, indicator: true });
        assert_eq!((column.kind, column.missing), (ColumnKind::Number, fill), "{word}");
        let mut parsed = Parsed::default();
        spec.parser().parse(&table.as_bytes()[4..], "t.csv".as_ref(), &mut parsed).unwrap();
        let dirty = &parsed.dirty[0];
        assert_eq!((dirty.count, dirty.line, dirty.at, &*dirty.value), (2, 2, 3, word), "the first of two");
        let note = dirty.note("t.csv".as_ref());
        assert!(note.contains("2 cells of the number column 'a' are not numbers"), "{note}");
        assert!(note.contains(&format!("the first is '{word}' in line 2, column 3")), "{note}");
    }
    assert_eq!(kind(&["unknown", "-"]), ColumnKind::Category, "no number at all");
    assert_eq!(kind(&["2", "old"]), ColumnKind::Category, "half of the cells are another word");
}

#[test]
fn a_rare_word_of_the_columns_own_stands_for_missing_numbers_and_is_kept() {
    let mut table = "y,a\n".to_string() + &"1,2\n".repeat(40) + "0,withheld\n0,withheld\n";
    let known = spec(table.as_bytes(), "t.csv", &ReadOptions::default(), None).unwrap();
    assert_eq!(columns(&known)[1].placeholders, ["withheld"]);
    table += "1,other\n";
    let error = read_in_blocks(table.as_bytes(), "t.csv", &known, 50).unwrap_err().to_string();
    assert!(
        error.starts_with("t.csv:44:3: 'other' in the number column 'a' is not a finite number"),
        "{error}"
    );
    let json = serde_json::to_string(&known).unwrap();
    assert_eq!(serde_json::from_str::<FormatSpec>(&json).unwrap(), known);
    assert_eq!(kind(&["1", "2", "3", "x"]), ColumnKind::Category, "not rare");
}

#[test]
fn a_missing_number_is_zero_the_mean_or_the_mean_and_an_indicator() {
    let table = b"y,a,b\n1,2,x\n1,,x\n0,4,\n";
    let missing = |how| read(table, "t.csv", &with(how)).unwrap();
    assert_eq!(missing(Missing::Zero).features(1), [("b=x", 1.0)]);
    assert_eq!(missing(Missing::Mean).features(1), [("a", 3.0), ("b=x", 1.0)]);
    let both = [("a", 3.0), ("a=missing", 1.0), ("b=x", 1.0)];
    assert_eq!(missing(Missing::Indicator).features(1), both);
    assert_eq!(
        read(table, "t.csv", &ReadOptions::default()).unwrap().features(1),
        both,
        "unless asked otherwise"
    );
    assert_eq!(missing(Missing::Indicator).features(2), [("a", 4.0)], "a missing name gives no feature");
    let lines = "{\"y\":1,\"a\":2,\"b\":\"x\"}\n{\"y\":1,\"a\":null,\"b\":\"x\"}\n{\"y\":0,\"a\":4}\n";
    for how in [Missing::Zero, Missing::Mean, Missing::Indicator] {
        let json = read(lines.as_bytes(), "t.jsonl", &with(how)).unwrap();
        assert_eq!(names_and_values(&json), names_and_values(&missing(how)), "{how:?}");
    }
    let sparse = read(b"{\"y\":1,\"a\":2}\n{\"y\":1}\n", "t.jsonl", &ReadOptions::default()).unwrap();
    assert_eq!(sparse.features(1), [], "a key that is not there is zero");
    let clash = error(b"y,a,a=missing\n1,,2\n", "t.csv", &ReadOptions::default());
    assert!(clash.starts_with("a value of column 'a' could have the name of column 'a=missing'"), "{clash}");
}

fn names_and_values(read: &Read) -> Vec<Vec<(&str, f64)>> {
    (0..read.rows.len()).map(|row| read.features(row)).collect()
}

#[test]
fn leading_zeros_and_long_integers_are_names() {
    assert_eq!(kind(&["00501", "10001"]), ColumnKind::Category);
    assert_eq!(kind(&["0", "0.5", "-0", "007.5", "1e3"]), ColumnKind::Number);
    assert_eq!(kind(&["9007199254740992"]), ColumnKind::Number, "2^53 is exact");
    assert_eq!(kind(&["9007199254740993", "1"]), ColumnKind::Category);
    assert_eq!(kind(&["-4611686018427387904"]), ColumnKind::Category);
    assert_eq!(kind(&[&"9".repeat(60)]), ColumnKind::Category);
    let zip = read(b"y,zip\n1,00501\n0,501\n", "t.csv", &ReadOptions::default()).unwrap();
    assert_eq!(zip.features(0), [("zip=00501", 1.0)]);
    let id = "{\"y\":1,\"id\":4611686018427387905}\n{\"y\":1,\"id\":4611686018427387904}\n";
    let id = read(id.as_bytes(), "t.jsonl", &ReadOptions::default()).unwrap();
    assert_eq!(id.features(0), [("id=4611686018427387905", 1.0)]);
    assert_eq!(id.features(1), [("id=4611686018427387904", 1.0)]);
}

#[test]
fn booleans_mean_the_same_in_every_format() {
    let table =
        read(b"y,a,b\n1,true,False\n0,FALSE,True\n1,,true\n", "t.csv", &ReadOptions::default()).unwrap();
    let json = b"{\"y\":1,\"a\":true,\"b\":false}\n{\"y\":0,\"a\":false,\"b\":true}\n{\"y\":1,\"a\":null,\"b\":true}\n";
    let json = read(json, "t.jsonl", &ReadOptions::default()).unwrap();
    assert_eq!(table.features(0), [("a", 1.0)]);
    assert_eq!(table.features(2), [("a", 0.5), ("a=missing", 1.0), ("b", 1.0)]);
    assert_eq!(names_and_values(&table), names_and_values(&json));
    let asked = ReadOptions { categorical: vec!["a".into()], ..ReadOptions::default() };
    let table = read(b"y,a\n1,true\n0,false\n", "t.csv", &asked).unwrap();
    let json = read(b"{\"y\":1,\"a\":true}\n{\"y\":0,\"a\":false}\n", "t.jsonl", &asked).unwrap();
    assert_eq!(table.features(1), [("a=false", 1.0)]);
    assert_eq!(names_and_values(&table), names_and_values(&json));
}

/// A table in which each column is taken for something else, with a missing number, as CSV and as JSON Lines.
const TABLE: &str =
    "age,zip,city,flag,code,y\n31,00501,Oslo,true,7,1\n,00501,Bergen,false,8,0\n40,10001,,true,7,1\n";
const LINES: &str = r#"{"age":31,"zip":"00501","city":"Oslo","flag":true,"code":7,"y":1}
{"age":null,"zip":"00501","city":"Bergen","flag":false,"code":8,"y":0}
{"age":40,"zip":"10001","city":null,"flag":true,"code":7,"y":1}
"#;

#[test]
fn a_model_reads_the_same_table_alike_in_every_format() {
    let asked = ReadOptions { categorical: vec!["code".into()], ..ReadOptions::default() };
    let files = [("t.csv", TABLE), ("t.jsonl", LINES)];
    for (trained_on, text) in files {
        let known = spec(text.as_bytes(), trained_on, &asked, None).unwrap();
        let expected = read_in_blocks(text.as_bytes(), trained_on, &known, 1000).unwrap();
        for (file, text) in files {
            let opened = spec(text.as_bytes(), file, &ReadOptions::default(), Some(&known)).unwrap();
            let read = read_in_blocks(text.as_bytes(), file, &opened, 1000).unwrap();
            assert_eq!(names_and_values(&read), names_and_values(&expected), "{trained_on} ▸ {file}");
            assert_eq!(read.labels, expected.labels, "{trained_on} ▸ {file}");
        }
    }
    // Other rows than those that decided: kinds and mean stay those of the model.
    let known = spec(TABLE.as_bytes(), "t.csv", &asked, None).unwrap();
    let csv = "code,flag,city,zip,age\n9,true,5,501,unknown\n7,,Oslo,x,\n";
    let lines = "{\"code\":9,\"flag\":true,\"city\":5,\"zip\":501,\"age\":\"unknown\"}\n{\"code\":7,\"city\":\"Oslo\",\"zip\":\"x\"}\n";
    let [csv, lines] = [("n.csv", csv), ("n.jsonl", lines)].map(|(file, text)| {
        let opened = spec(text.as_bytes(), file, &ReadOptions::default(), Some(&known)).unwrap();
        read_in_blocks(text.as_bytes(), file, &opened, 1000).unwrap()
    });
    let expected = [
        ("age", 35.5),
        ("age=missing", 1.0),
        ("city=5", 1.0),
        ("code=9", 1.0),
        ("flag", 1.0),
        ("zip=501", 1.0),
    ];
    assert_eq!(csv.features(0), expected);
    assert_eq!(names_and_values(&csv), names_and_values(&lines), "a key that is not there is an empty cell");
}

#[test]
fn models_of_earlier_versions_read_as_they_did() {
    let csv = r#"{"format":"csv","delimiter":",","columns":[{"name":"y","kind":"target"},{"name":"a","kind":"number"},{"name":"b","kind":"category"}]}"#;
    let known = serde_json::from_str::<FormatSpec>(csv).unwrap();
    assert_eq!(serde_json::to_string(&known).unwrap(), csv);
    let table = read_in_blocks(b"y,a,b\n1,,true\n", "t.csv", &known, 100).unwrap();
    assert_eq!(table.features(0), [("b=true", 1.0)]);
    let jsonl = r#"{"format":"jsonl","target":"y","drop":[],"categorical":["c"]}"#;
    let known = serde_json::from_str::<FormatSpec>(jsonl).unwrap();
    assert_eq!(serde_json::to_string(&known).unwrap(), jsonl);
    let line = br#"{"y":1,"a":null,"b":"7","c":7,"d":true}"#;
    assert_eq!(
        read_in_blocks(line, "t.jsonl", &known, 100).unwrap().features(0),
        [("b=7", 1.0), ("c=7", 1.0), ("d", 1.0)]
    );
    let parquet = r#"{"format":"parquet","target":"y","columns":[{"name":"a","holds":"numbers"}]}"#;
    let known = serde_json::from_str::<FormatSpec>(parquet).unwrap();
    assert_eq!(serde_json::to_string(&known).unwrap(), parquet);
}

#[test]
fn a_cache_has_the_rows_and_the_warnings_of_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    std::fs::write(&file, "a,y\n1,1\nunknown,0\n3,1\n-,0\n").unwrap();
    let load = |cache| Dataset::load(&file, &Load { cache, ..Load::default() }).unwrap().0;
    let plain = load(CacheMode::Off);
    let warning = |data: &Dataset| data.notes.iter().find(|note| note.contains("2 cells")).unwrap().clone();
    assert!(warning(&plain).contains("the first is 'unknown' in line 3, column 1"), "{:?}", plain.notes);
    for _ in 0..2 {
        let cached = load(CacheMode::Auto); // written, then read
        assert_eq!(cached.rows.ids(), plain.rows.ids());
        assert_eq!(warning(&cached), warning(&plain));
        assert_eq!(cached.reading, plain.reading);
    }
}

#[test]
fn dates_become_a_number_and_parts_in_every_format() {
    let table = "day,at,y\n2024-07-31,2024-07-31T13:05:00Z,1\n2000-01-01,1999-12-31 23:00:00-02:00,0\n,2000-01-01T00:00:00,1\n";
    let lines = "{\"day\":\"2024-07-31\",\"at\":\"2024-07-31T13:05:00Z\",\"y\":1}\n{\"day\":\"2000-01-01\",\"at\":\"1999-12-31 23:00:00-02:00\",\"y\":0}\n{\"day\":null,\"at\":\"2000-01-01T00:00:00\",\"y\":1}\n";
    let asked = ReadOptions::default();
    let known = spec(table.as_bytes(), "t.csv", &asked, None).unwrap();
    assert_eq!(
        columns(&known).iter().map(|column| column.kind).collect::<Vec<_>>()[..2],
        [ColumnKind::Date, ColumnKind::Time]
    );
    let csv = read(table.as_bytes(), "t.csv", &asked).unwrap();
    let years = 8978.0 / 365.2425; // from the start of 2000 to 2024-07-31
    let of_day = [("day", years), ("day=month:7", 1.0), ("day=weekday:Wed", 1.0), ("day=year:2024", 1.0)];
    assert_eq!((csv.features(0)[4], &csv.features(0)[5..]), (("at=year:2024", 1.0), &of_day[..]));
    assert_eq!(csv.features(0)[1..4], [("at=hour:13", 1.0), ("at=month:7", 1.0), ("at=weekday:Wed", 1.0)]);
    assert_eq!(csv.features(1)[1], ("at=hour:1", 1.0), "in UTC, where it is the next year");
    let missing: Vec<_> = csv.features(2).into_iter().filter(|(name, _)| name.starts_with("day")).collect();
    assert_eq!(missing, [("day", years / 2.0), ("day=missing", 1.0)]);
    let json = read(lines.as_bytes(), "t.jsonl", &asked).unwrap();
    assert_eq!(names_and_values(&json), names_and_values(&csv));
    let opened = spec(lines.as_bytes(), "t.jsonl", &asked, Some(&known)).unwrap();
    assert_eq!(
        names_and_values(&read_in_blocks(lines.as_bytes(), "t.jsonl", &opened, 1000).unwrap()),
        names_and_values(&csv)
    );
    let wrong =
        read_in_blocks(b"day,at,y\n2024-07-31,soon,1\n", "t.csv", &known, 1000).unwrap_err().to_string();
    assert!(
        wrong.starts_with("t.csv:2:12: 'soon' in the column 'at' of dates is not a date such as"),
        "{wrong}"
    );
    assert_eq!(kind(&["2024-07-31", "soon"]), ColumnKind::Category);
}

#[test]
fn the_index_of_pandas_is_dropped_and_latin_1_has_a_hint() {
    for header in ["", "Unnamed: 0"] {
        let table = format!("{header},a,y\n7,1,1\n3,2,0\n");
        let table = read(table.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
        assert_eq!(table.features(0), [("a", 1.0)], "{header}");
    }
    let no_index = error(b",a,y\n7,1,1\n7,2,0\n", "t.csv", &ReadOptions::default());
    assert!(no_index.starts_with("t.csv:1:1: column 1 has no name; give it one"), "{no_index}");
    let kept = read(b"Unnamed: 0,a,y\n7,1,1\n7,2,0\n", "t.csv", &ReadOptions::default()).unwrap();
    assert_eq!(kept.features(0), [("Unnamed: 0", 7.0), ("a", 1.0)], "no index: the same number twice");
    for (text, file) in [(&b"a,y\ncaf\xe9,1\n"[..], "t.csv"), (b"{\"a\":\"caf\xe9\",\"y\":1}\n", "t.jsonl")] {
        let error = error(text, file, &ReadOptions::default());
        assert!(
            error.contains("it seems to be Latin-1: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW"),
            "{error}"
        );
    }
}

const MAILS: &str = "id,text,city,y\n1,Free entry in a contest,Oslo,1\n2,See you at the station,New York,0\n3,Win a free phone now,Oslo,1\n";

#[test]
fn a_column_of_sentences_is_tokenised_as_text_is() {
    let asked = ReadOptions::default();
    let known = spec(MAILS.as_bytes(), "t.csv", &asked, None).unwrap();
    let kinds: Vec<ColumnKind> = columns(&known).iter().map(|column| column.kind).collect();
    assert_eq!(kinds, [ColumnKind::Number, ColumnKind::Text, ColumnKind::Category, ColumnKind::Target]);
    let csv = read(MAILS.as_bytes(), "t.csv", &asked).unwrap();
    let text = read(b"1\tFree entry in a contest\n", "t.txt", &asked).unwrap();
    let expected: Vec<(String, f64)> =
        text.features(0).into_iter().map(|(term, x)| (format!("text={term}"), x)).collect();
    let found: Vec<(String, f64)> = csv
        .features(0)
        .into_iter()
        .filter(|(name, _)| name.starts_with("text="))
        .map(|(n, x)| (n.into(), x))
        .collect();
    assert_eq!(found, expected);
    assert!(csv.features(0).contains(&("city=Oslo", 1.0)) && csv.features(0).contains(&("id", 1.0)));
    let lines = MAILS.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let lines: String = lines
        .map(|c| format!("{{\"id\":{},\"text\":\"{}\",\"city\":\"{}\",\"y\":{}}}\n", c[0], c[1], c[2], c[3]))
        .collect();
    assert_eq!(names_and_values(&read(lines.as_bytes(), "t.jsonl", &asked).unwrap()), names_and_values(&csv));
    let opened = spec(lines.as_bytes(), "t.jsonl", &asked, Some(&known)).unwrap();
    let json = read_in_blocks(lines.as_bytes(), "t.jsonl", &opened, 1000).unwrap();
    assert_eq!(names_and_values(&json), names_and_values(&csv), "as the model has it");
    let json = serde_json::to_string(&known).unwrap();
    assert_eq!(serde_json::from_str::<FormatSpec>(&json).unwrap(), known);
}

#[test]
fn text_columns_are_as_asked() {
    let named = |text: &str, categorical: &str| ReadOptions {
        text_columns: text.split_whitespace().map(str::to_string).collect(),
        categorical: categorical.split_whitespace().map(str::to_string).collect(),
        text: Some("words=1,norm=none".into()),
        ..ReadOptions::default()
    };
    let city = read(MAILS.as_bytes(), "t.csv", &named("city", "text")).unwrap();
    assert_eq!(
        city.features(1),
        [("city=new", 1.0), ("city=york", 1.0), ("id", 2.0), ("text=See you at the station", 1.0)]
    );
    let unknown = error(MAILS.as_bytes(), "t.csv", &named("citi", ""));
    assert!(
        unknown.starts_with("there is no column 'citi' (text_columns); did you mean 'city'?"),
        "{unknown}"
    );
    let both = error(MAILS.as_bytes(), "t.csv", &named("city", "city"));
    assert!(both.starts_with("column 'city' cannot be both categorical and text"), "{both}");
    assert_eq!(kind(&["New York", "Los Angeles", "San Francisco"]), ColumnKind::Category, "two words each");
    assert_eq!(kind(&["it was fine"; 5]), ColumnKind::Category, "the same in all rows");
}

#[test]
fn a_mark_inside_a_file_is_a_character() {
    // So the quote behind it is no first character of its cell, and text.
    let first = b"a,b,n,y\nx,x,1,1\n";
    let spec = spec(first, "t.csv", &ReadOptions::default(), None).unwrap();
    let read = |row: &str| read_in_blocks(&[first, row.as_bytes()].concat(), "t.csv", &spec, 1);
    let marked = read("\u{feff}\"c,d\",7,1\n").unwrap();
    assert_eq!(marked.features(1), [("a=\u{feff}\"c", 1.0), ("b=d\"", 1.0), ("n", 7.0)]);
    let error = read("\u{feff}\"c,d\",seven,1\n").unwrap_err().to_string();
    assert!(error.starts_with("t.csv:3:10: 'seven' in the number column 'n'"), "{error}");
}
