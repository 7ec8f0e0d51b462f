//! Maps values by feature name to the columns of a data set: a model to start from, and penalty factors.

use crate::data::bytes;
use crate::data::feature_ids::FeatureIds;
use crate::data::features::Features;
use crate::model::Model;
use crate::problem::heads::Head;
use crate::problem::settings::Start;
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::number::parse_number;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The column of a feature, by its name in `inspect`.
pub(super) fn column(features: &Features, name: &str) -> Option<usize> {
    let id = match &*features.feature_ids {
        FeatureIds::Words(words) => words.find(name),
        FeatureIds::Indices | FeatureIds::Buckets(_) => name.parse().ok(),
    };
    id.and_then(|id| features.column(id)).map(|column| column as usize)
}

/// The weights of a model on the columns of other data, and the number of weights without a column. The heads of a model of
/// many classes or labels are those of these names; a new name starts at zero.
///
/// ```
/// use lazyglm::{Features, Model, Settings, start_of, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let weights = trained.weights.clone();
/// let model = Model::new(&task, &Settings::default(), trained);
/// let (start, lost) = start_of(&model, &task.data.features, &[]);
/// assert_eq!((start.weights, lost), (weights, 0));
/// let (fewer, lost) = start_of(&model, &Features::columns_from(0, 50), &[]);
/// assert_eq!((fewer.weights.len(), lost), (50, model.features.iter().filter(|&&j| j >= 50).count()));
/// ```
pub fn start_of(model: &Model, features: &Features, heads: &[String]) -> (Start, usize) {
    let place = |k: usize| column(features, &model.name(k));
    let places: Vec<Option<usize>> = (0..model.features.len()).map(place).collect();
    at_columns(model, features, heads, &places, features.columns())
}

/// Like [`start_of`] for all heads of the model, with a column more for each feature that the data do not have. Returns
/// the names of these features too.
pub(crate) fn start_with_strangers(model: &Model, features: &Features) -> (Start, Vec<String>) {
    let mut strangers = Vec::new();
    let mut place = |k: usize| {
        let name = model.name(k);
        column(features, &name).or_else(|| {
            strangers.push(name.into_owned());
            Some(features.columns() + strangers.len() - 1)
        })
    };
    let places: Vec<Option<usize>> = (0..model.features.len()).map(&mut place).collect();
    let heads = model.heads.as_ref().map_or(&[][..], |heads| &heads.names);
    let columns = features.columns() + strangers.len();
    (at_columns(model, features, heads, &places, columns).0, strangers)
}

/// The weights of a model whose features are at these places, and the number of weights without a place.
fn at_columns(
    model: &Model,
    features: &Features,
    heads: &[String],
    places: &[Option<usize>],
    columns: usize,
) -> (Start, usize) {
    let factor = |column: usize| match column < features.columns() {
        true => features.scaling.factor(column),
        false => 1.0,
    };
    let Some(known) = &model.heads else {
        let (mut weights, mut lost) = (vec![0.0; columns], 0);
        for (place, weight) in places.iter().zip(&model.weights) {
            match *place {
                Some(column) => weights[column] = weight / factor(column),
                None => lost += 1,
            }
        }
        return (Start::one(weights, model.bias), lost);
    };
    let index: HashMap<&str, usize> = heads.iter().zip(0..).map(|(name, k)| (name.as_str(), k)).collect();
    let to: Vec<Option<usize>> = known.names.iter().map(|name| index.get(name.as_str()).copied()).collect();
    let (mut weights, mut biases, mut lost) = (vec![Vec::new(); heads.len()], vec![0.0; heads.len()], 0);
    to.iter().zip(&known.biases).for_each(|(to, bias)| to.iter().for_each(|&k| biases[k] = *bias));
    for (feature, &column) in places.iter().enumerate() {
        for w in known.span(feature) {
            match (to[known.ids[w] as usize], column) {
                (Some(head), Some(column)) => {
                    weights[head].push((column as u32, model.weights[w] / factor(column)));
                }
                _ => lost += 1,
            }
        }
    }
    let head = |(mut weights, bias): (Vec<(u32, f64)>, f64)| {
        weights.sort_unstable_by_key(|(column, _)| *column);
        let (columns, weights) = weights.into_iter().unzip();
        Head { columns, weights, bias }
    };
    (Start { heads: weights.into_iter().zip(biases).map(head).collect(), ..Start::default() }, lost)
}

/// Reads one `feature<TAB>number` per line, where numbers are finite and `admits` them.
pub(super) fn numbers_by_name(
    file: &Path,
    noun: &str,
    hint: &str,
    admits: impl Fn(f64) -> bool,
) -> Result<HashMap<String, f64>> {
    let mut by_name = HashMap::new();
    let text = bytes::read_to_string(file)?;
    for (k, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = Place::file(file).line(k as u64 + 1);
        let pair = line.rsplit_once('\t').and_then(|(name, number)| {
            let number = parse_number(number.trim().as_bytes())?;
            (number.is_finite() && admits(number)).then_some((name, number + 0.0)) // not −0
        });
        let Some((name, number)) = pair else {
            return Err(Error::data(place, format!("'{}' is no {noun}", excerpt(line)), hint));
        };
        if by_name.insert(name.to_string(), number).is_some() {
            let what = format!("'{}' is given a second time", excerpt(name));
            return Err(Error::data(place, what, "give it once"));
        }
    }
    Ok(by_name)
}

/// Penalty factors by feature name. The factor of other features is 1.
///
/// ```
/// use lazyglm::{Features, PenaltyFactors};
/// let file = std::env::temp_dir().join("lazyglm-doc-factors.tsv");
/// std::fs::write(&file, "2\t0\n3\t2.5\n").unwrap();
/// let (factors, strangers) = PenaltyFactors::read(&file).unwrap().on(&Features::columns_from(1, 3));
/// assert_eq!((factors, strangers), (vec![1.0, 0.0, 2.5], 0));
/// ```
#[derive(Clone, Debug)]
pub struct PenaltyFactors {
    by_name: HashMap<String, f64>,
    file: PathBuf,
}

impl PenaltyFactors {
    /// Reads one `feature<TAB>factor` per line.
    pub fn read(file: &Path) -> Result<PenaltyFactors> {
        let hint = "write feature<TAB>factor, a number from 0 up";
        let by_name = numbers_by_name(file, "factor of a penalty", hint, |factor| factor >= 0.0)?;
        Ok(PenaltyFactors { by_name, file: file.to_path_buf() })
    }

    /// The penalty factor of a feature.
    pub fn of(&self, name: &str) -> f64 {
        self.by_name.get(name).copied().unwrap_or(1.0)
    }

    /// The penalty factors on the columns of a data set, and the number of factors without a column.
    pub fn on(&self, features: &Features) -> (Vec<f64>, usize) {
        let (mut factors, mut strangers) = (vec![1.0; features.columns()], 0);
        for (name, factor) in &self.by_name {
            match column(features, name) {
                Some(column) => factors[column] = *factor,
                None => strangers += 1,
            }
        }
        (factors, strangers)
    }

    /// The penalty factors on the columns of a data set, and on a column more for each of these features, which the data do
    /// not have.
    pub(crate) fn on_with(&self, features: &Features, more: &[String]) -> Vec<f64> {
        let (mut factors, _) = self.on(features);
        factors.extend(more.iter().map(|name| self.of(name)));
        factors
    }

    /// The file that the factors were read from.
    pub fn file(&self) -> &Path {
        &self.file
    }
}
