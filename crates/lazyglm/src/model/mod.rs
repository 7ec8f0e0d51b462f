//! A trained model: the non-zero weights by feature name, and all that prediction needs.

pub mod coefficients;
pub mod file;
mod learnt;
mod many_scores;
mod predict;
pub mod report;
pub mod scorer;
mod seen;
mod summation;
mod tf_idf;
pub mod trained;
mod training;
pub mod warm_start;
pub mod weight_bounds;
pub mod weights_table;
mod words;

pub use predict::{Output, Prediction};
pub use seen::Seen;
pub use tf_idf::TfIdf;
pub use training::{Counting, Training};
pub use words::Words;

use self::learnt::Learnt;
use self::trained::Trained;
use crate::data::feature_ids::FeatureIds;
use crate::data::read_config::ReadConfig;
use crate::problem::heads::Heads;
use crate::problem::loss::Loss;
use crate::problem::settings::Settings;
use crate::problem::source::Problem;
use crate::problem::task::{Sets, Targets};
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
    /// The features with a non-zero weight, in ascending order: indices as written, buckets, or numbers of
    /// words in `words`.
    pub features: Vec<u32>,
    /// The non-zero weights: one per feature, or several per feature with heads.
    pub weights: Vec<f64>,
    /// The bias b, or 0 with heads, which have their own biases.
    pub bias: f64,
    /// The training loss, whose inverse link turns scores into predictions.
    pub loss: Arc<dyn Loss>,
    /// The names of the classes −1 and +1.
    pub classes: Option<[String; 2]>,
    /// For many classes or labels: which head each weight belongs to.
    pub heads: Option<Heads>,
    /// The range of the training targets, if predictions are limited to it.
    pub limits: Option<[f64; 2]>,
    /// The features that occurred in training.
    pub seen: Seen,
    /// The words that features stand for, if features have names.
    pub words: Option<Words>,
    /// How to convert counts to tf-idf values, if the model was trained on these.
    pub tf_idf: Option<TfIdf>,
    /// How rows were read from the data.
    pub reading: ReadConfig,
    /// Base and number of the features in the data.
    pub counting: Counting,
    /// How the model was trained.
    pub training: Training,
}

impl Model {
    /// Creates a model from a finished run.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared, Model, Settings, Task, train};
    /// let file = std::env::temp_dir().join("lazyglm-doc-model.svm");
    /// std::fs::write(&file, "spam 1:1\nham 3:1\n".repeat(50)).unwrap();
    /// let task = Task::builder(Dataset::read(&file, Declared::default()).unwrap()).build().unwrap();
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// assert_eq!(trained.weights.len(), 3);
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// assert_eq!(model.features, [1, 3], "named as in the data, without the weight that is zero");
    /// ```
    pub fn new(problem: &dyn Problem, settings: &Settings, trained: Trained) -> Model {
        let (names, limits) = (problem.features(), trained.limits);
        let learnt = match problem.targets().heads() {
            Some(targets) => Learnt::many(trained, targets, names, settings.precision),
            None => Learnt::one(trained, names),
        };
        let Learnt { columns, weights, bias, heads, report } = learnt;
        let mut features: Vec<u32> = columns.into_iter().map(|column| names.index(column)).collect();
        let mut seen = Seen::of(names, &problem.occurring());
        let mut words = None;
        let has_words = matches!(*names.feature_ids, FeatureIds::Words(_));
        let tf_idf = TfIdf::of(names, &seen, has_words);
        if let FeatureIds::Words(all) = &*names.feature_ids {
            words = Some(Words::of(names, all, &features));
            features = (0..features.len() as u32).collect();
            seen = Seen { runs: features.last().map(|&last| (0, last)).into_iter().collect() };
        }
        Model {
            features,
            weights,
            words,
            tf_idf,
            reading: problem.reading().clone(),
            bias,
            heads,
            limits,
            loss: problem.loss().clone(),
            classes: problem.targets().classes().cloned(),
            seen,
            counting: Counting { index_base: names.base, count: names.count },
            training: Training::of(settings, problem, report),
        }
    }

    /// Targets of no rows, with the classes or labels of the model.
    pub(crate) fn targets(&self) -> Targets {
        match (&self.heads, &self.classes) {
            (Some(heads), _) => Targets::of_sets(heads.kind, heads.names.clone(), Sets::default()),
            (None, Some(classes)) => Targets::Binary { classes: classes.clone(), signs: Vec::new() },
            (None, None) => Targets::Real(Vec::new()),
        }
    }

    /// The name of the `k`-th feature with a non-zero weight.
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
