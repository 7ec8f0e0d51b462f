//! Cells of number columns that hold a word where a number is not known: how many, and where the first is.

use crate::data::format::Parsed;
use crate::util::error::{Place, excerpt};
use crate::util::parameter::{Parameter, WARNING};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// Cells of one number column that hold a word such as `unknown`, and count as missing.
///
/// ```
/// use lazyglm::data::format::{DirtyCells, Parsed};
/// let mut parsed = Parsed::default();
/// parsed.see_dirty("age", "unknown", || (7, 3));
/// parsed.see_dirty("age", "-", || (9, 3));
/// let note = parsed.dirty[0].note("people.csv".as_ref());
/// assert!(note.contains("people.csv: 2 cells of the number column 'age' are not numbers"), "{note}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirtyCells {
    /// Name of the column.
    pub column: String,
    /// Number of such cells.
    pub count: u64,
    /// The word in the first of them.
    pub value: String,
    /// The line of the first, counted from 1.
    pub line: u64,
    /// The byte of the first within its line, counted from 1, or 0 in a columnar file.
    pub at: u64,
}

impl DirtyCells {
    /// A warning that says how many cells count as missing, and where the first is.
    pub fn note(&self, file: &Path) -> String {
        let (file, column, value) = (Place::file(file), excerpt(&self.column), excerpt(&self.value));
        let cells = match self.count {
            1 => format!("1 cell of the number column '{column}' is not a number and counts"),
            count => format!("{count} cells of the number column '{column}' are not numbers and count"),
        };
        let at = if self.at > 0 { format!(", column {}", self.at) } else { String::new() };
        let categorical = Parameter::Categorical.set(excerpt(&self.column));
        format!(
            "{WARNING}{file}: {cells} as missing; the first is '{value}' in line {}{at}; if the column holds names, use {categorical}",
            self.line
        )
    }

    /// Adds the cells of a later block.
    pub fn join(all: &mut Vec<DirtyCells>, more: &[DirtyCells]) {
        if more.is_empty() {
            return;
        }
        let mut places: HashMap<String, usize> =
            all.iter().enumerate().map(|(k, cells)| (cells.column.clone(), k)).collect();
        for cells in more {
            match places.get(&cells.column) {
                Some(&k) => all[k].count = all[k].count.saturating_add(cells.count),
                None => {
                    places.insert(cells.column.clone(), all.len());
                    all.push(cells.clone());
                }
            }
        }
    }
}

impl Parsed {
    /// Records a cell of a number column that holds a word. `place` gives its line and its byte, counted from 1.
    ///
    /// ```
    /// let mut parsed = lazyglm::data::format::Parsed::default();
    /// parsed.see_dirty("age", "n/a", || (2, 5));
    /// assert_eq!((parsed.dirty[0].count, parsed.dirty[0].line), (1, 2));
    /// ```
    pub fn see_dirty(&mut self, column: &str, value: &str, place: impl FnOnce() -> (u64, u64)) {
        let unnamed = self.dirty.iter().skip(self.dirty_columns.len()); // of another block
        unnamed.for_each(|cells| _ = self.dirty_columns.id(&cells.column));
        let number = self.dirty_columns.id(column) as usize; // there may be thousands of columns, each of them dirty
        match self.dirty.get_mut(number) {
            Some(cells) => cells.count += 1,
            None => {
                let (line, at) = place();
                let (column, value) = (column.to_string(), value.chars().take(60).collect());
                self.dirty.push(DirtyCells { column, count: 1, value, line, at });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_several_blocks_are_counted_together_and_the_first_is_named() {
        let cells = |column: &str, count, value: &str, line| DirtyCells {
            column: column.into(),
            count,
            value: value.into(),
            line,
            at: 3,
        };
        let mut all = Vec::new();
        DirtyCells::join(&mut all, &[cells("age", 2, "unknown", 7)]);
        DirtyCells::join(&mut all, &[cells("income", 1, "-", 40), cells("age", 3, "?", 41)]);
        assert_eq!(all, [cells("age", 5, "unknown", 7), cells("income", 1, "-", 40)]);
        let note = all[0].note("t.csv".as_ref());
        assert!(
            note.contains("5 cells of the number column 'age'") && note.contains("line 7, column 3"),
            "{note}"
        );
    }
}
