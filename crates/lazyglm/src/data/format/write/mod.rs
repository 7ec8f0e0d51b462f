//! Writers, one module per format. They produce bytes and open no files.
//!
//! Reading the output gives the same rows: the same features, bit-identical values, and targets with the same
//! names. Zeros are not written. A row that a format cannot represent is rejected, for example a target with
//! a space in svmlight.
//!
//! To add a format, write its module with an `impl Writer`, and its entry in [`TABLE`].

mod csv;
mod jsonl;
mod svmlight;
mod vw;

pub(crate) use csv::Csv;
pub(crate) use jsonl::Jsonl;
pub(crate) use svmlight::Svmlight;
pub(crate) use vw::Vw;

use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;
use crate::util::registry;
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

/// An output format.
///
/// ```
/// use lazyglm::data::format::write::{TABLE, find};
/// assert_eq!(find("mail.svm.gz".as_ref(), None).unwrap().name, "svmlight");
/// assert_eq!(find("mail".as_ref(), Some("jsonl")).unwrap().name, "jsonl");
/// assert!(find("mail.txt".as_ref(), Some("text")).unwrap_err().to_string().contains("turned back"));
/// assert!(TABLE.iter().all(|format| !format.endings.is_empty()));
/// ```
#[derive(Debug)]
pub struct Format {
    /// Name of the format.
    pub name: &'static str,
    /// File name extensions, without the dot.
    pub endings: &'static [&'static str],
    /// How the format represents rows.
    pub about: &'static str,
}

/// The output formats.
pub const TABLE: &[Format] = &[
    Format {
        name: "svmlight",
        endings: &["svm", "svmlight", "libsvm"],
        about: "indices from 1 stand for names; OUT.names lists them",
    },
    Format {
        name: "vw",
        endings: &["vw"],
        about: "row weights and offsets are kept; names have no space, '|' or ':'",
    },
    Format { name: "jsonl", endings: &["jsonl", "ndjson", "json"], about: "the target has the key target" },
    Format {
        name: "csv",
        endings: &["csv"],
        about: "one column per feature, at most 10,000; reads IN twice",
    },
    Format { name: "cache", endings: &["lazyglm-cache"], about: "what train reads instead of IN" },
];

/// The requested output format, or the one of the file extension (before `.gz` or `.zst`).
///
/// ```
/// let error = lazyglm::data::format::write::find("mail".as_ref(), None).unwrap_err();
/// assert!(error.is_wrong_call() && error.to_string().contains("output_format"));
/// ```
pub fn find(file: &Path, asked: Option<&str>) -> Result<&'static Format> {
    let names: Vec<&str> = TABLE.iter().map(|format| format.name).collect();
    let by_name = |name: &str| TABLE.iter().find(|format| format.name == name);
    match asked {
        Some("text") => Err(Error::call(
            "text cannot be written: its terms cannot be turned back into sentences",
            format!("choose one of: {}", names.join(", ")),
        )),
        Some(name) => by_name(name).ok_or_else(|| {
            let what = format!("there is no format '{name}' to write");
            Error::call(what, registry::suggest(name, &names))
        }),
        None => by_ending(file).ok_or_else(|| {
            let arrow = ["parquet", "arrow", "feather"];
            if file.extension().is_some_and(|ending| arrow.iter().any(|name| ending == *name)) {
                let what = format!("'{}': Parquet and Arrow are read, not written", file.display());
                return Error::call(what, format!("choose one of: {}", names.join(", ")));
            }
            let what = format!("the name '{}' does not say which format to write", file.display());
            Error::call(what, format!("give {}: one of {}", Parameter::OutputFormat, names.join(", ")))
        }),
    }
}

fn by_ending(file: &Path) -> Option<&'static Format> {
    let name = file.file_name()?.to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    let (_, ending) = name.rsplit_once('.')?;
    TABLE.iter().find(|format| format.endings.contains(&ending))
}

/// A row to be written.
pub(crate) struct RowOut<'a> {
    pub target: Option<&'a str>,
    pub weight: f64,
    pub offset: f64,
    /// The non-zeros, with increasing ids.
    pub pairs: &'a [(u32, f64)],
}

/// Why a row cannot be written, and what to do.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub what: String,
    pub hint: &'static str,
}

/// A writer of one format.
pub(crate) trait Writer {
    /// Writes everything before the first row.
    fn head(&mut self, _: &mut Vec<u8>) -> std::result::Result<(), Refusal> {
        Ok(())
    }

    /// Starts a block whose ids are numbers of these names, or indices if there are no names.
    fn block(&mut self, names: Option<&Vocabulary>);

    /// Appends a row, including its line end.
    fn row(
        &mut self,
        row: &RowOut,
        names: Option<&Vocabulary>,
        to: &mut Vec<u8>,
    ) -> std::result::Result<(), Refusal>;

    /// Whether the format stores sample weights and offsets.
    fn keeps_weights(&self) -> bool {
        false
    }

    /// The names that became indices, counted from 1.
    fn indexed(&self) -> Option<&Vocabulary> {
        None
    }
}

/// The name of an id.
fn name_of(names: Option<&Vocabulary>, id: u32) -> Cow<'_, str> {
    match names {
        Some(names) => names.name(id).into(),
        None => id.to_string().into(),
    }
}

/// Writes a number in the shortest form that parses to the same bits.
fn number(x: f64, to: &mut Vec<u8>) {
    let start = to.len();
    let _ = write!(to, "{x:?}"); // writing to a Vec cannot fail
    // Integers beyond 2^53 are read as names, so that these keep their point.
    if x.abs() < (1u64 << 53) as f64 && to[start..].ends_with(b".0") {
        to.truncate(to.len() - 2);
    }
}
