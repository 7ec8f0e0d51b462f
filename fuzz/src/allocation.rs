//! An allocator that counts: the largest allocation and the most memory at once, between two moments.
#![allow(unsafe_code)] // an allocator is an unsafe trait; this one calls the system's and counts

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

struct Counting;

static LARGEST: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

fn grow(size: usize, freed: usize) {
    LARGEST.fetch_max(size, Relaxed);
    let change = size as isize - freed as isize;
    PEAK.fetch_max(LIVE.fetch_add(change, Relaxed) + change, Relaxed);
}

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size(), 0);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size, layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The largest single allocation may be this many times the input, plus `constant` bytes.
const ONE: usize = 16;
/// All memory at once may be this many times the input, plus `constant` bytes: a few arrays that each hold something per
/// byte of the input, some of them with room to grow.
const ALL: usize = 64;

/// Runs `work` on an input of `length` bytes and panics if it allocates out of proportion.
pub fn limited<T>(length: usize, constant: usize, work: impl FnOnce() -> T) -> T {
    limited_by([ONE * length + constant, ALL * length + constant], work)
}

/// Runs `work` and panics if one allocation, or all memory at once, exceeds these numbers of bytes.
pub fn limited_by<T>([one, all]: [usize; 2], work: impl FnOnce() -> T) -> T {
    let before = LIVE.load(Relaxed);
    LARGEST.store(0, Relaxed);
    PEAK.store(before, Relaxed);
    let done = work();
    let (largest, peak) = (LARGEST.load(Relaxed), PEAK.load(Relaxed) - before);
    assert!(largest <= one, "an allocation of {largest} bytes; allowed are {one}");
    assert!(peak <= all as isize, "{peak} bytes in use at once; allowed are {all}");
    done
}
