//! `tune` and `path`: every model is the minimiser of its penalty.

use crate::common::{Folder, classes, close, number, numbers, points, text, two_sets as folder};

#[test]
fn every_model_of_a_path_is_certified_and_the_first_has_no_weight() {
    let folder = folder();
    let found = folder.json("path train.svm --l1-ratio 0.9 --tolerance 1e-6 --quiet --json");
    let points = points(&found);
    assert!(points.len() > 10 && points[0]["nonzeros"] == 0);
    assert!(points.windows(2).all(|two| number(&two[0]["l1"]) > number(&two[1]["l1"])));
    assert!(points.windows(2).all(|two| number(&two[0]["loss"]) >= number(&two[1]["loss"]) - 1e-9));
    for point in points {
        let (l1, l2) = (number(&point["l1"]), number(&point["l2"]));
        assert!(close(l2, l1 / 9.0, 1e-3), "{point}");
        assert!(number(&point["relative_gap"]) <= 2e-6, "{point}");
        assert_eq!(point["weights"].as_array().map(Vec::len), point["nonzeros"].as_u64().map(|n| n as usize));
    }
    let some = &points[points.len() / 2];
    let alone = folder.json(&format!(
        "train train.svm --solver newton --l1 {} --l2 {} --tolerance 1e-6 --quiet --json",
        some["l1"], some["l2"]
    ));
    assert!(close(number(&some["objective"]), number(&alone["objective"]), 3e-6), "{some} and {alone}");
}

#[test]
fn tune_writes_the_minimiser_with_the_lowest_held_out_loss() {
    let folder = folder();
    let found = folder.json("tune train.svm --l1 1e-4..1e-1:6 --l2 0,1e-2 --folds 4 -o m --quiet --json");
    let means: Vec<f64> = points(&found).iter().filter_map(|point| point["mean"].as_f64()).collect();
    assert_eq!(means.len(), 12);
    let lowest = means.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(number(&found["best"]["mean"]), lowest);
    assert!(number(&found["one_se"]["mean"]) <= lowest + number(&found["best"]["se"]));
    assert_eq!(found["chosen"], found["best"]);
    let model = folder.json("inspect m --json");
    assert_eq!(model["training"]["l1"], found["best"]["l1"]);
    assert!(number(&found["refit"]["objective"]) <= number(&found["best"]["objective"]) + 1e-9);
    let one_se = folder.json("tune train.svm --choose one-se -o m --quiet --json");
    assert_eq!(one_se["chosen"], one_se["one_se"]);
    assert!(number(&one_se["one_se"]["l1"]) >= number(&one_se["best"]["l1"]));
}

#[test]
fn a_budget_chooses_among_penalties_that_every_fold_has_seen_and_says_how_many() {
    let folder = Folder::with("train.svm", text(&classes(2_000, 400, 1)));
    let run = folder.ok("tune train.svm --l1 1e-9..1:4000 --l2 0 --budget 1s -o m --json");
    let found: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let compared = found["compared"].as_u64().expect("a count");
    assert!(found["stopped"] == true && compared > 1, "{compared}");
    let (all, finite) = (points(&found), |point: &&serde_json::Value| point["mean"].is_number());
    assert_eq!(all.iter().filter(finite).count() as u64, compared);
    assert!(all.len() as u64 <= 2 * compared, "{compared} of {} on all rows", all.len());
    let told = format!("--budget was up after {compared} of at most 4000 penalties");
    assert!(run.stderr.contains(&told), "{}", run.stderr);
    let last = found["best"]["l1"] == all[compared as usize - 1]["l1"];
    assert_eq!(
        run.stderr.contains("warning: --budget was up before weaker penalties"),
        last,
        "{}",
        run.stderr
    );
}

#[test]
fn a_held_out_file_gives_the_loss_of_the_model_trained_alone() {
    let folder = folder();
    let flags = "--l1 1e-3 --l2 1e-4 --tolerance 1e-9 --quiet --json";
    let found = folder.json(&format!("tune train.svm --validation held.svm {flags}"));
    let report = folder.json(&format!("train train.svm --solver newton --validation held.svm {flags}"));
    let (mean, loss) = (number(&found["best"]["mean"]), number(&report["validation"]["loss"]));
    assert!(close(mean, loss, 1e-6), "{mean} and {loss}");
    assert!(number(&found["best"]["se"]) > 0.0);
}

#[test]
fn a_search_is_the_same_for_any_number_of_threads() {
    let folder = folder();
    let run = |threads: u32| {
        points(&folder.json(&format!("tune train.svm --threads {threads} --quiet --json"))).clone()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn a_metric_is_compared_in_its_own_sense() {
    let folder = folder();
    let found = folder.json("tune train.svm --metric auc --quiet --json");
    let means: Vec<f64> = points(&found).iter().filter_map(|point| point["mean"].as_f64()).collect();
    let highest = means.iter().copied().fold(0.0, f64::max);
    assert_eq!((number(&found["best"]["mean"]), found["metric"].as_str()), (highest, Some("auc")));
    assert!((0.5..=1.0).contains(&highest));
    let shown = folder.ok("tune train.svm --metric accuracy --l1 1e-3,1e-2 --quiet").stdout;
    assert!(shown.contains("accuracy") && shown.contains("best") && !shown.contains("held-out"), "{shown}");
}

#[test]
fn no_model_has_more_features_than_allowed() {
    let folder = folder();
    let found = folder.json("path train.svm --max-features 7 -o m --quiet --json");
    assert!(points(&found).iter().all(|point| point["features"].as_u64() <= Some(7)));
    assert_eq!(folder.weights("m").1.len() as u64, found["chosen"]["features"].as_u64().expect("a count"));
    assert_eq!(found["chosen"]["features"], 7, "as many as allowed");
    let tuned = folder.json("tune train.svm --max-features 7 -o m --quiet --json");
    assert!(points(&tuned).iter().any(|point| point["features"] == 7 && point["mean"].is_number()));
}

#[test]
fn labels_have_a_path_of_their_own() {
    let rows = classes(300, 30, 3);
    let label = |k: usize| if k.is_multiple_of(5) { "a,b" } else { ["a", "b", "c"][k % 3] };
    let line = |(k, line): (usize, &str)| {
        let features = line.split_once(' ').map_or("", |(_, features)| features);
        format!("{} {features}\n", label(k))
    };
    let folder = Folder::with("labels.svm", text(&rows).lines().enumerate().map(line).collect::<String>());
    let found =
        folder.json("tune labels.svm --multilabel --l1-ratio 0.5 -o m --metric macro-f1 --quiet --json");
    assert!(points(&found).len() > 5 && number(&found["refit"]["relative_gap"]) < 1e-3);
    assert_eq!(found["refit"]["heads"]["heads"].as_array().map(Vec::len), Some(3));
    folder.ok("predict m labels.svm");
    let csv =
        folder.ok("path labels.svm --multilabel --l1 1e-2,1e-3 --csv --coefficients w.csv --quiet").stdout;
    assert!(
        csv.starts_with("l1,l2,features,nonzeros,loss,objective,gap,held_out,se\n")
            && csv.lines().count() == 3
    );
    assert!(
        String::from_utf8(folder.read("w.csv")).expect("text").starts_with("l1,l2,class,feature,weight\n")
    );
}

#[test]
fn wrong_calls_are_refused_with_a_next_step() {
    let folder = folder();
    for (line, words) in [
        ("tune train.svm --metric auk", "did you mean 'auc'"),
        ("tune train.svm --metric rmse", "the rmse is undefined"),
        ("tune train.svm --l1-ratio 0", "numbers above 0 and up to 1"),
        ("tune train.svm --l1-ratio 0.5 --l2 0.1", "cannot be used with"),
        ("tune train.svm --solver ftrl", "must be the optimum of its penalty"),
        ("path train.svm -o m", "a path is many models"),
        ("path train.svm --solver sgd --metric auc", "--metric is not supported by --solver sgd"),
        ("path train.svm --max-features 0", "expected a whole number, at least 1"),
        ("tune train.svm --l1 1e-6 --max-features 1", "the first model of a path has more than 1 features"),
        ("tune train.svm --folds 500", "invalid --folds '500': expected at most 400"),
    ] {
        let run = folder.run(line);
        assert_eq!(run.code, 2, "{line}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{line}: {}", run.stderr);
    }
    assert!(!folder.names().contains(&"m".to_string()));
}

#[test]
fn numbers_are_tuned_by_their_error() {
    let folder = Folder::with("train.svm", text(&numbers(300, 40, 1)));
    let found = folder.json("tune train.svm --metric rmse --quiet --json");
    let first = number(&points(&found)[0]["mean"]);
    assert!(number(&found["best"]["mean"]) < first, "better than no weights");
}

#[test]
fn one_model_is_not_called_models() {
    let folder = Folder::with("train.svm", text(&classes(60, 20, 1)));
    let said = |line: &str| folder.ok(line).stdout;
    assert!(said("path train.svm --solver sgd --l1 0.01 --quiet").contains("trained    1 model on 60 rows"));
    assert!(
        said("path train.svm --solver sgd --l1 0.01,0.1 --quiet").contains("trained    2 models on 60 rows")
    );
}
