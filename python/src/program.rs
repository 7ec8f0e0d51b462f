//! The program `lazyglm` inside the wheel: `pip install` brings it along.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the program with these arguments, the first of which is its name, and returns its exit code.
#[pyfunction]
pub fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| lazyglm_cli::run(arguments))
}
