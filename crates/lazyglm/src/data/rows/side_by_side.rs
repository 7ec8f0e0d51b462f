//! N numbers per column, side by side in memory.

use crate::simd::advise_huge_pages;
use std::ops::{Deref, DerefMut, Range};

/// Length of a cache line in numbers.
const LINE: usize = 64 / size_of::<f64>();

/// N numbers per column. They begin at a cache line, so that up to eight numbers never cross one if N is a power of two.
///
/// The allocator begins large arrays 16 bytes after a line: half of all groups of four would then take two lines.
#[derive(Debug)]
pub(crate) struct SideBySide<const N: usize> {
    numbers: Vec<f64>,
    used: Range<usize>,
}

impl<const N: usize> SideBySide<N> {
    /// Zeros for this many columns.
    pub fn zeros(columns: usize) -> SideBySide<N> {
        let numbers = vec![0.0; N * columns + LINE - 1];
        advise_huge_pages(numbers.as_ptr().cast(), size_of_val(&numbers[..]));
        let first = numbers.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE - 1);
        SideBySide { used: first..first + N * columns, numbers }
    }
}

impl<const N: usize> Deref for SideBySide<N> {
    type Target = [[f64; N]];

    fn deref(&self) -> &[[f64; N]] {
        self.numbers[self.used.clone()].as_chunks().0
    }
}

impl<const N: usize> DerefMut for SideBySide<N> {
    fn deref_mut(&mut self) -> &mut [[f64; N]] {
        self.numbers[self.used.clone()].as_chunks_mut().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_group_of_up_to_eight_numbers_crosses_a_cache_line() {
        for columns in [0, 1, 7, 100, 1 << 20] {
            let mut eight = SideBySide::<8>::zeros(columns);
            assert!(eight.len() == columns && (eight.as_ptr() as usize).is_multiple_of(64));
            eight.iter_mut().for_each(|numbers| *numbers = [1.0; 8]);
            let four = SideBySide::<4>::zeros(columns);
            assert!(four.len() == columns && (four.as_ptr() as usize).is_multiple_of(64));
            assert!(four.iter().all(|numbers| *numbers == [0.0; 4]));
        }
    }
}
