//! Laws of the coordinate steps at the end of scikit-learn's `fit`: they never raise the objective, move no weight that is zero, and
//! end near the optimum of the weights that they move.

use crate::common::rows;
use lazyglm::problem::lent::{Lent, LentRows};
use lazyglm::train::polish::polish;
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Loss, Rows, loss};
use proptest::prelude::*;

const COLUMNS: usize = 12;
const ROWS: usize = 80;
const LOSSES: [&str; 6] =
    ["logistic", "squared-hinge", "modified-huber", "hinge", "squared", "huber:delta=0.5"];

/// The mean weighted loss of all rows and the penalty.
fn objective(
    loss: &dyn Loss,
    lent: &Lent,
    rows: &Rows,
    penalty: ElasticNet,
    weights: &[f64],
    bias: f64,
) -> f64 {
    let of_row = |i: usize| {
        let mut score = bias + lent.offsets.map_or(0.0, |offsets| offsets[i]);
        rows.borrow().for_each(i, |j, x| score += weights[j] * x);
        lent.weights.map_or(1.0, |weights| weights[i]) * loss.value(score, lent.targets[i])
    };
    let chosen: Vec<usize> = match lent.subset {
        Some(subset) => subset.iter().map(|&i| i as usize).collect(),
        None => (0..rows.len()).collect(),
    };
    chosen.iter().map(|&i| of_row(i)).sum::<f64>() / chosen.len() as f64 + penalty.value(weights)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn steps_lower_the_objective_of_the_weights_that_are_there(
        seed in any::<u64>(),
        start in prop::collection::vec(prop_oneof![Just(0.0), -2.0..2.0f64], COLUMNS),
        signs in prop::collection::vec(any::<bool>(), ROWS),
        given in prop::collection::vec(0.1..3.0f64, ROWS),
        l1 in 1e-4..0.2f64,
        has_bias in any::<bool>(),
    ) {
        let data = rows(&mut Random::new(seed), ROWS, COLUMNS);
        let targets: Vec<f64> = signs.iter().map(|&up| if up { 1.0 } else { -1.0 }).collect();
        let offsets: Vec<f64> = given.iter().map(|x| x - 1.5).collect();
        let subset: Vec<u32> = (0..ROWS as u32).filter(|i| i % 5 != 3).collect();
        let gather = |row: usize, pairs: &mut Vec<(u32, f64)>| {
            data.borrow().for_each(row, |j, x| pairs.push((j as u32, x)));
        };
        for name in LOSSES {
            let loss = loss::parse(name).unwrap();
            let penalty = ElasticNet::new(l1, if has_bias { 0.0 } else { 0.01 }).unwrap();
            let mut found = Vec::new();
            for lent in [LentRows::Sorted(data.borrow()), LentRows::F64(&gather)] {
                let lent = Lent {
                    rows: lent,
                    columns: COLUMNS,
                    targets: &targets,
                    weights: Some(&given),
                    offsets: Some(&offsets),
                    subset: Some(&subset),
                    check: &|| Ok(()),
                };
                let polished = polish(&*loss, &lent, penalty, (&start, 0.3, has_bias), &|| Ok(())).unwrap();
                let mut weights = vec![0.0; COLUMNS];
                for (&j, &w) in polished.columns.iter().zip(&polished.weights) {
                    prop_assert!(start[j as usize] != 0.0 && w != 0.0);
                    weights[j as usize] = w;
                }
                prop_assert!(has_bias || polished.bias == 0.3);
                let at = |weights: &[f64], bias| objective(&*loss, &lent, &data, penalty, weights, bias);
                let (before, after) = (at(&start, 0.3), at(&weights, polished.bias));
                prop_assert!(after <= before + 1e-12 * before.abs(), "{name}: {before} to {after}");
                // Few steps from far away: a quarter of what they gained may be left.
                let left = 5e-3 * after.abs() + 0.25 * (before - after);
                if !loss.has_kinks() {
                    for j in (0..COLUMNS).filter(|&j| start[j] != 0.0) {
                        for step in [-0.05, 0.05] {
                            let mut other = weights.clone();
                            other[j] += step;
                            prop_assert!(at(&other, polished.bias) >= after - left, "{name}, {j}");
                        }
                    }
                }
                found.push(polished);
            }
            prop_assert_eq!(&found[0], &found[1], "wherever rows lie");
        }
    }
}
