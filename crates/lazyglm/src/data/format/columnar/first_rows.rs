//! The first rows of a columnar file, which decide what its columns are taken for.

use super::batches::{Table, read_some};
use super::values::{numbers, wholes, words};
use super::{Holds, ParquetColumn};
use crate::data::format::Missing;
use crate::data::format::columns::{ColumnKind, Sample};
use arrow_array::Array;
use std::path::Path;

/// Number of rows that decide.
const FIRST: usize = 1 << 13;

/// Decides what the columns are taken for, where their types leave it open. `settled` tells columns that were asked for.
///
/// A file that cannot be read leaves the columns as they are: reading the rows reports the reason.
pub(super) fn decide(
    file: &Path,
    columns: &mut [ParquetColumn],
    missing: Missing,
    settled: impl Fn(&str) -> bool,
) {
    let samples = samples(file, columns);
    for (column, sample) in columns.iter_mut().zip(samples) {
        if column.holds != Holds::Numbers || settled(&column.name) {
            continue;
        }
        let found = sample.decide(&column.name, missing);
        match found.kind {
            ColumnKind::Category => column.holds = Holds::Names,
            _ => column.missing = found.missing,
        }
    }
}

fn samples(file: &Path, columns: &[ParquetColumn]) -> Vec<Sample> {
    let (mut samples, mut rows) = (vec![Sample::default(); columns.len()], 0);
    let Ok(table) = Table::open(file) else { return samples };
    let place = |column: &ParquetColumn| table.schema.index_of(&column.name).ok();
    let places: Vec<Option<usize>> = columns.iter().map(place).collect();
    let mut chosen: Vec<usize> = places.iter().flatten().copied().collect();
    chosen.sort_unstable();
    let _ = read_some(file, table, chosen.clone(), FIRST, &mut |batch| {
        for (sample, place) in samples.iter_mut().zip(&places) {
            let Some(k) = place.and_then(|place| chosen.binary_search(&place).ok()) else { continue };
            see(sample, batch.column(k).as_ref(), FIRST.saturating_sub(rows));
        }
        rows += batch.num_rows();
        rows < FIRST
    });
    samples
}

/// Looks at the first values of a column.
fn see(sample: &mut Sample, array: &dyn Array, most: usize) {
    let valid = (0..array.len().min(most)).filter(|&row| array.is_valid(row));
    if let Some(whole) = wholes(array) {
        valid.filter_map(whole).for_each(|x| sample.see_integer(x));
    } else if let Some(number) = numbers(array) {
        valid.for_each(|row| sample.see_number(number(row)));
    } else if let Some(word) = words(array) {
        valid.filter_map(word).for_each(|text| sample.see_text(&text));
    }
}
