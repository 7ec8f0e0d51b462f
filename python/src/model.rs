//! Model files: what was learnt in Python serves in the program, and back.

use crate::errors::{raised, warnings};
use crate::json::{Json, plain, text};
use crate::matrix::MatrixArrays;
use crate::task::Asked;
use lazyglm::data::scaling::CountScaling;
use lazyglm::model::coefficients::Coefficients;
use lazyglm::optim::scikit_learn_rate::Rate;
use lazyglm::{Epoch, Error, HeadKind, Loss, Model, ReadConfig, Report, Result, Training, loss};
use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;

/// How data were read, from the text that Python keeps.
pub fn read_config(text: &str) -> Result<ReadConfig> {
    let wrong = |e| Error::call(format!("how to read files is not understood: {e}"), "report this");
    serde_json::from_str(text).map_err(wrong)
}

/// A linear model as Python has it: one row of `coef` for each head.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Linear<'py> {
    coef: PyReadonlyArray2<'py, f64>,
    intercept: Vec<f64>,
    loss: String,
    classes: Option<Vec<String>>,
    kind: Json<HeadKind>,
    names: Option<Vec<String>>,
    means: Option<Vec<f64>>, // of the columns of a frame of numbers: what stands for an empty cell of a file
    index_base: u32,
    reading: Option<String>,
    tf_idf: Option<(bool, Vec<f64>)>, // of models of tf-idf values: whether counts have a logarithm, and the idf of each column
    limits: Option<[f64; 2]>,         // the least and the largest prediction
    thresholds: Option<Vec<f64>>,     // the score above which a row has a label
    training: Trained,
}

/// How it was trained. Without a schedule in the settings, it is that of the learning rate.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Trained {
    settings: Asked,
    alpha: f64,
    learning_rate: String,
    eta0: f64,
    power_t: f64,
    weighted: bool,
    offsets: bool,
    average: u64,
    n_iter: u64,
    rows: usize,
    losses: Vec<f64>,
}

/// Writes a model file.
#[pyfunction]
pub fn save_model(py: Python, path: PathBuf, linear: Linear) -> PyResult<()> {
    let model = linear.model().map_err(raised)?;
    py.detach(|| model.save(&path)).map_err(raised)
}

/// A model to score with: coefficients, or the bytes of a model file.
#[derive(FromPyObject)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Scored<'py> {
    /// The bytes of a model file, for models that arrays do not hold, such as those of tf-idf values.
    #[pyo3(transparent)]
    Bytes(Bound<'py, PyBytes>),
    /// Coefficients.
    #[pyo3(transparent)]
    Linear(Linear<'py>),
}

impl Scored<'_> {
    fn model(&self) -> Result<Model> {
        match self {
            Scored::Linear(linear) => linear.model(),
            Scored::Bytes(bytes) => Model::from_bytes(bytes.as_bytes())
                .map_err(|_| Error::call("these are not the bytes of a model file", "load the model again")),
        }
    }
}

/// The scores of the rows of a matrix by the bytes of a model file whose features are numbers: head after head for each row.
#[pyfunction]
pub fn score_rows<'py>(
    py: Python<'py>,
    x: MatrixArrays,
    model: Scored,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let model = model.model().map_err(raised)?;
    let scores = x.detached(py, |matrix| {
        let rows = matrix.lend(|rows| rows.to_rows(model.counting.index_base))?;
        Ok(model.score_rows(rows.borrow()))
    });
    Ok(PyArray1::from_vec(py, scores?.map_err(raised)?))
}

/// The scores of the rows of a file, read as the training data were, head after head for each row; and the reader's warnings.
#[pyfunction]
pub fn score_file<'py>(
    py: Python<'py>,
    path: PathBuf,
    model: Scored,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Vec<String>)> {
    let model = model.model().map_err(raised)?;
    let (scores, notes) = py.detach(|| model.score_file(&path)).map_err(raised)?;
    Ok((PyArray1::from_vec(py, scores), warnings(&notes)))
}

/// Reads a model file: weights, and how they were trained.
#[pyfunction]
pub fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let model = py.detach(|| Model::load(&path)).map_err(raised)?;
    let read = PyDict::new(py);
    read.set_item("features", PyArray1::from_slice(py, &model.features))?;
    read.set_item("weights", PyArray1::from_slice(py, &model.weights))?;
    let heads = model.heads.as_ref();
    read.set_item("intercept", heads.map_or_else(|| vec![model.bias], |heads| heads.biases.clone()))?;
    read.set_item("ends", heads.map(|heads| heads.ends.clone()))?;
    read.set_item("ids", heads.map(|heads| PyArray1::from_slice(py, &heads.ids)))?;
    read.set_item("kind", plain(py, &heads.map(|heads| heads.kind))?)?;
    read.set_item("loss", model.loss.spec())?;
    let classes = model.classes.as_ref().map(|classes| classes.to_vec());
    read.set_item("classes", classes.or_else(|| heads.map(|heads| heads.names.clone())))?;
    let names: Option<Vec<&str>> = model.words.as_ref().map(|words| words.names.iter().collect());
    read.set_item("names", names)?;
    let by_words = model.words.as_ref().is_some_and(|words| words.idf.is_some());
    let bytes = (by_words || model.tf_idf.is_some()).then(|| model.to_bytes()).transpose().map_err(raised)?;
    read.set_item("bytes", bytes.map(|bytes| PyBytes::new(py, &bytes)))?;
    read.set_item("limits", model.limits)?;
    read.set_item("thresholds", heads.and_then(|heads| heads.thresholds.clone()))?;
    read.set_item("index_base", model.counting.index_base)?;
    read.set_item("columns", model.counting.count)?;
    read.set_item("reading", text(&model.reading)?)?;
    read.set_item("training", plain(py, &model.training)?)?;
    Ok(read)
}

impl Linear<'_> {
    fn model(&self) -> Result<Model> {
        let coef = self.coef.as_slice().map_err(|_| Error::call("coef_ is no plain array", "densify it"))?;
        let columns = self.coef.shape()[1];
        let loss = loss::parse(&self.loss)?;
        let training = self.training.training(&*loss)?;
        let coefficients = Coefficients {
            weights: coef,
            columns,
            biases: &self.intercept,
            classes: self.classes.clone(),
            kind: self.kind.0,
            names: self.names.as_deref(),
            index_base: self.index_base,
            tf_idf: self.tf_idf.as_ref().map(|(log, idf)| CountScaling { log: *log, idf, norm: true }),
        };
        let mut model = coefficients.model(loss, self.reading()?, training)?;
        model.limits = self.limits;
        if let Some(heads) = &mut model.heads {
            heads.thresholds = self.thresholds.clone();
        }
        Ok(model)
    }

    /// As the training data were read; named columns of a table in memory as those of a CSV file.
    fn reading(&self) -> Result<ReadConfig> {
        if let Some(text) = &self.reading {
            return read_config(text);
        }
        let means = self.means.as_deref().unwrap_or_default();
        Ok(self.names.as_ref().map_or_else(ReadConfig::default, |names| ReadConfig::table(names, means)))
    }
}

impl Trained {
    fn training(&self, loss: &dyn Loss) -> Result<Training> {
        let Trained { eta0, alpha, power_t, weighted, offsets, .. } = *self;
        let rate = Rate { name: &self.learning_rate, eta0, alpha, power_t };
        let mut settings = self.settings.settings()?;
        settings.average = self.average.checked_sub(1);
        if self.settings.schedule.is_none() {
            settings.schedule = rate.spec(loss)?;
        }
        let history = |&loss: &f64| Epoch {
            running_loss: Some(loss).filter(|loss| loss.is_finite()),
            validation_loss: None,
        };
        let report = Report {
            // The rows are not at hand any more: what only they can tell stays unmeasured.
            rows: self.rows,
            epochs: self.n_iter,
            eta0: rate.schedule(loss)?.eta(0),
            solver: settings.solver,
            history: self.losses.iter().map(history).collect(),
            ..Report::default()
        };
        Ok(Training::new(&settings, weighted, offsets, report))
    }
}
