//! A file of any format that the library reads, as arrays.

use crate::errors::{raised, warnings};
use crate::json::text;
use crate::model::read_config;
use lazyglm::data::feature_ids::FeatureIds;
use lazyglm::data::format::{Missing, ReadOptions};
use lazyglm::{Dataset, Declared, Error, Labels, Load, Parameter, Result, ValuesRef};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// What is said of a file.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Said {
    format: Option<String>,
    target: Option<String>,
    drop: Vec<String>,
    categorical: Vec<String>,
    text: Option<String>,
    text_columns: Vec<String>,
    missing: Option<String>,
    hash_bits: Option<u32>,
    index_base: Option<u32>,
    n_features: Option<usize>,
    like: Option<(String, Vec<String>)>, // the reading and the feature names of other data, to read these alike
}

/// Reads a file: `indptr`, `indices`, `data`, `columns`, `labels`, `weights`, `names`, `base`, `reading` and `warnings`.
#[pyfunction]
pub fn read_file<'py>(py: Python<'py>, path: PathBuf, said: Said) -> PyResult<Bound<'py, PyDict>> {
    let asked = ReadOptions {
        missing: said.missing.as_deref().map(Missing::parse).transpose().map_err(raised)?,
        format: said.format,
        target: said.target,
        drop: said.drop,
        categorical: said.categorical,
        text: said.text,
        text_columns: said.text_columns,
        hash_bits: said.hash_bits,
        ..ReadOptions::default()
    };
    let declared = Declared { base: said.index_base, count: said.n_features };
    let load = Load { asked, declared, ..Load::default() };
    let read = || match &said.like {
        Some((reading, names)) => Dataset::read_by_names(&path, &read_config(reading)?, names),
        None => Dataset::load(&path, &load).map(|(data, _)| data),
    };
    let data = py.detach(|| read().and_then(fits_arrays)).map_err(raised)?;
    let (rows, features) = (data.rows.borrow(), &data.features);
    let read = PyDict::new(py);
    read.set_item("indptr", PyArray1::from_iter(py, rows.offsets().iter().map(|&end| end as i64)))?;
    let column = |&id: &u32| i64::from(features.index(id as usize) - features.base);
    read.set_item("indices", PyArray1::from_iter(py, rows.ids().iter().map(column)))?;
    match rows.values() {
        ValuesRef::F32(values) => read.set_item("data", PyArray1::from_slice(py, values))?,
        ValuesRef::F64(values) => read.set_item("data", PyArray1::from_slice(py, values))?,
    }
    read.set_item("columns", features.count)?;
    let labels = match &data.labels {
        Labels::Numbers(numbers) => PyArray1::from_slice(py, numbers).into_any(),
        words => (0..words.len()).map(|row| words.name(row)).collect::<Vec<_>>().into_bound_py_any(py)?,
    };
    read.set_item("labels", labels)?;
    read.set_item("weights", data.weights.as_ref().map(|weights| PyArray1::from_slice(py, weights)))?;
    let names: Option<Vec<&str>> = match &*features.feature_ids {
        FeatureIds::Words(words) => Some(words.iter().collect()),
        _ => None,
    };
    read.set_item("names", names)?;
    read.set_item("base", features.base)?;
    read.set_item("reading", text(&data.reading)?)?;
    read.set_item("warnings", warnings(&data.notes))?;
    Ok(read)
}

/// Words weighed by idf need the idf of each in the model; the program keeps it, arrays have no place for it. Nor for offsets.
fn fits_arrays(data: Dataset) -> Result<Dataset> {
    match data.reading.has_idf() {
        true => Err(Error::call(
            "idf=yes is not for data that become arrays",
            "leave it out, or use scikit-learn's TfidfTransformer on the rows",
        )),
        false if data.offsets.is_some() => Err(Error::call(
            "the rows of the file have offsets, such as the base of Vowpal Wabbit text, which no array here holds",
            format!("take them out of the file, and give them as {}", Parameter::Offset),
        )),
        false => Ok(data),
    }
}
