//! Laws of JSON lines: what each kind of value becomes, what is refused and where, and that rows read back as written.

use lazyglm::data::format::{FormatSpec, Opening, Parsed, ReadOptions, open};
use lazyglm::util::random::Random;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

pub fn spec(target: &str, drop: &[&str], categorical: &[&str]) -> FormatSpec {
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let (target, offset) = (target.to_string(), None);
    let (drop, categorical, columns) = (owned(drop), owned(categorical), Vec::new());
    FormatSpec::Jsonl {
        target,
        offset,
        drop,
        categorical,
        columns,
        table: false,
        complete: None,
        classes: false,
    }
}

fn parse_as(spec: &FormatSpec, text: impl AsRef<[u8]>) -> lazyglm::Result<Parsed> {
    let mut parsed = Parsed::default();
    spec.parser().parse(text.as_ref(), Path::new("a.jsonl"), &mut parsed).map(|()| parsed)
}

fn parse(text: impl AsRef<[u8]>) -> lazyglm::Result<Parsed> {
    parse_as(&spec("y", &["dropped"], &["code"]), text)
}

/// A target, if there is one, and features by name.
type Row = (Option<String>, BTreeMap<String, f64>);

/// The rows of one block; those without a target must come last, for labels do not say which row they are of.
fn rows(parsed: &Parsed) -> Vec<Row> {
    let read = |i| {
        let mut features = BTreeMap::new();
        parsed.rows.borrow().for_each(i, |id, x| {
            let name = parsed.names.as_ref().unwrap().name(id as u32).to_string();
            assert_eq!(features.insert(name, x), None);
        });
        (parsed.unlabelled.is_none_or(|first| i < first).then(|| parsed.labels.name(i)), features)
    };
    (0..parsed.rows.len()).map(read).collect()
}

#[track_caller]
fn has(text: &str, expected: &[(&str, f64)]) {
    let expected = expected.iter().map(|&(name, x)| (name.to_string(), x)).collect();
    assert_eq!(rows(&parse(text).unwrap()).remove(0).1, expected, "{text}");
}

#[test]
fn each_kind_of_value_has_its_features() {
    has(r#"{"age": 31, "x": -2.5e-3, "zero": 0}"#, &[("age", 31.0), ("x", -2.5e-3)]);
    has(r#"{"city": "Paris", "empty": ""}"#, &[("city=Paris", 1.0), ("empty=", 1.0)]);
    has(r#"{"yes": true, "no": false, "unknown": null}"#, &[("yes", 1.0)]);
    has(r#"{"tags": ["a", "b", "a"], "none": []}"#, &[("tags=a", 2.0), ("tags=b", 1.0)]);
    has(r#"{"code": 7, "code2": 7}"#, &[("code2", 7.0), ("code=7", 1.0)]);
    has("{}", &[]);
    has(" {\t\"a\" :1 ,\"b\":\t2 } \r", &[("a", 1.0), ("b", 2.0)]);
    has(r#"{"a=b": 2, "a": "b"}"#, &[("a=b", 3.0)]);
    assert!(parse(r#"{"a": 0, "b": false, "c": null}"#).unwrap().names.is_none(), "no names without a value");
}

#[test]
fn categorical_numbers_are_names_in_one_form_and_long_ones_stay_apart() {
    for written in ["7", "7.0", "70e-1"] {
        has(&format!(r#"{{"code": {written}}}"#), &[("code=7", 1.0)]);
    }
    for zero in ["0", "-0", "0.0", "-0.0"] {
        has(&format!(r#"{{"code": {zero}}}"#), &[("code=0", 1.0)]);
    }
    has(r#"{"code": 9007199254740993}"#, &[("code=9007199254740993", 1.0)]);
    has(r#"{"code": -2.5}"#, &[("code=-2.5", 1.0)]);
    has(r#"{"code": "x", "a": 1}"#, &[("a", 1.0), ("code=x", 1.0)]);
}

#[test]
fn escapes_are_undone_in_keys_and_text() {
    has(
        r#"{"na\u00efve": 1, "q": "a\"b\\", "e": "\ud83d\ude00", "n": "a\nb"}"#,
        &[("e=😀", 1.0), ("naïve", 1.0), ("n=a\nb", 1.0), ("q=a\"b\\", 1.0)],
    );
    has(r#"{"日本": "é"}"#, &[("日本=é", 1.0)]);
    has(r#"{"dr\u006fpped": 1}"#, &[]);
}

#[test]
fn dropped_keys_may_hold_anything() {
    for value in ["1", "\"x\"", "null", "[1, [2, \"]\"]]", r#"{"a": {"b": [1, "}"]}}"#] {
        has(&format!(r#"{{"a": 1, "dropped": {value}, "b": 2}}"#), &[("a", 1.0), ("b", 2.0)]);
    }
}

#[test]
fn targets_are_numbers_words_or_truth() {
    let target = |value: &str| rows(&parse(format!(r#"{{"a": 1, "y": {value}}}"#)).unwrap()).remove(0).0;
    for (value, name) in
        [("1", "1"), ("1.0", "1"), ("\"1\"", "1"), ("\"ham\"", "ham"), ("true", "true"), ("false", "false")]
    {
        assert_eq!(target(value).as_deref(), Some(name));
    }
    assert_eq!(target("null"), None);
    let parsed = parse("{\"y\": 1}\n{\"a\": 1}\n").unwrap();
    assert_eq!((parsed.unlabelled, parsed.rows.len(), parsed.labels.len()), (Some(1), 2, 2));
    assert_eq!(parsed.labels.name(1), "", "no target keeps its place");
}

#[test]
fn blank_lines_are_no_rows_and_rows_can_be_passed_over_unread() {
    let parsed = parse("\u{feff}{\"y\":1}\r\n\n \t\n{\"y\":0}").unwrap();
    assert_eq!((parsed.rows.len(), parsed.file_rows, parsed.lines.of(1)), (2, 2, 4));
    let mut parsed = Parsed { absent: vec![true], ..Parsed::default() };
    spec("y", &[], &[]).parser().parse(b"no JSON\n{\"y\":3}\n", "a".as_ref(), &mut parsed).unwrap();
    assert_eq!((parsed.rows.len(), parsed.file_rows, parsed.labels.name(0)), (1, 2, "3".to_string()));
}

#[test]
fn objects_are_flattened_and_arrays_of_numbers_are_vectors() {
    has(
        r#"{"a": {"b": 2, "c": {"d": "x"}, "e": {}}, "f": 1}"#,
        &[("a.b", 2.0), ("a.c.d=x", 1.0), ("f", 1.0)],
    );
    has(
        r#"{"v": [2, 0, -1.5, null, true], "t": ["p", 3]}"#,
        &[("t=p", 1.0), ("t^1", 3.0), ("v^0", 2.0), ("v^2", -1.5), ("v^4", 1.0)],
    );
    has(r#"{"dropped": {"y": 1}, "a": 1}"#, &[("a", 1.0)]);
    assert_eq!(
        rows(&parse_as(&spec("m.y", &[], &[]), r#"{"m": {"y": 3}}"#).unwrap())[0].0.as_deref(),
        Some("3")
    );
}

/// What a line must look like.
const SHAPE: &str = "write one object a line: {\"key\": value, \"key\": value}";

#[track_caller]
fn refused(text: impl AsRef<[u8]>, column: usize, what: &str, hint: &str) {
    let before: &[u8] = b"{\"y\": 1}\n\n";
    let error = parse([before, text.as_ref()].concat()).unwrap_err().to_string();
    assert_eq!(error, format!("a.jsonl:3:{column}: {what}; {hint}"));
}

#[test]
fn wrong_structure_is_refused_with_its_place() {
    let shape = "write one object a line: {\"key\": value, \"key\": value}";
    let ends = "the line ends inside the object";
    refused("[1, 2]", 1, "the line is no JSON object", shape);
    refused("{", 2, ends, shape);
    refused("{\"a\": 1", 8, ends, shape);
    refused("{\"a\":", 6, ends, shape);
    refused("{\"dropped\":", 12, ends, shape);
    refused("{\"a\": [", 8, ends, shape);
    refused("{\"a\": 1,}", 9, "a key in quotes is due here", shape);
    refused("{a: 1}", 2, "a key in quotes is due here", shape);
    refused("{\"a\" 1}", 6, "no ':' follows the key 'a'", shape);
    refused("{\"a\": 1 \"b\": 2}", 9, "',' or '}' is due here", shape);
    refused("{\"a\": [\"b\" \"c\"]}", 12, "',' or ']' is due here", shape);
    refused("{\"a\": 1} {\"a\": 1}", 10, "something follows the object", shape);
    refused("{\"a: 1}", 2, "the quote that opens here is not closed", shape);
    refused("{\"a\\", 2, "the quote that opens here is not closed", shape);
    let values = "values are numbers, \"text\", true, false, null, objects or arrays";
    refused("{\"dropped\": [1, }", 17, "'' is not a JSON value", values);
    refused("{\"dropped\": [{\"a\": [1, 2}]}", 25, "',' or ']' is due here", shape);
    refused("{\"dropped\": [{1: 2}]}", 15, "a key in quotes is due here", shape);
    refused("{\"dropped\": [[1, {}, []", 24, "the line ends inside the object", shape);
    refused(
        "{\"a\": 1, \"b\": 2, \"a\": 1}",
        18,
        "the key 'a' stands twice in the object",
        "give each key once",
    );
    refused("{\"y\": 1, \"\\u0079\": 2}", 10, "the key 'y' stands twice in the object", "give each key once");
}

#[test]
fn wrong_values_are_refused_with_their_place() {
    let items = "write text, numbers or objects, or name the key in drop";
    refused("{\"a\": [[\"b\"]]}", 8, "the array of 'a' has an item that is an array", items);
    refused("{\"a\": [{\"b\": []}]}", 9, "the array of 'a.b' is inside another array", items);
    let deep = "objects are nested more than 50 deep";
    refused("{\"a\":".repeat(60), 256, deep, "leave the outer key out with drop");
    refused(
        "{\"a\": {\"b\": 1, \"b\": 2}}",
        16,
        "the key 'a.b' stands twice in the object",
        "give each key once",
    );
    refused(
        "{\"a\": {\"b\": 1}, \"a.b\": 2}",
        17,
        "the key 'a.b' stands twice in the object",
        "give each key once",
    );
    refused("{\"a\": {\"b\": 1}", 15, "the line ends inside the object", SHAPE);
    refused("{\"y\": {}}", 7, "the target is an object", "targets are finite numbers, words, true or false");
    let finite = "write null for a value that is not known";
    refused("{\"a\": -Infinity}", 7, "'-Infinity' is not finite", finite);
    refused("{\"a\": 1e999}", 7, "'1e999' is not finite", finite);
    let values = "values are numbers, \"text\", true, false, null, objects or arrays";
    for wrong in ["True", "01", "1.", "+1", ".5", "-", "'x'", "", "1x", "0x10", "nul"] {
        refused(format!("{{\"a\": {wrong}}}"), 7, &format!("'{wrong}' is not a JSON value"), values);
    }
    refused("{\"a\": [\"b\",]}", 12, "'' is not a JSON value", values);
    let targets = "targets are finite numbers, words, true or false";
    refused("{\"y\": [\"b\"]}", 7, "the target is an array", targets);
    refused("{\"y\": \"\"}", 7, "the target is empty", targets);
    refused("{\"y\": \"inf\"}", 7, "the target 'inf' is not finite", targets);
}

#[test]
fn wrong_text_is_refused_with_its_place() {
    let escapes = "write control characters and quotes with a backslash: \\n, \\t, \\\", \\u00e9";
    refused("{\"a\": \"b\tc\"}", 9, "this is not valid JSON text", escapes);
    refused("{\"a\": \"b\\xc\"}", 10, "this is not valid JSON text", escapes);
    refused("{\"a\": \"\\u0000\"}", 7, "the text has a NUL character in it", "take it out");
    let text = "this is no JSON file: give text (plain, gzip or zstd)";
    refused(b"{\"a\xff\": 1}", 4, "byte 0xff is not text", text);
    refused(b"{\"a\": \"\0\"}", 8, "byte 0x00 is not text", text);
}

pub fn opened(
    first: &str,
    file: &str,
    asked: &ReadOptions,
    known: Option<&FormatSpec>,
) -> Result<FormatSpec, String> {
    let opening = Opening { first: first.as_bytes(), file: file.as_ref(), asked, known };
    let mut opened = open(&opening).map_err(|error| error.to_string())?;
    if let FormatSpec::Jsonl { columns, .. } = &mut opened {
        columns.clear(); // what the keys are taken for: see the laws of columns
    }
    Ok(opened)
}

fn pick<'a>(random: &mut Random, words: &[&'a str]) -> &'a str {
    words[random.below(words.len() as u64) as usize]
}

/// JSON text, with some characters escaped that need not be.
fn quoted(random: &mut Random, text: &str) -> String {
    let plain = serde_json::to_string(text).unwrap();
    if random.below(3) > 0 { plain } else { plain.replace('a', "\\u0061").replace('/', "\\/") }
}

/// A key as it stands before the `=` of a name.
fn escaped(key: &str) -> String {
    key.replace('=', "\\=") + if key.ends_with('\\') { "\\" } else { "" }
}

/// Keys, each with a value of some kind: the features it makes, by hand, and its JSON.
fn draw_row(random: &mut Random, labelled: bool) -> (Row, String) {
    let keys = ["a", "b b", "naïve", "x=1", "q\"\\", "日本/a", "", "code", "dropped", "tab\t"];
    let words = ["w", "", "a/b", "\"quote\"", "é\n", "{[,:]}", "1"];
    let (mut row, mut members): (Row, Vec<String>) = Default::default();
    if labelled {
        let target = pick(random, &["1", "-2.5", "true", "\"spam\""]);
        (row.0, members) = (Some(target.replace('"', "")), vec![format!("\"y\":{target}")]);
    }
    for key in keys {
        let mut add = |name: String, x: f64| {
            *row.1.entry(name).or_insert(0.0) += if key == "dropped" { 0.0 } else { x }
        };
        let value = match random.below(9) {
            0 | 1 => {
                let x = random.below(512) as f64 / 64.0 - 4.0;
                if key == "code" {
                    add(format!("code={x}"), 1.0)
                } else {
                    add(key.to_string(), x)
                }
                [format!("{x:?}"), format!("{x:e}"), format!("{x}")][random.below(3) as usize].clone()
            }
            2 | 3 => {
                let word = pick(random, &words);
                add(format!("{}={word}", escaped(key)), 1.0);
                quoted(random, word)
            }
            4 => {
                add(key.to_string(), 1.0);
                "true".to_string()
            }
            5 => pick(random, &["false", "null"]).to_string(),
            6 => {
                let items: Vec<&str> = (0..random.below(4)).map(|_| pick(random, &words)).collect();
                items.iter().for_each(|item| add(format!("{}={item}", escaped(key)), 1.0));
                let items: Vec<String> = items.into_iter().map(|item| quoted(random, item)).collect();
                format!("[{}]", items.join(pick(random, &[",", " ,\t"])))
            }
            _ => continue,
        };
        members.push(format!("{}{}{value}", quoted(random, key), pick(random, &[":", " : ", ":\t"])));
    }
    random.shuffle(&mut members);
    row.1.retain(|_, x| *x != 0.0);
    (row, format!("{{{}}}", members.join(pick(random, &[",", ", ", " ,\t"]))))
}

fn draw(random: &mut Random) -> (Vec<Row>, String) {
    let (mut rows, mut text) = (Vec::new(), String::new());
    let count = random.below(10);
    let labelled = random.below(count + 3);
    for i in 0..count {
        let (row, line) = draw_row(random, i < labelled);
        rows.push(row);
        text += pick(random, &["", "", " ", "\n\t\n"]);
        text += &line;
        text += pick(random, &["\n", " \n", "\r\n"]);
    }
    (rows, text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn rows_read_back_as_written(seed in any::<u64>()) {
        let (expected, text) = draw(&mut Random::new(seed));
        let parsed = parse(&text).unwrap();
        prop_assert_eq!(parsed.file_rows, expected.len());
        prop_assert_eq!(rows(&parsed), expected, "{}", text);
    }

    #[test]
    fn rows_are_the_same_in_any_block_and_by_any_parser(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let (expected, text) = draw(&mut random);
        let mut blocks = vec![String::new()];
        for line in text.split_inclusive('\n') {
            if random.below(3) == 0 {
                blocks.push(String::new());
            }
            *blocks.last_mut().unwrap() += line;
        }
        let spec = spec("y", &["dropped"], &["code"]);
        let (mut parser, mut read) = (spec.parser(), Vec::new());
        for block in blocks {
            let mut parsed = Parsed::default();
            if random.below(2) == 0 {
                parser = spec.parser();
            }
            parser.parse(block.as_bytes(), Path::new("a.jsonl"), &mut parsed).unwrap();
            read.extend(rows(&parsed));
        }
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn any_bytes_are_rows_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = parse([b"{\"a", &bytes[..]].concat());
    }

    #[test]
    fn nearly_right_text_is_rows_or_an_error_with_its_place(text in "(\\{[]{}\\[\",:\\\\yu0-9.e\t\r é-]{0,24}\n){0,3}") {
        if let Err(error) = parse(&text) {
            prop_assert!(error.to_string().starts_with("a.jsonl:"), "{error}");
        }
        let _ = opened(&text, "a", &ReadOptions::default(), None);
    }

    /// Whatever we take, serde_json takes too: we are not laxer than JSON.
    #[test]
    fn what_is_read_is_json(text in "\\{\"(a|y)\" ?: ?(-?[0-9.]{1,4}(e-?[0-9])?|\"[a\\\\nu\" ]{0,3}\"|\\[(\"a\",?){0,2}\\]|[a-z]{0,2}true|null)(,\"b\":1)?,?\\}?") {
        if parse(&text).is_ok() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
    }
}
