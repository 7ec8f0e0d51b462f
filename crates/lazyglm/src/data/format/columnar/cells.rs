//! The cells of some columns of a columnar file as text, read beside its rows.

use super::batches::{Next, Table, catch_panics};
use super::flat::{self, Leaf, leaves};
use super::json_text;
use super::values::{Words, dates, words};
use crate::util::error::{Error, Place, Result, excerpt};
use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;
use std::path::Path;

/// Number of rows per read.
const ROWS: usize = 1 << 13;

/// Reads the cells of some columns, row by row.
pub(crate) struct Cells {
    next: Next,
    batch: Option<RecordBatch>, // rows that have not been returned
    places: Vec<CellsOf>,       // of each column
}

/// Where the cells of a column are.
#[derive(Clone, Copy)]
enum CellsOf {
    /// Among the columns of a batch, columns inside structs included.
    Leaf(usize),
    /// Among the outermost columns of a batch.
    Root(usize),
}

/// Column numbers count columns inside structs first, then the outermost columns.
fn root_of(schema: &Schema, leaves: &[Leaf], number: usize) -> Option<usize> {
    match number.checked_sub(leaves.len()) {
        None => Some(leaves[number].root),
        Some(root) => (root < schema.fields().len()).then_some(root),
    }
}

/// The names of the columns of a file, columns inside structs included, and then those of the outermost columns.
pub(in crate::data::format) fn names(file: &Path) -> Result<Vec<String>> {
    let schema = Table::open(file)?.schema;
    let roots = schema.fields().iter().map(|field| field.name().clone());
    Ok(leaves(&schema).iter().map(|leaf| leaf.field.name().clone()).chain(roots).collect())
}

/// Access to a column as text.
fn text(array: &dyn Array) -> Option<Words<'_>> {
    words(array).or_else(|| dates(array))
}

/// The value of a row as JSON; empty for null.
fn json(array: &dyn Array, row: usize, bare: bool) -> String {
    let mut text = String::new();
    if array.is_valid(row) && !array.data_type().is_null() {
        json_text::write(array, row, bare, &mut text);
    }
    text
}

impl Cells {
    /// Opens a file a second time, for columns by number.
    pub fn open(file: &Path, numbers: Vec<usize>) -> Result<Cells> {
        let table = Table::open(file)?;
        let leaves = leaves(&table.schema);
        for &number in &numbers {
            let field = match number.checked_sub(leaves.len()) {
                None => &leaves[number].field,
                Some(root) => &table.schema.fields()[root],
            };
            if !json_text::can_write(field.data_type()) {
                let (name, found) = (excerpt(field.name()), field.data_type());
                let what = format!("the column '{name}' is {found}, and cannot be copied");
                return Err(Error::data(Place::file(file), what, "copy columns of text, numbers or dates"));
            }
        }
        let mut chosen: Vec<usize> =
            numbers.iter().filter_map(|&number| root_of(&table.schema, &leaves, number)).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let read: Vec<usize> =
            (0..leaves.len()).filter(|&number| chosen.binary_search(&leaves[number].root).is_ok()).collect();
        let place = |&number: &usize| match number.checked_sub(leaves.len()) {
            None => read.binary_search(&number).ok().map(CellsOf::Leaf),
            Some(root) => chosen.binary_search(&root).ok().map(CellsOf::Root),
        };
        let places = numbers.iter().filter_map(place).collect();
        let next = catch_panics(file, || (table.read)(chosen, ROWS))?;
        Ok(Cells { next, batch: None, places })
    }

    /// The cells of the next rows, row after row; empty for null.
    pub fn next(&mut self, rows: usize, file: &Path) -> Result<Vec<String>> {
        let mut cells = Vec::with_capacity(rows * self.places.len());
        let mut left = rows;
        while left > 0 {
            let batch = match self.batch.take().filter(|batch| batch.num_rows() > 0) {
                Some(batch) => batch,
                None => match catch_panics(file, &mut self.next)? {
                    Some(batch) => batch,
                    None => break, // the caller counts the cells
                },
            };
            let here = left.min(batch.num_rows());
            catch_panics(file, || {
                let arrays = flat::columns(&batch)?;
                let array = |place: &CellsOf| match *place {
                    CellsOf::Leaf(place) => (arrays[place].as_ref(), true),
                    CellsOf::Root(place) => (batch.column(place).as_ref(), false),
                };
                let columns: Vec<(&dyn Array, bool, Option<Words>)> =
                    self.places.iter().map(array).map(|(array, bare)| (array, bare, text(array))).collect();
                for row in 0..here {
                    let cell = |(array, bare, words): &(&dyn Array, bool, Option<Words>)| match words {
                        Some(words) => words(row).unwrap_or_default().into_owned(),
                        None => json(*array, row, *bare),
                    };
                    cells.extend(columns.iter().map(cell));
                }
                Ok(())
            })?;
            self.batch = Some(batch.slice(here, batch.num_rows() - here));
            left -= here;
        }
        Ok(cells)
    }
}
