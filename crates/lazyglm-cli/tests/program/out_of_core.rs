//! The optimum for rows on disk: `--solver newton` and `auto` with `--memory`.

use crate::common::{Folder, close, text};
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
}
