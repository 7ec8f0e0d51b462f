//! A data set in memory: rows, targets, the names of its features, and where each row was read.

use crate::error::{Error, Place, Result};
use crate::features::{Declared, Features};
use crate::format::{Lines, Parsed, Parser, Svmlight};
use crate::labels::Labels;
use crate::rows::Rows;
use crate::source;
use std::path::{Path, PathBuf};

/// A data set as read, before anything is known of loss or weights.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The rows; ids are columns.
    pub rows: Rows,
    /// The targets as written.
    pub labels: Labels,
    /// What the columns stand for.
    pub features: Features,
    /// What a reader may want to know: ignored query ids, dropped features.
    pub notes: Vec<String>,
    file: PathBuf,
    lines: Lines,
}

impl Dataset {
    /// Reads a file of training data.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared};
    /// let file = std::env::temp_dir().join("lazyglm-doc-read.svm");
    /// std::fs::write(&file, "1 1:0.5 7:2\n-1 2:1\n").unwrap();
    /// let data = Dataset::read(&file, Declared::default()).unwrap();
    /// assert_eq!((data.rows.len(), data.features.count, data.features.base), (2, 7, 1));
    /// ```
    pub fn read(path: &Path, declared: Declared) -> Result<Dataset> {
        let mut parsed = parse_all(path)?;
        let features = Features::assign(&mut parsed.rows, parsed.span, declared, path)?;
        Dataset::labelled(parsed, features, path, 0)
    }

    /// Reads a file whose features are named as in `known`: a validation file. Features not known there are
    /// dropped, and counted in the notes.
    pub fn read_like(path: &Path, known: &Features) -> Result<Dataset> {
        let mut parsed = parse_all(path)?;
        let (rows, dropped) = known.apply(&parsed.rows)?;
        parsed.rows = rows;
        Dataset::labelled(parsed, known.clone(), path, dropped)
    }

    fn labelled(parsed: Parsed, features: Features, path: &Path, dropped: usize) -> Result<Dataset> {
        let Parsed { rows, labels, unlabelled, with_query, lines, .. } = parsed;
        let file = path.to_path_buf();
        let mut notes = Vec::new();
        if with_query > 0 {
            notes.push(format!("{}: qid on {with_query} rows was ignored", Place::file(path)));
        }
        if dropped > 0 {
            notes.push(format!(
                "{}: {dropped} values of features that do not occur in training count as zero",
                Place::file(path)
            ));
        }
        if rows.is_empty() {
            return Err(Error::data(Place::file(path), "there are no rows in it", "give a file with data"));
        }
        if unlabelled > 0 {
            let what = format!("{unlabelled} of {} rows have no target", rows.len());
            return Err(Error::data(Place::file(path), what, "each line must start with its target"));
        }
        if rows.len() > u32::MAX as usize {
            return Err(Error::data(Place::file(path), "there are more than 2³² rows", "split the file"));
        }
        Ok(Dataset { rows, labels, features, notes, file, lines })
    }

    /// Data that were made, not read.
    pub fn made(rows: Rows, labels: Labels, features: Features) -> Dataset {
        Dataset {
            rows,
            labels,
            features,
            notes: Vec::new(),
            file: "made data".into(),
            lines: Lines::default(),
        }
    }

    /// Where row `i` was read.
    pub fn place(&self, i: usize) -> Place {
        Place::file(&self.file).line(self.lines.of(i))
    }

    /// The file as a whole.
    pub fn file(&self) -> Place {
        Place::file(&self.file)
    }

    /// These rows alone, in this order.
    pub fn select(&self, rows: &[usize]) -> Dataset {
        Dataset {
            rows: self.rows.select(rows),
            labels: self.labels.select(rows),
            features: self.features.clone(),
            notes: Vec::new(),
            file: self.file.clone(),
            lines: self.lines.select(rows),
        }
    }
}

fn parse_all(path: &Path) -> Result<Parsed> {
    let mut parsed = Parsed::default();
    let mut parser = Svmlight::default();
    source::for_each_block(path, |block| parser.parse(block, path, &mut parsed))?;
    Ok(parsed)
}

/// Calls `see` with block after block of rows, ids as written: for scoring data of any size.
pub fn for_each_block(path: &Path, mut see: impl FnMut(&Parsed) -> Result<()>) -> Result<()> {
    let mut parsed = Parsed::default();
    let mut parser = Svmlight::default();
    source::for_each_block(path, |block| {
        parser.parse(block, path, &mut parsed)?;
        see(&parsed)?;
        parsed.clear_rows();
        Ok(())
    })
}
