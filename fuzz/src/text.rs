//! Text formats: any bytes are rows or an error.
//!
//! The first byte of an input chooses reading options, the second where the bytes are cut into two blocks.

use super::Choices;
use super::limits::limited;
use lazyglm::ReadOptions;
use lazyglm::data::format::{FormatSpec, Missing, Opening, Parsed, open};
use std::path::Path;

/// Memory that a parser may use for no input at all.
const CONSTANT: usize = 1 << 18;

/// Any bytes as svmlight.
pub fn svmlight(bytes: &[u8]) {
    read("svmlight", bytes, &|_| ReadOptions::default());
}

/// Any bytes as Vowpal Wabbit text.
pub fn vw(bytes: &[u8]) {
    read("vw", bytes, &|_| ReadOptions::default());
}

/// Any bytes as JSON lines.
pub fn jsonl(bytes: &[u8]) {
    read("jsonl", bytes, &columns);
}

/// Any bytes as a table.
pub fn csv(bytes: &[u8]) {
    read("csv", bytes, &columns);
}

/// Any bytes as labelled text.
pub fn text(bytes: &[u8]) {
    read("text", bytes, &|choice| {
        let text =
            ["", "words=1-3,value=tf,norm=none", "chars=1-2,case=keep", "words=none,chars=3-5", "idf=yes"];
        ReadOptions { text: Some(text[choice % text.len()].into()), ..ReadOptions::default() }
    });
}

/// Options of formats with columns or keys.
pub(super) fn columns(choice: usize) -> ReadOptions {
    let name = |text: &str| Some(text.to_string());
    let usual = ReadOptions::default();
    match choice % 8 {
        1 => ReadOptions { target: name("y"), ..usual },
        2 => ReadOptions { target: name("y"), drop: vec!["a".into()], ..usual },
        3 => ReadOptions { target: name("y"), categorical: vec!["a".into()], ..usual },
        4 => ReadOptions { target: name("y"), text_columns: vec!["a".into()], ..usual },
        5 => ReadOptions { target: name("y"), offset: name("a"), missing: Some(Missing::Zero), ..usual },
        6 => ReadOptions { target: name("y"), missing: Some(Missing::Mean), ..usual },
        _ => usual,
    }
}

fn read(format: &str, bytes: &[u8], options: &dyn Fn(usize) -> ReadOptions) {
    let mut choices = Choices::of(bytes);
    let asked = ReadOptions { format: Some(format.to_string()), ..options(choices.byte()) };
    let cut = choices.byte();
    let bytes = choices.rest;
    limited(bytes.len(), CONSTANT, || {
        let file = Path::new("fuzz");
        if let Ok(spec) = open(&Opening { first: bytes, file, asked: &asked, known: None }) {
            parse(&spec, bytes, cut);
        }
    });
}

/// Reads the bytes, cut into two blocks, and checks what was read.
pub fn parse(spec: &FormatSpec, bytes: &[u8], cut: usize) -> Parsed {
    let body = &bytes[spec.header(bytes).min(bytes.len())..];
    let cut = spec.whole(&body[..body.len() * cut / 255]);
    assert!(cut <= body.len());
    let (mut parser, mut parsed) = (spec.parser(), Parsed::default());
    for block in [&body[..cut], &body[cut..]] {
        if parser.parse(block, Path::new("fuzz"), &mut parsed).is_err() {
            break;
        }
    }
    assert!(parsed.rows.len() <= bytes.len() + 1, "a row takes a byte");
    let named = parsed.names.as_ref().map_or(usize::MAX, lazyglm::Vocabulary::len);
    assert!(parsed.rows.ids().iter().all(|&id| (id as usize) < named), "every name is known");
    parsed
}
