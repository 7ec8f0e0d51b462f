//! Whether the values of a data set are counts.

use super::Dataset;
use crate::data::scaling::Scaling;

impl Dataset {
    /// Whether the values are counts, and not scaled: text without idf, a table with columns of text, or whole positive numbers.
    /// Ones alone count what a row has, if rows have different numbers of them: rows of one-hot features have equally many.
    /// The columns of a table may be amounts of anything. Its numbers are counts if there are many columns with values above
    /// one, and a row has values in few of them, as a document has few of all words.
    pub(crate) fn has_counts(&self) -> bool {
        /// Least share of values above one: fewer are indicators with a few exceptions.
        const REPEATED: f64 = 0.01;
        /// Least standard deviation of the number of values per row, as a share of its mean, if the values are indicators.
        const VARIED: f64 = 0.25;
        /// In a table, the least number of columns with values above one, as a multiple of the mean number of values per row.
        const SPREAD: usize = 3;
        if *self.features.scaling != Scaling::default() {
            return false;
        }
        if self.reading.is_text() {
            return self.rows.nonzeros() > 0;
        }
        if self.has_terms() {
            return true;
        }
        let (mut whole, mut repeated, mut squares) = (true, 0usize, 0.0);
        let (rows, nonzeros) = (self.rows.borrow(), self.rows.nonzeros());
        let mut repeats = vec![false; rows.columns()]; // whether a column has values above one
        for i in 0..rows.len() {
            let mut length = 0.0;
            rows.for_each(i, |j, x| {
                length += 1.0;
                whole &= x >= 1.0 && x.fract() == 0.0;
                repeated += usize::from(x > 1.0);
                repeats[j] |= x > 1.0;
            });
            squares += length * length;
            if !whole {
                return false;
            }
        }
        let mean = nonzeros as f64 / rows.len() as f64;
        let varied = squares / rows.len() as f64 > (1.0 + VARIED * VARIED) * mean * mean;
        let repeated = repeated as f64 > REPEATED * nonzeros as f64;
        if self.reading.has_sparse_rows() {
            return repeated || varied;
        }
        let columns = repeats.iter().filter(|repeats| **repeats).count();
        repeated && columns * rows.len() >= SPREAD * nonzeros
    }
}
