//! Decides the kind of each column from the header, the first rows and the caller's options, or from a model.

use super::parser::Spot;
use super::records::{Records, cut};
use super::{Csv, delimiter_of, last_record_end, trimmed, without_mark};
use crate::data::format::columns::{Column, ColumnKind, FirstCells, Known, MISSING, Wanted};
use crate::data::format::text::of_column;
use crate::data::format::{FormatSpec, Opening, ReadOptions, detect::ending, quoted};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use crate::util::registry::{listed, suggest_all};
use std::collections::{HashMap, HashSet};

/// Default names of the target column.
pub(super) const TARGETS: [&str; 4] = ["target", "label", "y", "class"];

/// Reads the header and decides the kind of each column.
pub(in crate::data::format) fn open(opening: &Opening) -> Result<FormatSpec> {
    let (bytes, delimiter) = bytes_and_delimiter(opening);
    let mut records = Records::new(delimiter);
    let names = header(opening, bytes, &mut records)?;
    let index = pandas_index(&names, bytes, delimiter);
    let columns = match opening.known.and_then(Known::of) {
        Some(known) => match_columns(opening, &names, &known, samples(names.len(), bytes, &mut records))?,
        None => decide_columns(opening, &names, index, samples(names.len(), bytes, &mut records))?,
    };
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

/// The names of the columns, checked to be unique and not empty. All that are wrong are reported at once.
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
    let mut start = 0;
    let cell = |&end: &usize| {
        trimmed(text.get(std::mem::replace(&mut start, end)..end).unwrap_or_default()).to_string()
    };
    let names: Vec<String> = record.ends.iter().map(cell).collect();
    let may_be_index = opening.known.is_some() || pandas_index(&names, bytes, delimiter);
    let (mut nameless, mut repeated, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for (k, name) in names.iter().enumerate() {
        match seen.insert(name.as_str()) {
            _ if name.is_empty() && !(k == 0 && may_be_index) => nameless.push(k),
            false if !name.is_empty() => repeated.push(k),
            _ => {}
        }
    }
    match nameless.iter().chain(&repeated).min() {
        None => Ok(names),
        Some(&first) => {
            let (what, hint) = wrong_names(&names, &nameless, &repeated);
            Err(spot.cell(first, what, hint))
        }
    }
}

/// What is wrong with columns that have no name, or the name of another, and what to do.
#[cold]
fn wrong_names(names: &[String], nameless: &[usize], repeated: &[usize]) -> (String, &'static str) {
    let numbers: Vec<String> = nameless.iter().take(SHOWN).map(|k| (k + 1).to_string()).collect();
    let mut twice: Vec<&str> = repeated.iter().map(|&k| names[k].as_str()).collect();
    twice.sort_unstable();
    twice.dedup();
    let more = |count: usize| if count > SHOWN { " and others" } else { "" };
    let nameless = match nameless.len() {
        0 => None,
        1 => Some(format!("column {} has no name", numbers[0])),
        count => Some(format!("columns {}{} have no name", numbers.join(", "), more(count))),
    };
    let repeated = match &twice[..] {
        [] => None,
        [name] if repeated.len() == 1 => Some(format!("two columns are named '{}'", excerpt(name))),
        names => Some(format!("several columns have the same name: {}", quoted(names))),
    };
    let hint = match (&nameless, &repeated) {
        (Some(_), None) if numbers.len() == 1 => "give it one, or write the table without it",
        (Some(_), None) => "give them names, or write the table without them",
        _ => "give each column a name of its own",
    };
    (nameless.into_iter().chain(repeated).collect::<Vec<_>>().join("; "), hint)
}

/// The columns of a file that must be read like the data of a model. Columns match by name in any order, and new ones
/// are dropped. Rows of JSON Lines need not have all keys, so a model of those decides new columns by their cells.
fn match_columns(
    opening: &Opening,
    names: &[String],
    known: &Known,
    samples: Vec<FirstCells>,
) -> Result<Vec<Column>> {
    let here: HashSet<&str> = names.iter().map(String::as_str).collect();
    let features = known.columns.iter().filter(|column| column.kind.is_feature());
    let required = features.filter(|column| known.requires(column)).map(|column| column.name.as_str());
    let absent: Vec<&str> = required.filter(|name| !here.contains(name)).collect();
    if !absent.is_empty() {
        let place = Place::file(opening.file).line(1);
        let what = match absent[..] {
            [one] => format!("there is no column '{}', which the model was trained on", excerpt(one)),
            _ => format!("there are no columns {}, which the model was trained on", quoted(&absent)),
        };
        let it = if absent.len() == 1 { "it; its" } else { "them; their" };
        let hint = format!("add {it} cells may be empty, and the order of the columns does not matter");
        return Err(Error::data(place, what, hint));
    }
    let wanted = Wanted::of(opening.asked)?;
    let column = |(name, sample): (&String, FirstCells)| match known.column(name) {
        _ if *name == known.target => Column::new(name.as_str(), ColumnKind::Target),
        _ if known.offset == Some(name) => Column::new(name.as_str(), ColumnKind::Offset),
        Some(column) => column.clone(),
        None if known.complete => Column::new(name.as_str(), ColumnKind::Dropped),
        None => sample.decide(name, &wanted),
    };
    Ok(names.iter().zip(samples).map(column).collect())
}

/// Name that pandas gives a column without a name.
const UNNAMED: &str = "Unnamed: 0";

/// Whether the first column is pandas' index: without a name, and distinct whole numbers.
fn pandas_index(names: &[String], bytes: &[u8], delimiter: u8) -> bool {
    if !names.first().is_some_and(|name| name.is_empty() || name == UNNAMED) || names.len() < 2 {
        return false;
    }
    let bytes = &bytes[..last_record_end(delimiter, bytes)];
    let (mut records, mut seen) = (Records::new(delimiter), HashSet::new());
    records.next(bytes);
    while let Some(record) = records.next(bytes) {
        let cell = record.ends.first().and_then(|&end| std::str::from_utf8(&record.text[..end]).ok());
        if !cell.and_then(|cell| trimmed(cell).parse::<u64>().ok()).is_some_and(|number| seen.insert(number))
        {
            return false;
        }
    }
    !seen.is_empty()
}

/// Maximum number of columns that a message counts up.
const SHOWN: usize = 12;

/// The columns as requested. Other columns are numbers if their first cells are, otherwise categories.
fn decide_columns(
    opening: &Opening,
    names: &[String],
    index: bool,
    samples: Vec<FirstCells>,
) -> Result<Vec<Column>> {
    let ReadOptions { target, offset, drop, categorical, text_columns, .. } = opening.asked;
    let (mut kinds, mut unknown) = (vec![None; names.len()], Vec::new());
    let mut say = |name: &str, kind, role: Parameter| {
        let Some(k) = names.iter().position(|known| known == name) else {
            unknown.push((name.to_string(), role));
            return Ok(());
        };
        match kinds[k].replace(kind) {
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
    let mut texts = text_columns.iter().map(|entry| of_column(entry).0);
    texts.try_for_each(|name| say(name, ColumnKind::Text, Parameter::TextColumns))?;
    check_known(&unknown, names)?;
    if let Some(kind @ None) = kinds.first_mut().filter(|_| index) {
        *kind = Some(ColumnKind::Dropped);
    }
    if target.is_none() {
        let usual = default_target(opening, names, &kinds)?;
        kinds[usual] = Some(ColumnKind::Target);
    }
    let wanted = Wanted::of(opening.asked)?;
    let column = |((name, kind), sample): ((&String, Option<ColumnKind>), FirstCells)| match kind {
        Some(kind) => wanted.column(name, kind),
        None => sample.decide(name, &wanted),
    };
    let columns: Vec<Column> = names.iter().zip(kinds).zip(samples).map(column).collect();
    distinct(&columns)?;
    Ok(columns)
}

/// Rejects names of columns that are not there, with the parameter that names each.
fn check_known(unknown: &[(String, Parameter)], names: &[String]) -> Result<()> {
    let named = |(name, role): &(String, Parameter)| format!("'{}' ({role})", excerpt(name));
    let named: Vec<String> = unknown.iter().map(named).collect();
    let what = match &named[..] {
        [] => return Ok(()),
        [one] => format!("there is no column {one}"),
        all => format!("there are no columns {}", all.join(", ")),
    };
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let typed: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
    Err(Error::call(what, suggest_all(&typed, &all)))
}

fn word(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Target => "the target",
        ColumnKind::Number => "a number",
        ColumnKind::Category => "categorical",
        ColumnKind::Text => "text",
        ColumnKind::Date | ColumnKind::Time => "a date",
        ColumnKind::Clock => "a time of day",
        ColumnKind::Duration => "a duration",
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

/// The cells of each column in these records.
fn samples(columns: usize, bytes: &[u8], records: &mut Records) -> Vec<FirstCells> {
    let bytes = &bytes[..last_record_end(records.delimiter(), bytes)];
    let mut samples = vec![FirstCells::default(); columns];
    while let Some(record) = records.next(bytes) {
        let mut start = 0;
        for (sample, &end) in samples.iter_mut().zip(record.ends) {
            match record.text.get(start..end).and_then(|cell| std::str::from_utf8(cell).ok()) {
                Some(cell) => sample.see_cell(trimmed(cell)),
                None => sample.see_no_text(),
            }
            start = end;
        }
    }
    samples
}

/// Rejects columns with ambiguous feature names: category `a` with value `b` is `a=b`, and so is a column
/// `a=b`.
fn distinct(columns: &[Column]) -> Result<()> {
    let kinds: HashMap<&str, ColumnKind> =
        columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
    for Column { name, .. } in columns.iter().filter(|column| column.kind.is_feature()) {
        let may_have = |at: usize| match kinds.get(&name[..at]) {
            Some(ColumnKind::Number) => &name[at + 1..] == MISSING, // a date may have any value
            kind => kind.is_some_and(|kind| kind.is_feature()),
        };
        if let Some((at, _)) = name.match_indices('=').find(|(at, _)| may_have(*at)) {
            let (category, name) = (excerpt(&name[..at]), excerpt(name));
            let what = format!("a value of column '{category}' could have the name of column '{name}'");
            return Err(Error::call(
                what,
                format!("rename one of them, or use {}", Parameter::Drop.set(name)),
            ));
        }
    }
    Ok(())
}
