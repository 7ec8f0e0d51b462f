//! Signals: a run that is ended leaves no unfinished file, an interrupted run keeps the old model unless it has learnt
//! something, and its notes are true.

use crate::common::{Folder, classes, text};
use crate::thresholds::made;
use std::io::{BufRead, BufReader, Read, Write};
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
                if signal != "-KILL" {
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

/// What a search has said when every fold has at least one model: folds advance penalty by penalty, and there are at most six paths.
const EVERY_FOLD: &str = " 20 of ";

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
        assert!(told.contains("interrupted") && told.contains("of the objective"), "{told}");
        assert!(!told.contains("the optimum to a tolerance"), "{told}");
    }
}

#[test]
fn an_interrupted_search_writes_the_best_of_the_penalties_that_every_fold_has_seen() {
    let folder = Folder::with("data.svm", text(&classes(4_000, 300, 4)));
    for line in
        ["tune data.svm -o m --l1 1e-9..1:4000 --l2 0", "path data.svm -o m --folds 3 --l1 1e-9..1:4000"]
    {
        let (code, told) = interrupted_after(&folder, line, EVERY_FOLD);
        assert_eq!(code, Some(130), "{line}: {told}");
        assert!(
            told.contains("warning: interrupted after ") && !told.contains("no model yet"),
            "{line}: {told}"
        );
        folder.ok("predict m data.svm -o scores");
        std::fs::remove_file(folder.path("m")).unwrap();
    }
}

#[test]
fn an_interrupted_search_over_classes_writes_the_model_that_it_says_is_chosen() {
    let rows = text(&classes(3_000, 200, 4));
    let row = |(k, line): (usize, &str)| {
        format!("{}{}\n", ["a", "b", "c"][k % 3], &line[line.find(' ').unwrap()..])
    };
    let folder = Folder::with("data.svm", rows.lines().enumerate().map(row).collect::<String>());
    for kind in ["softmax", "ovr"] {
        let line = format!("tune data.svm -o m --multiclass {kind} --l1 1e-7..1:3000 --l2 0");
        let (code, told) = interrupted_after(&folder, &line, EVERY_FOLD);
        assert_eq!(code, Some(130), "{line}: {told}");
        assert!(
            told.contains("warning: interrupted after ") && told.contains("the best of these is chosen"),
            "{told}"
        );
        assert!(!told.contains("error:"), "{line}: {told}");
        folder.ok("predict m data.svm -o scores");
        std::fs::remove_file(folder.path("m")).unwrap();
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

#[test]
fn an_interrupted_path_by_sgd_prints_the_models_that_it_has() {
    let folder = Folder::with("data.svm", text(&classes(400, 60, 1)));
    let line = "path data.svm --solver sgd --l1 1e-4..1e-1:4 --eta0 0.1 --epochs 10000000 --csv --coefficients w.csv \
                --checkpoint c --every 1h";
    let mut command = folder.command(line);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while told.read_line(&mut said).unwrap() > 0 && !said.contains(" models × ") {}
    sleep(Duration::from_millis(800)); // some epochs
    send("-INT", &child);
    told.read_to_string(&mut said).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130), "{said}");
    assert!(said.contains("warning: interrupted: 0 models finished, 4 models with "), "{said}");
    assert!(said.contains("of 10,000,000 epochs") && said.contains("--resume"), "{said}");
    let shown = String::from_utf8(done.stdout).unwrap();
    assert!(shown.starts_with("l1,l2,nonzeros,") && shown.lines().count() == 5, "{shown}");
    assert!(folder.read("w.csv").len() > 100);
}

/// A mask of signals of a process, as the system reports it: signal k is bit k − 1.
fn mask(process: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(name));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Waits until the process handles Ctrl-C, or has ended.
pub(crate) fn until_handled(child: &mut Child) {
    let started = Instant::now();
    let waits = |child: &mut Child| {
        child.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_secs(20)
    };
    while waits(child) && mask(&child.id().to_string(), "SigCgt:") & 2 == 0 {
        sleep(Duration::from_millis(5));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn verbs_that_do_not_learn_end_at_once_with_the_code_of_the_signal_and_leave_old_files() {
    let rows = text(&classes(500, 60, 1));
    let folder = Folder::with("data.svm", &rows);
    folder.ok("train data.svm -o m --l1 1e-3 --cache off");
    folder.write("old", "precious\n");
    let (model, names) = (folder.read("m"), folder.names());
    for line in [
        "predict m - -o old",
        "evaluate m -",
        "stats - --format svmlight",
        "convert - old --format svmlight --to vw",
        "certify m -",
        "train - --format svmlight -o old",
    ] {
        for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
            if signal == "-HUP" && mask("self", "SigIgn:") & 1 != 0 {
                continue; // these tests run under nohup, and so does the program
            }
            let mut command = folder.command(line);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            input.write_all(rows.as_bytes()).unwrap(); // and no end: the program waits for more
            until_handled(&mut child);
            sleep(Duration::from_millis(30));
            send(signal, &child);
            let (found, told) = end(child);
            assert_eq!(found, Some(code), "{line} {signal}: {told}");
            drop(input);
            assert_eq!(folder.names(), names, "{line} {signal}");
            assert!(folder.read("m") == model && folder.read("old") == b"precious\n", "{line} {signal}");
        }
    }
}

/// Waits until no signal is on its way to a process.
#[cfg(target_os = "linux")]
fn until_delivered(child: &Child) {
    let (process, started) = (child.id().to_string(), Instant::now());
    while mask(&process, "ShdPnd:") | mask(&process, "SigPnd:") != 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "a signal is never delivered");
        sleep(Duration::from_millis(5));
    }
}

/// Waits until all threads of a process wait for something: here, for rows that do not come. A thread that only waits for the
/// processor counts as running.
#[cfg(target_os = "linux")]
fn until_idle(child: &Child) {
    let (tasks, started, mut idle) = (format!("/proc/{}/task", child.id()), Instant::now(), 0);
    while idle < 5 {
        assert!(started.elapsed() < Duration::from_secs(120), "the program is busy for two minutes");
        let all = std::fs::read_dir(&tasks).unwrap().map(|task| task.unwrap().path().join("stat"));
        let stat = |path| std::fs::read_to_string(path).unwrap_or_default();
        let sleeps = |stat: String| stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('S'));
        idle = if all.map(stat).all(sleeps) { idle + 1 } else { 0 };
        sleep(Duration::from_millis(20));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_second_signal_ends_at_once_a_run_that_the_first_one_cannot_end() {
    let rows = text(&classes(40_000, 60, 1));
    assert!(rows.len() > 1 << 21, "more than a pipe and a block hold");
    let folder = Folder::with("old", "precious\n");
    for [(first, _), (second, code)] in [
        [("-INT", 130), ("-INT", 130)],
        [("-TERM", 143), ("-TERM", 143)],
        [("-INT", 130), ("-TERM", 143)],
        [("-TERM", 143), ("-INT", 130)],
    ] {
        // It learns while it reads, and waits for more rows, which do not come.
        let mut command = folder.command("train - --format svmlight --passes 1 -o old");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(rows.as_bytes()).unwrap(); // a pipe has room for 64 kB: the program has begun to read
        until_idle(&child);
        send(first, &child);
        until_delivered(&child);
        sleep(Duration::from_millis(200)); // a program that ended at the first signal would be gone by now
        assert!(child.try_wait().unwrap().is_none(), "{first}: the first signal lets a run go on to its end");
        send(second, &child);
        let (found, told) = end(child);
        assert_eq!(found, Some(code), "{first} {second}: {told}");
        drop(input);
        assert_eq!(folder.names(), ["old"], "{first} {second}: {told}");
        assert_eq!(folder.read("old"), b"precious\n");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_waits_for_rows_keeps_its_model_if_they_end_after_the_first_signal() {
    let folder = Folder::new();
    let line = "train - --format svmlight --passes 1 -o m";
    let mut command = folder.command(line);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(text(&classes(40_000, 60, 1)).as_bytes()).unwrap();
    until_idle(&child);
    send("-TERM", &child);
    until_delivered(&child);
    drop(input); // as in a shell, where the signal also ends the program that writes
    let (code, told) = end(child);
    assert_eq!(code, Some(143), "{told}");
    assert!(told.contains("interrupted: this is the model after "), "{told}");
    folder.ok("inspect m");
}

#[test]
#[cfg(target_os = "linux")]
fn a_hang_up_that_nohup_ignores_does_not_end_a_run() {
    let folder = Folder::with("data.svm", text(&classes(500, 60, 1)));
    let line = "train data.svm -o m --solver sgd --epochs 20000 --progress none";
    let mut command = folder.command_under("trap '' HUP", line);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    until_handled(&mut child);
    send("-HUP", &child);
    sleep(Duration::from_millis(50));
    send("-TERM", &child);
    let (code, told) = end(child);
    assert!(code == Some(143) || code == Some(0), "{code:?} {told}");
}

#[test]
fn an_interrupted_search_over_labels_ends_soon_and_says_what_it_has() {
    let folder = Folder::with("data.svm", made(3_000, 150, 8, 1).replace(":1", ":2").replacen(":2", ":3", 1));
    let line = "train data.svm --multilabel -o m --checkpoint c --every 1h --progress lines";
    let mut child = folder.command(line).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while told.read_line(&mut said).unwrap() > 0 && !said.contains("penalty 1 ") {}
    let sent = Instant::now();
    send("-INT", &child);
    told.read_to_string(&mut said).unwrap();
    let (code, took) = (child.wait().unwrap().code(), sent.elapsed());
    assert_eq!(code, Some(130), "{said}");
    assert!(took < Duration::from_secs(4), "{took:?} on a machine that may be busy: {said}");
    assert!(said.contains("the checkpoint is in c, with ") && said.contains("of finished work"), "{said}");
    if !folder.path("m").exists() {
        assert!(said.contains("there is no model yet") && said.contains("penalties tried so far:"), "{said}");
    }
}

#[test]
fn a_softmax_of_many_classes_says_how_long_it_takes_and_ends_at_a_signal() {
    let rows: String = (0..5_000).map(|i| format!("c{} {}:1 9:1\n", i % 4_000, 1 + i % 7)).collect();
    let folder = Folder::with("data.svm", rows);
    let line = "train data.svm --multiclass softmax --solver sgd --epochs 1000 -o m";
    let (code, told) = interrupted_after(&folder, line, "the epochs take");
    // Steps on 15,000 non-zeros and biases × 4,000 classes × 1,000 epochs, 3·10⁸ of them per second.
    assert!(told.contains("; the epochs take about 3 min"), "{told}");
    assert_eq!(code, Some(130), "in the search for a learning rate: {told}");
    assert!(!folder.path("m").exists(), "nothing was learnt");
}
