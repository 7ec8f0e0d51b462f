//! Large pages for large arrays.

/// Asks the system for pages of 2 MB instead of 4 KB under an array: they are made five hundred times more rarely, and
/// rows read in random order miss the processor's list of pages less. Where the system knows no such thing, nothing
/// happens. The array must be allocated, whether or not anything is in it yet.
pub(crate) fn ask_for_huge_pages(start: *const u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        const HUGE: usize = 1 << 21;
        if bytes < 4 * HUGE {
            return;
        }
        let first = (start as usize).next_multiple_of(PAGE);
        let last = (start as usize + bytes) / PAGE * PAGE;
        // SAFETY: advice on how to back memory; it changes no byte of it, and the pages lie within the array. For pages
        // that are not the caller's the system refuses, and the answer is not looked at.
        #[allow(unsafe_code)]
        unsafe {
            libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}
