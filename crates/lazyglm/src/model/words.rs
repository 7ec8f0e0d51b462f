//! The words of a model whose features have names: words with a weight, and hashes of the other words.

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
    /// The words with a weight, in the order of the weights.
    pub names: Vocabulary,
    /// Ascending XXH3-64 hashes of the other words that occurred in training. These words are known and have
    /// weight zero.
    pub others: Vec<u64>,
    /// If the model converts the rows that it scores: the idf of `names` and of `others`. Every word affects a
    /// row's norm.
    pub idf: Option<[Vec<f64>; 2]>,
}

impl Words {
    /// Keeps the names of `features`, and hashes of all other words.
    pub(super) fn of(names: &Features, all: &Vocabulary, features: &[u32]) -> Words {
        let (kept, others): (Vec<u32>, Vec<u32>) =
            (0..all.len() as u32).partition(|id| features.binary_search(id).is_ok());
        let (marks, others) = Words::marked(&others, |id| all.name(id));
        let idf = names.scaling.kept_idf();
        let idf = idf.map(|idf| |id: u32| names.column(id).map_or(1.0, |column| idf[column as usize]));
        Words {
            names: kept.iter().map(|&id| all.name(id)).collect(),
            others: marks,
            idf: idf.map(|idf| [&kept, &others].map(|ids| ids.iter().map(|&id| idf(id)).collect())),
        }
    }

    /// The hashes of the words of some ids, in ascending order, and the id of each.
    pub(super) fn marked<'a, I: Copy + Ord>(ids: &[I], word: impl Fn(I) -> &'a str) -> (Vec<u64>, Vec<I>) {
        let mark = |&id: &I| (XxHash3_64::oneshot(word(id).as_bytes()), id);
        let mut marks: Vec<(u64, I)> = ids.iter().map(mark).collect();
        marks.sort_unstable();
        marks.dedup_by_key(|(mark, _)| *mark);
        marks.into_iter().unzip()
    }

    /// The hashes of some words, in ascending order.
    pub fn marks<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<u64> {
        let mut marks: Vec<u64> =
            words.into_iter().map(|word| XxHash3_64::oneshot(word.as_bytes())).collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    }

    /// The position of a word that occurred in training: first the words with a weight, then the others.
    pub(crate) fn place(&self, word: &str) -> Option<usize> {
        let other = || self.others.binary_search(&XxHash3_64::oneshot(word.as_bytes())).ok();
        self.names.find(word).map(|k| k as usize).or_else(|| Some(self.names.len() + other()?))
    }

    /// The idf of the word at this position, if rows are normalised after idf.
    pub(crate) fn idf_at(&self, place: usize) -> Option<f64> {
        let [of_names, of_others] = self.idf.as_ref()?;
        let other = || of_others.get(place.checked_sub(self.names.len())?);
        of_names.get(place).or_else(other).copied()
    }

    /// Whether a word occurred in training.
    pub fn contains(&self, word: &str) -> bool {
        let mark = XxHash3_64::oneshot(word.as_bytes());
        self.names.find(word).is_some() || self.others.binary_search(&mark).is_ok()
    }
}
