//! Progress on standard error.

use crate::common::{Folder, classes, text};

#[test]
fn the_running_loss_of_a_few_rows_is_theirs_and_not_zero() {
    let folder = Folder::with("few.svm", text(&classes(6, 10, 1)));
    let said = folder.ok("train few.svm --eta0 0.01 --progress lines").stderr;
    let loss = |line: &str| line.split("loss ").nth(1)?.split(' ').next()?.parse::<f64>().ok();
    let shown: Vec<f64> = said.lines().filter(|line| line.contains("epoch ")).filter_map(loss).collect();
    assert!(!shown.is_empty());
    assert!(shown.iter().all(|loss| (loss - 2f64.ln()).abs() < 0.1), "no step goes far from log 2:\n{said}");
}
