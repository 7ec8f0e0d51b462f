//! Replays the corpora of `fuzz/`: inputs that coverage-guided fuzzing found, each of which reaches other code, and every
//! input that once broke something.
//!
//! `make fuzz-coverage` looks for more. An input that breaks a target is mended, and stays in `fuzz/corpus/TARGET/` with a
//! name that says what broke.

#[allow(dead_code)]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

use lazyglm::util::random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Inputs of a target, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let one = |path: &Path| (path.display().to_string(), std::fs::read(path).expect("an input"));
    files.map(|entry| one(&entry.expect("an input").path())).collect()
}

/// Whether a target takes an input without a panic, in time and memory.
fn takes(target: fn(&[u8]), bytes: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| fuzz::in_time(target, bytes))).is_ok()
}

// One test, because the allocator counts for the whole process.
#[test]
fn no_input_of_the_corpora_or_made_of_them_panics_hangs_or_allocates_out_of_proportion() {
    for (name, target) in fuzz::TARGETS {
        let inputs = corpus(name);
        assert!(!inputs.is_empty(), "{name} has a corpus");
        for (file, bytes) in inputs {
            // Each as it is, and cut short: a third of its end is missing.
            for bytes in [&bytes[..], &bytes[..bytes.len() * 2 / 3]] {
                assert!(takes(*target, bytes), "{name}: {file}");
            }
        }
    }
    mutations();
}

/// An input changed in up to four places: bytes set, swapped for those of another input, removed or repeated.
fn mutated(inputs: &[(String, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let any = |random: &mut Random| random.below(inputs.len() as u64) as usize;
    let mut bytes = inputs[any(random)].1.clone();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        let end = (at + 1 + random.below(16) as usize).min(bytes.len());
        match random.below(5) {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.below(256) as u8),
            1 => bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte = 0xFF),
            2 => _ = bytes.drain(at.min(end)..end),
            3 => bytes = [&bytes[..end], &bytes[at.min(end)..]].concat(),
            _ => {
                let other = &inputs[any(random)].1;
                let from = random.below(other.len() as u64 + 1) as usize;
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
        }
    }
    bytes
}

/// Runs on stable what libFuzzer would try first: `CASES` inputs per target, made of the corpora; `SEED` for others, and
/// `TARGET` for one target.
fn mutations() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (cases, only) = (number("CASES", 400), std::env::var("TARGET").unwrap_or_default());
    for (name, target) in fuzz::TARGETS.iter().filter(|(name, _)| only.is_empty() || only == *name) {
        let (inputs, mut random) = (corpus(name), Random::new(number("SEED", 1)));
        for case in 0..cases {
            let bytes = mutated(&inputs, &mut random);
            assert!(takes(*target, &bytes), "{name}, case {case}: {bytes:?}");
        }
        println!("{name}: {cases} inputs");
    }
}

/// Makes the first inputs, as `make fuzz-seeds` asks: `LAZYGLM` is the program, `SEEDS` the folder.
#[test]
#[ignore = "writes files: make fuzz-seeds"]
fn the_first_inputs() {
    let path = |name: &str| std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set"));
    fuzz::seeds::make(Path::new(&path("LAZYGLM")), Path::new(&path("SEEDS")));
}
