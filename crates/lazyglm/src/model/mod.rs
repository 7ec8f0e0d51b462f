//! A model: the weights that are not zero, by name, and what is needed to use them.

pub mod file;
mod learnt;
mod predict;
pub mod report;
pub mod scorer;
mod seen;
mod training;
pub mod warm_start;
pub mod weights_table;
mod words;

pub use predict::{Output, Prediction};
pub use seen::Seen;
pub use training::{Counting, Training};
pub use words::Words;

use self::learnt::Learnt;
use crate::data::feature_ids::FeatureIds;
use crate::data::features::Features;
use crate::data::read_config::ReadConfig;
use crate::problem::heads::Heads;
use crate::problem::loss::Loss;
use crate::problem::settings::Settings;
use crate::problem::task::Task;
use crate::problem::windows::Stream;
use crate::train::Trained;
use crate::train::classes::{ClassTask, TrainedHeads};
use std::borrow::Cow;
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
    pub reading: ReadConfig,
    /// How the data counted features.
    pub counting: Counting,
    /// How it was trained.
    pub training: Training,
}

/// What a model takes from the data it was trained on.
struct Origin<'a> {
    features: &'a Features,
    occurs: &'a [bool],
    loss: &'a Arc<dyn Loss>,
    classes: &'a Option<[String; 2]>,
    weighted: bool,
    reading: &'a ReadConfig,
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
    /// use lazyglm::{Dataset, Declared, HeadKind, Model, Settings, train::classes::{ClassTask, Room, train}};
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
        if let FeatureIds::Words(all) = &*names.naming {
            words = Some(Words::of(names, all, &features));
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
            training: Training::of(settings, origin.weighted, report),
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
}
