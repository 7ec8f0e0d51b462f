//! `--thresholds tuned` is no worse than thresholds of zero, on rows that tuning has not seen.

use crate::common::{Dice, Folder};
use std::fmt::Write;

/// Rows with labels whose frequency falls, and one word per label that comes with it `sure` times in ten.
pub fn made(rows: usize, labels: u64, sure: u64, seed: u64) -> String {
    let (mut dice, mut text) = (Dice(seed), String::new());
    for _ in 0..rows {
        let mut own: Vec<u64> =
            (0..3).map(|_| dice.below(labels).min(dice.below(labels)).min(dice.below(labels))).collect();
        own.sort_unstable();
        own.dedup();
        let mut words: Vec<u64> =
            own.iter().filter(|_| dice.below(10) < sure).map(|label| 1 + label).collect();
        words.extend((0..3).map(|_| 1 + dice.below(2 * labels)));
        words.sort_unstable();
        words.dedup();
        let names: Vec<String> = own.iter().map(|label| format!("L{label}")).collect();
        let words: String = words.iter().map(|word| format!(" {word}:1")).collect();
        let _ = writeln!(text, "{}{words}", names.join(","));
    }
    text
}

fn f1(folder: &Folder, model: &str) -> [f64; 2] {
    let figures = folder.json(&format!("evaluate {model} new.svm --json --quiet"));
    ["micro_f1", "macro_f1"].map(|key| figures[key].as_f64().unwrap())
}

#[test]
fn tuned_thresholds_are_no_worse_than_none_on_three_label_sets() {
    // Frequent labels that words tell; many labels, most of them rare; labels that words hardly tell.
    for (labels, sure, seed) in [(8, 8, 1), (150, 7, 2), (20, 1, 3)] {
        let folder = Folder::with("train.svm", made(800, labels, sure, seed));
        folder.write("new.svm", made(800, labels, sure, seed + 10));
        folder.write("held.svm", made(300, labels, sure, seed + 20));
        folder.ok("train train.svm --multilabel -o plain --l2 0.003 --quiet");
        folder.ok("train train.svm --multilabel -o tuned --l2 0.003 --thresholds tuned --quiet");
        folder.ok("train train.svm --multilabel -o on_file --l2 0.003 --thresholds tuned --validation held.svm --quiet");
        let [plain, tuned, on_file] = ["plain", "tuned", "on_file"].map(|model| f1(&folder, model));
        for tuned in [tuned, on_file] {
            // The rows are others than those tuned on: half a standard error of F1 on them is chance.
            assert!(
                tuned[0] > plain[0] - 0.005 && tuned[1] > plain[1] - 0.005,
                "{labels}: {plain:?} {tuned:?}"
            );
        }
    }
}

#[test]
fn a_label_of_few_rows_is_not_given_to_most_rows() {
    let folder = Folder::with("train.svm", made(600, 150, 3, 4));
    folder.ok("train train.svm --multilabel -o tuned --l2 0.003 --thresholds tuned");
    let predicted = folder.ok("predict tuned train.svm").stdout;
    for label in 50..150 {
        let name = format!("L{label}");
        let given = predicted.lines().filter(|line| line.split(',').any(|other| other == name)).count();
        assert!(given < 60, "{name} is given to {given} of 600 rows");
    }
}

#[test]
fn the_note_says_what_tuning_gains_and_too_few_rows_are_not_tuned_on() {
    let folder = Folder::with("train.svm", made(400, 8, 6, 5));
    let told = folder.ok("train train.svm --multilabel -o m --l2 0.003 --thresholds tuned").stderr;
    assert!(told.contains("thresholds tuned on 400 held-out rows: micro-F1 there is"), "{told}");
    folder.write("few.svm", made(20, 3, 9, 6));
    let told = folder.ok("train few.svm --multilabel -o m --l2 0.003 --thresholds tuned").stderr;
    assert!(told.contains("warning: thresholds are 0"), "{told}");
}
