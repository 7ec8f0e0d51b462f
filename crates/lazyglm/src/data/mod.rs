//! Reading data: file formats, features, labels, caches, and data sets in memory.

pub mod bytes;
pub mod cache;
pub mod convert;
pub mod dataset;
pub mod feature_ids;
pub mod features;
pub mod format;
pub mod labels;
pub mod loader;
pub mod read_config;
pub mod reader;
pub mod rows;
pub mod sample_weights;
pub mod scaling;
pub mod stats;
pub mod survey;
pub mod vocabulary;
