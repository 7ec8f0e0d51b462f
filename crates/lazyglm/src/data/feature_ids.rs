//! The meaning of global feature ids: an index as written, a word of the vocabulary, or a hash bucket.
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

/// The hash bucket of a name, out of 2^bits: the high bits of the XXH3-64 hash of the name.
///
/// ```
/// assert_eq!(lazyglm::data::feature_ids::bucket(b"spam", 4), lazyglm::data::feature_ids::bucket(b"spam", 8) >> 4);
/// ```
pub fn bucket(name: &[u8], bits: u32) -> u32 {
    (XxHash3_64::oneshot(name) >> (64 - bits)) as u32
}

/// Escapes tabs and line ends in a name, so that the name fits into one cell of a table.
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

/// What feature ids stand for.
///
/// ```
/// use lazyglm::data::feature_ids::FeatureIds;
/// assert!(FeatureIds::hashed(31).is_err(), "at most 2³⁰ buckets");
/// ```
#[derive(Clone, Debug, Default)]
pub enum FeatureIds {
    /// Indices as written in the file.
    #[default]
    Indices,
    /// Numbers of words in a vocabulary.
    Words(Vocabulary),
    /// Hash buckets.
    Buckets(Buckets),
}

/// Hash buckets, with a record of which ones contain more than one name.
///
/// ```
/// use lazyglm::data::feature_ids::FeatureIds;
/// let Ok(FeatureIds::Buckets(buckets)) = FeatureIds::hashed(20) else { panic!() };
/// assert_eq!((buckets.bits(), buckets.is_shared(7)), (20, false));
/// ```
#[derive(Clone, Debug)]
pub struct Buckets {
    bits: u32,
    marks: Marks, // 0: empty; 1: more than one name; otherwise a fingerprint of the only name
}

impl Buckets {
    /// The base-2 logarithm of the number of buckets.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether more than one name was hashed into a bucket. Names with equal 64-bit hashes count as one.
    pub fn is_shared(&self, bucket: u32) -> bool {
        self.marks.get(bucket) == 1
    }

    /// The buckets that contain more than one name.
    pub(crate) fn shared(&self) -> Vec<u32> {
        self.marks.with(1).collect()
    }

    /// Marks buckets as containing more than one name. Returns false if a bucket is out of range.
    pub(crate) fn share(&mut self, shared: &[u32]) -> bool {
        shared.iter().all(|&bucket| self.marks.get_mut(bucket).map(|mark| *mark = 1).is_some())
    }

    /// Records a name and returns its bucket.
    fn add_name(&mut self, name: &[u8]) -> u32 {
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
    /// Ids that are 2^bits hash buckets.
    pub fn hashed(bits: u32) -> Result<FeatureIds> {
        match bits {
            1..=30 => Ok(FeatureIds::Buckets(Buckets { bits, marks: Marks::new(1 << bits) })),
            _ => Err(Error::parameter(Parameter::HashBits, bits, "a whole number from 1 to 30")),
        }
    }

    /// Adds the names of a block, then calls `then` with the map from the block's ids to global ids, if ids
    /// change.
    pub(crate) fn add_block<T>(&mut self, block: &Parsed, then: impl FnOnce(Option<&mut Rename>) -> T) -> T {
        if let (FeatureIds::Indices, Some(_)) = (&self, &block.names) {
            *self = FeatureIds::Words(Vocabulary::default());
        }
        let table: Vec<u32> = match (&mut *self, &block.names) {
            (FeatureIds::Indices, _) => return then(None),
            (FeatureIds::Words(_), None) => return then(None), // a block without features
            (FeatureIds::Words(words), Some(names)) => names.iter().map(|name| words.id(name)).collect(),
            (FeatureIds::Buckets(buckets), Some(names)) => {
                names.iter().map(|name| buckets.add_name(name.as_bytes())).collect()
            }
            (FeatureIds::Buckets(buckets), None) => {
                return then(Some(&mut |index| buckets.add_name(index.to_string().as_bytes())));
            }
        };
        then(Some(&mut |id| table[id as usize]))
    }

    /// Approximate memory use in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            FeatureIds::Indices => 0,
            FeatureIds::Words(words) => words.bytes(),
            FeatureIds::Buckets(buckets) => 4 << buckets.bits,
        }
    }

    /// The id of a name, if the name is known.
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

    /// The text of an id for messages: its word, its bucket or its index.
    pub(crate) fn text(&self, id: u32) -> String {
        match self {
            FeatureIds::Words(words) => words.name(id).to_string(),
            _ => id.to_string(),
        }
    }
}

/// Map from the ids of a block to global ids.
pub(crate) type Rename<'a> = dyn FnMut(u32) -> u32 + 'a;
