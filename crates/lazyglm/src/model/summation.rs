//! Sums over the features of a row that do not depend on the order of the features.
//!
//! The order of names in a block of rows depends on the rows before. Sums in that order would differ in their last bits
//! between a row alone and the same row in its file, and between formats.
//!
//! ```text
//! one score    σ = 1.5·2ᵉ with 2ᵉ > 2·n·max|x|;  q = (x + σ) − σ is x rounded to a multiple of ulp(σ), so that Σ q is exact,
//!              and so is x − q; the same again for Σ (x − q); what is left is below n²·2⁻¹⁰²·max|x|
//! others       values are sorted by the places of their features in the model
//! ```

/// The sum of some numbers, with the same bits in every order.
pub(super) fn sum(numbers: &[f64]) -> f64 {
    let largest = numbers.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let bound = 4.0 * numbers.len() as f64 * largest;
    let first = 1.5 * power_of_two(bound);
    if !(bound > 0.0 && first.is_finite()) {
        return numbers.iter().sum(); // all zeros, or beyond what is finite
    }
    let second = 1.5 * power_of_two(4.0 * numbers.len() as f64 * first * f64::EPSILON);
    let (mut high, mut low) = (0.0, 0.0);
    for &x in numbers {
        let q = (x + first) - first;
        high += q;
        low += ((x - q) + second) - second;
    }
    high + low
}

/// The largest power of two that is not above a positive number.
fn power_of_two(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0x7ff << 52)
}

/// The values of a row, sorted by the places of their features in the model.
#[derive(Default)]
pub(super) struct SortedRow {
    pub keys: Vec<u64>,             // place, then position in `values`
    values: Vec<(f64, f64, usize)>, // entry, value, id
}

impl SortedRow {
    /// Begins another row.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
    }

    /// Appends a value of a feature with this entry.
    #[inline]
    pub fn push(&mut self, place: u32, held: f64, x: f64, id: usize) {
        self.keys.push(u64::from(place) << 32 | self.values.len() as u64);
        self.values.push((held, x, id));
    }

    /// Entry, value and id of the feature with this key.
    #[inline]
    pub fn of(&self, key: u64) -> (f64, f64, usize) {
        self.values[(key & u64::from(u32::MAX)) as usize]
    }

    /// Sorts by place. Values at the same place, such as those of names in one bucket, are sorted by value.
    pub fn sort(&mut self) {
        if !self.keys.is_sorted() {
            self.keys.sort_unstable();
        }
        if self.keys.windows(2).any(|two| two[0] >> 32 == two[1] >> 32) {
            let mut keys = std::mem::take(&mut self.keys);
            let value = |key: &u64| self.of(*key).1;
            keys.sort_by(|a, b| (a >> 32).cmp(&(b >> 32)).then(value(a).total_cmp(&value(b))));
            self.keys = keys;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sum;
    use crate::util::random::Random;

    #[test]
    fn the_sum_is_right_and_the_same_in_every_order() {
        let mut dice = Random::new(17);
        for trial in 0..2_000 {
            let mut number =
                || (dice.below(1 << 40) as f64 - (1u64 << 39) as f64) * 2f64.powi(dice.below(60) as i32 - 60);
            let mut numbers: Vec<f64> = (0..1 + trial % 90).map(|_| number()).collect();
            let found = sum(&numbers);
            let largest = numbers.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
            let plain: f64 = numbers.iter().sum();
            assert!((found - plain).abs() <= 1e-13 * largest, "{found} {plain}");
            for _ in 0..5 {
                for k in (1..numbers.len()).rev() {
                    numbers.swap(k, dice.below(k as u64 + 1) as usize);
                }
                assert_eq!(sum(&numbers).to_bits(), found.to_bits());
            }
        }
        assert_eq!((sum(&[]), sum(&[0.0, 0.0]), sum(&[1e308, 1e308])), (0.0, 0.0, f64::INFINITY));
        assert!((sum(&[1.0, 1e-17, -1.0]) - 1e-17).abs() < 1e-29, "what cancels takes no digits away");
    }
}
