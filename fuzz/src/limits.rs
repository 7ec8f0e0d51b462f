//! What an input may cost: the largest allocation and the most memory at once, which an allocator counts, and time.
#![allow(unsafe_code)] // an allocator is an unsafe trait; this one calls the system's and counts

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

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

/// The processor time that an input may take.
pub const TIME: Duration = Duration::from_secs(1);

/// Runs `work` on an input of `length` bytes and panics if it allocates out of proportion.
pub fn limited<T>(length: usize, constant: usize, work: impl FnOnce() -> T) -> T {
    limited_by(ALL, length, constant, work)
}

/// The same for work that may have `all` bytes per byte of the input in use at once.
pub fn limited_by<T>(all: usize, length: usize, constant: usize, work: impl FnOnce() -> T) -> T {
    let (one, all) = (ONE * length + constant, all * length + constant);
    let before = LIVE.load(Relaxed);
    LARGEST.store(0, Relaxed);
    PEAK.store(before, Relaxed);
    let done = work();
    let (largest, peak) = (LARGEST.load(Relaxed), PEAK.load(Relaxed) - before);
    assert!(largest <= one, "an allocation of {largest} bytes; allowed are {one}");
    assert!(peak <= all as isize, "{peak} bytes in use at once; allowed are {all}");
    done
}

/// Runs a target on an input and panics if that takes more processor time than [`TIME`]. Another process may hold the
/// processor, so an input that seems slow runs again, by the processor's clock.
pub fn in_time(target: fn(&[u8]), bytes: &[u8]) {
    let begun = Instant::now();
    target(bytes);
    if begun.elapsed() < TIME {
        return;
    }
    let (begun, busy) = (Instant::now(), busy());
    target(bytes);
    let took = busy.and_then(|before| Some(self::busy()? - before)).unwrap_or(begun.elapsed());
    assert!(took < TIME, "{took:?} of processor time; allowed are {TIME:?}");
}

/// Processor time of all threads of this process. `None` where the system has no `/proc`.
fn busy() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields = stat.rsplit_once(')')?.1.split_whitespace(); // the third field is the first of these
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(10 * ticks)) // a hundred per second, whatever the kernel counts with
}
