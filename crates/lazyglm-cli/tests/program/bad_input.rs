//! Bad data end with exit 1 and a message that names the place, and leave every file as it was.

use crate::common::{Folder, classes, finish, numbers, text};
use std::io::Write;

/// A folder with good data, a model of them, and an old model in the place where training is told to write.
fn folder() -> Folder {
    let folder = Folder::with("good.svm", text(&classes(50, 10, 1)));
    folder.ok("train good.svm -o m");
    folder.ok("train good.svm -o old --seed 7");
    folder
}

/// Every verb that reads data refuses these.
fn refused_by_all(folder: &Folder, bad: impl AsRef<[u8]>, parts: &[&str]) {
    folder.write("bad.svm", bad);
    for line in [
        "train bad.svm",
        "train bad.svm -o old",
        "train bad.svm -o new --json",
        "train bad.svm -o new --loss squared --quiet",
        "train good.svm --validation bad.svm -o new",
        "evaluate m bad.svm --json",
        "predict m bad.svm -o new",
    ] {
        folder.refuses(line, 1, parts);
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = folder();
    for line in
        ["train gone.svm -o old", "predict m gone.svm -o new", "evaluate m gone.svm", "predict gone.svm m"]
    {
        folder.refuses(line, 1, &["gone.svm"]);
    }
    folder.refuses("inspect gone.svm", 1, &["gone.svm", "train"]);
}

#[test]
fn a_folder_is_no_file() {
    let folder = folder();
    std::fs::create_dir(folder.path("dir")).expect("a folder");
    for line in ["train dir -o old", "predict m dir", "evaluate m dir", "predict dir good.svm", "inspect dir"]
    {
        folder.refuses(line, 1, &["dir"]);
    }
    folder.refuses("train good.svm -o dir", 1, &["dir"]);
    folder.refuses("predict m good.svm -o dir", 1, &["dir"]);
}

#[test]
fn a_model_that_cannot_be_written_is_refused_before_the_work() {
    let folder = folder();
    folder.refuses("train good.svm -o nowhere/m", 1, &["nowhere/m"]);
    folder.refuses("train gone.svm -o nowhere/m", 1, &["nowhere/m"]);
    folder.refuses("predict m good.svm -o nowhere/out", 1, &["nowhere/out"]);
}

#[test]
fn a_file_without_rows_is_refused() {
    let folder = folder();
    for empty in ["", "\n", "\r\n \n", "# only\n# comments\n"] {
        refused_by_all(&folder, empty, &["bad.svm", "no rows"]);
    }
}

#[test]
fn one_class_only_is_refused() {
    let folder = folder();
    for data in ["1 1:1\n1 2:1\n", "1 1:1\n", "+1 1:1\n1.0 2:1\n", "spam 1:1\nspam 2:1\n"] {
        folder.write("bad.svm", data);
        folder.refuses("train bad.svm -o old", 1, &["bad.svm", "one class only"]);
        folder.refuses("train bad.svm -o new --loss hinge", 1, &["bad.svm", "one class only"]);
    }
}

#[test]
fn nan_and_infinity_are_refused_wherever_they_stand() {
    let folder = folder();
    for word in ["nan", "NaN", "inf", "-inf", "+Infinity", "1e999", "-1e309"] {
        refused_by_all(
            &folder,
            format!("1 1:1\n-1 2:1 3:{word}\n"),
            &["bad.svm:2:10", "feature 3", "not finite"],
        );
        refused_by_all(&folder, format!("# c\n\n{word} 1:1\n"), &["bad.svm:3:1", word, "not finite"]);
    }
    refused_by_all(&folder, "spam 1:1\nnan 1:1\n", &["bad.svm:2:1", "not finite"]);
    refused_by_all(&folder, "1 1:1\n-1 7:1e308 7:1e308\n", &["bad.svm:2", "feature 7", "infinity"]);
}

#[test]
fn a_malformed_pair_is_refused_with_its_line_and_column() {
    let folder = folder();
    for (data, place) in [
        ("1 5\n", "bad.svm:1:3"),
        ("1 1:1 5 6:1\n", "bad.svm:1:7"),
        ("1 1:\n", "bad.svm:1:5"),
        ("1 1: 2\n", "bad.svm:1:5"),
        ("1 :1\n", "bad.svm:1:3"),
        ("1 a:1\n", "bad.svm:1:3"),
        ("1 1.5:1\n", "bad.svm:1:3"),
        ("1 +1:1\n", "bad.svm:1:3"),
        ("1 1:1:1\n", "bad.svm:1:5"),
        ("1 1:x\n", "bad.svm:1:5"),
        ("1 1:0x10\n", "bad.svm:1:5"),
        ("1 1:1,5\n", "bad.svm:1:5"),
        ("1 1:--1\n", "bad.svm:1:5"),
        ("1 1:1\r\n# two\r\n\r\n-1   3:1 2;1\r\n", "bad.svm:4:10"),
        ("1 1:1\n-1\t2:1\t3:1_0", "bad.svm:2:10"),
    ] {
        refused_by_all(&folder, data, &[place, "index:value"]);
    }
}

#[test]
fn an_index_that_is_negative_or_overflows_is_refused_by_name() {
    let folder = folder();
    refused_by_all(&folder, "1 1:1\n-1 1:1 -3:1\n", &["bad.svm:2:8", "-3", "negative"]);
    for index in ["4294967296", "9999999999", "18446744073709551617", "123456789012345678901234567890"] {
        refused_by_all(&folder, format!("1 1:1\n-1 {index}:1\n"), &["bad.svm:2:4", index, "4294967295"]);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let folder = folder();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    refused_by_all(&folder, png, &["bad.svm:1:1", "0x89", "not text"]);
    refused_by_all(&folder, b"1 1:1\n\xfe\xff 1:1\n", &["bad.svm:2:1", "0xfe"]);
    refused_by_all(&folder, b"1 1:1\n-1 \xc3:1\n", &["bad.svm:2:4", "0xc3"]);
    refused_by_all(&folder, b"1 1:1\n-1 1:\xc3\n", &["bad.svm:2:6", "0xc3"]);
    refused_by_all(&folder, b"1 1:1\n-1 1:1\0 2:1\n", &["bad.svm:2:7", "0x00"]);
    refused_by_all(&folder, b"1 1:1\n-\x001 1:1\n", &["bad.svm:2:2", "0x00"]);
    refused_by_all(&folder, b"1 1:1\n# caf\xe9\n", &["bad.svm:2:6", "0xe9"]);
    refused_by_all(&folder, folder.read("m"), &["bad.svm:1", "not text"]);
    folder.write("bad.svm", "çà 1:1\nnaïve 2:1\n");
    folder.ok("train bad.svm"); // words need not be ASCII
}

#[test]
fn bytes_that_are_no_text_are_refused_in_what_is_passed_over_too() {
    let folder = folder();
    refused_by_all(&folder, b"1 1:1\n-1 2:1 # caf\xe9\n", &["bad.svm:2:13", "0xe9"]);
    refused_by_all(&folder, b"1 1:1\n-1 qid:\xe9 2:1\n", &["bad.svm:2:8", "0xe9"]);
}

#[test]
fn a_gzip_or_zstd_cut_short_anywhere_is_refused() {
    let folder = folder();
    let data = folder.read("good.svm");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&data).expect("memory");
    let gzip = encoder.finish().expect("memory");
    let zstd = zstd::encode_all(&data[..], 3).expect("memory");
    for whole in [gzip, zstd] {
        let lengths = (2..whole.len()).filter(|n| *n < 24 || *n > whole.len() - 12 || n % 37 == 0);
        for length in lengths {
            folder.write("bad.svm", &whole[..length]);
            folder.refuses("train bad.svm -o old", 1, &["bad.svm"]);
            folder.refuses("predict m bad.svm -o new", 1, &["bad.svm"]);
            folder.refuses("evaluate m bad.svm", 1, &["bad.svm"]);
        }
        refused_by_all(&folder, &whole[..whole.len() / 2], &["bad.svm", "cut short"]);
    }
}

#[test]
fn a_damaged_gzip_is_refused() {
    let folder = folder();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(&folder.read("good.svm")).expect("memory");
    let mut gzip = encoder.finish().expect("memory");
    let at = gzip.len() - 6; // in the check sum
    gzip[at] ^= 1;
    refused_by_all(&folder, &gzip, &["bad.svm", "damaged"]);
}

#[test]
fn a_target_that_does_not_fit_the_loss_or_the_model_is_refused_with_its_line() {
    let folder = folder();
    folder.write("bad.svm", "1 1:1\n# comment\n-2 1:1\n3 1:1\n");
    folder.refuses("train bad.svm --loss poisson -o old", 1, &["bad.svm:3", "-2", "poisson"]);
    folder.refuses("train bad.svm --loss gamma -o old", 1, &["bad.svm:3", "-2", "gamma", "more than 0"]);
    let told = folder.ok("evaluate m bad.svm").stderr;
    assert!(told.contains("warning:") && told.contains("'-2' at bad.svm:3"), "{told}");
    folder.write("bad.svm", "1 1:1\nspam 1:1\n");
    folder.refuses("train bad.svm --loss squared -o old", 1, &["bad.svm:2", "'spam'", "squared"]);
    let told = folder.ok("evaluate m bad.svm").stderr;
    assert!(told.contains("warning:") && told.contains("'spam' at bad.svm:2"), "{told}");
}

/// The step at which plain SGD in f64, with a constant rate and no penalty, first meets a score that is not finite.
fn diverges_at(rows: &[crate::common::Row], eta: f64) -> usize {
    let (mut w, mut b) = ([0.0; 11], 0.0);
    for t in 0.. {
        let (y, row) = &rows[t % rows.len()];
        let score: f64 = row.iter().map(|&(j, x)| w[j as usize] * x).sum::<f64>() + b;
        if !score.is_finite() {
            return t;
        }
        let slope = score - y;
        row.iter().for_each(|&(j, x)| w[j as usize] -= eta * slope * x);
        b -= eta * slope;
    }
    unreachable!("it diverges")
}

#[test]
fn a_diverging_run_names_the_row_and_the_step_and_writes_no_model() {
    let rows = numbers(100, 10, 1);
    let folder = Folder::with("data.svm", format!("# a head\n{}", text(&rows)));
    folder.write("old", "an old model");
    let run = "train data.svm --loss squared --schedule constant --order sequential --quiet";
    for eta0 in [30.0, 1000.0] {
        let step = diverges_at(&rows, eta0);
        let exact = [format!("data.svm:{} ", step % 100 + 2), format!("step {step}"), "--eta0".into()];
        let exact: Vec<&str> = exact.iter().map(String::as_str).collect();
        folder.refuses(&format!("{run} --eta0 {eta0} --l1 0 --l2 0 --update dense -o old"), 1, &exact);
        for update in
            ["lazy --precision f32", "lazy --precision f64", "table", "dense", "dense-sparse-predict"]
        {
            for method in ["--method fobos --l1 0 --l2 0", "--method sgd --l1 1e-3 --l2 1e-6"] {
                let flags = format!("--eta0 {eta0} --update {update} {method}");
                for line in [format!("{run} -o old {flags}"), format!("{run} -o new --json {flags}")] {
                    folder.refuses(&line, 1, &["data.svm:", "step ", "--eta0"]);
                }
            }
        }
    }
}

#[test]
fn values_too_large_for_the_arithmetic_never_give_a_model_that_is_not_finite() {
    for value in ["1e38", "1e39", "1e150", "1e200", "1e300", "-1.7e308"] {
        for loss in ["logistic", "squared", "hinge"] {
            for precision in ["f32", "f64"] {
                let folder =
                    Folder::with("data.svm", format!("1 1:{value} 2:1\n-1 2:{value}\n1 1:1\n-1 2:1\n"));
                let line = format!("train data.svm -o m --loss {loss} --precision {precision} --json");
                let output = finish(&mut folder.command(&line));
                assert!(!output.stderr.contains("panicked"), "{line}, value {value}: {}", output.stderr);
                match output.code {
                    0 => {
                        let (bias, weights) = folder.weights("m");
                        assert!(bias.is_finite() && weights.iter().all(|(_, w)| w.is_finite()));
                        let report: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
                        assert!(report["objective"].is_number(), "{line}, value {value}: {report}");
                    }
                    code => {
                        assert_eq!(
                            (code, folder.files()),
                            (1, vec!["data.svm".to_string()]),
                            "{line}, value {value}"
                        );
                        assert!(output.stderr.contains("data.svm"), "{}", output.stderr);
                    }
                }
            }
        }
    }
}
