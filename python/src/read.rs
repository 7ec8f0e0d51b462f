//! A file of any format that the library reads, as arrays.

use crate::errors::{raised, warnings};
use crate::model::read_config;
use lazyglm::data::feature_ids::FeatureIds;
use lazyglm::data::format::{FormatSpec, Missing, ReadOptions, Text};
use lazyglm::{Dataset, Declared, Error, Features, Labels, Load, Parameter, Result, Rows, ValuesRef};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

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

impl Said {
    fn missing(&self) -> Result<Option<Missing>> {
        let parse = |name: &String| {
            let names = Missing::ALL.map(|(name, _)| name).join(", ");
            Missing::parse(name).ok_or_else(|| Error::parameter(Parameter::Missing, name, names))
        };
        self.missing.as_ref().map(parse).transpose()
    }
}

/// Reads a file: `indptr`, `indices`, `data`, `columns`, `labels`, `weights`, `names`, `base`, `reading` and `warnings`.
#[pyfunction]
pub fn read_file<'py>(py: Python<'py>, path: PathBuf, said: Said) -> PyResult<Bound<'py, PyDict>> {
    let asked = ReadOptions {
        missing: said.missing().map_err(raised)?,
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
        Some((reading, names)) => Dataset::read_like(&path, &known(reading, names)?),
        None => Dataset::load(&path, &load).map(|(data, _)| data),
    };
    let data = py.detach(|| read().and_then(plain)).map_err(raised)?;
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
    let names: Option<Vec<&str>> = match &*features.naming {
        FeatureIds::Words(words) => Some(words.iter().collect()),
        _ => None,
    };
    read.set_item("names", names)?;
    read.set_item("base", features.base)?;
    let reading = serde_json::to_string(&data.reading).map_err(|e| {
        raised(Error::call(format!("how the file is read cannot be kept: {e}"), "report this"))
    })?;
    read.set_item("reading", reading)?;
    read.set_item("warnings", warnings(&data.notes))?;
    Ok(read)
}

/// A data set of one row with all features of these names, and their reading: others are read like it.
fn known(reading: &str, names: &[String]) -> Result<Dataset> {
    let mut features = Features::columns_from(0, names.len());
    features.naming = Arc::new(FeatureIds::Words(names.iter().map(String::as_str).collect()));
    let mut rows = Rows::new();
    rows.push(&(0..names.len() as u32).map(|column| (column, 1.0)).collect::<Vec<_>>())?;
    let mut data = Dataset::made(rows, Labels::Numbers(vec![0.0]), features);
    data.reading = read_config(reading)?;
    Ok(data)
}

/// Words weighed by idf need the idf of each in the model; the program keeps it, arrays have no place for it. Nor for offsets.
fn plain(data: Dataset) -> Result<Dataset> {
    let weighs = |text: &Option<Text>| text.as_ref().is_some_and(|text| text.idf);
    let has_idf = match &data.reading.recipe {
        FormatSpec::Text(text) => text.idf,
        FormatSpec::Csv(csv) => csv.columns.iter().any(|column| weighs(&column.text)),
        FormatSpec::Jsonl { columns, .. } => columns.iter().any(|column| weighs(&column.text)),
        FormatSpec::Parquet { columns, .. } => columns.iter().any(|column| weighs(&column.text)),
        FormatSpec::Svmlight | FormatSpec::Vw => false,
    };
    match has_idf {
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
