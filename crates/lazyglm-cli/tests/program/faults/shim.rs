//! Calls that fail: a shim in C is loaded before the program and makes reads, writes, links and syncs fail, stop short or
//! be interrupted, and clocks jump.

use super::{TRAIN, can, folder, is_orderly};
use crate::common::{Folder, Output, finish};
use std::path::PathBuf;

/// The shim, built in the folder, or a printed word on why there is none.
fn shim(folder: &Folder) -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/faults/shim.c");
    let built = folder.path("shim.so");
    let build = format!("cc -O1 -shared -fPIC -o '{}' '{source}' -ldl", built.display());
    match cfg!(target_os = "linux") && can(&build) {
        true => Some(built),
        false => {
            println!("skipped: this machine cannot build a shim for the C library");
            None
        }
    }
}

/// Runs the program with a fault.
fn with(folder: &Folder, shim: &PathBuf, fault: &str, line: &str) -> Output {
    finish(folder.command(line).env("LD_PRELOAD", shim).env("FAULT", fault))
}

const LINES: [&str; 6] = [
    TRAIN,
    "train data.svm -o m --solver sgd --eta0 0.1 --epochs 2 --checkpoint c --every 0s --resume",
    "train data.svm -o m --memory 64M --solver sgd --eta0 0.1 --epochs 2",
    "predict m data.svm -o predictions",
    "convert data.svm data.vw",
    "evaluate m data.svm -q",
];

/// What the runs above write.
const WRITTEN: [&str; 3] = ["m", "predictions", "data.vw"];

#[test]
fn short_and_interrupted_calls_and_jumping_clocks_change_nothing() {
    let folder = folder();
    let Some(shim) = shim(&folder) else { return };
    let plain: Vec<Output> = LINES.iter().map(|line| folder.ok(line)).collect();
    let files = WRITTEN.map(|name| folder.read(name));
    for fault in ["short", "eintr", "clock"] {
        for cached in [false, true] {
            for (line, plain) in LINES.iter().zip(&plain) {
                if !cached {
                    let _ = std::fs::remove_file(folder.path("data.svm.lazyglm-cache"));
                }
                let output = with(&folder, &shim, fault, line);
                assert_eq!(output.code, 0, "{fault}: {line}\n{}", output.stderr);
                if line.starts_with("evaluate") {
                    assert_eq!(output.stdout, plain.stdout, "{fault}: {line}");
                }
            }
            assert!(WRITTEN.map(|name| folder.read(name)) == files, "{fault}");
        }
    }
}

#[test]
fn a_call_that_fails_is_an_error_or_no_obstacle_and_old_files_stay() {
    let folder = folder();
    let Some(shim) = shim(&folder) else { return };
    LINES.iter().for_each(|line| _ = folder.ok(line));
    let files = WRITTEN.map(|name| folder.read(name));
    let (mut failed, mut worked) = (0, 0);
    // A run makes some hundred reads, most of them of the system's own files; an odd stride meets all kinds.
    let calls = [("read", 120, 7), ("write", 4, 1), ("link", 3, 1), ("fsync", 3, 1)];
    for (call, most, stride) in calls {
        for at in (1..=most).step_by(stride) {
            for line in LINES {
                let _ = std::fs::remove_file(folder.path("data.svm.lazyglm-cache"));
                let output = with(&folder, &shim, &format!("{call}:{at}"), line);
                is_orderly(&output, line);
                let told = format!("{call}:{at}: {line}\n{}", output.stderr);
                assert!(output.code == 0 || output.stderr.contains("Input/output error"), "{told}");
                // The new files have the bytes of the old ones, so they are the same after success and failure.
                assert!(WRITTEN.map(|name| folder.read(name)) == files, "{told}");
                assert!(folder.names().iter().all(|name| !name.starts_with('.')), "{told}");
                *(if output.code == 0 { &mut worked } else { &mut failed }) += 1;
            }
        }
    }
    println!("{failed} runs gave an error, {worked} did their work");
    assert!(failed > 10 && worked > 10, "{failed} failed, {worked} worked");
    folder.ok(TRAIN); // what is left of caches does no harm
    assert!(folder.read("m") == files[0]);
}
