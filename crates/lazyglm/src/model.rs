//! A model: the weights that are not zero, by name, and what is needed to use them.

use crate::error::{Error, Place, Result};
use crate::loss::{Admits, Loss};
use crate::penalty::Method;
use crate::report::Report;
use crate::rows::RowsRef;
use crate::settings::{Order, Precision, Settings, UpdateName};
use crate::task::Task;
use crate::trainer::Trained;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A trained model.
///
/// ```
/// use lazyglm::{Model, Settings, Task, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..synth::Shape::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let model = Model::new(&task, &Settings::default(), trained);
/// assert_eq!(model.features.len(), model.weights.len());
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    /// The index, as written in the data, of each feature whose weight is not zero; rising.
    pub features: Vec<u32>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// b.
    pub bias: f64,
    /// The loss it was trained for; its link makes predictions of scores.
    pub loss: Arc<dyn Loss>,
    /// The names of the classes −1 and +1.
    pub classes: Option<[String; 2]>,
    /// The features that occurred in training.
    pub seen: Seen,
    /// How the data counted features.
    pub counting: Counting,
    /// How it was trained.
    pub training: Training,
}

/// How training data counted features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counting {
    /// The index of the first feature, 0 or 1.
    pub index_base: u32,
    /// d: how many features there are.
    pub count: usize,
}

/// How a model was trained: enough to train it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// λ₁, as given.
    pub l1: f64,
    /// λ₂, as given.
    pub l2: f64,
    /// `sgd` or `fobos`.
    pub method: Method,
    /// How the penalty was paid.
    pub update: UpdateName,
    /// The schedule, as written.
    pub schedule: String,
    /// The order of rows.
    pub order: Order,
    /// The seed of the order.
    pub seed: u64,
    /// The weights' precision while learning.
    pub precision: Precision,
    /// Whether there is a bias.
    pub bias: bool,
    /// The figures of the run; times are left out, so that the same run writes the same bytes.
    pub report: Report,
}

impl Model {
    /// Names the weights of a finished run.
    pub fn new(task: &Task, settings: &Settings, trained: Trained) -> Model {
        let names = &task.data.features;
        let kept = trained.weights.iter().enumerate().filter(|(_, w)| **w != 0.0);
        let (features, weights) = kept.map(|(column, &w)| (names.name(column), w)).unzip();
        Model {
            features,
            weights,
            bias: trained.bias,
            loss: task.loss.clone(),
            classes: task.classes.clone(),
            seen: Seen::of(task),
            counting: Counting { index_base: names.base, count: names.count },
            training: Training {
                l1: settings.net.l1,
                l2: settings.net.l2,
                method: settings.method,
                update: settings.update,
                schedule: settings.schedule.text().to_string(),
                order: settings.order,
                seed: settings.seed,
                precision: settings.precision,
                bias: settings.bias,
                report: Report { seconds_read: 0.0, seconds_train: 0.0, ..trained.report },
            },
        }
    }

    /// What a score means: a probability, a class or a number.
    pub fn predict(&self, score: f64, what: Output) -> Result<Prediction<'_>> {
        let classifier = self.loss.admits() == Admits::Classes;
        match what {
            Output::Score => Ok(Prediction::Number(score)),
            Output::Probability if self.loss.gives_probability() => {
                Ok(Prediction::Number(self.loss.link(score)))
            }
            Output::Probability => Err(Error::call(
                format!("loss '{}' gives no probabilities", self.loss.spec()),
                "ask for --as score or --as target, or train with --loss logistic",
            )),
            Output::Target if classifier => {
                let classes = self.classes.as_ref().map(|c| c[usize::from(score > 0.0)].as_str());
                Ok(Prediction::Class(classes.unwrap_or_default()))
            }
            Output::Target => Ok(Prediction::Number(self.loss.link(score))),
        }
    }

    /// What `predict` gives when nothing is asked for: a probability if there is one, else a score for classes
    /// and the predicted target for numbers.
    pub fn usual_output(&self) -> Output {
        match (self.loss.gives_probability(), self.loss.admits()) {
            (true, _) => Output::Probability,
            (false, Admits::Classes) => Output::Score,
            (false, _) => Output::Target,
        }
    }
}

/// What to make of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The probability of the positive class.
    Probability,
    /// w·x + b.
    Score,
    /// The class, or the predicted number.
    Target,
}

/// A prediction for one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prediction<'a> {
    /// A probability, score or predicted target.
    Number(f64),
    /// The name of a class.
    Class(&'a str),
}

/// A set of features, as runs of neighbouring indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// (first, last) of each run, both included; rising and apart.
    pub runs: Vec<(u32, u32)>,
}

impl Seen {
    /// The features that occur in a task's rows.
    fn of(task: &Task) -> Seen {
        let names = &task.data.features;
        let occurs = task.data.occurring();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for column in (0..occurs.len()).filter(|&column| occurs[column]) {
            let index = names.name(column);
            match runs.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(index) => *last = index,
                _ => runs.push((index, index)),
            }
        }
        Seen { runs }
    }

    /// Whether a feature is in the set.
    pub fn contains(&self, index: u32) -> bool {
        let after = self.runs.partition_point(|&(first, _)| first <= index);
        after.checked_sub(1).is_some_and(|run| index <= self.runs[run].1)
    }
}

/// A model laid out for scoring rows whose ids are indices as written.
pub struct Scorer<'a> {
    model: &'a Model,
    table: Vec<f64>,     // the weight of each index, or NaN for a feature never seen
    unseen: Option<u32>, // the first feature met that training never saw
    unseen_values: u64,
}

/// Up to this index every feature has a table entry; beyond it only if one in `SPARSE` was seen. Else, a search.
const TABLE: u64 = 1 << 22;
const SPARSE: u64 = 16;

impl<'a> Scorer<'a> {
    /// Lays out a model.
    pub fn new(model: &'a Model) -> Scorer<'a> {
        let length = model.seen.runs.last().map_or(0, |&(_, last)| u64::from(last) + 1);
        let seen: u64 = model.seen.runs.iter().map(|&(first, last)| u64::from(last - first) + 1).sum();
        let fits = length <= TABLE || length <= SPARSE * seen;
        let mut table = vec![f64::NAN; if fits { length as usize } else { 0 }];
        if !table.is_empty() {
            for &(first, last) in &model.seen.runs {
                table[first as usize..=last as usize].fill(0.0);
            }
            for (&index, &weight) in model.features.iter().zip(&model.weights) {
                table[index as usize] = weight;
            }
        }
        Scorer { model, table, unseen: None, unseen_values: 0 }
    }

    /// The weight of a feature; NaN if training never saw it.
    fn weight(&self, index: usize) -> f64 {
        if let Some(&weight) = self.table.get(index) {
            return weight;
        }
        let index = index as u32;
        match self.model.features.binary_search(&index) {
            Ok(k) => self.model.weights[k],
            Err(_) if self.model.seen.contains(index) => 0.0,
            Err(_) => f64::NAN,
        }
    }

    /// w·x + b of row `i`, whose ids are indices as written; features never seen count as zero.
    pub fn score(&mut self, rows: RowsRef, i: usize) -> f64 {
        self.score_named(rows, i, |id| id as u32)
    }

    /// The same for rows whose ids stand for other indices.
    pub fn score_named(&mut self, rows: RowsRef, i: usize, name: impl Fn(usize) -> u32) -> f64 {
        let (mut score, mut unseen, mut count) = (self.model.bias, None, 0);
        rows.for_each(i, |id, x| match self.weight(name(id) as usize) {
            weight if weight.is_nan() => {
                unseen = unseen.or(Some(name(id)));
                count += 1;
            }
            weight => score += weight * x,
        });
        self.unseen = self.unseen.or(unseen);
        self.unseen_values += count;
        score
    }

    /// The first feature met that training never saw, and how many values such features had.
    pub fn unseen(&self) -> Option<(u32, u64)> {
        self.unseen.map(|index| (index, self.unseen_values))
    }

    /// The refusal of `--strict` for such a feature.
    pub fn refusal(&self, place: Place) -> Option<Error> {
        self.unseen().map(|(index, _)| {
            Error::data(
                place,
                format!("feature {index} never occurred in training"),
                "leave --strict out to count it as zero, or train on data that have it",
            )
        })
    }
}
