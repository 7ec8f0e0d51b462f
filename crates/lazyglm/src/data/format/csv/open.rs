//! Decides the kind of each column from the header, the first rows and the caller's options, or from a model.

use super::parser::Spot;
use super::records::{Records, cut};
use super::{Column, ColumnKind, Csv, delimiter_of, last_record_end, may_be_number, trimmed, without_mark};
use crate::data::format::{FormatSpec, Opening, ReadOptions, spec::ending};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use crate::util::registry::{listed, suggest};
use std::collections::{HashMap, HashSet};

/// Default names of the target column.
const TARGETS: [&str; 4] = ["target", "label", "y", "class"];

/// Reads the header and decides the kind of each column.
pub(in crate::data::format) fn open(opening: &Opening) -> Result<FormatSpec> {
    let (bytes, delimiter) = bytes_and_delimiter(opening);
    let mut records = Records::new(delimiter);
    let names = header(opening, bytes, &mut records)?;
    let kinds = match opening.known {
        Some(FormatSpec::Csv(known)) => match_kinds(opening, &names, known)?,
        _ => decide_kinds(opening, &names, &bytes[..last_record_end(delimiter, bytes)], &mut records)?,
    };
    let columns = names.into_iter().zip(kinds).map(|(name, kind)| Column { name, kind }).collect();
    Ok(FormatSpec::Csv(Csv { delimiter: char::from(delimiter), columns }))
}

fn bytes_and_delimiter<'a>(opening: &Opening<'a>) -> (&'a [u8], u8) {
    let bytes = without_mark(opening.first);
    (bytes, if ending(opening.file) == "tsv" { b'\t' } else { delimiter_of(bytes) })
}

/// The start of the first incomplete record, if the bytes do not contain a header and a row yet.
pub(in crate::data::format) fn unfinished(opening: &Opening) -> Option<usize> {
    let (bytes, delimiter) = bytes_and_delimiter(opening);
    let whole = cut(delimiter, bytes).whole;
    let mut records = Records::new(delimiter);
    let rows = (0..2).filter(|_| records.next(&bytes[..whole]).is_some()).count();
    (rows < 2).then_some(opening.first.len() - bytes.len() + whole)
}

/// The names of the columns, checked to be unique and not empty.
fn header(opening: &Opening, bytes: &[u8], records: &mut Records) -> Result<Vec<String>> {
    let delimiter = records.delimiter();
    let Some(record) = records.next(bytes) else {
        let hint = "the first line must name the columns";
        return Err(Error::data(Place::file(opening.file).line(1), "there is no header", hint));
    };
    let line = 1 + memchr::memchr_iter(b'\n', &bytes[..record.start]).count() as u64;
    let spot = Spot { file: opening.file, line, bytes: &bytes[record.start..record.end], delimiter };
    let text = spot.utf8(&record)?;
    spot.quotes(true)?;
    let (mut names, mut seen, mut start) = (Vec::new(), HashSet::new(), 0);
    for (k, &end) in record.ends.iter().enumerate() {
        let name = trimmed(text.get(start..end).unwrap_or_default());
        start = end;
        if name.is_empty() {
            let what = format!("column {} has no name", k + 1);
            return Err(spot.cell(k, what, "give it one, or write the table without it"));
        }
        if !seen.insert(name) {
            let what = format!("two columns are named '{}'", excerpt(name.as_bytes()));
            return Err(spot.cell(k, what, "give each column a name of its own"));
        }
        names.push(name.to_string());
    }
    Ok(names)
}

/// The column kinds of a file that must be read like the data of a model. Columns match by name in any order,
/// and new ones are dropped.
fn match_kinds(opening: &Opening, names: &[String], known: &Csv) -> Result<Vec<ColumnKind>> {
    let here: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut features = known.columns.iter().filter(|column| is_feature(column.kind));
    if let Some(missing) = features.find(|column| !here.contains(column.name.as_str())) {
        let what = format!("there is no column '{}', which the model was trained on", excerpt(&missing.name));
        let hint = "add it; its cells may be empty, and the order of the columns does not matter";
        return Err(Error::data(Place::file(opening.file).line(1), what, hint));
    }
    let kinds: HashMap<&str, ColumnKind> =
        known.columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
    Ok(names.iter().map(|name| kinds.get(name.as_str()).copied().unwrap_or(ColumnKind::Dropped)).collect())
}

/// The column kinds as requested. Other columns are numbers if all their cells so far are, otherwise
/// categories.
fn decide_kinds(
    opening: &Opening,
    names: &[String],
    bytes: &[u8],
    records: &mut Records,
) -> Result<Vec<ColumnKind>> {
    let ReadOptions { target, offset, drop, categorical, .. } = opening.asked;
    let mut kinds = vec![None; names.len()];
    let mut say = |name: &str, kind, role: Parameter| {
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let unknown =
            || Error::call(format!("there is no column '{}' ({role})", excerpt(name)), suggest(name, &all));
        let slot = &mut kinds[names.iter().position(|n| n == name).ok_or_else(unknown)?];
        match slot.replace(kind) {
            Some(other) if other != kind => {
                let what =
                    format!("column '{}' cannot be both {} and {}", excerpt(name), word(other), word(kind));
                let [target, offset] = [Parameter::Target, Parameter::OffsetColumn];
                let [drop, categorical] = [Parameter::Drop, Parameter::Categorical];
                let hint = format!("name it once among {target}, {offset}, {drop} and {categorical}");
                Err(Error::call(what, hint))
            }
            _ => Ok(()),
        }
    };
    target.iter().try_for_each(|name| say(name, ColumnKind::Target, Parameter::Target))?;
    offset.iter().try_for_each(|name| say(name, ColumnKind::Offset, Parameter::OffsetColumn))?;
    drop.iter().try_for_each(|name| say(name, ColumnKind::Dropped, Parameter::Drop))?;
    categorical.iter().try_for_each(|name| say(name, ColumnKind::Category, Parameter::Categorical))?;
    if target.is_none() {
        let usual = default_target(opening, names, &kinds)?;
        kinds[usual] = Some(ColumnKind::Target);
    }
    let numbers = numbers(names.len(), bytes, records);
    let by_cells = |number| if number { ColumnKind::Number } else { ColumnKind::Category };
    let kinds: Vec<_> =
        kinds.iter().zip(numbers).map(|(kind, number)| kind.unwrap_or(by_cells(number))).collect();
    distinct(names, &kinds)?;
    Ok(kinds)
}

fn word(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Target => "the target",
        ColumnKind::Number => "a number",
        ColumnKind::Category => "categorical",
        ColumnKind::Offset => "the offset",
        ColumnKind::Dropped => "dropped",
    }
}

/// The only column with a default target name. Two such columns are ambiguous, because `y` is also a
/// coordinate.
fn default_target(opening: &Opening, names: &[String], kinds: &[Option<ColumnKind>]) -> Result<usize> {
    let usual = |name: &str| TARGETS.iter().any(|target| name.eq_ignore_ascii_case(target));
    let found: Vec<usize> = (0..names.len()).filter(|&k| kinds[k].is_none() && usual(&names[k])).collect();
    if let [one] = found[..] {
        return Ok(one);
    }
    let what = match found[..] {
        [first, second, ..] => {
            format!("both '{}' and '{}' may be the target", excerpt(&names[first]), excerpt(&names[second]))
        }
        _ => "no column is known to be the target".to_string(),
    };
    let hint = format!("set {} to one of: {}", Parameter::Target, listed(names));
    Err(Error::call(format!("{}: {what}", Place::file(opening.file)), hint))
}

/// For each column, whether all of its non-missing cells in these records are numbers.
fn numbers(columns: usize, bytes: &[u8], records: &mut Records) -> Vec<bool> {
    let mut numbers = vec![true; columns];
    while let Some(record) = records.next(bytes) {
        let mut start = 0;
        for (number, &end) in numbers.iter_mut().zip(record.ends) {
            // Invalid UTF-8 is not a number. The parser reports its place.
            let cell = record.text.get(start..end).and_then(|cell| std::str::from_utf8(cell).ok());
            *number = *number && cell.is_some_and(|cell| may_be_number(trimmed(cell)));
            start = end;
        }
    }
    numbers
}

/// Rejects columns with ambiguous feature names: category `a` with value `b` is `a=b`, and so is a column
/// `a=b`.
fn distinct(names: &[String], kinds: &[ColumnKind]) -> Result<()> {
    let columns = || names.iter().map(String::as_str).zip(kinds);
    let categories: HashSet<&str> =
        columns().filter(|(_, kind)| **kind == ColumnKind::Category).map(|(name, _)| name).collect();
    for (name, _) in columns().filter(|(_, kind)| is_feature(**kind)) {
        let mut starts = name.match_indices('=').map(|(at, _)| &name[..at]);
        if let Some(category) = starts.find(|start| categories.contains(start)) {
            let (category, name) = (excerpt(category), excerpt(name));
            let what = format!("a value of column '{category}' could have the name of column '{name}'");
            return Err(Error::call(
                what,
                format!("rename one of them, or use {}", Parameter::Drop.set(name)),
            ));
        }
    }
    Ok(())
}

fn is_feature(kind: ColumnKind) -> bool {
    matches!(kind, ColumnKind::Number | ColumnKind::Category)
}
