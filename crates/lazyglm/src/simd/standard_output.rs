//! Detects whether the process was started with standard output open.
//!
//! Rust's runtime opens `/dev/null` in place of a closed standard stream before it calls `main`. After that,
//! every write succeeds and the output is lost without an error. So the check runs earlier: the system calls
//! the functions listed in `.init_array` before the runtime starts.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the process started, as under `program >&-`. Only detected on
/// Linux; false elsewhere.
///
/// ```
/// assert!(!lazyglm::simd::standard_output_was_closed());
/// ```
pub fn standard_output_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

// SAFETY of the attribute: `.init_array` holds pointers to functions of this type. The C calling convention
// ignores the arguments that the system passes. `look` uses nothing that the runtime sets up: no allocation,
// no thread, no panic.
#[cfg(target_os = "linux")]
#[used]
#[allow(unsafe_code)]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    // SAFETY: this reads the flags of a file descriptor and changes nothing. A closed descriptor is a valid
    // input.
    #[allow(unsafe_code)]
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}
