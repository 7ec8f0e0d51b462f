//! `--lower`, `--upper` and `--exclude`: bounds of weights by number and by name.

use crate::common::{Folder, classes, text};

fn folder() -> Folder {
    Folder::with("a.svm", text(&classes(400, 40, 3)))
}

const NET: &str = "--l1 2e-3 --l2 1e-3 --tolerance 1e-7 --quiet --solver newton";

#[test]
fn bounds_hold_and_the_certificate_is_of_the_bounded_problem() {
    let folder = folder();
    folder.ok(&format!("train a.svm {NET} -o plain"));
    let (_, plain) = folder.weights("plain");
    let largest = plain.iter().fold(0.0, |most: f64, (_, w)| most.max(w.abs()));
    let bound = 0.4 * largest;
    let flags = format!("--lower -{bound} --upper {bound}");
    let report = folder.json(&format!("train a.svm {NET} {flags} -o bounded --json"));
    assert!(report["relative_gap"].as_f64() < Some(1e-6), "{report}");
    let (_, bounded) = folder.weights("bounded");
    assert!(bounded.iter().all(|(_, w)| w.abs() <= bound * (1.0 + 1e-6)), "{bounded:?}");
    assert!(bounded.iter().any(|(_, w)| w.abs() >= bound * (1.0 - 1e-6)), "a bound is active: {bounded:?}");
    let proved = folder.json(&format!("certify bounded a.svm {flags} --json"));
    assert!(proved["relative_gap"].as_f64() < Some(1e-6), "{proved}");
    assert!(proved["kkt"].as_f64() < Some(1e-4), "{proved}");
    let free = folder.json("certify bounded a.svm --json");
    assert!(free["relative_gap"].as_f64() > Some(1e-4), "not the free optimum: {free}");
    folder.refuses(
        "certify plain a.svm --upper 1e-9",
        2,
        &["is not between", "the bounds of the training run"],
    );
}

#[test]
fn bounds_and_excluded_features_come_from_files_too() {
    let folder = folder();
    folder.ok(&format!("train a.svm {NET} -o plain"));
    let (_, plain) = folder.weights("plain");
    let [first, second, third] = [plain[0], plain[1], plain[2]];
    folder.write("upper", format!("{}\t{}\n", first.0, first.1.abs() / 2.0));
    folder.write("lower", format!("{}\t{}\n9999\t-1\n", first.0, -first.1.abs() / 2.0));
    folder.write("names", format!("{}\n{}\n12345\n", second.0, third.0));
    let loud = NET.replace("--quiet", "");
    let run = folder.ok(&format!("train a.svm {loud} --lower lower --upper upper --exclude @names -o m"));
    assert!(run.stderr.contains("2 names in the files"), "{}", run.stderr);
    let (_, weights) = folder.weights("m");
    let of = |feature| weights.iter().find(|(j, _)| *j == feature).map_or(0.0, |(_, w)| *w);
    assert!((of(first.0).abs() - first.1.abs() / 2.0).abs() < 1e-6, "{weights:?}");
    assert_eq!((of(second.0), of(third.0)), (0.0, 0.0));
    let proved = folder.json("certify m a.svm --lower lower --upper upper --exclude @names --json");
    assert!(proved["relative_gap"].as_f64() < Some(1e-6), "{proved}");
    folder.ok(&format!("train a.svm {NET} --exclude {},{} -o listed", second.0, third.0));
    assert!(folder.weights("listed").1.iter().all(|(j, _)| *j != second.0 && *j != third.0));
}

#[test]
fn every_solver_excludes_and_path_and_tune_do_too() {
    let folder = folder();
    for solver in ["auto", "sgd", "newton", "adagrad", "ftrl", "svrg"] {
        folder.ok(&format!("train a.svm --solver {solver} --exclude 1,2 --upper 0.5 -o m --quiet"));
        let (_, weights) = folder.weights("m");
        assert!(weights.iter().all(|(j, w)| *j > 2 && *w <= 0.5 * (1.0 + 1e-6)), "{solver}: {weights:?}");
    }
    for verb in ["path", "tune"] {
        folder.ok(&format!("{verb} a.svm --exclude 1,2 --nonnegative --folds 3 -o m --quiet"));
        assert!(folder.weights("m").1.iter().all(|(j, w)| *j > 2 && *w > 0.0), "{verb}");
    }
}

#[test]
fn wrong_bounds_are_refused_in_words() {
    let folder = folder();
    folder.write("bad", "1\t-0.5\n2\tx\n");
    for (flags, code, parts) in [
        ("--lower 0.5", 2, ["invalid --lower '0.5'", "0 must lie between the bounds"]),
        ("--upper -0.5", 2, ["invalid --upper '-0.5'", "a number of at least 0"]),
        ("--upper nosuchfile", 2, ["invalid --upper 'nosuchfile'", "or a file"]),
        ("--lower bad", 1, ["bad:2", "no bound of a weight"]),
        ("--upper bad", 1, ["bad:1", "at least 0"]),
        ("--exclude 1,77777", 2, ["--exclude: the data have no feature '77777'", "did you mean"]),
        ("--exclude ,", 2, ["invalid --exclude ','", "names of features"]),
        ("--exclude @nosuchfile", 1, ["nosuchfile", ""]),
    ] {
        folder.refuses(&format!("train a.svm --solver newton {flags}"), code, &parts);
    }
}
