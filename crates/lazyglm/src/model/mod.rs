//! A model: the weights that are not zero, by name, and what is needed to use them.

mod learnt;

use self::learnt::Learnt;
use crate::classes::{ClassTask, TrainedHeads};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::heads::Heads;
use crate::input::Reading;
use crate::loss::{Admits, Loss};
use crate::naming::Naming;
use crate::penalty::Method;
use crate::report::Report;
use crate::settings::{Order, Precision, Settings, UpdateName};
use crate::stream::Stream;
use crate::task::Task;
use crate::trainer::Trained;
use crate::vocabulary::Vocabulary;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use twox_hash::XxHash3_64;

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
    /// The index, as written in the data, of each feature whose weight is not zero, or its bucket, or the number of
    /// its word in `words`; rising.
    pub features: Vec<u32>,
    /// Their weights: one each, or with heads as many as there are.
    pub weights: Vec<f64>,
    /// b; 0 with heads, which have their own.
    pub bias: f64,
    /// The loss it was trained for; its link makes predictions of scores.
    pub loss: Arc<dyn Loss>,
    /// The names of the classes −1 and +1.
    pub classes: Option<[String; 2]>,
    /// With many classes or labels, whose each weight is.
    pub heads: Option<Heads>,
    /// The features that occurred in training.
    pub seen: Seen,
    /// The words that features stand for, if they do.
    pub words: Option<Words>,
    /// How rows were made of the data.
    pub reading: Reading,
    /// How the data counted features.
    pub counting: Counting,
    /// How it was trained.
    pub training: Training,
}

/// The words of a model whose features have names.
///
/// ```
/// use lazyglm::{Vocabulary, Words};
/// let words = Words { names: ["spam"].into_iter().collect(), others: Words::marks(["ham"]), idf: None };
/// assert!(words.contains("spam") && words.contains("ham") && !words.contains("eggs"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// Those with a weight, in the order of the weights.
    pub names: Vocabulary,
    /// XXH3-64 of each other word that occurred in training, rising: their weight is zero, and they are not unknown.
    pub others: Vec<u64>,
    /// For text whose rows are normalised after idf: the idf of each of both, since every word counts in a row's length.
    pub idf: Option<[Vec<f64>; 2]>,
}

impl Words {
    /// The marks of some words, rising.
    pub fn marks<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<u64> {
        let mut marks: Vec<u64> =
            words.into_iter().map(|word| XxHash3_64::oneshot(word.as_bytes())).collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    }

    /// The idf of a word that occurred in training, where rows are normalised after it.
    pub(crate) fn idf(&self, word: &str) -> Option<f64> {
        let [of_names, of_others] = self.idf.as_ref()?;
        let other = || self.others.binary_search(&XxHash3_64::oneshot(word.as_bytes())).ok();
        self.names.find(word).map(|k| of_names[k as usize]).or_else(|| other().map(|k| of_others[k]))
    }

    /// Whether a word occurred in training.
    pub fn contains(&self, word: &str) -> bool {
        let mark = XxHash3_64::oneshot(word.as_bytes());
        self.names.find(word).is_some() || self.others.binary_search(&mark).is_ok()
    }
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
    /// Steps left out of the mean, if weights are a mean over steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<u64>,
    /// The figures of the run; times are left out, so that the same run writes the same bytes.
    pub report: Report,
}

/// What a model takes from the data it was trained on.
struct Origin<'a> {
    features: &'a Features,
    occurs: &'a [bool],
    loss: &'a Arc<dyn Loss>,
    classes: &'a Option<[String; 2]>,
    weighted: bool,
    reading: &'a Reading,
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
        let origin = Origin {
            features: &task.data.features,
            occurs: &task.data.occurring(),
            loss: &task.loss,
            classes: &task.classes,
            weighted: task.weights.is_some(),
            reading: &task.data.reading,
        };
        let learnt = Learnt::one(trained, &task.data.features);
        Model::from(origin, settings, learnt)
    }

    /// The same for a run with many classes or labels.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared, HeadKind, Model, Settings, classes::{ClassTask, Room, train}};
    /// let file = std::env::temp_dir().join("lazyglm-doc-model-classes.svm");
    /// std::fs::write(&file, "a 1:1\nb 2:1\nc 5:1\n".repeat(50)).unwrap();
    /// let data = Dataset::read(&file, Declared::default()).unwrap();
    /// let (task, settings) = (ClassTask::new(data, HeadKind::Ovr, None, None, None).unwrap(), Settings::default());
    /// let room = Room::plan(&task, settings.precision, None).unwrap();
    /// let trained = train(&task, None, &settings, room, false, &mut |_| {}).unwrap();
    /// let model = Model::of_classes(&task, &settings, trained);
    /// assert_eq!((model.features, model.heads.unwrap().names.join(" ")), (vec![1, 2, 5], "a b c".to_string()));
    /// ```
    pub fn of_classes(task: &ClassTask, settings: &Settings, trained: TrainedHeads) -> Model {
        let origin = Origin {
            features: &task.data.features,
            occurs: &task.data.occurring(),
            loss: &task.loss,
            classes: &None,
            weighted: task.weights.is_some(),
            reading: &task.data.reading,
        };
        Model::from(origin, settings, Learnt::many(trained, task))
    }

    /// The same for a run on rows that were not held in memory.
    ///
    /// ```
    /// use lazyglm::{Model, Settings, Stream, StreamOptions, train_stream};
    /// let file = std::env::temp_dir().join("lazyglm-doc-model-stream.svm");
    /// std::fs::write(&file, "1 1:1\n-1 2:1\n".repeat(500)).unwrap();
    /// let (options, settings) = (StreamOptions { memory: 1 << 26, ..Default::default() }, Settings::default());
    /// let stream = Stream::open(&file, &options, &settings).unwrap();
    /// let trained = train_stream(&stream, None, &settings, &mut |_| {}).unwrap();
    /// assert_eq!(Model::of_stream(&stream, &settings, trained).features, [1, 2]);
    /// ```
    pub fn of_stream(stream: &Stream, settings: &Settings, trained: Trained) -> Model {
        let Stream { features, occurs, loss, classes, weighted, .. } = stream;
        let origin =
            Origin { features, occurs, loss, classes, weighted: *weighted, reading: stream.reading() };
        Model::from(origin, settings, Learnt::one(trained, features))
    }

    fn from(origin: Origin, settings: &Settings, learnt: Learnt) -> Model {
        let names = origin.features;
        let Learnt { columns, weights, bias, heads, report } = learnt;
        let mut features: Vec<u32> = columns.into_iter().map(|column| names.index(column)).collect();
        let mut seen = Seen::of(names, origin.occurs);
        let mut words = None;
        if let Naming::Words(all) = &*names.naming {
            let (kept, others): (Vec<u32>, Vec<u32>) =
                (0..all.len() as u32).partition(|id| features.binary_search(id).is_ok());
            let mut marks: Vec<(u64, u32)> =
                others.iter().map(|&id| (XxHash3_64::oneshot(all.name(id).as_bytes()), id)).collect();
            marks.sort_unstable();
            marks.dedup_by_key(|(mark, _)| *mark);
            let idf = names.scaling.idf.as_ref().filter(|_| names.scaling.norm);
            let idf = idf.map(|idf| |id: u32| names.column(id).map_or(1.0, |column| idf[column as usize]));
            words = Some(Words {
                names: kept.iter().map(|&id| all.name(id)).collect(),
                others: marks.iter().map(|(mark, _)| *mark).collect(),
                idf: idf.map(|idf| {
                    [kept.iter().map(|&id| idf(id)).collect(), marks.iter().map(|(_, id)| idf(*id)).collect()]
                }),
            });
            features = (0..features.len() as u32).collect();
            seen = Seen { runs: features.last().map(|&last| (0, last)).into_iter().collect() };
        }
        Model {
            features,
            weights,
            words,
            reading: origin.reading.clone(),
            bias,
            heads,
            loss: origin.loss.clone(),
            classes: origin.classes.clone(),
            seen,
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
                weighted: origin.weighted,
                epochs: settings.epochs,
                early_stop: settings.early_stop,
                table_budget: settings.table_budget,
                average: settings.average,
                report: Report { seconds_read: 0.0, seconds_train: 0.0, ..report },
            },
        }
    }

    /// What feature `k` of those with a weight is called.
    ///
    /// ```
    /// use lazyglm::{Model, Settings, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// assert_eq!(model.name(0), model.features[0].to_string());
    /// ```
    pub fn name(&self, k: usize) -> Cow<'_, str> {
        match &self.words {
            Some(words) => Cow::Borrowed(words.names.name(k as u32)),
            None => Cow::Owned(self.features[k].to_string()),
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
            _ if self.heads.is_some() => Output::Target,
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
    /// The features that occur.
    fn of(names: &Features, occurs: &[bool]) -> Seen {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for column in names.sorted().filter(|&column| occurs[column]) {
            let index = names.index(column);
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
