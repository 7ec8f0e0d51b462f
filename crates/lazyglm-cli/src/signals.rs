//! Signals: the first Ctrl-C, SIGTERM or SIGHUP ends training and keeps what was learnt; the second ends the program at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The first signal that ended the run; 0 if there was none.
static SIGNAL: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

#[cfg(unix)]
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Installs the handlers and returns the flag that the first signal sets; `None` if the system refuses.
pub fn interrupt() -> Option<Arc<AtomicBool>> {
    let set = Arc::new(AtomicBool::new(false));
    let which = SIGNAL.get_or_init(|| Arc::new(AtomicUsize::new(0))).clone();
    for signal in SIGNALS {
        // In this order: a signal ends the program only if an earlier one has set the flag.
        flag::register_conditional_shutdown(signal, code_of(signal), set.clone()).ok()?;
        flag::register_usize(signal, which.clone(), usize::try_from(signal).ok()?).ok()?;
        flag::register(signal, set.clone()).ok()?;
    }
    Some(set)
}

/// The exit code of a run that a signal ended: 130 after Ctrl-C, 143 after SIGTERM.
pub fn exit_code() -> i32 {
    let signal = SIGNAL.get().map_or(0, |which| which.load(Ordering::Relaxed));
    code_of(i32::try_from(signal).ok().filter(|signal| *signal > 0).unwrap_or(SIGINT))
}

/// The code that shells give a program that a signal ended.
fn code_of(signal: i32) -> i32 {
    128 + signal
}
