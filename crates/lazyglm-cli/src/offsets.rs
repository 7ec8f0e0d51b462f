//! The offsets of rows to be scored: those in the data, and those in a file.

use crate::print::warning;
use lazyglm::data::format::Parsed;
use lazyglm::data::sample_weights::RowOffsets;
use lazyglm::{Error, Model, Place, Result};
use std::path::Path;

/// The offsets of the rows of a data file, one row after the other.
pub struct Offsets<'a> {
    model: &'a Model,
    data: &'a Path,
    given: Option<RowOffsets>,
    rows: usize,   // rows so far
    in_data: bool, // whether the data have offsets
}

impl<'a> Offsets<'a> {
    /// Reads the file of `--offset`, if it is given.
    pub fn read(model: &'a Model, data: &'a Path, file: Option<&Path>) -> Result<Offsets<'a>> {
        if file.is_some_and(|file| file == data && file.as_os_str() == "-") {
            let hint = "standard input can be read once: name one of the two";
            return Err(Error::call("'-' is given for the data and for --offset", hint));
        }
        if file.is_some() && model.heads.is_some() {
            let what = "--offset is not for models of more than two classes or of labels";
            return Err(Error::call(what, "leave --offset out"));
        }
        let given = file.map(RowOffsets::read).transpose()?;
        Ok(Offsets { model, data, given, rows: 0, in_data: false })
    }

    /// The offset of the next row of the file, which is row `i` of a block.
    pub fn next(&mut self, block: &Parsed, i: usize) -> Result<f64> {
        self.in_data |= !block.offsets.is_empty();
        let given = match &self.given {
            None => Some(0.0),
            Some(given) => given.values.get(self.rows).copied(),
        };
        self.rows += 1;
        let offset = block.offset(i) + given.unwrap_or(0.0); // `finish` rejects too few
        let wrong = |what, hint| Err(Error::data(Place::file(self.data).line(block.lines.of(i)), what, hint));
        match offset.is_finite() {
            true if offset != 0.0 && self.model.heads.is_some() => {
                let what = "the row has an offset, and models of many classes or labels take none";
                wrong(what, "leave the offset out")
            }
            true => Ok(offset),
            false => wrong("the row has no finite offset", "give each row a number; 0 changes no score"),
        }
    }

    /// Rejects a file with a wrong number of offsets. Warns if the model was trained with offsets and there are none.
    pub fn finish(&self) -> Result<()> {
        if let Some(given) = &self.given {
            given.check_count(self.rows, self.data)?;
        }
        if self.model.training.offsets && !self.in_data && self.given.is_none() {
            let text = "the model was trained with offsets, and these data have none: scores are without the offset. Give --offset FILE";
            warning(text);
        }
        Ok(())
    }
}
