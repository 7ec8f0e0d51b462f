//! Reads a table of weights, one per line, as `inspect --tsv` prints it: `(bias)<TAB>value` and
//! `feature<TAB>weight`.
//!
//! This allows weights from elsewhere to replace the weights of a model.

use crate::data::bytes;
use crate::data::vocabulary::Vocabulary;
use crate::model::{Model, Words};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::number::parse_number;
use std::collections::BTreeMap;
use std::path::Path;

/// A copy of the model with the weights of a file. Features that the file does not list get weight zero, and
/// so does an unlisted bias.
///
/// ```
/// use lazyglm::{Model, Settings, synth, train, with_weights_of};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let model = Model::new(&task, &Settings::default(), trained);
/// let file = std::env::temp_dir().join("lazyglm-doc-weights-of.tsv");
/// std::fs::write(&file, "(bias)\t-0.5\n7\t1.25\n3\t-2\n").unwrap();
/// let other = with_weights_of(&model, &file).unwrap();
/// assert_eq!((other.bias, other.features, other.weights), (-0.5, vec![3, 7], vec![-2.0, 1.25]));
/// ```
pub fn with_weights_of(model: &Model, file: &Path) -> Result<Model> {
    let text = bytes::read_to_string(file)?;
    let (mut bias, mut seen_bias, mut by_name) = (0.0, false, BTreeMap::new());
    for (k, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || Place::file(file).line(k as u64 + 1);
        let shape = "write feature<TAB>weight, one feature per line";
        let (name, weight) = line.rsplit_once('\t').ok_or_else(|| {
            Error::data(place(), "the line has no tab between a feature and its weight", shape)
        })?;
        let value = parse_number(weight.trim().as_bytes()).filter(|weight| weight.is_finite());
        let Some(weight) = value else {
            return Err(Error::data(place(), format!("'{}' is not a weight", excerpt(weight)), shape));
        };
        let again = match name {
            "(bias)" => std::mem::replace(&mut seen_bias, true),
            _ => by_name.contains_key(name),
        };
        if again {
            return Err(Error::data(
                place(),
                format!("'{}' is given a second time", excerpt(name)),
                "give it once",
            ));
        }
        match name {
            "(bias)" => bias = weight,
            _ => drop(by_name.insert(name, (weight, k as u64 + 1))),
        }
    }
    let model = Model { bias, ..model.clone() };
    match &model.words {
        Some(words) => {
            Ok(of_words(&model, words, by_name.into_iter().map(|(name, (weight, _))| (name, weight))))
        }
        None => of_indices(&model, by_name, file),
    }
}

fn of_indices(model: &Model, by_name: BTreeMap<&str, (f64, u64)>, file: &Path) -> Result<Model> {
    let mut pairs = Vec::new();
    for (name, (weight, line)) in by_name {
        let index: u32 = name.parse().map_err(|_| {
            let what =
                format!("'{}' is not an index, and the model knows its features by number", excerpt(name));
            Error::data(Place::file(file).line(line), what, "give the index of the feature, as in the data")
        })?;
        pairs.push((index, weight));
    }
    pairs.sort_by_key(|(index, _)| *index);
    pairs.retain(|(_, weight)| *weight != 0.0);
    let (features, weights) = pairs.into_iter().unzip();
    Ok(Model { features, weights, ..model.clone() })
}

fn of_words<'a>(model: &Model, words: &Words, pairs: impl Iterator<Item = (&'a str, f64)>) -> Model {
    let (mut names, mut weights) = (Vocabulary::default(), Vec::new());
    for (written, weight) in pairs.filter(|(_, weight)| *weight != 0.0) {
        let name = if words.contains(written) { written.to_string() } else { unescaped(written) };
        names.id(&name);
        weights.push(weight);
    }
    // Words that had a weight still count as words that occurred.
    let idf_of = |k: usize, side: usize| words.idf.as_ref().map_or(0.0, |idf| idf[side][k]);
    let mut others: Vec<(u64, f64)> =
        words.others.iter().enumerate().map(|(k, mark)| (*mark, idf_of(k, 1))).collect();
    let marked = |(k, name)| (Words::marks([name])[0], idf_of(k, 0));
    others.extend(words.names.iter().enumerate().map(marked));
    others.sort_by_key(|(mark, _)| *mark);
    others.dedup_by_key(|(mark, _)| *mark);
    let of_names =
        names.iter().map(|name| words.place(name).and_then(|k| words.idf_at(k)).unwrap_or(0.0)).collect();
    let idf = words.idf.as_ref().map(|_| [of_names, others.iter().map(|(_, idf)| *idf).collect()]);
    let others = others.into_iter().map(|(mark, _)| mark).collect();
    let features = (0..names.len() as u32).collect();
    Model { features, weights, words: Some(Words { names, others, idf }), ..model.clone() }
}

/// Undoes the escapes of [`crate::data::feature_ids::one_line`].
fn unescaped(name: &str) -> String {
    name.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r")
}
