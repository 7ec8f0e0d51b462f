//! Options of text features: `words=1-2,skip=0,chars=3-5,case=lower,value=sublinear,idf=no,norm=l2`.

use super::{LABEL, mark};
use crate::data::format::{FormatSpec, Opening};
use crate::util::error::{Error, Result};
use crate::util::registry::suggest;
use serde::{Deserialize, Serialize};

/// How text becomes features.
///
/// ```
/// use lazyglm::data::format::{ReadOptions, Grams, Opening, FormatSpec, open};
/// let asked = ReadOptions { text: Some("words=1-3,chars=3-5,idf=yes".into()), ..ReadOptions::default() };
/// let opening = Opening { first: b"ham\tSee you", file: "sms.txt".as_ref(), asked: &asked, known: None };
/// let FormatSpec::Text(text) = open(&opening).unwrap() else { panic!("text") };
/// assert_eq!((text.words, text.idf), (Some(Grams { from: 1, to: 3 }), true));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Text {
    /// Lengths of word n-grams.
    pub words: Option<Grams>,
    /// Most words that may be left out inside a word n-gram: `a c` is a 1-skip-bigram of `a b c`.
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "written_skip")]
    pub skip: usize,
    /// Lengths of character n-grams within a word, including the spaces around the word.
    pub chars: Option<Grams>,
    /// Whether to convert text to lower case.
    pub case: Case,
    /// The value of a term that occurs tf times in a document.
    pub value: Worth,
    /// Whether to weight terms by inverse document frequency. This needs all documents, so it happens after
    /// parsing, together with the normalisation. In a column of a table, the terms are normalised before.
    pub idf: bool,
    /// How to normalise rows.
    pub norm: Norm,
    /// Whether several labels of a line are a set of labels, as in fastText files.
    #[serde(default, skip_serializing_if = "is_false")]
    pub label_sets: bool,
    /// Whether a line may lack a label, as in prediction. Not stored in the model.
    #[serde(skip)]
    pub bare: bool,
}

/// An inclusive range of n-gram lengths.
///
/// ```
/// use lazyglm::data::format::{Grams, Text};
/// assert_eq!(Text::default().words, Some(Grams { from: 1, to: 2 }), "single words and pairs");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenGrams")]
pub struct Grams {
    /// The minimum length.
    pub from: usize,
    /// The maximum length.
    pub to: usize,
}

/// A range of lengths as a model or a cache has it, which anybody may have written.
#[derive(Deserialize)]
struct WrittenGrams {
    from: usize,
    to: usize,
}

impl TryFrom<WrittenGrams> for Grams {
    type Error = String;

    /// Accepts only lengths that the options accept: a text of n words has n²/2 sequences of any length.
    fn try_from(WrittenGrams { from, to }: WrittenGrams) -> std::result::Result<Grams, String> {
        match 1 <= from && from <= to && to <= CHARS {
            true => Ok(Grams { from, to }),
            false => Err(format!("lengths of n-grams are from 1 to {CHARS}")),
        }
    }
}

/// Maximum length of word n-grams.
const WORDS: usize = 8;
/// Maximum number of words left out inside an n-gram.
const SKIP: usize = 4;
/// Maximum length of character n-grams.
const CHARS: usize = 16;

/// Treatment of capital letters.
///
/// ```
/// use lazyglm::data::format::{Case, Text};
/// assert_eq!(Text::default().case, Case::Lower);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// Convert to lower case.
    Lower,
    /// Keep as written.
    Keep,
}

/// The value of a term that occurs tf times in a document.
///
/// ```
/// use lazyglm::data::format::{Norm, Parsed, FormatSpec, Text, Worth};
/// let spec = Text { value: Worth::Sublinear, norm: Norm::None, ..Text::default() };
/// let mut parsed = Parsed::default();
/// FormatSpec::Text(spec).parser().parse(b"x\tno no no\n", "x.txt".as_ref(), &mut parsed).unwrap();
/// assert_eq!(parsed.rows.borrow().dot(0, &[1.0, 0.0]), 1.0 + 3f64.ln());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Worth {
    /// The term frequency tf.
    Tf,
    /// Always 1.
    Binary,
    /// 1 + ln tf, which grows more slowly than tf.
    Sublinear,
}

/// How to normalise rows.
///
/// ```
/// use lazyglm::data::format::{Norm, Parsed, FormatSpec, Text};
/// assert_eq!(Text::default().norm, Norm::L2);
/// let mut parsed = Parsed::default();
/// FormatSpec::Text(Text::default()).parser().parse(b"x\tso so\n", "x.txt".as_ref(), &mut parsed).unwrap();
/// let row = parsed.rows.borrow().dot(0, &[1.0, 0.0]).hypot(parsed.rows.borrow().dot(0, &[0.0, 1.0]));
/// assert!((row - 1.0).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// To Euclidean norm 1, so that long documents count as much as short ones.
    L2,
    /// No normalisation.
    None,
}

impl Default for Text {
    fn default() -> Text {
        Text {
            words: Some(Grams { from: 1, to: 2 }),
            skip: 0,
            chars: None,
            case: Case::Lower,
            value: Worth::Sublinear,
            idf: false,
            norm: Norm::L2,
            label_sets: false,
            bare: false,
        }
    }
}

fn is_false(yes: &bool) -> bool {
    !yes
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The number of words left out as a model or a cache has it, which anybody may have written.
fn written_skip<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<usize, D::Error> {
    let skip = usize::deserialize(from)?;
    let refused = || serde::de::Error::custom(format!("at most {SKIP} words are left out"));
    if skip <= SKIP { Ok(skip) } else { Err(refused()) }
}

/// The options of a file: those of the model, or those of the caller.
pub(in crate::data::format) fn open(opening: &Opening) -> Result<FormatSpec> {
    if let Some(FormatSpec::Text(known)) = opening.known {
        return Ok(FormatSpec::Text(Text { bare: true, ..known.clone() }));
    }
    let text = read(Text::default(), opening.asked.text.as_deref().unwrap_or_default())?;
    let label_sets = opening.first[mark(opening.first)..].starts_with(LABEL.as_bytes());
    Ok(FormatSpec::Text(Text { bare: opening.known.is_some(), label_sets, ..text }))
}

const KEYS: &[&str] = &["words", "skip", "chars", "case", "value", "idf", "norm"];

/// Splits `column:key=value:key=value` into the name of the column and its options.
pub(in crate::data::format) fn of_column(entry: &str) -> (&str, &str) {
    let mut name = entry;
    while let Some((rest, pair)) = name.rsplit_once(':')
        && pair.split_once('=').is_some_and(|(key, _)| KEYS.contains(&key))
    {
        name = rest;
    }
    (name, &entry[name.len()..])
}

/// Parses `key=value,…`, which may also be separated by colons. Keys that are not given are those of `text`.
pub(in crate::data::format) fn read(mut text: Text, asked: &str) -> Result<Text> {
    let mut given = Vec::new();
    for pair in asked.split([',', ':']).map(str::trim).filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            let hint = format!("write words=1-2, say; the keys are: {}", KEYS.join(", "));
            return Err(Error::call(format!("text '{pair}' is not of the form key=value"), hint));
        };
        match key {
            "words" => text.words = grams(key, value, WORDS)?,
            "skip" => {
                let hint = || format!("write skip=1; at most {SKIP} words are left out inside an n-gram");
                let refused = |_| Error::call(format!("text cannot have skip={value}"), hint());
                text.skip = value.parse().map_err(refused)?;
                if text.skip > SKIP {
                    return Err(Error::call(format!("text cannot have skip={value}"), hint()));
                }
            }
            "chars" => text.chars = grams(key, value, CHARS)?,
            "case" => text.case = one_of(key, value, &[("lower", Case::Lower), ("keep", Case::Keep)])?,
            "value" => {
                let all = [("tf", Worth::Tf), ("binary", Worth::Binary), ("sublinear", Worth::Sublinear)];
                text.value = one_of(key, value, &all)?;
            }
            "idf" => text.idf = one_of(key, value, &[("yes", true), ("no", false)])?,
            "norm" => text.norm = one_of(key, value, &[("l2", Norm::L2), ("none", Norm::None)])?,
            _ => return Err(Error::call(format!("text has no key '{key}'"), suggest(key, KEYS))),
        }
        if given.contains(&key) {
            return Err(Error::call(format!("text is given {key} twice"), "give it once"));
        }
        given.push(key);
    }
    if text.skip > 0 && text.words.is_none_or(|words| words.to < 2) {
        let what = "text has skip without sequences of words";
        return Err(Error::call(what, "say words=1-2 as well: a single word leaves none out"));
    }
    if text.words.is_none() && text.chars.is_none() {
        return Err(Error::call("text has neither words nor chars", "say words=1-2 or chars=3-5"));
    }
    Ok(text)
}

fn one_of<T: Copy>(key: &str, value: &str, all: &[(&str, T)]) -> Result<T> {
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let found = all.iter().find(|(name, _)| *name == value).map(|(_, meant)| *meant);
    found.ok_or_else(|| Error::call(format!("text cannot have {key}={value}"), suggest(value, &names)))
}

/// Parses `2`, `1-2` or `none`.
fn grams(key: &str, value: &str, most: usize) -> Result<Option<Grams>> {
    if value == "none" {
        return Ok(None);
    }
    let (from, to) = value.split_once('-').unwrap_or((value, value));
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if 1 <= from && from <= to && to <= most => Ok(Some(Grams { from, to })),
        _ => Err(Error::call(
            format!("text cannot have {key}={value}"),
            format!("write {key}=1, {key}=1-2 or {key}=none, with lengths from 1 to {most}"),
        )),
    }
}
