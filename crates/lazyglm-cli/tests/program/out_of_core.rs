//! The optimum for rows on disk: `--solver newton` and `auto` with `--memory`.

use crate::common::{Folder, close, in_format, text};
use crate::memory::{LITTLE, figure, many};

#[test]
fn the_optimum_of_rows_on_disk_is_certified_as_in_memory() {
    let folder = Folder::with("data.svm", text(&many(true)));
    for flags in [
        "--l1 1e-3 --l2 1e-3",
        "--l1 1e-3 --l2 0 --class-weight balanced",
        "--l1 1e-2 --loss squared --no-bias",
    ] {
        let line = format!("train data.svm -o m --solver newton --tolerance 1e-4 --precision f64 {flags}");
        let whole = folder.json(&format!("{line} --json --quiet"));
        let told = folder.ok(&format!("{line} --memory 60M"));
        assert!(
            told.stderr.contains("windows")
                && told.stderr.contains("note: rows on disk: Newton's method on "),
            "{}",
            told.stderr
        );
        assert!(told.stdout.contains("proved") && told.stdout.contains("duality gap"), "{}", told.stdout);
        let windows = folder.json(&format!("{line} --memory 60M --json --quiet"));
        let (f, best) = (figure(&windows, "objective"), figure(&whole, "objective"));
        assert!(figure(&windows, "relative_gap") <= 1e-4 && (f / best - 1.0).abs() <= 1.1e-4, "{f} {best}");
        assert!(figure(&windows, "passes") <= 8.0, "{windows}");
        let proved = folder.json(&format!(
            "certify m data.svm --json {}",
            flags.replace("--loss squared", "").replace("--no-bias", "")
        ));
        assert!(close(figure(&proved, "objective") / f, 1.0, 1e-6), "{proved}");
    }
}

#[test]
fn without_memory_for_columns_newton_is_another_solver() {
    let folder = Folder::with("data.svm", text(&many(false)));
    let told = folder
        .ok(&format!("train data.svm -o m --solver newton --l1 1e-3 --l2 1e-3 --tolerance 1e-2 {LITTLE}"));
    assert!(
        told.stderr.contains("do not fit into memory") && told.stderr.contains("SVRG"),
        "{}",
        told.stderr
    );
    // The default solver with a given penalty takes the same way.
    let line = "train data.svm --l1 1e-3 --l2 1e-3 --tolerance 1e-3 --json --quiet";
    let (whole, windows) = (folder.json(line), folder.json(&format!("{line} {LITTLE}")));
    let (f, best) = (figure(&windows, "objective"), figure(&whole, "objective"));
    assert!(windows["solver"] == "svrg" && f < 1.002 * best, "{f} {best} {windows}");
}

#[test]
fn the_default_chooses_a_penalty_for_rows_on_disk_with_any_memory() {
    let rows = many(false);
    let folder = Folder::with("data.svm", text(&rows[..50_000]));
    folder.write("held_out.svm", text(&rows[50_000..]));
    let loss = |memory: &str| {
        let report = folder.json(&format!("train data.svm -o m --json --quiet {memory}"));
        let chosen = report["tried"].as_array().unwrap().iter().filter(|point| point["chosen"] == true);
        assert_eq!(chosen.count(), 1, "{memory}: {report}");
        figure(&folder.json("evaluate m held_out.svm --json"), "loss")
    };
    let whole = loss("");
    for memory in [LITTLE, "--memory 32M", "--memory 40M"] {
        let windows = loss(memory);
        assert!(windows < 1.05 * whole, "{memory}: {windows} {whole}");
    }
}

#[test]
fn a_model_of_any_solver_has_a_certificate_for_rows_on_disk() {
    let folder = Folder::with("data.svm", text(&many(false)));
    for flags in ["--l1 1e-3 --l2 1e-3", "--l1 1e-3 --l2 0", "--l1 1e-3 --l2 1e-3 --class-weight balanced"] {
        for solver in ["sgd", "ftrl", "svrg"] {
            let line = format!("train data.svm -o m --solver {solver} {flags} --epochs 2 {LITTLE}");
            let report = folder.json(&format!("{line} --json --quiet"));
            let proved = folder.json(&format!("certify m data.svm --json {flags}"));
            let (f, gap) = (figure(&report, "objective"), figure(&report, "relative_gap"));
            assert!(close(figure(&proved, "objective") / f, 1.0, 1e-6), "{solver} {flags}: {proved}");
            let whole = figure(&proved, "relative_gap");
            // Without l2, the bound in memory satisfies the constraints of columns one by one.
            let most = if flags.contains("--l2 0") { 0.5 } else { 8.0 * whole + 1e-6 };
            assert!(gap > 0.0 && gap <= most && whole <= 1.5 * gap, "{solver} {flags}: {gap} {whole}");
            assert!(folder.ok(&line).stdout.contains("lower bound") || gap > 0.09, "{solver} {flags}");
        }
    }
}

/// Without memory for columns, a loss with kinks is learnt by FTRL-Proximal: its distance from the optimum is not known to be
/// small, and a lower bound far below says nothing about a model that was chosen by its held-out loss.
#[test]
fn a_model_of_ftrl_that_was_chosen_does_not_end_with_a_distance_from_the_optimum() {
    let folder = Folder::with("data.svm", text(&many(false)[..40_000]));
    let line = format!("train data.svm --loss hinge {LITTLE}");
    assert_eq!(folder.json(&format!("{line} --json --quiet"))["solver"], "ftrl");
    let told = folder.ok(&line);
    let (out, all) = (&told.stdout, told.stdout.clone() + &told.stderr);
    assert!(out.contains("chosen     for its held-out loss") && out.contains("not the optimum"), "{out}");
    for word in ["lower bound", "above the optimum", "the optimum is lower", "the minimum is", "of F away"] {
        assert!(!all.contains(word), "{word}: {all}");
    }
}

#[test]
fn rows_that_all_have_weight_zero_are_refused_before_anything_is_learnt() {
    let rows: String = in_format(&many(false), "vw").replace(" |", " 0 |");
    let folder = Folder::with("zero.vw", &rows);
    let words = &["zero.vw: all sample weights are 0", "give some rows a weight above 0"];
    for flags in
        ["", "--l1 1e-3", "--solver sgd", "--solver svrg --l2 1e-3", "--loss hinge", "--loss squared"]
    {
        folder.refuses(&format!("train zero.vw -o m {flags} {LITTLE}"), 1, words);
    }
    folder.refuses("train zero.vw -o m --passes 1", 1, words);
    assert!(!folder.names().contains(&"m".to_string()), "no model");
    // One row that counts is enough for a loss of numbers.
    folder.write("one.vw", rows.replacen(" 0 |", " 1 |", 1));
    folder.ok(&format!("train one.vw -o m --solver sgd --loss squared --l2 1e-3 {LITTLE}"));
}
