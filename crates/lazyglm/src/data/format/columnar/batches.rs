//! Reads a columnar file batch by batch, and contains panics of third-party code on damaged files.

use super::flat::Leaf;
use super::rows::{self, Places};
use super::{ARROW, PARQUET, ParquetColumn, STREAM, arrow_file, arrow_stream, flat, parquet_file};
use crate::data::bytes::saved;
use crate::data::format::{Column, ColumnKind, Gathered, Parsed};
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Approximate number of values (rows times columns) per read.
const VALUES: usize = 1 << 20;

/// Maximum number of rows per block.
const ROWS: usize = 1 << 13;

/// Result of third-party code, whose error is a description of what is wrong with the file.
pub(super) type FileResult<T> = std::result::Result<T, String>;

/// Reads the next batch, or `None` at the end.
pub(super) type Next = Box<dyn FnMut() -> FileResult<Option<RecordBatch>>>;

/// An open file: its columns, and a function that reads some of them.
pub(super) struct Table {
    pub schema: SchemaRef,
    /// Starts reading, given the numbers of the columns and the number of rows per batch.
    pub read: Box<dyn FnOnce(Vec<usize>, usize) -> FileResult<Next>>,
}

impl Table {
    pub fn open(path: &Path) -> Result<Table> {
        let cannot = |e: io::Error| match e.kind() {
            io::ErrorKind::NotSeekable => stream(path), // a named pipe, for example
            _ => Error::io(path, e, "check the name and that you may read it"),
        };
        let mut file = saved(path).unwrap_or_else(|| File::open(path)).map_err(cannot)?;
        let mut magic = Vec::new();
        (&file).take(ARROW.len() as u64).read_to_end(&mut magic).map_err(cannot)?;
        file.rewind().map_err(cannot)?;
        match &magic[..] {
            magic if magic.starts_with(PARQUET) => catch_panics(path, || parquet_file::open(file)),
            magic if magic.starts_with(ARROW) => catch_panics(path, || arrow_file::open(file)),
            magic if magic.starts_with(STREAM) => catch_panics(path, || arrow_stream::open(file)),
            [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => Err(Error::data(
                Place::file(path),
                "Parquet cannot be read out of gzip or zstd: it is read from its end",
                "unpack it; inside, Parquet has compression of its own",
            )),
            _ => Err(Error::data(
                Place::file(path),
                "this is no Parquet file and no Arrow file: it does not begin with PAR1 or ARROW1",
                format!(
                    "name the format with {}, or write the file again (Feather: version 2)",
                    Parameter::Format
                ),
            )),
        }
    }
}

/// Calls `see` with the rows of each block.
pub(in crate::data::format) fn for_each_batch(
    file: &Path,
    [target, offset]: [Option<&String>; 2],
    columns: &[ParquetColumn],
    absent: Vec<bool>,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    let table = Table::open(file)?;
    let (chosen, places) = choose(&table.schema, [target, offset], columns);
    let at_a_time = (VALUES / chosen.len().max(1)).clamp(64, ROWS);
    if chosen.is_empty() {
        return Err(Error::data(
            Place::file(file),
            "no column is left to read",
            "give it features and a target",
        ));
    }
    let mut next = catch_panics(file, || (table.read)(chosen, at_a_time))?;
    let (mut parsed, mut lines) = (Parsed { absent, ..Parsed::default() }, 0);
    let mut wrong = Gathered::default();
    let plain = |column: &ParquetColumn| Column::new(column.name.as_str(), ColumnKind::Category);
    let named = columns.iter().map(|column| column.as_cells().unwrap_or_else(|| plain(column)));
    let named: Vec<Column> = named.collect();
    while let Some(batch) = catch_panics(file, &mut next)? {
        for first in (0..batch.num_rows()).step_by(at_a_time) {
            let part = batch.slice(first, at_a_time.min(batch.num_rows() - first));
            let columns = catch_panics(file, || flat::columns(&part))?;
            parsed.allow_names(columns.iter().map(|column| column.get_array_memory_size()).sum(), &named);
            if parsed.rows_before > 0 {
                parsed.allow_no_more_names();
            }
            let part = (&columns[..], part.num_rows());
            let done = catch_panics(file, || Ok(rows::append(part, &places, file, &mut parsed)))?;
            let usable = wrong.block(&mut parsed, done, lines)?;
            lines += parsed.move_down(lines);
            if usable {
                see(&mut parsed)?;
            }
            parsed.clear_rows();
        }
    }
    wrong.end()
}

/// Calls `see` with batches of the chosen columns until it returns false.
pub(super) fn read_some(
    file: &Path,
    table: Table,
    chosen: Vec<usize>,
    rows: usize,
    see: &mut dyn FnMut(&RecordBatch) -> bool,
) -> Result<()> {
    if chosen.is_empty() {
        return Ok(());
    }
    let mut next = catch_panics(file, || (table.read)(chosen, rows))?;
    while let Some(batch) = catch_panics(file, &mut next)? {
        if !catch_panics(file, || Ok(see(&batch)))? {
            break;
        }
    }
    Ok(())
}

/// The error for a columnar file that is a stream and cannot be seeked.
#[cold]
pub(super) fn stream(path: &Path) -> Error {
    let what = "Parquet cannot be read from a stream: it is read from its end";
    Error::data(Place::file(path), what, "save it to a file, and name that")
}

/// The columns of a file that are needed, and the position of each in a batch.
fn choose<'a>(
    schema: &Schema,
    [target, offset]: [Option<&String>; 2],
    columns: &'a [ParquetColumn],
) -> (Vec<usize>, Places<'a>) {
    let by_name: HashMap<&str, &ParquetColumn> =
        columns.iter().map(|column| (column.name.as_str(), column)).collect();
    let named = |field: &FieldRef, role: Option<&String>| role == Some(field.name());
    let used = |leaf: &Leaf| {
        let (field, [target, offset]) = (&leaf.field, [target, offset]);
        // A column of nulls takes no space, so a damaged file may claim any number of rows of it.
        let known =
            by_name.contains_key(field.name().as_str()) || named(field, target) || named(field, offset);
        known && !field.data_type().is_null()
    };
    let leaves = flat::leaves(schema);
    let mut chosen: Vec<usize> = leaves.iter().filter(|leaf| used(leaf)).map(|leaf| leaf.root).collect();
    chosen.dedup();
    let mut places = Places::default();
    let read = leaves.iter().filter(|leaf| chosen.binary_search(&leaf.root).is_ok());
    for (place, leaf) in read.enumerate().filter(|(_, leaf)| used(leaf)) {
        match by_name.get(leaf.field.name().as_str()) {
            Some(column) => places.columns.push((place, column)),
            None if named(&leaf.field, target) => places.target = Some(place),
            None => places.offset = Some(place),
        }
    }
    (chosen, places)
}

/// Calls third-party code and turns its errors and panics into an [`Error`].
pub(super) fn catch_panics<T>(file: &Path, call: impl FnOnce() -> FileResult<T>) -> Result<T> {
    let damaged = |what: String| {
        let hint = "fetch or write it again, with snappy, gzip, lz4, zstd or no compression";
        Error::data(Place::file(file), what, hint)
    };
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(said)) => {
            let said = said.lines().next().unwrap_or_default();
            Err(damaged(format!("the file cannot be read: {}", said.chars().take(200).collect::<String>())))
        }
        Err(_) => Err(damaged("the file is damaged".to_string())),
    }
}
