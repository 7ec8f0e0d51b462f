//! Classes and labels of other data that a model does not know.

use super::sets::{self, Sets};
use crate::data::labels::{Labels, is_of_class};
use crate::problem::heads::HeadKind;
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::WARNING;

/// Classes or labels in other data that the model does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// The row of each unknown class or label; a row names each of its labels once.
    pub rows: Vec<usize>,
    /// The first unknown class or label.
    pub first: Option<String>,
    /// The place of the first.
    pub place: Option<Place>,
}

impl Unknown {
    /// Adds the unknown classes or labels of other rows.
    pub fn add(&mut self, more: Unknown) {
        self.rows.extend(more.rows);
        self.first = self.first.take().or(more.first);
        self.place = self.place.take().or(more.place);
    }

    fn push(&mut self, row: usize, name: &str, place: &dyn Fn(usize) -> Place) {
        self.rows.push(row);
        if self.first.is_none() {
            (self.first, self.place) = (Some(name.to_string()), Some(place(row)));
        }
    }

    /// A warning about the unknown classes or labels, if there are any.
    pub fn note(&self, kind: HeadKind) -> Option<String> {
        let (first, place) = (excerpt(self.first.as_ref()?), self.place.as_ref()?);
        let count = self.rows.len();
        Some(match kind {
            HeadKind::Labels => format!(
                "{WARNING}{count} labels never occurred in training, the first of them '{first}' at {place}: no head can give them, \
                 and each counts as missed"
            ),
            _ => format!(
                "{WARNING}the classes of {count} rows never occurred in training, the first of them '{first}' at {place}: each row \
                 counts as an error, and losses leave it out"
            ),
        })
    }
}

/// Converts targets to sets of the names of a model. An unknown class is an error; unknown labels are counted.
///
/// ```
/// use lazyglm::{HeadKind, Labels, Place, problem::task::{Unknown, sets_of}};
/// let (labels, names) = (Labels::Numbers(vec![2.0, 9.0]), ["1".to_string(), "2".to_string()]);
/// let (place, mut unknown) = (|i: usize| Place::file("mail").line(i as u64 + 1), Unknown::default());
/// assert_eq!(sets_of(&labels, &names, HeadKind::Labels, &place, &mut unknown).unwrap().ends, [1, 1]);
/// assert_eq!((&unknown.rows[..], unknown.first.as_deref()), (&[1][..], Some("9")));
/// let error = sets_of(&labels, &names, HeadKind::Ovr, &place, &mut unknown).unwrap_err();
/// assert!(error.to_string().starts_with("mail:2: the target '9' is none of the 2 classes"));
/// ```
pub fn sets_of(
    labels: &Labels,
    names: &[String],
    kind: HeadKind,
    place: &dyn Fn(usize) -> Place,
    unknown: &mut Unknown,
) -> Result<Sets> {
    if kind == HeadKind::Labels {
        return sets_and_unknown(labels, names, kind, place, unknown);
    }
    sets::known(labels, names, false, place, |i, name| {
        let (name, count) = (excerpt(name), names.len());
        let what = format!("the target '{name}' is none of the {count} classes that were learnt");
        Err(Error::data(place(i), what, "give it one of these, or remove the row"))
    })
}

/// Converts targets to sets of the names of a model, and counts unknown classes and labels.
pub fn sets_and_unknown(
    labels: &Labels,
    names: &[String],
    kind: HeadKind,
    place: &dyn Fn(usize) -> Place,
    unknown: &mut Unknown,
) -> Result<Sets> {
    sets::known(labels, names, kind == HeadKind::Labels, place, |i, name| {
        unknown.push(i, name, place);
        Ok(())
    })
}

/// Converts targets to −1 for the first class and +1 for the second, and to 0 for other classes, which are counted.
pub fn signs_or_unknown(
    labels: &Labels,
    classes: &[String; 2],
    place: &dyn Fn(usize) -> Place,
    unknown: &mut Unknown,
) -> Vec<f64> {
    let sign = |i: usize| match labels.name(i) {
        name if is_of_class(&name, &classes[1]) => 1.0,
        name if is_of_class(&name, &classes[0]) => -1.0,
        name => {
            unknown.push(i, &name, place);
            0.0
        }
    };
    (0..labels.len()).map(sign).collect()
}
