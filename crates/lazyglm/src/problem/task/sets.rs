//! Targets as sets: the classes or labels of each row, by number, and their names.

use crate::data::dataset::Dataset;
use crate::data::labels::{Labels, boolean, is_of_class, parts};
use crate::simd::prefetch_one;
use crate::util::error::{Place, Result};
use crate::util::number::parse_number;
use hashbrown::HashMap;

/// The classes or labels of rows: those of row i are `ids[ends[i − 1]..ends[i]]`, in ascending order.
///
/// ```
/// let sets = lazyglm::problem::task::Sets { ends: vec![1, 3, 3], ids: vec![7, 7, 8] };
/// assert_eq!((sets.of(1), sets.of(2), sets.counts(9)[7]), (&[7, 8][..], &[][..], 2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets {
    /// The end of each row in `ids`.
    pub ends: Vec<usize>,
    /// The class or label numbers, row by row.
    pub ids: Vec<u32>,
}

impl Sets {
    /// The classes or labels of row `i`.
    pub fn of(&self, i: usize) -> &[u32] {
        &self.ids[if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i]]
    }

    /// Prefetches the end of row `i`, and its class if each row has one.
    #[inline(always)]
    pub(crate) fn prefetch(&self, i: usize) {
        prefetch_one(&self.ends, i);
        if self.ids.len() == self.ends.len() {
            prefetch_one(&self.ids, i);
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether row `i` has this class or label.
    pub fn has(&self, i: usize, id: usize) -> bool {
        self.of(i).contains(&(id as u32))
    }

    /// Removes all rows, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
        self.ids.clear();
    }

    /// Appends the rows of other sets.
    pub(crate) fn append(&mut self, more: &Sets) {
        let first = self.ids.len();
        self.ends.extend(more.ends.iter().map(|end| first + end));
        self.ids.extend_from_slice(&more.ids);
    }

    /// Appends a row.
    pub fn push(&mut self, ids: impl IntoIterator<Item = u32>) {
        self.ids.extend(ids);
        self.ends.push(self.ids.len());
    }

    /// The rows with each class or label.
    pub(crate) fn rows_of(&self, names: usize) -> Vec<Vec<u32>> {
        let mut rows = vec![Vec::new(); names];
        (0..self.len()).for_each(|i| self.of(i).iter().for_each(|&id| rows[id as usize].push(i as u32)));
        rows
    }

    /// The targets of one class or label: +1 for its own rows, −1 for the others.
    pub(crate) fn signs(&self, own: &[u32]) -> Vec<f64> {
        let mut signs = vec![-1.0; self.len()];
        own.iter().for_each(|&i| signs[i as usize] = 1.0);
        signs
    }

    /// The number of rows with each class or label.
    pub fn counts(&self, names: usize) -> Vec<usize> {
        let mut counts = vec![0; names];
        self.ids.iter().for_each(|&id| counts[id as usize] += 1);
        counts
    }

    /// The summed weights of the rows with each class or label.
    pub fn weights(&self, names: usize, weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut weights = vec![0.0; names];
        (0..self.len()).for_each(|i| self.of(i).iter().for_each(|&id| weights[id as usize] += weight(i)));
        weights
    }

    /// The sets of these rows, in this order.
    pub fn select(&self, rows: &[usize]) -> Sets {
        let mut some = Sets::default();
        rows.iter().for_each(|&i| some.push(self.of(i).iter().copied()));
        some
    }
}

/// The sets of the rows, and the names of the classes or labels.
pub(crate) struct Found {
    pub sets: Sets,
    pub names: Vec<String>,
    pub twice: usize, // number of rows that name a label twice
}

/// Reads targets as classes, or as sets of labels. Names are numbered in their order: numbers by value, words
/// alphabetically.
pub(crate) fn find(data: &Dataset, many: bool) -> Result<Found> {
    let (codes, words) = by_word(&data.labels);
    let mut first = vec![usize::MAX; words.len()];
    codes.iter().enumerate().rev().for_each(|(i, &code)| first[code as usize] = i);
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut parts_of = Vec::with_capacity(words.len());
    for (word, &row) in words.iter().zip(&first) {
        let texts = match row {
            usize::MAX => Vec::new(), // a word that no row uses
            row => parts(word, many, || data.place(row))?,
        };
        let mut number = |text: String| {
            let next = numbers.len() as u32;
            *numbers.entry(text).or_insert(next)
        };
        parts_of.push(texts.into_iter().map(&mut number).collect::<Vec<u32>>());
    }
    let names = sorted(numbers.into_iter().collect());
    let mut rank = vec![0; names.len()];
    names.iter().zip(0..).for_each(|((_, number), k)| rank[*number as usize] = k);
    let mut twice = vec![false; words.len()];
    for (parts, twice) in parts_of.iter_mut().zip(&mut twice) {
        let before = parts.len();
        parts.iter_mut().for_each(|part| *part = rank[*part as usize]);
        parts.sort_unstable();
        parts.dedup();
        *twice = parts.len() < before;
    }
    let mut sets = Sets::default();
    codes.iter().for_each(|&code| sets.push(parts_of[code as usize].iter().copied()));
    let twice = codes.iter().filter(|&&code| twice[code as usize]).count();
    Ok(Found { sets, names: names.into_iter().map(|(name, _)| name).collect(), twice })
}

/// Converts targets to sets of known names; the error is an unknown name, or what is wrong with a target.
pub(crate) fn known<'a>(
    labels: &Labels,
    names: &'a [String],
    many: bool,
    place: &dyn Fn(usize) -> Place,
    mut stranger: impl FnMut(usize, &str) -> Result<()>,
) -> Result<Sets> {
    let index: HashMap<&'a str, u32> = names.iter().zip(0..).map(|(name, k)| (name.as_str(), k)).collect();
    let mut sets = Sets::default();
    for i in 0..labels.len() {
        let mut ids = Vec::new();
        let parts = parts(&labels.name(i), many, || place(i))?;
        for (k, part) in parts.iter().enumerate() {
            let spelt = || names.iter().position(|name| is_of_class(part, name)).map(|k| k as u32);
            match index.get(part.as_str()).copied().or_else(|| boolean(part).and_then(|_| spelt())) {
                Some(id) => ids.push(id),
                None if parts[..k].contains(part) => {} // counted once
                None => stranger(i, part)?,
            }
        }
        ids.sort_unstable();
        ids.dedup();
        sets.push(ids);
    }
    Ok(sets)
}

/// The number of the target text of each row, and the texts.
fn by_word(labels: &Labels) -> (Vec<u32>, Vec<String>) {
    match labels {
        Labels::Words { codes, words, .. } => (codes.clone(), words.clone()),
        Labels::Numbers(numbers) => {
            let mut distinct = numbers.clone();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup();
            let code = |y: &f64| distinct.partition_point(|known| known < y) as u32;
            (numbers.iter().map(code).collect(), distinct.iter().map(f64::to_string).collect())
        }
    }
}

/// Sorts names by value if all are numbers, else alphabetically.
pub(crate) fn sorted<T>(mut names: Vec<(String, T)>) -> Vec<(String, T)> {
    let number = |name: &str| parse_number(name.as_bytes());
    match names.iter().all(|(name, _)| number(name).is_some()) {
        true => {
            names.sort_by(|a, b| f64::total_cmp(&number(&a.0).unwrap_or(0.0), &number(&b.0).unwrap_or(0.0)))
        }
        false => names.sort_by(|a, b| a.0.cmp(&b.0)),
    }
    names
}
