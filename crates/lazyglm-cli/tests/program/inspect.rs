//! `inspect`: the weights of a model, all to the last bit, or the largest.

use crate::common::{Folder, classes, text};
use crate::contract::folder;
use lazyglm::Model;

#[test]
fn inspect_all_tsv_is_the_bias_and_then_every_weight_to_the_last_bit() {
    let folder = folder();
    folder.ok("train data.svm -o m --precision f64 --l1 0.002");
    let model = Model::load(&folder.path("m")).expect("a model");
    let mut expected = format!("(bias)\t{:?}\n", model.bias);
    for (feature, weight) in model.features.iter().zip(&model.weights) {
        expected += &format!("{feature}\t{weight:?}\n");
    }
    let output = folder.ok("inspect m --all --tsv");
    assert_eq!(output.stdout, expected);
    assert_eq!(output.stderr, "");
    let (bias, weights) = folder.weights("m");
    assert_eq!(bias.to_bits(), model.bias.to_bits());
    assert!(weights.iter().zip(&model.weights).all(|((_, a), b)| a.to_bits() == b.to_bits()));
    assert!(weights.windows(2).all(|two| two[0].0 < two[1].0), "in the order of features");
    assert!(weights.iter().all(|(_, w)| *w != 0.0));
}

#[test]
fn inspect_top_shows_the_largest_weights_first() {
    let folder = folder();
    folder.ok("train data.svm -o m");
    let (_, mut weights) = folder.weights("m");
    weights.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let shown = folder.ok("inspect m --top 3 --tsv").stdout;
    let names: Vec<&str> = shown.lines().map(|line| line.split('\t').next().expect("a name")).collect();
    assert_eq!(names[0], "(bias)");
    assert_eq!(names[1..], weights[..3].iter().map(|(f, _)| f.to_string()).collect::<Vec<_>>());
    let all = folder.json("inspect m --all --json");
    assert_eq!(all["weights"].as_array().map(Vec::len), Some(weights.len()));
    assert_eq!(all["loss"], "logistic");
    assert_eq!(all["classes"], serde_json::json!(["-1", "1"]));
    folder.refuses("inspect m --top 3 --all", 2, &["--all"]);
    folder.refuses("inspect m --tsv --json", 2, &["--json"]);
}

#[test]
fn machine_formats_show_every_weight_unless_asked_for_fewer() {
    let folder = Folder::with("data.svm", text(&classes(200, 50, 3)));
    folder.ok("train data.svm -o m --epochs 5");
    let nonzeros = folder.json("inspect m --json")["nonzeros"].as_u64().expect("a count") as usize;
    assert!(nonzeros > 20);
    assert_eq!(folder.json("inspect m --json")["weights"].as_array().expect("a list").len(), nonzeros);
    assert_eq!(folder.json("inspect m --json --top 3")["weights"].as_array().expect("a list").len(), 3);
    assert_eq!(folder.ok("inspect m --tsv").stdout.lines().count(), nonzeros + 1);
    assert_eq!(folder.ok("inspect m --tsv --top 3").stdout.lines().count(), 4);
}
