//! The first rows of a columnar file, which decide what its columns are taken for.

use super::batches::{Table, read_some};
use super::flat::{self, Leaf};
use super::values::{numbers, seconds, wholes, words};
use super::{Holds, ParquetColumn};
use crate::data::format::columns::{ColumnKind, FirstCells, Wanted, When};
use arrow_array::Array;
use arrow_schema::DataType;
use std::path::Path;

/// Number of rows that decide.
const FIRST: usize = 1 << 13;

/// Decides what the columns are taken for, where their types leave it open. `settled` tells columns that were asked for.
///
/// A file that cannot be read leaves the columns as they are: reading the rows reports the reason.
pub(super) fn decide(
    file: &Path,
    columns: &mut [ParquetColumn],
    wanted: &Wanted,
    settled: impl Fn(&str) -> bool,
) {
    let samples = samples(file, columns);
    for (column, sample) in columns.iter_mut().zip(samples) {
        let of_time = matches!(column.holds, Holds::Dates | Holds::Times | Holds::Clocks | Holds::Durations);
        let open = of_time || matches!(column.holds, Holds::Numbers | Holds::Names);
        let typed = column.holds;
        if !open || sample.is_empty() || settled(&column.name) {
            continue;
        }
        let Some(found) = sample.decide_typed(&column.name, wanted) else { continue };
        (column.missing, column.text) = (found.missing, found.text);
        column.holds = match found.kind {
            ColumnKind::Category => Holds::Names,
            ColumnKind::Text => Holds::Texts,
            ColumnKind::Date => Holds::Dates,
            ColumnKind::Time => Holds::Times,
            ColumnKind::Clock => Holds::Clocks,
            ColumnKind::Duration => Holds::Durations,
            _ => typed,
        };
    }
}

fn samples(file: &Path, columns: &[ParquetColumn]) -> Vec<FirstCells> {
    let (mut samples, mut rows) = (vec![FirstCells::default(); columns.len()], 0);
    let Ok(table) = Table::open(file) else { return samples };
    let leaves = flat::leaves(&table.schema);
    let used = |leaf: &&Leaf| columns.iter().any(|column| column.name == *leaf.field.name());
    let mut chosen: Vec<usize> = leaves.iter().filter(used).map(|leaf| leaf.root).collect();
    chosen.dedup();
    let read: Vec<&Leaf> = leaves.iter().filter(|leaf| chosen.binary_search(&leaf.root).is_ok()).collect();
    let place = |column: &ParquetColumn| read.iter().position(|leaf| *leaf.field.name() == column.name);
    let places: Vec<Option<usize>> = columns.iter().map(place).collect();
    let _ = read_some(file, table, chosen, FIRST, &mut |batch| {
        let Ok(flat) = flat::columns(batch) else { return false };
        for (sample, place) in samples.iter_mut().zip(&places) {
            let Some(array) = place.and_then(|place| flat.get(place)) else { continue };
            see(sample, array.as_ref(), FIRST.saturating_sub(rows));
        }
        rows += batch.num_rows();
        rows < FIRST
    });
    samples
}

/// Looks at the first values of a column.
fn see(sample: &mut FirstCells, array: &dyn Array, most: usize) {
    if matches!(array.data_type(), DataType::Dictionary(..)) {
        return; // the writer says that these are names
    }
    let valid = (0..array.len().min(most)).filter(|&row| array.is_valid(row));
    if let Some(whole) = wholes(array) {
        valid.filter_map(whole).for_each(|x| sample.see_integer(x));
    } else if let Some(number) = numbers(array) {
        valid.for_each(|row| sample.see_number(number(row)));
    } else if let Some(seconds) = seconds(array) {
        let has_time = matches!(array.data_type(), DataType::Timestamp(..));
        valid.map(seconds).for_each(|seconds| match array.data_type() {
            DataType::Time32(_) | DataType::Time64(_) => sample.see_clock(seconds),
            DataType::Duration(_) => sample.see_duration(seconds),
            _ => {
                let when = When::after_1970(seconds).map(|when| when.with_time(has_time));
                when.into_iter().for_each(|when| sample.see_when(when));
            }
        });
    } else if let Some(word) = words(array) {
        valid.filter_map(word).for_each(|text| sample.see_text(&text));
    }
}
