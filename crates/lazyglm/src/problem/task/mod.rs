//! A training task: rows, targets, a loss, and row weights.
//!
//! A [`TaskBuilder`] turns a data set into a [`Task`]: names become ±1 or sets of heads, `auto` becomes a loss, row weights get
//! mean one, and rows of weight zero are dropped.

mod arrays;
mod automatic;
mod class_weight;
mod head_kind;
mod offsets;
mod row_weights;
mod sets;
mod targets;
mod unknown;

pub use arrays::{ArrayTask, Arrays, check_targets};
pub(crate) use automatic::automatic;
pub use class_weight::ClassWeight;
pub(crate) use class_weight::class_names;
pub use sets::Sets;
pub(crate) use sets::sorted;
pub use targets::{HeadTargets, Targets, TargetsRef, targets_of};
pub(crate) use targets::{odd_counts, too_few};
pub use unknown::{Unknown, sets_and_unknown, sets_of, signs_or_unknown};

use crate::data::dataset::Dataset;
use crate::data::features::Features;
use crate::data::rows::Examples;
use crate::data::scaling::CountScaling;
use crate::problem::heads::HeadKind;
use crate::problem::loss::{self, Loss};
use crate::problem::settings::Precision;
use crate::util::error::Result;
pub(crate) use head_kind::{Asked, head_kind};
pub(crate) use offsets::check_offsets;
use offsets::shifted;
pub(crate) use row_weights::no_weight;
use row_weights::{normalised, weighed, with_mean_one};
use std::sync::Arc;

/// Rows in memory with their targets, loss and weights, ready for a solver.
///
/// ```
/// use lazyglm::{Dataset, Declared, Task};
/// let file = std::env::temp_dir().join("lazyglm-doc-task.svm");
/// std::fs::write(&file, "spam 1:1\nham 2:1\nham 3:1\n").unwrap();
/// let task = Task::builder(Dataset::read(&file, Declared::default()).unwrap()).build().unwrap();
/// assert_eq!(task.targets.classes(), Some(&["ham".to_string(), "spam".to_string()]));
/// assert_eq!((task.numbers(), task.loss.spec()), (&[1.0, -1.0, -1.0][..], "logistic".to_string()));
/// ```
#[derive(Clone, Debug)]
pub struct Task {
    /// The rows and the names of their features.
    pub data: Dataset,
    /// The loss to minimise; with softmax, the loss that it becomes for two classes.
    pub loss: Arc<dyn Loss>,
    /// One target per row.
    pub targets: Targets,
    /// Row weights of mean one; `None` if all rows have the same weight.
    pub weights: Option<Vec<f64>>,
    /// Notes about choices that were made automatically.
    pub notes: Vec<String>,
}

/// A builder that makes a [`Task`] from a data set.
///
/// ```
/// use lazyglm::{Dataset, Features, Labels, Rows, Task, loss};
/// let mut rows = Rows::new();
/// [1.0, 2.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
/// let data = Dataset::made(rows, Labels::Numbers(vec![0.0, 4.0, 9.0]), Features::columns_from(1, 1));
/// let task = Task::builder(data)
///     .loss(loss::parse("poisson").unwrap())
///     .sample_weights(vec![1.0, 0.0, 3.0]) // a row of weight 0 counts as absent
///     .build()
///     .unwrap();
/// assert_eq!((task.numbers(), task.weights.as_deref()), (&[0.0, 9.0][..], Some(&[0.5, 1.5][..])));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct TaskBuilder {
    data: Dataset,
    loss: Option<Arc<dyn Loss>>,
    heads: Option<HeadKind>,
    classify: bool,
    like: Option<Targets>,
    sample_weights: Option<Vec<f64>>,
    offsets: Option<Vec<f64>>,
    class_weight: Option<ClassWeight>,
}

impl TaskBuilder {
    /// Sets the loss. Without a loss, two distinct targets mean logistic, words softmax, and more numbers squared.
    pub fn loss(self, loss: impl Into<Option<Arc<dyn Loss>>>) -> TaskBuilder {
        TaskBuilder { loss: loss.into(), ..self }
    }

    /// Treats the targets as classes or labels with one head each. Without this call, the targets and the loss decide.
    pub fn heads(self, heads: impl Into<Option<HeadKind>>) -> TaskBuilder {
        TaskBuilder { heads: heads.into(), ..self }
    }

    /// Treats numbers as classes: two make a binary model, and more a softmax model. Without this call, only targets that
    /// are text are classes.
    ///
    /// ```
    /// use lazyglm::{Dataset, Features, Labels, Rows, Task};
    /// let mut rows = Rows::new();
    /// [1.0, 2.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
    /// let data = Dataset::made(rows, Labels::Numbers(vec![1.0, 2.0, 3.0]), Features::columns_from(1, 1));
    /// let task = Task::builder(data).classify().build().unwrap();
    /// assert_eq!(task.targets.heads().unwrap().names, ["1", "2", "3"]);
    /// ```
    pub fn classify(self) -> TaskBuilder {
        TaskBuilder { classify: true, ..self }
    }

    /// Treats the targets as those of a model, with its classes or labels and no others.
    pub(crate) fn like(self, targets: Targets) -> TaskBuilder {
        TaskBuilder { like: Some(targets), ..self }
    }

    /// Sets one weight per row, multiplied with the weights in the data.
    pub fn sample_weights(self, weights: impl Into<Option<Vec<f64>>>) -> TaskBuilder {
        TaskBuilder { sample_weights: weights.into(), ..self }
    }

    /// Sets one offset per row, added to the offsets in the data. The score of row i is then w·xᵢ + b + oᵢ.
    ///
    /// ```
    /// use lazyglm::{Dataset, Features, Labels, Rows, Task, loss};
    /// let mut rows = Rows::new();
    /// [1.0, 2.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
    /// let data = Dataset::made(rows, Labels::Numbers(vec![3.0, 8.0]), Features::columns_from(1, 1));
    /// let poisson = Task::builder(data).loss(loss::parse("poisson").unwrap());
    /// let exposure = [10.0f64, 40.0]; // counts of 3 in 10 hours and of 8 in 40 hours
    /// let task = poisson.offsets(exposure.map(f64::ln).to_vec()).build().unwrap();
    /// assert_eq!(task.examples().offset(1), 40f64.ln());
    /// ```
    pub fn offsets(self, offsets: impl Into<Option<Vec<f64>>>) -> TaskBuilder {
        TaskBuilder { offsets: offsets.into(), ..self }
    }

    /// Sets the weight of each class.
    pub fn class_weight(self, class_weight: impl Into<Option<ClassWeight>>) -> TaskBuilder {
        TaskBuilder { class_weight: class_weight.into(), ..self }
    }

    /// Checks the targets and weights, and makes the task.
    pub fn build(self) -> Result<Task> {
        let kind = match &self.like {
            Some(like) => like.heads().map(|heads| (heads.kind, None)),
            None => {
                let asked = Asked { heads: self.heads, classify: self.classify, loss: self.loss.as_deref() };
                let (labels, spec) = (&self.data.labels, &self.data.reading.spec);
                head_kind(labels, labels.has_commas(), spec, &asked)?
            }
        };
        if kind.as_ref().is_none_or(|(kind, _)| *kind != HeadKind::Labels) {
            self.data.check_targets()?; // a row may have no labels, but needs a class or a number
        }
        let (data, weights) = weighed(shifted(self.data, self.offsets)?, self.sample_weights)?;
        let mut notes = data.notes.clone();
        let (loss, targets) = match kind {
            Some((kind, note)) => {
                notes.extend(note);
                let loss = self.loss.map_or_else(|| loss::parse("logistic"), Ok)?;
                let targets = match &self.like {
                    Some(like) => like.all_known(&data, &*loss)?,
                    None => Targets::many(&data, kind, &mut notes)?,
                };
                (loss, targets)
            }
            None => {
                let loss = match self.loss {
                    Some(loss) => loss,
                    None => automatic(&data.labels, data.file(), &mut notes)?,
                };
                let targets = match &self.like {
                    Some(like) => like.all_known(&data, &*loss)?,
                    None => Targets::one(&data.labels, &*loss, data.file(), &|i| data.place(i))?,
                };
                (loss, targets)
            }
        };
        let weights = match self.class_weight {
            Some(class_weight) => Some(class_weight.row_weights(&targets, &*loss, weights)?),
            None => weights,
        };
        Ok(Task { data, loss, targets, weights: weights.and_then(normalised), notes })
    }
}

impl Task {
    /// Starts a builder for a data set.
    pub fn builder(data: Dataset) -> TaskBuilder {
        TaskBuilder {
            data,
            loss: None,
            heads: None,
            classify: false,
            like: None,
            sample_weights: None,
            offsets: None,
            class_weight: None,
        }
    }

    /// A task with other data, the same kind of targets, and rows of weight one.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared, Task};
    /// let file = |name: &str| std::env::temp_dir().join("lazyglm-doc-like-task-".to_string() + name);
    /// std::fs::write(file("train"), "spam 1:1\nham 2:1\n").unwrap();
    /// std::fs::write(file("check"), "spam 2:1\n").unwrap(); // one class: enough to check with
    /// let data = Dataset::read(&file("train"), Declared::default()).unwrap();
    /// let check = Dataset::read_like(&file("check"), &data).unwrap();
    /// assert_eq!(Task::builder(data).build().unwrap().like(check).unwrap().numbers(), [1.0]);
    /// ```
    pub fn like(&self, data: Dataset) -> Result<Task> {
        self.targets.task_of(data, &self.loss)
    }

    /// The same rows, all of weight one, for evaluation.
    pub fn unweighted(self) -> Task {
        Task { weights: None, ..self }
    }

    /// A task with some of the rows.
    ///
    /// ```
    /// use lazyglm::synth::{Shape, documents};
    /// let task = documents(&Shape { rows: 100, ..Shape::default() }).task;
    /// let (learnt, held_out): (Vec<_>, Vec<_>) = (0..100).partition(|i| i % 5 != 0);
    /// let (learnt, held_out) = (task.select(&learnt), task.select(&held_out));
    /// assert_eq!((learnt.len(), held_out.len()), (80, 20));
    /// ```
    pub fn select(&self, rows: &[usize]) -> Task {
        Task {
            data: self.data.select(rows),
            loss: self.loss.clone(),
            targets: self.targets.select(rows),
            weights: self.weights.as_ref().map(|w| with_mean_one(rows.iter().map(|&i| w[i]).collect())),
            notes: Vec::new(),
        }
    }

    /// The task with its values rounded to f32, for models whose weights are in f32.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared, Task};
    /// let file = std::env::temp_dir().join("lazyglm-doc-rounded.svm");
    /// std::fs::write(&file, "1 1:0.1\n-1 1:1e39\n").unwrap();
    /// let task = Task::builder(Dataset::read(&file, Declared::default()).unwrap()).build().unwrap();
    /// let error = task.clone().rounded_to_f32().unwrap_err();
    /// assert!(error.to_string().contains(":2: a value is too large for f32"));
    /// assert!(task.select(&[0]).rounded_to_f32().is_ok());
    /// ```
    pub fn rounded_to_f32(mut self) -> Result<Task> {
        self.data.round_to_f32()?;
        Ok(self)
    }

    /// The conversion of counts to tf-idf values that the rows went through. `None` for other values.
    pub fn tf_idf(&self) -> Option<CountScaling<'_>> {
        let scaling = &self.data.features.scaling;
        let idf = scaling.kept_idf()?;
        Some(CountScaling { log: scaling.log, idf, norm: scaling.norm })
    }

    /// The task with its counts replaced by tf-idf. The rows must not be scaled.
    pub(crate) fn with_tf_idf(&self, precision: Precision) -> Result<Task> {
        let data = self.data.with_tf_idf(precision == Precision::F32)?;
        let (loss, targets) = (self.loss.clone(), self.targets.clone());
        Ok(Task { data, loss, targets, weights: self.weights.clone(), notes: self.notes.clone() })
    }

    /// The task with each column of numbers of a table divided by its standard deviation, if their units are far apart.
    pub(crate) fn with_scaled_numbers(&self, precision: Precision) -> Result<Option<Task>> {
        let data = self.data.with_scaled_numbers(precision == Precision::F32)?;
        Ok(data.map(|data| Task { data, ..self.clone() }))
    }

    /// The task, whose rows are not scaled yet, scaled as rows of these features are.
    pub(crate) fn scaled_by(self, features: &Features, precision: Precision) -> Task {
        Task { data: self.data.scaled_by(features, precision == Precision::F32), ..self }
    }

    /// The targets as numbers: ±1 for two classes. Empty for more than two classes and for labels.
    pub fn numbers(&self) -> &[f64] {
        self.targets.numbers()
    }

    /// The rows as a solver of one model reads them.
    ///
    /// ```
    /// use lazyglm::{objective, synth};
    /// let task = synth::documents(&synth::Shape { rows: 100, features: 50, ..Default::default() }).task;
    /// let loss = objective::mean_loss(task.examples(), &*task.loss, &[0.0; 50], 0.0);
    /// assert!((loss - std::f64::consts::LN_2).abs() < 1e-12, "of a model that knows nothing");
    /// ```
    pub fn examples(&self) -> Examples<'_> {
        let (weights, offsets) = (self.weights.as_deref(), self.data.offsets.as_deref());
        Examples { rows: self.data.rows.borrow(), targets: self.numbers(), weights, offsets }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.data.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The weight of row `i`.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }
}
