//! What is in a file of data, found in one pass: sizes, values, targets, copies, and how much ℓ₁ penalty is too much.
//!
//! The file is read block by block. What stays in memory: a histogram of non-zeros a row, some 50 bytes a feature, the
//! vocabulary if features have names, up to a million targets, and a 64-bit hash of each row (10 to 20 bytes a row in a
//! hash set) to find copies.
//!
//! ```
//! let file = std::env::temp_dir().join("lazyglm-doc-stats.svm");
//! std::fs::write(&file, "spam 1:1 3:2\nham 1:1\nspam 1:1 3:2\n").unwrap();
//! let stats = lazyglm::stats::stats(&file, &Default::default()).unwrap();
//! assert_eq!((stats.rows, stats.nonzeros, stats.duplicates), (3, 5, Some(1)));
//! assert_eq!((stats.features.distinct, stats.features.constant), (2, 1), "feature 1 is 1 in every row");
//! ```

mod columns;
mod shape;
mod slopes;
mod targets;

pub use columns::FeatureStats;
pub use shape::{RowSizes, ValueStats, WeightStats};
pub use slopes::L1Max;
pub use targets::{ClassStats, NumberStats, TargetStats};

use crate::data::dataset::query_note;
use crate::data::format::{Parsed, ReadOptions, Span};
use crate::data::loader;
use crate::util::error::{Error, Place, Result};
use columns::Columns;
use serde::Serialize;
use shape::Shape;
use slopes::Slopes;
use std::path::Path;
use targets::Targets;

/// What is in a file.
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
    /// The name of the format.
    pub format: String,
    /// How many rows there are.
    pub rows: u64,
    /// Which features occur.
    pub features: FeatureStats,
    /// How many values there are that are not zero.
    pub nonzeros: u64,
    /// Non-zeros divided by rows times features that occur; 0 if none does.
    pub density: f64,
    /// Non-zeros a row.
    pub row_nonzeros: RowSizes,
    /// The values; `None` if there are none.
    pub values: Option<ValueStats>,
    /// The targets.
    pub targets: TargetStats,
    /// The weights that rows have of their own; `None` if no row has one.
    pub weights: Option<WeightStats>,
    /// Rows whose features, values and target are those of an earlier row; `None` if some rows have a target and
    /// others have none.
    pub duplicates: Option<u64>,
    /// The smallest λ₁ at which all weights are zero, or why there is none.
    pub l1_max: L1Max,
    /// What a reader may want to know: ignored query ids.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Reads a file once and says what is in it.
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
        counted.meet(block);
        Ok(())
    };
    let supplied = loader::for_each_once(path, asked, see)?;
    let Counted { shape, columns, targets, slopes, span, with_query } = counted;
    if shape.rows == 0 {
        return Err(Error::data(Place::file(path), "there are no rows in it", "give a file with data"));
    }
    let recipe = &supplied.reading.recipe;
    if shape.nonzeros == 0 && span.is_none() {
        let what = format!("no row has a feature: this does not look like {}", recipe.name());
        return Err(Error::data(Place::file(path), what, format!("write a row as: {}", recipe.shape())));
    }
    let features = columns.stats(shape.rows, &supplied.naming, span);
    let cells = shape.rows as f64 * features.distinct as f64;
    let density = if cells > 0.0 { shape.nonzeros as f64 / cells } else { 0.0 };
    let mut notes = supplied.notes;
    notes.extend(query_note(path, with_query));
    if supplied.reading.idf().is_some() {
        notes.push(
            "these are the values before idf=yes, which training multiplies in: its l1_max is another".into(),
        );
    }
    Ok(Stats {
        format: recipe.name().to_string(),
        rows: shape.rows,
        nonzeros: shape.nonzeros,
        density,
        row_nonzeros: shape.row_sizes(),
        values: shape.values(),
        weights: shape.weights(),
        duplicates: (!targets.is_mixed()).then_some(shape.copies),
        l1_max: slopes.l1_max(&columns, &targets),
        targets: targets.stats(),
        features,
        notes,
    })
}

/// What was counted so far.
#[derive(Default)]
struct Counted {
    shape: Shape,
    columns: Columns,
    targets: Targets,
    slopes: Slopes,
    span: Option<Span>,
    with_query: usize,
}

impl Counted {
    fn meet(&mut self, block: &Parsed) {
        self.span = Span::of_both(self.span, block.span);
        self.with_query += block.with_query;
        let targets = self.targets.meet(block);
        for (i, target) in targets.iter().enumerate() {
            let (weight, target) = (block.weights.get(i).copied().unwrap_or(1.0), target.as_ref());
            let pull = self.slopes.meet(target, weight);
            self.shape.begin(target.map(|target| target.hash), weight);
            block.rows.borrow().for_each(i, |id, x| {
                self.shape.value(id as u32, x);
                self.columns.meet(id as u32, x, pull);
            });
            self.shape.end();
        }
    }
}
