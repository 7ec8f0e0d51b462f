//! `lazyglm list`: the tables of the library, as the program prints them.

use crate::common::{Folder, classes, text};
use lazyglm::{SOLVERS, loss, schedule};

#[test]
fn every_entry_of_every_table_is_listed() {
    let folder = Folder::new();
    let solvers = folder.ok("list solvers").stdout;
    for row in SOLVERS {
        assert_eq!(solvers.matches(&format!("\n  {} ", row.solver)).count(), 2, "{}: {solvers}", row.solver);
    }
    let losses = folder.ok("list losses").stdout;
    assert!(loss::TABLE.iter().all(|entry| losses.contains(&format!("  {} (", entry.name))), "{losses}");
    let schedules = folder.ok("list schedules").stdout;
    assert!(
        schedule::TABLE.iter().all(|entry| schedules.contains(&format!("  {} ", entry.name))),
        "{schedules}"
    );
    let formats = folder.ok("list formats").stdout;
    assert!(["svmlight", "csv", "cache"].iter().all(|name| formats.contains(name)), "{formats}");
    folder.refuses("list solver", 2, &["'solvers'"]);
}

#[test]
fn what_the_table_does_not_allow_is_refused_before_the_data_are_read() {
    let folder = Folder::new(); // there are no data at all
    for (flags, parts) in [
        ("--solver svrg --loss hinge", ["without kinks", "--solver auto or --solver sgd"]),
        ("--solver svrg --loss poisson", ["bounded curvature", "--solver auto or --solver sgd"]),
        ("--solver ftrl --multiclass softmax", ["more than two classes", "--solver auto or --solver sgd"]),
        ("--solver ftrl --multilabel", ["labels", "--solver auto or --solver sgd"]),
        (
            "--multiclass ovr --solver sgd --upper 1",
            [
                "--upper is not for more than two classes",
                "leave --upper out, or use --solver auto or --solver newton",
            ],
        ),
        (
            "--multiclass ovr --solver sgd --start m",
            [
                "--start is not for more than two classes",
                "leave --start out, or use --solver auto or --solver newton",
            ],
        ),
        (
            "--multilabel --solver sgd --nonnegative",
            ["--nonnegative is not for labels", "leave --nonnegative out"],
        ),
        ("--multilabel --average", ["--average is not for labels", "leave --average out"]),
        ("--multiclass ovr --update table", ["--update is not for more than", "leave --update out"]),
        ("--multiclass softmax --thresholds tuned", ["--thresholds is for labels", "--multilabel"]),
        ("--solver svrg --schedule power", ["--schedule is not for --solver svrg", "use --solver sgd"]),
        ("--solver newton --runs 3", ["--runs", "--solver adagrad or --solver ftrl"]),
    ] {
        folder.refuses(&format!("train no-such-file.svm {flags}"), 2, &parts);
    }
}

#[test]
fn former_names_of_solvers_are_the_same_solvers() {
    let folder = Folder::with("a.svm", text(&classes(40, 10, 1)));
    for (former, present) in [("online", "sgd"), ("saga", "svrg")] {
        for name in [former, present] {
            folder.ok(&format!("train a.svm -o {name} --solver {name}"));
        }
        assert!(folder.read(former) == folder.read(present), "{former}");
    }
}
