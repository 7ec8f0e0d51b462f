//! Laws of softmax regression where numbers are extreme, classes separable, or scores not numbers.

use crate::softmax_newton::Made;
use lazyglm::objective::Worst;
use lazyglm::optim::softmax_newton::NewtonStop;
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Head, Rows};

#[test]
fn extreme_magnitudes_and_separable_classes_end_with_finite_weights() {
    let mut random = Random::new(30);
    let made = Made::draw(&mut random, 100, 10, 3, false);
    let mut scaled = Rows::new();
    for i in 0..100 {
        let mut row = Vec::new();
        made.rows.borrow().for_each(i, |j, x| row.push((j as u32, x * [1.0, 1e25, 1e-25][j % 3])));
        scaled.push(&row).unwrap();
    }
    scaled.declare_columns(10);
    let scaled = Made { rows: scaled, ..made };
    for (l1, l2) in [(1e-3, 0.0), (0.0, 1e-3), (0.0, 0.0)] {
        let found = scaled.solve(ElasticNet { l1, l2 }, true, 1e-6, None);
        assert!(found.heads.iter().all(Head::is_finite), "{l1} {l2}: {found:?}");
        let proof = scaled.certify(ElasticNet { l1, l2 }, true, &found.heads);
        assert!(proof.objective < 3f64.ln(), "{l1} {l2}: {proof:?}");
    }
    let mut rows = Rows::new();
    (0..30).for_each(|k| rows.push(&[(k % 3, 1.0), (3, 1.0)]).unwrap());
    let separable = Made { rows, classes: (0..30).map(|k| k % 3).collect(), count: 3, weights: None };
    let found = separable.solve(ElasticNet { l1: 0.0, l2: 0.0 }, true, 1e-4, None);
    assert!(found.heads.iter().all(Head::is_finite));
    let proof = separable.certify(ElasticNet { l1: 0.0, l2: 0.0 }, true, &found.heads);
    assert!(proof.objective < 1e-3 && proof.dual.is_none(), "{proof:?}");
    assert_eq!(found.stop, NewtonStop::NoMinimum);
    // With a penalty, or with a row that no weights put on its side, there is a minimum.
    let penalised = separable.solve(ElasticNet { l1: 0.0, l2: 1e-3 }, true, 1e-4, None);
    assert_eq!(penalised.stop, NewtonStop::Gap);
    let mixed = Made { classes: (0..30).map(|k| if k < 9 { k / 3 } else { k % 3 }).collect(), ..separable };
    let mixed = mixed.solve(ElasticNet { l1: 0.0, l2: 0.0 }, true, 1e-4, None);
    assert_eq!(mixed.stop, NewtonStop::PredictedDecrease);
}

#[test]
fn scores_that_are_not_numbers_prove_nothing() {
    let mut random = Random::new(31);
    let made = Made::draw(&mut random, 40, 5, 3, false);
    let mut heads = vec![Head::of([1.0, f64::NAN, 0.0, 0.0, 0.0].into_iter(), 0.0); 3];
    heads[0].bias = 1.0;
    let proof = made.certify(ElasticNet { l1: 0.01, l2: 0.01 }, true, &heads);
    assert!(
        proof.objective.is_nan()
            && proof.dual.is_none()
            && proof.relative_gap.is_none()
            && proof.kkt.is_nan()
    );
    let off = made.certify(
        ElasticNet { l1: 10.0, l2: 0.0 },
        true,
        &[(); 3].map(|()| Head { bias: 0.0, ..Head::default() }),
    );
    assert!(matches!(off.worst, Worst::Bias | Worst::Nowhere), "{off:?}");
}
