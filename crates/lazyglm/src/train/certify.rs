//! A certificate of how far a model is from the optimum of a data file.
//!
//! The data are read into memory as the training data of the model were, and become the task that training on them
//! would solve. The certificate is the one that `train` computes. Features that only the model has count in the penalty.
//! Features that only the data have are weights of zero, which may not be optimal.

use crate::data::bytes::is_stream;
use crate::data::cache::Stamp;
use crate::data::dataset::{Dataset, Load};
use crate::data::feature_ids::FeatureIds;
use crate::data::format::ReadOptions;
use crate::data::sample_weights::{RowOffsets, SampleWeights};
use crate::data::scaling::Scale;
use crate::eval::objective::{self, Certificate, HeadsEvaluation, Worst};
use crate::model::Model;
use crate::model::warm_start::{PenaltyFactors, start_with_strangers};
use crate::model::weight_bounds::WeightBounds;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::settings::Precision;
use crate::problem::task::{ClassWeight, Task};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use std::path::Path;

/// How to read the data, and the optimisation problem to certify.
///
/// ```
/// use lazyglm::{Certify, Dataset, Declared, Model, Settings, Task, train};
/// let file = std::env::temp_dir().join("lazyglm-doc-certify.svm");
/// std::fs::write(&file, "spam 1:1 3:1\nham 2:1 3:1\n".repeat(50)).unwrap();
/// let task = Task::builder(Dataset::read(&file, Declared::default()).unwrap()).build().unwrap();
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let report = trained.report.clone();
/// let model = Model::new(&task, &Settings::default(), trained);
/// let proved = Certify { penalty: Settings::default().penalty, ..Certify::default() }.run(&model, &file).unwrap();
/// assert!((proved.certificate.objective - report.objective).abs() < 1e-12);
/// assert!((proved.certificate.dual.unwrap() - report.dual.unwrap()).abs() < 1e-9);
/// ```
#[derive(Clone, Debug)]
pub struct Certify {
    /// The format of the data, if it differs from that of the training data.
    pub format: Option<String>,
    /// The penalty λ₁ and λ₂.
    pub penalty: ElasticNet,
    /// The penalty factors.
    pub factors: Option<PenaltyFactors>,
    /// Whether all weights must be at least zero.
    pub nonnegative: bool,
    /// The bounds of weights.
    pub bounds: Option<WeightBounds>,
    /// The scaling of features in training.
    pub scale: Scale,
    /// One weight per row.
    pub sample_weights: Option<SampleWeights>,
    /// One offset per row, added to the offsets in the data.
    pub offsets: Option<RowOffsets>,
    /// The weight of each class.
    pub class_weight: Option<ClassWeight>,
}

impl Default for Certify {
    fn default() -> Certify {
        let penalty = ElasticNet { l1: 0.0, l2: 0.0 };
        Certify {
            format: None,
            penalty,
            factors: None,
            nonnegative: false,
            bounds: None,
            scale: Scale::None,
            sample_weights: None,
            offsets: None,
            class_weight: None,
        }
    }
}

/// The certificate of a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proved {
    /// The objective, its lower bound, and the optimality violation; sums and the largest violation over all heads.
    pub certificate: Certificate,
    /// The name and the certificate of each class or label; empty for one model. The classes of a softmax share one
    /// lower bound, so each of them has its part of the objective and its violation only.
    pub heads: Vec<(String, Certificate)>,
    /// The feature with the largest optimality violation, or `(bias)`.
    pub worst: Option<String>,
    /// The number of rows.
    pub rows: usize,
}

impl Certify {
    /// Certifies a model on a data file.
    pub fn run(&self, model: &Model, data: &Path) -> Result<Proved> {
        if is_stream(data) {
            return self.prove(model, data);
        }
        let before = Stamp::of(data)?;
        let proved = self.prove(model, data);
        match Stamp::of(data)? == before {
            true => proved,
            // The result belongs to neither the old nor the new data.
            false => Err(Error::data(
                Place::file(data),
                "the data changed while they were read",
                "certify again when nobody writes to the file",
            )),
        }
    }

    fn prove(&self, model: &Model, data: &Path) -> Result<Proved> {
        let mut task = self.task(model, data)?;
        let (start, strangers) = start_with_strangers(model, &task.data.features);
        let known = task.data.features.columns();
        task.data.rows.declare_columns(known + strangers.len());
        let name = |column: usize| match column < known {
            true => task.data.features.name(column),
            false => strangers[column - known].clone(),
        };
        let features = &task.data.features;
        let factors = self.factors.as_ref().map(|factors| factors.on_with(features, &strangers));
        let bounds = self.bounds.as_ref().map(|bounds| bounds.on_with(features, &strangers));
        let unit = |column: usize| if column < known { features.scaling.factor(column) } else { 1.0 };
        let weighted_penalty = WeightedPenalty {
            penalty: self.penalty,
            factors: factors.as_deref(),
            nonnegative: self.nonnegative,
            bounds: bounds.as_deref(),
        };
        let all = start.to_heads();
        let mut each = all.iter().flat_map(|head| head.columns.iter().zip(&head.weights));
        if let Some((&j, _)) = each.find(|(j, w)| !weighted_penalty.one(**j as usize).admits(**w)) {
            let (feature, [low, high]) = (name(j as usize), weighted_penalty.range(j as usize));
            let [low, high] = [low, high].map(|bound| bound * unit(j as usize));
            let what = format!("the weight of '{}' is not between {low} and {high}", excerpt(&feature));
            return Err(Error::call(what, "give the bounds of the training run"));
        }
        let with_bias = model.training.bias;
        let at_once = rayon::current_num_threads();
        let (certificate, heads) = match HeadsEvaluation::of(&task, weighted_penalty, with_bias, at_once) {
            Some(what) => {
                let (all, each) = objective::certify_each_head(&what, &start.heads);
                let names = model.heads.iter().flat_map(|heads| heads.names.iter().cloned());
                (all, names.zip(each).collect())
            }
            None => {
                let bias = with_bias.then_some(start.bias);
                let one =
                    objective::certify(task.examples(), &*task.loss, weighted_penalty, &start.weights, bias);
                (one, Vec::new())
            }
        };
        self.check_bound(&certificate, data)?;
        let worst = match certificate.worst {
            Worst::Column(column) => Some(name(column)),
            Worst::Bias => Some("(bias)".to_string()),
            Worst::Nowhere => None,
        };
        Ok(Proved { certificate, heads, worst, rows: task.len() })
    }

    /// The task that training on these data would solve, with the classes of the model.
    fn task(&self, model: &Model, path: &Path) -> Result<Task> {
        let load = Load {
            asked: ReadOptions { format: self.format.clone(), ..ReadOptions::default() },
            weights: self.sample_weights.clone(),
            offsets: self.offsets.clone(),
            as_f32: model.training.precision == Precision::F32,
            scale: self.scale,
            ..Load::default()
        };
        let (data, weights) = Dataset::load_as(path, &load, &model.reading)?;
        let by_name = matches!(*data.features.feature_ids, FeatureIds::Words(_));
        let hashed = model.reading.hash_bits.is_some();
        if !hashed && by_name != model.words.is_some() && data.rows.nonzeros() > 0 {
            let [model, data] = if by_name { ["number", "name"] } else { ["name", "number"] };
            let what = format!("the model knows its features by {model}, and these data by {data}");
            return Err(Error::data(Place::file(path), what, "give data in the format it was trained on"));
        }
        if model.heads.is_some() && data.offsets.is_some() {
            let what = format!("{} is not for more than two classes or labels", Parameter::Offset);
            return Err(Error::call(what, "give data without offsets"));
        }
        Task::builder(data)
            .loss(model.loss.clone())
            .like(model.targets())
            .sample_weights(weights)
            .class_weight(self.class_weight.clone())
            .build()
    }

    /// Rejects figures that prove nothing although there is a penalty.
    fn check_bound(&self, certificate: &Certificate, data: &Path) -> Result<()> {
        let f = certificate.objective;
        let (what, hint) = match certificate.dual {
            _ if !f.is_finite() => (
                format!("the objective of these weights is {f}"),
                "give smaller weights, or scale the features down",
            ),
            None if !self.penalty.is_none() => (
                "the lower bound lies above the objective, which no rounding explains".to_string(),
                "report this with the data and the model",
            ),
            _ => return Ok(()),
        };
        Err(Error::data(Place::file(data), what, hint))
    }
}
