//! Huge pages for large arrays.

/// Asks the system to back an allocated array with pages of 2 MB instead of 4 KB.
///
/// This takes far fewer page faults, and rows in random order cause fewer TLB misses. On systems without huge
/// pages it has no effect.
pub(crate) fn advise_huge_pages(start: *const u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        const HUGE: usize = 1 << 21;
        if bytes < 2 * HUGE {
            return;
        }
        let first = (start as usize).next_multiple_of(PAGE);
        let last = (start as usize + bytes) / PAGE * PAGE;
        // SAFETY: this advice changes no byte of the memory, and the pages lie within the array. For pages of
        // others the system returns an error, which is ignored.
        #[allow(unsafe_code)]
        unsafe {
            libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}
