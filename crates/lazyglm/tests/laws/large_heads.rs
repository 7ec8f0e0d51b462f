//! Files of models with very many weights of classes or labels.

use lazyglm::{HeadKind, Heads, Model, Seen, Settings, synth, train};

#[test]
fn a_large_file_of_heads_has_narrow_numbers_where_none_changes() {
    let task = synth::documents(&synth::Shape { rows: 100, features: 50, ..Default::default() }).task;
    let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    let (features, count) = (70_000u32, 16u32);
    let weight = |k: u32| f64::from((k as f32 + 0.5) / 7.0);
    let large = Model {
        features: (0..features).collect(),
        weights: (0..features * count).map(weight).collect(),
        bias: 0.0,
        classes: None,
        seen: Seen { runs: vec![(0, features - 1)] },
        heads: Some(Heads {
            kind: HeadKind::Labels,
            names: (0..count).map(|k| k.to_string()).collect(),
            biases: vec![0.0; count as usize],
            ids: (0..features).flat_map(|_| 0..count).collect(),
            ends: (1..=features as usize).map(|k| k * count as usize).collect(),
            thresholds: None,
        }),
        ..Model::new(&task, &Settings::default(), trained)
    };
    let bytes = large.to_bytes().unwrap();
    assert!(
        bytes.len() < 6 * large.weights.len() + 12 * features as usize + 100_000,
        "{} bytes",
        bytes.len()
    );
    let back = Model::from_bytes(&bytes).unwrap();
    assert!(back.weights == large.weights && back.heads == large.heads);
    let mut exact = large;
    exact.weights[5] = 0.1; // f32 has no such number
    assert!(Model::from_bytes(&exact.to_bytes().unwrap()).unwrap().weights == exact.weights);
}
