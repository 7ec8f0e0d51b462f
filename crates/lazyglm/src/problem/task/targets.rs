//! Targets: numbers, two classes as ±1, more classes or labels as sets.

use super::Task;
use super::offsets::shifted;
use super::sets::{self, Found, Sets};
use super::unknown::{Unknown, sets_of};
use crate::data::dataset::Dataset;
use crate::data::labels::{Labels, is_of_class};
use crate::problem::heads::HeadKind;
use crate::problem::loss::{Admits, Loss};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use std::sync::Arc;

/// The targets of the rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Targets {
    /// Numbers to predict.
    Real(Vec<f64>),
    /// Two classes.
    Binary {
        /// The names of the classes −1 and +1.
        classes: [String; 2],
        /// −1 or +1 per row.
        signs: Vec<f64>,
    },
    /// Classes with one head each; a row has one class.
    Classes {
        /// How the heads are trained: [`HeadKind::Softmax`] or [`HeadKind::Ovr`].
        kind: HeadKind,
        /// The names of the classes: numbers by value, or words alphabetically.
        names: Vec<String>,
        /// The class of each row.
        sets: Sets,
    },
    /// Labels with one head each; a row has any number of labels.
    Labels {
        /// The names of the labels: numbers by value, or words alphabetically.
        names: Vec<String>,
        /// The labels of each row.
        sets: Sets,
    },
}

/// Targets of many classes or labels, in the form for training heads.
#[derive(Clone, Copy, Debug)]
pub struct HeadTargets<'a> {
    /// How the heads are trained together.
    pub kind: HeadKind,
    /// The name of each head.
    pub names: &'a [String],
    /// The heads of each row.
    pub sets: &'a Sets,
}

/// The targets of a batch of rows.
#[derive(Clone, Copy, Debug)]
pub enum TargetsRef<'a> {
    /// One number per row.
    Numbers(&'a [f64]),
    /// The heads of each row.
    Sets(&'a Sets),
}

impl Targets {
    /// Makes targets for one model: numbers, or ±1 if the loss is for classes.
    pub(crate) fn one(
        labels: &Labels,
        loss: &dyn Loss,
        file: Place,
        place: &dyn Fn(usize) -> Place,
    ) -> Result<Targets> {
        if loss.admits() != Admits::Classes {
            return numbers(labels, loss, place).map(Targets::Real);
        }
        let mut names = labels.distinct(3).into_iter().map(|(name, _)| name);
        match (names.next(), names.next(), names.next()) {
            (Some(negative), Some(positive), None) => {
                let classes = [negative, positive];
                signs(labels, &classes, place).map(|signs| Targets::Binary { classes, signs })
            }
            (_, None, _) => Err(one_class(labels, file)),
            _ => Err(too_many_classes(labels, file)),
        }
    }

    /// Makes targets for one head per class or label.
    pub(super) fn many(data: &Dataset, kind: HeadKind, notes: &mut Vec<String>) -> Result<Targets> {
        let Found { sets, names, twice } = sets::find(data, kind == HeadKind::Labels)?;
        if names.len() < if kind == HeadKind::Labels { 1 } else { 2 } {
            return Err(too_few(data.file(), kind, &names));
        }
        if twice > 0 {
            notes.push(format!("{twice} rows name a label twice: it counts once"));
        }
        notes.extend(odd_counts(kind, &names, &sets.counts(names.len()), sets.len()));
        Ok(Targets::of_sets(kind, names, sets))
    }

    /// Targets of classes or labels with these names.
    pub(crate) fn of_sets(kind: HeadKind, names: Vec<String>, sets: Sets) -> Targets {
        match kind {
            HeadKind::Labels => Targets::Labels { names, sets },
            kind => Targets::Classes { kind, names, sets },
        }
    }

    /// Targets of the same kind for other rows.
    pub(crate) fn like(
        &self,
        labels: &Labels,
        loss: &dyn Loss,
        place: &dyn Fn(usize) -> Place,
        unknown: &mut Unknown,
    ) -> Result<Targets> {
        match (self, self.heads()) {
            (_, Some(HeadTargets { kind, names, .. })) => {
                let sets = sets_of(labels, names, kind, place, unknown)?;
                Ok(Targets::of_sets(kind, names.to_vec(), sets))
            }
            (Targets::Binary { classes, .. }, _) => {
                let signs = signs(labels, classes, place)?;
                Ok(Targets::Binary { classes: classes.clone(), signs })
            }
            _ => numbers(labels, loss, place).map(Targets::Real),
        }
    }

    /// Targets of the same kind for other data. A class or label that is not among these is an error.
    pub(super) fn all_known(&self, data: &Dataset, loss: &dyn Loss) -> Result<Targets> {
        let mut unknown = Unknown::default();
        let targets = self.like(&data.labels, loss, &|i| data.place(i), &mut unknown)?;
        let (Some(&row), Some(name)) = (unknown.rows.first(), &unknown.first) else { return Ok(targets) };
        let what = format!("the label '{}' is none of those that were learnt", excerpt(name));
        Err(Error::data(data.place(row), what, "remove the label, or give a model that has it"))
    }

    /// A task with targets of the same kind for other data, all rows of weight one.
    pub(crate) fn task_of(&self, data: Dataset, loss: &Arc<dyn Loss>) -> Result<Task> {
        if !matches!(self, Targets::Labels { .. }) {
            data.check_targets()?;
        }
        let data = shifted(data, None)?;
        let mut unknown = Unknown::default();
        let targets = self.like(&data.labels, &**loss, &|i| data.place(i), &mut unknown)?;
        let notes = data.notes.iter().cloned().chain(unknown.note(HeadKind::Labels)).collect();
        Ok(Task { data, loss: loss.clone(), targets, weights: None, notes })
    }

    /// The targets of these rows, in this order.
    pub(super) fn select(&self, rows: &[usize]) -> Targets {
        let some = |numbers: &[f64]| rows.iter().map(|&i| numbers[i]).collect();
        match self {
            Targets::Real(numbers) => Targets::Real(some(numbers)),
            Targets::Binary { classes, signs } => {
                Targets::Binary { classes: classes.clone(), signs: some(signs) }
            }
            Targets::Classes { kind, names, sets } => {
                Targets::Classes { kind: *kind, names: names.clone(), sets: sets.select(rows) }
            }
            Targets::Labels { names, sets } => {
                Targets::Labels { names: names.clone(), sets: sets.select(rows) }
            }
        }
    }

    /// One number per row; empty for more than two classes and for labels.
    pub fn numbers(&self) -> &[f64] {
        match self {
            Targets::Real(numbers) | Targets::Binary { signs: numbers, .. } => numbers,
            _ => &[],
        }
    }

    /// The names of the classes −1 and +1.
    pub fn classes(&self) -> Option<&[String; 2]> {
        match self {
            Targets::Binary { classes, .. } => Some(classes),
            _ => None,
        }
    }

    /// The heads of the rows, if there are more than two classes, or labels.
    pub fn heads(&self) -> Option<HeadTargets<'_>> {
        match self {
            Targets::Classes { kind, names, sets } => Some(HeadTargets { kind: *kind, names, sets }),
            Targets::Labels { names, sets } => Some(HeadTargets { kind: HeadKind::Labels, names, sets }),
            _ => None,
        }
    }

    /// The targets of all rows, borrowed.
    pub fn borrow(&self) -> TargetsRef<'_> {
        match self.heads() {
            Some(HeadTargets { sets, .. }) => TargetsRef::Sets(sets),
            None => TargetsRef::Numbers(self.numbers()),
        }
    }
}

/// Converts targets to numbers for a loss; `place` is the place of a row, for errors.
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

/// Converts targets to −1 for the first class and +1 for the second.
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
            name if is_of_class(&name, &classes[1]) => Ok(1.0),
            name if is_of_class(&name, &classes[0]) => Ok(-1.0),
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
    let (refused, needed, hint): (fn(f64) -> bool, _, _) = match loss.admits() {
        Admits::NonNegative => (|y| y < 0.0, "0 or more", "use loss squared, or counts as targets"),
        Admits::Positive => {
            (|y| y <= 0.0, "more than 0", "use loss tweedie, which admits 0, or loss squared")
        }
        Admits::Classes | Admits::Reals => return Ok(numbers.clone()),
    };
    if let Some(i) = numbers.iter().position(|y| refused(*y)) {
        let (y, kind) = (numbers[i], if numbers[i] < 0.0 { "negative" } else { "not positive" });
        let what = format!("the target {y} is {kind}, and loss '{}' needs {needed}", loss.spec());
        return Err(Error::data(place(i), what, hint));
    }
    Ok(numbers.clone())
}

pub(super) fn one_class(labels: &Labels, file: Place) -> Error {
    let name = excerpt(labels.name(0));
    let what = format!("every target is '{name}': there is one class only, and nothing to tell apart");
    Error::data(file, what, "give rows of two classes, or a loss for regression such as squared")
}

pub(super) fn too_many_classes(labels: &Labels, file: Place) -> Error {
    let names: Vec<String> =
        labels.distinct(5).into_iter().map(|(name, _)| format!("'{}'", excerpt(name))).collect();
    let more = if names.len() > 4 { ", …" } else { "" };
    let what = format!("there are more than two classes ({}{more})", names[..names.len().min(4)].join(", "));
    Error::data(
        file,
        what,
        format!(
            "use {} or {}; for sets of labels, as in 3,17, use {}",
            Parameter::Multiclass.set("softmax"),
            Parameter::Multiclass.set("ovr"),
            Parameter::Multilabel
        ),
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

pub(crate) fn too_few(file: Place, kind: HeadKind, names: &[String]) -> Error {
    let (what, hint) = match (kind, names.first()) {
        (HeadKind::Labels, _) => {
            ("no row has a label: there is nothing to learn".to_string(), "give rows labels")
        }
        (_, name) => (
            format!("every target is '{}': there is one class only", name.map_or(String::new(), excerpt)),
            "give rows of two classes or more",
        ),
    };
    Error::data(file, what, hint)
}

/// Notes about classes with one row, and about too many classes for the number of rows.
pub(crate) fn odd_counts(kind: HeadKind, names: &[String], counts: &[usize], rows: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let single: Vec<&String> =
        names.iter().zip(counts).filter(|(_, n)| **n == 1).map(|(name, _)| name).collect();
    if let Some(first) = single.first() {
        let (count, nouns) = (single.len(), kind.nouns());
        notes.push(format!(
            "{count} of {} {nouns} have one row only, the first of them '{}'",
            names.len(),
            excerpt(first)
        ));
    }
    if kind != HeadKind::Labels && 2 * names.len() > rows {
        let (count, nouns) = (names.len(), kind.nouns());
        notes.push(format!("{count} {nouns} in {rows} rows: are these {nouns}, or numbers to predict?"));
    }
    notes
}
