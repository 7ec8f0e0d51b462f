//! Tables of metrics, as text and as JSON.

use crate::print::{count, decimals};
use lazyglm::data::feature_ids::one_line;
use lazyglm::eval::metrics::Interval;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Maximum number of groups in the table.
const SHOWN: usize = 30;
/// Maximum number of classes of a confusion matrix that is shown.
const MOST_CLASSES: usize = 12;

/// Metrics by name; `None` if undefined.
pub type Named = [(&'static str, Option<f64>)];

/// The metrics of the rows of one group.
pub struct Group {
    /// The value of the column.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// The metrics.
    pub named: Vec<(&'static str, Option<f64>)>,
}

/// Prints one metric per line, with its interval if there is one.
pub fn metrics_table(out: &mut dyn Write, named: &Named, intervals: Option<&[Interval]>) -> io::Result<()> {
    for (k, (name, value)) in named.iter().enumerate() {
        let name = name.replace("_at_", "@");
        let interval = intervals.and_then(|intervals| intervals[k]);
        let interval = interval
            .map_or(String::new(), |[low, high]| format!("  [{}, {}]", decimals(low, 6), decimals(high, 6)));
        match value.filter(|value| value.is_finite()) {
            Some(value) => writeln!(out, "{name:<18} {}{interval}", decimals(value, 6))?,
            None => writeln!(out, "{name:<18} -")?,
        }
    }
    Ok(())
}

/// Prints a confusion matrix of a few classes: (true class, predicted class, weight of the rows).
pub fn confusion_table(out: &mut dyn Write, cells: &[(String, String, f64)]) -> io::Result<()> {
    let distinct = |of: fn(&(String, String, f64)) -> &String| {
        let mut names: Vec<&String> = Vec::new();
        cells.iter().map(of).for_each(|name| {
            if !names.contains(&name) {
                names.push(name);
            }
        });
        names
    };
    let truths = distinct(|cell| &cell.0);
    let mut given = truths.clone();
    distinct(|cell| &cell.1).into_iter().for_each(|name| {
        if !given.contains(&name) {
            given.push(name);
        }
    });
    if cells.is_empty() || given.len() > MOST_CLASSES {
        return Ok(());
    }
    let width = given.iter().map(|name| one_line(name).chars().count()).max().unwrap_or(0).clamp(8, 20);
    let given: Vec<&String> = given.into_iter().filter(|name| *name != "(unknown)").collect();
    writeln!(out, "\nconfusion matrix: one row per true class, one column per predicted class")?;
    let head: String = given.iter().map(|name| format!(" {:>width$}", one_line(name))).collect();
    writeln!(out, "{:>width$}{head}", "")?;
    for truth in truths {
        let weight = |name: &&String| {
            let cell = cells.iter().find(|cell| cell.0 == *truth && cell.1 == ***name);
            let weight = cell.map_or(0.0, |cell| cell.2);
            format!(" {:>width$}", (weight * 1e3).round() / 1e3)
        };
        let line: String = given.iter().map(weight).collect();
        writeln!(out, "{:>width$}{line}", one_line(truth))?;
    }
    Ok(())
}

/// Prints the metrics of the groups with the most rows.
pub fn groups_table(out: &mut dyn Write, column: &str, groups: &[Group], names: &[&str]) -> io::Result<()> {
    let Some(first) = groups.first() else { return Ok(()) };
    let names: Vec<&str> =
        names.iter().copied().filter(|name| first.named.iter().any(|(other, _)| other == name)).collect();
    let mut shown: Vec<&Group> = groups.iter().collect();
    if shown.len() > SHOWN {
        shown.sort_by_key(|group| std::cmp::Reverse(group.rows)); // stable
        shown.truncate(SHOWN);
    }
    let all = shown.iter().map(|group| one_line(&group.name).chars().count());
    let width = all.chain([column.chars().count()]).max().unwrap_or(0).clamp(5, 40);
    let head: String = names.iter().map(|name| format!("  {name:>10}")).collect();
    writeln!(out, "\n{:>width$}  {:>10}{head}", one_line(column), "rows")?;
    for group in &shown {
        let value = |name: &&str| {
            let found = group.named.iter().find(|(other, _)| other == name).and_then(|(_, value)| *value);
            found
                .filter(|value| value.is_finite())
                .map_or(format!("  {:>10}", "-"), |x| format!("  {x:>10.6}"))
        };
        let line: String = names.iter().map(value).collect();
        writeln!(out, "{:>width$}  {:>10}{line}", one_line(&group.name), count(group.rows as u64))?;
    }
    let more = groups.len() - shown.len();
    if more > 0 {
        writeln!(out, "{:>width$}  {} more, of fewer rows: --json has them all", "…", count(more as u64))?;
    }
    Ok(())
}

/// The 95 % intervals by name of the metric.
pub fn intervals_json(named: &Named, intervals: &[Interval]) -> Value {
    named
        .iter()
        .zip(intervals)
        .map(|((name, _), ends)| (name.to_string(), json!(ends)))
        .collect::<Map<_, _>>()
        .into()
}

/// A list of groups with their metrics; null for a metric that is undefined.
pub fn groups_json(column: &str, groups: &[Group]) -> Value {
    let group = |group: &Group| {
        let mut object = Map::new();
        object.insert("column".into(), column.into());
        object.insert("group".into(), group.name.as_str().into());
        object.insert("rows".into(), group.rows.into());
        object.extend(group.named.iter().map(|(name, value)| (name.to_string(), json!(value))));
        Value::Object(object)
    };
    groups.iter().map(group).collect()
}
