//! Checkpoints: a run that is killed at any moment goes on with `--resume` and ends in the same model.

use crate::common::{Dice, Folder, Output, classes, finish, in_format, numbers, text};
use crate::memory::many;
use crate::scaling::counts;
use crate::signals::until_handled;
use crate::thresholds::made;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Runs of every solver, search and source: a name, the verb with its data, and flags.
const RUNS: &[(&str, &str)] = &[
    ("train two.svm", "--solver sgd --epochs 8"),
    ("train two.svm", ""),
    ("train two.svm", "--l1 1e-4 --tolerance 1e-9"),
    ("train two.svm", "--solver adagrad --epochs 6 --validation 0.2 --early-stop 2"),
    ("train two.svm", "--solver ftrl --epochs 4 --runs 2"),
    ("train two.svm", "--solver svrg --tolerance 1e-7"),
    ("train two.svm", "--loss hinge"),
    ("train two.svm", "--loss hinge --solver newton --l2 1e-3"),
    ("train two.svm", "--solver sgd --epochs 6 --update table"),
    ("train two.svm", "--solver sgd --epochs 3 --update dense-sparse-predict"),
    ("train two.svm", "--solver sgd --epochs 6 --average --precision f64"),
    ("train two.svm", "--solver sgd --epochs 6 --nonnegative"),
    ("train two.svm", "--solver sgd --epochs 6 --l1 0 --l2 0"),
    ("train two.svm", "--adaptive --l1 1e-3"),
    ("train numbers.svm", "--validation 0.2"),
    ("train many.svm", "--multiclass softmax --solver sgd --epochs 6"),
    ("train many.svm", "--multiclass softmax"),
    ("train many.svm", "--multiclass ovr --loss logistic --solver sgd --epochs 6"),
    ("train many.svm", "--multiclass ovr --loss logistic --l1 1e-4"),
    ("train labels.svm", "--multilabel"),
    ("train labels.svm", "--multilabel --l2 0.003 --thresholds tuned"),
    ("train labels.svm", "--multilabel --solver sgd --epochs 4 --thresholds tuned"),
    ("tune labels.svm", "--multilabel --l1 1e-3,1e-2 --folds 2"),
    ("train -", "--format svmlight --solver sgd --epochs 6"),
    ("train -", "--format svmlight"),
    ("train counts.svm", ""),
    ("train words.txt", "--text idf=yes"),
    ("train words.txt", "--text idf=yes --solver sgd --epochs 4"),
    ("train words.txt", "--hash-bits 6 --l1 1e-4"),
    ("train words.txt", "--hash-bits 6 --solver ftrl --epochs 3"),
    ("train large.svm", "--solver sgd --epochs 2 --memory 27M"),
    ("train large.svm", "--multiclass softmax --solver sgd --epochs 2 --memory 27M"),
    ("train large.svm", "--multiclass ovr --epochs 2 --memory 27M"),
    ("train classes.svm", "--multiclass softmax --solver sgd --epochs 3 --memory 27M"),
    ("train classes.svm", "--multiclass ovr --epochs 2 --memory 27M"),
    ("train sets.svm", "--multilabel --solver sgd --epochs 2 --memory 27M"),
    ("train large.svm", "--solver newton --l1 1e-3 --tolerance 1e-3 --memory 60M"),
    ("train large.svm", "--solver svrg --epochs 2 --memory 60M"),
    ("train large.svm", "--memory 60M"),
    ("train large.svm", "--loss hinge --epochs 2 --memory 60M"),
    ("train large.svm", "--loss hinge --solver newton --l1 1e-3 --l2 1e-3 --tolerance 1e-2 --memory 60M"),
    ("train large.svm", "--solver adagrad --epochs 2 --memory 60M"),
    ("train large.svm", "--solver ftrl --epochs 2 --memory 60M"),
    ("train two.cache", "--solver sgd --epochs 6"),
    ("train two.cache", "--l1 1e-4"),
    ("train missing.csv", "--missing indicator --l1 1e-3"),
    ("train missing.csv", "--missing mean --solver sgd --epochs 6"),
    ("train exposed.csv", "--offset-column exposure --loss poisson --l1 1e-3"),
    ("train exposed.csv", "--offset-column exposure --loss poisson --solver sgd --epochs 6"),
    ("train two.svm", "--start first --l1 1e-4"),
    ("train two.svm", "--start first --solver sgd --epochs 6"),
    ("train two.svm", "--solver newton --lower -0.5 --upper 0.5 --l1 1e-4"),
    ("train two.svm", "--solver newton --nonnegative --l1 1e-4"),
    ("tune two.svm", "--folds 3"),
    ("tune two.svm", "--solver sgd --epochs 3 --folds 3"),
    ("tune many.svm", "--multiclass softmax --l1 1e-3,1e-2 --folds 2"),
    ("tune many.svm", "--multiclass ovr --loss logistic --l1 1e-3..1e-1:4 --folds 2"),
    ("path two.svm", "--folds 3"),
    ("path two.svm", "--solver sgd --epochs 3 --l1 1e-4..1e-1:6 --coefficients m"),
    ("path many.svm", "--multiclass ovr --loss logistic --l1 1e-3..1e-1:6 --folds 2"),
    ("path labels.svm", "--multilabel --l1 1e-3..1e-1:6 --coefficients m"),
];

/// The command line of a run that writes its result to `m`: a model, or the weights of a path.
fn line_of((verb, flags): (&str, &str)) -> String {
    let output = if flags.contains("--coefficients") { "" } else { "-o m" };
    format!("{verb} {flags} {output}")
}

fn folder() -> Folder {
    let folder = Folder::with("two.svm", text(&classes(800, 120, 1)));
    folder.write("numbers.svm", text(&numbers(800, 120, 2)));
    folder.write("large.svm", text(&many(false)));
    folder.write("labels.svm", made(300, 6, 8, 3));
    folder.write("counts.svm", counts(300, 2));
    folder.write("words.txt", in_format(&classes(400, 90, 6), "text"));
    let mut dice = Dice(4);
    let words = ["a", "b", "c", "d"];
    let mut row = |_| {
        let class = dice.below(4);
        format!("{} {}:1 {}:{}\n", words[class as usize], class + 1, 12 + dice.below(20), dice.value().abs())
    };
    folder.write("many.svm", (0..500).map(&mut row).collect::<String>());
    folder.write("classes.svm", (0..60_000).map(&mut row).collect::<String>());
    folder.write("sets.svm", made(60_000, 6, 8, 3)); // more than fit into 27 MB
    let row = |dice: &mut Dice| {
        let (a, b) = (dice.value(), dice.value());
        let cell = if dice.below(5) == 0 { String::new() } else { format!("{a}") };
        (format!("{},{cell},{b}\n", if a + b > 0.0 { 1 } else { -1 }), [a, b])
    };
    let rows: Vec<(String, [f64; 2])> = (0..600).map(|_| row(&mut dice)).collect();
    let csv: String = rows.iter().map(|(line, _)| line.as_str()).collect();
    folder.write("missing.csv", format!("target,a,b\n{csv}"));
    let counted =
        |(_, [a, b]): &(String, [f64; 2])| format!("{},{},{a},{b}\n", (4.0 + 3.0 * a).round(), 0.5 + b);
    let csv: String = rows.iter().map(counted).collect();
    folder.write("exposed.csv", format!("target,exposure,a,b\n{csv}"));
    folder.ok("convert two.svm two.cache --to cache");
    folder.ok("train two.svm --l1 1e-2 -o first --cache off");
    folder
}

/// The bytes of the model: the time that it took is not in the file.
fn model(folder: &Folder) -> Vec<u8> {
    folder.read("m")
}

/// A run, not yet started; `-` reads the rows of `two.svm` from standard input.
fn command(folder: &Folder, line: &str) -> Command {
    let mut command = folder.command(line);
    if line.contains(" - ") {
        command.stdin(std::fs::File::open(folder.path("two.svm")).unwrap());
    }
    command
}

fn ok(folder: &Folder, line: &str) -> Output {
    let output = finish(&mut command(folder, line));
    assert_eq!(output.code, 0, "lazyglm {line}\n{}", output.stderr);
    output
}

fn start(folder: &Folder, line: &str) -> Child {
    command(folder, line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Kills a run after some time, which begins once this file is there. Returns whether it was still running.
fn kill_after(mut child: Child, wait: Duration, once: Option<&Path>) -> bool {
    let mut started = None;
    while started.is_none_or(|started: Instant| started.elapsed() < wait) {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        match started {
            None if once.is_none_or(Path::exists) => started = Some(Instant::now()),
            _ => sleep(Duration::from_millis(1)),
        }
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    true
}

/// Kills runs at random moments, each as often as it takes to be done, until there were so many kills. Three of four moments
/// are counted from the first checkpoint on. Returns how many kills left a checkpoint, and how many runs were resumed.
fn kill(kills: usize, seed: u64) -> (usize, usize) {
    let (folder, mut dice) = (folder(), Dice(seed));
    let (mut done, mut left, mut resumed) = (0, 0, 0);
    let mut next = dice.below(RUNS.len() as u64) as usize;
    while done < kills {
        let line = line_of(RUNS[next % RUNS.len()]);
        next += 1;
        let began = Instant::now();
        ok(&folder, &line);
        let (took, whole) = (began.elapsed(), model(&folder));
        std::fs::remove_file(folder.path("m")).unwrap();
        let line = format!("{line} --checkpoint c --every 0s --resume");
        let mut of_run = 0;
        let ended = loop {
            let share = dice.below(1000) as f64 / 1000.0;
            let once = Some(folder.path("c")).filter(|_| dice.below(4) > 0);
            let wait = took.mul_f64(if once.is_some() { 0.5 * share } else { 0.02 + share });
            if of_run == 4 {
                break false;
            }
            if !kill_after(start(&folder, &line), wait, once.as_deref()) {
                break true;
            }
            of_run += 1;
            left += usize::from(folder.path("c").exists());
        };
        if !ended {
            // The last one goes to its end, also where a kill came between the model and the end of its checkpoint.
            let began = Instant::now();
            let output = ok(&folder, &line);
            let known = output.stderr.contains("goes on from c");
            resumed += usize::from(known);
            assert!(began.elapsed() < 20 * took + Duration::from_secs(5), "{line}");
        }
        assert!(model(&folder) == whole, "{line}, after {of_run} kills: another model");
        assert!(!folder.path("c").exists(), "{line}: a run that is done removes its checkpoint");
        std::fs::remove_file(folder.path("m")).unwrap();
        let hidden: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with('.')).collect();
        assert!(hidden.len() <= of_run, "{hidden:?}");
        hidden.iter().for_each(|name| std::fs::remove_file(folder.path(name)).unwrap());
        done += of_run;
    }
    (left, resumed)
}

#[test]
fn a_run_that_is_killed_at_random_moments_ends_in_the_same_model() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let kills = number("KILLS", 10) as usize;
    let (left, resumed) = kill(kills, number("SEED", 5));
    assert!(resumed > 0, "no run was resumed from its checkpoint");
    assert!(2 * left > kills, "{left} of {kills} kills left a checkpoint");
    println!("{kills} kills, {left} of runs with a checkpoint, {resumed} runs resumed from one");
}

/// The test above draws its runs; this one has them all.
#[test]
fn every_kind_of_run_is_killed_once_behind_its_first_checkpoint_and_ends_in_the_same_model() {
    let (folder, mut killed) = (folder(), 0);
    for run in RUNS {
        let line = line_of(*run);
        ok(&folder, &line);
        let whole = model(&folder);
        std::fs::remove_file(folder.path("m")).unwrap();
        let line = format!("{line} --checkpoint c --every 0s --resume");
        let was_running = kill_after(start(&folder, &line), Duration::ZERO, Some(&folder.path("c")));
        let left = folder.path("c").exists();
        killed += usize::from(was_running && left);
        let output = ok(&folder, &line);
        assert_eq!(output.stderr.contains("goes on from c"), left, "{line}: {}", output.stderr);
        assert!(model(&folder) == whole, "{line}: another model");
        std::fs::remove_file(folder.path("m")).unwrap();
        let hidden = folder.names().into_iter().filter(|name| name.starts_with('.'));
        hidden.for_each(|name| std::fs::remove_file(folder.path(&name)).unwrap());
    }
    println!("{killed} of {} kinds of runs were killed behind a checkpoint", RUNS.len());
    assert!(4 * killed > 3 * RUNS.len(), "{killed} of {} runs; the others were done before", RUNS.len());
}

fn send(signal: &str, child: &Child) {
    let _ = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
}

/// Every run is interrupted by a signal in its middle, saves, and goes on to the same model.
#[test]
fn a_signal_saves_the_checkpoint_and_tells_how_to_resume() {
    let folder = folder();
    for (k, run) in RUNS.iter().enumerate().filter(|(k, _)| k % 4 == 0) {
        let line = line_of(*run);
        let began = Instant::now();
        ok(&folder, &line);
        let (took, whole) = (began.elapsed(), model(&folder));
        std::fs::remove_file(folder.path("m")).unwrap();
        let kept = format!("{line} --checkpoint c --every 1h");
        let mut child = start(&folder, &kept);
        until_handled(&mut child); // before that, a signal ends any program
        sleep(took.mul_f64(0.7));
        let (signal, code) = if k % 8 == 0 { ("-INT", 130) } else { ("-TERM", 143) };
        send(signal, &child);
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        match ended.status.code() {
            Some(0) => assert!(!folder.path("c").exists(), "{told}"), // done before the signal
            Some(found) if !told.contains("checkpoint is in") => {
                assert_eq!(found, code, "{line}: {told}");
                assert!(!folder.path("c").exists(), "{line}: {told}"); // while the data were read
            }
            found => {
                assert_eq!(found, Some(code), "{line}: {told}");
                assert!(
                    told.contains("the checkpoint is in c") && told.contains("--resume"),
                    "{line}: {told}"
                );
                assert!(folder.path("c").exists(), "{line}: {told}");
            }
        }
        if folder.path("c").exists() {
            if !line.contains(" - ") {
                folder.refuses(&kept, 2, &["there is a checkpoint in c already"]);
            }
            let output = ok(&folder, &format!("{kept} --resume"));
            assert!(output.stderr.contains("goes on from c"), "{}", output.stderr);
            assert!(model(&folder) == whole, "{line}: another model");
        }
        let _ = std::fs::remove_file(folder.path("m"));
    }
}

#[test]
fn a_checkpoint_of_other_data_or_settings_is_refused_and_so_is_a_damaged_one() {
    let folder = folder();
    let line = "train two.svm --solver sgd --epochs 200000 --checkpoint c --every 0s";
    let once = folder.path("c");
    assert!(kill_after(start(&folder, line), Duration::from_millis(50), Some(&once)), "it takes longer");
    let kept = folder.read("c");
    let resume = |line: &str| format!("{line} --resume");
    folder.refuses(
        &resume("train numbers.svm --loss squared --solver sgd --epochs 200000 --checkpoint c"),
        2,
        &["other settings", "loss"],
    );
    folder.refuses(&resume(&line.replace("two.svm", "large.svm")), 2, &["c is of a run on other data"]);
    let other = line.replace("--epochs 200000", "--epochs 200001");
    folder.refuses(&resume(&other), 2, &["other settings", "epochs: 200000", "epochs: 200001"]);
    folder.refuses(line, 2, &["there is a checkpoint in c already"]);
    for place in [0, 30, kept.len() / 2, kept.len() - 1] {
        let mut damaged = kept.clone();
        damaged[place] ^= 1;
        folder.write("c", damaged);
        folder.refuses(&resume(line), 1, &["c", "cannot be used"]);
    }
    folder.write("c", &kept[..kept.len() / 3]);
    folder.refuses(&resume(line), 1, &["c", "cannot be used"]);
    folder.refuses("train two.svm --checkpoint two.svm", 2, &["--checkpoint two.svm would replace two.svm"]);
    folder.refuses("train two.svm -o m --checkpoint m", 2, &["--checkpoint m would replace m"]);
    folder.refuses(
        "train two.svm -o m --checkpoint ./m --cache off",
        2,
        &["--checkpoint ./m would replace m"],
    );
    folder.refuses("train two.svm -o m --cache m", 2, &["--cache m would replace m"]);
    folder.refuses(
        "path two.svm --coefficients c2 --checkpoint c2",
        2,
        &["--coefficients c2 would replace c2"],
    );
    folder.refuses("train none.svm -o m --checkpoint none/c", 1, &["none/c: its folder does not exist"]);
    folder.write("c", "");
    folder.refuses(
        "train two.svm -o m --checkpoint c",
        1,
        &["c: this checkpoint cannot be used: it is empty"],
    );
    folder.write("c", kept);
    folder.refuses(
        &resume("tune many.svm --multiclass softmax --folds 2 -o m --checkpoint c"),
        2,
        &["c is of a run on other data, and with other settings: it has 'verb: train'"],
    );
    folder.refuses("train two.svm --resume", 2, &["--checkpoint"]);
}

#[test]
fn a_quiet_run_that_is_interrupted_tells_what_it_saved_and_how_to_resume() {
    let folder = folder();
    let line = "train two.svm --solver sgd --epochs 2000000 --checkpoint c --every 0s -o m -q";
    let child = start(&folder, line);
    let begun = Instant::now();
    while !folder.path("c").exists() && begun.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(5));
    }
    send("-TERM", &child);
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(143), "{told}");
    assert!(told.contains("warning: interrupted: the checkpoint is in c, with "), "{told}");
    assert!(told.contains("help: go on with: ") && told.contains("-q --resume"), "{told}");
    let reached =
        ["warning: interrupted: this is the model after ", "error: interrupted: there is no model yet"];
    assert!(reached.iter().any(|reached| told.contains(reached)), "{told}");
}

#[test]
fn a_time_limit_counts_the_time_of_all_runs_and_keeps_what_they_have_solved() {
    let folder = Folder::with("two.svm", text(&classes(300, 40, 1)));
    let line = "tune two.svm --l1 1e-9..1:3000 --l2 0 --folds 2 --checkpoint c --every 0s -o m --json";
    let child = start(&folder, line);
    sleep(Duration::from_secs(4));
    send("-TERM", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    let began = Instant::now();
    // The limit is up already, so the penalties of the first run are all there are.
    let run = ok(&folder, &format!("{line} --budget 1s --resume"));
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let means = report["points"].as_array().unwrap().iter().filter(|point| point["mean"].is_number());
    let compared = means.count();
    assert!(
        run.stderr.contains(&format!("--budget was up after {compared} of at most 3000")),
        "{}",
        run.stderr
    );
    assert!(compared > 20, "{compared} penalties in two seconds");
    assert!(began.elapsed() < Duration::from_secs(60) && !folder.path("c").exists());
}
