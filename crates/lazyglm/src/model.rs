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
/// use lazyglm::{Model, Settings, synth, train};
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
///
/// ```
/// use lazyglm::{Counting, Model, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let model = Model::new(&task, &Settings::default(), trained);
/// assert_eq!(model.counting, Counting { index_base: 0, count: 100 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counting {
    /// The index of the first feature, 0 or 1.
    pub index_base: u32,
    /// d: how many features there are.
    pub count: usize,
}

/// How a model was trained.
///
/// ```
/// use lazyglm::{Model, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let training = Model::new(&task, &Settings::default(), trained).training;
/// assert_eq!((training.l1, training.schedule.as_str(), training.seed), (1e-6, "cosine", 1));
/// assert_eq!(training.report.seconds_train, 0.0, "left out");
/// ```
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
    /// Whether rows had weights, their own or their class's.
    pub weighted: bool,
    /// Epochs asked for; the report has those run.
    pub epochs: u64,
    /// Epochs without a better held-out loss after which to stop.
    pub early_stop: Option<u64>,
    /// How many steps the tables of the table update hold.
    pub table_budget: usize,
    /// The figures of the run; times are left out, so that the same run writes the same bytes.
    pub report: Report,
}

impl Model {
    /// Names the weights of a finished run.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared, Model, Settings, Task, train};
    /// let file = std::env::temp_dir().join("lazyglm-doc-model.svm");
    /// std::fs::write(&file, "spam 1:1\nham 3:1\n".repeat(50)).unwrap();
    /// let task = Task::new(Dataset::read(&file, Declared::default()).unwrap(), None, None, None).unwrap();
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// assert_eq!(trained.weights.len(), 3);
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// assert_eq!(model.features, [1, 3], "named as in the data, without the weight that is zero");
    /// ```
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
                weighted: task.weights.is_some(),
                epochs: settings.epochs,
                early_stop: settings.early_stop,
                table_budget: settings.table_budget,
                report: Report { seconds_read: 0.0, seconds_train: 0.0, ..trained.report },
            },
        }
    }

    /// What a score means: a probability, a class or a number.
    ///
    /// ```
    /// use lazyglm::{Model, Output, Prediction, Settings, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// assert_eq!(model.predict(0.0, Output::Probability).unwrap(), Prediction::Number(0.5));
    /// assert_eq!(model.predict(2.0, Output::Target).unwrap(), Prediction::Class("1"));
    /// ```
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
    ///
    /// ```
    /// use lazyglm::{Model, Output, Settings, loss, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// let usual = |name| Model { loss: loss::parse(name).unwrap(), ..model.clone() }.usual_output();
    /// assert_eq!((usual("logistic"), usual("hinge")), (Output::Probability, Output::Score));
    /// assert_eq!(usual("poisson"), Output::Target);
    /// ```
    pub fn usual_output(&self) -> Output {
        match (self.loss.gives_probability(), self.loss.admits()) {
            (true, _) => Output::Probability,
            (false, Admits::Classes) => Output::Score,
            (false, _) => Output::Target,
        }
    }
}

/// What to make of a score.
///
/// ```
/// use lazyglm::{Model, Output, Settings, loss, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let model = Model::new(&task, &Settings::default(), trained);
/// let hinge = Model { loss: loss::parse("hinge").unwrap(), ..model };
/// assert!(hinge.predict(1.0, Output::Score).is_ok());
/// assert!(hinge.predict(1.0, Output::Probability).is_err(), "the hinge loss knows of none");
/// ```
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
///
/// ```
/// use lazyglm::Prediction;
/// let text = |prediction: Prediction| match prediction {
///     Prediction::Number(number) => number.to_string(),
///     Prediction::Class(name) => name.to_string(),
/// };
/// assert_eq!([Prediction::Number(0.25), Prediction::Class("spam")].map(text), ["0.25", "spam"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prediction<'a> {
    /// A probability, score or predicted target.
    Number(f64),
    /// The name of a class.
    Class(&'a str),
}

/// A set of features, as runs of neighbouring indices.
///
/// ```
/// use lazyglm::{Model, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let model = Model::new(&task, &Settings::default(), trained);
/// assert_eq!(model.seen.runs, [(0, 99)], "every word occurred, also those whose weight is zero");
/// ```
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
    ///
    /// ```
    /// let seen = lazyglm::Seen { runs: vec![(1, 3), (7, 7)] };
    /// assert!([1, 2, 3, 7].iter().all(|&index| seen.contains(index)));
    /// assert!([0, 4, 8].iter().all(|&index| !seen.contains(index)));
    /// ```
    pub fn contains(&self, index: u32) -> bool {
        let after = self.runs.partition_point(|&(first, _)| first <= index);
        after.checked_sub(1).is_some_and(|run| index <= self.runs[run].1)
    }
}

/// A model laid out for scoring rows whose ids are indices as written.
///
/// ```
/// use lazyglm::{Model, Scorer, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let by_column = task.data.rows.borrow().dot(7, &trained.weights) + trained.bias;
/// let model = Model::new(&task, &Settings::default(), trained);
/// let by_name = Scorer::new(&model).score(task.data.rows.borrow(), 7);
/// assert!((by_name - by_column).abs() < 1e-12);
/// ```
pub struct Scorer<'a> {
    model: &'a Model,
    table: Vec<f64>,     // the weight of each index, or NaN for a feature never seen
    unseen: Option<u32>, // the first feature met that training never saw
    unseen_values: u64,
}

/// Up to this index every feature has a table entry; beyond it only if the model holds one in `SPARSE`, so that no
/// small file can ask for much memory. Else, a search.
const TABLE: u64 = 1 << 22;
const SPARSE: u64 = 16;

impl<'a> Scorer<'a> {
    /// Lays out a model.
    ///
    /// ```
    /// use lazyglm::{Model, Scorer, Settings, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// let mut scorer = Scorer::new(&model); // once, for any number of rows
    /// let positive = (0..500).filter(|&i| scorer.score(task.data.rows.borrow(), i) > 0.0).count();
    /// assert!((1..500).contains(&positive));
    /// ```
    pub fn new(model: &'a Model) -> Scorer<'a> {
        let length = model.seen.runs.last().map_or(0, |&(_, last)| u64::from(last) + 1);
        let held = (model.features.len() + model.seen.runs.len()) as u64;
        let fits = length <= TABLE || length <= SPARSE * held;
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
    ///
    /// ```
    /// # use lazyglm::{Model, Rows, Scorer, Seen, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let (features, seen) = (vec![7], Seen { runs: vec![(0, 99)] });
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// let model = Model { features, weights: vec![2.0], bias: 0.5, seen, ..model };
    /// let mut rows = Rows::new();
    /// rows.push(&[(3, 1.0), (7, 10.0), (100, 1.0)]).unwrap(); // weight zero, weight two, never seen
    /// assert_eq!(Scorer::new(&model).score(rows.borrow(), 0), 20.5);
    /// ```
    pub fn score(&mut self, rows: RowsRef, i: usize) -> f64 {
        self.score_named(rows, i, |id| id as u32)
    }

    /// The same for rows whose ids stand for other indices.
    ///
    /// ```
    /// # use lazyglm::{Model, Rows, Scorer, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// # let model = Model::new(&task, &Settings::default(), trained);
    /// let (mut scorer, mut rows) = (Scorer::new(&model), Rows::new());
    /// rows.push(&[(0, 1.0)]).unwrap();
    /// rows.push(&[(42, 1.0)]).unwrap();
    /// let named = scorer.score_named(rows.borrow(), 0, |_column| 42); // column 0 stands for feature 42
    /// assert_eq!(named, scorer.score(rows.borrow(), 1));
    /// ```
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
    ///
    /// ```
    /// # use lazyglm::{Model, Rows, Scorer, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// # let model = Model::new(&task, &Settings::default(), trained);
    /// let (mut scorer, mut rows) = (Scorer::new(&model), Rows::new());
    /// rows.push(&[(5, 1.0), (200, 1.0), (300, 1.0)]).unwrap();
    /// scorer.score(rows.borrow(), 0);
    /// assert_eq!(scorer.unseen(), Some((200, 2)));
    /// ```
    pub fn unseen(&self) -> Option<(u32, u64)> {
        self.unseen.map(|index| (index, self.unseen_values))
    }

    /// The refusal of `--strict` for such a feature.
    ///
    /// ```
    /// # use lazyglm::{Model, Place, Rows, Scorer, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// # let model = Model::new(&task, &Settings::default(), trained);
    /// let (mut scorer, mut rows) = (Scorer::new(&model), Rows::new());
    /// rows.push(&[(200, 1.0)]).unwrap();
    /// assert!(scorer.refusal(Place::file("new.svm").line(1)).is_none(), "nothing scored yet");
    /// scorer.score(rows.borrow(), 0);
    /// let refusal = scorer.refusal(Place::file("new.svm").line(1)).unwrap();
    /// assert!(refusal.to_string().starts_with("new.svm:1: feature 200 never occurred in training"));
    /// ```
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
