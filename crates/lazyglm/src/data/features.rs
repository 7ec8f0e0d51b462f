//! The map between features and columns. Features are indices as written, words or buckets; columns count
//! from 0.

use crate::data::feature_ids::FeatureIds;
use crate::data::format::{FormatSpec, FoundIndex, Parsed, Span};
use crate::data::rows::Rows;
use crate::data::scaling::Scaling;
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use std::path::Path;
use std::sync::Arc;

/// Up to this number of features, every feature gets a column. Above it, only features that occur get one.
const DIRECT: usize = 1 << 22;

/// The features of a data set and their columns.
///
/// ```
/// let features = lazyglm::Features::columns_from(1, 3); // 1, 2 and 3 in the file are 0, 1 and 2 in memory
/// assert_eq!((features.index(0), features.column(3)), (1, Some(2)));
/// assert_eq!((features.column(0), features.column(4)), (None, None));
/// ```
#[derive(Clone, Debug)]
pub struct Features {
    /// The index of the first feature: 0 or 1.
    pub base: u32,
    /// d: the number of features, including features that do not occur.
    pub count: usize,
    /// The columns, unless they are all features in ascending order.
    given: Option<Arc<Given>>,
    /// What the feature ids stand for.
    pub feature_ids: Arc<FeatureIds>,
    /// The scaling of values.
    pub(crate) scaling: Arc<Scaling>,
}

/// An explicit list of columns, for features that are mostly absent or that are renumbered.
#[derive(Debug)]
struct Given {
    /// The feature index of each column.
    index: Vec<u32>,
    /// The columns in the order of their indices, if that order differs from column order.
    sorted: Option<Vec<u32>>,
}

impl Given {
    /// One column per index. The indices must be ascending.
    fn rising(index: Vec<u32>) -> Given {
        Given { index, sorted: None }
    }

    /// One column per index, in the given order.
    fn in_order(index: Vec<u32>) -> Given {
        let mut sorted: Vec<u32> = (0..index.len() as u32).collect();
        sorted.sort_unstable_by_key(|&column| index[column as usize]);
        Given { index, sorted: Some(sorted) }
    }

    fn column(&self, index: u32) -> Option<u32> {
        match &self.sorted {
            None => self.index.binary_search(&index).ok().map(|column| column as u32),
            Some(sorted) => {
                let place = sorted.binary_search_by_key(&index, |&column| self.index[column as usize]);
                place.ok().map(|place| sorted[place])
            }
        }
    }
}

/// Base and number of features as declared by the caller, where the data leave them open.
///
/// ```
/// use lazyglm::{Dataset, Declared};
/// let file = std::env::temp_dir().join("lazyglm-doc-declared.svm");
/// std::fs::write(&file, "1 1:1\n-1 3:1\n").unwrap();
/// let count = |declared| Dataset::read(&file, declared).unwrap().features.count;
/// assert_eq!(count(Declared::default()), 3);
/// assert_eq!(count(Declared { base: Some(0), count: None }), 4, "0, 1, 2 and 3");
/// assert_eq!(count(Declared { base: None, count: Some(100) }), 100);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Declared {
    /// The index of the first feature. By default, 0 if an index 0 occurs, otherwise 1.
    pub base: Option<u32>,
    /// The number of features. By default, features up to the highest index.
    pub count: Option<usize>,
}

impl Declared {
    /// Rejects a declared base or count if features are not indices.
    pub(crate) fn check(&self, feature_ids: &FeatureIds) -> Result<()> {
        let given = self.base.map(|_| Parameter::IndexBase).or(self.count.map(|_| Parameter::Features));
        match (feature_ids, given) {
            (FeatureIds::Indices, _) | (_, None) => Ok(()),
            (_, Some(given)) => {
                let what = format!("{given} is about indices, and these features have names or buckets");
                Err(Error::call(what, format!("leave {given} out")))
            }
        }
    }
}

impl Features {
    /// For each column, whether it is a term of one of these columns of a table. `None` if features have no names.
    pub(crate) fn terms_of(&self, spec: &FormatSpec, columns: &[String]) -> Option<Vec<bool>> {
        let is_term = |column: usize| {
            let name = self.name(column);
            let space = spec.namespace(&name);
            *space != *name && columns.iter().any(|column| *column == *space)
        };
        let named = matches!(*self.feature_ids, FeatureIds::Words(_)) && !columns.is_empty();
        named.then(|| (0..self.columns()).map(is_term).collect())
    }

    /// One column per feature, for the features `base`, `base` + 1, …
    ///
    /// ```
    /// let features = lazyglm::Features::columns_from(0, 5);
    /// assert_eq!((features.columns(), features.index(4)), (5, 4));
    /// ```
    pub fn columns_from(base: u32, count: usize) -> Features {
        Features { base, count, given: None, feature_ids: Arc::default(), scaling: Arc::default() }
    }

    /// One column per name.
    ///
    /// ```
    /// assert_eq!(lazyglm::Features::named(&["height".into(), "width".into()]).name(1), "width");
    /// ```
    pub fn named(names: &[String]) -> Features {
        let words = FeatureIds::Words(names.iter().map(String::as_str).collect());
        Features { feature_ids: Arc::new(words), ..Features::columns_from(0, names.len()) }
    }

    /// Determines the features of rows whose ids are indices as written, and replaces the ids by columns.
    ///
    /// ```
    /// use lazyglm::{Declared, Features, data::format::{Parsed, Parser, Svmlight}};
    /// let (mut parsed, file) = (Parsed::default(), "mail.svm".as_ref());
    /// Svmlight::default().parse(b"1 1:1 7:1\n", file, &mut parsed).unwrap();
    /// let features = Features::assign(&mut parsed.rows, parsed.span, Declared::default(), file).unwrap();
    /// assert_eq!((features.base, features.count, parsed.rows.ids()), (1, 7, &[0, 6][..]));
    /// ```
    pub fn assign(rows: &mut Rows, span: Option<Span>, declared: Declared, file: &Path) -> Result<Features> {
        Features::of(rows, FeatureIds::Indices, None, span, declared, file)
    }

    /// Determines the features of rows whose ids are global ids, and replaces the ids by columns. With an
    /// `order`, ids are positions in that order.
    pub(crate) fn of(
        rows: &mut Rows,
        feature_ids: FeatureIds,
        order: Option<Vec<u32>>,
        span: Option<Span>,
        declared: Declared,
        file: &Path,
    ) -> Result<Features> {
        let (base, count) = match &feature_ids {
            FeatureIds::Indices => counting(span, declared, file)?,
            FeatureIds::Words(words) => (0, words.len()),
            FeatureIds::Buckets(buckets) => (0, 1 << buckets.bits()),
        };
        let all = count <= DIRECT || matches!(feature_ids, FeatureIds::Words(_)); // every word of the vocabulary occurs
        let given = match order {
            Some(order) => Some(Given::in_order(order)),
            None if all => None,
            None => Some(distinct(rows.ids())).filter(|ids| ids.len() < count / 2).map(Given::rising),
        };
        let (given, feature_ids) = (given.map(Arc::new), Arc::new(feature_ids));
        let features = Features { base, count, given, feature_ids, scaling: Arc::default() };
        features.to_columns(rows)?;
        Ok(features)
    }

    /// The features of data that are not in memory. `occurs` marks the ids that occur.
    pub(crate) fn surveyed(
        feature_ids: FeatureIds,
        order: Option<Vec<u32>>,
        span: Option<Span>,
        declared: Declared,
        file: &Path,
        occurs: &[bool],
    ) -> Result<Features> {
        // Assign columns to one row of all indices, so that the same rules apply.
        let mut rows = Rows::new();
        if order.is_none() {
            let ids: Vec<u32> = (0..occurs.len() as u32).filter(|&id| occurs[id as usize]).collect();
            rows.push_known(&ids, &vec![1.0; ids.len()]);
        }
        Features::of(&mut rows, feature_ids, order, span, declared, file)
    }

    /// For each column, whether its feature occurs, given which ids occur.
    pub(crate) fn occurring_columns(&self, occurs: &[bool]) -> Vec<bool> {
        (0..self.columns()).map(|column| occurs.get(self.index(column) as usize) == Some(&true)).collect()
    }

    /// Replaces the ids of rows by columns. All ids must be known.
    pub(crate) fn to_columns(&self, rows: &mut Rows) -> Result<()> {
        match self.given.as_deref() {
            None => rows.count_from(self.base, self.count),
            Some(Given { index, sorted: Some(_) }) => rows.count_from(0, index.len()), // the ids are columns already
            Some(Given { index, sorted: None }) => {
                rows.rename(index.len(), |id| index.partition_point(|&known| known < id) as u32)
            }
        }
    }

    /// Maps the rows of another block to columns by name. Values of unknown features, and of columns that do
    /// not occur, are dropped and counted in `dropped`.
    pub(crate) fn apply(&self, block: &Parsed, occurs: &[bool], dropped: &mut usize) -> Result<Rows> {
        let index_of_name: Option<Vec<Option<u32>>> =
            block.names.as_ref().map(|names| names.iter().map(|name| self.feature_ids.find(name)).collect());
        let column = |id: u32| {
            let index = match &index_of_name {
                Some(of_name) => of_name[id as usize],
                None => self.feature_ids.find_index(id),
            };
            index.and_then(|index| self.column(index)).filter(|&column| occurs[column as usize])
        };
        let (mut renamed, mut pairs, lent) = (Parsed::default(), Vec::new(), block.rows.borrow());
        for i in 0..lent.len() {
            pairs.clear();
            lent.for_each(i, |id, x| match column(id as u32) {
                Some(column) => pairs.push((column, x)),
                None => *dropped += 1,
            });
            let infinite =
                |_| Error::call("the values of one feature sum to infinity", "scale the values down");
            renamed.push_row(&mut pairs).map_err(infinite)?;
        }
        renamed.rows.declare_columns(self.columns());
        self.scaling.apply(&mut renamed.rows, false);
        Ok(renamed.rows)
    }

    /// Number of columns: d, unless only occurring features have one.
    pub fn columns(&self) -> usize {
        self.given.as_ref().map_or(self.count, |given| given.index.len())
    }

    /// The name of a column: its index as written, its word or its bucket.
    ///
    /// ```
    /// assert_eq!(lazyglm::Features::columns_from(1, 3).name(2), "3");
    /// ```
    pub fn name(&self, column: usize) -> String {
        self.feature_ids.text(self.index(column))
    }

    /// The feature index of a column: its index as written, the number of its word, or its bucket.
    ///
    /// ```
    /// let features = lazyglm::Features::columns_from(1, 3);
    /// assert_eq!((0..3).map(|column| features.index(column)).collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    pub fn index(&self, column: usize) -> u32 {
        self.given.as_ref().map_or(column as u32 + self.base, |given| given.index[column])
    }

    /// Converts the weight of a column from scaled values to the units of the data.
    ///
    /// ```
    /// assert_eq!(lazyglm::Features::columns_from(1, 3).in_data_units(2, 0.5), 0.5, "nothing was scaled");
    /// ```
    pub fn in_data_units(&self, column: usize, weight: f64) -> f64 {
        weight * self.scaling.factor(column)
    }

    /// The column of a feature index as written, if there is one.
    ///
    /// ```
    /// let features = lazyglm::Features::columns_from(1, 3);
    /// assert_eq!([0, 1, 3, 4].map(|index| features.column(index)), [None, Some(0), Some(2), None]);
    /// ```
    pub fn column(&self, index: u32) -> Option<u32> {
        match &self.given {
            Some(given) => given.column(index),
            None => index.checked_sub(self.base).filter(|&column| (column as usize) < self.count),
        }
    }

    /// The columns in the order of their indices.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = usize> + '_ {
        let sorted = self.given.as_ref().and_then(|given| given.sorted.as_deref());
        (0..self.columns()).map(move |k| sorted.map_or(k, |sorted| sorted[k] as usize))
    }
}

/// The first index and the number of features, for features that are indices as written.
fn counting(span: Option<Span>, declared: Declared, file: &Path) -> Result<(u32, usize)> {
    let base = declared.base.unwrap_or(u32::from(span.is_none_or(|span| span.low.index > 0)));
    let high = span.map_or(u64::from(base), |span| u64::from(span.high.index) + 1);
    let found = high.saturating_sub(u64::from(base)) as usize;
    if let Some(Span { low, high }) = span {
        let place = |at: FoundIndex| Place::file(file).line(at.line).column(at.column);
        if low.index < base {
            let what = format!("index {} occurs, but indices were said to start at {base}", low.index);
            return Err(Error::data(
                place(low),
                what,
                format!("leave {base} out, or set it to 0", base = Parameter::IndexBase),
            ));
        }
        if let Some(count) = declared.count.filter(|&count| found > count) {
            let what = format!("index {} is beyond the {count} features declared", high.index);
            return Err(Error::data(
                place(high),
                what,
                format!("raise {} to {found} or more", Parameter::Features),
            ));
        }
    }
    Ok((base, declared.count.unwrap_or(found)))
}

fn distinct(ids: &[u32]) -> Vec<u32> {
    let mut distinct = ids.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}
