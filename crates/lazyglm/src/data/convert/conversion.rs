//! The pass over the data that writes the output.

use super::Converted;
use crate::data::dataset::query_note;
use crate::data::feature_ids::{FeatureIds, one_line};
use crate::data::format::write::{Format, RowOut, Writer};
use crate::data::format::{DirtyCells, Parsed, ReadOptions};
use crate::data::read_config::{Input, ReadConfig};
use crate::util::error::{Error, Place, Result};
use crate::util::files;
use crate::util::parameter::WARNING;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Calls `see` with each block. Hash buckets are treated as indices.
pub(super) fn for_each(
    from: &Path,
    asked: &ReadOptions,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<ReadConfig> {
    let input = Input::open(from, asked, None)?;
    let reading = input.reading.clone();
    match reading.hash_bits {
        None => input.for_each(Vec::new(), see)?,
        Some(bits) => input.for_each_named(Vec::new(), &mut FeatureIds::hashed(bits)?, &mut |block| {
            block.names = None;
            see(block)
        })?,
    }
    Ok(reading)
}

/// State of one conversion pass.
pub(super) struct Conversion<'a> {
    pub from: &'a Path,
    pub asked: &'a ReadOptions,
    pub format: &'a Format,
    pub failed: &'a dyn Fn(io::Error) -> Error,
    pub names: Option<&'a Path>, // where the names can be listed
}

/// Facts about the data that the pass collects.
#[derive(Default)]
struct Facts {
    rows: u64,
    values: usize,
    weighted: u64,
    shifted: u64, // rows with an offset
    with_query: usize,
    dirty: Vec<DirtyCells>,
    labelled: bool,
    unlabelled: Option<u64>, // the line of the first row without a target
    has_span: bool,
}

impl Conversion<'_> {
    pub fn run(&self, writer: &mut dyn Writer, out: &mut dyn Write) -> Result<Converted> {
        let (mut seen, mut bytes) = (Facts::default(), Vec::new());
        let header = writer.head(&mut bytes);
        header.map_err(|refusal| Error::data(Place::file(self.from), refusal.what, refusal.hint))?;
        let reading = for_each(self.from, self.asked, &mut |block| {
            self.observe(block, &mut seen)?;
            self.write(block, writer, &mut bytes)?;
            out.write_all(&bytes).map_err(self.failed)?;
            bytes.clear();
            Ok(())
        })?;
        let whole = |what: String, hint: String| Err(Error::data(Place::file(self.from), what, hint));
        if seen.rows == 0 {
            return whole("there are no rows in it".into(), "give a file with data".into());
        }
        if seen.values == 0 && !seen.has_span {
            let what = format!("no row has a feature: this does not look like {}", reading.spec.name());
            return whole(what, format!("write a row as: {}", reading.spec.shape()));
        }
        let mut notes: Vec<String> = query_note(self.from, seen.with_query).into_iter().collect();
        notes.extend(seen.dirty.iter().map(|cells| cells.note(self.from)));
        let format = self.format.name;
        for (count, what) in [(seen.weighted, "weight"), (seen.shifted, "offset")] {
            if count == 0 || writer.keeps_weights() {
                continue;
            }
            let article = if what == "offset" { "an" } else { "a" };
            let (have, lost) = match count {
                1 => (format!("row has {article} {what} of its own"), "it is lost"),
                _ => (format!("rows have {what}s of their own"), "they are lost"),
            };
            notes.push(format!("{WARNING}{count} {have}, which {format} cannot hold: {lost}"));
        }
        Ok(Converted { rows: seen.rows, names: self.list(writer)?, notes })
    }

    /// Records facts about a block and rejects rows that the output format cannot represent.
    fn observe(&self, block: &Parsed, seen: &mut Facts) -> Result<()> {
        seen.rows += block.rows.len() as u64;
        seen.values += block.rows.nonzeros();
        seen.weighted += block.weights.iter().filter(|weight| **weight != 1.0).count() as u64;
        seen.shifted += block.offsets.iter().filter(|offset| **offset != 0.0).count() as u64;
        seen.with_query += block.with_query;
        DirtyCells::join(&mut seen.dirty, &block.dirty);
        seen.has_span |= block.span.is_some();
        seen.labelled |= block.labels.any();
        seen.unlabelled = seen.unlabelled.or(block.unlabelled.map(|row| block.lines.of(row)));
        if let (true, Some(line)) = (seen.labelled, seen.unlabelled) {
            let place = Place::file(self.from).line(line);
            return Err(Error::data(place, "the row has no target, and others have", "give it one"));
        }
        let named = block.names.as_ref().is_some_and(|names| !names.is_empty());
        if named && self.names.is_none() && self.format.name == "svmlight" {
            let what = "the features have names, and on standard output there is no place to list them";
            return Err(Error::call(what, "give the output a name, or write vw or jsonl"));
        }
        Ok(())
    }

    fn write(&self, block: &Parsed, writer: &mut dyn Writer, bytes: &mut Vec<u8>) -> Result<()> {
        let (names, mut pairs) = (block.names.as_ref(), Vec::new());
        writer.block(names);
        for i in 0..block.rows.len() {
            pairs.clear();
            block.rows.borrow().for_each(i, |id, x| pairs.push((id as u32, x)));
            let target = block.labels.has(i).then(|| block.labels.name(i));
            let weight = block.weights.get(i).copied().unwrap_or(1.0);
            if block.offset(i).is_nan() {
                let place = Place::file(self.from).line(block.lines.of(i));
                return Err(Error::data(place, "the row has no offset", "give it one; 0 changes no score"));
            }
            let row = RowOut { target: target.as_deref(), weight, offset: block.offset(i), pairs: &pairs };
            writer.row(&row, names, bytes).map_err(|refusal| {
                let place = Place::file(self.from).line(block.lines.of(i));
                Error::data(place, refusal.what, refusal.hint)
            })?;
        }
        Ok(())
    }

    /// Writes the list of names that became indices.
    fn list(&self, writer: &dyn Writer) -> Result<Option<PathBuf>> {
        let (Some(words), Some(path)) = (writer.indexed(), self.names) else { return Ok(None) };
        files::write_whole(path, |to| {
            let mut lines = (1u64..).zip(words.iter());
            lines.try_for_each(|(index, name)| writeln!(to, "{index}\t{}", one_line(name)))
        })?;
        Ok(Some(path.to_path_buf()))
    }
}
