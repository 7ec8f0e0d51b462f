//! Sample weights from a separate file.

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
    /// assert!(error.to_string().contains(":2:1: '-2' is no weight"));
    /// ```
    pub fn read(path: &Path) -> Result<SampleWeights> {
        let text = bytes::read_to_string(path)?;
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
        let one = |(k, line): (usize, &str)| match parse_number(line.as_bytes()) {
            Some(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
            _ => {
                let place = Place::file(path).line(k as u64 + 1).column(1);
                Err(Error::data(
                    place,
                    format!("'{}' is no weight", excerpt(line)),
                    "give one number from 0 up a line",
                ))
            }
        };
        Ok(SampleWeights { values: lines.map(one).collect::<Result<_>>()?, file: path.to_path_buf() })
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
    pub(crate) fn check_count(&self, rows: usize, present: usize, path: &Path) -> Result<()> {
        let (given, place) = (self.values.len(), Place::file(&self.file));
        if given != rows {
            let what =
                format!("there are {given} sample weights for the {rows} rows of {}", Place::file(path));
            return Err(Error::data(place, what, "give one weight a row, in the order of the rows"));
        }
        if present == 0 && rows > 0 {
            return Err(Error::data(place, "all sample weights are 0", "give some rows a weight above 0"));
        }
        Ok(())
    }
}
