//! Feature statistics: which features occur, how often, and the sums of their values.

use super::l1_max::GradientTerms;
use crate::data::feature_ids::FeatureIds;
use crate::data::format::Span;
use hashbrown::HashMap;
use serde::Serialize;

/// Statistics of the features of a file.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-feature-stats.svm");
/// std::fs::write(&file, "1 1:1 7:1\n2 1:1 9:0\n").unwrap();
/// let features = lazyglm::stats::stats(&file, &Default::default()).unwrap().features;
/// assert_eq!((features.distinct, features.once, features.constant), (2, 1, 1));
/// assert_eq!((features.kind, features.lowest, features.highest), ("indices", Some(1), Some(9)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeatureStats {
    /// Number of features with a non-zero value in at least one row.
    pub distinct: u64,
    /// Kind of the features: `indices`, `names`, or `buckets` that names are hashed into.
    pub kind: &'static str,
    /// The lowest index written, even if its value is zero. `None` for names.
    pub lowest: Option<u32>,
    /// The highest index written, even if its value is zero. `None` for names.
    pub highest: Option<u32>,
    /// Number of features that occur in exactly one row.
    pub once: u64,
    /// Number of features with the same value in all rows, which carry no information.
    pub constant: u64,
}

/// Ids below this bound are stored in a list, and other ids in a hash table, because few of those may occur.
const DIRECT: u32 = 1 << 22;
/// Number of features whose distinct values are counted: the columns of a table come first.
const VALUED: u32 = 256;
/// Most distinct values that are counted.
const VALUES: usize = 1000;
/// Number of examples per column.
pub(super) const EXAMPLES: usize = 3;
/// Marks an id that has not occurred.
const NONE: u32 = u32::MAX;

/// Statistics of one feature.
pub(super) struct Column {
    pub rows: u64,
    pub value: f64, // the first value seen
    same: bool,     // whether all other values equal the first
    pub sums: GradientTerms,
}

/// Distinct values of a feature.
#[derive(Default)]
struct Values {
    all: HashMap<u64, u64>, // and how many rows have each
    first: Vec<f64>,
}

/// Statistics of all features seen so far.
#[derive(Default)]
pub(super) struct Columns {
    low: Vec<u32>,
    high: HashMap<u32, u32>,
    pub all: Vec<Column>,
    values: Vec<Values>, // of the first features
}

impl Columns {
    /// Adds a value of a feature in one row, and that row's contribution to the gradient at zero.
    #[inline]
    pub fn add(&mut self, id: u32, x: f64, terms: GradientTerms) {
        if id < VALUED {
            self.see_value(id as usize, x);
        }
        let column = self.column(id, x);
        column.rows += 1;
        column.same &= column.value == x;
        column.sums.add(terms, x);
    }

    fn see_value(&mut self, id: usize, x: f64) {
        if self.values.len() <= id {
            self.values.resize_with(id + 1, Values::default);
        }
        let Values { all, first } = &mut self.values[id];
        if let Some(rows) = all.get_mut(&x.to_bits()) {
            *rows += 1;
        } else if all.len() < VALUES {
            all.insert(x.to_bits(), 1);
            first.extend((first.len() <= EXAMPLES).then_some(x)); // one more than are shown
        }
    }

    #[inline]
    fn column(&mut self, id: u32, x: f64) -> &mut Column {
        let next = self.all.len() as u32;
        let place = if id < DIRECT {
            let id = id as usize;
            if self.low.len() <= id {
                self.low.resize((2 * id).clamp(1024, DIRECT as usize), NONE);
            }
            &mut self.low[id]
        } else {
            self.high.entry(id).or_insert(NONE)
        };
        if *place == NONE {
            *place = next;
            self.all.push(Column { rows: 0, value: x, same: true, sums: GradientTerms::default() });
        }
        &mut self.all[*place as usize]
    }

    /// The statistics of the feature with this id.
    pub fn of(&self, id: u32) -> Option<&Column> {
        let place = self.low.get(id as usize).or_else(|| self.high.get(&id)).copied()?;
        self.all.get(place as usize)
    }

    /// The number of distinct values of a feature that is among the first, and whether there may be more.
    pub fn values(&self, id: u32) -> Option<(usize, bool)> {
        self.values.get(id as usize).map(|values| (values.all.len(), values.all.len() == VALUES))
    }

    /// The number of rows in which a feature that is among the first has a value.
    pub fn rows_with(&self, id: u32, x: f64) -> u64 {
        self.values.get(id as usize).and_then(|values| values.all.get(&x.to_bits())).copied().unwrap_or(0)
    }

    /// The first distinct values of a feature, one more than are shown.
    pub fn examples(&self, id: u32) -> Vec<f64> {
        let few = self.values.get(id as usize).map(|values| values.first.clone());
        few.or_else(|| Some(vec![self.of(id)?.value])).unwrap_or_default()
    }

    pub fn stats(&self, rows: u64, feature_ids: &FeatureIds, span: Option<Span>) -> FeatureStats {
        let count = |is: &dyn Fn(&Column) -> bool| self.all.iter().filter(|column| is(column)).count() as u64;
        let (kind, span) = match feature_ids {
            FeatureIds::Indices => ("indices", span),
            FeatureIds::Words(_) => ("names", None),
            FeatureIds::Buckets(_) => ("buckets", None),
        };
        FeatureStats {
            distinct: self.all.len() as u64,
            kind,
            lowest: span.map(|span| span.low.index),
            highest: span.map(|span| span.high.index),
            once: count(&|column| column.rows == 1),
            constant: count(&|column| column.rows == rows && column.same),
        }
    }
}
