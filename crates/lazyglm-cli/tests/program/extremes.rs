//! Numbers of any size: no NaN leaves the program, none counts as zero, and runs that diverge begin anew.

use crate::common::{Dice, Folder, classes, numbers, text};

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
        ("many.svm", "--multiclass softmax --solver sgd --eta0 1e40"),
        ("many.svm", "--multiclass ovr --loss squared-hinge --solver sgd --eta0 1e4"),
    ] {
        let line = format!("train {data} -o m --epochs 3 {flags}");
        let stopped = folder.run(&line);
        assert!(stopped.stderr.contains("diverged"), "{line} should diverge: {}", stopped.stderr);
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

#[test]
fn a_finite_model_far_above_the_bias_alone_counts_as_diverged() {
    let folder = Folder::with("two.svm", text(&classes(300, 30, 1)));
    let mut far = 0;
    for eta0 in ["0.5", "1", "1.5", "2", "2.5", "4", "1000"] {
        let line = format!(
            "train two.svm -o m --solver sgd --loss squared --schedule constant --epochs 1 --eta0 {eta0} --json"
        );
        let objective = |report: &serde_json::Value| report["objective"].as_f64().unwrap_or(f64::NAN);
        let (stopped, retried) = (folder.run(&line), folder.ok(&format!("{line} --on-divergence retry")));
        let report: serde_json::Value = serde_json::from_str(&retried.stdout).unwrap();
        let bound = 11.0 * report["baseline"].as_f64().unwrap();
        assert!(objective(&report) <= bound, "{line}: {}", retried.stdout);
        if stopped.code == 0 && objective(&serde_json::from_str(&stopped.stdout).unwrap()) > bound {
            far += 1;
            assert!(
                stopped.stderr.contains("worse than the bias alone"),
                "kept with a warning: {}",
                stopped.stderr
            );
            assert!(retried.stderr.contains("began anew"), "{line}: {}", retried.stderr);
        }
    }
    assert!(far > 0, "no rate gave a finite model that is far above the bias alone");
}

fn folder_rows(folder: &Folder) -> Vec<String> {
    String::from_utf8(folder.read("two.svm")).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn figures_far_from_one_are_printed_in_exponent_form() {
    let rows = |factor: f64| -> String {
        numbers(60, 9, 1).iter().map(|(y, row)| text(&[(y * factor, row.clone())])).collect()
    };
    let folder = Folder::with("large.svm", rows(1e25));
    folder.write("small.svm", rows(1e-6));
    for name in ["large", "small"] {
        let trained = folder.ok(&format!("train {name}.svm --l2 0.1 -o m --quiet --cache off")).stdout;
        let tuned = folder.ok(&format!("tune {name}.svm --l1 1e-9 --quiet --cache off")).stdout;
        for shown in [
            trained.clone(),
            tuned,
            folder.ok(&format!("certify m {name}.svm")).stdout,
            folder.ok(&format!("evaluate m {name}.svm")).stdout,
        ] {
            let words = shown.split([' ', ',', ';', '(', ')', '\n']);
            let long = words.filter(|word| word.chars().filter(char::is_ascii_digit).count() > 16);
            assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new(), "{shown}");
            assert!(!shown.contains("0.00000000 "), "{shown}");
        }
        let objective = trained.lines().find(|line| line.starts_with("objective ")).unwrap();
        assert!(
            objective.split(' ').filter(|word| word.contains('e') && word.contains('.')).count() >= 4,
            "{objective}"
        );
    }
}
