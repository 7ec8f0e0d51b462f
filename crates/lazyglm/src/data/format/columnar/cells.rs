//! The cells of some columns of a columnar file as text, read beside its rows.

use super::batches::{Next, Table, catch_panics};
use super::flat::{self, leaves};
use super::values::{Words, dates, words};
use crate::util::error::{Error, Place, Result, excerpt};
use arrow_array::{Array, RecordBatch};
use std::path::Path;

/// Number of rows per read.
const ROWS: usize = 1 << 13;

/// Reads the cells of some columns, row by row.
pub(crate) struct Cells {
    next: Next,
    batch: Option<RecordBatch>, // rows that have not been returned
    places: Vec<usize>, // the place of each column among those of a batch, columns inside structs included
}

/// The names of the columns of a file, columns inside structs included.
pub(in crate::data::format) fn names(file: &Path) -> Result<Vec<String>> {
    Ok(leaves(&Table::open(file)?.schema).iter().map(|leaf| leaf.field.name().clone()).collect())
}

/// Access to a column as text.
fn text(array: &dyn Array) -> Option<Words<'_>> {
    words(array).or_else(|| dates(array))
}

impl Cells {
    /// Opens a file a second time, for columns by number.
    pub fn open(file: &Path, numbers: Vec<usize>) -> Result<Cells> {
        let table = Table::open(file)?;
        let leaves = leaves(&table.schema);
        for leaf in numbers.iter().filter_map(|&number| leaves.get(number)) {
            let found = leaf.field.data_type();
            if text(arrow_array::new_empty_array(found).as_ref()).is_none() && !found.is_null() {
                let what =
                    format!("the column '{}' is {found}, and cannot be copied", excerpt(leaf.field.name()));
                return Err(Error::data(Place::file(file), what, "copy columns of text, numbers or dates"));
            }
        }
        let root = |number: &usize| leaves.get(*number).map(|leaf| leaf.root);
        let mut chosen: Vec<usize> = numbers.iter().filter_map(root).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let read: Vec<usize> =
            (0..leaves.len()).filter(|&number| chosen.binary_search(&leaves[number].root).is_ok()).collect();
        let places = numbers.iter().filter_map(|number| read.binary_search(number).ok()).collect();
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
                let columns: Vec<_> = self.places.iter().map(|&place| text(arrays[place].as_ref())).collect();
                for row in 0..here {
                    let cell = |column: &Option<Words>| {
                        column.as_ref().and_then(|words| words(row)).unwrap_or_default().into_owned()
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
