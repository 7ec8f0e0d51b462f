//! The list of formats, format detection, and the reading options of each format.

use super::columnar::{self, NoStream, ParquetColumn};
use super::csv::{self, Csv, CsvParser};
use super::detect::entry;
use super::jsonl::Jsonl;
use super::names::first_part;
use super::text::{self, Text, TextParser};
use super::vw::Vw;
use super::{Column, Missing, Parsed, Parser, Svmlight};
use crate::util::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;

/// How to read data of one format. The model keeps it, so that `predict` reads data in the same way as
/// `train`.
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
        /// The key of the target.
        target: String,
        /// The key of the row's offset, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<String>,
        /// Keys to ignore.
        drop: Vec<String>,
        /// Keys whose numbers are names.
        categorical: Vec<String>,
        /// Keys of the first rows, and what they are taken for. Values of other keys are taken by their type.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        columns: Vec<Column>,
        /// Whether the first rows have about the same keys, as those of a table have. A number or date whose key a row lacks
        /// is then missing, as an empty cell is; otherwise it is zero.
        #[serde(default, skip_serializing_if = "is_false")]
        table: bool,
        /// Set if all rows of the model's training data had the same columns: the columns of lists and maps, whose
        /// values are taken by their types. A key that a row lacks then counts as missing, as an empty cell does, and a
        /// key that is no column is ignored.
        #[serde(skip)]
        complete: Option<Vec<String>>,
        /// Whether the targets of the first rows are text, and so are classes.
        #[serde(default, skip_serializing_if = "is_false")]
        classes: bool,
    },
    /// A CSV or TSV table: a header, then one row per record.
    Csv(Csv),
    /// One document per line: a label and a text.
    Text(Text),
    /// A Parquet or Arrow file.
    Parquet {
        /// The target column.
        target: String,
        /// The column of row offsets, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<String>,
        /// The feature columns.
        columns: Vec<ParquetColumn>,
        /// Whether the targets are text, and so are classes.
        #[serde(default, skip_serializing_if = "is_false")]
        classes: bool,
        /// Columns of the training data that are ignored.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<String>,
    },
}

fn is_false(yes: &bool) -> bool {
    !yes
}

/// The caller's options for reading data. Options that are not set are detected from the data.
///
/// ```
/// use lazyglm::data::format::{ReadOptions, Opening, FormatSpec, open};
/// let asked = ReadOptions { format: Some("svmlight".into()), ..ReadOptions::default() };
/// let opening = Opening { first: b"1 1:1\n", file: "mail".as_ref(), asked: &asked, known: None };
/// assert_eq!(open(&opening).unwrap(), FormatSpec::Svmlight);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadOptions {
    /// Name of the format. Detected if not set.
    pub format: Option<String>,
    /// The target column or key, in formats that have columns or keys.
    pub target: Option<String>,
    /// The column or key of row offsets, in formats that have columns or keys.
    #[serde(default)]
    pub offset: Option<String>,
    /// Columns to ignore.
    pub drop: Vec<String>,
    /// Columns whose numbers are names, so that each distinct value is a feature.
    pub categorical: Vec<String>,
    /// Columns of text, whose words and pairs of words are features: `column`, or `column:key=value` with options of its
    /// own.
    #[serde(default)]
    pub text_columns: Vec<String>,
    /// What a missing number becomes. [`Missing::Indicator`] if not set.
    #[serde(default)]
    pub missing: Option<Missing>,
    /// How text becomes features: `key=value,…`.
    pub text: Option<String>,
    /// Base-2 logarithm of the number of hash buckets for names. Without it, the vocabulary is exact.
    pub hash_bits: Option<u32>,
    /// Two or three namespaces or columns whose features are multiplied. `:` is any other.
    pub interact: Vec<Vec<String>>,
    /// Columns whose cells are copied as text beside the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<String>,
    /// Whether to renumber features by descending frequency, in memory and in the cache.
    #[serde(default)]
    pub renumber: bool,
}

impl ReadOptions {
    /// The columns that the options name, with this target. Each must be in the data.
    pub(super) fn named_columns<'a>(&'a self, target: &'a str) -> impl Iterator<Item = &'a str> {
        let lists = self.drop.iter().chain(&self.categorical).map(String::as_str);
        let texts = self.text_columns.iter().map(|entry| text::of_column(entry).0);
        [target].into_iter().chain(self.offset.as_deref()).chain(lists).chain(texts)
    }
}

/// The input of format detection for one file.
///
/// ```
/// use lazyglm::data::format::{ReadOptions, Opening, open};
/// let asked = ReadOptions::default();
/// let opening = Opening { first: b"+1 3:0.5 7:1\n", file: "mail".as_ref(), asked: &asked, known: None };
/// assert!(open(&opening).is_ok(), "recognised by its first bytes");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The first bytes: whole lines with at least a header and a row, or the whole file if it has less.
    pub first: &'a [u8],
    /// Name of the file, for its extension and for messages.
    pub file: &'a Path,
    /// The caller's options.
    pub asked: &'a ReadOptions,
    /// How a model's training data were read, if this file must be read in the same way.
    pub known: Option<&'a FormatSpec>,
}

/// A format in the table of formats.
///
/// ```
/// use lazyglm::data::format::TABLE;
/// assert!(TABLE.iter().any(|entry| entry.name == "svmlight" && entry.endings.contains(&"svm")));
/// ```
pub struct Entry {
    /// Name of the format.
    pub name: &'static str,
    /// File name extensions, without the dot.
    pub endings: &'static [&'static str],
    /// What a row looks like.
    pub shape: &'static str,
    /// Whether the first bytes of a file look like this format.
    pub looks_like: fn(&[u8]) -> bool,
    /// Decides how to read an opened file.
    pub open: fn(&Opening) -> Result<FormatSpec>,
}

/// The formats, in the order in which detection tries them.
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
        shape: "a header that names the columns, then one row per line: cell,cell,cell",
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
    /// Creates a parser. Each thread needs its own.
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
            FormatSpec::Jsonl { .. } => Box::new(Jsonl::new(self)),
            FormatSpec::Csv(csv) => Box::new(CsvParser::new(csv)),
            FormatSpec::Text(text) => Box::new(TextParser::new(text)),
            FormatSpec::Parquet { .. } => Box::new(NoStream),
        }
    }

    /// Whether the format is read from files only, by [`FormatSpec::for_each_batch`], and not from a byte
    /// stream.
    pub(crate) fn reads_files(&self) -> bool {
        matches!(self, FormatSpec::Parquet { .. })
    }

    /// Calls `see` with each block of rows of a columnar file. The line of a row is its number, counted from
    /// 1.
    pub(crate) fn for_each_batch(
        &self,
        file: &Path,
        absent: Vec<bool>,
        see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
    ) -> Result<()> {
        match self {
            FormatSpec::Parquet { target, offset, columns, .. } => {
                columnar::for_each_batch(file, [Some(target), offset.as_ref()], columns, absent, see)
            }
            _ => Err(Error::call(format!("{} is a stream", self.name()), "read it block by block")),
        }
    }

    /// Number of bytes that form whole records, given bytes that start at a record.
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

    /// Number of bytes before the data: the header of a table, or a byte order mark. The caller of the parser
    /// skips them and counts their lines.
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

    /// Whether the targets are written as text, so that they are classes even if they look like numbers.
    pub(crate) fn has_text_targets(&self) -> bool {
        matches!(self, FormatSpec::Jsonl { classes: true, .. } | FormatSpec::Parquet { classes: true, .. })
    }

    /// Whether a target with commas is a set of labels.
    pub(crate) fn has_label_sets(&self) -> bool {
        matches!(self, FormatSpec::Svmlight | FormatSpec::Text(Text { label_sets: true, .. }))
    }

    /// What a row of the format looks like.
    pub fn shape(&self) -> &'static str {
        TABLE.iter().find(|entry| entry.name == self.name()).map_or("", |entry| entry.shape)
    }

    /// Name of the format.
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

/// Detects the format of a file and how to read it, from the options, the file extension or the first bytes.
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
