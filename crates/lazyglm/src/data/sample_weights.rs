//! Sample weights and row offsets from separate files: one number per row of the data.

use crate::data::bytes;
use crate::data::format::Parsed;
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::number::parse_number;
use std::path::{Path, PathBuf};

/// One weight per row, as read from a file.
///
/// ```
/// use lazyglm::SampleWeights;
/// let file = std::env::temp_dir().join("lazyglm-doc-weights.txt");
/// std::fs::write(&file, "1\n0.5\n\n0\n").unwrap();
/// assert_eq!(SampleWeights::read(&file).unwrap().values, [1.0, 0.5, 0.0]);
/// ```
#[derive(Clone, Debug)]
pub struct SampleWeights {
    /// The weights, finite and non-negative.
    pub values: Vec<f64>,
    pub(crate) file: PathBuf,
}

impl SampleWeights {
    /// Reads one weight per line and skips blank lines.
    ///
    /// ```
    /// use lazyglm::SampleWeights;
    /// let file = std::env::temp_dir().join("lazyglm-doc-bad-weights.txt");
    /// std::fs::write(&file, "1\n-2\n").unwrap();
    /// let error = SampleWeights::read(&file).unwrap_err();
    /// assert!(error.to_string().contains(":2:1: '-2' is not a weight"));
    /// ```
    pub fn read(path: &Path) -> Result<SampleWeights> {
        let values =
            numbers(path, |weight| weight >= 0.0, "not a weight", "give one number per line, 0 or above")?;
        Ok(SampleWeights { values, file: path.to_path_buf() })
    }

    /// For each row, whether its weight is zero. Empty if no weight is zero.
    pub(crate) fn absent(&self) -> Vec<bool> {
        match self.values.contains(&0.0) {
            true => self.values.iter().map(|weight| *weight == 0.0).collect(),
            false => Vec::new(),
        }
    }

    /// The weights of the rows that remain after rows of weight zero were dropped.
    pub(crate) fn of_rows(&self, parsed: &Parsed, path: &Path) -> Result<Vec<f64>> {
        self.check_count(parsed.file_rows, parsed.rows.len(), path)?;
        Ok(self.values.iter().copied().filter(|weight| *weight > 0.0).collect())
    }

    /// Rejects a wrong number of weights, and weights that are all zero.
    pub fn check_count(&self, rows: usize, present: usize, path: &Path) -> Result<()> {
        check_count(self.values.len(), &self.file, ["sample weights", "weight"], rows, path)?;
        if present == 0 && rows > 0 {
            let hint = "give some rows a weight above 0";
            return Err(Error::data(Place::file(&self.file), "all sample weights are 0", hint));
        }
        Ok(())
    }
}

/// One offset per row, as read from a file. The offset of a row is added to its score.
///
/// ```
/// use lazyglm::data::sample_weights::RowOffsets;
/// let file = std::env::temp_dir().join("lazyglm-doc-offsets.txt");
/// std::fs::write(&file, "0.5\n-2\n").unwrap();
/// assert_eq!(RowOffsets::read(&file).unwrap().values, [0.5, -2.0]);
/// ```
#[derive(Clone, Debug)]
pub struct RowOffsets {
    /// The offsets, all of them finite.
    pub values: Vec<f64>,
    file: PathBuf,
}

impl RowOffsets {
    /// Reads one offset per line and skips blank lines.
    ///
    /// ```
    /// use lazyglm::data::sample_weights::RowOffsets;
    /// let file = std::env::temp_dir().join("lazyglm-doc-bad-offsets.txt");
    /// std::fs::write(&file, "1\nNaN\n").unwrap();
    /// let error = RowOffsets::read(&file).unwrap_err();
    /// assert!(error.to_string().contains(":2:1: 'NaN' is not a finite number"));
    /// ```
    pub fn read(path: &Path) -> Result<RowOffsets> {
        let values = numbers(path, |_| true, "not a finite number", "give one offset per line")?;
        Ok(RowOffsets { values, file: path.to_path_buf() })
    }

    /// Rejects a number of offsets that differs from the number of rows in the data file.
    pub fn check_count(&self, rows: usize, data: &Path) -> Result<()> {
        check_count(self.values.len(), &self.file, ["offsets", "offset"], rows, data)
    }

    /// The offsets of the rows that remain after the absent rows were dropped.
    pub(crate) fn of_present(&self, absent: &[bool]) -> Vec<f64> {
        let is_present = |(k, _): &(usize, &f64)| !absent.get(*k).copied().unwrap_or(false);
        self.values.iter().enumerate().filter(is_present).map(|(_, offset)| *offset).collect()
    }
}

/// Reads one finite number per line and skips blank lines.
fn numbers(path: &Path, admits: fn(f64) -> bool, no: &str, hint: &str) -> Result<Vec<f64>> {
    let text = bytes::read_to_string(path)?;
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let one = |(k, line): (usize, &str)| match parse_number(line.as_bytes()) {
        Some(number) if number.is_finite() && admits(number) => Ok(number),
        _ => {
            let place = Place::file(path).line(k as u64 + 1).column(1);
            Err(Error::data(place, format!("'{}' is {no}", excerpt(line)), hint))
        }
    };
    lines.map(one).collect()
}

fn check_count(given: usize, file: &Path, [nouns, noun]: [&str; 2], rows: usize, data: &Path) -> Result<()> {
    if given == rows {
        return Ok(());
    }
    let what = format!("there are {given} {nouns} for the {rows} rows of {}", Place::file(data));
    Err(Error::data(Place::file(file), what, format!("give one {noun} a row, in the order of the rows")))
}
