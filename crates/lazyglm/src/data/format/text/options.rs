//! How text becomes features: `words=1-2,chars=3-5,case=lower,value=sublinear,idf=no,norm=l2`.

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
    /// Terms of so many words.
    pub words: Option<Grams>,
    /// Terms of so many characters inside a word, the space before and behind it included.
    pub chars: Option<Grams>,
    /// Whether capitals count.
    pub case: Case,
    /// What a term that occurs tf times is worth.
    pub value: Worth,
    /// Whether terms that many documents have are worth less. That takes the whole data set, so the parser leaves it,
    /// and the scaling behind it, to others.
    pub idf: bool,
    /// How rows are scaled.
    pub norm: Norm,
    /// Whether a line may be text alone: when predicting. No part of the model.
    #[serde(skip)]
    pub bare: bool,
}

/// A range of lengths, both ends included.
///
/// ```
/// use lazyglm::data::format::{Grams, Text};
/// assert_eq!(Text::default().words, Some(Grams { from: 1, to: 2 }), "single words and pairs");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grams {
    /// The shortest.
    pub from: usize,
    /// The longest.
    pub to: usize,
}

/// What is done with capitals.
///
/// ```
/// use lazyglm::data::format::{Case, Text};
/// assert_eq!(Text::default().case, Case::Lower);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// They become small letters.
    Lower,
    /// They stay.
    Keep,
}

/// What a term is worth in a document that has it tf times.
///
/// ```
/// use lazyglm::data::format::{Norm, Parsed, FormatSpec, Text, Worth};
/// let recipe = Text { value: Worth::Sublinear, norm: Norm::None, ..Text::default() };
/// let mut parsed = Parsed::default();
/// FormatSpec::Text(recipe).parser().parse(b"x\tno no no\n", "x.txt".as_ref(), &mut parsed).unwrap();
/// assert_eq!(parsed.rows.borrow().dot(0, &[1.0, 0.0]), 1.0 + 3f64.ln());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Worth {
    /// tf.
    Tf,
    /// 1.
    Binary,
    /// 1 + ln tf: the tenth time says less than the first.
    Sublinear,
}

/// How rows are scaled.
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
    /// To Euclidean length 1, so that long documents count as much as short ones.
    L2,
    /// Not at all.
    None,
}

impl Default for Text {
    fn default() -> Text {
        Text {
            words: Some(Grams { from: 1, to: 2 }),
            chars: None,
            case: Case::Lower,
            value: Worth::Sublinear,
            idf: false,
            norm: Norm::L2,
            bare: false,
        }
    }
}

/// How to read a file: as the model has it, or as asked.
pub(in crate::data::format) fn open(opening: &Opening) -> Result<FormatSpec> {
    if let Some(FormatSpec::Text(known)) = opening.known {
        return Ok(FormatSpec::Text(Text { bare: true, ..known.clone() }));
    }
    let text = read(opening.asked.text.as_deref().unwrap_or_default())?;
    Ok(FormatSpec::Text(Text { bare: opening.known.is_some(), ..text }))
}

const KEYS: &[&str] = &["words", "chars", "case", "value", "idf", "norm"];

/// Reads `key=value,…`.
fn read(asked: &str) -> Result<Text> {
    let (mut text, mut given) = (Text::default(), Vec::new());
    for pair in asked.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            let hint = format!("write words=1-2, say; the keys are: {}", KEYS.join(", "));
            return Err(Error::call(format!("text '{pair}' is no key=value"), hint));
        };
        match key {
            "words" => text.words = grams(key, value, 8)?,
            "chars" => text.chars = grams(key, value, 16)?,
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

/// `2`, `1-2` or `none`.
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
