//! Laws of Vowpal Wabbit text: every rule of its grammar, what is refused and where, and that rows read back as written.

use lazyglm::data::format::{FormatSpec, Opening, Parsed, ReadOptions, open};
use lazyglm::util::random::Random;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

fn parse(text: impl AsRef<[u8]>) -> lazyglm::Result<Parsed> {
    let mut parsed = Parsed::default();
    FormatSpec::Vw.parser().parse(text.as_ref(), Path::new("a.vw"), &mut parsed).map(|()| parsed)
}

/// A row by names: what must not depend on numbers given to them.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    label: Option<String>,
    weight: f64,
    features: BTreeMap<String, f64>,
}

/// The rows of one block; those without a label must come last, for labels do not say which row they are of.
fn rows(parsed: &Parsed) -> Vec<Row> {
    let read = |i| {
        let mut features = BTreeMap::new();
        parsed.rows.borrow().for_each(i, |id, x| {
            let name = parsed.names.as_ref().unwrap().name(id as u32).to_string();
            assert_eq!(features.insert(name, x), None);
        });
        let label = parsed.unlabelled.is_none_or(|first| i < first).then(|| parsed.labels.name(i));
        Row { label, weight: parsed.weights.get(i).copied().unwrap_or(1.0), features }
    };
    (0..parsed.rows.len()).map(read).collect()
}

fn features(text: &str) -> Vec<(String, f64)> {
    let rows = rows(&parse(text).unwrap());
    assert_eq!(rows.len(), 1);
    rows[0].features.clone().into_iter().collect()
}

#[track_caller]
fn has(text: &str, expected: &[(&str, f64)]) {
    let expected: Vec<_> = expected.iter().map(|&(name, x)| (name.to_string(), x)).collect();
    assert_eq!(features(text), expected, "{text}");
}

#[test]
fn features_have_names_namespaces_values_and_scales() {
    has("1 |f a:0.5 b |g a:2e-3", &[("f^a", 0.5), ("f^b", 1.0), ("g^a", 2e-3)]);
    has("1 | a b:2 |f c", &[("a", 1.0), ("b", 2.0), ("f^c", 1.0)]);
    has("1 |f:2 a:0.5 b |g c", &[("f^a", 1.0), ("f^b", 2.0), ("g^c", 1.0)]);
    has("1 |f:-0.5 a:3|g:2 b", &[("f^a", -1.5), ("g^b", 2.0)]);
    has("1 |f a|g b", &[("f^a", 1.0), ("g^b", 1.0)]);
    has("1 |f\ta:1\t b", &[("f^a", 1.0), ("f^b", 1.0)]);
    has("1 |ƒ naïve:2", &[("ƒ^naïve", 2.0)]);
    has("1 |f 'quoted #hash \"both\"", &[("f^\"both\"", 1.0), ("f^#hash", 1.0), ("f^'quoted", 1.0)]);
    has("1 |", &[]);
    has("1 |f", &[]);
    has("1 ||", &[]);
    has("1 |f:3", &[]);
}

#[test]
fn unnamed_features_are_numbered_within_their_namespace() {
    has("1 |f :0.5 a :2 |g :3", &[("f^0", 0.5), ("f^1", 2.0), ("f^a", 1.0), ("g^0", 3.0)]);
    has("1 | :1 :0 :3", &[("0", 1.0), ("2", 3.0)]);
    has("1 |f:2 :0.5 |f :4", &[("f^0", 5.0)]);
}

#[test]
fn words_as_values_are_part_of_the_name_and_not_scaled() {
    has("1 |f:3 city:paris url:http://x.org", &[("f^city^paris", 1.0), ("f^url^http://x.org", 1.0)]);
    has("1 | :paris x:-y", &[("^paris", 1.0), ("x^-y", 1.0)]);
}

#[test]
fn duplicates_are_summed_and_zeros_left_out() {
    has("1 |f a:1 a:2 b:0 |f a", &[("f^a", 4.0)]);
    has("1 |f:0 a b:2", &[]);
    has("1 |f a:1 a:-1", &[]);
    assert!(parse("1 |f a:0").unwrap().names.is_none());
}

#[test]
fn labels_weights_and_tags_stand_before_the_first_bar() {
    let one = |text: &str| {
        let row = rows(&parse(text).unwrap()).remove(0);
        (row.label, row.weight)
    };
    let label = |label: &str, weight| (Some(label.to_string()), weight);
    assert_eq!(one("1 |f a"), label("1", 1.0));
    assert_eq!(one("  -1.50   2  |f a"), label("-1.5", 2.0));
    assert_eq!(one("1 0 |f a"), label("1", 0.0));
    assert_eq!(one("1 2 0 |f a"), label("1", 2.0));
    assert_eq!(one("1 2 0.0 'tag |f a"), label("1", 2.0));
    assert_eq!(one("1 2 0 tag|f a"), label("1", 2.0));
    assert_eq!(one("1 'tag |f a"), label("1", 1.0));
    assert_eq!(one("1 'tag|f a"), label("1", 1.0));
    assert_eq!(one("1 2|f a"), label("1", 1.0), "2 touches the bar: a tag");
    assert_eq!(one("spam 3 |f a"), label("spam", 3.0));
    for unlabelled in ["|f a", " |f a", "'tag |f a", "tag|f a", "1|f a"] {
        assert_eq!(one(unlabelled), (None, 1.0), "{unlabelled}");
    }
}

#[test]
fn blank_lines_are_no_rows_and_keep_their_numbers() {
    let parsed = parse("\u{feff}1 |f a\r\n\n \t \r\n0 3 |f b\n\n1 |f a").unwrap();
    assert_eq!((parsed.rows.len(), parsed.file_rows), (3, 3));
    assert_eq!([0, 1, 2].map(|row| parsed.lines.of(row)), [1, 4, 6]);
    assert_eq!(parsed.weights, [1.0, 3.0, 1.0]);
    assert!(parse("1 |f a\n0 |f b\n").unwrap().weights.is_empty());
}

#[test]
fn rows_can_be_passed_over_unread() {
    let mut parsed = Parsed { absent: vec![false, true], ..Parsed::default() };
    FormatSpec::Vw.parser().parse(b"1 2 |f a\nno bar\n3 |f b\n", "a.vw".as_ref(), &mut parsed).unwrap();
    assert_eq!((parsed.rows.len(), parsed.file_rows, parsed.lines.of(1)), (2, 3, 3));
    assert_eq!((parsed.weights, parsed.labels.name(1)), (vec![2.0, 1.0], "3".to_string()));
}

#[track_caller]
fn refused(text: impl AsRef<[u8]>, place: &str, what: &str, hint: &str) {
    let before: &[u8] = b"1 |f a\n\n";
    let error = parse([before, text.as_ref()].concat()).unwrap_err().to_string();
    assert_eq!(error, format!("a.vw:3:{place}: {what}; {hint}"));
}

#[test]
fn wrong_headers_are_refused_with_their_place() {
    let header = "before the first '|' stand: label, importance, base, 'tag";
    let row = "write a row as: label |namespace feature:value feature:value";
    refused("1 f a", "1", "there is no '|' in the line", row);
    refused("1 1 x |f a", "5", "the base 'x' is not a finite number", header);
    refused("1 x |f a", "3", "the importance 'x' is not a finite number", header);
    refused("1 inf |f a", "3", "the importance 'inf' is not a finite number", header);
    refused("1 -2 |f a", "3", "the importance '-2' is negative", "give a number from 0 up");
    refused("1 2 0 4 |f a", "7", "'4' is one word too many before the '|'", header);
    refused("1 2 0 4 t|f a", "9", "'t' is one word too many before the '|'", header);
    refused("'tag 1 |f a", "1", "the tag 'tag stands before other words", header);
    refused("nan |f a", "1", "the target 'nan' is not finite", "labels are finite numbers or words");
    let simple = "give one number or word: costs and many labels are not supported";
    refused(" 1:0.5 |f a", "2", "'1:0.5' is not a simple label", simple);
    refused("1,2 |f a", "1", "'1,2' is not a simple label", simple);
    let tab = "write a space: Vowpal Wabbit passes over all that stands before a tab";
    refused("1\t|f a", "2", "a tab stands before the first '|'", tab);
}

#[test]
fn wrong_features_are_refused_with_their_place() {
    let shape = "write feature, feature:number or feature:word";
    let number = "remove the feature or give it a number";
    refused("1 |f a: b", "8", "'a:' has no value after the colon", shape);
    refused("1 |f :", "7", "':' has no value after the colon", shape);
    refused("1 |f a:1x", "8", "'a:1x' has no valid number after the colon", shape);
    refused("1 |f a:1:2", "8", "'a:1:2' has no valid number after the colon", shape);
    refused("1 |f a:-.5.5", "8", "'a:-.5.5' has no valid number after the colon", shape);
    refused("1 |f a:nan", "8", "the value in 'a:nan' is not finite", number);
    refused("1 |f b a:-inf|g", "10", "the value in 'a:-inf' is not finite", number);
    refused("1 |f a:1e999", "8", "the value in 'a:1e999' is not finite", number);
    refused("1 |f a:x|g b", "9", "'|' touches the word in 'a:x'", "put a space before the '|'");
    let scale = "write |namespace or |namespace:number";
    refused("1 |f:x a", "6", "namespace 'f:x' has no finite number as its scale", scale);
    refused("1 |f: a", "6", "namespace 'f:' has no finite number as its scale", scale);
    refused("1 |f:inf a", "6", "namespace 'f:inf' has no finite number as its scale", scale);
    let colon = "a ':' follows the '|', where a namespace or a space is due";
    refused("1 |:2 a", "4", colon, "write |namespace:scale, or a space after the '|'");
    let down = "scale the values down";
    refused("1 |f:1e200 a:1e200", "12", "the value of 'f^a' times its namespace's scale is infinite", down);
    refused("1 |f a:1e308 a:1e308", "1", "the values of feature 'f^a' sum to infinity", down);
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let text = "this is no Vowpal Wabbit file: give text (plain, gzip or zstd)";
    refused(b"1 |f a\xff", "7", "byte 0xff is not text", text);
    refused(b"1 |f \0", "6", "byte 0x00 is not text", text);
    refused("1 |f a\rb", "7", "a carriage return stands inside the line", "end each line with a line feed");
}

#[test]
fn it_is_recognised_by_its_ending_or_its_first_line() {
    let format = |first: &str, file: &str| {
        let asked = ReadOptions { target: Some("x".into()), ..ReadOptions::default() };
        let opening = Opening { first: first.as_bytes(), file: file.as_ref(), asked: &asked, known: None };
        open(&opening).map(|spec| spec.name())
    };
    assert_eq!(format("spam | a\n", "mail.vw.gz").unwrap(), "vw");
    for first in
        ["1 |f 1:2", "|f 1:2", "| 1:2", "\n\n1 0.5 |f a", "1 2 0 'x |f", "'x |f a", "-1 t|f a", "1 't| a"]
    {
        assert_eq!(format(first, "mail").unwrap(), "vw", "{first}");
    }
    for first in [
        "1 3:1 # |f a",
        "# 1 |f a\n1 3:1",
        "1|2|3",
        "name|age",
        "a,\"|f a\"",
        "1,2 |f",
        "1 |:2",
        "x |f a",
        "",
    ] {
        assert_ne!(format(first, "mail").unwrap_or("none"), "vw", "{first}");
    }
}

/// Words of names: plain, numbers, other scripts, and marks that mean something elsewhere.
const NAMES: [&str; 12] = ["a", "b", "price", "7", "13", "naïve", "日本", "x=1", "#", "'q", "\"", "^"];
const NAMESPACES: [&str; 6] = ["", "", "f", "words", "ns=2", "é"];

fn pick<'a>(random: &mut Random, words: &[&'a str]) -> &'a str {
    words[random.below(words.len() as u64) as usize]
}

/// Rows, and a text of them: namespaces split and repeated, values split into halves, any spaces and tags. All values
/// are small multiples of a power of two, for sums and scales to be exact.
fn draw(random: &mut Random) -> (Vec<Row>, String) {
    let (mut rows, mut text) = (Vec::new(), String::new());
    let count = random.below(12);
    let labelled = random.below(count + 3);
    for i in 0..count {
        let mut row = Row { label: None, weight: 1.0, features: BTreeMap::new() };
        text += pick(random, &["", "", "", "\n", " \r\n"]);
        if i < labelled {
            let label = pick(random, &["1", "-1", "0", "2.5"]);
            (row.label, text) = (Some(label.to_string()), text + label + " ");
            if random.below(3) == 0 {
                row.weight = random.below(9) as f64 / 4.0;
                text += &format!("{:?} {}", row.weight, pick(random, &["", "0 ", " -0.0  "]));
            }
        }
        text += pick(random, &["", "  ", "'tag ", "tag", "'"]);
        for _ in 0..1 + random.below(4) {
            namespace(random, &mut row, &mut text);
        }
        text += pick(random, &["\n", " \n", "\r\n", "\t\r\n"]);
        row.features.retain(|_, x| *x != 0.0);
        rows.push(row);
    }
    (rows, text)
}

fn namespace(random: &mut Random, row: &mut Row, text: &mut String) {
    let name = pick(random, &NAMESPACES);
    let stem = if name.is_empty() { String::new() } else { format!("{name}^") };
    let scale = if name.is_empty() || random.below(2) == 0 {
        1.0
    } else {
        [0.5, 2.0, -1.0, 4.0][random.below(4) as usize]
    };
    *text += &format!("|{name}");
    if scale != 1.0 {
        *text += &format!(":{scale}");
    }
    let mut unnamed = 0;
    for _ in 0..random.below(6) {
        let feature = pick(random, &NAMES);
        let x = random.below(64) as f64 / 16.0 - 2.0;
        *text += pick(random, &[" ", "  ", "\t"]);
        let escaped = feature.replace('^', "\\^");
        let whole = if stem.is_empty() { feature } else { &escaped }; // without a namespace it is a whole name
        let (name, value, written) = match random.below(6) {
            0 => (whole.to_string(), scale, feature.to_string()),
            1 => (format!("{escaped}^w"), 1.0, format!("{feature}:w")),
            2 => {
                unnamed += 1;
                ((unnamed - 1).to_string(), scale * x, format!(":{x:?}"))
            }
            3 => (whole.to_string(), scale * x, format!("{feature}:{x:e}")),
            _ => (whole.to_string(), scale * x, format!("{feature}:{x}")),
        };
        *text += &written;
        *row.features.entry(stem.clone() + &name).or_insert(0.0) += value;
    }
    *text += pick(random, &["", " "]);
    if text.ends_with(":w") {
        text.push(' '); // a bar must not touch a word
    }
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
        let (mut reused, mut read) = (FormatSpec::Vw.parser(), Vec::new());
        for block in blocks {
            let mut parsed = Parsed::default();
            if random.below(2) == 0 {
                reused = FormatSpec::Vw.parser();
            }
            reused.parse(block.as_bytes(), Path::new("a.vw"), &mut parsed).unwrap();
            read.extend(rows(&parsed));
        }
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn any_bytes_are_rows_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = parse([b"1 |", &bytes[..]].concat());
    }

    #[test]
    fn nearly_right_text_is_rows_or_an_error_with_its_place(text in "([-01'a. ]{0,6}[|]?[-:|0-9.ea^'é\t\r\u{feff} ]{0,16}\n){0,4}") {
        if let Err(error) = parse(&text) {
            prop_assert!(error.to_string().starts_with("a.vw:"), "{error}");
        }
        let asked = ReadOptions::default();
        let _ = open(&Opening { first: text.as_bytes(), file: "a".as_ref(), asked: &asked, known: None });
    }
}
