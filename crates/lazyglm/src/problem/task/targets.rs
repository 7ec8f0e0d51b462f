//! Targets as numbers: ±1 for two classes, as they are otherwise; and the loss that they suggest.

use crate::data::labels::Labels;
use crate::problem::loss::{self, Admits, Loss};
use crate::util::error::{Error, Place, Result, excerpt};
use std::sync::Arc;

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
        let what = format!(
            "the target '{}' is a word, and loss '{}' needs numbers",
            excerpt(labels.name(i)),
            loss.spec()
        );
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
    let name = excerpt(labels.name(0));
    let what = format!("every target is '{name}': there is one class only, and nothing to tell apart");
    Error::data(file, what, "give rows of two classes, or a loss for regression such as squared")
}

fn too_many_classes(labels: &Labels, file: Place) -> Error {
    let names: Vec<String> =
        labels.distinct(5).into_iter().map(|(name, _)| format!("'{}'", excerpt(name))).collect();
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
        excerpt(labels.name(i)),
        excerpt(&classes[0]),
        excerpt(&classes[1])
    );
    Error::data(place(i), what, "give it one of these classes, or remove the row")
}
