//! Statistics of the columns of a table, told from the features that they became.

use super::columns::{Columns, EXAMPLES};
use crate::data::feature_ids::FeatureIds;
use crate::data::format::FormatSpec;
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

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
    /// The most frequent values, or the first numbers.
    pub examples: Vec<String>,
}

/// The features of one column.
#[derive(Default)]
struct Found<'a> {
    own: Option<u32>, // the id of the column's own name
    missing: u64,
    filled: u64,       // number of values
    fill: Option<f64>, // the value of a missing number, if it is not zero
    terms: Vec<(u64, &'a str)>,
}

/// Most keys of JSON Lines that are listed though they were not decided, since few rows have them.
const RARE: usize = 50;

/// The columns of a table, and a note if some are not listed. Hashed features do not tell their columns.
pub(super) fn columns(
    spec: &FormatSpec,
    feature_ids: &FeatureIds,
    features: &Columns,
    rows: u64,
) -> (Vec<ColumnStats>, Option<String>) {
    let mut roles = spec.roles();
    let FeatureIds::Words(words) = feature_ids else { return (Vec::new(), None) };
    let (mut rare, mut note) = (Vec::new(), None);
    if let FormatSpec::Jsonl { .. } = spec {
        let known: HashSet<&str> = roles.iter().map(|(name, _)| *name).collect();
        let mut vectors: Vec<&str> = words.iter().filter_map(vector).collect();
        vectors.dedup(); // the coordinates of a vector mostly come one after the other
        let mut seen = HashSet::new();
        vectors.retain(|name| !known.contains(name) && seen.insert(*name));
        let is_known = |name: &str| known.contains(name) || seen.contains(name);
        rare = undecided(spec, words.iter().zip(0..), features, &is_known);
        roles.extend(vectors.into_iter().map(|name| (name, "list")));
        let more = rare.len().saturating_sub(RARE);
        note =
            (more > 0).then(|| format!("{more} keys that fewer rows have are not listed among the columns"));
        rare.truncate(RARE);
    }
    roles.extend(rare.iter().map(|(name, kind)| (name.as_str(), *kind)));
    let places: HashMap<&str, usize> = roles.iter().enumerate().map(|(k, (name, _))| (*name, k)).collect();
    let mut found: Vec<Found> = roles.iter().map(|_| Found::default()).collect();
    for (id, name) in (0..).zip(words.iter()) {
        let is_list = |name: &&str| places.get(name).is_some_and(|&k| roles[k].1 == "list");
        let is_map = |name: &&str| places.get(name).is_some_and(|&k| roles[k].1 == "map");
        let key = || name.match_indices('.').map(|(dot, _)| &name[..dot]).find(is_map);
        let coordinate = vector(name).filter(is_list).or_else(key);
        let space = coordinate.map_or_else(|| spec.namespace(name), Cow::Borrowed);
        let Some(&k) = places.get(&*space) else { continue };
        let (found, count) = (&mut found[k], features.of(id).map_or(0, |feature| feature.rows));
        match name.strip_suffix(MISSING) {
            _ if *space == *name => found.own = Some(id),
            Some(_) if matches!(roles[k].1, "number" | "duration" | "date" | "time of day") => {
                found.missing = count;
            }
            _ => {
                found.filled += count;
                let value = match coordinate {
                    Some(column) => &name[column.len()..],
                    None => name.split_once('=').map_or(name, |(_, value)| value),
                };
                found.terms.push((count, value));
            }
        }
    }
    let fills = spec.fills();
    let column = |((name, kind), found): (&(&str, &'static str), Found)| {
        let fill = fills.get(*name).copied().filter(|value| *value != 0.0);
        described(name, kind, Found { fill, ..found }, features, rows)
    };
    (roles.iter().zip(found).map(column).collect(), note)
}

/// The keys of JSON Lines whose values are taken by their types, the most frequent first.
fn undecided<'a>(
    spec: &FormatSpec,
    names: impl Iterator<Item = (&'a str, u32)>,
    features: &Columns,
    is_known: &dyn Fn(&str) -> bool,
) -> Vec<(String, &'static str)> {
    let mut keys: HashMap<Cow<str>, (u64, bool)> = HashMap::new();
    for (name, id) in names {
        let key = spec.namespace(name);
        if !is_known(&key) && vector(name).is_none() {
            let (count, number) = (features.of(id).map_or(0, |feature| feature.rows), *key == *name);
            let known = keys.entry(key).or_default();
            *known = (known.0 + count, known.1 || number);
        }
    }
    let mut keys: Vec<(Cow<str>, (u64, bool))> = keys.into_iter().collect();
    keys.sort_unstable_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
    let kind = |number: bool| if number { "number" } else { "category" };
    keys.into_iter().map(|(key, (_, number))| (key.into_owned(), kind(number))).collect()
}

/// The column of a coordinate of a vector: `v` of `v^3`.
fn vector(name: &str) -> Option<&str> {
    let (column, coordinate) = name.rsplit_once('^')?;
    coordinate.bytes().all(|byte| byte.is_ascii_digit()).then_some(column)
}

/// The end of the name of an indicator.
const MISSING: &str = "=missing";

fn described(name: &str, kind: &'static str, mut found: Found, features: &Columns, rows: u64) -> ColumnStats {
    found.terms.sort_by_key(|(count, value)| (Reverse(*count), *value));
    let terms = found.terms.iter().take(EXAMPLES).map(|(_, value)| value.to_string());
    let counted = found.own.and_then(|id| features.values(id));
    let (missing, distinct, examples) = match kind {
        "number" | "duration" | "date" | "time of day" => {
            let present = found.own.and_then(|id| features.of(id)).map_or(0, |feature| feature.rows);
            let missing = if found.fill.is_some() { 0 } else { found.missing }; // among those present otherwise
            let zeros = present > 0 && present + missing < rows;
            // A value that exactly the missing numbers have is not one of the column's own.
            let is_foreign =
                |&(id, fill): &(u32, f64)| found.missing > 0 && features.rows_with(id, fill) == found.missing;
            let foreign = found.own.zip(found.fill).filter(is_foreign);
            let mut values = found.own.map(|id| features.examples(id)).unwrap_or_default();
            values.retain(|x| foreign.is_none_or(|(_, fill)| *x != fill));
            values.extend((zeros && values.len() < EXAMPLES).then_some(0.0));
            values.truncate(EXAMPLES);
            let own = |count: usize| count as u64 + u64::from(zeros) - u64::from(foreign.is_some());
            let distinct = counted.map(|(count, _)| own(count));
            let mut parts = terms.peekable(); // of dates and times of day
            let examples = match parts.peek() {
                Some(_) => parts.collect(),
                None => values.iter().map(f64::to_string).collect(),
            };
            (Some(found.missing), distinct, examples)
        }
        "category" => (rows.checked_sub(found.filled), Some(found.terms.len() as u64), terms.collect()),
        "text" | "list" | "map" => (None, Some(found.terms.len() as u64), terms.collect()),
        _ => (None, None, Vec::new()),
    };
    let and_more = counted.is_some_and(|(_, more)| more)
        && matches!(kind, "number" | "duration" | "date" | "time of day");
    ColumnStats { name: name.to_string(), kind, missing, distinct, and_more, examples }
}
