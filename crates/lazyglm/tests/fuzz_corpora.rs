//! Replays the corpora of `fuzz/`: inputs that coverage-guided fuzzing found, each of which reaches other code, and every
//! input that once broke something.
//!
//! `make fuzz-coverage` looks for more. An input that breaks a target is mended, and stays in `fuzz/corpus/TARGET/` with a
//! name that says what broke.

#[allow(dead_code)]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Inputs of a target, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let one = |path: &Path| (path.display().to_string(), std::fs::read(path).expect("an input"));
    files.map(|entry| one(&entry.expect("an input").path())).collect()
}

/// Runs a target on an input and returns how long it took, or whether it panicked.
fn run(target: fn(&[u8]), bytes: &[u8]) -> Option<Duration> {
    let begun = Instant::now();
    catch_unwind(AssertUnwindSafe(|| target(bytes))).is_ok().then(|| begun.elapsed())
}

// One test, because the allocator counts for the whole process.
#[test]
fn no_input_of_the_corpora_panics_hangs_or_allocates_out_of_proportion() {
    for (name, target) in fuzz::TARGETS {
        let inputs = corpus(name);
        assert!(!inputs.is_empty(), "{name} has a corpus");
        for (file, bytes) in inputs {
            // Each as it is, and cut short: a third of its end is missing.
            for bytes in [&bytes[..], &bytes[..bytes.len() * 2 / 3]] {
                let took = run(*target, bytes);
                assert!(took.is_some_and(|took| took < Duration::from_secs(5)), "{name}: {file}: {took:?}");
            }
        }
    }
}

/// Makes the first inputs, as `make fuzz-seeds` asks: `LAZYGLM` is the program, `SEEDS` the folder.
#[test]
#[ignore = "writes files: make fuzz-seeds"]
fn the_first_inputs() {
    let path = |name: &str| std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set"));
    fuzz::seeds::make(Path::new(&path("LAZYGLM")), Path::new(&path("SEEDS")));
}
