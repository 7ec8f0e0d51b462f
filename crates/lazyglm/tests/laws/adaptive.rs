//! Laws of the adaptive lasso: it is two fits, the second with penalty factors and bounds from the first.

use crate::common::log_uniform;
use lazyglm::loss::parse;
use lazyglm::util::random::Random;
use lazyglm::{
    Dataset, ElasticNet, Features, HeadKind, Labels, Rows, Settings, Solver, Task, Trained, objective, synth,
    train,
};
use std::sync::Arc;

fn fit(task: &Task, settings: &Settings) -> Trained {
    train(task, None, settings, &mut |_| {}).unwrap()
}

#[test]
fn it_is_a_second_fit_with_factors_from_the_first() {
    let task = synth::documents(&synth::Shape { rows: 800, features: 100, ..Default::default() }).task;
    let plain = Settings {
        solver: Solver::Newton,
        penalty: ElasticNet { l1: 3e-3, l2: 1e-4 },
        tolerance: 1e-9,
        ..Settings::default()
    };
    for gamma in [0.5, 1.0, 2.0] {
        let first = fit(&task, &plain);
        let adaptive = fit(&task, &Settings { adaptive: Some(gamma), ..plain.clone() });
        let largest = first.weights.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        let factor = |w: &f64| if *w == 0.0 { 1.0 } else { (largest / w.abs()).powf(gamma) };
        let range = |w: &f64| if *w == 0.0 { [0.0, 0.0] } else { [f64::NEG_INFINITY, f64::INFINITY] };
        let second = Settings {
            factors: Some(Arc::new(first.weights.iter().map(factor).collect())),
            bounds: Some(Arc::new(first.weights.iter().map(range).collect())),
            ..plain.clone()
        };
        let by_hand = fit(&task, &second);
        assert_eq!((&adaptive.weights, adaptive.bias), (&by_hand.weights, by_hand.bias), "{gamma}");
        let proof = objective::certify(
            task.examples(),
            &*task.loss,
            second.weighted_penalty(),
            &adaptive.weights,
            Some(adaptive.bias),
        );
        assert!(
            (proof.objective - adaptive.report.objective).abs() < 1e-12 && proof.relative_gap < Some(1e-7)
        );
        let nonzeros = |trained: &Trained| trained.weights.iter().filter(|w| **w != 0.0).count();
        assert!(nonzeros(&adaptive) < nonzeros(&first), "{gamma}: {} features", nonzeros(&first));
        assert!(adaptive.weights.iter().zip(&first.weights).all(|(a, b)| *a == 0.0 || *b != 0.0));
        assert!(
            adaptive.notes.iter().any(|note| note.contains("the first fit kept")),
            "{:?}",
            adaptive.notes
        );
    }
}

#[test]
fn it_finds_the_true_features_where_the_lasso_takes_more() {
    let random = &mut Random::new(5);
    let (mut rows, mut targets) = (Rows::new(), Vec::new());
    for _ in 0..400 {
        let row: Vec<(u32, f64)> = (0..30).map(|j| (j, random.uniform() - 0.5)).collect();
        targets.push(3.0 * row[0].1 - 2.0 * row[1].1 + 1.5 * row[2].1 + 0.3 * (random.uniform() - 0.5));
        rows.push(&row).unwrap();
    }
    let data = Dataset::made(rows, Labels::Numbers(targets), Features::columns_from(1, 30));
    let task = Task::builder(data).loss(parse("squared").unwrap()).build().unwrap();
    let plain =
        Settings { solver: Solver::Newton, penalty: ElasticNet { l1: 1e-3, l2: 0.0 }, ..Settings::default() };
    let features = |settings: &Settings| -> Vec<usize> {
        let weights = fit(&task, settings).weights;
        (0..30).filter(|&j| weights[j] != 0.0).collect()
    };
    assert!(features(&plain).len() > 3, "{:?}", features(&plain));
    assert_eq!(features(&Settings { adaptive: Some(1.0), ..plain.clone() }), [0, 1, 2]);
    let auto =
        Settings { solver: Solver::Auto, choose_penalty: true, adaptive: Some(1.0), ..Settings::default() };
    assert_eq!(features(&auto)[..3], [0, 1, 2]);
}

#[test]
fn classes_share_factors_and_an_empty_first_fit_stays() {
    let random = &mut Random::new(6);
    let mut rows = Rows::new();
    for k in 0..300u32 {
        let noise = (3..20).map(|j| (j, 0.3 * log_uniform(random, 0.1, 1.0)));
        let row: Vec<(u32, f64)> = std::iter::once((k % 3, 1.0)).chain(noise).collect();
        rows.push(&row).unwrap();
    }
    let targets = (0..300).map(|k| f64::from(k % 3)).collect();
    let data = Dataset::made(rows, Labels::Numbers(targets), Features::columns_from(1, 20));
    for kind in [HeadKind::Softmax, HeadKind::Ovr] {
        let task = Task::builder(data.clone()).heads(kind).build().unwrap();
        let at = |l1, adaptive| {
            let penalty = ElasticNet { l1, l2: 1e-4 };
            fit(&task, &Settings { solver: Solver::Newton, penalty, adaptive, ..Settings::default() })
        };
        let nonzeros = |trained: &Trained| trained.heads.iter().map(|head| head.weights.len()).sum::<usize>();
        assert!(nonzeros(&at(1e-3, Some(1.0))) <= nonzeros(&at(1e-3, None)));
        assert_eq!(nonzeros(&at(10.0, Some(1.0))), 0, "{kind:?}");
    }
}

#[test]
fn a_wrong_exponent_is_refused() {
    let task = synth::documents(&synth::Shape { rows: 50, features: 20, ..Default::default() }).task;
    for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let settings = Settings { adaptive: Some(gamma), ..Settings::default() };
        let error = train(&task, None, &settings, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("invalid adaptive") && error.contains("a number above 0"), "{error}");
    }
}
