//! The cells of some columns of a columnar file as text, read beside its rows.

use super::batches::{Next, Table, catch_panics};
use super::values::words;
use crate::util::error::{Error, Place, Result, excerpt};
use arrow_array::RecordBatch;
use std::path::Path;

/// Number of rows per read.
const ROWS: usize = 1 << 13;

/// Reads the cells of some columns, row by row.
pub(crate) struct Cells {
    next: Next,
    batch: Option<RecordBatch>, // rows that have not been returned
    places: Vec<usize>,         // the place of each column in a batch
}

/// The names of the columns of a file.
pub(in crate::data::format) fn names(file: &Path) -> Result<Vec<String>> {
    Ok(Table::open(file)?.schema.fields().iter().map(|field| field.name().clone()).collect())
}

impl Cells {
    /// Opens a file a second time, for columns by number.
    pub fn open(file: &Path, numbers: Vec<usize>) -> Result<Cells> {
        let table = Table::open(file)?;
        let mut chosen = numbers.clone();
        chosen.sort_unstable();
        chosen.dedup();
        for &number in &chosen {
            let field = table.schema.field(number);
            let empty = arrow_array::new_empty_array(field.data_type());
            if words(empty.as_ref()).is_none() && !field.data_type().is_null() {
                let name = excerpt(field.name().as_bytes());
                let what = format!("the column '{name}' is {}, and cannot be copied", field.data_type());
                return Err(Error::data(Place::file(file), what, "copy columns of text or numbers"));
            }
        }
        let places = numbers.iter().filter_map(|number| chosen.binary_search(number).ok()).collect();
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
                let columns: Vec<_> =
                    self.places.iter().map(|&place| words(batch.column(place).as_ref())).collect();
                for row in 0..here {
                    let cell = |column: &Option<super::values::Words>| {
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
