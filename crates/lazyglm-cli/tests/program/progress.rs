//! Progress on standard error: lines without a terminal, a bar on one, and nothing in the first second.

use crate::common::{Folder, classes, text};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_running_loss_of_a_few_rows_is_theirs_and_not_zero() {
    let folder = Folder::with("few.svm", text(&classes(6, 10, 1)));
    let said = folder.ok("train few.svm --eta0 0.01 --progress lines").stderr;
    let loss = |line: &str| line.split("loss ").nth(1)?.split(' ').next()?.parse::<f64>().ok();
    let shown: Vec<f64> = said.lines().filter(|line| line.contains("epoch ")).filter_map(loss).collect();
    assert!(!shown.is_empty());
    assert!(shown.iter().all(|loss| (loss - 2f64.ln()).abs() < 0.1), "no step goes far from log 2:\n{said}");
}

#[test]
fn a_search_says_of_about_how_many_penalties_it_is_to_its_end() {
    let folder = Folder::new();
    folder.ok("demo --data .");
    let said = folder.ok("train houses_train.csv --target price -o m --progress lines --cache off").stderr;
    let numbers = |line: &str| {
        let (_, rest) = line.split_once("penalty ")?;
        let (number, rest) = rest.split_once(" of about ")?;
        Some((number.parse::<u64>().ok()?, rest.split(' ').next()?.parse::<u64>().ok()?))
    };
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("penalty ")).collect();
    let shown: Vec<(u64, u64)> = lines.iter().filter_map(|line| numbers(line)).collect();
    assert_eq!(shown.len(), lines.len(), "each line says of how many:\n{said}");
    assert!(shown.len() > 24, "this search tries more than is usual, {}:\n{said}", shown.len());
    assert!(shown.iter().all(|(number, about)| *about == 24.max(number + 3)), "{shown:?}");
}

#[test]
fn nothing_is_shown_in_the_first_second() {
    let folder = Folder::with("few.svm", text(&classes(60, 10, 1)));
    let quick = (0..50).any(|_| {
        let started = Instant::now();
        let said = folder.ok("train few.svm --l1 0.01 -o m --cache off").stderr;
        let within = started.elapsed() < Duration::from_secs(1);
        assert!(!within || said.lines().all(|line| line.starts_with("note: ")), "{said}");
        within
    });
    assert!(quick, "no run ended within a second");
}

#[test]
fn a_pipe_that_takes_longer_is_waited_for_with_lines() {
    let folder = Folder::new();
    let mut command = folder.command("train - --format svmlight --l1 0.01 -o m");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(text(&classes(60, 10, 1)).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    drop(pipe);
    let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert!(said.lines().any(|line| line.starts_with("reading ") && line.ends_with(" s")), "{said}");
}

/// What the program prints on a terminal of its own (made by `script`), until it has printed all these parts.
fn on_a_terminal(folder: &Folder, line: &str, parts: &[&str]) -> String {
    let program = format!("stty cols 100; exec {} {line}", env!("CARGO_BIN_EXE_lazyglm"));
    let mut script = Command::new("script");
    script.args(["-qefc", &program, "/dev/null"]).current_dir(folder.0.path());
    let mut child = script.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut out, mut said, started) = (child.stdout.take().unwrap(), String::new(), Instant::now());
    let mut buffer = [0; 4096];
    while !parts.iter().all(|part| said.contains(part)) && started.elapsed() < Duration::from_secs(120) {
        match out.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => said += &String::from_utf8_lossy(&buffer[..count]),
        }
    }
    let _ = child.kill(); // closes the terminal, so the program ends, too
    let _ = child.wait();
    said
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_a_bar_with_the_share_and_the_time_left() {
    let folder = Folder::with("data.svm", text(&classes(2000, 50, 1)));
    let parts = ["% ", "━", " left · ", " rows/s · epoch "];
    let line = "train data.svm --solver sgd --eta0 0.01 --epochs 1000000 --cache off";
    let said = on_a_terminal(&folder, line, &parts);
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    let quiet =
        on_a_terminal(&folder, "train data.svm --l1 0.01 --quiet --cache off -o m", &["model      m"]);
    assert!(!quiet.contains("left ·") && !quiet.contains("rows/s"), "{quiet}");
}
