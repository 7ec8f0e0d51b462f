//! Pipes under a name: every verb reads all of their rows, or refuses because it must read twice.

use crate::common::{Folder, classes, text};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

/// Runs a verb on `pipe`, which is a FIFO that somebody writes this into.
fn on_a_pipe(folder: &Folder, content: &str, line: &str) -> (i32, String, String) {
    let _ = std::fs::remove_file(folder.path("pipe"));
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    let mut child = folder.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (path, content) = (folder.path("pipe"), content.to_string());
    // A program that refuses never opens the pipe: the writer waits in a thread that nobody joins.
    thread::spawn(move || {
        if let Ok(mut pipe) = std::fs::File::options().write(true).open(path) {
            let _ = pipe.write_all(content.as_bytes());
        }
    });
    for _ in 0..600 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        thread::sleep(std::time::Duration::from_millis(100));
    }
    let hangs = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    let done = child.wait_with_output().unwrap();
    assert!(!hangs, "lazyglm {line} waits forever\n{}", String::from_utf8_lossy(&done.stderr));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code().unwrap_or(-1), text(done.stdout), text(done.stderr))
}

#[test]
fn every_verb_reads_all_rows_of_a_pipe() {
    let rows = text(&classes(40, 10, 1));
    let folder = Folder::with("data.svm", &rows);
    folder.ok("train data.svm -o m --cache off");
    for line in [
        "train pipe -o got",
        "train pipe -o got --cache c",
        "train pipe -o got --memory 64M",
        "train pipe -o got --memory 64M --cache c",
        "train pipe -o got --memory 64M --renumber",
        "train pipe -o got --renumber",
        "train data.svm -o got --validation pipe",
        "stats pipe",
        "predict m pipe",
        "evaluate m pipe",
        "certify m pipe",
        "convert pipe out.vw",
    ] {
        let (code, printed, told) = on_a_pipe(&folder, &rows, line);
        assert_eq!(code, 0, "{line}\n{told}");
        let named = folder
            .ok(&line.replace("pipe", "data.svm").replace("-o got", "-o named").replace("--cache c", ""));
        match line.split(' ').next() {
            Some("train") => assert!(folder.read("got") == folder.read("named"), "{line}\n{told}"),
            Some("convert") => {
                assert_eq!(folder.read("out.vw").iter().filter(|byte| **byte == b'\n').count(), 40)
            }
            _ => assert_eq!(printed.replace("pipe", "data.svm"), named.stdout, "{line}"),
        }
    }
}

#[test]
fn what_must_be_read_twice_is_refused_from_a_pipe() {
    let rows = text(&classes(40, 10, 1));
    let folder = Folder::with("data.svm", &rows);
    folder.ok("train data.svm -o m --l1 0.01");
    let (code, printed, told) = on_a_pipe(&folder, &rows, "convert pipe out.csv");
    assert_eq!((code, printed.as_str()), (2, ""), "{told}");
    assert!(told.contains("pipe") && told.contains("file"), "{told}");
}
