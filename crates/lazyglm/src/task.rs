//! What is to be learnt: a loss, targets in numbers, and a weight for each row.
//!
//! Here words become ±1, `auto` becomes a loss, weights get mean one and rows of weight zero disappear.

use crate::data::Dataset;
use crate::error::{Error, Place, Result};
use crate::labels::Labels;
use crate::loss::{self, Admits, Loss};
use crate::rows::Examples;
use std::sync::Arc;

/// How much each class counts.
///
/// ```
/// use lazyglm::{ClassWeight, Dataset, Features, Labels, Rows, Task};
/// let mut rows = Rows::new();
/// (0..5).for_each(|_| rows.push(&[(0, 1.0)]).unwrap());
/// let labels = Labels::Numbers(vec![1.0, -1.0, -1.0, -1.0, -1.0]);
/// let data = Dataset::made(rows, labels, Features::columns_from(1, 1));
/// let weights = Task::new(data, None, None, Some(ClassWeight::Balanced)).unwrap().weights.unwrap();
/// assert_eq!(weights, [2.5, 0.625, 0.625, 0.625, 0.625], "one row weighs as much as the other four");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ClassWeight {
    /// n/(2·rows of the class): both classes weigh the same in total.
    Balanced,
    /// By name; a class not named has weight 1.
    Given(Vec<(String, f64)>),
}

impl ClassWeight {
    /// `balanced`, or `A=1,B=5`.
    ///
    /// ```
    /// use lazyglm::ClassWeight;
    /// assert_eq!(ClassWeight::parse("balanced").unwrap(), ClassWeight::Balanced);
    /// assert_eq!(ClassWeight::parse("spam=5").unwrap(), ClassWeight::Given(vec![("spam".into(), 5.0)]));
    /// ```
    pub fn parse(text: &str) -> Result<ClassWeight> {
        if text == "balanced" {
            return Ok(ClassWeight::Balanced);
        }
        let one = |pair: &str| {
            let (name, weight) = pair.rsplit_once('=')?;
            let weight: f64 = weight.parse().ok()?;
            let number = name.parse::<f64>().map(|value| (value + 0.0).to_string());
            (weight.is_finite() && weight >= 0.0).then(|| (number.unwrap_or(name.to_string()), weight))
        };
        let pairs: Option<Vec<_>> = text.split(',').map(one).collect();
        if let Some(pairs) = &pairs
            && let Some((name, _)) = pairs.iter().find(|a| pairs.iter().filter(|b| a.0 == b.0).count() > 1)
        {
            return Err(Error::call(format!("class '{name}' is given a weight twice"), "give it once"));
        }
        pairs.map(ClassWeight::Given).ok_or_else(|| {
            Error::call(
                format!("class weight '{text}' is neither 'balanced' nor a list"),
                "write CLASS=WEIGHT,CLASS=WEIGHT with weights from 0 up",
            )
        })
    }
}

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

impl ClassWeight {
    /// The weights of the two classes, the larger one 1, so that no product with them is infinite.
    pub(crate) fn of_classes(
        &self,
        classes: Option<&[String; 2]>,
        counts: [usize; 2],
        loss: &dyn Loss,
    ) -> Result<[f64; 2]> {
        let Some(classes) = classes else {
            return Err(Error::call(
                format!("class weights with loss '{}', which has no classes", loss.spec()),
                "use --sample-weights, or a loss for classes",
            ));
        };
        let of_class = match self {
            ClassWeight::Balanced => {
                let rows = (counts[0] + counts[1]) as f64;
                counts.map(|count| rows / (2.0 * count as f64))
            }
            ClassWeight::Given(pairs) => {
                if let Some((name, _)) = pairs.iter().find(|(name, _)| !classes.contains(name)) {
                    let names = [classes[0].as_str(), classes[1].as_str()];
                    let hint = crate::registry::suggest(name, &names);
                    return Err(Error::call(format!("there is no class '{name}' to weigh"), hint));
                }
                let weight =
                    |class: &String| pairs.iter().find(|(name, _)| name == class).map_or(1.0, |p| p.1);
                [weight(&classes[0]), weight(&classes[1])]
            }
        };
        if of_class.contains(&0.0) {
            return Err(Error::call(
                "a class of weight 0 leaves one class only",
                "give both a weight above 0",
            ));
        }
        let heavier = of_class[0].max(of_class[1]);
        Ok(of_class.map(|weight| weight / heavier))
    }
}

/// The weights that rows have of their own and those given, multiplied; rows of weight zero are gone.
pub(crate) fn weighed(data: Dataset, given: Option<Vec<f64>>) -> Result<(Dataset, Option<Vec<f64>>)> {
    let weights = match (given, &data.weights) {
        (Some(given), Some(own)) => Some(given.iter().zip(own).map(|(a, b)| a * b).collect()),
        (given, own) => given.or(own.clone()),
    };
    without_absent_rows(data, weights)
}

/// Weights of mean one; none if all are the same.
pub(crate) fn normalised(weights: Vec<f64>) -> Option<Vec<f64>> {
    let unequal = weights.iter().any(|weight| *weight != weights[0]);
    unequal.then(|| with_mean_one(weights))
}

/// Checks the sample weights and drops the rows whose weight is zero: they are as if absent.
fn without_absent_rows(data: Dataset, weights: Option<Vec<f64>>) -> Result<(Dataset, Option<Vec<f64>>)> {
    let Some(weights) = weights else { return Ok((data, None)) };
    if weights.len() != data.rows.len() {
        let what = format!("there are {} sample weights for {} rows", weights.len(), data.rows.len());
        return Err(Error::data(data.file(), what, "give one weight a row, in the order of the rows"));
    }
    if let Some(i) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        let what = format!("the sample weight {} is no weight", weights[i]);
        return Err(Error::data(data.place(i), what, "weights are numbers from 0 up"));
    }
    let present: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    if present.is_empty() {
        return Err(Error::data(data.file(), "all sample weights are 0", "give some rows a weight above 0"));
    }
    if present.len() == weights.len() {
        return Ok((data, Some(weights)));
    }
    let kept = present.iter().map(|&i| weights[i]).collect();
    let mut fewer = data.select(&present);
    fewer.notes = data.notes;
    Ok((fewer, Some(kept)))
}

/// Divides by the largest first, so that no sum of large weights is infinite.
pub(crate) fn with_mean_one(weights: Vec<f64>) -> Vec<f64> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let mean = weights.iter().map(|w| w / largest).sum::<f64>() / weights.len() as f64;
    weights.into_iter().map(|w| w / largest / mean).collect()
}

/// Two distinct targets: logistic. More than two distinct numbers: squared.
pub(crate) fn automatic(labels: &Labels, file: Place, notes: &mut Vec<String>) -> Result<Arc<dyn Loss>> {
    match (labels.distinct(3).len(), labels) {
        (0 | 1, _) => Err(one_class(labels, file)),
        (2, _) => loss::parse("logistic"),
        (_, Labels::Numbers(_)) => {
            notes.push(
                "more than two distinct targets, all numbers: loss squared (regression). If they are classes, \
                 ask for --multiclass softmax"
                    .into(),
            );
            loss::parse("squared")
        }
        _ => Err(too_many_classes(labels, file)),
    }
}

/// Targets as numbers; `place` says where one was read.
///
/// ```
/// use lazyglm::{Labels, Place, loss, targets_of};
/// let (labels, hinge) = (Labels::Numbers(vec![2.0, 1.0, 3.0]), loss::parse("hinge").unwrap());
/// let classes = ["1".to_string(), "2".to_string()];
/// let error = targets_of(&labels, &*hinge, Some(&classes), &|i| Place::file("mail").line(i as u64)).unwrap_err();
/// assert!(error.to_string().starts_with("mail:2: the target '3' is none of the classes"));
/// ```
pub fn targets_of(
    labels: &Labels,
    loss: &dyn Loss,
    classes: Option<&[String; 2]>,
    place: &dyn Fn(usize) -> Place,
) -> Result<Vec<f64>> {
    match classes {
        Some(classes) => signs(labels, classes, place),
        None => numbers(labels, loss, place),
    }
}

/// Targets as numbers, and the classes if the loss is for such.
pub(crate) fn targets(
    labels: &Labels,
    loss: &dyn Loss,
    file: Place,
    place: &dyn Fn(usize) -> Place,
) -> Result<(Vec<f64>, Option<[String; 2]>)> {
    if loss.admits() != Admits::Classes {
        return numbers(labels, loss, place).map(|targets| (targets, None));
    }
    let mut names = labels.distinct(3).into_iter().map(|(name, _)| name);
    match (names.next(), names.next(), names.next()) {
        (Some(negative), Some(positive), None) => {
            let classes = [negative, positive];
            signs(labels, &classes, place).map(|targets| (targets, Some(classes)))
        }
        (_, None, _) => Err(one_class(labels, file)),
        _ => Err(too_many_classes(labels, file)),
    }
}

/// −1 for rows of the first class, +1 for rows of the second.
fn signs(labels: &Labels, classes: &[String; 2], place: &dyn Fn(usize) -> Place) -> Result<Vec<f64>> {
    if let Labels::Numbers(numbers) = labels
        && let (Ok(negative), Ok(positive)) = (classes[0].parse::<f64>(), classes[1].parse::<f64>())
    {
        let sign = |&y: &f64| (y == positive).then_some(1.0).or((y == negative).then_some(-1.0));
        return numbers
            .iter()
            .enumerate()
            .map(|(i, y)| sign(y).ok_or_else(|| stranger(labels, i, classes, place)))
            .collect();
    }
    (0..labels.len())
        .map(|i| match labels.name(i) {
            name if name == classes[1] => Ok(1.0),
            name if name == classes[0] => Ok(-1.0),
            _ => Err(stranger(labels, i, classes, place)),
        })
        .collect()
}

fn numbers(labels: &Labels, loss: &dyn Loss, place: &dyn Fn(usize) -> Place) -> Result<Vec<f64>> {
    let Labels::Numbers(numbers) = labels else {
        let i = (0..labels.len()).find(|&i| labels.name(i).parse::<f64>().is_err()).unwrap_or(0);
        let what =
            format!("the target '{}' is a word, and loss '{}' needs numbers", labels.name(i), loss.spec());
        return Err(Error::data(place(i), what, "use a loss for classes, such as logistic"));
    };
    let negative = numbers.iter().position(|y| *y < 0.0);
    if let (Admits::NonNegative, Some(i)) = (loss.admits(), negative) {
        let what =
            format!("the target {} is negative, and loss '{}' needs 0 or more", numbers[i], loss.spec());
        return Err(Error::data(place(i), what, "use loss squared, or counts as targets"));
    }
    Ok(numbers.clone())
}

fn one_class(labels: &Labels, file: Place) -> Error {
    let name = labels.name(0);
    let what = format!("every target is '{name}': there is one class only, and nothing to tell apart");
    Error::data(file, what, "give rows of two classes, or a loss for regression such as squared")
}

fn too_many_classes(labels: &Labels, file: Place) -> Error {
    let names: Vec<String> = labels.distinct(5).into_iter().map(|(name, _)| format!("'{name}'")).collect();
    let more = if names.len() > 4 { ", …" } else { "" };
    let what = format!("there are more than two classes ({}{more})", names[..names.len().min(4)].join(", "));
    Error::data(
        file,
        what,
        "ask for --multiclass softmax or ovr; for sets of labels, as in 3,17, ask for --multilabel",
    )
}

fn stranger(labels: &Labels, i: usize, classes: &[String; 2], place: &dyn Fn(usize) -> Place) -> Error {
    let what = format!(
        "the target '{}' is none of the classes '{}' and '{}'",
        labels.name(i),
        classes[0],
        classes[1]
    );
    Error::data(place(i), what, "give it one of these classes, or remove the row")
}
