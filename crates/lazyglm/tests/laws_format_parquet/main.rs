//! Laws of Parquet and Arrow files: what each type of column becomes, what is refused and how, that a table has the rows
//! of the same table in JSON lines, and that a damaged file is rows or an error.
#![cfg(feature = "parquet")]

mod across;
mod columns;
mod damaged;
mod more_types;
mod nested;
mod opened;
mod refused;
mod sizes;
mod tables;

use arrow_array::{ArrayRef, Int32Array};
use lazyglm::data::format::ReadOptions;
use std::sync::Arc;

/// What is said of the columns.
fn asked(target: Option<&str>, drop: &[&str], categorical: &[&str]) -> ReadOptions {
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    ReadOptions {
        target: target.map(str::to_string),
        drop: owned(drop),
        categorical: owned(categorical),
        ..ReadOptions::default()
    }
}

/// A target for each row: its number.
fn targets(rows: usize) -> (&'static str, ArrayRef) {
    ("y", Arc::new(Int32Array::from_iter_values(0..rows as i32)))
}
