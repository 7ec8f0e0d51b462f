//! The words of a model whose features have names: those with a weight, and marks of those without.

use crate::data::features::Features;
use crate::data::vocabulary::Vocabulary;
use twox_hash::XxHash3_64;

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
    /// Those of `features` keep their names; of all others, marks are kept.
    pub(super) fn of(names: &Features, all: &Vocabulary, features: &[u32]) -> Words {
        let (kept, others): (Vec<u32>, Vec<u32>) =
            (0..all.len() as u32).partition(|id| features.binary_search(id).is_ok());
        let mut marks: Vec<(u64, u32)> =
            others.iter().map(|&id| (XxHash3_64::oneshot(all.name(id).as_bytes()), id)).collect();
        marks.sort_unstable();
        marks.dedup_by_key(|(mark, _)| *mark);
        let idf = names.scaling.idf.as_ref().filter(|_| names.scaling.norm);
        let idf = idf.map(|idf| |id: u32| names.column(id).map_or(1.0, |column| idf[column as usize]));
        Words {
            names: kept.iter().map(|&id| all.name(id)).collect(),
            others: marks.iter().map(|(mark, _)| *mark).collect(),
            idf: idf.map(|idf| {
                [kept.iter().map(|&id| idf(id)).collect(), marks.iter().map(|(_, id)| idf(*id)).collect()]
            }),
        }
    }

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
