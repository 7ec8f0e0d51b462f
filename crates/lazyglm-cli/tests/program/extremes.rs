//! Numbers of any size: no NaN leaves the program, none counts as zero, and runs that diverge begin anew.

use crate::common::{Dice, Folder, classes, text};

/// Rows whose values and targets are multiplied by these factors; a few of the factors are for some columns alone.
fn scaled(value: f64, target: f64, mixed: bool) -> String {
    let mut dice = Dice(9);
    let mut all = String::new();
    for i in 0..60 {
        let pairs: String = (1..=4u32)
            .map(|j| {
                let factor = if mixed && j % 2 == 0 { 1.0 / value } else { value };
                format!(" {j}:{:?}", dice.value() * factor)
            })
            .collect();
        let y = if target == 0.0 { [1.0, -1.0][i % 2] } else { dice.value() * target };
        all += &format!("{y:?}{pairs}\n");
    }
    all
}

/// Whether a text has a word for a number that is not finite.
fn has_nonsense(text: &str) -> bool {
    let word =
        |word: &str| ["nan", "inf", "-inf", "infinity", "-nan"].contains(&word.to_lowercase().as_str());
    text.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(word)
}

/// Runs a line: it succeeds with finite numbers alone, or it is refused in words. Returns whether it succeeded.
fn sound(folder: &Folder, line: &str, what: &str) -> bool {
    let output = folder.run(line);
    let told = format!("{what}: lazyglm {line}\n{}\n{}", output.stdout, output.stderr);
    assert!(!output.stderr.contains("panicked"), "{told}");
    assert!([0, 1, 2].contains(&output.code), "{told}");
    match output.code {
        0 => assert!(!has_nonsense(&output.stdout), "{told}"),
        _ => assert!(output.stderr.contains("error:") && output.stderr.contains("help:"), "{told}"),
    }
    output.code == 0
}

#[test]
fn no_nan_leaves_the_program_whatever_the_size_of_values_and_targets() {
    let mut done = 0;
    for value in [1e-310, 1e-30, 1e-10, 1e10, 1e30, 1e160] {
        for (target, mixed) in [(0.0, false), (1e-30, false), (1e30, false), (0.0, true)] {
            if mixed && 1.0 / value == f64::INFINITY {
                continue;
            }
            let what = format!("values {value:e}, targets {target:e}, mixed {mixed}");
            let folder = Folder::with("data.svm", scaled(value, target, mixed));
            for flags in [
                "",
                "--solver sgd",
                "--solver adagrad",
                "--solver ftrl",
                "--solver svrg --epochs 9",
                "--solver newton",
            ] {
                let precision = if !(1e-40..=1e38).contains(&value) { "--precision f64" } else { "" };
                let line = format!("train data.svm -o m {flags} {precision} --json --quiet");
                if !sound(&folder, &line, &what) {
                    continue;
                }
                done += 1;
                let (bias, weights) = folder.weights("m");
                assert!(bias.is_finite() && weights.iter().all(|(_, w)| w.is_finite()), "{what} {flags}");
                sound(&folder, "predict m data.svm --as score", &what);
                sound(&folder, "evaluate m data.svm --json", &what);
                std::fs::remove_file(folder.path("m")).unwrap();
            }
            if [1e-10, 1e30].contains(&value) {
                sound(&folder, "path data.svm --json --quiet", &what);
                sound(&folder, "tune data.svm --folds 2 --json --quiet", &what);
            }
        }
    }
    assert!(done > 60, "{done} runs succeeded: most should");
}

#[test]
fn a_nan_in_the_data_is_refused_at_its_place() {
    for bad in ["nan", "NaN", "inf", "-inf", "1e999"] {
        let row = |y: &str, x: &str| format!("1 1:1\n{y} 1:{x} 2:1\n-1 2:1\n");
        for text in [row(bad, "1"), row("1", bad)] {
            let folder = Folder::with("data.svm", text);
            for verb in ["train", "tune", "path", "stats"] {
                folder.refuses(
                    &format!("{verb} data.svm --quiet").replace("stats data.svm --quiet", "stats data.svm"),
                    1,
                    &["data.svm:2"],
                );
            }
        }
    }
}

#[test]
fn a_run_that_diverges_begins_anew_with_half_the_rate_and_says_so() {
    let rows = text(&classes(300, 30, 1));
    let folder = Folder::with("two.svm", rows);
    let word = |line: &str| line.replacen("-1 ", "b ", 1).replacen("1 ", "a ", 1);
    folder.write(
        "many.svm",
        folder_rows(&folder)
            .iter()
            .enumerate()
            .map(|(i, line)| match i % 3 {
                0 => format!("c {}\n", line.split_once(' ').map_or("", |(_, rest)| rest)),
                _ => word(line) + "\n",
            })
            .collect::<String>(),
    );
    for (data, flags) in [
        ("two.svm", "--solver sgd --loss squared --eta0 1000"),
        ("two.svm", "--solver adagrad --loss squared --eta0 1e200"),
        ("many.svm", "--multiclass softmax --solver sgd --eta0 1e40"),
        ("many.svm", "--multiclass ovr --loss squared-hinge --solver sgd --eta0 1e4"),
    ] {
        let line = format!("train {data} -o m --epochs 3 {flags}");
        let stopped = folder.run(&line);
        if !stopped.stderr.contains("diverged") {
            continue; // this rate is harmless here
        }
        let retried = folder.ok(&format!("{line} --on-divergence retry"));
        assert!(retried.stderr.contains("warning: training diverged"), "{line}: {}", retried.stderr);
        assert!(retried.stderr.contains("began anew"), "{}", retried.stderr);
        let again = folder.run(&format!("{line} --on-divergence stop"));
        assert!(again.stderr.contains("diverged"), "{line}: {}", again.stderr);
    }
    let told = folder.run("train two.svm --solver sgd --loss squared --eta0 1000 --epochs 3");
    assert!(
        told.code == 1 && told.stderr.contains("diverged"),
        "a rate that was given is not changed: {}",
        told.stderr
    );
}

fn folder_rows(folder: &Folder) -> Vec<String> {
    String::from_utf8(folder.read("two.svm")).unwrap().lines().map(str::to_string).collect()
}
