//! One file per verb. Files that end in `_classes` handle many classes or labels; `common` is shared.

pub mod bench_lanes;
pub mod bench_paper;
pub mod certify;
pub mod common;
pub mod convert;
pub mod demo;
pub mod demo_data;
pub mod evaluate;
pub mod evaluate_classes;
mod evaluate_rows;
mod evaluate_table;
pub mod inspect;
pub mod inspect_classes;
pub mod path;
pub mod predict;
mod predict_lines;
mod search_table;
mod sgd_path;
mod sgd_tune;
pub mod shell;
pub mod stats;
pub mod train;
pub mod tune;
