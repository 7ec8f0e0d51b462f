//! One verb a file.

pub mod bench_lanes;
pub mod bench_paper;
pub mod certify;
pub mod convert;
pub mod demo;
pub mod evaluate;
pub mod inspect;
pub mod path;
pub mod predict;
pub mod stats;
pub mod train;
pub mod tune;
