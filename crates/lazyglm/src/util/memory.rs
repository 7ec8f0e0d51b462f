//! Available memory, and errors instead of aborts when memory is insufficient.
//!
//! The machine, a container or a process limit may state how much memory is available. An allocation can
//! still fail if none of them does, or if the system overcommits. So large allocations are tested in advance.

use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;
use std::fs::read_to_string;

/// Available memory of the machine in bytes, if known.
pub fn available() -> Option<usize> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let kilobytes =
        number_after(&text, "MemAvailable:")?.saturating_add(number_after(&text, "SwapFree:").unwrap_or(0));
    kilobytes.checked_mul(1024)
}

/// Memory that weights may take, in bytes: most of what is available, or 2 GB where that is not known.
pub fn room() -> usize {
    available().map_or(2 << 30, |bytes| bytes / 4 * 3)
}

/// The number after a word at the start of a line.
fn number_after(text: &str, word: &str) -> Option<usize> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(word))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Memory left in the container in bytes, if the container has a limit.
fn left_in_container() -> Option<usize> {
    let text = |file: &str| read_to_string(format!("/sys/fs/cgroup/{file}")).ok();
    left_of(&text("memory.max")?, &text("memory.current")?, &text("memory.stat").unwrap_or_default())
}

/// The limit minus the memory in use. The page cache of inactive files does not count, because the system can
/// reclaim it.
fn left_of(most: &str, current: &str, stat: &str) -> Option<usize> {
    let [most, current] = [most, current].map(|text| text.trim().parse::<usize>().ok());
    let given_back = ["inactive_file", "active_file", "slab_reclaimable"]
        .map(|word| number_after(stat, word).unwrap_or(0));
    Some(most?.saturating_sub(current?.saturating_sub(given_back.iter().sum())))
}

/// The limit of this process's address space in bytes, if there is one (`ulimit -v`).
pub(crate) fn most_addresses() -> Option<usize> {
    let text = read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find(|line| line.starts_with("Max address space"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// The memory left for data, which is checked while data are read.
pub(crate) struct Left {
    bytes: usize,
    limited: bool, // whether the address space is limited
}

/// Memory per thread that is kept free for blocks being read, if the address space is limited.
const SPARE: usize = 8 << 20;

impl Left {
    /// The memory that the machine and the container have left now.
    pub fn now() -> Left {
        let bytes = [available(), left_in_container()].into_iter().flatten().min().unwrap_or(usize::MAX);
        Left { bytes, limited: most_addresses().is_some() }
    }

    /// Returns an error if the rows need more memory than is left, or would leave none for reading the next
    /// blocks.
    pub fn check(&self, needed: usize) -> Result<()> {
        if needed > self.bytes {
            return Err(out_of_memory("the rows"));
        }
        match self.limited {
            true => ask_for(SPARE * (1 + rayon::current_num_threads()), "the rows"),
            false => Ok(()),
        }
    }
}

/// Returns an error if this many bytes cannot be allocated at once. The memory is freed immediately.
pub(crate) fn ask_for(bytes: usize, what: &str) -> Result<()> {
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| out_of_memory(what))
}

/// The error for insufficient memory.
pub(crate) fn out_of_memory(what: &str) -> Error {
    Error::call(
        format!("{what} do not fit into memory"),
        format!(
            "use {}, for example, to go through the rows a window at a time, or give fewer rows or features",
            Parameter::Memory.set("2G")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_the_system_keeps_in_memory_do_not_count_as_used() {
        let stat = "anon 100\nfile 800\ninactive_file 500\nactive_file 300\nslab_reclaimable 50\n";
        assert_eq!(left_of("1000\n", "990\n", stat), Some(860));
        assert_eq!(left_of("1000\n", "990\n", ""), Some(10));
        assert_eq!(left_of("max\n", "990\n", stat), None);
        assert_eq!(number_after("MemAvailable:   12 kB\nSwapFree: 3 kB\n", "SwapFree:"), Some(3));
    }

    #[test]
    fn more_than_there_is_is_an_error_that_names_the_way_out() {
        let left = Left { bytes: 1000, limited: true };
        assert!(left.check(1000).is_ok());
        assert!(left.check(1001).unwrap_err().to_string().contains("memory = 2G"));
        assert!(ask_for(1 << 20, "the weights").is_ok());
        let error = ask_for(isize::MAX as usize, "the weights").unwrap_err().to_string();
        assert!(error.starts_with("the weights do not fit into memory"), "{error}");
    }
}
