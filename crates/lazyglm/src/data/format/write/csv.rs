//! Writes a table: a header, then one row per line. The first column is `target`, and the others are
//! features.
//!
//! A feature that a row lacks is written as 0, so the columns must be known before the first row.

use super::jsonl::TARGET;
use super::{Refusal, RowOut, Writer, name_of, number};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::excerpt;
use std::collections::HashMap;

/// Texts that are read as a missing cell.
const MISSING: [&str; 6] = ["NA", "NaN", "nan", "null", "NULL", "?"];

/// The CSV writer.
pub(crate) struct Csv {
    columns: Vec<String>,
    by_name: HashMap<String, usize>,
    table: Vec<Option<usize>>, // the column of each name of the block
    cells: Vec<f64>,
}

impl Csv {
    /// A writer of a table with these features.
    pub fn new(columns: Vec<String>) -> Csv {
        let by_name = columns.iter().enumerate().map(|(k, name)| (name.clone(), k)).collect();
        let cells = vec![0.0; columns.len()];
        Csv { columns, by_name, table: Vec::new(), cells }
    }
}

impl Writer for Csv {
    fn head(&mut self, to: &mut Vec<u8>) -> Result<(), Refusal> {
        to.extend(TARGET.as_bytes());
        for name in &self.columns {
            let spaced = name.trim_matches([' ', '\t']) != name;
            if name.is_empty() || spaced || name == TARGET || name.contains('\0') {
                let what = format!("a feature is called '{}', and no column can be", excerpt(name));
                return Err(Refusal { what, hint: "rename it or leave it out, or write svmlight or jsonl" });
            }
            to.push(b',');
            cell(name, to);
        }
        to.push(b'\n');
        Ok(())
    }

    fn block(&mut self, names: Option<&Vocabulary>) {
        self.table.clear();
        if let Some(names) = names {
            self.table.extend(names.iter().map(|name| self.by_name.get(name).copied()));
        }
    }

    fn row(&mut self, row: &RowOut, names: Option<&Vocabulary>, to: &mut Vec<u8>) -> Result<(), Refusal> {
        self.cells.fill(0.0);
        for &(id, x) in row.pairs {
            let column = match names {
                Some(_) => self.table[id as usize],
                None => self.by_name.get(&*name_of(names, id)).copied(),
            };
            let Some(column) = column else {
                let what = "a feature occurs that was not there when the columns were counted".to_string();
                return Err(Refusal { what, hint: "the data changed while they were read: convert again" });
            };
            self.cells[column] = x;
        }
        if let Some(target) = row.target {
            if MISSING.contains(&target) || target.trim_matches([' ', '\t']) != target {
                let what = format!("the target '{}' would read back as another, or as none", excerpt(target));
                return Err(Refusal { what, hint: "rename it, or write jsonl" });
            }
            cell(target, to);
        }
        for &x in &self.cells {
            to.push(b',');
            number(x, to);
        }
        to.push(b'\n');
        Ok(())
    }
}

/// Writes text, in quotes if needed.
fn cell(text: &str, to: &mut Vec<u8>) {
    if !text.contains([',', ';', '\t', '"', '\n', '\r']) {
        return to.extend(text.as_bytes());
    }
    to.push(b'"');
    to.extend(text.replace('"', "\"\"").as_bytes());
    to.push(b'"');
}
