//! An exact vocabulary: numbers for the names of features.
//!
//! Numbers follow the order of first appearance, so the same text gives the same numbers.
//!
//! ```
//! use lazyglm::Vocabulary;
//! let mut words = Vocabulary::default();
//! assert_eq!(["to", "be", "or", "not", "to", "be"].map(|word| words.id(word)), [0, 1, 2, 3, 0, 1]);
//! assert_eq!((words.name(2), words.find("not"), words.find("why")), ("or", Some(3), None));
//! ```

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// A two-way map between names and numbers. All names are stored in one string.
///
/// ```
/// use lazyglm::Vocabulary;
/// let words: Vocabulary = ["b", "a", "b"].into_iter().collect();
/// assert_eq!(words.iter().collect::<Vec<_>>(), ["b", "a"]);
/// ```
#[derive(Clone, Default)]
pub struct Vocabulary {
    text: String,
    ends: Vec<usize>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Vocabulary {
    /// The number of a name. A new name gets the next number.
    ///
    /// ```
    /// let mut words = lazyglm::Vocabulary::default();
    /// assert_eq!((words.id("a"), words.id("b"), words.id("a")), (0, 1, 0));
    /// ```
    #[inline]
    pub fn id(&mut self, name: &str) -> u32 {
        self.id_within(name, usize::MAX).unwrap_or_default()
    }

    /// The number of a name, or `None` if the name is new and all names would have more than `most` bytes together.
    #[inline]
    pub(crate) fn id_within(&mut self, name: &str, most: usize) -> Option<u32> {
        let Vocabulary { text, ends, table, hasher } = self;
        let hash = hasher.hash_one(name.as_bytes());
        let same = |&id: &u32| bytes_at(text, ends, id) == name.as_bytes();
        if let Some(&id) = table.find(hash, same) {
            return Some(id);
        }
        if name.len() > most.saturating_sub(text.len()) {
            return None;
        }
        let id = ends.len() as u32;
        text.push_str(name);
        ends.push(text.len());
        table.insert_unique(hash, id, |&id| hasher.hash_one(bytes_at(text, ends, id)));
        Some(id)
    }

    /// The number of a name, if the vocabulary contains it.
    ///
    /// ```
    /// let words: lazyglm::Vocabulary = ["a"].into_iter().collect();
    /// assert_eq!((words.find("a"), words.find("b")), (Some(0), None));
    /// ```
    pub fn find(&self, name: &str) -> Option<u32> {
        let same = |&id: &u32| self.name(id) == name;
        self.table.find(self.hasher.hash_one(name.as_bytes()), same).copied()
    }

    /// The name with this number.
    ///
    /// ```
    /// let words: lazyglm::Vocabulary = ["a", "b"].into_iter().collect();
    /// assert_eq!(words.name(1), "b");
    /// ```
    pub fn name(&self, id: u32) -> &str {
        at(&self.text, &self.ends, id)
    }

    /// The names, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len() as u32).map(|id| self.name(id))
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all names and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.table.clear();
    }

    /// Approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * 8 + self.table.capacity() * 5
    }
}

fn at<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a str {
    &text[range(ends, id)]
}

/// A name as bytes. Names are compared once per value read, and bytes need no check for character boundaries.
#[inline(always)]
fn bytes_at<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a [u8] {
    &text.as_bytes()[range(ends, id)]
}

#[inline(always)]
fn range(ends: &[usize], id: u32) -> std::ops::Range<usize> {
    let id = id as usize;
    if id == 0 { 0..ends[0] } else { ends[id - 1]..ends[id] }
}

impl<'a> FromIterator<&'a str> for Vocabulary {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Vocabulary {
        let mut words = Vocabulary::default();
        names.into_iter().for_each(|name| {
            words.id(name);
        });
        words
    }
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Vocabulary) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().take(10)).finish()
    }
}
