//! Signals: a run that is ended leaves no unfinished file, an interrupted run keeps the old model unless it has learnt
//! something, and its notes are true.

use crate::common::{Folder, classes, text};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn send(signal: &str, child: &Child) {
    let _ = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
}

/// Waits for the end; a minute is more than any of these takes.
fn end(mut child: Child) -> (Option<i32>, String) {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let done = child.wait_with_output().unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn a_run_that_is_ended_while_it_writes_leaves_nothing_behind() {
    let folder = Folder::with("data.svm", text(&classes(60_000, 500, 1)));
    for line in [
        "train data.svm -o m",
        "train data.svm -o m --memory 64M",
        "convert data.svm out.vw",
        "convert data.svm out.cache",
    ] {
        for signal in ["-INT", "-TERM", "-HUP", "-KILL"] {
            for wait in [5, 20, 60] {
                let child =
                    folder.command(line).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
                sleep(Duration::from_millis(wait));
                send(signal, &child);
                if line.starts_with("train") && signal != "-KILL" {
                    send(signal, &child); // once more: now, whatever it is at
                }
                end(child);
                let left: Vec<String> =
                    folder.names().into_iter().filter(|name| name.starts_with('.')).collect();
                assert!(left.is_empty(), "{line} {signal}: {left:?}");
                for name in ["m", "out.vw", "out.cache", "data.svm.lazyglm-cache"] {
                    let _ = std::fs::remove_file(folder.path(name)); // whole, or not there
                }
            }
        }
    }
}

/// Starts a run, interrupts it once it has printed this, and waits for the end: the code, and all that it said.
fn interrupted_after(folder: &Folder, line: &str, word: &str) -> (Option<i32>, String) {
    let mut command = folder.command(&format!("{line} --progress lines"));
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while told.read_line(&mut said).unwrap() > 0 && !said.contains(word) {}
    send("-INT", &child);
    told.read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

#[test]
fn an_interruption_never_puts_a_model_of_no_weights_in_the_place_of_another() {
    let folder = Folder::with("data.svm", text(&classes(40_000, 3_000, 4)));
    folder.ok("train data.svm -o old --solver sgd --epochs 1");
    let old = folder.read("old");
    let fresh = || std::fs::write(folder.path("m"), &old).unwrap();
    // Before anything was learnt: the data are known, and no penalty has been tried.
    fresh();
    let (code, told) = interrupted_after(&folder, "train data.svm -o m", "note: loss");
    assert!(folder.read("m") == old && code != Some(0), "{told}");
    assert!(!told.contains("none of 0 models"), "{told}");
    // While penalties are tried, and in the last descent.
    for word in ["penalty 1 ", "penalty 3 ", "penalty 8 ", "step 1 "] {
        fresh();
        let (code, told) = interrupted_after(&folder, "train data.svm -o m", word);
        assert!(folder.read("m") != old, "{word}: something was learnt\n{told}");
        let model = folder.json("inspect m --json");
        let report = &model["training"]["report"];
        assert!(report["nonzeros"].as_u64() > Some(0), "{word}: {told}");
        assert!(!told.contains("none of 0 models"), "{told}");
        if report["stop"] != "interrupted" {
            assert!(word == "step 1 " && code == Some(0), "{word}: {told}"); // it was done before it was told
            continue;
        }
        assert_eq!(code, Some(130), "{told}");
        assert!(told.contains("interrupted") && told.contains("of the objective away"), "{told}");
        assert!(!told.contains("the optimum to a tolerance"), "{told}");
    }
}

#[test]
fn an_interrupted_run_of_many_classes_or_labels_keeps_what_it_has_learnt() {
    let words = ["a", "b", "c", "d", "e"];
    let row = |i: usize| format!("{} {}:1 {}:0.5\n", words[i % 5], i % 5 + 1, i % 7 + 6);
    let folder = Folder::with("data.svm", (0..2_000).map(row).collect::<String>());
    for (flags, word) in [("--multiclass softmax", "epoch 2/"), ("--multiclass ovr", "at a time")] {
        let line = format!("train data.svm {flags} --epochs 1000000 --eta0 0.1 -o m --progress lines");
        let mut child = folder.command(&line).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while told.read_line(&mut said).unwrap() > 0 && !said.contains(word) {}
        sleep(Duration::from_millis(700)); // some epochs
        send("-INT", &child);
        told.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
        assert!(said.contains("interrupted: this is the model after"), "{said}");
        let figures = folder.ok("evaluate m data.svm --json").stdout;
        assert!(figures.contains("\"accuracy\":1.0"), "{flags}: {figures}");
        std::fs::remove_file(folder.path("m")).unwrap();
    }
}
