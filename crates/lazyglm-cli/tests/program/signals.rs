//! Signals: nothing unfinished is left behind, an old model is replaced by a better one only, and what is said of an
//! interrupted run is true.

use crate::common::{Folder, classes, text};
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

#[test]
fn an_interruption_never_puts_a_model_of_no_weights_in_the_place_of_another() {
    let folder = Folder::with("data.svm", text(&classes(40_000, 3_000, 4)));
    folder.ok("train data.svm -o old --solver online --epochs 1");
    let old = folder.read("old");
    let mut seen = [0; 2];
    for wait in [30, 60, 100, 150, 220, 300, 400, 600, 900, 1400, 2000] {
        std::fs::copy(folder.path("old"), folder.path("m")).unwrap();
        let child = folder
            .command("train data.svm -o m")
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(wait));
        send("-INT", &child);
        let (code, told) = end(child);
        assert!(!told.contains("none of 0 models"), "{told}");
        if folder.read("m") == old {
            seen[0] += 1;
            assert_ne!(code, Some(0), "{told}");
            continue;
        }
        let model = folder.json("inspect m --json");
        let report = &model["training"]["report"];
        assert!(report["nonzeros"].as_u64() > Some(0), "{told}");
        if report["stop"] == "interrupted" {
            seen[1] += 1;
            assert_eq!(code, Some(130), "{told}");
            assert!(told.contains("interrupted") && told.contains("of the objective away"), "{told}");
            assert!(!told.contains("the minimiser to"), "{told}");
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "neither early nor late: {seen:?}");
}
