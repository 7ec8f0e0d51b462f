//! Reading on all cores: the same rows, the same errors, whatever the number of threads.

use crate::common::{FORMATS, Folder, bad_line, classes, in_format, text};

const THREADS: [u32; 3] = [1, 2, 8];

#[test]
fn every_format_gives_the_same_model_on_any_number_of_threads() {
    let rows = classes(80_000, 99, 1);
    for (format, file) in FORMATS {
        let rows = if format == "csv" { &rows[..18_000] } else { &rows[..] };
        let data = in_format(rows, format);
        assert!(data.len() > 2 << 20, "{format}: {} bytes are few blocks", data.len());
        let folder = Folder::with(file, data);
        let mut models = THREADS.iter().map(|threads| {
            folder.ok(&format!("train {file} -o m --epochs 1 --quiet --cache off --threads {threads}"));
            folder.read("m")
        });
        let first = models.next();
        assert!(models.all(|model| Some(&model) == first.as_ref()), "{format}");
        // So does a cache written on one number of threads and read on another.
        folder.ok(&format!("train {file} --epochs 1 --quiet --cache c1 --threads 1"));
        folder.ok(&format!("train {file} --epochs 1 --quiet --cache c8 --threads 8"));
        assert!(folder.read("c1") == folder.read("c8"), "{format}: caches differ");
        folder.ok(&format!("train {file} -o m --epochs 1 --quiet --cache c1 --threads 8"));
        assert!(Some(&folder.read("m")) == first.as_ref(), "{format}: from a cache");
    }
}

#[test]
fn hashed_features_and_words_as_targets_are_the_same_on_any_number_of_threads() {
    let rows = in_format(&classes(60_000, 99, 2), "vw");
    let words: String = rows.lines().map(|row| row.replacen("-1 ", "no ", 1) + "\n").collect();
    let folder = Folder::with("data.vw", words);
    for flags in ["", "--hash-bits 5", "--class-weight balanced"] {
        let mut models = THREADS.iter().map(|threads| {
            let line = format!(
                "train data.vw -o m --epochs 1 --cache off --threads {threads} --json --quiet {flags}"
            );
            let mut report = folder.json(&line);
            for stage in ["read", "search", "train", "evaluate", "write"] {
                report[format!("seconds_{stage}")] = 0.into();
            }
            (folder.read("m"), report.to_string())
        });
        let first = models.next();
        assert!(models.all(|model| Some(&model) == first.as_ref()), "{flags}");
    }
}

#[test]
fn the_first_error_is_the_one_reported_with_its_line_on_any_number_of_threads() {
    let rows = classes(90_000, 99, 1);
    for (format, file) in FORMATS {
        let good = in_format(if format == "csv" { &rows[..20_000] } else { &rows }, format);
        assert!(good.len() * 7 / 8 > 2 << 20, "{format}: {}", good.len());
        // Blank lines count as lines; in the third block stands a bad line, and worse ones behind it.
        let cut = good[..good.len() * 7 / 8].rfind('\n').expect("lines") + 1;
        let head = if format == "csv" { String::new() } else { "\n\n".repeat(9) };
        let mut data = [head.as_bytes(), &good.as_bytes()[..cut]].concat();
        let line = data.iter().filter(|byte| **byte == b'\n').count() + 1;
        data.extend(bad_line(format));
        data.extend(good.as_bytes()[cut..].iter());
        data.extend(b"\xff\xff\n\xff\n");
        let folder = Folder::with(file, data);
        let mut told = THREADS.iter().map(|threads| {
            let train = format!("train {file} -o m --threads {threads}");
            folder.refuses(&train, 1, &[&format!("{file}:{line}")]);
            if *threads == 1 { String::new() } else { folder.run(&train).stderr }
        });
        let two = told.nth(1);
        assert!(told.all(|error| Some(&error) == two.as_ref()), "{format}");
    }
}

#[test]
fn a_bad_line_after_a_million_good_ones_is_named() {
    let folder = Folder::with("data.svm", "1 1:1\n-1 2:1\n".repeat(500_000) + "1 1:1 x\n");
    for threads in THREADS {
        folder.refuses(&format!("train data.svm --threads {threads} --epochs 1"), 1, &["data.svm:1000001:7"]);
    }
}

#[test]
fn predictions_come_in_the_order_of_the_file_on_any_number_of_threads() {
    let folder = Folder::with("data.svm", text(&classes(90_000, 99, 4)));
    folder.ok("train data.svm -o m --epochs 1 --quiet --cache off");
    let mut printed = THREADS.iter().map(|threads| {
        let mut command = folder.command("predict m data.svm");
        let output = crate::common::finish(command.env("RAYON_NUM_THREADS", threads.to_string()));
        assert_eq!(output.code, 0, "{}", output.stderr);
        output.stdout
    });
    let first = printed.next();
    assert!(printed.all(|output| Some(&output) == first.as_ref()));
    assert_eq!(first.map(|output| output.lines().count()), Some(90_000));
}

#[test]
fn predictions_metrics_and_certificates_are_the_same_on_any_number_of_threads() {
    let folder = Folder::with("data.svm", text(&classes(60_000, 99, 1)));
    folder.ok("train data.svm -o m --l1 1e-3 --quiet --cache off");
    for line in ["predict m data.svm", "evaluate m data.svm --bootstrap 10", "certify m data.svm"] {
        let on = |threads: u32| folder.ok(&format!("{line} --quiet --threads {threads}")).stdout;
        assert!(on(1) == on(8), "{line}");
        folder.refuses(&format!("{line} -j 0"), 2, &["--threads"]);
    }
}

#[test]
fn a_variable_that_asks_for_a_million_threads_is_refused() {
    let folder = Folder::with("data.svm", text(&classes(50, 6, 1)));
    for (value, code) in [("1000000", 2), ("1025", 2), ("2", 0), ("many", 0)] {
        let mut command = folder.command("train data.svm --cache off");
        let output = crate::common::finish(command.env("RAYON_NUM_THREADS", value));
        assert_eq!(output.code, code, "{value}: {}", output.stderr);
        let told = "asks for ";
        assert_eq!(output.stderr.contains(told), code == 2, "{}", output.stderr);
    }
    folder.ok("train data.svm --cache off --threads 2");
}
