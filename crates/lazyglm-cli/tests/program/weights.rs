//! Sample weights and class weights.

use crate::common::{Folder, Row, classes, close, logistic, numbers, text};

const FLAGS: &str = "--precision f64 --l1 0.001 --l2 0.001";

fn lines(weights: &[f64]) -> String {
    weights.iter().map(|w| format!("{w:?}\n")).collect()
}

/// Rows and uneven weights for them.
fn weighted() -> (Vec<Row>, Vec<f64>) {
    (classes(120, 30, 1), (0..120).map(|i| [0.5, 1.0, 3.0, 0.125, 7.0][i % 5]).collect())
}

/// The model of these rows with these weights.
fn model_of(rows: &str, weights: Option<&[f64]>, flags: &str) -> Vec<u8> {
    let folder = Folder::with("data.svm", rows);
    let weights = weights.map(|weights| folder.write("w", lines(weights)));
    let with = if weights.is_some() { "--sample-weights w" } else { "" };
    folder.ok(&format!("train data.svm -o m {FLAGS} {with} {flags}"));
    folder.read("m")
}

#[test]
fn a_row_of_weight_zero_is_as_if_absent() {
    let (rows, mut weights) = weighted();
    for i in [0, 17, 18, 119] {
        weights[i] = 0.0;
    }
    let kept = |i: &usize| weights[*i] > 0.0;
    let fewer: Vec<Row> = (0..120).filter(kept).map(|i| rows[i].clone()).collect();
    let fewer_weights: Vec<f64> = (0..120).filter(kept).map(|i| weights[i]).collect();
    for flags in [
        "",
        "--class-weight balanced",
        "--order sequential",
        "--validation 0.2",
        "--update table --method sgd",
    ] {
        let with = model_of(&text(&rows), Some(&weights), flags);
        assert!(with == model_of(&text(&fewer), Some(&fewer_weights), flags), "{flags}");
    }
}

#[test]
fn what_is_written_in_a_row_of_weight_zero_does_not_matter() {
    let rows = "1 1:1 3:2\n-1 2:1\n1 1:2\n-1 3:1\n";
    let plain = model_of(rows, None, "");
    let one = [1.0, 1.0, 1.0, 1.0, 0.0];
    assert!(model_of(&format!("{rows}1 2:1\n"), Some(&one), "") == plain, "an ordinary row");
    assert!(model_of(&format!("{rows}5 2:1\n"), Some(&one), "") == plain, "a third target");
    assert!(model_of(&format!("{rows}1 2:1 3:0\n"), Some(&one), "") == plain, "an explicit zero");
}

#[test]
fn features_that_occur_in_rows_of_weight_zero_alone_are_as_if_absent_too() {
    let rows = "1 1:1 3:2\n-1 2:1\n1 1:2\n-1 3:1\n";
    let plain = model_of(rows, None, "");
    let one = [1.0, 1.0, 1.0, 1.0, 0.0];
    assert!(model_of(&format!("{rows}1 9:1\n"), Some(&one), "") == plain, "the highest feature");
    assert!(model_of(&format!("{rows}1 0:1\n"), Some(&one), "") == plain, "a feature 0");
}

#[test]
fn a_word_as_the_target_of_a_row_of_weight_zero_does_not_turn_numbers_into_words() {
    let rows = "9 1:1 3:2\n10 2:1\n9 1:2\n10 3:1\n"; // as words, 10 comes before 9
    let weights = [1.0, 1.0, 1.0, 1.0, 0.0];
    assert!(model_of(&format!("{rows}junk 2:1\n"), Some(&weights), "") == model_of(rows, None, ""));
}

#[test]
fn only_the_ratio_of_weights_matters() {
    let (rows, weights) = weighted();
    let rows = text(&rows);
    let scaled = |factor: f64| weights.iter().map(|w| w * factor).collect::<Vec<_>>();
    let plain = model_of(&rows, Some(&weights), "");
    assert!(model_of(&rows, Some(&scaled(4.0)), "") == plain, "a power of two changes no bit");
    assert!(model_of(&rows, Some(&[3.0; 120]), "") == model_of(&rows, None, ""), "equal weights are none");
    assert!(plain != model_of(&rows, None, ""), "others are not");

    let folder = Folder::with("data.svm", &rows);
    folder.write("a", lines(&weights));
    folder.write("b", lines(&scaled(1e-3)));
    for weights in ["a", "b"] {
        folder.ok(&format!("train data.svm -o m{weights} {FLAGS} --sample-weights {weights}"));
    }
    let (a, b) = (folder.weights("ma"), folder.weights("mb"));
    assert!(close(a.0, b.0, 1e-12) && a.1.len() == b.1.len());
    assert!(a.1.iter().zip(&b.1).all(|(a, b)| a.0 == b.0 && close(a.1, b.1, 1e-12)));
}

#[test]
fn the_loss_is_the_weighted_mean() {
    let (rows, weights) = weighted();
    let folder = Folder::with("data.svm", text(&rows));
    folder.write("w", lines(&weights));
    let report = folder.json(&format!("train data.svm -o m {FLAGS} --sample-weights w --json"));
    let scores = folder.scores("m", "data.svm");
    let total: f64 = (0..120).map(|i| weights[i] * logistic(rows[i].0 * scores[i])).sum();
    let loss = total / weights.iter().sum::<f64>();
    assert!(close(report["loss"].as_f64().expect("a number"), loss, 1e-12));
}

#[test]
fn class_weights_are_the_sample_weights_of_their_rows() {
    let rows = classes(120, 30, 1);
    let positives = rows.iter().filter(|(y, _)| *y > 0.0).count() as f64;
    assert!(positives != 60.0);
    let each = |negative: f64, positive: f64| -> Vec<f64> {
        rows.iter().map(|(y, _)| if *y > 0.0 { positive } else { negative }).collect()
    };
    let check = |flags: &str, weights: Vec<f64>| {
        let by_class = model_of(&text(&rows), None, flags);
        assert!(by_class == model_of(&text(&rows), Some(&weights), ""), "{flags}");
        assert!(by_class != model_of(&text(&rows), None, ""), "{flags}");
    };
    check("--class-weight -1=1,1=5", each(1.0, 5.0));
    check("--class-weight 1=5,-1=1", each(1.0, 5.0));
    check("--class-weight +1=5,-1.0=1", each(1.0, 5.0));
    check("--class-weight=-1=0.5", each(0.5, 1.0));
    check("--class-weight balanced", each(120.0 / (2.0 * (120.0 - positives)), 120.0 / (2.0 * positives)));

    let words = text(&rows).replace("-1 ", "ham ").replace("\n1 ", "\nspam ").replacen(
        "1 ",
        "spam ",
        usize::from(rows[0].0 > 0.0),
    );
    let by_word = model_of(&words, None, "--class-weight ham=1,spam=5");
    assert!(by_word == model_of(&words, Some(&each(1.0, 5.0)), ""));
}

#[test]
fn sample_and_class_weights_multiply() {
    let (rows, weights) = weighted();
    let both: Vec<f64> =
        rows.iter().zip(&weights).map(|((y, _), w)| if *y > 0.0 { 4.0 * w } else { *w }).collect();
    let found = model_of(&text(&rows), Some(&weights), "--class-weight 1=4");
    assert!(found == model_of(&text(&rows), Some(&both), ""));
}

#[test]
fn bad_sample_weights_are_refused_with_their_place() {
    let folder = Folder::with("data.svm", "1 1:1\n-1 2:1\n1 1:2\n");
    folder.write("old", "an old model");
    let train = "train data.svm -o old --sample-weights";
    for (weights, place) in [
        ("1\nnan\n1\n", "w:2:1"),
        ("1\n1\ninf\n", "w:3:1"),
        ("1\n1e999\n1\n", "w:2:1"),
        ("-1\n1\n1\n", "w:1:1"),
        ("1\n\nword\n1\n", "w:3:1"),
        ("1 2\n1\n1\n", "w:1:1"),
    ] {
        folder.write("w", weights);
        folder.refuses(&format!("{train} w"), 1, &[place]);
    }
    for (weights, parts) in
        [("1\n1\n", ["2", "3 rows"]), ("1\n1\n1\n1\n", ["4", "3 rows"]), ("", ["0", "3 rows"])]
    {
        folder.write("w", weights);
        folder.refuses(&format!("{train} w"), 1, &parts);
    }
    folder.write("w", "0\n0\n0\n");
    folder.refuses(&format!("{train} w"), 1, &["all", "0"]);
    folder.write("w", "1\n0\n1\n");
    folder.refuses(&format!("{train} w"), 1, &["one class only"]);
    folder.write("w", b"1\n\xff\n1\n");
    folder.refuses(&format!("{train} w"), 1, &["w"]);
    folder.refuses(&format!("{train} gone"), 1, &["gone"]);
}

#[test]
fn class_weights_that_make_no_sense_are_wrong_calls() {
    let folder = Folder::with("data.svm", "ham 1:1\nspam 2:1\n");
    folder.refuses("train data.svm --class-weight spma=2", 2, &["spma", "did you mean 'spam'?"]);
    for weights in ["spam", "spam=x", "spam=-1", "spam=nan", "spam=inf", "spam=1,,ham=2", "balancd", "spam=0"]
    {
        folder.refuses(&format!("train data.svm --class-weight {weights}"), 2, &["weight"]);
    }
    folder.write("numbers.svm", text(&numbers(20, 5, 1)));
    folder.refuses("train numbers.svm --class-weight balanced", 2, &["squared", "--sample-weights"]);
}
