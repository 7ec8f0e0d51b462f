//! Statistics of the columns of a table, told from the features that they became.

use super::columns::Columns;
use crate::data::feature_ids::FeatureIds;
use crate::data::format::FormatSpec;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Number of examples per column.
const EXAMPLES: usize = 3;

/// Statistics of one column of a table.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-column-stats.csv");
/// std::fs::write(&file, "city,age,y\nOslo,31,1\nOslo,,0\nBergen,40,1\n").unwrap();
/// let stats = lazyglm::stats::stats(&file, &Default::default()).unwrap();
/// let [city, age] = &stats.columns[..] else { panic!("two columns") };
/// assert_eq!((city.kind, city.distinct, &city.examples[..]), ("category", Some(2), &["Oslo".to_string(), "Bergen".into()][..]));
/// assert_eq!((age.kind, age.missing), ("number", Some(1)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnStats {
    /// Name of the column.
    pub name: String,
    /// What the column is taken for: `number`, `category`, `text`, `date`, `list`, `map`, `offset` or `dropped`.
    pub kind: &'static str,
    /// Number of rows without a value, or `None` if rows do not tell a missing value from zero.
    pub missing: Option<u64>,
    /// Number of distinct values, or of distinct terms of text. `None` if the values of the column are not counted.
    pub distinct: Option<u64>,
    /// Whether there are more distinct values than were counted.
    pub and_more: bool,
    /// The most frequent values, or the first number.
    pub examples: Vec<String>,
}

/// The features of one column.
#[derive(Default)]
struct Found<'a> {
    own: Option<u32>, // the id of the column's own name
    missing: u64,
    filled: u64, // number of values
    terms: Vec<(u64, &'a str)>,
}

/// The columns of a table. Hashed features do not tell their columns.
pub(super) fn columns(
    recipe: &FormatSpec,
    naming: &FeatureIds,
    features: &Columns,
    rows: u64,
) -> Vec<ColumnStats> {
    let roles = recipe.roles();
    let FeatureIds::Words(words) = naming else { return Vec::new() };
    let places: HashMap<&str, usize> = roles.iter().enumerate().map(|(k, (name, _))| (*name, k)).collect();
    let mut found: Vec<Found> = roles.iter().map(|_| Found::default()).collect();
    for (id, name) in (0..).zip(words.iter()) {
        let space = recipe.namespace(name);
        let Some(&k) = places.get(&*space) else { continue };
        let (found, count) = (&mut found[k], features.of(id).map_or(0, |feature| feature.rows));
        match name.len().checked_sub(MISSING.len()).map(|at| name.split_at(at)) {
            _ if *space == *name => found.own = Some(id),
            Some((_, MISSING)) if roles[k].1 == "number" || roles[k].1 == "date" => found.missing = count,
            _ => {
                found.filled += count;
                let value = name.split_once('=').map_or(name, |(_, value)| value);
                found.terms.push((count, value));
            }
        }
    }
    let column =
        |((name, kind), found): (&(&str, &'static str), Found)| described(name, kind, found, features, rows);
    roles.iter().zip(found).map(column).collect()
}

/// The end of the name of an indicator.
const MISSING: &str = "=missing";

fn described(name: &str, kind: &'static str, mut found: Found, features: &Columns, rows: u64) -> ColumnStats {
    found.terms.sort_by_key(|(count, value)| (Reverse(*count), *value));
    let terms = found.terms.iter().take(EXAMPLES).map(|(_, value)| value.to_string());
    let counted = found.own.and_then(|id| features.values(id));
    let (missing, distinct, examples) = match kind {
        "number" => {
            let value = found.own.and_then(|id| features.of(id)).map(|feature| feature.value.to_string());
            (Some(found.missing), counted.map(|(count, _)| count as u64), value.into_iter().collect())
        }
        "date" => (Some(found.missing), counted.map(|(count, _)| count as u64), terms.collect()),
        "category" => (rows.checked_sub(found.filled), Some(found.terms.len() as u64), terms.collect()),
        "text" | "list" | "map" => (None, Some(found.terms.len() as u64), terms.collect()),
        _ => (None, None, Vec::new()),
    };
    let and_more = counted.is_some_and(|(_, more)| more) && matches!(kind, "number" | "date");
    ColumnStats { name: name.to_string(), kind, missing, distinct, and_more, examples }
}
