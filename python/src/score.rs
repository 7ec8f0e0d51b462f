//! Scores of many rows: b + Σ wⱼxⱼ, summed in the order of the row as the program's `predict` does: of one model from the bias on, of
//! several the bias comes last.

use crate::errors::raised;
use crate::matrix::{Matrix, MatrixArrays};
use lazyglm::{Error, Place, Scorer};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// Rows for which a thread is worth its start. Threads are ours and end with the call: a pool that waits would be missing in
/// a process that Python forks.
const SOME: usize = 1 << 12;

/// The scores of every row, one column a model.
#[pyfunction]
pub fn scores<'py>(
    py: Python<'py>,
    x: MatrixArrays<'py>,
    coef: PyReadonlyArray2<'py, f64>,
    intercept: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (weights, bias) = (coef.as_slice()?, intercept.as_slice()?);
    let [models, columns] = [coef.shape()[0], coef.shape()[1]];
    let found = x.detached(py, |matrix| {
        if matrix.columns() != columns || bias.len() != models {
            let what = format!("X has {} features, and the model {columns}", matrix.columns());
            return Err(Error::data(Place::file("X"), what, "give data like those it was trained on"));
        }
        let mut scores = vec![0.0; matrix.rows() * models];
        let each = matrix.rows().div_ceil(threads.max(1)).max(SOME);
        std::thread::scope(|scope| {
            for (part, scores) in scores.chunks_mut((each * models).max(1)).enumerate() {
                let mut work = move || score_rows(&matrix, part * each, weights, bias, scores);
                match each < matrix.rows() {
                    true => drop(scope.spawn(work)),
                    false => work(),
                }
            }
        });
        matrix.changed.check()?;
        if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
            let row = Place::file(format!("X, row {}", at / models)); // counted from 0, as Python does
            Scorer::check_finite(&scores[at..=at], || row)?;
        }
        Ok((matrix.rows(), scores))
    });
    let (rows, found) = found?.map_err(raised)?;
    let found = PyArray1::from_vec(py, found);
    found.call_method1("reshape", ((rows, models),))?.extract().map_err(Into::into)
}

/// The scores of rows from `first` on, as many as there is room for.
fn score_rows(matrix: &Matrix, first: usize, weights: &[f64], bias: &[f64], scores: &mut [f64]) {
    let models = bias.len();
    let columns = matrix.columns();
    for (k, scores) in scores.chunks_mut(models.max(1)).enumerate() {
        if let ([score], [bias]) = (&mut *scores, bias) {
            *score = *bias;
            matrix.for_each(first + k, |j, x| *score += weights[j] * x);
            continue;
        }
        scores.fill(0.0);
        matrix.for_each(first + k, |j, x| {
            for (m, score) in scores.iter_mut().enumerate() {
                *score += weights[m * columns + j] * x;
            }
        });
        scores.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
    }
}
