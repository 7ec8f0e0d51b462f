//! A certificate of how far a model is from the optimum of a data file.
//!
//! The data are read as the training data of the model were, and become the problem that training on them would solve: in
//! memory, or on disk if they do not fit into a limit (`on_disk`). The certificate is the one that `train` computes. Features
//! that only the model has count in the penalty. Features that only the data have are weights of zero, which may not be optimal.

mod on_disk;

use crate::data::bytes::is_stream;
use crate::data::cache::Stamp;
use crate::data::dataset::{Dataset, Load};
use crate::data::feature_ids::FeatureIds;
use crate::data::features::Features;
use crate::data::format::ReadOptions;
use crate::data::sample_weights::{RowOffsets, SampleWeights};
use crate::data::scaling::Scale;
use crate::eval::objective::{self, Certificate, HeadsEvaluation, Worst};
use crate::model::Model;
use crate::model::warm_start::{PenaltyFactors, start_with_strangers};
use crate::model::weight_bounds::WeightBounds;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::settings::{Precision, Start};
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
    /// The memory limit of the process, in bytes. Rows that do not fit are read from disk, in two passes at most.
    pub memory: Option<usize>,
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
            memory: None,
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
    /// The number of passes over rows on disk; `None` if all rows were in memory.
    pub passes: Option<u64>,
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
        if let Some(memory) = self.memory {
            return self.within(model, data, memory);
        }
        let (rows, weights) = Dataset::load_as(data, &self.load(model), &model.reading)?;
        self.in_memory(model, data, self.task(model, data, rows, weights)?)
    }

    /// Certifies a model on rows that are in memory.
    fn in_memory(&self, model: &Model, data: &Path, mut task: Task) -> Result<Proved> {
        let there = Placed::of(self, model, &task.data.features)?;
        task.data.rows.declare_columns(there.columns());
        let weighted_penalty = there.weighted_penalty(self);
        let with_bias = model.training.bias;
        let at_once = rayon::current_num_threads();
        let (certificate, heads) = match HeadsEvaluation::of(&task, weighted_penalty, with_bias, at_once) {
            Some(what) => {
                let (all, each) = objective::certify_each_head(&what, &there.start.heads);
                let names = model.heads.iter().flat_map(|heads| heads.names.iter().cloned());
                (all, names.zip(each).collect())
            }
            None => {
                let bias = with_bias.then_some(there.start.bias);
                let (examples, weights) = (task.examples(), &there.start.weights);
                (objective::certify(examples, &*task.loss, weighted_penalty, weights, bias), Vec::new())
            }
        };
        self.check_bound(&certificate, data)?;
        let worst = there.worst(&certificate, &task.data.features);
        Ok(Proved { certificate, heads, worst, rows: task.len(), passes: None })
    }

    /// How the rows are read.
    fn load(&self, model: &Model) -> Load {
        Load {
            asked: ReadOptions { format: self.format.clone(), ..ReadOptions::default() },
            weights: self.sample_weights.clone(),
            offsets: self.offsets.clone(),
            as_f32: model.training.precision == Precision::F32,
            scale: self.scale,
            ..Load::default()
        }
    }

    /// The task that training on these data would solve, with the classes of the model.
    fn task(&self, model: &Model, path: &Path, data: Dataset, weights: Option<Vec<f64>>) -> Result<Task> {
        let has_rows = data.rows.nonzeros() > 0;
        check_names(model, path, &data.features, has_rows)?;
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

/// Rejects features by name for a model that knows them by number, and the reverse.
fn check_names(model: &Model, data: &Path, features: &Features, has_rows: bool) -> Result<()> {
    let by_name = matches!(*features.feature_ids, FeatureIds::Words(_));
    let hashed = model.reading.hash_bits.is_some();
    if !hashed && by_name != model.words.is_some() && has_rows {
        let [model, data_by] = if by_name { ["number", "name"] } else { ["name", "number"] };
        let what = format!("the model knows its features by {model}, and these data by {data_by}");
        return Err(Error::data(Place::file(data), what, "give data in the format it was trained on"));
    }
    Ok(())
}

/// The weights of a model, its penalty factors and its bounds on the columns of other data. Features that only the model has
/// are columns behind these.
struct Placed {
    start: Start,
    strangers: Vec<String>,
    factors: Option<Vec<f64>>,
    bounds: Option<Vec<[f64; 2]>>,
    known: usize, // columns of the data
}

impl Placed {
    /// The weights on these columns. Weights outside of the bounds are an error.
    fn of(certify: &Certify, model: &Model, features: &Features) -> Result<Placed> {
        let (start, strangers) = start_with_strangers(model, features);
        let factors = certify.factors.as_ref().map(|factors| factors.on_with(features, &strangers));
        let bounds = certify.bounds.as_ref().map(|bounds| bounds.on_with(features, &strangers));
        let placed = Placed { start, strangers, factors, bounds, known: features.columns() };
        let weighted_penalty = placed.weighted_penalty(certify);
        let all = placed.start.to_heads();
        let mut each = all.iter().flat_map(|head| head.columns.iter().zip(&head.weights));
        if let Some((&j, _)) = each.find(|(j, w)| !weighted_penalty.one(**j as usize).admits(**w)) {
            let column = j as usize;
            let unit = if column < placed.known { features.scaling.factor(column) } else { 1.0 };
            let [low, high] = weighted_penalty.range(column).map(|bound| bound * unit);
            let feature = placed.name(column, features);
            let what = format!("the weight of '{}' is not between {low} and {high}", excerpt(&feature));
            return Err(Error::call(what, "give the bounds of the training run"));
        }
        Ok(placed)
    }

    fn columns(&self) -> usize {
        self.known + self.strangers.len()
    }

    fn name(&self, column: usize, features: &Features) -> String {
        match column < self.known {
            true => features.name(column),
            false => self.strangers[column - self.known].clone(),
        }
    }

    fn weighted_penalty(&self, certify: &Certify) -> WeightedPenalty<'_> {
        WeightedPenalty {
            penalty: certify.penalty,
            factors: self.factors.as_deref(),
            nonnegative: certify.nonnegative,
            bounds: self.bounds.as_deref(),
        }
    }

    /// The feature with the largest violation.
    fn worst(&self, certificate: &Certificate, features: &Features) -> Option<String> {
        match certificate.worst {
            Worst::Column(column) => Some(self.name(column, features)),
            Worst::Bias => Some("(bias)".to_string()),
            Worst::Nowhere => None,
        }
    }
}
