//! What an id stands for, once the blocks of a file are put together: an index as written, a word of the vocabulary, or
//! a bucket that words are hashed into.
//!
//! ```
//! use lazyglm::data::feature_ids::bucket;
//! let (bits, word) = (10, "subject^lottery");
//! assert!(bucket(word.as_bytes(), bits) < 1 << bits);
//! assert_eq!(bucket(word.as_bytes(), bits), bucket(word.as_bytes(), bits), "today and in every version to come");
//! ```

mod marks;

use crate::data::format::Parsed;
use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;
use marks::Marks;
use std::borrow::Cow;
use twox_hash::XxHash3_64;

/// The bucket, of 2^bits, of a name: the high bits of its XXH3-64.
///
/// ```
/// assert_eq!(lazyglm::data::feature_ids::bucket(b"spam", 4), lazyglm::data::feature_ids::bucket(b"spam", 8) >> 4);
/// ```
pub fn bucket(name: &[u8], bits: u32) -> u32 {
    (XxHash3_64::oneshot(name) >> (64 - bits)) as u32
}

/// A name in which tabs and line ends cannot be mistaken for those of a table.
///
/// ```
/// use lazyglm::data::feature_ids::one_line;
/// assert_eq!([one_line("age"), one_line("a\tb")], ["age", "a\\tb"]);
/// ```
pub fn one_line(name: &str) -> Cow<'_, str> {
    match name.contains(char::is_control) {
        false => Cow::Borrowed(name),
        true => Cow::Owned(
            name.chars()
                .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
                .collect(),
        ),
    }
}

/// What ids stand for.
///
/// ```
/// use lazyglm::data::feature_ids::FeatureIds;
/// assert!(FeatureIds::hashed(31).is_err(), "at most 2³⁰ buckets");
/// ```
#[derive(Clone, Debug, Default)]
pub enum FeatureIds {
    /// Indices as written.
    #[default]
    Indices,
    /// Words of a vocabulary.
    Words(Vocabulary),
    /// Buckets.
    Buckets(Buckets),
}

/// Buckets, and which of them more than one name fell into.
///
/// ```
/// use lazyglm::data::feature_ids::FeatureIds;
/// let Ok(FeatureIds::Buckets(buckets)) = FeatureIds::hashed(20) else { panic!() };
/// assert_eq!((buckets.bits(), buckets.is_shared(7)), (20, false));
/// ```
#[derive(Clone, Debug)]
pub struct Buckets {
    bits: u32,
    marks: Marks, // 0: empty; 1: more than one name; else a mark of the only name
}

impl Buckets {
    /// There are 2 to this power of them.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether more than one name fell into a bucket (but for names alike in all 64 bits of their hash).
    pub fn is_shared(&self, bucket: u32) -> bool {
        self.marks.get(bucket) == 1
    }

    /// The buckets that more than one name fell into.
    pub(crate) fn shared(&self) -> Vec<u32> {
        self.marks.with(1).collect()
    }

    /// Says that more than one name fell into these; false if there are no such buckets.
    pub(crate) fn share(&mut self, shared: &[u32]) -> bool {
        shared.iter().all(|&bucket| self.marks.get_mut(bucket).map(|mark| *mark = 1).is_some())
    }

    /// Notes a name; its bucket.
    fn meet(&mut self, name: &[u8]) -> u32 {
        let hash = XxHash3_64::oneshot(name);
        let (bucket, mark) = ((hash >> (64 - self.bits)) as u32, (hash as u32).max(2));
        if let Some(seen) = self.marks.get_mut(bucket) {
            match *seen {
                0 => *seen = mark,
                other if other != mark => *seen = 1,
                _ => (),
            }
        }
        bucket
    }
}

impl FeatureIds {
    /// 2^bits buckets.
    pub fn hashed(bits: u32) -> Result<FeatureIds> {
        match bits {
            1..=30 => Ok(FeatureIds::Buckets(Buckets { bits, marks: Marks::new(1 << bits) })),
            _ => Err(Error::parameter(Parameter::HashBits, bits, "a whole number from 1 to 30")),
        }
    }

    /// Takes up the names of a block; then `then` is told how to rename the block's ids, if at all.
    pub(crate) fn meet<T>(&mut self, block: &Parsed, then: impl FnOnce(Option<&mut Rename>) -> T) -> T {
        if let (FeatureIds::Indices, Some(_)) = (&self, &block.names) {
            *self = FeatureIds::Words(Vocabulary::default());
        }
        let table: Vec<u32> = match (&mut *self, &block.names) {
            (FeatureIds::Indices, _) => return then(None),
            (FeatureIds::Words(_), None) => return then(None), // a block without any feature
            (FeatureIds::Words(words), Some(names)) => names.iter().map(|name| words.id(name)).collect(),
            (FeatureIds::Buckets(buckets), Some(names)) => {
                names.iter().map(|name| buckets.meet(name.as_bytes())).collect()
            }
            (FeatureIds::Buckets(buckets), None) => {
                return then(Some(&mut |index| buckets.meet(index.to_string().as_bytes())));
            }
        };
        then(Some(&mut |id| table[id as usize]))
    }

    /// How much memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            FeatureIds::Indices => 0,
            FeatureIds::Words(words) => words.bytes(),
            FeatureIds::Buckets(buckets) => 4 << buckets.bits,
        }
    }

    /// The id of a name, if it has one.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        match self {
            FeatureIds::Indices => None,
            FeatureIds::Words(words) => words.find(name),
            FeatureIds::Buckets(buckets) => Some(bucket(name.as_bytes(), buckets.bits)),
        }
    }

    /// The id of an index as written.
    pub(crate) fn find_index(&self, index: u32) -> Option<u32> {
        match self {
            FeatureIds::Indices => Some(index),
            FeatureIds::Words(_) => None,
            FeatureIds::Buckets(buckets) => Some(bucket(index.to_string().as_bytes(), buckets.bits)),
        }
    }

    /// The bucket or word an id stands for, or the index it is, in words.
    pub(crate) fn text(&self, id: u32) -> String {
        match self {
            FeatureIds::Words(words) => words.name(id).to_string(),
            _ => id.to_string(),
        }
    }
}

/// What an id of a block is in the whole.
pub(crate) type Rename<'a> = dyn FnMut(u32) -> u32 + 'a;
