//! Model files: what was learnt in Python serves in the program, and back.

use crate::errors::{raised, warnings};
use crate::matrix::{Changed, MatrixArrays};
use crate::task::copied;
use lazyglm::data::format::{Column, ColumnKind, Csv, DirtyCells, Fill, FormatSpec, ReadOptions};
use lazyglm::model::coefficients::Coefficients;
use lazyglm::optim::scikit_learn_rate::Rate;
use lazyglm::problem::heads::Heads;
use lazyglm::{
    ElasticNet, Error, HeadKind, Method, Model, Order, Place, Precision, ReadConfig, Report, Result, Scorer,
    Training, UpdateName, data::dataset, loss,
};
use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;

/// How several heads belong together, by name.
const KINDS: [(&str, HeadKind); 3] =
    [("ovr", HeadKind::Ovr), ("softmax", HeadKind::Softmax), ("labels", HeadKind::Labels)];

/// The kind of heads of this name.
pub fn kind(name: &str) -> HeadKind {
    KINDS.iter().find(|(known, _)| *known == name).map_or(HeadKind::Ovr, |(_, kind)| *kind)
}

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
    kind: String, // ovr, softmax or labels
    names: Option<Vec<String>>,
    means: Option<Vec<f64>>, // of the columns of a frame of numbers: what stands for an empty cell of a file
    index_base: u32,
    reading: Option<String>,
    tf_idf: Option<(bool, Vec<f64>)>, // of models of tf-idf values: whether counts have a logarithm, and the idf of each column
    training: Trained,
}

/// How it was trained.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Trained {
    l1: f64,
    l2: f64,
    alpha: f64,
    method: String,
    learning_rate: String,
    eta0: f64,
    power_t: f64,
    shuffle: bool,
    seed: u64,
    single: bool,
    intercept: bool,
    weighted: bool,
    offsets: bool,
    average: u64,
    max_iter: u64,
    n_iter: u64,
    rows: usize,
    losses: Vec<f64>,
    schedule: Option<String>, // if it is not that of the learning rate
    solver: String,
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
    let (changed, slices) = (Changed::default(), x.slices()?);
    let model = model.model().map_err(raised)?;
    let scores = py.detach(|| {
        changed.guard(|| {
            let rows = copied(&slices.checked(&changed)?, &changed, model.counting.index_base)?;
            let (mut scorer, mut scores, mut of_row) = (Scorer::new(&model), Vec::new(), Vec::new());
            for row in 0..rows.len() {
                scorer.scores(rows.borrow(), row, &mut of_row);
                scores.extend_from_slice(&of_row);
            }
            Ok(scores)
        })
    });
    Ok(PyArray1::from_vec(py, scores.map_err(raised)?))
}

/// The scores of the rows of a file, read as the training data were, head after head for each row; and the reader's warnings.
#[pyfunction]
pub fn score_file<'py>(
    py: Python<'py>,
    path: PathBuf,
    model: Scored,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Vec<String>)> {
    let model = model.model().map_err(raised)?;
    let mut dirty = Vec::new();
    let scores = py.detach(|| {
        let (mut scorer, mut scores) = (Scorer::new(&model), Vec::new());
        let mut of_row = Vec::new();
        dataset::for_each_block(&path, &ReadOptions::default(), Some(&model.reading), |block| {
            scorer.set_block(block)?;
            DirtyCells::join(&mut dirty, &block.dirty);
            for row in 0..block.rows.len() {
                scorer.scores(block.rows.borrow(), row, &mut of_row);
                let offset = block.offset(row);
                if !offset.is_finite() {
                    let place = Place::file(&path).line(block.lines.of(row));
                    return Err(Error::data(
                        place,
                        "the row has no finite offset",
                        "give it one; 0 changes no score",
                    ));
                }
                of_row.iter_mut().for_each(|score| *score += offset);
                scores.extend_from_slice(&of_row);
            }
            Ok(())
        })?;
        Ok(scores)
    });
    let notes: Vec<String> = dirty.iter().map(|cells| cells.note(&path)).collect();
    Ok((PyArray1::from_vec(py, scores.map_err(raised)?), warnings(&notes)))
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
    let name = |heads: &Heads| KINDS.iter().find(|(_, kind)| *kind == heads.kind).map(|(name, _)| *name);
    read.set_item("kind", heads.and_then(name))?;
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
    let reading = serde_json::to_string(&model.reading);
    read.set_item("reading", reading.map_err(|e| raised(Error::call(e.to_string(), "report this")))?)?;
    let training = &model.training;
    read.set_item("offsets", training.offsets)?;
    read.set_item("l1", training.l1)?;
    read.set_item("l2", training.l2)?;
    read.set_item("sgd", training.method == Method::Sgd)?;
    read.set_item("average", training.average.map_or(0, |from| from + 1))?;
    read.set_item("single", training.precision == Precision::F32)?;
    read.set_item("fit_intercept", training.bias)?;
    read.set_item("max_iter", training.epochs)?;
    read.set_item("n_iter", training.report.epochs)?;
    read.set_item("rows", training.report.rows)?;
    Ok(read)
}

impl Linear<'_> {
    fn model(&self) -> Result<Model> {
        let coef = self.coef.as_slice().map_err(|_| Error::call("coef_ is no plain array", "densify it"))?;
        let columns = self.coef.shape()[1];
        let loss = loss::parse(&self.loss)?;
        let training = self.training.training(&*loss, coef, columns)?;
        let coefficients = Coefficients {
            weights: coef,
            columns,
            biases: &self.intercept,
            classes: self.classes.clone(),
            kind: kind(&self.kind),
            names: self.names.as_deref(),
            index_base: self.index_base,
            tf_idf: self.tf_idf.as_ref().map(|(log, idf)| (*log, &idf[..])),
        };
        coefficients.model(loss, self.reading()?, training)
    }

    /// As the training data were read; named columns of a table in memory as those of a CSV file.
    fn reading(&self) -> Result<ReadConfig> {
        if let Some(text) = &self.reading {
            return read_config(text);
        }
        let fill = |j: usize| Some(Fill { value: *self.means.as_ref()?.get(j)?, indicator: false });
        let column = |(j, name): (usize, &String)| Column {
            missing: fill(j),
            ..Column::new(name.as_str(), ColumnKind::Number)
        };
        let table = |names: &Vec<String>| Csv {
            delimiter: ',',
            columns: names.iter().enumerate().map(column).collect(),
        };
        let recipe = self.names.as_ref().map(|names| FormatSpec::Csv(table(names)));
        Ok(ReadConfig { recipe: recipe.unwrap_or_default(), ..ReadConfig::default() })
    }
}

impl Trained {
    fn training(&self, loss: &dyn lazyglm::Loss, coef: &[f64], features: usize) -> Result<Training> {
        let penalty = ElasticNet::new(self.l1, self.l2)?;
        let Trained { eta0, alpha, power_t, .. } = *self;
        let rate = Rate { name: &self.learning_rate, eta0, alpha, power_t };
        let history = |loss: &f64| lazyglm::Epoch {
            running_loss: Some(*loss).filter(|loss| loss.is_finite()),
            validation_loss: None,
        };
        Ok(Training {
            l1: penalty.l1,
            l2: penalty.l2,
            method: if self.method == "sgd" { Method::Sgd } else { Method::Fobos },
            update: UpdateName::Lazy,
            schedule: match &self.schedule {
                Some(schedule) => schedule.clone(),
                None => rate.spec(loss)?.text().to_string(),
            },
            order: if self.shuffle { Order::Shuffled } else { Order::Sequential },
            seed: self.seed,
            precision: if self.single { Precision::F32 } else { Precision::F64 },
            bias: self.intercept,
            weighted: self.weighted,
            offsets: self.offsets,
            epochs: self.max_iter,
            early_stop: None,
            table_budget: 1 << 17,
            average: self.average.checked_sub(1),
            report: Report {
                // The rows are not at hand any more: what only they can tell stays unmeasured.
                l1: penalty.l1,
                l2: penalty.l2,
                penalty: penalty.value(coef),
                nonzeros: coef.iter().filter(|w| **w != 0.0).count(),
                features,
                rows: self.rows,
                epochs: self.n_iter,
                eta0: rate.schedule(loss)?.eta(0),
                solver: self.solver.parse()?,
                history: self.losses.iter().map(history).collect(),
                ..Report::default()
            },
        })
    }
}
