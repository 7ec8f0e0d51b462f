//! The compiled part of the Python package: matrices lent by numpy, learners, model files.
//!
//! What is Python's stays in Python (parameters, validation, attributes); what is a loop over rows is here. Nothing
//! here reads an index that was not checked in the same call: Python may change its arrays between calls.

#![forbid(unsafe_code)]

mod errors;
mod json;
mod learn;
mod learner;
mod matrix;
mod model;
mod program;
mod read;
mod scale;
mod score;
mod shard;
mod solve;
mod task;

use pyo3::prelude::*;

/// The module `lazyglm._core`.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::learn::learn;
    #[pymodule_export]
    use crate::learner::Learner;
    #[pymodule_export]
    use crate::model::{load_model, save_model, score_file, score_rows};
    #[pymodule_export]
    use crate::program::run_program;
    #[pymodule_export]
    use crate::read::read_file;
    #[pymodule_export]
    use crate::scale::scale_factors;
    #[pymodule_export]
    use crate::score::scores;
    #[pymodule_export]
    use crate::shard::{
        column_stats, dual_sums, line_losses, local_pass, loss_gradient, loss_shape, second_derivatives,
        slope_sums, zero_test,
    };
    #[pymodule_export]
    use crate::solve::{exact_path, path, search, solve, solvers};
    #[pymodule_export]
    use crate::task::Task;
}
