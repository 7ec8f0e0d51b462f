//! Factors of columns, as the program's `--scale` has them.

use crate::errors::raised;
use crate::matrix::MatrixArrays;
use lazyglm::problem::source::Batch;
use lazyglm::{Columns, Scale, Source};
use numpy::PyArray1;
use pyo3::prelude::*;

/// By what to multiply each column: for `maxabs`, one over its largest magnitude; for `std`, over its standard deviation.
#[pyfunction]
pub fn scale_factors<'py>(
    py: Python<'py>,
    x: MatrixArrays,
    scale: &str,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let factors = x.detached(py, |matrix| {
        let scale = Scale::parse(scale)?;
        let mut columns = Columns::new(matrix.columns());
        let see = &mut |batch: &Batch| {
            for &row in batch.order {
                batch.rows.for_each(row as usize, |column, x| columns.see_value(column, x));
                columns.see_row();
            }
            Ok(())
        };
        matrix.lend(|rows| rows.pass(see))?;
        Ok(columns.scale(scale).unwrap_or_else(|| vec![1.0; matrix.columns()]))
    });
    Ok(PyArray1::from_vec(py, factors?.map_err(raised)?))
}
