//! Offsets of rows: given in a file, a column or the base of Vowpal Wabbit text, to every verb that scores rows.

use crate::common::{Folder, close, numbers, text};

const FLAGS: &str = "--precision f64 --l1 0.001 --l2 0.001";

fn offsets(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| [0.5, -1.0, 0.0, 2.25][i % 4]).collect()
}

fn lines(numbers: &[f64]) -> String {
    numbers.iter().map(|number| format!("{number:?}\n")).collect()
}

/// 200 rows of numbers, with offsets in a file.
fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&numbers(200, 30, 3)));
    folder.write("o", lines(&offsets(200)));
    folder
}

#[test]
fn scores_and_metrics_are_with_the_offset() {
    let folder = folder();
    let report = folder.json(&format!("train data.svm --offset o -o m {FLAGS} --json"));
    let (bare, shown) =
        (folder.ok("predict m data.svm --as score"), folder.ok("predict m data.svm --offset o --as score"));
    assert!(
        bare.stderr.contains("warning:") && bare.stderr.contains("scores are without the offset"),
        "{}",
        bare.stderr
    );
    assert_eq!(shown.stderr, "");
    let number = |line: &str| line.parse::<f64>().expect("a number");
    let scores: Vec<(f64, f64)> =
        bare.stdout.lines().map(number).zip(shown.stdout.lines().map(number)).collect();
    assert_eq!(scores.len(), 200);
    assert!(scores.iter().zip(offsets(200)).all(|((bare, shown), offset)| close(
        bare + offset,
        *shown,
        1e-12
    )));
    let evaluated = folder.json("evaluate m data.svm --offset o --json");
    assert!(close(evaluated["loss"].as_f64().unwrap(), report["loss"].as_f64().unwrap(), 1e-9));
    let bare = folder.ok("evaluate m data.svm --json");
    assert!(bare.stderr.contains("scores are without the offset"));
    assert!(folder.ok("evaluate m data.svm --silence offsets").stderr.is_empty());
    folder.ok(&format!("train data.svm -o plain {FLAGS}"));
    assert!(folder.ok("predict plain data.svm").stderr.is_empty(), "a model without offsets needs none");
}

#[test]
fn targets_minus_offsets_give_the_same_model() {
    let folder = folder();
    let rows = numbers(200, 30, 3);
    let rest: Vec<_> = rows.into_iter().zip(offsets(200)).map(|((y, row), o)| (y - o, row)).collect();
    folder.write("rest.svm", text(&rest));
    for flags in ["", "--solver sgd --eta0 0.01 --validation 0.2", "--solver ftrl --eta0 0.1"] {
        folder.ok(&format!("train data.svm --loss squared --offset o -o a {FLAGS} {flags}"));
        folder.ok(&format!("train rest.svm --loss squared -o b {FLAGS} {flags}"));
        let (a, b) = (folder.weights("a"), folder.weights("b"));
        assert!(close(a.0, b.0, 1e-6) && a.1.len() == b.1.len(), "{flags}");
        assert!(a.1.iter().zip(&b.1).all(|(a, b)| a.0 == b.0 && close(a.1, b.1, 1e-4)), "{flags}");
    }
    // The optimum of each penalty, and lanes of SGD.
    for steps in ["", "--eta0 0.01"] {
        let grid =
            format!("--l1 0.001,0.01 --l2 0.001 --loss squared --precision f64 {steps} --json --quiet");
        for (verb, figure) in [("tune", "mean"), ("path", "objective")] {
            let [a, b] =
                ["data.svm --offset o", "rest.svm"].map(|data| folder.json(&format!("{verb} {data} {grid}")));
            let figures = |of: &serde_json::Value| -> Vec<f64> {
                let points = of["points"].as_array().expect("a list");
                points.iter().map(|point| point[figure].as_f64().expect("a number")).collect()
            };
            let (a, b) = (figures(&a), figures(&b));
            assert!(a.len() == b.len() && a.len() >= 2, "{verb} {steps}");
            assert!(a.iter().zip(&b).all(|(a, b)| close(*a, *b, 1e-3)), "{verb} {steps}: {a:?} {b:?}");
        }
    }
}

#[test]
fn certify_takes_offsets_as_training_did() {
    let folder = folder();
    let trained = folder.json(&format!("train data.svm --offset o -o m {FLAGS} --json --quiet"));
    let proved = folder.json("certify m data.svm --offset o --json");
    let figure = |of: &serde_json::Value, name: &str| of[name].as_f64().expect("a number");
    for name in ["objective", "dual"] {
        assert!(close(figure(&trained, name), figure(&proved, name), 1e-9), "{name}");
    }
    let without = folder.ok("certify m data.svm --json");
    assert!(without.stderr.contains("rows had offsets in training"), "{}", without.stderr);
}

#[test]
fn a_column_and_the_base_need_no_flag_in_prediction() {
    let folder = Folder::new();
    let row = |i: usize| (i % 2, i % 5, offsets(60)[i]);
    let csv: String = (0..60).map(row).map(|(y, x, o)| format!("{y},{x},{o}\n")).collect();
    folder.write("a.csv", format!("y,x,o\n{csv}"));
    let vw: String = (0..60).map(row).map(|(y, x, o)| format!("{y} 1 {o} | x:{x}\n")).collect();
    folder.write("a.vw", vw);
    folder.ok(&format!("train a.csv --offset-column o -o c {FLAGS}"));
    folder.ok(&format!("train a.vw -o v {FLAGS}"));
    let [c, v] = [folder.ok("predict c a.csv"), folder.ok("predict v a.vw")];
    assert_eq!((&c.stdout, c.stderr.as_str(), v.stderr.as_str()), (&v.stdout, "", ""));
    let bare: String = (0..60).map(row).map(|(y, x, _)| format!("{y},{x}\n")).collect();
    folder.write("bare.csv", format!("y,x\n{bare}"));
    folder.write("o", lines(&offsets(60)));
    assert!(folder.ok("predict c bare.csv").stderr.contains("scores are without the offset"));
    assert_eq!(folder.ok("predict c bare.csv --offset o").stdout, c.stdout);
    folder.ok("convert a.csv b.vw --offset-column o");
    assert_eq!(folder.ok("predict v b.vw").stdout, c.stdout, "vw holds offsets");
    assert!(folder.ok("convert a.vw b.jsonl").stderr.contains("45 rows have offsets of their own"));
    assert!(folder.ok("stats a.vw").stderr.contains("rows have offsets"));
}

#[test]
fn bad_offsets_are_refused_with_their_place() {
    let folder = Folder::with("data.svm", "1 1:1\n2 2:1\n4 1:2\n");
    folder.ok("train data.svm -o m");
    for verb in ["train data.svm", "predict m data.svm -o out", "evaluate m data.svm", "certify m data.svm"] {
        for (offsets, parts) in [
            ("1\nnan\n1\n", ["w:2:1: 'nan' is not a finite number", "one offset per line"]),
            ("1\n1\ninf\n", ["w:3:1", "'inf'"]),
            ("1\n\nword\n1\n", ["w:3:1: 'word' is not a finite number", "one offset per line"]),
            ("1\n1\n", ["there are 2 offsets for the 3 rows of data.svm", "one offset a row"]),
            ("1\n1\n1\n1\n", ["there are 4 offsets for the 3 rows of data.svm", "one offset a row"]),
        ] {
            folder.write("w", offsets);
            folder.refuses(&format!("{verb} --offset w"), 1, &parts);
        }
        folder.refuses(&format!("{verb} --offset gone"), 1, &["gone"]);
    }
    folder.write("w", "0\n1\n2\n");
    folder.refuses("train data.svm --offset w --validation data.svm", 2, &["--offset", "--offset-column"]);
    folder.refuses("train data.svm --offset-column o", 2, &["--offset-column has no meaning for svmlight"]);
    folder.write("classes.svm", "a 1:1\nb 2:1\nc 3:1\n");
    folder.refuses(
        "train classes.svm --offset w",
        2,
        &["--offset is not for more than two classes", "changes no probability"],
    );
    folder.write("classes.vw", "a 1 0.5 | x\nb 1 0.5 | y\nc 1 0.5 | z\n");
    for verb in ["train", "path"] {
        folder.refuses(&format!("{verb} classes.vw"), 2, &["--offset is not for more than two classes"]);
    }
    folder.ok("train classes.svm -o heads");
    folder.refuses("predict heads classes.svm --offset w", 2, &["--offset", "more than two classes"]);
    folder.refuses("evaluate heads classes.svm --offset w", 2, &["--offset", "more than two classes"]);
}

#[test]
fn rows_on_disk_have_the_offsets_of_the_data() {
    let folder = Folder::new();
    let row = |i: usize| {
        format!(
            "{} 1 0.5 | {}\n",
            i % 2,
            (0..100).map(|k| format!("f{}:{} ", (i * 31 + k * 7) % 500, k + 1)).collect::<String>()
        )
    };
    folder.write("a.vw", (0..20_000).map(row).collect::<String>());
    folder.write("o", "0.5\n".repeat(20_000));
    folder.refuses(
        "train a.vw --memory 30M --offset o",
        2,
        &["--offset with more rows than --memory holds", "--offset-column"],
    );
    // Two million rows do not fit, whatever is in them: that is said before the data are read, which have a mistake.
    folder.write("long", "0.5\n".repeat(2_000_000));
    folder.write("bad.svm", "1 1:x\n");
    for (flag, more) in [("--offset", "--offset-column"), ("--sample-weights", "Vowpal Wabbit")] {
        let expected = format!("{flag} with more rows than --memory holds");
        folder.refuses(&format!("train bad.svm --memory 30M {flag} long"), 2, &[&expected, more]);
    }
    let flags = "--solver sgd --epochs 1 --eta0 0.0001 --order sequential --l1 1e-4";
    let [disk, memory] = ["30M", "400M"]
        .map(|room| folder.json(&format!("train a.vw --memory {room} {flags} -o m{room} --json")));
    assert!(folder.ok("inspect m30M --json").stdout.contains("offsets"));
    for key in ["objective", "baseline", "loss"] {
        let [disk, memory] = [&disk, &memory].map(|report| report[key].as_f64().expect("a number"));
        assert!(close(disk, memory, 1e-9), "{key}: {disk} {memory}");
    }
}
