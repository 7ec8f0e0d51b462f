//! Laws of tf-idf: values are those of the formula, and a model scores raw counts as it scored the values it learnt from.

use lazyglm::data::dataset;
use lazyglm::data::format::ReadOptions;
use lazyglm::util::random::Random;
use lazyglm::{Dataset, ElasticNet, Load, Model, Scale, Scorer, Settings, Solver, Task, train};
use std::path::Path;

fn load(file: &Path, scale: Scale, hash_bits: Option<u32>) -> Task {
    let asked = ReadOptions { hash_bits, ..ReadOptions::default() };
    let load = Load { asked, scale, cache: lazyglm::CacheMode::Off, ..Load::default() };
    Task::builder(Dataset::load(file, &load).unwrap().0).build().unwrap()
}

/// All choices of the parts of tf-idf but none: whether each is applied, and the name of the scale.
fn parts() -> impl Iterator<Item = ([bool; 3], Scale)> {
    (1..8).map(|bits| {
        let parts = [0, 1, 2].map(|k| bits >> k & 1 == 1);
        let [log, idf, norm] = parts.map(|yes| if yes { "yes" } else { "no" });
        (parts, Scale::parse(&format!("tfidf:log={log},idf={idf},norm={norm}")).unwrap())
    })
}

#[test]
fn parts_of_tf_idf_have_names() {
    assert_eq!(Scale::parse("tfidf:log=yes").unwrap(), Scale::TfIdf);
    assert_eq!(Scale::parse("tfidf:log=no,idf=no,norm=no").unwrap(), Scale::None);
    for (wrong, part) in [("tfidf:lgo=no", "lgo=no"), ("tfidf:log=maybe", "log=maybe"), ("tfidf:", "")] {
        let told = Scale::parse(wrong).unwrap_err().to_string();
        assert!(told.starts_with(&format!("tfidf has no part '{part}'; write tfidf:log=no")), "{told}");
    }
}

#[test]
fn values_are_those_of_the_formula() {
    parts().for_each(|(parts, scale)| values_are_those_of(parts, scale));
}

fn values_are_those_of([with_log, with_idf, with_norm]: [bool; 3], scale: Scale) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts.svm");
    std::fs::write(&file, "1 1:3 2:1\n-1 2:4\n1 2:1 3:0.5\n-1 1:-2 3:1\n").unwrap();
    let task = load(&file, scale, None);
    let log = |x: f64| if with_log && x.abs() >= 1.0 { x.signum() * (1.0 + x.abs().ln()) } else { x };
    let idf = |df: f64| if with_idf { (5.0 / (1.0 + df)).ln() + 1.0 } else { 1.0 };
    let idf = [2.0, 3.0, 2.0].map(idf);
    for (i, row) in [[3.0, 1.0, 0.0], [0.0, 4.0, 0.0], [0.0, 1.0, 0.5], [-2.0, 0.0, 1.0]].iter().enumerate() {
        let values: Vec<f64> = row.iter().zip(idf).map(|(&x, idf)| log(x) * idf).collect();
        let norm = if with_norm { values.iter().map(|x| x * x).sum::<f64>().sqrt() } else { 1.0 };
        for (j, value) in values.iter().enumerate() {
            let mut weights = [0.0; 3];
            weights[j] = 1.0;
            let found = task.data.rows.borrow().dot(i, &weights);
            assert!(
                (found - value / norm).abs() < 1e-15,
                "row {i}, column {j}: {found}, not {}",
                value / norm
            );
        }
    }
}

#[test]
fn a_model_scores_raw_counts_as_the_values_it_learnt_from() {
    parts().for_each(|(parts, scale)| scores_are_those_of(parts, scale));
}

fn scores_are_those_of([log, _, norm]: [bool; 3], scale: Scale) {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Random::new(5);
    let (mut indices, mut names) = (String::new(), String::new());
    for i in 0..80 {
        let sign = if i % 2 == 0 { 1 } else { -1 };
        let mut words: Vec<u64> = (0..2 + dice.below(9)).map(|_| 1 + dice.below(20) + 10 * (i % 2)).collect();
        words.sort_unstable();
        words.dedup();
        let count = |dice: &mut Random| 1 + dice.below(3) * dice.below(9);
        let pairs: Vec<(u64, u64)> = words.into_iter().map(|word| (word, count(&mut dice))).collect();
        let written =
            |name: &str| pairs.iter().map(|(word, x)| format!(" {name}{word}:{x}")).collect::<String>();
        indices += &format!("{sign}{}\n", written(""));
        names += &format!("{sign} |{}\n", written("w"));
    }
    let far = indices.replace(" 2", " 400000002"); // too far apart for a table of indices
    for (name, text, bits) in [
        ("a.svm", &indices, None),
        ("far.svm", &far, None),
        ("a.svm", &indices, Some(3)),
        ("a.vw", &names, None),
        ("a.vw", &names, Some(3)),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let task = load(&file, scale, bits);
        let penalty = ElasticNet::new(1e-4, 1e-3).unwrap();
        let settings = Settings { solver: Solver::Newton, penalty, ..Settings::default() };
        let trained = train(&task, None, &settings, &mut |_| {}).unwrap();
        let (weights, bias) = (trained.weights.clone(), trained.bias);
        let model = Model::new(&task, &settings, trained);
        let bytes = model.to_bytes().unwrap();
        let model = Model::from_bytes(&bytes).unwrap();
        assert_eq!(model.to_bytes().unwrap(), bytes, "what is written reads back");
        let (mut scorer, mut row) = (Scorer::new(&model), 0);
        dataset::for_each_block(&file, &ReadOptions::default(), Some(&model.reading), |block| {
            scorer.set_block(block)?;
            for i in 0..block.rows.len() {
                let (found, known) =
                    (scorer.score(block.rows.borrow(), i), task.data.rows.borrow().dot(row, &weights) + bias);
                assert!((found - known).abs() < 1e-9, "{name} {bits:?}, row {row}: {found}, not {known}");
                row += 1;
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(row, 80);
        if !log && !norm {
            assert!(model.tf_idf.is_none(), "idf alone is folded into the weights");
            continue;
        }
        if !log && model.words.is_some() {
            continue; // without the idf of its words it is another model, of values without idf
        }
        // A model without the idf of a feature breaks a rule of the format.
        let mut lacking = model.clone();
        match (&mut lacking.tf_idf, &mut lacking.words) {
            (Some(tf_idf), None) => drop(tf_idf.idf.pop()),
            (_, words) => words.iter_mut().for_each(|words| words.idf = None),
        }
        assert!(Model::from_bytes(&lacking.to_bytes().unwrap()).is_err());
    }
}
