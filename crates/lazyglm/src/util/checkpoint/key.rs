//! Keys: 128-bit hashes of all that a result depends on.

use crate::util::state::{Fields, State};
use rayon::prelude::*;
use twox_hash::XxHash3_64;

/// Seed of the second half of a key.
const SECOND: u64 = 0x9E37_79B9_7F4A_7C15;
/// Number of items that are hashed together.
const CHUNK: usize = 1 << 15;

/// A hash of all that a result depends on: of data, settings and positions. Equal keys stand for equal inputs.
///
/// ```
/// use lazyglm::util::checkpoint::Key;
/// let key = |l1: f64| Key::of("solve").and_numbers(&[l1, 0.5]);
/// assert_eq!(key(0.1), key(0.1));
/// assert_ne!(key(0.1), key(0.2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u64; 2]);

impl Key {
    /// The key of a name.
    pub fn of(name: &str) -> Key {
        Key([0, SECOND]).and_bytes(name.as_bytes())
    }

    /// The key with these bytes.
    pub fn and_bytes(self, bytes: &[u8]) -> Key {
        Key(self.0.map(|seed| XxHash3_64::oneshot_with_seed(seed ^ bytes.len() as u64, bytes)))
    }

    /// The key with a whole number.
    pub fn and(self, number: u64) -> Key {
        self.and_bytes(&number.to_le_bytes())
    }

    /// The key with another key.
    pub fn and_key(self, key: Key) -> Key {
        let [a, b] = key.0.map(u64::to_le_bytes);
        self.and_bytes(&[a, b].concat())
    }

    /// The key with these numbers.
    pub fn and_numbers(self, numbers: &[f64]) -> Key {
        self.and_chunks(numbers, |x| x.to_le_bytes())
    }

    /// The key with these numbers in single precision.
    pub fn and_singles(self, numbers: &[f32]) -> Key {
        self.and_chunks(numbers, |x| x.to_le_bytes())
    }

    /// The key with these ids.
    pub fn and_ids(self, ids: &[u32]) -> Key {
        self.and_chunks(ids, |x| x.to_le_bytes())
    }

    /// The key with these positions.
    pub fn and_positions(self, positions: &[usize]) -> Key {
        self.and_chunks(positions, |x| (x as u64).to_le_bytes())
    }

    /// Hashes chunks on all threads, and then their hashes.
    fn and_chunks<T: Copy + Sync, const N: usize>(
        self,
        items: &[T],
        bytes: impl Fn(T) -> [u8; N] + Sync,
    ) -> Key {
        let hash = |chunk: &[T]| {
            let flat: Vec<u8> = chunk.iter().flat_map(|&item| bytes(item)).collect();
            Key::of("chunk").and_bytes(&flat)
        };
        let hashes: Vec<Key> = match items.len() <= CHUNK {
            true => vec![hash(items)],
            false => items.par_chunks(CHUNK).map(hash).collect(),
        };
        hashes.into_iter().fold(self.and(items.len() as u64), Key::and_key)
    }
}

impl State for Key {
    fn fields(&mut self, fields: &mut Fields) {
        self.0.fields(fields);
    }
}
