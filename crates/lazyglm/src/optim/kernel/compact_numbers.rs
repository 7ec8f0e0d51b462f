//! One number per row, such as its target, in as few bytes as hold all of them exactly.
//!
//! ```text
//! one byte     whole numbers from −128 to 127, such as the classes −1 and +1
//! f32, f64     the least that is exact for all numbers
//! ```

use std::ops::Range;

/// Numbers in few bytes.
pub(crate) enum CompactNumbers {
    Bytes(Vec<i8>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl CompactNumbers {
    /// No numbers, with memory for so many of the shortest kind.
    pub fn with_capacity(count: usize) -> CompactNumbers {
        CompactNumbers::Bytes(Vec::with_capacity(count))
    }

    /// Appends numbers, all in a longer kind if this one cannot represent them exactly.
    pub fn extend(&mut self, numbers: &[f64]) {
        for &number in numbers {
            while !self.push(number) {
                self.lengthen();
            }
        }
    }

    fn push(&mut self, number: f64) -> bool {
        match self {
            CompactNumbers::Bytes(own) if f64::from(number as i8) == number => own.push(number as i8),
            CompactNumbers::F32(own) if f64::from(number as f32) == number => own.push(number as f32),
            CompactNumbers::F64(own) => own.push(number),
            _ => return false,
        }
        true
    }

    fn lengthen(&mut self) {
        *self = match self {
            CompactNumbers::Bytes(own) => {
                let mut longer = Vec::with_capacity(own.capacity());
                longer.extend(own.iter().map(|&number| f32::from(number)));
                CompactNumbers::F32(longer)
            }
            CompactNumbers::F32(own) => {
                let mut longer = Vec::with_capacity(own.capacity());
                longer.extend(own.iter().map(|&number| f64::from(number)));
                CompactNumbers::F64(longer)
            }
            CompactNumbers::F64(own) => CompactNumbers::F64(std::mem::take(own)),
        };
    }

    /// Number of numbers.
    pub fn len(&self) -> usize {
        match self {
            CompactNumbers::Bytes(own) => own.len(),
            CompactNumbers::F32(own) => own.len(),
            CompactNumbers::F64(own) => own.len(),
        }
    }

    /// The number with this position.
    #[inline]
    pub fn at(&self, i: usize) -> f64 {
        match self {
            CompactNumbers::Bytes(own) => f64::from(own[i]),
            CompactNumbers::F32(own) => f64::from(own[i]),
            CompactNumbers::F64(own) => own[i],
        }
    }

    /// Copies the numbers of a range.
    pub fn read(&self, range: Range<usize>, into: &mut [f64]) {
        match self {
            CompactNumbers::Bytes(own) => {
                into.iter_mut().zip(&own[range]).for_each(|(to, from)| *to = f64::from(*from));
            }
            CompactNumbers::F32(own) => {
                into.iter_mut().zip(&own[range]).for_each(|(to, from)| *to = f64::from(*from));
            }
            CompactNumbers::F64(own) => into.copy_from_slice(&own[range]),
        }
    }

    /// All numbers.
    pub fn to_f64(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.len()];
        self.read(0..self.len(), &mut all);
        all
    }

    /// Memory of the numbers, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            CompactNumbers::Bytes(own) => own.capacity(),
            CompactNumbers::F32(own) => 4 * own.capacity(),
            CompactNumbers::F64(own) => 8 * own.capacity(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back_exactly_in_few_bytes() {
        let kinds: [(&[f64], usize); 3] =
            [(&[1.0, -1.0, -128.0], 1), (&[1.0, 128.0, 0.5], 4), (&[1.0, 0.5, 0.1, 1e300], 8)];
        for (numbers, bytes) in kinds {
            let mut compact = CompactNumbers::with_capacity(numbers.len());
            numbers.chunks(2).for_each(|some| compact.extend(some));
            assert_eq!((compact.to_f64(), compact.len()), (numbers.to_vec(), numbers.len()));
            assert_eq!(compact.bytes(), bytes * numbers.len());
            let mut two = [0.0; 2];
            compact.read(1..3, &mut two);
            assert_eq!(two, numbers[1..3]);
            assert_eq!(compact.at(1), numbers[1]);
        }
    }
}
