//! Limits of the system: `ulimit` on sizes of files, memory and open files.

use super::{TRAIN, WRITERS, folder, is_orderly};
use crate::common::finish;

#[test]
fn a_limit_on_file_sizes_leaves_old_files_as_they_were() {
    let folder = folder();
    let names = folder.names();
    let cache = folder.read("data.svm.lazyglm-cache");
    for line in WRITERS {
        let line = line.replace("OUT", "old.txt");
        if line.contains("--to cache") {
            continue; // it refuses to replace a file that is no cache
        }
        let output = finish(&mut folder.command_under("trap '' XFSZ; ulimit -f 0", &line));
        is_orderly(&output, &line);
        assert_eq!(output.code, 1, "{line}");
        assert_eq!(folder.read("old.txt"), b"old predictions\n", "{line}");
        assert_eq!(folder.names(), names, "{line}");
        assert!(folder.read("data.svm.lazyglm-cache") == cache, "{line}");
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_told_at_once_and_the_run_goes_on() {
    let folder = folder();
    let line =
        "train data.svm --solver sgd --eta0 0.1 --epochs 400 --checkpoint c --every 0s --progress lines";
    let output = finish(&mut folder.command_under("trap '' XFSZ; ulimit -f 0", line));
    is_orderly(&output, line);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let told: Vec<usize> =
        output.stderr.match_indices("warning: the checkpoint cannot be written").map(|at| at.0).collect();
    assert_eq!(told.len(), 1, "{}", output.stderr);
    let epochs = output.stderr.rfind("epoch 300/400").expect("progress after the warning");
    assert!(told[0] < epochs, "{}", output.stderr);
    assert!(!folder.path("c").exists());
}

#[test]
fn few_open_files_are_an_error_that_says_so_or_no_obstacle() {
    let folder = folder();
    let model = folder.read("m");
    for cached in [true, false] {
        for files in [4, 5, 6, 8, 12] {
            for line in [
                TRAIN,
                "predict m data.svm",
                "convert data.svm out.vw",
                "evaluate m data.svm",
                "stats data.svm",
            ] {
                if !cached {
                    let _ = std::fs::remove_file(folder.path("data.svm.lazyglm-cache"));
                }
                let output = finish(&mut folder.command_under(&format!("ulimit -n {files}"), line));
                is_orderly(&output, line);
                let clear = output.code == 0 || output.stderr.contains("open files");
                assert!(clear, "{files} files: {line}\n{}", output.stderr);
                assert!(folder.read("m") == model, "{files} files: {line}");
            }
        }
    }
}

#[test]
fn little_memory_is_an_error_with_a_word_on_memory_or_no_obstacle() {
    let folder = folder();
    let model = folder.read("m");
    let mut refused = 0;
    for kilobytes in [30_000, 60_000, 120_000, 250_000] {
        for line in [TRAIN, "predict m data.svm", "stats data.svm", "tune data.svm --l1 1e-4,1e-3 --folds 2"]
        {
            let output = finish(&mut folder.command_under(&format!("ulimit -v {kilobytes}"), line));
            if output.code == 127 {
                continue; // the program itself could not be loaded
            }
            is_orderly(&output, line);
            assert!(
                output.code == 0 || output.stderr.contains("memory"),
                "{kilobytes}: {line}\n{}",
                output.stderr
            );
            refused += usize::from(output.code != 0);
            assert!(folder.read("m") == model, "{kilobytes}: {line}");
        }
    }
    println!("{refused} of 16 runs were refused for lack of memory");
}
