//! Prices: stochastic steps with a penalty factor for each weight, and with weights that must not be below zero, equal
//! dense ones that step every weight at every step, zeros included.

use crate::common::{METHODS, OpenLoop, Weighted, difference, tolerance};
use lazyglm::optim::kernel::{FactoredWeights, Folded};
use lazyglm::optim::reference::Dense;
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Settings, UpdateName, WeightedPenalty, synth, train};
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn lazy_equals_dense_whatever_each_weight_costs(seed in any::<u64>(), steps in 1usize..400, nonnegative in any::<bool>(), no_l2 in any::<bool>()) {
        let mut random = Random::new(seed);
        let method = METHODS[random.below(2) as usize];
        let run = OpenLoop::draw(&mut random, steps, method, false);
        let kinds = [0.0, 0.25, 0.5, 1.0];
        let factors: Vec<f64> = run.start.iter().map(|_| kinds[random.below(4) as usize]).collect();
        let penalty = if no_l2 { ElasticNet { l2: 0.0, ..run.penalty } } else { run.penalty };
        let drawn = Weighted::draw(&mut random, run.start.len(), 3.0);
        let weighted_penalty = WeightedPenalty { factors: Some(&factors), nonnegative, ..drawn.of(penalty) };
        let clipped = |(j, w): (usize, &f64)| {
            let [low, high] = weighted_penalty.range(j);
            w.clamp(low, high)
        };
        let start: Vec<f64> = run.start.iter().enumerate().map(clipped).collect();
        let dense = run.run(Dense::<true>::with_factors(start.clone(), &weighted_penalty, method));
        let lazy = run.run(FactoredWeights::new(start.clone(), &weighted_penalty, method).unwrap());
        let scale = run.largest(Dense::<true>::with_factors(start, &weighted_penalty, method));
        let found = difference(&lazy, &dense, scale);
        prop_assert!(found.worst <= tolerance(steps) && found.worst_zero <= tolerance(steps), "{found:?}");
        for (j, w) in lazy.iter().enumerate() {
            let [low, high] = weighted_penalty.range(j);
            prop_assert!(*w >= low * (1.0 + 1e-12) && *w <= high * (1.0 + 1e-12), "{low} {w} {high}");
        }
    }

    #[test]
    fn a_factor_of_one_for_all_is_the_plain_penalty(seed in any::<u64>(), steps in 1usize..200) {
        let mut random = Random::new(seed);
        let method = METHODS[random.below(2) as usize];
        let run = OpenLoop::draw(&mut random, steps, method, false);
        let plain = run.run(Folded::<f64>::new(run.start.clone(), run.penalty, method));
        let ones = vec![1.0; run.start.len()];
        let weighted_penalty = WeightedPenalty { factors: Some(&ones), ..WeightedPenalty::of(run.penalty) };
        let weighted = run.run(FactoredWeights::new(run.start.clone(), &weighted_penalty, method).unwrap());
        let scale = run.largest(Dense::<true>::new(run.start.clone(), run.penalty, method));
        let found = difference(&weighted, &plain, scale);
        prop_assert!(found.worst <= tolerance(steps) && found.worst_zero <= tolerance(steps), "{found:?}");
    }
}

#[test]
fn whole_runs_agree_and_free_weights_are_free() {
    let task = synth::documents(&synth::Shape { rows: 600, features: 80, ..Default::default() }).task;
    let factors: Vec<f64> = (0..80).map(|j| f64::from(j % 3)).collect();
    let run = |update, l1| {
        let penalty = ElasticNet { l1, l2: 1e-3 };
        let settings = Settings {
            penalty,
            update,
            factors: Some(Arc::new(factors.clone())),
            nonnegative: true,
            eta0: Some(0.2),
            ..Settings::default()
        };
        train(&task, None, &settings, &mut |_| {}).unwrap()
    };
    let (lazy, dense) = (run(UpdateName::Lazy, 1e-3), run(UpdateName::Dense, 1e-3));
    for (a, b) in lazy.weights.iter().zip(&dense.weights) {
        assert!((a - b).abs() < 1e-12 && (*a == 0.0) == (*b == 0.0), "{a} {b}");
    }
    let dear = run(UpdateName::Lazy, 10.0).weights;
    let alive: Vec<usize> = (0..80).filter(|&j| dear[j] != 0.0).collect();
    assert!(
        !alive.is_empty() && alive.iter().all(|j| j % 3 == 0),
        "only weights of factor 0 live: {alive:?}"
    );
}

#[test]
fn too_many_penalty_factors_are_an_error() {
    let factors: Vec<f64> = (0..5000).map(f64::from).collect();
    let of =
        |l2| WeightedPenalty { factors: Some(&factors), ..WeightedPenalty::of(ElasticNet { l1: 1.0, l2 }) };
    let refused = FactoredWeights::new(vec![0.0; 5000], &of(1.0), lazyglm::Method::Fobos).err().unwrap();
    assert!(refused.to_string().contains("5000 different penalty factors"), "{refused}");
    assert!(FactoredWeights::new(vec![0.0; 5000], &of(0.0), lazyglm::Method::Fobos).is_ok());
}
