//! The scores of many rows: head after head for each row.

use super::Model;
use super::scorer::Scorer;
use crate::data::dataset::for_each_block;
use crate::data::format::{DirtyCells, ReadOptions};
use crate::data::rows::RowsRef;
use crate::util::error::{Error, Place, Result};
use std::path::Path;

impl Model {
    /// The scores of rows whose ids are indices as written.
    ///
    /// ```
    /// use lazyglm::{Model, Scorer, Settings, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 200, features: 50, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// let scores = model.score_rows(task.data.rows.borrow());
    /// assert_eq!(scores[7], Scorer::new(&model).score(task.data.rows.borrow(), 7));
    /// ```
    pub fn score_rows(&self, rows: RowsRef) -> Vec<f64> {
        let (mut scorer, mut scores, mut of_row) = (Scorer::new(self), Vec::new(), Vec::new());
        for row in 0..rows.len() {
            scorer.scores(rows, row, &mut of_row);
            scores.extend_from_slice(&of_row);
        }
        scores
    }

    /// The scores of the rows of a file, with their offsets, read as the training data were. Also returns notes about cells that
    /// count as missing.
    pub fn score_file(&self, path: &Path) -> Result<(Vec<f64>, Vec<String>)> {
        let (mut scorer, mut scores, mut of_row) = (Scorer::new(self), Vec::new(), Vec::new());
        let mut dirty = Vec::new();
        for_each_block(path, &ReadOptions::default(), Some(&self.reading), |block| {
            scorer.set_block(block)?;
            DirtyCells::join(&mut dirty, &block.dirty);
            for row in 0..block.rows.len() {
                scorer.scores(block.rows.borrow(), row, &mut of_row);
                let offset = block.offset(row);
                if !offset.is_finite() {
                    let place = Place::file(path).line(block.lines.of(row));
                    let what = "the row has no finite offset";
                    return Err(Error::data(place, what, "give it one; 0 changes no score"));
                }
                scores.extend(of_row.iter().map(|score| score + offset));
            }
            Ok(())
        })?;
        Ok((scores, dirty.iter().map(|cells| cells.note(path)).collect()))
    }
}
