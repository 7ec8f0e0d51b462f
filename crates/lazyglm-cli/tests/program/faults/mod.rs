//! Faults injected for real: full disks, folders that cannot be written, limits of the system, calls that fail, clocks
//! that jump, many processes at once. Each gives a clear error or correct work; old models and caches stay as they were.
//!
//! `docs/faults.md` lists them. A test that the machine cannot do says so and passes.

mod limits;
mod mounts;
mod processes;
mod shim;

use crate::common::{Folder, Output, classes, finish, text};
use std::fs::File;
use std::process::Command;

/// A training run of some milliseconds.
const TRAIN: &str = "train data.svm -o m --solver sgd --eta0 0.1 --epochs 2";

/// A folder with data, a model `m` of them, their cache, and old output.
fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(200, 30, 1)));
    folder.ok(TRAIN);
    folder.write("old.txt", "old predictions\n");
    folder
}

/// Every run that writes a file, with `OUT` for its name.
const WRITERS: [&str; 6] = [
    "train data.svm -o OUT --solver sgd --eta0 0.1 --epochs 2",
    "train data.svm -o OUT --memory 64M --solver sgd --eta0 0.1 --epochs 2",
    "tune data.svm -o OUT --l1 1e-4,1e-3 --folds 2",
    "predict m data.svm -o OUT",
    "convert data.svm OUT --to vw",
    "convert data.svm OUT --to cache",
];

/// The program ended by itself, in one of the ways it knows, without a panic.
fn is_orderly(output: &Output, line: &str) {
    assert!([0, 1, 2].contains(&output.code), "{line}: exit {}\n{}", output.code, output.stderr);
    assert!(!output.stderr.contains("panicked"), "{line}\n{}", output.stderr);
    assert_eq!(output.code != 0, output.stderr.contains("error:"), "{line}\n{}", output.stderr);
}

/// Whether the machine can run this line of shell.
fn can(shell: &str) -> bool {
    Command::new("sh").args(["-c", shell]).output().is_ok_and(|done| done.status.success())
}

#[test]
fn a_full_device_is_an_error_of_every_run_that_writes() {
    let folder = folder();
    for line in WRITERS.iter().filter(|line| !line.contains("--to cache")) {
        folder.refuses(&line.replace("OUT", "/dev/full"), 1, &["/dev/full", "space"]);
    }
    for line in [
        "path data.svm --l1 1e-3,1e-2",
        "tune data.svm --l1 1e-4,1e-3 --folds 2",
        "certify m data.svm",
        "stats data.svm",
        "list losses",
        "convert data.svm - --to vw",
    ] {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let output = finish(folder.command(line).stdout(full));
        is_orderly(&output, line);
        assert_eq!(output.code, 1, "{line}: {}", output.stderr);
        assert!(output.stderr.contains("standard output"), "{line}: {}", output.stderr);
    }
}

#[test]
fn a_file_where_a_folder_is_expected_is_an_error_and_stays() {
    let folder = folder();
    for line in WRITERS {
        folder.refuses(&line.replace("OUT", "old.txt/out"), 1, &["old.txt/out"]);
    }
    // The place of the automatic cache is taken by a folder: the data are read without one.
    std::fs::remove_file(folder.path("data.svm.lazyglm-cache")).expect("a cache");
    std::fs::create_dir(folder.path("data.svm.lazyglm-cache")).expect("a folder");
    let model = folder.read("m");
    let told = folder.ok(TRAIN).stderr;
    assert!(told.contains("no cache can be written there"), "{told}");
    assert!(folder.read("m") == model);
}
