//! Detects the format of a file, and checks that options and model fit the format.

use super::spec::{Entry, FormatSpec, Opening, ReadOptions, TABLE};
use super::{columnar, csv, text};
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use crate::util::registry;
use std::path::Path;

/// The format of a file: as asked, or detected.
pub(super) fn entry(opening: &Opening) -> Result<&'static Entry> {
    let Some(name) = &opening.asked.format else { return Ok(recognised(opening)) };
    let names: Vec<&str> = TABLE.iter().map(|entry| entry.name).collect();
    let unknown = || Error::call(format!("there is no format '{name}'"), registry::suggest(name, &names));
    TABLE.iter().find(|entry| entry.name == name).ok_or_else(unknown)
}

/// Whether a file is read as JSON.
pub(crate) fn is_json(opening: &Opening) -> bool {
    entry(opening).is_ok_and(|entry| entry.name == "jsonl")
}

/// Whether bytes are the first ones of a Parquet file, an Arrow file or an Arrow stream.
pub(crate) fn is_columnar(first: &[u8]) -> bool {
    columnar::looks_like(first)
}

/// The start of the record that must be complete before the file can be opened, or `None` if the bytes
/// suffice.
///
/// A header and a row, or two rows, decide how to read a file.
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

/// Rejects named features for a model of indices, and indices for a model of names. Hashed features are
/// compatible, and Parquet files may have either.
pub(crate) fn check_compatible(opening: &Opening) -> Result<()> {
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

/// Rejects options that have no meaning in this format, instead of ignoring them.
pub(crate) fn check_options_apply(spec: &FormatSpec, asked: &ReadOptions) -> Result<()> {
    let columns = [
        (Parameter::Target, asked.target.is_some()),
        (Parameter::OffsetColumn, asked.offset.is_some()),
        (Parameter::Drop, !asked.drop.is_empty()),
        (Parameter::Categorical, !asked.categorical.is_empty()),
        (Parameter::Missing, asked.missing.is_some()),
        (Parameter::TextColumns, !asked.text_columns.is_empty()),
    ];
    let idle = match spec {
        FormatSpec::Csv(_) | FormatSpec::Jsonl { .. } | FormatSpec::Parquet { .. } => None,
        _ => columns.iter().find(|(_, given)| *given).map(|(parameter, _)| *parameter),
    };
    let has_text = matches!(spec, FormatSpec::Text(_)) || spec.has_text_columns();
    let text = asked.text.is_some() && !has_text;
    let idle = idle.or(text.then_some(Parameter::Text));
    let indices = matches!(spec, FormatSpec::Svmlight | FormatSpec::Text(_));
    match idle.or((indices && !asked.interact.is_empty()).then_some(Parameter::Interact)) {
        None => Ok(()),
        Some(parameter) => {
            let what = format!("{parameter} has no meaning for {}", spec.name());
            Err(Error::call(
                what,
                format!("leave {parameter} out, or name the format with {}", Parameter::Format),
            ))
        }
    }
}

/// Detects the format of a file. The first rule that applies wins:
///
/// - the magic bytes of a columnar file, which no text starts with;
/// - a known file extension, unless the bytes contradict it;
/// - the format of the model's training data;
/// - the first bytes;
/// - svmlight, whose errors state what is wrong.
///
/// A `.txt` file is a table if its first line has at least three cells, of which one is the target column.
/// For `.tsv` the bytes come first, because labelled text without a header often has that extension, unless the first
/// line has the target column, or the model learnt from a table.
fn recognised(opening: &Opening) -> &'static Entry {
    let named = |name: &str| TABLE.iter().find(|entry| entry.name == name);
    if let Some(table) = named("parquet").filter(|table| (table.looks_like)(opening.first)) {
        return table;
    }
    let ending = ending(opening.file);
    let by_ending = TABLE.iter().find(|entry| entry.endings.contains(&ending.as_str()));
    let is_table = has_target_column(opening)
        || opening.known.is_some_and(|known| !matches!(known, FormatSpec::Text(_)));
    let by_ending = match by_ending.map(|entry| entry.name) {
        Some("csv") if !is_table && text::looks_like(opening.first) => named("text"),
        Some("text") if csv::has_header_with_tabs(opening.first, opening.asked.target.as_deref()) => {
            named("csv")
        }
        _ => by_ending,
    };
    let as_known = || opening.known.and_then(|spec| named(spec.name()));
    let by_bytes = || TABLE.iter().find(|entry| (entry.looks_like)(opening.first));
    by_ending.or_else(as_known).or_else(by_bytes).unwrap_or(&TABLE[0])
}

/// Whether the first line has a cell with the name of the target column.
fn has_target_column(opening: &Opening) -> bool {
    let Some(target) = &opening.asked.target else { return false };
    let quoted = format!("\"{}\"", target.replace('"', "\"\""));
    let line = opening.first.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    line.split(|&byte| byte == b'\t').any(|cell| cell == target.as_bytes() || cell == quoted.as_bytes())
}

/// The lower-case extension of a file name, before `.gz` or `.zst`.
pub(super) fn ending(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map_or("", |(_, ending)| ending).to_string()
}
