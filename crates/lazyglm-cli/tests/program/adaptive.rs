//! `train --adaptive`: two fits, the second with penalty factors from the first.

use crate::common::{Folder, classes, text};

#[test]
fn the_second_fit_has_fewer_features_and_a_certificate() {
    let folder = Folder::with("a.svm", text(&classes(400, 40, 3)));
    let net = "train a.svm --l1 2e-3 --tolerance 1e-6";
    folder.ok(&format!("{net} --quiet -o plain"));
    let run = folder.ok(&format!("{net} --adaptive -o adaptive"));
    assert!(run.stderr.contains("--adaptive: the first fit kept"), "{}", run.stderr);
    let [plain, adaptive] = ["plain", "adaptive"].map(|model| folder.weights(model).1);
    assert!(adaptive.len() < plain.len() && !adaptive.is_empty(), "{} {}", adaptive.len(), plain.len());
    assert!(adaptive.iter().all(|(j, _)| plain.iter().any(|(k, _)| k == j)));
    folder.ok(&format!("{net} --adaptive=2 --quiet -o two"));
    assert!(folder.weights("two").1.len() <= adaptive.len());
    let report = folder.json("train a.svm --adaptive --quiet --json");
    assert!(report["relative_gap"].as_f64() < Some(2e-3), "{report}");
}

#[test]
fn where_it_has_no_meaning_it_is_refused() {
    let folder = Folder::with("a.svm", text(&classes(60, 10, 3)));
    for (line, part) in [
        ("train a.svm --adaptive=0", "invalid --adaptive '0': expected a number above 0"),
        ("train a.svm --adaptive=x", "invalid --adaptive 'x'"),
        ("train a.svm --multilabel --solver sgd --adaptive", "--adaptive is not for labels"),
        ("path a.svm --adaptive", "--adaptive is for one model"),
        ("tune a.svm --solver sgd --adaptive", "--adaptive has no meaning here"),
    ] {
        folder.refuses(line, 2, &[part]);
    }
}
