//! A data set in memory: rows, targets, the names of its features, and where each row was read.

use crate::error::{Error, Place, Result};
use crate::features::{Declared, Features};
use crate::format::{Lines, Parsed, Parser, Svmlight};
use crate::labels::Labels;
use crate::number::parse_number;
use crate::rows::Rows;
use crate::source;
use std::path::{Path, PathBuf};

/// One weight a row, as read from a file.
#[derive(Clone, Debug)]
pub struct SampleWeights {
    /// Finite, from 0 up.
    pub values: Vec<f64>,
    file: PathBuf,
}

impl SampleWeights {
    /// Reads one weight a line; blank lines are passed over.
    pub fn read(path: &Path) -> Result<SampleWeights> {
        let text = source::read_to_string(path)?;
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
        let one = |(k, line): (usize, &str)| match parse_number(line.as_bytes()) {
            Some(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
            _ => {
                let place = Place::file(path).line(k as u64 + 1).column(1);
                Err(Error::data(place, format!("'{line}' is no weight"), "give one number from 0 up a line"))
            }
        };
        Ok(SampleWeights { values: lines.map(one).collect::<Result<_>>()?, file: path.to_path_buf() })
    }
}

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
        Dataset::assigned(parse_all(path, Vec::new())?, declared, path)
    }

    /// Reads a file of training data with a weight for each row. Rows of weight zero are as if absent: neither their
    /// features nor their targets count. Returns the weights of the rows that are left.
    pub fn read_weighted(
        path: &Path,
        declared: Declared,
        weights: &SampleWeights,
    ) -> Result<(Dataset, Vec<f64>)> {
        let parsed = parse_all(path, weights.values.iter().map(|w| *w == 0.0).collect())?;
        let (given, rows) = (weights.values.len(), parsed.file_rows);
        if given != rows {
            let what =
                format!("there are {given} sample weights for the {rows} rows of {}", Place::file(path));
            return Err(Error::data(
                Place::file(&weights.file),
                what,
                "give one weight a row, in the order of the rows",
            ));
        }
        if parsed.rows.is_empty() && rows > 0 {
            let hint = "give some rows a weight above 0";
            return Err(Error::data(Place::file(&weights.file), "all sample weights are 0", hint));
        }
        let kept = weights.values.iter().copied().filter(|w| *w > 0.0).collect();
        Ok((Dataset::assigned(parsed, declared, path)?, kept))
    }

    fn assigned(mut parsed: Parsed, declared: Declared, path: &Path) -> Result<Dataset> {
        let features = Features::assign(&mut parsed.rows, parsed.span, declared, path)?;
        Dataset::labelled(parsed, features, path, 0)
    }

    /// Reads a file whose features are named as in `known`: a validation file. Values of features that do not
    /// occur there are dropped, and counted in the notes.
    pub fn read_like(path: &Path, known: &Dataset) -> Result<Dataset> {
        let mut parsed = parse_all(path, Vec::new())?;
        let (rows, dropped) = known.features.apply(&parsed.rows, &known.occurring())?;
        parsed.rows = rows;
        Dataset::labelled(parsed, known.features.clone(), path, dropped)
    }

    /// For each column, whether any row has it.
    pub fn occurring(&self) -> Vec<bool> {
        let mut occurs = vec![false; self.features.columns()];
        self.rows.ids().iter().for_each(|&column| occurs[column as usize] = true);
        occurs
    }

    fn labelled(parsed: Parsed, features: Features, path: &Path, dropped: usize) -> Result<Dataset> {
        let Parsed { rows, labels, unlabelled, with_query, lines, .. } = parsed;
        let file = path.to_path_buf();
        let mut notes = Vec::new();
        notes.extend(query_note(path, with_query));
        if dropped > 0 {
            notes.push(format!(
                "{}: {dropped} values of features that do not occur in training count as zero",
                Place::file(path)
            ));
        }
        if rows.is_empty() {
            return Err(Error::data(Place::file(path), "there are no rows in it", "give a file with data"));
        }
        if let Some(row) = unlabelled {
            let place = Place::file(path).line(lines.of(row));
            return Err(Error::data(place, "the row has no target", "each line must start with its target"));
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

/// A word on query ids, if there were any: they are read over.
pub fn query_note(path: &Path, rows: usize) -> Option<String> {
    (rows > 0).then(|| format!("{}: qid on {rows} rows was ignored", Place::file(path)))
}

fn parse_all(path: &Path, absent: Vec<bool>) -> Result<Parsed> {
    let mut parsed = Parsed { absent, ..Parsed::default() };
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
