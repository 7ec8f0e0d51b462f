//! Any bytes whatever are rows or an error, for every parser: no panic, no hang, no memory out of proportion.
//!
//! `make test` tries some ten thousand inputs a format, `make fuzz` ten million (CASES=N, SEED=N and FORMAT=F in the environment).

use lazyglm::data::format::{Opening, Parsed, ReadOptions, TABLE, open};
use lazyglm::util::random::Random;
use std::path::Path;
use std::time::{Duration, Instant};

/// Texts of each format that are fine: most inputs are these with a few bytes changed.
fn samples(format: &str) -> &'static [&'static str] {
    match format {
        "svmlight" => &[
            "1 1:1 3:0.5 4294967295:-2e-3\n-1 qid:3 2:7 # word\n",
            "spam 0:1\nham 5:0.000001 5:1\n",
            "1,4 3:1\n 2:1\n",
        ],
        "vw" => &["1 2.0 'tag|a x:0.5 y |b:2 z:1e3 :4\n-1 |f 1:2 3\n", "|a b c\n0.5 1 |x^y a:1\n"],
        "jsonl" => &[
            "{\"label\": 1, \"a\": 0.5, \"b\": \"x\\u00e9\\n\", \"c\": [\"p\", \"q\"], \"d\": true, \"e\": null}\n{\"label\":\"no\"}\n",
        ],
        "csv" => {
            &["age,city,label\n31,\"pa\"\"ris\",yes\n,NA,no\n", "a;b;y\r\n1;2;3\r\n", "x\ty\n1\t\"a\nb\"\n"]
        }
        "text" => &[
            "ham\tSee you at 5, don't be late\nspam\tWIN \u{e9}\u{130} \u{1f600} now\n",
            "__label__a __label__b some words\n",
        ],
        _ => &[""],
    }
}

const ALPHABET: &[u8] = b"0123456789.:,;|'\"\\{}[]+-eE \t\r\n#_^=*abqidlyNA?\0\x80\xc3\xa9\xff";

fn input(format: &str, random: &mut Random) -> Vec<u8> {
    let any = |random: &mut Random| match random.below(4) {
        0 => random.bits() as u8,
        _ => ALPHABET[random.below(ALPHABET.len() as u64) as usize],
    };
    let texts = samples(format);
    let mut bytes = match random.below(5) {
        0 => (0..random.below(60)).map(|_| any(random)).collect(),
        _ => texts[random.below(texts.len() as u64) as usize].as_bytes().to_vec(),
    };
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        match random.below(4) {
            0 if at < bytes.len() => bytes[at] = any(random),
            1 => bytes.insert(at, any(random)),
            2 => bytes.truncate(at),
            _ => {
                let end = at + random.below((bytes.len() - at) as u64 + 1) as usize;
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len() as u64 + 1) as usize;
                bytes.splice(to..to, copy);
            }
        }
    }
    bytes
}

/// Opens and reads the bytes, cut into blocks somewhere.
fn read(format: &str, bytes: &[u8], random: &mut Random) {
    let asked = ReadOptions { format: Some(format.to_string()), ..ReadOptions::default() };
    let file = Path::new("fuzz");
    let Ok(spec) = open(&Opening { first: bytes, file, asked: &asked, known: None }) else { return };
    let header = spec.header(bytes).min(bytes.len());
    let body = &bytes[header..];
    let cut = spec.whole(&body[..random.below(body.len() as u64 + 1) as usize]);
    assert!(cut <= body.len());
    let (mut parser, mut parsed) = (spec.parser(), Parsed::default());
    for block in [&body[..cut], &body[cut..]] {
        if parser.parse(block, file, &mut parsed).is_err() {
            break;
        }
    }
    assert!(parsed.rows.len() <= bytes.len() + 1 && parsed.rows.nonzeros() <= 40 * bytes.len());
    let named = parsed.names.as_ref().map_or(usize::MAX, lazyglm::Vocabulary::len);
    assert!(parsed.rows.ids().iter().all(|&id| (id as usize) < named), "every name is known");
}

#[test]
fn any_bytes_are_rows_or_an_error() {
    let from_environment =
        |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (cases, seed) = (from_environment("CASES", 20_000), from_environment("SEED", 1));
    let alone = std::env::var("FORMAT").ok().filter(|format| !format.is_empty());
    let wanted = |name: &str| name != "parquet" && alone.as_ref().is_none_or(|alone| alone == name);
    assert!(TABLE.iter().any(|entry| wanted(entry.name)), "FORMAT is no format of ours");
    for entry in TABLE.iter().filter(|entry| wanted(entry.name)) {
        let random = &mut Random::new(seed);
        let (started, mut slowest) = (Instant::now(), Duration::ZERO);
        for _ in 0..cases {
            let bytes = input(entry.name, random);
            let begun = Instant::now();
            let shown = bytes.clone();
            let done =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(entry.name, &bytes, random)));
            assert!(done.is_ok(), "{}: {:?}", entry.name, String::from_utf8_lossy(&shown));
            slowest = slowest.max(begun.elapsed());
        }
        println!("{}: {cases} inputs in {:.1?}, slowest {slowest:.1?}", entry.name, started.elapsed());
        assert!(slowest < Duration::from_secs(5), "{} hangs", entry.name);
    }
}
