//! General utilities: errors, numbers as text, random numbers, registries of names, files, memory, checkpoints.

pub mod checkpoint;
pub mod error;
pub mod files;
pub mod memory;
pub mod number;
pub mod parameter;
pub(crate) mod quote;
pub mod random;
pub mod registry;
pub(crate) mod scan;
pub mod state;
