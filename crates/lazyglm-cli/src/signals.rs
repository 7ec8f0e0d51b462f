//! Signals: Ctrl-C, SIGTERM and SIGHUP end every verb with the exit code 128 + signal.
//!
//! Verbs that do not learn end at once: files are written in one step, so an old file stays as it was. Where a run learns, the
//! first signal ends training and keeps what was learnt, and the second ends the program at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What the handlers read and set.
struct Flags {
    /// Whether the next signal ends the program at once.
    at_once: Arc<AtomicBool>,
    /// Whether there was a signal.
    set: Arc<AtomicBool>,
    /// The last signal; 0 if there was none.
    which: Arc<AtomicUsize>,
}

static FLAGS: OnceLock<Option<Flags>> = OnceLock::new();

#[cfg(unix)]
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Installs the handlers: from now on, a signal ends the program at once, with its exit code.
pub fn install() {
    FLAGS.get_or_init(handlers);
}

/// Lets the first signal set the returned flag instead; `None` if the system refuses handlers.
pub fn interrupt() -> Option<Arc<AtomicBool>> {
    let flags = FLAGS.get_or_init(handlers).as_ref()?;
    flags.at_once.store(false, Ordering::Relaxed);
    Some(flags.set.clone())
}

fn handlers() -> Option<Flags> {
    let flags =
        Flags { at_once: Arc::new(AtomicBool::new(true)), set: Arc::default(), which: Arc::default() };
    for signal in SIGNALS.into_iter().filter(|signal| !is_ignored_hangup(*signal)) {
        // In this order: a signal ends the program only if it should, or if an earlier one has set the flag.
        flag::register_conditional_shutdown(signal, code_of(signal), flags.at_once.clone()).ok()?;
        flag::register_usize(signal, flags.which.clone(), usize::try_from(signal).ok()?).ok()?;
        flag::register(signal, flags.set.clone()).ok()?;
        flag::register(signal, flags.at_once.clone()).ok()?;
    }
    Some(flags)
}

/// Whether the signal is a hang-up that `nohup` told the program to ignore. The system reports ignored signals as a bit mask.
fn is_ignored_hangup(signal: i32) -> bool {
    let hangup = ![SIGINT, SIGTERM].contains(&signal);
    hangup
        && std::fs::read_to_string("/proc/self/status").is_ok_and(|status| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
            let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
            mask >> (signal - 1) & 1 == 1
        })
}

/// The exit code of a run that a signal ended: 130 after Ctrl-C, 143 after SIGTERM.
pub fn exit_code() -> i32 {
    let flags = FLAGS.get().and_then(Option::as_ref);
    let signal = flags.map_or(0, |flags| flags.which.load(Ordering::Relaxed));
    code_of(i32::try_from(signal).ok().filter(|signal| *signal > 0).unwrap_or(SIGINT))
}

/// The code that shells give a program that a signal ended.
fn code_of(signal: i32) -> i32 {
    128 + signal
}
