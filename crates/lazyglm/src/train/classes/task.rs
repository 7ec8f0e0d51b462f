//! What is to be learnt where there are many classes or labels: a head for each.

use super::sets::{self, Found, Sets};
use crate::data::dataset::Dataset;
use crate::data::labels::Labels;
use crate::data::rows::Examples;
use crate::problem::heads::HeadKind;
use crate::problem::loss::{self, Loss};
use crate::problem::task::{self, ClassWeight};
use crate::util::error::{Error, Place, Result, excerpt};
use std::sync::Arc;

/// A data set with many classes or labels, made ready for a solver.
///
/// ```
/// use lazyglm::{Dataset, Declared, HeadKind, train::classes::ClassTask};
/// let file = std::env::temp_dir().join("lazyglm-doc-class-task.svm");
/// std::fs::write(&file, "spam 1:1\nham 2:1\neggs 3:1\n").unwrap();
/// let data = Dataset::read(&file, Declared::default()).unwrap();
/// let task = ClassTask::new(data, HeadKind::Softmax, None, None, None).unwrap();
/// assert_eq!((task.names.join(" "), task.sets.ids), ("eggs ham spam".to_string(), vec![2, 1, 0]));
/// ```
#[derive(Clone, Debug)]
pub struct ClassTask {
    /// The rows and the names of their features.
    pub data: Dataset,
    /// How the heads go together.
    pub kind: HeadKind,
    /// The loss of each head; with softmax, what is left of it: its link for two classes.
    pub loss: Arc<dyn Loss>,
    /// What the heads stand for: numbers by value, or words alphabetically.
    pub names: Vec<String>,
    /// The heads of each row.
    pub sets: Sets,
    /// Row weights of mean one; `None` if all are one.
    pub weights: Option<Vec<f64>>,
    /// What was decided for the caller.
    pub notes: Vec<String>,
}

impl ClassTask {
    /// Takes a data set, how heads go together, the loss asked for (`None` for auto), and the weights given.
    pub fn new(
        data: Dataset,
        kind: HeadKind,
        loss: Option<Arc<dyn Loss>>,
        sample_weights: Option<Vec<f64>>,
        class_weight: Option<ClassWeight>,
    ) -> Result<ClassTask> {
        check_targets(&data, kind)?;
        let (data, weights) = task::weighed(data, sample_weights)?;
        let loss = loss.map_or_else(|| loss::parse("logistic"), Ok)?;
        let Found { sets, names, twice } = sets::find(&data, kind == HeadKind::Labels)?;
        if names.len() < if kind == HeadKind::Labels { 1 } else { 2 } {
            return Err(too_few(&data, kind, &names));
        }
        let mut notes = data.notes.clone();
        if twice > 0 {
            notes.push(format!("{twice} rows name a label twice: it counts once"));
        }
        let weights = match class_weight {
            None => weights,
            Some(class_weight) => Some(weigh(&class_weight, kind, &names, &sets, weights)?),
        };
        notes.extend(odd_counts(kind, &names, &sets));
        Ok(ClassTask { data, kind, loss, names, sets, weights: weights.and_then(task::normalised), notes })
    }

    /// Another data set for the same task, all rows of weight one. A class that is not known is refused, a label counts
    /// as absent.
    pub fn like(&self, data: Dataset) -> Result<ClassTask> {
        check_targets(&data, self.kind)?;
        let mut unknown = Unknown::default();
        let place = |i: usize| data.place(i);
        let sets = sets_of(&data.labels, &self.names, self.kind, &place, &mut unknown)?;
        let notes = data.notes.iter().cloned().chain(unknown.note()).collect();
        Ok(ClassTask { sets, notes, data, weights: None, ..self.bare() })
    }

    fn bare(&self) -> ClassTask {
        ClassTask {
            data: Dataset::made(Default::default(), Labels::default(), self.data.features.clone()),
            kind: self.kind,
            loss: self.loss.clone(),
            names: self.names.clone(),
            sets: Sets::default(),
            weights: None,
            notes: Vec::new(),
        }
    }

    /// Some of the rows as a task of their own; all heads stay.
    pub fn select(&self, rows: &[usize]) -> ClassTask {
        let weights = self.weights.as_ref().map(|w| rows.iter().map(|&i| w[i]).collect());
        ClassTask {
            data: self.data.select(rows),
            sets: self.sets.select(rows),
            weights: weights.map(task::with_mean_one),
            ..self.bare()
        }
    }

    /// The same rows, all of weight one: for measuring, not for learning.
    pub fn unweighted(self) -> ClassTask {
        ClassTask { weights: None, ..self }
    }

    /// Values in the precision of the weights.
    pub fn narrowed(mut self) -> Result<ClassTask> {
        self.data.narrow()?;
        Ok(self)
    }

    /// The rows and their weights; what is to be learnt of them is in the sets.
    pub fn examples(&self) -> Examples<'_> {
        Examples { rows: self.data.rows.borrow(), targets: &[], weights: self.weights.as_deref() }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.sets.ends.len()
    }

    /// ω of row `i`.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }
}

/// A row may lack labels, but not its class.
fn check_targets(data: &Dataset, kind: HeadKind) -> Result<()> {
    if kind == HeadKind::Labels { Ok(()) } else { data.check_targets() }
}

/// Labels that were never learnt, met in other data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// The row of each.
    pub rows: Vec<usize>,
    /// The first.
    pub first: Option<String>,
}

impl Unknown {
    /// Those of other rows too.
    pub fn add(&mut self, more: Unknown) {
        self.rows.extend(more.rows);
        self.first = self.first.take().or(more.first);
    }

    /// A word on them, if there are any.
    pub fn note(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let count = self.rows.len();
        Some(format!(
            "{count} labels never occurred in training, the first of them '{}': no head can give them",
            excerpt(first)
        ))
    }
}

/// The sets of targets by the names of a model. A class that is not among them is refused, labels are counted.
///
/// ```
/// use lazyglm::{HeadKind, Labels, Place, train::classes::{Unknown, sets_of}};
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
    sets::known(labels, names, kind == HeadKind::Labels, place, |i, name| match kind {
        HeadKind::Labels => {
            unknown.rows.push(i);
            unknown.first.get_or_insert_with(|| name.to_string());
            Ok(())
        }
        _ => {
            let (name, count) = (excerpt(name), names.len());
            let what = format!("the target '{name}' is none of the {count} classes that were learnt");
            Err(Error::data(place(i), what, "give it one of these, or remove the row"))
        }
    })
}

/// Multiplies each row's weight by its class's.
fn weigh(
    of: &ClassWeight,
    kind: HeadKind,
    names: &[String],
    sets: &Sets,
    weights: Option<Vec<f64>>,
) -> Result<Vec<f64>> {
    if kind == HeadKind::Labels {
        return Err(Error::call(
            "--class-weight with labels, of which a row has many",
            "use --sample-weights",
        ));
    }
    let of_class: Vec<f64> = match of {
        ClassWeight::Balanced => {
            let counts = sets.counts(names.len());
            counts.iter().map(|&count| sets.ends.len() as f64 / (names.len() * count) as f64).collect()
        }
        ClassWeight::Given(pairs) => {
            if let Some((name, _)) = pairs.iter().find(|(name, _)| !names.contains(name)) {
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                let hint = crate::util::registry::suggest(name, &known);
                return Err(Error::call(format!("there is no class '{}' to weigh", excerpt(name)), hint));
            }
            let weight = |class: &String| pairs.iter().find(|(name, _)| name == class).map_or(1.0, |p| p.1);
            names.iter().map(weight).collect()
        }
    };
    if of_class.contains(&0.0) {
        let hint = "leave the rows of that class out";
        return Err(Error::call("a class of weight 0 cannot be learnt", hint));
    }
    let heaviest = of_class.iter().copied().fold(0.0, f64::max);
    let weight =
        |i: usize| weights.as_ref().map_or(1.0, |w| w[i]) * of_class[sets.of(i)[0] as usize] / heaviest;
    Ok((0..sets.ends.len()).map(weight).collect())
}

fn too_few(data: &Dataset, kind: HeadKind, names: &[String]) -> Error {
    let (what, hint) = match (kind, names.first()) {
        (HeadKind::Labels, _) => {
            ("no row has a label: there is nothing to learn".to_string(), "give rows labels")
        }
        (_, name) => (
            format!("every target is '{}': there is one class only", name.map_or(String::new(), excerpt)),
            "give rows of two classes or more",
        ),
    };
    Error::data(data.file(), what, hint)
}

/// A word on classes of one row, and on there being hardly any rows for each.
fn odd_counts(kind: HeadKind, names: &[String], sets: &Sets) -> Vec<String> {
    let mut notes = Vec::new();
    let single: Vec<&String> =
        names.iter().zip(sets.counts(names.len())).filter(|(_, n)| *n == 1).map(|(name, _)| name).collect();
    if let Some(first) = single.first() {
        let (count, nouns) = (single.len(), kind.nouns());
        notes.push(format!(
            "{count} of {} {nouns} have one row only, the first of them '{}'",
            names.len(),
            excerpt(first)
        ));
    }
    if kind != HeadKind::Labels && 2 * names.len() > sets.ends.len() {
        let (count, rows, nouns) = (names.len(), sets.ends.len(), kind.nouns());
        notes.push(format!("{count} {nouns} in {rows} rows: are these {nouns}, or numbers to predict?"));
    }
    notes
}
