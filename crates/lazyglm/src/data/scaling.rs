//! Scaling of values after all rows are known. Zeros stay zeros.
//!
//! ```text
//! log     xᵢⱼ ← 1 + ln xᵢⱼ                                                     --scale tfidf, but not of text;
//!                                                                              left out by --scale tfidf:log=no
//! idf     xᵢⱼ ← xᵢⱼ·(ln((1 + n)/(1 + dfⱼ)) + 1), dfⱼ: number of rows with j    --scale tfidf, text with idf=yes; in a table,
//!                                                                              the terms of its columns of text alone; idf=no
//! norm    xᵢ ← xᵢ/‖xᵢ‖                                                         --scale tfidf, text with idf=yes,norm=l2; norm=no
//! maxabs  xᵢⱼ ← xᵢⱼ/maxᵢ|xᵢⱼ|                                                  --scale maxabs
//! std     xᵢⱼ ← xᵢⱼ/σⱼ, σⱼ² = mean x² − (mean x)², zeros included               --scale std
//! ```
//!
//! The penalty then applies to the weights of the scaled features, so λ₁ and λ₂ do not depend on the units of
//! a feature. For maxabs, std, and idf without log and norm, the factors are multiplied into the weights, so that the model
//! stores weights in the original units. For tf-idf with log or norm, the model stores the idf of each feature, one without
//! idf, and converts the rows that it scores.

use crate::data::read_config::ReadConfig;
use crate::data::rows::{Rows, RowsRef};
use crate::util::error::{Error, Result, excerpt};
use crate::util::registry::suggest;

/// How to scale features (`--scale`).
///
/// ```
/// use lazyglm::Scale;
/// assert_eq!(Scale::parse("std").unwrap(), Scale::Std);
/// assert_eq!(Scale::parse("tfidf:norm=no").unwrap(), Scale::Counts { log: true, idf: true, norm: false });
/// assert!(Scale::parse("minmax").unwrap_err().to_string().contains("none, maxabs, std, tfidf"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scale {
    /// Values stay as they are.
    #[default]
    None,
    /// Divides each feature by its largest absolute value.
    MaxAbs,
    /// Divides each feature by its standard deviation.
    Std,
    /// Replaces counts by tf-idf: 1 + ln x, times the idf of the feature, in rows of length one.
    TfIdf,
    /// Some parts of tf-idf.
    Counts {
        /// Whether a count x becomes 1 + ln x.
        log: bool,
        /// Whether values are multiplied by the idf of their feature.
        idf: bool,
        /// Whether rows are divided by their length.
        norm: bool,
    },
}

/// The names of the parts of tf-idf, in the order of their application.
const PARTS: [&str; 3] = ["log", "idf", "norm"];

/// The names of all scales.
const NAMES: [&str; 4] = ["none", "maxabs", "std", "tfidf"];

impl Scale {
    /// Parses the name of a scale.
    pub fn parse(name: &str) -> Result<Scale> {
        match name {
            "none" => Ok(Scale::None),
            "maxabs" => Ok(Scale::MaxAbs),
            "std" => Ok(Scale::Std),
            "tfidf" => Ok(Scale::TfIdf),
            _ => match name.strip_prefix("tfidf:") {
                Some(parts) => Scale::parts_from(parts),
                None => {
                    let hint = suggest(name, &NAMES);
                    Err(Error::call(format!("there is no scale '{name}'"), hint))
                }
            },
        }
    }

    /// The parts of tf-idf that are said to be left out: `log=no,idf=no,norm=no`.
    fn parts_from(text: &str) -> Result<Scale> {
        let mut parts = [true; 3];
        for entry in text.split(',') {
            let (key, value) = entry.split_once('=').unwrap_or((entry, ""));
            let (Some(k), Some(yes)) = (
                PARTS.iter().position(|part| *part == key.trim()),
                [("yes", true), ("no", false)].into_iter().find(|(word, _)| *word == value.trim()),
            ) else {
                let what = format!("tfidf has no part '{}'", excerpt(entry));
                return Err(Error::call(what, "write tfidf:log=no, idf=no, norm=no, or several of them"));
            };
            parts[k] = yes.1;
        }
        Ok(match parts {
            [true, true, true] => Scale::TfIdf,
            [false, false, false] => Scale::None,
            [log, idf, norm] => Scale::Counts { log, idf, norm },
        })
    }

    /// Whether counts are replaced by their logarithm, multiplied by idf, and divided by the length of their row.
    fn parts(self) -> [bool; 3] {
        match self {
            Scale::TfIdf => [true; 3],
            Scale::Counts { log, idf, norm } => [log, idf, norm],
            Scale::None | Scale::MaxAbs | Scale::Std => [false; 3],
        }
    }

    /// What replaces counts by tf-idf: this scale of all values, or idf for the terms of columns of text, if there are any.
    pub(crate) fn tf_idf(reading: &ReadConfig) -> (Scale, Vec<String>) {
        let columns = reading.spec.text_columns(false);
        (if columns.is_empty() { Scale::TfIdf } else { Scale::None }, columns)
    }
}

/// The conversion of counts to tf-idf values.
///
/// ```
/// let scaling = lazyglm::data::scaling::CountScaling { log: true, idf: &[0.5, 1.0], norm: true };
/// assert_eq!(scaling.idf.len(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountScaling<'a> {
    /// Whether a count x becomes 1 + ln x.
    pub log: bool,
    /// The idf of each feature.
    pub idf: &'a [f64],
    /// Whether rows are divided by their length.
    pub norm: bool,
}

/// The logarithm of a count: 1 + ln x. Values below one, which are no counts, stay as they are, and negative values keep
/// their sign, so that the function is continuous and defined everywhere.
///
/// ```text
/// f(x) = 1 + ln x  for x ≥ 1,     x  for 0 ≤ x < 1,     −f(−x)  for x < 0
/// ```
pub(crate) fn log_count(x: f64) -> f64 {
    if x.abs() >= 1.0 { x.signum() * (1.0 + x.abs().ln()) } else { x }
}

/// The scaling of values: factors per column, and normalisation of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scaling {
    /// Whether to replace values by their logarithm ([`log_count`]), before all else.
    pub log: bool,
    /// Factors applied before rows are normalised.
    pub idf: Option<Vec<f64>>,
    /// Whether to normalise rows.
    pub norm: bool,
    /// Factors applied after rows are normalised.
    pub scale: Option<Vec<f64>>,
}

impl Scaling {
    /// Finds the scaling of some rows that were read in this way; `columns` gives the statistics of their columns after a scaling.
    /// `terms` tells the columns that are terms of a table's columns of text with idf.
    pub(crate) fn find(
        reading: &ReadConfig,
        scale: Scale,
        terms: Option<Vec<bool>>,
        mut columns: impl FnMut(&Scaling) -> Result<Columns>,
    ) -> Result<Scaling> {
        let ([log, by_idf, norm], idf) = (scale.parts(), reading.idf());
        let mut scaling = Scaling { norm: norm || idf == Some(true), ..Scaling::default() };
        if by_idf || idf.is_some() {
            scaling.idf = Some(columns(&Scaling::default())?.idf());
        } else if let Some(terms) = terms {
            let mut idf = columns(&Scaling::default())?.idf();
            idf.iter_mut().zip(terms).filter(|(_, is_term)| !is_term).for_each(|(idf, _)| *idf = 1.0);
            scaling.idf = Some(idf);
        }
        scaling.log = log && !reading.is_text(); // text has an option of its own for that
        if scaling.converts_rows() && scaling.idf.is_none() {
            scaling.idf = Some(vec![1.0; columns(&Scaling::default())?.counts.len()]);
        }
        if matches!(scale, Scale::MaxAbs | Scale::Std) {
            scaling.scale = columns(&scaling)?.scale(scale); // `scale` applies to the values after idf
        }
        Ok(scaling)
    }

    /// Scales rows whose ids are columns. Products are kept in f64, unless `as_f32`.
    pub fn apply(&self, rows: &mut Rows, as_f32: bool) {
        if !as_f32 && *self != Scaling::default() {
            rows.convert_to_f64();
        }
        if self.log {
            rows.update(|_, x| log_count(x));
        }
        if let Some(idf) = &self.idf {
            rows.update(|column, x| idf[column] * x);
        }
        if self.norm {
            rows.normalise();
        }
        if let Some(scale) = &self.scale {
            rows.update(|column, x| scale[column] * x);
        }
    }

    /// Whether a model must convert the rows that it scores: no factor of a weight stands for that.
    fn converts_rows(&self) -> bool {
        self.log || self.norm
    }

    /// The idf of each column, if a model must convert the rows that it scores.
    pub fn kept_idf(&self) -> Option<&[f64]> {
        self.idf.as_deref().filter(|_| self.converts_rows())
    }

    /// The factor that converts a column's weight to the units of the values as written. If a model converts the rows that
    /// it scores, the units are those of the converted values.
    pub fn factor(&self, column: usize) -> f64 {
        let idf = self.idf.as_ref().filter(|_| !self.converts_rows()).map_or(1.0, |idf| idf[column]);
        idf * self.scale.as_ref().map_or(1.0, |scale| scale[column])
    }
}

/// Statistics per column, from which scaling factors are computed.
///
/// ```
/// use lazyglm::{Columns, Rows, Scale};
/// let mut rows = Rows::new();
/// rows.push(&[(0, -4.0), (1, 1.0)]).unwrap();
/// rows.push(&[(0, 2.0)]).unwrap();
/// let mut columns = Columns::new(3);
/// columns.see(rows.borrow());
/// assert_eq!(columns.scale(Scale::MaxAbs).unwrap(), [0.25, 1.0, 1.0], "a column without values is left alone");
/// ```
pub struct Columns {
    rows: usize,
    counts: Vec<u32>,
    sums: Vec<[f64; 2]>, // sums of x and x²
    largest: Vec<f64>,
}

impl Columns {
    /// Statistics of no rows.
    pub fn new(columns: usize) -> Columns {
        Columns {
            rows: 0,
            counts: vec![0; columns],
            sums: vec![[0.0; 2]; columns],
            largest: vec![0.0; columns],
        }
    }

    /// Adds rows to the statistics.
    pub fn see(&mut self, rows: RowsRef) {
        for i in 0..rows.len() {
            rows.for_each(i, |j, x| self.see_value(j, x));
        }
        self.rows += rows.len();
    }

    /// Adds one value of a row to the statistics of a column, which may be new.
    pub fn see_value(&mut self, column: usize, x: f64) {
        if column >= self.counts.len() {
            self.counts.resize(column + 1, 0);
            self.sums.resize(column + 1, [0.0; 2]);
            self.largest.resize(column + 1, 0.0);
        }
        self.counts[column] += 1;
        self.sums[column][0] += x;
        self.sums[column][1] += x * x;
        self.largest[column] = self.largest[column].max(x.abs());
    }

    /// Ends a row whose values were added one by one.
    pub fn see_row(&mut self) {
        self.rows += 1;
    }

    /// The inverse document frequencies ln((1 + n)/(1 + df)) + 1 per column.
    pub fn idf(&self) -> Vec<f64> {
        let n = self.rows as f64;
        self.counts.iter().map(|&df| ((1.0 + n) / (1.0 + f64::from(df))).ln() + 1.0).collect()
    }

    /// The factors of a scale per column. Columns without values and constant columns get the factor 1.
    pub fn scale(&self, scale: Scale) -> Option<Vec<f64>> {
        let n = self.rows as f64;
        let divisor = |j: usize| match scale {
            Scale::None | Scale::TfIdf | Scale::Counts { .. } => 1.0,
            Scale::MaxAbs => self.largest[j],
            Scale::Std => {
                let [sum, square] = self.sums[j];
                (square / n - (sum / n) * (sum / n)).max(0.0).sqrt()
            }
        };
        // A variance below this bound is rounding error: the column is constant.
        let least = |j: usize| self.largest[j] * 1e-7;
        let factor = |j: usize| Some(1.0 / divisor(j)).filter(|f| f.is_finite() && divisor(j) > least(j));
        matches!(scale, Scale::MaxAbs | Scale::Std)
            .then(|| (0..self.counts.len()).map(|j| factor(j).unwrap_or(1.0)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_divided_by_its_standard_deviation_with_its_zeros_or_by_its_largest_size() {
        let mut rows = Rows::new();
        let four: [&[(u32, f64)]; 4] =
            [&[(0, 1.0), (1, -3.0)], &[(0, 3.0)], &[(0, 5.0)], &[(0, 7.0), (2, 2.0)]];
        four.iter().for_each(|row| rows.push(row).unwrap());
        let mut columns = Columns::new(3);
        columns.see(rows.borrow());
        let deviations = [5.0f64, 27.0 / 16.0, 0.75].map(f64::sqrt); // of 1 3 5 7, of −3 0 0 0, of 0 0 0 2
        let scale = columns.scale(Scale::Std).unwrap();
        for (factor, deviation) in scale.iter().zip(deviations) {
            assert!((factor * deviation - 1.0).abs() < 1e-12, "{scale:?}");
        }
        assert_eq!(columns.scale(Scale::MaxAbs).unwrap(), [1.0 / 7.0, 1.0 / 3.0, 0.5]);
        assert!(columns.scale(Scale::TfIdf).is_none());
    }
}
