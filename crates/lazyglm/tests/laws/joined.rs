//! A law of lanes: models that learn alone, then together, then alone again have the bits of models that were always alone.

use crate::common::{METHODS, log_uniform, penalty, rows};
use lazyglm::optim::bias_rate::{BiasRate, BiasRule, Density};
use lazyglm::optim::kernel::Folded;
use lazyglm::optim::lane_loss::Same;
use lazyglm::optim::lanes::{Joined, Pass};
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::schedule::{Setting, Spec};
use lazyglm::util::random::Random;
use lazyglm::{Examples, loss};
use proptest::prelude::*;

const COLUMNS: usize = 150;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn joining_and_parting_change_no_bit(seed in any::<u64>(), count in 1usize..=8, cuts in 1usize..5) {
        let mut random = Random::new(seed);
        let (rows, method) = (rows(&mut random, 200, COLUMNS), METHODS[random.below(2) as usize]);
        let penalties: Vec<_> = (0..count).map(|_| penalty(&mut random, 0.3, 0.3)).collect();
        let targets: Vec<f64> = (0..200).map(|_| crate::common::sign(&mut random)).collect();
        let examples = Examples::new(rows.borrow(), &targets, None).unwrap();
        let order: Vec<u32> = (0..200).map(|_| random.below(200) as u32).collect();
        let setting = Setting { eta0: log_uniform(&mut random, 1e-2, 1.0), l2: 0.0, rows: Some(200), epochs: 1 };
        let schedule = Spec::parse("inverse-sqrt").unwrap().resolve(&setting).unwrap();
        let loss = loss::parse("logistic").unwrap();
        let rule = Rule { loss: &*loss, schedule: &*schedule };
        let rules = [BiasRule::Fixed(1.0), BiasRule::Fixed(0.01), BiasRule::ByDensity];
        let rule_of_bias = rules[random.below(3) as usize];
        let new = |l: usize| {
            let mut model = Online::new(Folded::<f64>::new(vec![0.0; COLUMNS], penalties[l], method), true);
            model.bias_rate = BiasRate::new(rule_of_bias, COLUMNS, Density::default());
            model
        };
        let mut always: Vec<Online<Folded<f64>>> = (0..count).map(new).collect();
        let mut sometimes: Vec<Online<Folded<f64>>> = (0..count).map(new).collect();
        for (k, part) in order.chunks(200 / cuts).enumerate() {
            let learn = |models: &mut Vec<Online<Folded<f64>>>| {
                models.iter_mut().all(|model| model.learn(&rule, examples, part).is_ok())
            };
            prop_assert!(learn(&mut always));
            if k % 2 == 1 {
                prop_assert!(learn(&mut sometimes));
                continue;
            }
            let states: Vec<_> = sometimes.iter().map(|model| model.update.state()).collect();
            let biases: Vec<f64> = sometimes.iter().map(|model| model.bias).collect();
            let mut joined = Joined::new(&states, &biases, sometimes[0].t, &penalties, method, true).unwrap();
            joined.set_bias_rate(sometimes[0].bias_rate);
            let (now, later) = part.split_at(part.len() / 2);
            let (rows, weights) = (examples.rows, examples.weights);
            let mut lane_loss = Same { loss: &*loss, examples };
            joined.block().learn(&mut lane_loss, &Pass { rates: &[&*schedule], rows, weights, order: now });
            let mut joined = joined.select(&(0..count).collect::<Vec<_>>());
            joined.block().learn(&mut lane_loss, &Pass { rates: &[&*schedule], rows, weights, order: later });
            for (l, model) in sometimes.iter_mut().enumerate() {
                let (states, bias) = joined.part(l);
                model.update = Folded::from_state(states, penalties[l], method).unwrap();
                (model.bias, model.t) = (bias, model.t + part.len() as u64);
                model.bias_rate = joined.bias_rate();
            }
        }
        for (a, b) in always.iter().zip(&sometimes) {
            prop_assert_eq!(a.update.weights(), b.update.weights());
            prop_assert_eq!((a.bias.to_bits(), a.t), (b.bias.to_bits(), b.t));
        }
    }
}
