//! Row statistics: number of rows, non-zeros per row, sample weights, values and duplicates.

use hashbrown::HashSet;
use serde::Serialize;
use std::collections::BTreeMap;
use twox_hash::XxHash3_64;

/// Distribution of the number of non-zeros per row. The q-quantile is the smallest number that at least a
/// share q of the rows do not exceed.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-row-sizes.svm");
/// std::fs::write(&file, "1 1:1\n2 1:1 2:1\n3 1:1 2:1 3:1\n4 1:1 2:1 3:1 4:1\n").unwrap();
/// let sizes = lazyglm::stats::stats(&file, &Default::default()).unwrap().row_nonzeros;
/// assert_eq!((sizes.min, sizes.p25, sizes.p50, sizes.p99, sizes.max), (1, 1, 2, 4, 4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowSizes {
    /// The minimum.
    pub min: u64,
    /// The first quartile.
    pub p25: u64,
    /// The median.
    pub p50: u64,
    /// The third quartile.
    pub p75: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The maximum.
    pub max: u64,
}

/// Statistics of the non-zero values.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-values.svm");
/// std::fs::write(&file, "1 1:1 2:-2\n2 1:1 3:4\n").unwrap();
/// let values = lazyglm::stats::stats(&file, &Default::default()).unwrap().values.unwrap();
/// assert_eq!((values.min, values.max, values.ones, values.negative, values.whole), (-2.0, 4.0, 0.5, 0.25, true));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueStats {
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Share of values that are exactly 1.
    pub ones: f64,
    /// Share of negative values.
    pub negative: f64,
    /// Whether all values are integers.
    pub whole: bool,
}

/// Statistics of the sample weights.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-weights.vw");
/// std::fs::write(&file, "1 3 | a\n0 0 | b\n").unwrap();
/// let weights = lazyglm::stats::stats(&file, &Default::default()).unwrap().weights.unwrap();
/// assert_eq!((weights.min, weights.max, weights.mean, weights.zero), (0.0, 3.0, 1.5, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightStats {
    /// The smallest weight.
    pub min: f64,
    /// The largest weight.
    pub max: f64,
    /// The mean weight.
    pub mean: f64,
    /// Number of rows of weight zero, which training skips.
    pub zero: u64,
}

/// Minimum and maximum of some numbers.
#[derive(Clone, Copy)]
pub(super) struct Range(pub f64, pub f64);

impl Default for Range {
    fn default() -> Range {
        Range(f64::INFINITY, f64::NEG_INFINITY)
    }
}

impl Range {
    #[inline]
    pub fn add(&mut self, x: f64) {
        *self = Range(self.0.min(x), self.1.max(x));
    }
}

/// Counts of rows and values.
#[derive(Default)]
pub(super) struct Shape {
    pub rows: u64,
    pub nonzeros: u64,
    pub copies: u64,
    sizes: BTreeMap<u64, u64>, // number of rows per number of non-zeros
    seen: HashSet<u64>,        // a hash of each row
    row: Vec<u8>,              // the current row as bytes
    size: u64,
    values: Range,
    ones: u64,
    negative: u64,
    broken: u64, // values that are not integers
    weights: Range,
    weight: f64,
    weightless: u64,
}

impl Shape {
    /// Starts a row.
    pub fn begin(&mut self, target: Option<u64>, weight: f64) {
        self.row.clear();
        self.row.extend(target.unwrap_or(0).to_le_bytes());
        self.size = 0;
        self.weights.add(weight);
        self.weight += weight;
        self.weightless += u64::from(weight == 0.0);
    }

    /// Adds a value to the current row.
    #[inline]
    pub fn value(&mut self, id: u32, x: f64) {
        self.row.extend(id.to_le_bytes());
        self.row.extend(x.to_bits().to_le_bytes());
        self.size += 1;
        self.values.add(x);
        self.ones += u64::from(x == 1.0);
        self.negative += u64::from(x < 0.0);
        self.broken += u64::from(x.fract() != 0.0);
    }

    /// Ends the current row.
    pub fn end(&mut self) {
        self.rows += 1;
        self.nonzeros += self.size;
        *self.sizes.entry(self.size).or_default() += 1;
        self.copies += u64::from(!self.seen.insert(XxHash3_64::oneshot(&self.row)));
    }

    pub fn row_sizes(&self) -> RowSizes {
        let at_most = |percent: u64| {
            let rank = (self.rows * percent).div_ceil(100).max(1);
            let mut rows = 0;
            let reaches = |(_, count): &(&u64, &u64)| {
                rows += **count;
                rows >= rank
            };
            self.sizes.iter().find(reaches).map_or(0, |(size, _)| *size)
        };
        let (min, max) = (at_most(0), at_most(100));
        let (p25, p50, p75) = (at_most(25), at_most(50), at_most(75));
        RowSizes { min, p25, p50, p75, p90: at_most(90), p99: at_most(99), max }
    }

    pub fn values(&self) -> Option<ValueStats> {
        let share = |count: u64| count as f64 / self.nonzeros as f64;
        let Range(min, max) = self.values;
        let (ones, negative) = (share(self.ones), share(self.negative));
        (self.nonzeros > 0).then_some(ValueStats { min, max, ones, negative, whole: self.broken == 0 })
    }

    pub fn weights(&self) -> Option<WeightStats> {
        let Range(min, max) = self.weights;
        let mean = self.weight / self.rows as f64;
        (min != 1.0 || max != 1.0).then_some(WeightStats { min, max, mean, zero: self.weightless })
    }
}
