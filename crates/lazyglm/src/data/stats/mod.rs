//! Statistics of a data file in one pass: sizes, values, targets, duplicate rows and λ₁_max.
//!
//! The file is read block by block. In memory stay:
//!
//! - a histogram of non-zeros per row,
//! - about 50 bytes per feature, and the vocabulary if features have names,
//! - up to a million targets,
//! - a 64-bit hash per row (10 to 20 bytes in a hash set), to find duplicates.
//!
//! ```
//! let file = std::env::temp_dir().join("lazyglm-doc-stats.svm");
//! std::fs::write(&file, "spam 1:1 3:2\nham 1:1\nspam 1:1 3:2\n").unwrap();
//! let stats = lazyglm::stats::stats(&file, &Default::default()).unwrap();
//! assert_eq!((stats.rows, stats.nonzeros, stats.duplicates), (3, 5, Some(1)));
//! assert_eq!((stats.features.distinct, stats.features.constant), (2, 1), "feature 1 is 1 in every row");
//! ```

mod columns;
mod l1_max;
mod roles;
mod shape;
mod targets;

pub use columns::FeatureStats;
pub use l1_max::L1Max;
pub use roles::ColumnStats;
pub use shape::{RowSizes, ValueStats, WeightStats};
pub use targets::{ClassStats, NumberStats, TargetStats};

use crate::data::dataset::query_note;
use crate::data::format::{DirtyCells, Parsed, ReadOptions, Span};
use crate::data::loader;
use crate::util::error::{Error, Place, Result};
use columns::Columns;
use l1_max::NullGradient;
use serde::Serialize;
use shape::Shape;
use std::path::Path;
use targets::Targets;

/// Statistics of a data file.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-stats-json.svm");
/// std::fs::write(&file, "1 1:1\n2 2:1\n4 3:0.5\n").unwrap();
/// let stats = lazyglm::stats::stats(&file, &Default::default()).unwrap();
/// let json = serde_json::to_value(&stats).unwrap();
/// assert_eq!((json["rows"].as_u64(), json["l1_max"]["loss"].as_str()), (Some(3), Some("squared")));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// Name of the format.
    pub format: String,
    /// Number of rows.
    pub rows: u64,
    /// Statistics of the features.
    pub features: FeatureStats,
    /// The columns of a table, and what each is taken for. Empty for other formats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnStats>,
    /// Number of non-zero values.
    pub nonzeros: u64,
    /// Non-zeros divided by the product of rows and occurring features, or 0 if no feature occurs.
    pub density: f64,
    /// Distribution of the number of non-zeros per row.
    pub row_nonzeros: RowSizes,
    /// Statistics of the non-zero values, or `None` if there are none.
    pub values: Option<ValueStats>,
    /// Statistics of the targets.
    pub targets: TargetStats,
    /// Statistics of the sample weights in the file, or `None` if no row has one.
    pub weights: Option<WeightStats>,
    /// Number of rows whose features, values and target equal those of an earlier row. `None` if only some
    /// rows have a target.
    pub duplicates: Option<u64>,
    /// λ₁_max, the smallest λ₁ at which all weights are zero, or why it is undefined.
    pub l1_max: L1Max,
    /// Notes for the user, for example about ignored query ids.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Reads a file once and returns its statistics.
///
/// ```
/// use lazyglm::data::format::ReadOptions;
/// let file = std::env::temp_dir().join("lazyglm-doc-stats.vw");
/// std::fs::write(&file, "1 2.5 | viagra offer\n-1 | meeting\n").unwrap();
/// let stats = lazyglm::stats::stats(&file, &ReadOptions::default()).unwrap();
/// assert_eq!((stats.format.as_str(), stats.features.once, stats.weights.unwrap().max), ("vw", 3, 2.5));
/// ```
pub fn stats(path: &Path, asked: &ReadOptions) -> Result<Stats> {
    let mut counted = Counted::default();
    let see = &mut |block: &mut Parsed| {
        counted.add_block(block);
        Ok(())
    };
    let info = loader::for_each_once(path, asked, see)?;
    let Counted { shape, columns, targets, null_gradient, span, with_query, dirty, with_offsets } = counted;
    if shape.rows == 0 {
        return Err(Error::data(Place::file(path), "there are no rows in it", "give a file with data"));
    }
    let spec = &info.reading.spec;
    if shape.nonzeros == 0 && span.is_none() {
        let what = format!("no row has a feature: this does not look like {}", spec.name());
        return Err(Error::data(Place::file(path), what, format!("write a row as: {}", spec.shape())));
    }
    let features = columns.stats(shape.rows, &info.feature_ids, span);
    let (of_table, unlisted) = roles::columns(spec, &info.feature_ids, &columns, shape.rows);
    let cells = shape.rows as f64 * features.distinct as f64;
    let density = if cells > 0.0 { shape.nonzeros as f64 / cells } else { 0.0 };
    let mut notes = info.notes;
    notes.extend(query_note(path, with_query));
    notes.extend(dirty.iter().map(|cells| cells.note(path)));
    notes.extend(unlisted);
    if info.reading.idf().is_some() || !spec.text_columns(true).is_empty() {
        notes.push(
            "these are the values without the factors of idf=yes, which training applies: there, l1_max differs".into(),
        );
    }
    if with_offsets {
        notes.push("rows have offsets: l1_max is that of the rows without them".into());
    }
    Ok(Stats {
        format: spec.name().to_string(),
        rows: shape.rows,
        nonzeros: shape.nonzeros,
        density,
        row_nonzeros: shape.row_sizes(),
        values: shape.values(),
        weights: shape.weights(),
        duplicates: (!targets.is_mixed()).then_some(shape.copies),
        columns: of_table,
        l1_max: null_gradient.l1_max(&columns, &targets),
        targets: targets.stats(),
        features,
        notes,
    })
}

/// Counts collected so far.
#[derive(Default)]
struct Counted {
    shape: Shape,
    columns: Columns,
    targets: Targets,
    null_gradient: NullGradient,
    span: Option<Span>,
    with_query: usize,
    dirty: Vec<DirtyCells>,
    with_offsets: bool,
}

impl Counted {
    fn add_block(&mut self, block: &Parsed) {
        self.span = Span::of_both(self.span, block.span);
        self.with_query += block.with_query;
        DirtyCells::join(&mut self.dirty, &block.dirty);
        self.with_offsets |= !block.offsets.is_empty();
        let targets = self.targets.add_block(block);
        for (i, target) in targets.iter().enumerate() {
            let (weight, target) = (block.weights.get(i).copied().unwrap_or(1.0), target.as_ref());
            let terms = self.null_gradient.add_row(target, weight);
            self.shape.begin(target.map(|target| target.hash), weight);
            block.rows.borrow().for_each(i, |id, x| {
                self.shape.value(id as u32, x);
                self.columns.add(id as u32, x, terms);
            });
            self.shape.end();
        }
    }
}
