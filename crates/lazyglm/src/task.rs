//! What is to be learnt: a loss, targets in numbers, and a weight for each row.
//!
//! Here words become ±1, `auto` becomes a loss, weights get mean one and rows of weight zero disappear.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::labels::Labels;
use crate::loss::{self, Admits, Loss};
use crate::rows::Examples;
use std::sync::Arc;

/// How much each class counts.
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
        pairs.map(ClassWeight::Given).ok_or_else(|| {
            Error::call(
                format!("class weight '{text}' is neither 'balanced' nor a list"),
                "write CLASS=WEIGHT,CLASS=WEIGHT with weights from 0 up",
            )
        })
    }
}

/// A data set made ready for a solver.
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
    pub fn new(
        data: Dataset,
        loss: Option<Arc<dyn Loss>>,
        sample_weights: Option<Vec<f64>>,
        class_weight: Option<ClassWeight>,
    ) -> Result<Task> {
        let (data, sample_weights) = without_absent_rows(data, sample_weights)?;
        let mut notes = data.notes.clone();
        let loss = match loss {
            Some(loss) => loss,
            None => automatic(&data, &mut notes)?,
        };
        let (targets, classes) = targets(&data, &*loss)?;
        let task = Task { data, loss, targets, weights: sample_weights, classes, notes };
        let task = match class_weight {
            Some(class_weight) => task.weigh_classes(class_weight)?,
            None => task,
        };
        Ok(Task { weights: task.weights.map(with_mean_one), ..task })
    }

    /// Another data set for the same task: targets must be of the kind this one has.
    pub fn like(&self, data: Dataset) -> Result<Task> {
        let targets = Task::targets_like(&data, &*self.loss, self.classes.as_ref())?;
        let (loss, classes, notes) = (self.loss.clone(), self.classes.clone(), data.notes.clone());
        Ok(Task { data, loss, targets, weights: None, classes, notes })
    }

    /// The targets of a data set as numbers, for a loss and its classes.
    pub fn targets_like(data: &Dataset, loss: &dyn Loss, classes: Option<&[String; 2]>) -> Result<Vec<f64>> {
        match classes {
            Some(classes) => signs(data, classes),
            None => numbers(data, loss),
        }
    }

    /// Some of the rows as a task of their own.
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
    pub fn narrowed(mut self) -> Result<Task> {
        let rows = std::mem::take(&mut self.data.rows);
        self.data.rows = rows.narrowed().map_err(|row| {
            let what = "a value is too large for f32 (3.4e38)";
            Error::data(self.data.place(row), what, "scale the feature down, or train with --precision f64")
        })?;
        Ok(self)
    }

    /// What a solver eats.
    pub fn examples(&self) -> Examples<'_> {
        Examples { rows: self.data.rows.borrow(), targets: &self.targets, weights: self.weights.as_deref() }
    }

    /// Multiplies each row's weight by its class's; a class of weight zero is as if absent.
    fn weigh_classes(mut self, class_weight: ClassWeight) -> Result<Task> {
        let Some(classes) = &self.classes else {
            return Err(Error::call(
                format!("class weights with loss '{}', which has no classes", self.loss.spec()),
                "use --sample-weights, or a loss for classes",
            ));
        };
        let rows = self.targets.len() as f64;
        let of_class = match &class_weight {
            ClassWeight::Balanced => {
                let positive = self.targets.iter().filter(|y| **y > 0.0).count() as f64;
                [rows / (2.0 * (rows - positive)), rows / (2.0 * positive)]
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
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| w[i]);
        let weights =
            self.targets.iter().enumerate().map(|(i, &y)| weight(i) * of_class[usize::from(y > 0.0)]);
        self.weights = Some(weights.collect());
        Ok(self)
    }
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

fn with_mean_one(weights: Vec<f64>) -> Vec<f64> {
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    weights.into_iter().map(|w| w / mean).collect()
}

/// Two distinct targets: logistic. More than two distinct numbers: squared.
fn automatic(data: &Dataset, notes: &mut Vec<String>) -> Result<Arc<dyn Loss>> {
    match (data.labels.distinct(3).len(), &data.labels) {
        (0 | 1, _) => Err(one_class(data)),
        (2, _) => loss::parse("logistic"),
        (_, Labels::Numbers(_)) => {
            notes.push(
                "more than two distinct targets, all numbers: loss squared (regression). If they are classes, \
                 write them as words, or keep two of them and ask for --loss logistic"
                    .into(),
            );
            loss::parse("squared")
        }
        _ => Err(too_many_classes(data)),
    }
}

fn targets(data: &Dataset, loss: &dyn Loss) -> Result<(Vec<f64>, Option<[String; 2]>)> {
    if loss.admits() != Admits::Classes {
        return numbers(data, loss).map(|targets| (targets, None));
    }
    let mut names = data.labels.distinct(3).into_iter().map(|(name, _)| name);
    match (names.next(), names.next(), names.next()) {
        (Some(negative), Some(positive), None) => {
            let classes = [negative, positive];
            signs(data, &classes).map(|targets| (targets, Some(classes)))
        }
        (_, None, _) => Err(one_class(data)),
        _ => Err(too_many_classes(data)),
    }
}

/// −1 for rows of the first class, +1 for rows of the second.
fn signs(data: &Dataset, classes: &[String; 2]) -> Result<Vec<f64>> {
    if let Labels::Numbers(numbers) = &data.labels
        && let (Ok(negative), Ok(positive)) = (classes[0].parse::<f64>(), classes[1].parse::<f64>())
    {
        let sign = |&y: &f64| (y == positive).then_some(1.0).or((y == negative).then_some(-1.0));
        return numbers
            .iter()
            .enumerate()
            .map(|(i, y)| sign(y).ok_or_else(|| stranger(data, i, classes)))
            .collect();
    }
    (0..data.labels.len())
        .map(|i| match data.labels.name(i) {
            name if name == classes[1] => Ok(1.0),
            name if name == classes[0] => Ok(-1.0),
            _ => Err(stranger(data, i, classes)),
        })
        .collect()
}

fn numbers(data: &Dataset, loss: &dyn Loss) -> Result<Vec<f64>> {
    let Labels::Numbers(numbers) = &data.labels else {
        let i = (0..data.labels.len()).find(|&i| data.labels.name(i).parse::<f64>().is_err()).unwrap_or(0);
        let what = format!(
            "the target '{}' is a word, and loss '{}' needs numbers",
            data.labels.name(i),
            loss.spec()
        );
        return Err(Error::data(data.place(i), what, "use a loss for classes, such as logistic"));
    };
    let negative = numbers.iter().position(|y| *y < 0.0);
    if let (Admits::NonNegative, Some(i)) = (loss.admits(), negative) {
        let what =
            format!("the target {} is negative, and loss '{}' needs 0 or more", numbers[i], loss.spec());
        return Err(Error::data(data.place(i), what, "use loss squared, or counts as targets"));
    }
    Ok(numbers.clone())
}

fn one_class(data: &Dataset) -> Error {
    let name = data.labels.name(0);
    let what = format!("every target is '{name}': there is one class only, and nothing to tell apart");
    Error::data(data.file(), what, "give rows of two classes, or a loss for regression such as squared")
}

fn too_many_classes(data: &Dataset) -> Error {
    let names: Vec<String> =
        data.labels.distinct(5).into_iter().map(|(name, _)| format!("'{name}'")).collect();
    let what = format!("there are more than two classes ({}, …)", names[..names.len().min(4)].join(", "));
    Error::data(
        data.file(),
        what,
        "this version tells two classes apart: keep two, or name one against the rest",
    )
}

fn stranger(data: &Dataset, i: usize, classes: &[String; 2]) -> Error {
    let what = format!(
        "the target '{}' is none of the classes '{}' and '{}'",
        data.labels.name(i),
        classes[0],
        classes[1]
    );
    Error::data(data.place(i), what, "give it one of these classes, or remove the row")
}
