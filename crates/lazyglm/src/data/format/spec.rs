//! Which formats there are, how one is recognised, and how to read it.

use super::columnar::{self, NoStream, ParquetColumn};
use super::csv::{self, Csv, CsvParser};
use super::jsonl::Jsonl;
use super::names::first_part;
use super::text::{self, Text, TextParser};
use super::vw::Vw;
use super::{Parsed, Parser, Svmlight};
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use crate::util::registry;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;

/// How to read data of one format: plain data, kept in the model, so that `predict` reads as `train` did.
///
/// ```
/// use lazyglm::data::format::{Parsed, FormatSpec};
/// let mut parsed = Parsed::default();
/// FormatSpec::Svmlight.parser().parse(b"1 3:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
/// assert_eq!(serde_json::to_string(&FormatSpec::Svmlight).unwrap(), r#"{"format":"svmlight"}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "format", rename_all = "lowercase")]
pub enum FormatSpec {
    /// `target index:value …`
    #[default]
    Svmlight,
    /// `label importance 'tag |namespace feature:value …`
    Vw,
    /// `{"key": value, …}`
    Jsonl {
        /// The key whose value is the target.
        target: String,
        /// Keys to leave out.
        drop: Vec<String>,
        /// Keys whose numbers are names.
        categorical: Vec<String>,
    },
    /// A header, then a row a record.
    Csv(Csv),
    /// A label and a text a line.
    Text(Text),
    /// A Parquet or Arrow file.
    Parquet {
        /// The column that is the target.
        target: String,
        /// The columns that are features.
        columns: Vec<ParquetColumn>,
    },
}

/// What the caller says of the data, where they leave it open.
///
/// ```
/// use lazyglm::data::format::{ReadOptions, Opening, FormatSpec, open};
/// let asked = ReadOptions { format: Some("svmlight".into()), ..ReadOptions::default() };
/// let opening = Opening { first: b"1 1:1\n", file: "mail".as_ref(), asked: &asked, known: None };
/// assert_eq!(open(&opening).unwrap(), FormatSpec::Svmlight);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadOptions {
    /// The name of the format; detected if not given.
    pub format: Option<String>,
    /// The column that is the target, in formats with columns.
    pub target: Option<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Columns whose numbers are names: each value a feature of its own.
    pub categorical: Vec<String>,
    /// How text becomes features: `key=value,…`.
    pub text: Option<String>,
    /// Hash names into 2 to this power buckets, instead of keeping a vocabulary.
    pub hash_bits: Option<u32>,
    /// Pairs of namespaces or columns whose features are multiplied.
    pub interact: Vec<[String; 2]>,
    /// Number the features by how many rows have them, in memory and in the cache.
    #[serde(default)]
    pub renumber: bool,
}

/// What is known when a file is opened.
///
/// ```
/// use lazyglm::data::format::{ReadOptions, Opening, open};
/// let asked = ReadOptions::default();
/// let opening = Opening { first: b"+1 3:0.5 7:1\n", file: "mail".as_ref(), asked: &asked, known: None };
/// assert!(open(&opening).is_ok(), "recognised by its first bytes");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The first bytes: whole lines, a header and a row at least; all there is if that is less.
    pub first: &'a [u8],
    /// Its name, for its ending and for messages.
    pub file: &'a Path,
    /// What the caller says.
    pub asked: &'a ReadOptions,
    /// How the data were read that this file must be read like: those a model was trained on.
    pub known: Option<&'a FormatSpec>,
}

/// A format.
///
/// ```
/// use lazyglm::data::format::TABLE;
/// assert!(TABLE.iter().any(|entry| entry.name == "svmlight" && entry.endings.contains(&"svm")));
/// ```
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Endings of file names, without the dot.
    pub endings: &'static [&'static str],
    /// What a row looks like.
    pub shape: &'static str,
    /// Whether these first bytes look like it.
    pub looks_like: fn(&[u8]) -> bool,
    /// How to read a file that is opened.
    pub open: fn(&Opening) -> Result<FormatSpec>,
}

/// The formats, in the order in which they are tried on first bytes.
pub const TABLE: &[Entry] = &[
    Entry {
        name: "svmlight",
        endings: &["svm", "svmlight", "libsvm", "mlsvm"],
        shape: "target index:value index:value",
        looks_like: super::svmlight::looks_like,
        open: |_| Ok(FormatSpec::Svmlight),
    },
    Entry {
        name: "vw",
        endings: &["vw"],
        shape: "label importance 'tag |namespace feature:value feature",
        looks_like: super::vw_header::looks_like,
        open: |_| Ok(FormatSpec::Vw),
    },
    Entry {
        name: "jsonl",
        endings: &["jsonl", "ndjson", "json"],
        shape: r#"{"target": 1, "key": 0.5, "key": "word"}"#,
        looks_like: super::jsonl_open::looks_like,
        open: super::jsonl_open::open,
    },
    Entry {
        name: "text",
        endings: &["ft", "fasttext", "txt"],
        shape: "label<TAB>text, or __label__name text",
        looks_like: text::looks_like,
        open: text::open,
    },
    Entry {
        name: "csv",
        endings: &["csv", "tsv"],
        shape: "a header that names the columns, then a row a line: cell,cell,cell",
        looks_like: csv::looks_like,
        open: csv::open,
    },
    Entry {
        name: "parquet",
        endings: &["parquet", "arrow", "feather"],
        shape: "a column for the target and one for each feature (Parquet or Arrow file)",
        looks_like: columnar::looks_like,
        open: columnar::open,
    },
];

impl FormatSpec {
    /// A parser; each thread has its own.
    ///
    /// ```
    /// use lazyglm::data::format::{Parsed, FormatSpec};
    /// let mut parsed = Parsed::default();
    /// FormatSpec::default().parser().parse(b"1 1:1\n-1 2:1\n", "mail".as_ref(), &mut parsed).unwrap();
    /// assert_eq!(parsed.rows.len(), 2);
    /// ```
    pub fn parser(&self) -> Box<dyn Parser> {
        match self {
            FormatSpec::Svmlight => Box::new(Svmlight::default()),
            FormatSpec::Vw => Box::new(Vw::default()),
            FormatSpec::Jsonl { target, drop, categorical } => {
                Box::new(Jsonl::new(target, drop, categorical))
            }
            FormatSpec::Csv(csv) => Box::new(CsvParser::new(csv)),
            FormatSpec::Text(text) => Box::new(TextParser::new(text)),
            FormatSpec::Parquet { .. } => Box::new(NoStream),
        }
    }

    /// Whether the format is read from files alone, by [`FormatSpec::for_each_batch`], and not from a stream of bytes.
    pub(crate) fn reads_files(&self) -> bool {
        matches!(self, FormatSpec::Parquet { .. })
    }

    /// Calls `see` with the rows of block after block of such a file; the line of a row is its number, from 1.
    pub(crate) fn for_each_batch(
        &self,
        file: &Path,
        absent: Vec<bool>,
        see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
    ) -> Result<()> {
        match self {
            FormatSpec::Parquet { target, columns } => {
                columnar::for_each_batch(file, target, columns, absent, see)
            }
            _ => Err(Error::call(format!("{} is a stream", self.name()), "read it block by block")),
        }
    }

    /// How many of these bytes are whole records; they start where a record starts.
    ///
    /// ```
    /// assert_eq!(lazyglm::data::format::FormatSpec::Svmlight.whole(b"1 1:1\n-1 2:"), 6);
    /// ```
    pub fn whole(&self, bytes: &[u8]) -> usize {
        match self {
            FormatSpec::Csv(csv) => csv.whole(bytes),
            FormatSpec::Parquet { .. } => bytes.len(),
            _ => memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1),
        }
    }

    /// How many bytes at the start of a file are no data: the header of a table, or a mark that says "this is UTF-8".
    /// Whoever feeds the parser leaves them out and counts their lines.
    ///
    /// ```
    /// use lazyglm::data::format::{ReadOptions, Opening, open};
    /// let (first, asked) = (b"age,label\n31,yes\n", ReadOptions::default());
    /// let opening = Opening { first, file: "people.csv".as_ref(), asked: &asked, known: None };
    /// assert_eq!(open(&opening).unwrap().header(first), 10);
    /// ```
    pub fn header(&self, first: &[u8]) -> usize {
        match self {
            FormatSpec::Csv(csv) => csv.header(first),
            FormatSpec::Text(_) => text::header(first),
            _ => 0,
        }
    }

    /// The namespace or column of a feature's name.
    ///
    /// ```
    /// use lazyglm::data::format::FormatSpec;
    /// assert_eq!(FormatSpec::Vw.namespace("subject^lottery"), "subject");
    /// ```
    pub fn namespace<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let mark = if matches!(self, FormatSpec::Vw) { '^' } else { '=' };
        match (self, first_part(name, mark)) {
            (FormatSpec::Text(_), _) => "".into(),
            (_, Some(space)) => space,
            (FormatSpec::Vw, None) => "".into(),
            (_, None) => name.into(),
        }
    }

    /// What a row of the format looks like.
    pub fn shape(&self) -> &'static str {
        TABLE.iter().find(|entry| entry.name == self.name()).map_or("", |entry| entry.shape)
    }

    /// The format's name.
    pub fn name(&self) -> &'static str {
        match self {
            FormatSpec::Svmlight => "svmlight",
            FormatSpec::Vw => "vw",
            FormatSpec::Jsonl { .. } => "jsonl",
            FormatSpec::Csv(_) => "csv",
            FormatSpec::Text(_) => "text",
            FormatSpec::Parquet { .. } => "parquet",
        }
    }
}

/// Finds the format of a file and how to read it: as asked, or by its ending, or by its first bytes.
///
/// ```
/// use lazyglm::data::format::{ReadOptions, Opening, open};
/// let asked = ReadOptions { format: Some("svmlite".into()), ..ReadOptions::default() };
/// let error = open(&Opening { first: b"", file: "mail".as_ref(), asked: &asked, known: None }).unwrap_err();
/// assert!(error.to_string().contains("did you mean 'svmlight'?"));
/// ```
pub fn open(opening: &Opening) -> Result<FormatSpec> {
    (entry(opening)?.open)(opening)
}

fn entry(opening: &Opening) -> Result<&'static Entry> {
    let Some(name) = &opening.asked.format else { return Ok(recognised(opening)) };
    let names: Vec<&str> = TABLE.iter().map(|entry| entry.name).collect();
    let unknown = || Error::call(format!("there is no format '{name}'"), registry::suggest(name, &names));
    TABLE.iter().find(|entry| entry.name == name).ok_or_else(unknown)
}

/// Where the record begins that must be seen in full before the file can be opened: how a file is read is decided by its
/// header and a row, or by two rows. `None` if enough is there.
pub(crate) fn unfinished(opening: &Opening) -> Option<usize> {
    let first = opening.first;
    match entry(opening).ok()?.name {
        "parquet" => None,
        "csv" => csv::unfinished(opening),
        _ => {
            let lines = first.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
            let rows = lines.filter(|line| !line.trim_ascii().is_empty()).take(2).count();
            let end = memchr::memrchr(b'\n', first).map_or(0, |at| at + 1);
            (rows < 2).then_some(end)
        }
    }
}

/// Indices and names have nothing in common, so data of the one say nothing to a model of the other (hashed, they may).
/// Parquet may have either.
pub(crate) fn refuse_strange(opening: &Opening) -> Result<()> {
    let Some(known) = opening.known.map(FormatSpec::name) else { return Ok(()) };
    let here = entry(opening)?.name;
    let by = |name: &str| if name == "svmlight" { "by number" } else { "by name" };
    if [known, here].contains(&"parquet") || by(known) == by(here) {
        return Ok(());
    }
    let what = format!("the model has features {}, and these {here} data {}", by(known), by(here));
    let format = Parameter::Format.set(known);
    let hint =
        format!("give it {known} data like those it learnt from; if these are {known} data, use {format}");
    Err(Error::data(Place::file(opening.file), what, hint))
}

/// What is asked for and has no meaning in this format would change nothing: better said than passed over.
pub(crate) fn refuse_idle(recipe: &FormatSpec, asked: &ReadOptions) -> Result<()> {
    let columns = [
        (Parameter::Target, asked.target.is_some()),
        (Parameter::Drop, !asked.drop.is_empty()),
        (Parameter::Categorical, !asked.categorical.is_empty()),
    ];
    let idle = match recipe {
        FormatSpec::Csv(_) | FormatSpec::Jsonl { .. } | FormatSpec::Parquet { .. } => None,
        _ => columns.iter().find(|(_, given)| *given).map(|(parameter, _)| *parameter),
    };
    let text = asked.text.is_some() && !matches!(recipe, FormatSpec::Text(_));
    let idle = idle.or(text.then_some(Parameter::Text));
    let indices = matches!(recipe, FormatSpec::Svmlight | FormatSpec::Text(_));
    match idle.or((indices && !asked.interact.is_empty()).then_some(Parameter::Interact)) {
        None => Ok(()),
        Some(parameter) => {
            let what = format!("{parameter} has no meaning for {}", recipe.name());
            Err(Error::call(
                what,
                format!("leave {parameter} out, or name the format with {}", Parameter::Format),
            ))
        }
    }
}

/// A table by its first bytes, which no text begins with. Else by its ending, if that is one of ours and the bytes do not speak against it; else as the model's data were read; else
/// by its bytes; else svmlight, whose errors say what is wrong. Tab-separated label and text, without a header, often
/// ends in `.tsv`: there the bytes come first.
fn recognised(opening: &Opening) -> &'static Entry {
    let named = |name: &str| TABLE.iter().find(|entry| entry.name == name);
    if let Some(table) = named("parquet").filter(|table| (table.looks_like)(opening.first)) {
        return table;
    }
    let ending = ending(opening.file);
    let by_ending = TABLE.iter().find(|entry| entry.endings.contains(&ending.as_str()));
    let by_ending = match by_ending.map(|entry| entry.name) {
        Some("csv") if text::looks_like(opening.first) => named("text"),
        _ => by_ending,
    };
    let as_known = || opening.known.and_then(|recipe| named(recipe.name()));
    let by_bytes = || TABLE.iter().find(|entry| (entry.looks_like)(opening.first));
    by_ending.or_else(as_known).or_else(by_bytes).unwrap_or(&TABLE[0])
}

/// The ending of a file's name, in small letters: that before `.gz` or `.zst`.
pub(super) fn ending(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map_or("", |(_, ending)| ending).to_string()
}
