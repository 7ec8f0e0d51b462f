//! Laws of labelled text: terms as a plain reference finds them, blocks of any size, errors with a place and a next step.

use crate::common::reading::{error, read, read_in_blocks, spec};
use lazyglm::data::format::{Case, FormatSpec, Grams, Norm, Opening, Parsed, ReadOptions, Text, Worth, open};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

fn asked(text: &str) -> ReadOptions {
    ReadOptions { text: Some(text.into()), ..ReadOptions::default() }
}

fn features(line: &str, text: &str) -> Vec<(String, f64)> {
    let read = read(line.as_bytes(), "t.txt", &asked(text)).unwrap();
    read.features(0).into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

fn names(line: &str, text: &str) -> Vec<String> {
    features(line, text).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn words_and_their_pairs() {
    assert_eq!(
        names("ham\tSee you, at 7!\n", "norm=none"),
        ["7", "at", "at 7", "see", "see you", "you", "you at"]
    );
    assert_eq!(names("ham\tSee you", "words=1"), ["see", "you"]);
    assert_eq!(names("ham\tone two three four", "words=3"), ["one two three", "two three four"]);
    assert_eq!(names("ham\tone two", "words=2-5"), ["one two"]);
    assert_eq!(names("ham\tSee YOU", "words=1,case=keep"), ["See", "YOU"]);
    assert_eq!(names("ham\tÉCOLE Straße 東京", "words=1"), ["straße", "école", "東京"]);
    assert_eq!(names("ham\t...", "words=1"), [""; 0], "a row without features");
}

#[test]
fn apostrophes_belong_to_words_only_inside() {
    assert_eq!(names("x\tdon't 'quoted' dogs' rock''n", "words=1"), ["dogs", "don't", "n", "quoted", "rock"]);
    assert_eq!(names("x\tdon’t don't", "words=1"), ["don't"], "either kind");
    assert_eq!(names("x\tit'", "words=1"), ["it"]);
}

#[test]
fn characters_inside_words_with_a_space_on_both_sides() {
    assert_eq!(names("x\tabc d", "words=none,chars=3"), ["~ ab", "~ d ", "~abc", "~bc "]);
    assert_eq!(names("x\tab", "words=none,chars=3-6"), ["~ ab", "~ ab ", "~ab "], "a short word once");
    assert_eq!(names("x\té", "words=1,chars=2"), ["~ é", "~é ", "é"]);
}

#[test]
fn values_and_scaling() {
    let value =
        |text: &str| features("x\tno no no yes", text).into_iter().map(|(_, v)| v).collect::<Vec<_>>();
    assert_eq!(value("words=1,norm=none,value=tf"), [3.0, 1.0]);
    assert_eq!(value("words=1,norm=none,value=binary"), [1.0, 1.0]);
    assert_eq!(value("words=1,norm=none,value=sublinear"), [1.0 + 3f64.ln(), 1.0]);
    assert_eq!(value("words=1,norm=none"), value("words=1,norm=none,value=sublinear"), "the default");
    assert_eq!(value("words=1,value=tf"), [3.0 / 10f64.sqrt(), 1.0 / 10f64.sqrt()], "l2 is the default");
    assert_eq!(
        value("words=1,value=tf,norm=l2,idf=yes"),
        [3.0, 1.0],
        "scaled later, when documents are counted"
    );
    assert_eq!(value("words=1,value=tf,idf=no"), value("words=1,value=tf"));
}

#[test]
fn labels_of_both_kinds() {
    let all = read(
        b"ham\tSee you\r\n\n  \t \n__label__spam WIN\n__label__a __label__b\tboth\n__label__c\n7\t\n",
        "t.ft",
        &asked(""),
    );
    let all = all.unwrap();
    assert_eq!(all.labels, ["ham", "spam", "a,b", "c", "7"]);
    assert_eq!(
        all.rows.iter().map(|row| row.0).collect::<Vec<_>>(),
        [1, 4, 5, 6, 7],
        "blank lines are no rows"
    );
    assert_eq!((all.features(1), all.features(2)), (vec![("win", 1.0)], vec![("both", 1.0)]));
    assert_eq!((all.features(3), all.unlabelled), (vec![], None));
    let mut parsed = Parsed::default();
    FormatSpec::Text(Text::default()).parser().parse(b"x\t", Path::new("t"), &mut parsed).unwrap();
    assert!(
        parsed.names.is_some_and(|names| names.is_empty()),
        "features have names, even where there are none"
    );
    let tabs = read(b"very good\tone\ttwo", "t.txt", &asked("words=1")).unwrap();
    assert_eq!(
        (tabs.labels[0].as_str(), tabs.rows[0].1.len()),
        ("very good", 2),
        "the first tab ends the label"
    );
    let empty = read(b"ham\tone\n\ttwo\n__label__ three\n", "t.txt", &asked("")).unwrap();
    assert_eq!((empty.unlabelled, empty.labels.len()), (Some(1), 1));
}

#[test]
fn lines_that_cannot_be_are_refused_with_their_place() {
    let none = error(b"ham\tfine\n\njust words\n", "t.txt", &asked(""));
    assert_eq!(
        none,
        "t.txt:3:1: the line has no label; write a line as label<TAB>text, or as __label__name text"
    );
    let bytes = error(b"ham\tcaf\xe9\n", "t.txt", &asked(""));
    let latin1 = "save the file as UTF-8; it seems to be Latin-1: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW";
    assert_eq!(bytes, format!("t.txt:1:8: byte 0xe9 is not text; {latin1}"));
    let hint = "this is no labelled text file: give text (plain, gzip or zstd)";
    assert_eq!(
        error(b"a\tb\na\t\0\n", "t.txt", &asked("")),
        format!("t.txt:2:3: byte 0x00 is not text; {hint}")
    );
    let target = error(b"nan\tb\n", "t.txt", &asked(""));
    assert_eq!(target, "t.txt:1:1: the target 'nan' is not finite; labels are words or finite numbers");
}

#[test]
fn options_that_cannot_be_are_refused() {
    let call = |text: &str| {
        let error = spec(b"", "t.txt", &asked(text), None).unwrap_err();
        assert!(error.is_wrong_call());
        error.to_string()
    };
    let keys = "There are: words, skip, chars, case, value, idf, norm";
    assert_eq!(call("word=1"), format!("text has no key 'word'; did you mean 'words'? {keys}"));
    assert!(call("chars").starts_with(
        "text 'chars' is not of the form key=value; write words=1-2, say; the keys are: words, skip,"
    ));
    let cannot = "text cannot have case=lowre; did you mean 'lower'? There are: lower, keep";
    assert_eq!(call("case=lowre"), cannot);
    assert!(call("value=binry").ends_with("did you mean 'binary'? There are: tf, binary, sublinear"));
    assert!(call("idf=true").ends_with("there are: yes, no"));
    assert!(call("norm=l1").ends_with("there are: l2, none"));
    let range =
        "text cannot have words=3-1; write words=1, words=1-2 or words=none, with lengths from 1 to 8";
    assert_eq!(call("words=3-1"), range);
    for wrong in ["words=0", "words=9", "words=", "words=-1", "words=1-", "words=a", "chars=17", "chars=0-3"]
    {
        assert!(call(wrong).starts_with(&format!("text cannot have {wrong}; write ")), "{wrong}");
    }
    assert_eq!(call("words=1,words=2"), "text is given words twice; give it once");
    assert_eq!(call("words=none"), "text has neither words nor chars; say words=1-2 or chars=3-5");
}

#[test]
fn a_model_s_options_are_kept_and_lines_may_be_text_alone() {
    let options = "words=1-3,chars=2-4,case=keep,value=tf,idf=yes,norm=none";
    let trained = spec(b"", "t.txt", &asked(options), None).unwrap();
    let data = Text {
        words: Some(Grams { from: 1, to: 3 }),
        skip: 0,
        chars: Some(Grams { from: 2, to: 4 }),
        case: Case::Keep,
        value: Worth::Tf,
        idf: true,
        norm: Norm::None,
        label_sets: false,
        bare: false,
    };
    assert_eq!(trained, FormatSpec::Text(data.clone()));
    let json = serde_json::to_string(&trained).unwrap();
    assert!(json.starts_with(r#"{"format":"text","words":{"from":1,"to":3},"#), "{json}");
    assert_eq!(serde_json::from_str::<FormatSpec>(&json).unwrap(), trained);
    let new = b"just words\nham\tand a label\n";
    let opened = spec(new, "-", &asked("words=1"), Some(&trained)).unwrap();
    assert_eq!(opened, FormatSpec::Text(Text { bare: true, ..data }));
    let read = read_in_blocks(new, "-", &opened, 100).unwrap();
    assert_eq!((read.rows.len(), read.unlabelled, &read.labels[..]), (2, Some(0), &["ham".to_string()][..]));
}

#[test]
fn text_is_recognised() {
    let name = |bytes: &[u8], file: &str| {
        let asked = ReadOptions { target: Some("y".into()), ..ReadOptions::default() };
        spec(bytes, file, &asked, None).map_or_else(|error| error.to_string(), |spec| spec.name().into())
    };
    let sms = b"ham\tGo until jurong point, crazy..\nspam\tFree entry in 2 a wkly comp\nham\tOk\n";
    for file in ["SMSSpamCollection", "sms.tsv", "sms.csv", "sms.tsv.gz", "-", "sms.txt", "sms.ft"] {
        assert_eq!(name(sms, file), "text", "{file}");
    }
    assert_eq!(name(b"__label__a,b c\nd\n", "data"), "text");
    assert_eq!(name("\u{feff}__label__a b\n".as_bytes(), "x.csv"), "text");
    assert_eq!(name(b"y\tcity\n1\tOslo\n2\tNew York\n", "data"), "csv", "too few words");
    assert_eq!(name(b"y\ta\n1\t2\n", "data.tsv"), "csv");
    assert_eq!(name(b"y\ta b\tc d e\n1\t2\t3\n", "data.tsv"), "csv", "two tabs");
    assert_eq!(
        name(b"some words\ty\nmore of them here\t1 2 3\n", "data"),
        "csv",
        "a space in the first cell"
    );
    assert_eq!(name(b"1\t1:1 2:1 3:1\n", "data"), "svmlight");
    assert_eq!(name(b"1\t1:1 2:1 3:1\n", "data.svm"), "svmlight", "an ending of another format decides");
    assert_eq!(name(&[&sms.repeat(10)[..], b"no tab here\n"].concat(), "data"), "text", "nearly all lines");
    assert_eq!(name(&[&sms[..], b"no tab here\n"].concat(), "data.txt"), "text", "by its ending");
}

#[test]
fn a_mark_before_the_first_label_is_no_part_of_it() {
    assert_eq!(read("\u{feff}ham\tone\n".as_bytes(), "t.txt", &asked("")).unwrap().labels, ["ham"]);
    assert_eq!(read("\u{feff}__label__x one\n".as_bytes(), "t.txt", &asked("")).unwrap().labels, ["x"]);
}

/// The words of a text, told slowly.
fn words(text: &str, case: Case) -> Vec<String> {
    let chars: Vec<char> = text.chars().map(|c| if c == '’' { '\'' } else { c }).collect();
    let letter = |k: Option<usize>| k.and_then(|k| chars.get(k)).is_some_and(|c| c.is_alphanumeric());
    let belongs =
        |k: usize| letter(Some(k)) || chars[k] == '\'' && letter(k.checked_sub(1)) && letter(Some(k + 1));
    let kept: String = (0..chars.len()).map(|k| if belongs(k) { chars[k] } else { ' ' }).collect();
    let cased = |word: &str| match case {
        Case::Keep => word.to_string(),
        Case::Lower => word.chars().flat_map(char::to_lowercase).collect(),
    };
    kept.split(' ').filter(|word| !word.is_empty()).map(cased).collect()
}

/// How often each term occurs, told slowly.
fn counts(text: &str, spec: &Text) -> BTreeMap<String, f64> {
    let words = words(text, spec.case);
    let mut terms = Vec::new();
    for n in spec.words.into_iter().flat_map(|grams| grams.from..=grams.to) {
        terms.extend(words.windows(n).map(|window| window.join(" ")));
        for left_out in (1..=spec.skip).filter(|_| n > 1) {
            // The first and the last word of a window stay, and all choices of the others are tried.
            for window in words.windows(n + left_out) {
                for mask in 0u32..1 << (window.len() - 2) {
                    let stays = |k: usize| k == 0 || k + 1 == window.len() || mask >> (k - 1) & 1 == 1;
                    let kept: Vec<&str> =
                        (0..window.len()).filter(|&k| stays(k)).map(|k| window[k].as_str()).collect();
                    terms.extend((kept.len() == n).then(|| kept.join(" ")));
                }
            }
        }
    }
    for word in &words {
        let word: Vec<char> = format!(" {word} ").chars().collect();
        for n in spec.chars.into_iter().flat_map(|grams| grams.from..=grams.to) {
            terms.extend(
                word.windows(n.min(word.len()))
                    .map(|window| format!("~{}", window.iter().collect::<String>())),
            );
            if n >= word.len() {
                break;
            }
        }
    }
    let mut counts = BTreeMap::new();
    terms.into_iter().for_each(|term| *counts.entry(term).or_insert(0.0) += 1.0);
    counts
}

fn any_spec() -> impl Strategy<Value = Text> {
    let grams = |most: usize| {
        prop::option::of((1..=most, 0..3usize).prop_map(|(from, more)| Grams { from, to: from + more }))
    };
    let worth = prop::sample::select(vec![Worth::Tf, Worth::Binary, Worth::Sublinear]);
    let norm = prop::sample::select(vec![Norm::L2, Norm::None]);
    let case = prop::sample::select(vec![Case::Lower, Case::Keep]);
    (grams(3), 0..4usize, grams(5), case, worth, any::<bool>(), norm).prop_map(
        |(words, skip, chars, case, value, idf, norm)| Text {
            words,
            skip,
            chars,
            case,
            value,
            idf,
            norm,
            label_sets: false,
            bare: true,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn terms_are_those_of_the_reference(text in "[abAÉéİß1 .,'’\u{301}東]{0,40}", spec in any_spec()) {
        let line = format!("x\t{text}");
        let read = read_in_blocks(line.as_bytes(), "t.txt", &FormatSpec::Text(spec.clone()), 1000).unwrap();
        let worth = |tf: f64| match spec.value {
            Worth::Tf => tf,
            Worth::Binary => 1.0,
            Worth::Sublinear => 1.0 + tf.ln(),
        };
        let expected: Vec<(String, f64)> =
            counts(&text, &spec).into_iter().map(|(term, tf)| (term, worth(tf))).collect();
        let scaled = spec.norm == Norm::L2 && !spec.idf;
        let length = if scaled { expected.iter().map(|(_, v)| v * v).sum::<f64>().sqrt() } else { 1.0 };
        let found = read.features(0);
        prop_assert_eq!(found.len(), expected.len(), "{:?} {:?}", found, expected);
        for ((name, value), (term, worth)) in found.into_iter().zip(&expected) {
            prop_assert_eq!(name, term);
            prop_assert!((value - worth / length).abs() < 1e-14, "{} {}", value, worth / length);
        }
    }

    /// To the last bit: the length of a row must not depend on the numbers that its terms have in a block.
    #[test]
    fn blocks_of_any_size_read_alike(
        lines in prop::collection::vec("(__label__[ab] |[ab]\t|\t|)[a-d ']{0,40}(\r|)", 0..20),
        size in 1usize..200, spec in any_spec(),
    ) {
        let (bytes, spec) = (lines.join("\n").into_bytes(), FormatSpec::Text(spec));
        let whole = read_in_blocks(&bytes, "t.txt", &spec, bytes.len()).unwrap();
        prop_assert_eq!(read_in_blocks(&bytes, "t.txt", &spec, size).unwrap(), whole);
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "([a1 \t\n\r'’é\u{feff}\0]|__label__){0,100}".prop_map(String::into_bytes),
            "\\PC{0,100}".prop_map(String::into_bytes),
        ],
        cut in 0usize..200, data in any_spec(), options in "(words|chars|case|[a=,1-])*",
    ) {
        let named = ReadOptions { format: Some("text".into()), ..asked(&options) };
        let _ = spec(&bytes, "t.txt", &named, None);
        let _ = spec(&bytes, "data", &ReadOptions::default(), None);
        for bare in [true, false] {
            let opened = FormatSpec::Text(Text { bare, ..data.clone() });
            prop_assert!(opened.header(&bytes) <= bytes.len() && opened.whole(&bytes) <= bytes.len());
            let _ = opened.parser().parse(&bytes[cut.min(bytes.len())..], Path::new("t"), &mut Parsed::default());
            let _ = read_in_blocks(&bytes, "t.txt", &opened, cut);
        }
    }
}

#[test]
fn a_header_is_no_row() {
    let asked = ReadOptions::default();
    let header = |first: &str| {
        let opening =
            Opening { first: first.as_bytes(), file: "sms.txt".as_ref(), asked: &asked, known: None };
        open(&opening).unwrap().header(first.as_bytes())
    };
    assert_eq!(header("Label\tSMS\nham\tsee you\n"), 10);
    assert_eq!(header("label\ttwo words\nham\tsee you\n"), 0, "a document");
    assert_eq!(header("y\tyes\nn\tno\ny\tgood\n"), 0, "a label that comes again");
    assert_eq!(header("ham\tSMS\nspam\tsee you\n"), 0, "no usual name");
}
