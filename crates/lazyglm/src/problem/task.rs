//! What is to be learnt: a loss, targets in numbers, and a weight for each row.
//!
//! Here words become ±1, `auto` becomes a loss, weights get mean one and rows of weight zero disappear.

mod class_weight;
mod row_weights;
mod targets;

pub use class_weight::ClassWeight;
pub(crate) use row_weights::{normalised, weighed, with_mean_one};
pub use targets::targets_of;
pub(crate) use targets::{automatic, targets};

use crate::data::dataset::Dataset;
use crate::data::rows::Examples;
use crate::problem::loss::Loss;
use crate::util::error::Result;
use std::sync::Arc;

/// A data set made ready for a solver.
///
/// ```
/// use lazyglm::{Dataset, Declared, Task};
/// let file = std::env::temp_dir().join("lazyglm-doc-task.svm");
/// std::fs::write(&file, "spam 1:1\nham 2:1\nham 3:1\n").unwrap();
/// let task = Task::new(Dataset::read(&file, Declared::default()).unwrap(), None, None, None).unwrap();
/// assert_eq!(task.classes, Some(["ham".to_string(), "spam".to_string()]));
/// assert_eq!((task.targets.as_slice(), task.loss.spec()), (&[1.0, -1.0, -1.0][..], "logistic".to_string()));
/// ```
#[derive(Clone, Debug)]
pub struct Task {
    /// The rows and the names of their features.
    pub data: Dataset,
    /// The loss to minimise.
    pub loss: Arc<dyn Loss>,
    /// ±1 for classes, numbers as they are otherwise.
    pub targets: Vec<f64>,
    /// Mean one; `None` if all are one.
    pub weights: Option<Vec<f64>>,
    /// The names of the classes −1 and +1.
    pub classes: Option<[String; 2]>,
    /// What was decided for the caller.
    pub notes: Vec<String>,
}

impl Task {
    /// Takes a data set, the loss asked for (`None` for auto), and the weights given.
    ///
    /// ```
    /// use lazyglm::{Dataset, Features, Labels, Rows, Task, loss};
    /// let mut rows = Rows::new();
    /// [1.0, 2.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
    /// let data = Dataset::made(rows, Labels::Numbers(vec![0.0, 4.0, 9.0]), Features::columns_from(1, 1));
    /// let task = Task::new(data, loss::parse("poisson").ok(), Some(vec![1.0, 0.0, 3.0]), None).unwrap();
    /// assert_eq!((task.targets, task.weights), (vec![0.0, 9.0], Some(vec![0.5, 1.5])));
    /// ```
    pub fn new(
        data: Dataset,
        loss: Option<Arc<dyn Loss>>,
        sample_weights: Option<Vec<f64>>,
        class_weight: Option<ClassWeight>,
    ) -> Result<Task> {
        data.check_targets()?;
        let (data, sample_weights) = weighed(data, sample_weights)?;
        let mut notes = data.notes.clone();
        let loss = match loss {
            Some(loss) => loss,
            None => automatic(&data.labels, data.file(), &mut notes)?,
        };
        let (targets, classes) = targets(&data.labels, &*loss, data.file(), &|i| data.place(i))?;
        let task = Task { data, loss, targets, weights: sample_weights, classes, notes };
        let task = match class_weight {
            Some(class_weight) => task.weigh_classes(class_weight)?,
            None => task,
        };
        Ok(Task { weights: task.weights.and_then(normalised), ..task })
    }

    /// Another data set for the same task: targets must be of the kind this one has.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared, Task};
    /// let file = |name: &str| std::env::temp_dir().join("lazyglm-doc-like-task-".to_string() + name);
    /// std::fs::write(file("train"), "spam 1:1\nham 2:1\n").unwrap();
    /// std::fs::write(file("check"), "spam 2:1\n").unwrap(); // one class: enough to check with
    /// let data = Dataset::read(&file("train"), Declared::default()).unwrap();
    /// let check = Dataset::read_like(&file("check"), &data).unwrap();
    /// assert_eq!(Task::new(data, None, None, None).unwrap().like(check).unwrap().targets, [1.0]);
    /// ```
    pub fn like(&self, data: Dataset) -> Result<Task> {
        let targets = Task::targets_like(&data, &*self.loss, self.classes.as_ref())?;
        let (loss, classes, notes) = (self.loss.clone(), self.classes.clone(), data.notes.clone());
        Ok(Task { data, loss, targets, weights: None, classes, notes })
    }

    /// The targets of a data set as numbers, for a loss and its classes.
    ///
    /// ```
    /// use lazyglm::{Dataset, Features, Labels, Rows, Task, loss};
    /// let mut rows = Rows::new();
    /// (0..2).for_each(|_| rows.push(&[(0, 1.0)]).unwrap());
    /// let data = Dataset::made(rows, Labels::Numbers(vec![2.0, 1.0]), Features::columns_from(1, 1));
    /// let (hinge, classes) = (loss::parse("hinge").unwrap(), ["1".to_string(), "2".to_string()]);
    /// assert_eq!(Task::targets_like(&data, &*hinge, Some(&classes)).unwrap(), [1.0, -1.0]);
    /// ```
    pub fn targets_like(data: &Dataset, loss: &dyn Loss, classes: Option<&[String; 2]>) -> Result<Vec<f64>> {
        data.check_targets()?;
        targets_of(&data.labels, loss, classes, &|i| data.place(i))
    }

    /// The same rows, all of weight one: for measuring, not for learning.
    pub fn unweighted(self) -> Task {
        Task { weights: None, ..self }
    }

    /// Some of the rows as a task of their own.
    ///
    /// ```
    /// use lazyglm::synth::{Shape, documents};
    /// let task = documents(&Shape { rows: 100, ..Shape::default() }).task;
    /// let (learnt, held_out): (Vec<_>, Vec<_>) = (0..100).partition(|i| i % 5 != 0);
    /// let (learnt, held_out) = (task.select(&learnt), task.select(&held_out));
    /// assert_eq!((learnt.targets.len(), held_out.targets.len()), (80, 20));
    /// ```
    pub fn select(&self, rows: &[usize]) -> Task {
        Task {
            data: self.data.select(rows),
            loss: self.loss.clone(),
            targets: rows.iter().map(|&i| self.targets[i]).collect(),
            weights: self.weights.as_ref().map(|w| with_mean_one(rows.iter().map(|&i| w[i]).collect())),
            classes: self.classes.clone(),
            notes: Vec::new(),
        }
    }

    /// Values in the precision of the weights: a model in f32 reads its data in f32.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared, Task};
    /// let file = std::env::temp_dir().join("lazyglm-doc-narrowed.svm");
    /// std::fs::write(&file, "1 1:0.1\n-1 1:1e39\n").unwrap();
    /// let task = Task::new(Dataset::read(&file, Declared::default()).unwrap(), None, None, None).unwrap();
    /// let error = task.clone().narrowed().unwrap_err();
    /// assert!(error.to_string().contains(":2: a value is too large for f32"));
    /// assert!(task.select(&[0]).narrowed().is_ok());
    /// ```
    pub fn narrowed(mut self) -> Result<Task> {
        self.data.narrow()?;
        Ok(self)
    }

    /// What a solver eats.
    ///
    /// ```
    /// use lazyglm::{objective, synth};
    /// let task = synth::documents(&synth::Shape { rows: 100, features: 50, ..Default::default() }).task;
    /// let loss = objective::mean_loss(task.examples(), &*task.loss, &[0.0; 50], 0.0);
    /// assert!((loss - std::f64::consts::LN_2).abs() < 1e-12, "of a model that knows nothing");
    /// ```
    pub fn examples(&self) -> Examples<'_> {
        Examples { rows: self.data.rows.borrow(), targets: &self.targets, weights: self.weights.as_deref() }
    }

    /// Multiplies each row's weight by its class's; a class of weight zero is as if absent.
    fn weigh_classes(mut self, class_weight: ClassWeight) -> Result<Task> {
        let positive = self.targets.iter().filter(|y| **y > 0.0).count();
        let counts = [self.targets.len() - positive, positive];
        let of_class = class_weight.of_classes(self.classes.as_ref(), counts, &*self.loss)?;
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| w[i]);
        let times = |(i, &y): (usize, &f64)| weight(i) * of_class[usize::from(y > 0.0)];
        self.weights = Some(self.targets.iter().enumerate().map(times).collect());
        Ok(self)
    }
}
