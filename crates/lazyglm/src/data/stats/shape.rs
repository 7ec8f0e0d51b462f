//! Rows as such: how many, how long, how heavy, which values, and which of them are copies.

use hashbrown::HashSet;
use serde::Serialize;
use std::collections::BTreeMap;
use twox_hash::XxHash3_64;

/// Non-zeros a row. A share q of the rows has at most this many: the smallest number of which that is true.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-row-sizes.svm");
/// std::fs::write(&file, "1 1:1\n2 1:1 2:1\n3 1:1 2:1 3:1\n4 1:1 2:1 3:1 4:1\n").unwrap();
/// let sizes = lazyglm::stats::stats(&file, &Default::default()).unwrap().row_nonzeros;
/// assert_eq!((sizes.min, sizes.p25, sizes.p50, sizes.p99, sizes.max), (1, 1, 2, 4, 4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowSizes {
    /// The fewest.
    pub min: u64,
    /// Of a quarter of the rows, at most.
    pub p25: u64,
    /// Of half of them.
    pub p50: u64,
    /// Of three quarters.
    pub p75: u64,
    /// Of 90 in 100.
    pub p90: u64,
    /// Of 99 in 100.
    pub p99: u64,
    /// The most.
    pub max: u64,
}

/// Values that are not zero.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-values.svm");
/// std::fs::write(&file, "1 1:1 2:-2\n2 1:1 3:4\n").unwrap();
/// let values = lazyglm::stats::stats(&file, &Default::default()).unwrap().values.unwrap();
/// assert_eq!((values.min, values.max, values.ones, values.negative, values.whole), (-2.0, 4.0, 0.5, 0.25, true));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueStats {
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// The share that is exactly 1.
    pub ones: f64,
    /// The share below zero.
    pub negative: f64,
    /// Whether all are whole numbers.
    pub whole: bool,
}

/// Weights of rows.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-weights.vw");
/// std::fs::write(&file, "1 3 | a\n0 0 | b\n").unwrap();
/// let weights = lazyglm::stats::stats(&file, &Default::default()).unwrap().weights.unwrap();
/// assert_eq!((weights.min, weights.max, weights.mean, weights.zero), (0.0, 3.0, 1.5, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightStats {
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
    /// Rows of weight zero: training passes over them.
    pub zero: u64,
}

/// The least and the greatest of some numbers.
#[derive(Clone, Copy)]
pub(super) struct Range(pub f64, pub f64);

impl Default for Range {
    fn default() -> Range {
        Range(f64::INFINITY, f64::NEG_INFINITY)
    }
}

impl Range {
    #[inline]
    pub fn meet(&mut self, x: f64) {
        *self = Range(self.0.min(x), self.1.max(x));
    }
}

/// Counts of rows and values.
#[derive(Default)]
pub(super) struct Shape {
    pub rows: u64,
    pub nonzeros: u64,
    pub copies: u64,
    sizes: BTreeMap<u64, u64>, // how many rows have so many non-zeros
    seen: HashSet<u64>,        // a hash of each row
    row: Vec<u8>,              // the row that is met, as bytes
    size: u64,
    values: Range,
    ones: u64,
    negative: u64,
    broken: u64, // values that are not whole
    weights: Range,
    weight: f64,
    weightless: u64,
}

impl Shape {
    /// A row begins.
    pub fn begin(&mut self, target: Option<u64>, weight: f64) {
        self.row.clear();
        self.row.extend(target.unwrap_or(0).to_le_bytes());
        self.size = 0;
        self.weights.meet(weight);
        self.weight += weight;
        self.weightless += u64::from(weight == 0.0);
    }

    /// A value of the row.
    #[inline]
    pub fn value(&mut self, id: u32, x: f64) {
        self.row.extend(id.to_le_bytes());
        self.row.extend(x.to_bits().to_le_bytes());
        self.size += 1;
        self.values.meet(x);
        self.ones += u64::from(x == 1.0);
        self.negative += u64::from(x < 0.0);
        self.broken += u64::from(x.fract() != 0.0);
    }

    /// The row ends.
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
