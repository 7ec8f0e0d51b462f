//! A certificate of how far a model is from the optimum, in two passes over a data file.
//!
//! The first pass computes the scores of the rows; the second sums the gradients. Memory holds a score, a target and a
//! weight per row, not the rows. Features that only the model has still count in the penalty. Features that only the data
//! have are weights of zero, which may not be optimal.

use crate::data::bytes::is_stream;
use crate::data::cache::Stamp;
use crate::data::feature_ids::FeatureIds;
use crate::data::format::{Parsed, ReadOptions};
use crate::data::read_config::Input;
use crate::data::sample_weights::{RowOffsets, SampleWeights};
use crate::data::scaling::{Columns, Scale};
use crate::data::vocabulary::Vocabulary;
use crate::eval::objective::{self, Certificate, Dual, ScoredRow, Worst, balanced_slopes};
use crate::model::Model;
use crate::model::warm_start::PenaltyFactors;
use crate::problem::penalty::{ElasticNet, WeightedPenalty};
use crate::problem::settings::Precision;
use crate::problem::task::{ClassWeight, targets_of};
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use std::collections::HashMap;
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
            scale: Scale::None,
            sample_weights: None,
            offsets: None,
            class_weight: None,
        }
    }
}

/// The certificate of a model.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The objective, its lower bound, and the optimality violation.
    pub certificate: Certificate,
    /// The feature with the largest optimality violation, or `(bias)`.
    pub worst: Option<String>,
    /// The number of rows.
    pub rows: usize,
}

/// Features below this index have a column each; those beyond have a column if they occur.
const DIRECT: u32 = 1 << 22;

impl Certify {
    /// Certifies a model on a data file, in two passes.
    pub fn run(&self, model: &Model, data: &Path) -> Result<Proved> {
        if is_stream(data) {
            let what = format!("{} can be read once, and a certificate takes two passes", Place::file(data));
            return Err(Error::call(what, "put the data into a file"));
        }
        let before = Stamp::of(data)?;
        let proved = self.prove(model, data);
        match Stamp::of(data)? == before {
            true => proved,
            false => Err(changed(data)), // the result belongs to neither the old nor the new data
        }
    }

    fn prove(&self, model: &Model, data: &Path) -> Result<Proved> {
        let mut table = Table::of(model)?;
        let (kept, stats) = self.scores(model, data, &mut table)?;
        let with_bias = model.training.bias;
        let slopes = balanced_slopes(&kept, &*model.loss, with_bias);
        let factors = self.factors(model, &stats, table.weights.len());

        let mut gradients = vec![[0.0; 2]; table.weights.len()];
        let (mut row, mut of_bias) = (0, 0.0);
        self.pass(model, data, &mut table, &mut |block, table| {
            gradients.resize(table.weights.len(), [0.0; 2]); // larger only if the data have changed
            for i in 0..block.rows.len() {
                let ScoredRow { score, target, weight, .. } = *kept.get(row).ok_or_else(|| changed(data))?;
                let here = weight * model.loss.slope(score, target);
                let balanced = weight * slopes[row];
                of_bias += here;
                table.for_each(model, block, i, |column, x| {
                    gradients[column][0] += here * x;
                    gradients[column][1] += balanced * x;
                });
                row += 1;
            }
            Ok(())
        })?;
        if row != kept.len() || gradients.len() != factors.len() {
            return Err(changed(data));
        }

        let n = kept.len() as f64;
        let of = |k: usize, side: usize| gradients[k][side] * factors[k] / n;
        let weights: Vec<f64> = table.weights.iter().zip(&factors).map(|(w, f)| w / f).collect();
        let loss =
            kept.iter().map(|row| row.weight * model.loss.value(row.score, row.target)).sum::<f64>() / n;
        let by_column: Option<Vec<f64>> =
            self.factors.as_ref().map(|all| (0..weights.len()).map(|k| all.of(&table.name(k))).collect());
        let weighted_penalty = WeightedPenalty {
            penalty: self.penalty,
            factors: by_column.as_deref(),
            nonnegative: self.nonnegative,
        };
        let worst = (0..weights.len())
            .map(|k| (weighted_penalty.violation(k, weights[k], of(k, 0)), Worst::Column(k)))
            .chain(with_bias.then_some(((of_bias / n).abs(), Worst::Bias)))
            .fold((0.0, Worst::Nowhere), objective::larger);
        let mut certificate = Certificate {
            objective: loss + weighted_penalty.value(&weights),
            dual: None,
            relative_gap: None,
            kkt: worst.0,
            worst: worst.1,
        };
        if !self.penalty.is_none() {
            let gradient: Vec<f64> = (0..weights.len()).map(|k| of(k, 1)).collect();
            let (kept, slopes, gradient) = (&kept[..], &slopes[..], &gradient[..]);
            certificate =
                certificate.with_dual(Dual { kept, slopes, gradient, loss: &*model.loss, weighted_penalty });
            if certificate.dual.is_none() {
                let what = "the lower bound lies above the objective, which no rounding explains";
                return Err(Error::data(Place::file(data), what, "check that nobody writes to the file"));
            }
        }
        let name = match worst.1 {
            Worst::Column(column) => Some(table.name(column)),
            Worst::Bias => Some("(bias)".to_string()),
            Worst::Nowhere => None,
        };
        Ok(Proved { certificate, worst: name, rows: kept.len() })
    }

    /// The first pass: scores, targets and weights of the rows, and the statistics for scaling.
    fn scores(&self, model: &Model, data: &Path, table: &mut Table) -> Result<(Vec<ScoredRow>, Columns)> {
        let (mut kept, mut stats, mut file_rows) = (Vec::new(), Columns::new(0), 0);
        let scaled = self.scale != Scale::None || model.reading.idf() == Some(false);
        let given: Option<Vec<f64>> = self
            .sample_weights
            .as_ref()
            .map(|weights| weights.values.iter().copied().filter(|weight| *weight > 0.0).collect());
        let absent = self.sample_weights.as_ref().map(SampleWeights::absent).unwrap_or_default();
        let offsets = self.offsets.as_ref().map(|offsets| offsets.of_present(&absent));
        let mut class_counts = [0; 2];
        self.pass(model, data, table, &mut |block, table| {
            let place = |i: usize| Place::file(data).line(block.lines.of(i));
            if let Some(row) = block.unlabelled {
                let what = "the row has no target";
                return Err(Error::data(place(row), what, "give it one: F is a mean over rows with targets"));
            }
            let targets = targets_of(&block.labels, &*model.loss, model.classes.as_ref(), &place)?;
            for (i, &target) in targets.iter().enumerate() {
                let shift = offsets.as_ref().map_or(0.0, |all| all.get(kept.len()).copied().unwrap_or(0.0));
                let offset = block.offset(i) + shift;
                if !offset.is_finite() {
                    let hint = "give each row a finite number; 0 changes no score";
                    return Err(Error::data(place(i), "the row has no finite offset", hint));
                }
                let mut score = model.bias + offset;
                table.for_each(model, block, i, |column, x| {
                    score += table.weights[column] * x;
                    if scaled {
                        stats.see_value(column, x);
                    }
                });
                stats.see_row();
                let own = block.weights.get(i).copied().unwrap_or(1.0);
                let given = given.as_ref().map_or(1.0, |given| given.get(kept.len()).copied().unwrap_or(1.0));
                class_counts[usize::from(target > 0.0)] += 1;
                kept.push(ScoredRow { score, target, weight: own * given, offset });
            }
            file_rows += block.file_rows;
            Ok(())
        })?;
        if let Some(weights) = &self.sample_weights {
            weights.check_count(file_rows, kept.len(), data)?;
        }
        if let Some(offsets) = &self.offsets {
            offsets.check_count(file_rows, data)?;
        }
        if kept.is_empty() {
            return Err(Error::data(Place::file(data), "there are no rows in it", "give a file with data"));
        }
        if let Some(class_weight) = &self.class_weight {
            let Some(classes) = &model.classes else {
                let loss = model.loss.spec();
                let what = format!("{} needs classes, and loss '{loss}' has none", Parameter::ClassWeight);
                let hint = format!("use {}, or a model of two classes", Parameter::SampleWeights);
                return Err(Error::call(what, hint));
            };
            let of_class = class_weight.of_classes(classes, &class_counts)?;
            kept.iter_mut().for_each(|row| row.weight *= of_class[usize::from(row.target > 0.0)]);
        }
        // A row of weight zero is counted, but contributes to no sum.
        let mean = kept.iter().map(|row| row.weight).sum::<f64>() / kept.len() as f64;
        kept.iter_mut().for_each(|row| row.weight /= mean);
        Ok((kept, stats))
    }

    /// The factor between each weight of the model and the weight of the scaled problem.
    fn factors(&self, model: &Model, stats: &Columns, columns: usize) -> Vec<f64> {
        let idf = (model.reading.idf() == Some(false)).then(|| stats.idf());
        let scale = stats.scale(self.scale);
        let one = |all: &Option<Vec<f64>>, column: usize| {
            all.as_ref().and_then(|all| all.get(column)).copied().unwrap_or(1.0)
        };
        // The scale is that of the values after idf, so that idf cancels in the product.
        let factor = |column: usize| if scale.is_some() { one(&scale, column) } else { one(&idf, column) };
        (0..columns).map(factor).collect()
    }

    /// Calls `see` with all rows, block by block, with the feature numbers of the whole file.
    fn pass(
        &self,
        model: &Model,
        data: &Path,
        table: &mut Table,
        see: &mut dyn FnMut(&Parsed, &mut Table) -> Result<()>,
    ) -> Result<()> {
        let asked = ReadOptions { format: self.format.clone(), ..ReadOptions::default() };
        let input = Input::open(data, &asked, Some(&model.reading))?;
        let absent = self.sample_weights.as_ref().map(SampleWeights::absent).unwrap_or_default();
        let mut naming = std::mem::take(&mut table.naming);
        let done = input.for_each_named(absent, &mut naming, &mut |block| {
            table.meet(model, block)?;
            see(block, table)
        });
        table.naming = naming;
        done
    }
}

/// The error for data that changed between the two passes.
fn changed(data: &Path) -> Error {
    let what = "the data changed while they were read";
    Error::data(Place::file(data), what, "certify again when nobody writes to the file")
}

/// The weights by column: those of the model, and zeros for features that it does not have.
struct Table {
    naming: FeatureIds,
    weights: Vec<f64>,
    far: HashMap<u32, u32>, // columns of features from DIRECT on
    far_names: Vec<u32>,
    narrow: bool,
    words: Vocabulary, // where rows are normalised after idf: the words met, numbered as `naming` does
    idf: Vec<f64>,     // and what they weigh
}

impl Table {
    fn of(model: &Model) -> Result<Table> {
        let naming = match (&model.words, model.reading.hash_bits) {
            (Some(words), _) => FeatureIds::Words(words.names.iter().collect::<Vocabulary>()),
            (None, Some(bits)) => FeatureIds::hashed(bits)?,
            (None, None) => FeatureIds::Indices,
        };
        let narrow = model.training.precision == Precision::F32;
        let words = model.words.iter().flat_map(|words| words.names.iter()).collect();
        let (weights, far, far_names, idf) = (Vec::new(), HashMap::new(), Vec::new(), Vec::new());
        let mut table = Table { naming, weights, far, far_names, narrow, words, idf };
        for (&feature, &weight) in model.features.iter().zip(&model.weights) {
            let column = table.enter(feature);
            table.weights[column] = weight;
        }
        Ok(table)
    }

    /// The column of a feature; adds a column if the feature is new.
    fn enter(&mut self, feature: u32) -> usize {
        let column = if feature < DIRECT {
            feature as usize
        } else {
            let next = self.far_names.len() as u32;
            let names = &mut self.far_names;
            let new = || {
                names.push(feature);
                next
            };
            (DIRECT + *self.far.entry(feature).or_insert_with(new)) as usize
        };
        if column >= self.weights.len() {
            self.weights.resize(column + 1, 0.0);
        }
        column
    }

    /// Adds the features of a block.
    fn meet(&mut self, model: &Model, block: &Parsed) -> Result<()> {
        let mismatch = |what: &str| {
            let what = format!("the model knows its features by {what}");
            Err(Error::data(Place::file("the data"), what, "give data in the format it was trained on"))
        };
        match (&model.words, model.reading.hash_bits, &block.names) {
            (Some(_), _, None) if block.rows.nonzeros() > 0 => {
                return mismatch("name, and these data by number");
            }
            (None, None, Some(_)) => return mismatch("number, and these data by name"),
            _ => {}
        }
        for &id in block.rows.ids() {
            self.enter(id);
        }
        if let (Some(words), Some(names)) = (&model.words, &block.names)
            && words.idf.is_some()
        {
            for name in names.iter() {
                let id = self.words.id(name) as usize;
                self.idf.resize(self.words.len(), 0.0);
                self.idf[id] = words.idf(name).unwrap_or(0.0); // a word that is not in the model has weight zero
            }
        }
        Ok(())
    }

    /// Calls `see(column, value)` for the values of a row as the solver saw them.
    fn for_each(&self, model: &Model, block: &Parsed, i: usize, mut see: impl FnMut(usize, f64)) {
        let column = |id: usize| match id < DIRECT as usize {
            true => id,
            false => self.far.get(&(id as u32)).map_or(id, |far| (DIRECT + far) as usize),
        };
        let round = |x: f64| if self.narrow { f64::from(x as f32) } else { x };
        let rows = block.rows.borrow();
        if model.words.as_ref().is_some_and(|words| words.idf.is_some()) {
            let idf = |id: usize| self.idf[id];
            let mut square = 0.0;
            rows.for_each(i, |id, x| square += (idf(id) * x) * (idf(id) * x));
            if square > 0.0 {
                rows.for_each(i, |id, x| see(column(id), round(idf(id) * x / square.sqrt())));
            }
            return;
        }
        rows.for_each(i, |id, x| see(column(id), round(x)));
    }

    /// The name of a column; empty for an unused column.
    fn name(&self, column: usize) -> String {
        let feature = match (column as u32).checked_sub(DIRECT) {
            Some(far) => self.far_names[far as usize],
            None => column as u32,
        };
        self.naming.text(feature)
    }
}
