//! Laws of passive-aggressive steps: as far as the row asks and no further; lazy = dense; any chunks, the same bits.

use crate::common::{METHODS, log_uniform, penalty, rows};
use lazyglm::loss;
use lazyglm::optim::kernel::Folded;
use lazyglm::optim::passive_aggressive::PassiveAggressive;
use lazyglm::optim::reference::Dense;
use lazyglm::optim::sgd::Online;
use lazyglm::optim::update::Update;
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, Method, Rows};
use proptest::prelude::*;

const LOSSES: [&str; 2] = ["hinge", "epsilon-insensitive:epsilon=0.1"];
const COLUMNS: usize = 12;

fn targets(random: &mut Random, loss: &str, count: usize) -> Vec<f64> {
    let one = |random: &mut Random| match loss {
        "hinge" => crate::common::sign(random),
        _ => crate::common::sign(random) * log_uniform(random, 1e-2, 10.0),
    };
    (0..count).map(|_| one(random)).collect()
}

fn learnt<U: Update>(
    update: U,
    loss: &str,
    how: PassiveAggressive,
    examples: Examples,
    parts: &[&[u32]],
) -> (Vec<f64>, f64) {
    let loss = loss::parse(loss).unwrap();
    let mut model = Online::new(update, true);
    for part in parts {
        model.learn_passive_aggressive(&*loss, how, examples, part).unwrap();
    }
    (model.update.weights(), model.bias)
}

/// What a row costs before a step and after it, without a penalty or a bias.
fn before_and_after(random: &mut Random, name: &str, how: PassiveAggressive) -> (f64, f64, f64) {
    let loss = loss::parse(name).unwrap();
    let row: Vec<(u32, f64)> =
        (0..4).map(|j| (j, crate::common::sign(random) * log_uniform(random, 0.1, 10.0))).collect();
    let start: Vec<f64> =
        (0..4).map(|_| crate::common::sign(random) * log_uniform(random, 1e-2, 1.0)).collect();
    let mut one = Rows::new();
    one.push(&row).unwrap();
    let targets = targets(random, name, 1);
    let examples = Examples::new(one.borrow(), &targets, None).unwrap();
    let cost = |weights: &[f64]| loss.value(one.borrow().dot(0, weights), targets[0]);
    let update = Dense::<true>::new(start.clone(), ElasticNet::new(0.0, 0.0).unwrap(), Method::Fobos);
    let mut model = Online::new(update, false);
    model.learn_passive_aggressive(&*loss, how, examples, &[0]).unwrap();
    (cost(&start), cost(&model.update.weights()), row.iter().map(|(_, x)| x * x).sum())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_step_goes_as_far_as_the_row_asks(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let c = log_uniform(&mut random, 1e-3, 10.0);
        for name in LOSSES {
            let (before, after, square) = before_and_after(&mut random, name, PassiveAggressive::Pa1(c));
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + before);
            prop_assert!(close(after, (before - c * square).max(0.0)), "PA-I, {}: {} to {}", name, before, after);
            let (before, after, square) = before_and_after(&mut random, name, PassiveAggressive::Pa2(c));
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + before);
            let left = before / (1.0 + 2.0 * c * square); // ℓ − τ‖x‖²
            prop_assert!(close(after, left), "PA-II, {}: {} to {}, not {}", name, before, after, left);
        }
    }

    #[test]
    fn lazy_is_dense_and_chunks_change_no_bit(seed in any::<u64>(), cut in 0usize..60) {
        let mut random = Random::new(seed);
        let (rows, c) = (rows(&mut random, 60, COLUMNS), log_uniform(&mut random, 1e-2, 1.0));
        let (penalty, method) = (penalty(&mut random, 0.1, 0.1), METHODS[random.below(2) as usize]);
        prop_assume!(method.check(penalty, c).is_ok());
        let order: Vec<u32> = (0..60).map(|_| random.below(60) as u32).collect();
        let how = [PassiveAggressive::Pa1(c), PassiveAggressive::Pa2(c)][random.below(2) as usize];
        for name in LOSSES {
            let targets = targets(&mut random, name, 60);
            let examples = Examples::new(rows.borrow(), &targets, None).unwrap();
            let lazy = || Folded::<f64>::new(vec![0.0; COLUMNS], penalty, method);
            let dense = Dense::<false>::new(vec![0.0; COLUMNS], penalty, method);
            let (weights, bias) = learnt(lazy(), name, how, examples, &[&order]);
            let (truth, true_bias) = learnt(dense, name, how, examples, &[&order]);
            let size = 1.0 + truth.iter().fold(true_bias.abs(), |most, w| most.max(w.abs()));
            for (a, b) in weights.iter().zip(&truth) {
                prop_assert!((a - b).abs() <= 1e-9 * size, "{} and {}", a, b);
            }
            prop_assert!((bias - true_bias).abs() <= 1e-9 * size);
            let (now, later) = order.split_at(cut);
            prop_assert_eq!(learnt(lazy(), name, how, examples, &[now, later]), (weights, bias));
        }
    }
}

#[test]
fn every_weight_pays_at_rate_c_also_where_the_row_is_right() {
    let mut one = Rows::new();
    one.push(&[(0, 1.0)]).unwrap();
    one.push(&[]).unwrap(); // without features: passed over, nothing is paid
    one.declare_columns(2);
    let examples = Examples::new(one.borrow(), &[1.0, 1.0], None).unwrap();
    let update = Folded::<f64>::new(vec![2.0, -3.0], ElasticNet::new(0.5, 0.0).unwrap(), Method::Fobos);
    let (weights, bias) = learnt(update, "hinge", PassiveAggressive::Pa1(0.25), examples, &[&[0, 1]]);
    assert_eq!((weights, bias), (vec![1.875, -2.875], 0.0));
}
