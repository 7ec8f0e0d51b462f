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
        /// Least standard deviation of the number of values per row, as a share of its mean, if the values are indicators: of few
        /// features, and of many, where the idf differs more from feature to feature. One-hot data have the same number in each row.
        const VARIED: [f64; 2] = [0.25, 0.02];
        const MANY_FEATURES: usize = 1000;
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
        let least = VARIED[usize::from(rows.columns() >= MANY_FEATURES)];
        let varied = squares / rows.len() as f64 > (1.0 + least * least) * mean * mean;
        let repeated = repeated as f64 > REPEATED * nonzeros as f64;
        if self.reading.has_sparse_rows() {
            return repeated || varied;
        }
        let columns = repeats.iter().filter(|repeats| **repeats).count();
        repeated && columns * rows.len() >= SPREAD * nonzeros
    }
}

#[cfg(test)]
mod tests {
    use crate::data::dataset::Dataset;
    use crate::data::features::Features;
    use crate::data::labels::Labels;
    use crate::data::rows::Rows;

    #[test]
    fn rows_of_ones_are_counts_if_their_lengths_vary_and_less_is_enough_for_many_features() {
        let is_counts = |columns: u32, length: &dyn Fn(u32) -> u32| {
            let (mut rows, mut labels) = (Rows::new(), Labels::default());
            for i in 0..200 {
                let row: Vec<(u32, f64)> =
                    (0..length(i)).map(|k| (k * (columns / 30) + i % 7, 1.0)).collect();
                rows.push(&row).unwrap();
                labels.push(if i % 2 == 0 { b"1" } else { b"-1" }).unwrap();
            }
            rows.declare_columns(columns as usize);
            Dataset::made(rows, labels, Features::columns_from(0, columns as usize)).has_counts()
        };
        assert!(is_counts(300, &|i| 5 + i % 20), "few features, and lengths that vary much");
        assert!(!is_counts(300, &|i| 18 + i % 5), "few features, and lengths that vary little");
        assert!(is_counts(3000, &|i| 18 + i % 5), "many features");
        assert!(!is_counts(3000, &|_| 20), "one-hot data");
    }
}
