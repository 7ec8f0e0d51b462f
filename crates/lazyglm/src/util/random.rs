//! A seeded random number generator with the same output on every machine and in every version: splitmix64
//! (Steele et al. 2014).
//!
//! Runs must be reproducible to the bit, so the generator is part of this crate's contract.
//!
//! ```
//! use lazyglm::util::random::Random;
//! let mut random = Random::new(0);
//! assert_eq!(random.bits(), 0xE220_A839_7B1D_CDAF); // the first number of splitmix64's seed 0, everywhere
//! ```

use super::state::{Fields, State};

/// A stream of random numbers.
///
/// ```
/// use lazyglm::util::random::Random;
/// let mut dice = Random::new(1);
/// assert!((0..100).all(|_| dice.below(6) < 6));
/// assert_eq!(Random::new(7).uniform(), Random::new(7).uniform());
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates the stream of a seed.
    ///
    /// ```
    /// use lazyglm::util::random::Random;
    /// let (mut one, mut same, mut other) = (Random::new(1), Random::new(1), Random::new(2));
    /// assert_eq!(one.bits(), same.bits());
    /// assert_ne!(one.bits(), other.bits());
    /// ```
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// Returns 64 random bits.
    ///
    /// ```
    /// let mut random = lazyglm::util::random::Random::new(1);
    /// let ones: u32 = (0..1000).map(|_| random.bits().count_ones()).sum();
    /// assert!((31_000..33_000).contains(&ones), "half of 64,000");
    /// ```
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a uniform number in [0, 1).
    ///
    /// ```
    /// let mut random = lazyglm::util::random::Random::new(1);
    /// let mean = (0..10_000).map(|_| random.uniform()).sum::<f64>() / 1e4;
    /// assert!((mean - 0.5).abs() < 0.02);
    /// ```
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a uniform integer in 0..n, for n > 0. The bias of the multiplication method is below n/2⁶⁴.
    ///
    /// ```
    /// let mut dice = lazyglm::util::random::Random::new(1);
    /// let mut counts = [0; 6];
    /// (0..6000).for_each(|_| counts[dice.below(6) as usize] += 1);
    /// assert!(counts.iter().all(|count| (850..1150).contains(count)));
    /// ```
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Shuffles the items (Fisher & Yates).
    ///
    /// ```
    /// let mut cards: Vec<u32> = (0..52).collect();
    /// lazyglm::util::random::Random::new(1).shuffle(&mut cards);
    /// assert!(!cards.is_sorted());
    /// cards.sort();
    /// assert_eq!(cards, (0..52).collect::<Vec<_>>(), "none lost, none twice");
    /// ```
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// The order in which epoch `epoch` (counted from 0) visits `n` rows. The order depends only on seed and
/// epoch, so a run can resume at any epoch.
///
/// ```
/// use lazyglm::util::random::permutation;
/// assert_eq!(permutation(100, 1, 3), permutation(100, 1, 3), "no need to go through epochs 0, 1 and 2");
/// assert_ne!(permutation(100, 1, 3), permutation(100, 1, 4));
/// ```
pub fn permutation(n: usize, seed: u64, epoch: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut mix = Random::new(seed);
    let start = mix.bits();
    Random::new(start ^ epoch.wrapping_mul(0xD1B5_4A32_D192_ED03)).shuffle(&mut order);
    order
}

impl State for Random {
    fn fields(&mut self, fields: &mut Fields) {
        self.state.fields(fields);
    }
}
