//! What depends on the processor: instruction sets chosen at run time, prefetches, large pages, separators of text.
//!
//! This folder and `optim/kernel` are the only homes of `unsafe`; each block states its argument.

mod pages;
mod separators;
mod standard_output;

pub(crate) use pages::ask_for_huge_pages;
pub(crate) use separators::separators;
pub use standard_output::standard_output_was_closed;

/// Something to run on the best instruction set. A trait, not a closure: its `run` is marked `#[inline(always)]`,
/// without which it would be compiled on its own, for the oldest processor.
pub(crate) trait Work {
    /// What comes of it.
    type Answer;
    /// Whether it gains from registers of 64 bytes, a pack of lanes each.
    const WIDE: bool = false;
    /// Does it.
    fn run(self) -> Self::Answer;
}

/// Runs `work`, compiled for the best instruction set this processor has. The answer has the same bits on every
/// one of them: sums have one fixed order, and no multiplication is fused with an addition behind our back.
pub(crate) fn fastest<W: Work>(work: W) -> W::Answer {
    #[cfg(target_arch = "x86_64")]
    if W::WIDE && has_avx512() {
        // SAFETY: the line above has just found these instructions on this processor.
        #[allow(unsafe_code)]
        return unsafe { avx512(work) };
    }
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the line above has just found these instructions on this processor.
        #[allow(unsafe_code)]
        return unsafe { avx2(work) };
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has_avx2() && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn avx512<W: Work>(work: W) -> W::Answer {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn avx2<W: Work>(work: W) -> W::Answer {
    work.run()
}

/// Asks for the cache lines of a slice, to be read some rows from now. Shuffled rows are nowhere near each other,
/// so the processor cannot guess the next one; we know it.
#[inline(always)]
pub(crate) fn prefetch<T>(soon: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in soon.chunks((64 / size_of::<T>()).max(1)) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it reads nothing, and the address is that of an element of the slice.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = soon;
}

/// The same for one element; an index out of bounds asks for nothing.
#[inline(always)]
pub(crate) fn prefetch_one<T>(array: &[T], index: usize) {
    if let Some(element) = array.get(index) {
        prefetch(std::slice::from_ref(element));
    }
}
