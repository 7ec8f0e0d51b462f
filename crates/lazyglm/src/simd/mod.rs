//! Processor-specific code: instruction sets chosen at run time, elementary functions, prefetches, huge pages, text separators.
//!
//! This folder and `optim/kernel` are the only places with `unsafe` code. Each block states why it is sound.

mod elementary;
mod pages;
mod separators;
mod standard_output;

pub(crate) use elementary::{exp_of_nonpositive, ln, ln_1p_of_unit};
pub(crate) use pages::advise_huge_pages;
pub(crate) use separators::separators;
pub use standard_output::standard_output_was_closed;

/// A computation that runs on the best available instruction set.
///
/// This is a trait, not a closure, because `run` must be `#[inline(always)]`. Otherwise the compiler would
/// compile it separately, for the baseline processor.
pub(crate) trait Work {
    /// Result of the computation.
    type Answer;
    /// Whether the computation benefits from 64-byte registers, each holding a lane vector.
    const WIDE: bool = false;
    /// Runs the computation.
    fn run(self) -> Self::Answer;
}

/// Runs `work`, compiled for the best instruction set of this processor.
///
/// The result has the same bits on every instruction set: sums have a fixed order, and no multiplication is
/// fused with an addition.
pub(crate) fn fastest<W: Work>(work: W) -> W::Answer {
    #[cfg(target_arch = "x86_64")]
    if W::WIDE && has_avx512() {
        // SAFETY: the line above has just detected these instructions on this processor.
        #[allow(unsafe_code)]
        return unsafe { avx512(work) };
    }
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the line above has just detected these instructions on this processor.
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

/// Prefetches the cache lines of a slice that will be read some rows later. Shuffled rows are not adjacent in
/// memory, so the processor cannot predict the next one.
#[inline(always)]
pub(crate) fn prefetch<T>(soon: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in soon.chunks((64 / size_of::<T>()).max(1)) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint that reads nothing, and the address is that of an element of the
        // slice.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = soon;
}

/// Prefetches one element of an array. An index out of bounds has no effect.
#[inline(always)]
pub(crate) fn prefetch_one<T>(array: &[T], index: usize) {
    if let Some(element) = array.get(index) {
        prefetch(std::slice::from_ref(element));
    }
}
