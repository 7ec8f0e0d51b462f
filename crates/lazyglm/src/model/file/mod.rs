//! The model file format: a safetensors file, which loads without executing code and opens in Python.
//!
//! | tensor | type | content |
//! |---|---|---|
//! | `weights` | F64 \[k\] | the non-zero weights; with heads \[m\], grouped by feature |
//! | `bias` | F64 \[1\] | b |
//! | `features` | U32 \[k\] | the index of each feature as written, its bucket or the number of its word, in ascending order |
//! | `seen` | U32 \[2m\] | first and last index of each run of features that occurred in training |
//! | `name_ends` | U64 \[k\] | with words: the end of each feature's word in `names` |
//! | `names` | U8 | with words: the words of the weights, concatenated, in UTF-8 |
//! | `others` | U64 \[z\] | with words: XXH3-64 of every other word that occurred, in ascending order |
//! | `idf`, `other_idf` | F64 \[k\], \[z\] | with words and tf-idf: the idf of `names` and of `others` |
//! | `seen_idf` | F64 | with `--scale tfidf`: the idf of each feature in `seen`; empty with words |
//! | `head_ends` | U64 \[k\] | with heads: the end of each feature's weights in `weights` |
//! | `head_ids` | U32 \[m\] | with heads: the head of each weight, in ascending order within a feature |
//! | `head_biases` | F64 \[h\] | with heads: the bias of each head |
//! | `head_thresholds` | F64 \[h\] | with labels and tuned thresholds: the threshold of each head |
//! | `xxh3_64` | U8 \[8\] | the last eight bytes of the file: XXH3-64, little-endian, of all bytes before them |
//!
//! The header's metadata has one key, `lazyglm`: a JSON object with `format`, loss, classes, reading options,
//! base and number of features, and training settings. Format 1 supports svmlight data only, and format 2 all
//! data formats. Format 3 adds heads, whose names and kind are in the header, format 4 tf-idf of counts, and
//! format 5 `limits`, the range of predicted numbers, and for heads with a million weights or more `head_ids` of
//! type U16 and `weights` of type F32 where these have the same values. Format 6 adds `row_lengths_stay`, for
//! logarithms of counts in rows that are not normalised. A model is written in the oldest format
//! that suffices. The checksum comes last in all formats.
//!
//! ```
//! use lazyglm::{Model, Settings, model::file, synth, train};
//! let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
//! let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
//! let bytes = Model::new(&task, &Settings::default(), trained).to_bytes().unwrap();
//! let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap(); // as any reader of the format does
//! assert_eq!(tensors.tensor("bias").unwrap().shape(), [1]);
//! ```

mod bytes;
mod heads;
mod numbers;
mod words;

use self::heads::{HeadNames, head_bytes, is_plain, read_heads};
use self::numbers::{f64s, is_large, narrow_ids, narrow_weights, read_ids, read_weights, u32s, u64s};
use self::words::{cannot_write, read_words, tf_idf_fits, word_bytes};
use crate::data::read_config::ReadConfig;
use crate::model::{Counting, Model, Seen, TfIdf, Training, Words};
use crate::problem::heads::Heads;
use crate::problem::loss;
use crate::problem::schedule::Spec;
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::files;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use twox_hash::XxHash3_64;

/// The newest format that this version reads. It writes the oldest format that suffices.
const FORMAT: u32 = 6;

/// Length in bytes of the checksum at the end of the file.
const CHECKSUM: usize = 8;

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    written_by: String,
    loss: String,
    classes: Option<[String; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heads: Option<HeadNames>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limits: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "is_default")]
    reading: ReadConfig,
    counting: Counting,
    /// With tf-idf values: whether a count x becomes 1 + ln x.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log_counts: Option<bool>,
    /// With tf-idf values: whether rows are not divided by their length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    row_lengths_stay: bool,
    training: Training,
}

fn is_default(reading: &ReadConfig) -> bool {
    *reading == ReadConfig::default()
}

/// The part of the header that tells whether this version can read the rest.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl Model {
    /// Writes a model file atomically.
    ///
    /// ```
    /// use lazyglm::{Model, Settings, model::file, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// let path = std::env::temp_dir().join("lazyglm-doc-save.model");
    /// model.save(&path).unwrap();
    /// assert_eq!(Model::load(&path).unwrap().weights, model.weights);
    /// ```
    pub fn save(&self, path: &Path) -> Result<()> {
        refuse_infinite(self)?;
        let bytes = self.to_bytes()?;
        files::write_whole(path, |to| to.write_all(&bytes))
    }
}

impl Model {
    /// Reads a model file and rejects it if it breaks any rule of the format.
    ///
    /// ```
    /// let path = std::env::temp_dir().join("lazyglm-doc-load.model");
    /// std::fs::write(&path, "weights").unwrap();
    /// let error = lazyglm::Model::load(&path).unwrap_err();
    /// assert!(error.to_string().contains("it is not a lazyglm model, or damaged, or cut short"));
    /// ```
    pub fn load(path: &Path) -> Result<Model> {
        if path.as_os_str() == "-" {
            return Err(Error::call(
                "a model cannot be read from standard input",
                "give the name of a model file",
            ));
        }
        let bytes = File::open(path).and_then(bytes::read).map_err(|e| {
            Error::io(path, e, "give a model file you may read; `lazyglm train DATA -o MODEL` writes one")
        })?;
        Model::from_bytes(&bytes).map_err(|(what, hint)| {
            let place = Place::file(path);
            Kind::Model { place, what, hint: hint.to_string() }.into()
        })
    }
}

/// Rejects infinite or NaN weights and settings, which could be written but not read: JSON has no infinity.
fn refuse_infinite(model: &Model) -> Result<()> {
    let biases = model.heads.iter().flat_map(|heads| &heads.biases);
    let mut weights = model.weights.iter().chain([&model.bias]).chain(biases);
    let what = match &model.training {
        Training { l1, l2, .. } if !(l1.is_finite() && l2.is_finite()) => {
            format!("its penalty is l1 {l1}, l2 {l2}")
        }
        _ => match weights.find(|w| !w.is_finite()) {
            Some(weight) => format!("a weight or a bias of it is {weight}"),
            None => return Ok(()),
        },
    };
    let hint = "lower the penalty or the rate, or scale the features down, and train again";
    Err(Error::call(format!("this model cannot be kept: {what}"), hint))
}

impl Model {
    /// Encodes the model as the bytes of a model file.
    ///
    /// ```
    /// use lazyglm::{Model, Settings, model::file, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let bytes = || {
    ///     let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    ///     Model::new(&task, &Settings::default(), trained).to_bytes().unwrap()
    /// };
    /// assert_eq!(bytes(), bytes(), "the same run, the same bytes");
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = Header {
            format: match self.heads {
                _ if self.tf_idf.as_ref().is_some_and(|tf_idf| !tf_idf.norm) => 6,
                _ if self.limits.is_some() || is_large(self) => 5,
                _ if self.tf_idf.is_some() => 4,
                Some(_) => 3,
                None if is_default(&self.reading) && self.words.is_none() => 1,
                None => 2,
            },
            written_by: format!("lazyglm {}", env!("CARGO_PKG_VERSION")),
            loss: self.loss.spec(),
            classes: self.classes.clone(),
            heads: self
                .heads
                .as_ref()
                .map(|heads| HeadNames { kind: heads.kind, names: heads.names.clone() }),
            limits: self.limits,
            reading: self.reading.clone(),
            counting: self.counting,
            log_counts: self.tf_idf.as_ref().map(|tf_idf| tf_idf.log),
            row_lengths_stay: self.tf_idf.as_ref().is_some_and(|tf_idf| !tf_idf.norm),
            training: self.training.clone(),
        };
        let json = serde_json::to_string(&header).map_err(|e| cannot_write(&e))?;
        let (weights_type, weights) = narrow_weights(self);
        let features: Vec<u8> = self.features.iter().flat_map(|f| f.to_le_bytes()).collect();
        let seen: Vec<u8> =
            self.seen.runs.iter().flat_map(|&(a, b)| [a, b]).flat_map(u32::to_le_bytes).collect();
        let (bias, checksum) = (self.bias.to_le_bytes(), [0; CHECKSUM]);
        let view =
            |dtype, length, bytes| TensorView::new(dtype, vec![length], bytes).map_err(|e| cannot_write(&e));
        let (names, ends, others) = self.words.as_ref().map(word_bytes).unwrap_or_default();
        // safetensors orders tensors by decreasing size of their type, then by name: the checksum comes last.
        let mut tensors = vec![
            ("weights", view(weights_type, self.weights.len(), &weights)?),
            ("bias", view(Dtype::F64, 1, &bias)?),
            ("features", view(Dtype::U32, self.features.len(), &features)?),
            ("seen", view(Dtype::U32, 2 * self.seen.runs.len(), &seen)?),
            ("xxh3_64", view(Dtype::U8, CHECKSUM, &checksum)?),
        ];
        if self.words.is_some() {
            tensors.push(("name_ends", view(Dtype::U64, ends.len() / 8, &ends)?));
            tensors.push(("names", view(Dtype::U8, names.len(), &names)?));
            tensors.push(("others", view(Dtype::U64, others.len() / 8, &others)?));
        }
        let (ids_type, ids) = narrow_ids(self);
        let of_heads = self.heads.as_ref().map(head_bytes);
        if let (Some(heads), Some([ends, biases, thresholds])) = (&self.heads, &of_heads) {
            tensors.push(("head_ends", view(Dtype::U64, heads.ends.len(), ends)?));
            tensors.push(("head_ids", view(ids_type, heads.ids.len(), &ids)?));
            tensors.push(("head_biases", view(Dtype::F64, heads.biases.len(), biases)?));
            if let Some(own) = &heads.thresholds {
                tensors.push(("head_thresholds", view(Dtype::F64, own.len(), thresholds)?));
            }
        }
        let bytes_of = |of: &Vec<f64>| of.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let idf = self
            .words
            .as_ref()
            .and_then(|words| words.idf.as_ref())
            .map(|both| both.each_ref().map(bytes_of));
        if let Some([of_names, of_others]) = &idf {
            tensors.push(("idf", view(Dtype::F64, of_names.len() / 8, of_names)?));
            tensors.push(("other_idf", view(Dtype::F64, of_others.len() / 8, of_others)?));
        }
        let seen_idf = self.tf_idf.as_ref().map(|tf_idf| bytes_of(&tf_idf.idf));
        if let Some(idf) = &seen_idf {
            tensors.push(("seen_idf", view(Dtype::F64, idf.len() / 8, idf)?));
        }
        let metadata = HashMap::from([("lazyglm".to_string(), json)]);
        let mut bytes = safetensors::serialize(tensors, Some(metadata)).map_err(|e| cannot_write(&e))?;
        let end = bytes.len() - CHECKSUM;
        let sum = XxHash3_64::oneshot(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&sum);
        Ok(bytes)
    }
}

/// What is wrong with a file, and a hint.
type Refusal = (String, &'static str);

const AGAIN: &str = "copy or train it again";
const NO_MODEL: &str = "give a file written by `lazyglm train -o` (the model comes first, then the data)";

impl Model {
    /// Decodes a model from the bytes of a model file and checks every rule of the format.
    ///
    /// ```
    /// use lazyglm::{Model, Settings, model::file, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let mut bytes = Model::new(&task, &Settings::default(), trained).to_bytes().unwrap();
    /// assert!(Model::from_bytes(&bytes).is_ok());
    /// *bytes.last_mut().unwrap() ^= 1; // one bit is enough
    /// let (what, hint) = Model::from_bytes(&bytes).unwrap_err();
    /// assert!(what.contains("the checksum does not fit") && hint == "copy or train it again");
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> std::result::Result<Model, Refusal> {
        let (checked, sum) = bytes.split_at(bytes.len().saturating_sub(CHECKSUM));
        let whole = sum == XxHash3_64::oneshot(checked).to_le_bytes();
        let parsed = SafeTensors::read_metadata(bytes).ok().map(|(_, metadata)| metadata);
        let json = parsed.as_ref().and_then(|m| m.metadata().as_ref()).and_then(|m| m.get("lazyglm"));
        let format = json.and_then(|json| serde_json::from_str::<Format>(json).ok());
        if let Some(Format { format }) = format
            && format > FORMAT
        {
            let what = format!("it is in format {format}, and this version reads up to {FORMAT}");
            return Err((what, "install a newer lazyglm"));
        }
        match (whole, json) {
            (true, Some(json)) => read(bytes, json),
            (true, None) => Err(("it is not a lazyglm model".into(), NO_MODEL)),
            (false, Some(_)) => Err(("it is damaged or cut short: the checksum does not fit".into(), AGAIN)),
            (false, None) if bytes.is_empty() => {
                Err(("it is empty: cut short, or never a model".into(), NO_MODEL))
            }
            (false, None) => Err(("it is not a lazyglm model, or damaged, or cut short".into(), NO_MODEL)),
        }
    }
}

fn read(bytes: &[u8], json: &str) -> std::result::Result<Model, Refusal> {
    let broken = |what: &str| (format!("it breaks a rule of the format: {what}"), AGAIN);
    let mut header: Header = serde_json::from_str(json).map_err(|e| broken(&format!("its header: {e}")))?;
    let loss = loss::parse(&header.loss).map_err(|e| broken(&e.to_string()))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| broken(&e.to_string()))?;
    let get = |name: &str, dtype| match tensors.tensor(name) {
        Ok(tensor) if tensor.dtype() == dtype && tensor.shape().len() == 1 => Ok(tensor.data()),
        _ => Err(broken(&format!("tensor '{name}'"))),
    };
    let weights = read_weights(&tensors).ok_or_else(|| broken("tensor 'weights'"))?;
    let bias = f64s(get("bias", Dtype::F64)?);
    let features = u32s(get("features", Dtype::U32)?);
    let runs: Vec<(u32, u32)> =
        u32s(get("seen", Dtype::U32)?).chunks_exact(2).map(|run| (run[0], run[1])).collect();

    let finite = weights.iter().chain(&bias).all(|w| w.is_finite());
    let rising = features.windows(2).all(|two| two[0] < two[1]);
    let apart = runs.iter().all(|run| run.0 <= run.1) && runs.windows(2).all(|two| two[0].1 < two[1].0);
    let seen = Seen { runs };
    if !finite || bias.len() != 1 || weights.contains(&0.0) {
        return Err(broken("weights and bias are finite, and weights are not zero"));
    }
    let heads = match header.heads.take() {
        None => None,
        Some(names) => {
            let ids = read_ids(&tensors).ok_or_else(|| broken("tensor 'head_ids'"))?;
            let ends = u64s(get("head_ends", Dtype::U64)?);
            let biases = f64s(get("head_biases", Dtype::F64)?);
            let tuned = tensors.tensor("head_thresholds").is_ok();
            let thresholds = if tuned { Some(f64s(get("head_thresholds", Dtype::F64)?)) } else { None };
            let heads = read_heads(names, ends, ids, biases, thresholds);
            let fits = |heads: &Heads| heads.ends.len() == features.len() && heads.ids.len() == weights.len();
            Some(
                heads
                    .filter(fits)
                    .ok_or_else(|| broken("heads have names, biases, and weights by feature"))?,
            )
        }
    };
    let one_each = heads.is_some() || features.len() == weights.len();
    if !one_each || !rising || !apart || !features.iter().all(|&f| seen.contains(f)) {
        return Err(broken("features are seen, rise, and have a weight each"));
    }
    if heads.is_some() && loss.admits() != loss::Admits::Classes {
        return Err(broken("heads have a loss for classes"));
    }
    let two_classes = loss.admits() == loss::Admits::Classes && heads.is_none();
    if two_classes != header.classes.is_some() || header.counting.index_base > 1 {
        return Err(broken("classes and index base fit the loss"));
    }
    if header.classes.as_ref().is_some_and(|[a, b]| a == b || !is_plain(a) || !is_plain(b)) {
        return Err(broken("two different class names without control characters"));
    }
    let fits = |&[low, high]: &[f64; 2]| loss.admits() != loss::Admits::Classes && low <= high;
    if !header.limits.iter().all(fits) {
        return Err(broken("limits rise, and are for numbers"));
    }
    let words = match tensors.tensor("names") {
        Err(_) => None,
        Ok(_) => {
            let (ends, others) = (u64s(get("name_ends", Dtype::U64)?), u64s(get("others", Dtype::U64)?));
            let words = read_words(get("names", Dtype::U8)?, ends, others);
            let fits = |words: &Words| {
                words.names.len() == features.len() && features.iter().zip(0..).all(|(&f, k)| f == k)
            };
            let mut words = words.filter(fits).ok_or_else(|| broken("one word a weight, no word twice"))?;
            if tensors.tensor("idf").is_ok() {
                let idf = [f64s(get("idf", Dtype::F64)?), f64s(get("other_idf", Dtype::F64)?)];
                let fits = idf[0].len() == words.names.len() && idf[1].len() == words.others.len();
                if !fits || !idf.iter().flatten().all(|x| x.is_finite()) {
                    return Err(broken("one finite idf a word"));
                }
                words.idf = Some(idf);
            }
            Some(words)
        }
    };
    if header.reading.hash_bits.is_some_and(|bits| !(1..=30).contains(&bits)) {
        return Err(broken("2 to 2³⁰ buckets"));
    }
    let tf_idf = match header.log_counts {
        None => None,
        Some(log) => {
            let (idf, norm) = (f64s(get("seen_idf", Dtype::F64)?), !header.row_lengths_stay);
            let tf_idf = TfIdf { log, idf, norm };
            let fits = tf_idf_fits(&tf_idf, words.as_ref(), &seen);
            Some(fits.then_some(tf_idf).ok_or_else(|| broken("one finite idf a feature"))?)
        }
    };
    Spec::parse(&header.training.schedule).map_err(|e| broken(&e.to_string()))?;
    let (Header { classes, limits, reading, counting, training, .. }, bias) = (header, bias[0]);
    Ok(Model {
        features,
        weights,
        bias,
        loss,
        classes,
        heads,
        limits,
        seen,
        words,
        tf_idf,
        reading,
        counting,
        training,
    })
}
