//! Cells of named columns, copied as text beside the rows.
//!
//! ```text
//! csv, jsonl, parquet   a column or key       as text, or as JSON if it has values inside; empty if it is missing or null
//! vw                    tag                   without its quote
//! every format          target                the row's target, unless a column has this name
//! ```
//!
//! The cells are read from the block a second time, so that the parsers need not know about them.

use super::{FormatSpec, Line, Opening, Parsed, columnar, for_each_line, jsonl_open};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::registry::suggest;
use std::path::Path;

use super::json::Scanner;
use super::jsonl::flattened;

/// The columns to copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copied {
    columns: Vec<Source>,
}

/// Where the cells of a column are.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    Target,
    Tag,
    Column(usize),
    Key(String),
}

impl Copied {
    /// Finds the named columns in a file that is being opened.
    pub fn find(opening: &Opening, spec: &FormatSpec) -> Result<Copied> {
        let names = &opening.asked.copy;
        if names.is_empty() {
            return Ok(Copied::default());
        }
        let known: Vec<String> = match spec {
            FormatSpec::Csv(csv) => csv.columns.iter().map(|column| column.name.clone()).collect(),
            FormatSpec::Jsonl { .. } => jsonl_open::names(opening)?,
            FormatSpec::Parquet { .. } => columnar::names(opening.file)?,
            FormatSpec::Vw => vec!["tag".to_string()],
            _ => Vec::new(),
        };
        let source = |name: &String| match (spec, known.iter().position(|other| other == name)) {
            (FormatSpec::Vw, Some(_)) => Ok(Source::Tag),
            (FormatSpec::Jsonl { .. }, Some(_)) => Ok(Source::Key(name.clone())),
            (_, Some(number)) => Ok(Source::Column(number)),
            (_, None) if name == "target" => Ok(Source::Target),
            (_, None) => Err(unknown(opening.file, name, spec, &known)),
        };
        Ok(Copied { columns: names.iter().map(source).collect::<Result<_>>()? })
    }

    /// Copies the cells of a block that has been parsed.
    pub fn copy_block(&self, spec: &FormatSpec, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let (mut copied, mut row) = (std::mem::take(&mut into.copied), 0);
        copied.clear();
        let mut push = |cell: &mut dyn FnMut(&Source) -> Result<String>| -> Result<()> {
            for source in &self.columns {
                copied.push(match source {
                    Source::Target if row < into.labels.len() => into.labels.name(row),
                    Source::Target => String::new(),
                    other => cell(other)?,
                });
            }
            row += 1;
            Ok(())
        };
        match spec {
            FormatSpec::Csv(csv) => csv.for_each_record(block, &mut |cells| {
                let cell = |k: usize| cells.get(k).map_or(String::new(), |cell| cell.to_string());
                push(&mut |source| Ok(if let Source::Column(k) = source { cell(*k) } else { String::new() }))
            })?,
            FormatSpec::Jsonl { .. } | FormatSpec::Vw => {
                for_each_line(block, file, &mut Parsed::default(), |line, _| {
                    if line.text.iter().all(u8::is_ascii_whitespace) {
                        return Ok(());
                    }
                    push(&mut |source| match source {
                        Source::Key(key) => value_of(line, key),
                        _ => Ok(tag(line).to_string()),
                    })
                })?;
            }
            _ => (0..into.rows.len()).try_for_each(|_| push(&mut |_| Ok(String::new())))?,
        }
        into.copied = copied;
        self.check(file, into)
    }

    /// The cells of a columnar file, or `None` if no column of it is copied.
    pub fn open_file(&self, file: &Path) -> Result<Option<columnar::Cells>> {
        let number = |source: &Source| if let Source::Column(number) = source { Some(*number) } else { None };
        let numbers: Vec<usize> = self.columns.iter().filter_map(number).collect();
        if numbers.is_empty() { Ok(None) } else { columnar::Cells::open(file, numbers).map(Some) }
    }

    /// Copies the cells of the next rows of a columnar file.
    pub fn copy_rows(
        &self,
        cells: &mut Option<columnar::Cells>,
        file: &Path,
        into: &mut Parsed,
    ) -> Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let mut read = match cells {
            Some(cells) => cells.next(into.rows.len(), file)?.into_iter(),
            None => Vec::new().into_iter(),
        };
        into.copied.clear();
        for row in 0..into.rows.len() {
            for source in &self.columns {
                let cell = match source {
                    Source::Target => into.labels.name(row),
                    _ => read.next().unwrap_or_default(),
                };
                into.copied.push(cell);
            }
        }
        self.check(file, into)
    }

    fn check(&self, file: &Path, into: &Parsed) -> Result<()> {
        match into.copied.len() == self.columns.len() * into.rows.len() {
            true => Ok(()),
            false => Err(Error::data(
                Place::file(file),
                "the copied cells do not fit the rows",
                "report this, with the file",
            )),
        }
    }
}

#[cold]
fn unknown(file: &Path, name: &str, spec: &FormatSpec, known: &[String]) -> Error {
    let what = format!("{}: there is no column '{}' to copy", Place::file(file), excerpt(name));
    let mut names: Vec<&str> = known.iter().map(String::as_str).collect();
    if !names.contains(&"target") {
        names.push("target");
    }
    match names.len() {
        1 => Error::call(what, format!("{} data have no columns: only target can be copied", spec.name())),
        _ => Error::call(what, suggest(name, &names)),
    }
}

/// The value of a key as text: text without its quotes, other values as written, and nothing for null. A key `a.b` is the key `b`
/// of the object `a`.
fn value_of(line: &Line, key: &str) -> Result<String> {
    let text = line.utf8("JSON")?;
    let mut json = Scanner::open(line, text)?;
    let (mut path, mut outer) = (String::new(), Vec::new()); // the objects around, and the lengths of their names
    loop {
        let Some((_, found)) = json.key()? else {
            match outer.pop() {
                Some(length) => path.truncate(length),
                None => return Ok(String::new()),
            }
            continue;
        };
        let found = flattened(&path, found);
        let start = json.place();
        let is_around = key.strip_prefix(&*found).is_some_and(|rest| rest.starts_with('.'));
        if is_around && text[start..].starts_with('{') {
            json.value()?; // goes inside
            outer.push(path.len());
            path = found.into_owned() + ".";
            continue;
        }
        json.skip()?;
        if found == key {
            let raw = text.get(start..json.place()).unwrap_or_default().trim_end();
            return Ok(match raw {
                "null" => String::new(),
                raw => serde_json::from_str(raw).unwrap_or_else(|_| raw.to_string()),
            });
        }
    }
}

/// The tag of a Vowpal Wabbit row: the last word before the first bar, if it starts with a quote or touches the bar.
fn tag<'a>(line: &Line<'a>) -> &'a str {
    let text = std::str::from_utf8(line.text).unwrap_or_default();
    let before = text.split('|').next().unwrap_or_default();
    let last = before.trim_end().rsplit(' ').next().unwrap_or_default();
    match before.ends_with(' ') && !last.starts_with('\'') {
        true => "",
        false => last.strip_prefix('\'').unwrap_or(last),
    }
}
