//! Law of averaging: the mean of iterates under lazy updates is the mean of dense ones.

use crate::common::{METHODS, OpenLoop, Yardstick, log_uniform, penalty};
use lazyglm::optim::kernel::Averaged;
use lazyglm::optim::reference::Dense;
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::schedule::{Setting, Spec};
use lazyglm::util::random::Random;
use lazyglm::{Row, Settings, Value, loss, synth, train};
use proptest::prelude::*;

/// The slow truth: dense updates, and every weight added up after every step.
struct DenseMean {
    dense: Dense<true>,
    sums: Vec<f64>,
    steps: u64,
    from: u64,
}

impl Update for DenseMean {
    fn score<V: Value>(&mut self, row: Row<V>) -> f64 {
        self.dense.score(row)
    }
    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64) {
        self.dense.pull(row, amount);
    }
    fn charge(&mut self, eta: f64) {
        self.dense.charge(eta);
        self.steps += 1;
        if self.steps > self.from {
            self.sums.iter_mut().zip(self.dense.weights()).for_each(|(sum, w)| *sum += w);
        }
    }
    fn weights(&self) -> Vec<f64> {
        match self.steps > self.from {
            true => self.sums.iter().map(|sum| sum / (self.steps - self.from) as f64).collect(),
            false => self.dense.weights(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_mean_of_lazy_weights_is_that_of_dense_ones(seed in any::<u64>(), steps in 1usize..3000) {
        let mut random = Random::new(seed);
        let method = METHODS[random.below(2) as usize];
        let run = OpenLoop::draw(&mut random, steps, method, seed % 3 == 0);
        let from = if random.below(2) == 0 { 0 } else { random.below(steps as u64 + 10) };
        let sums = vec![0.0; run.start.len()];
        let truth = DenseMean { dense: Dense::new(run.start.clone(), run.penalty, method), sums, steps: 0, from };
        let largest = std::rc::Rc::new(std::cell::Cell::new(run.start.iter().fold(0.0f64, |l, w| l.max(w.abs()))));
        let _ = run.run(Yardstick { inner: Dense::<true>::new(run.start.clone(), run.penalty, method), largest: largest.clone() });
        let (lazy, dense) = (run.run(Averaged::new(run.start.clone(), run.penalty, method, from)), run.run(truth));
        for (j, (a, b)) in lazy.iter().zip(&dense).enumerate() {
            prop_assert!((a - b).abs() <= 1e-10 * largest.get(), "weight {j}: {a} and {b}, largest {}", largest.get());
        }
    }

    #[test]
    fn a_model_learns_the_same_and_chunks_change_no_bit(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let task = synth::documents(&synth::Shape { rows: 300, features: 80, words: 8.0, planted: 10, seed: seed % 9 }).task;
        let (penalty, method) = (penalty(&mut random, 0.1, 0.1), METHODS[random.below(2) as usize]);
        let loss = loss::parse("logistic").unwrap();
        let setting = Setting { eta0: log_uniform(&mut random, 0.01, 1.0), l2: 0.0, rows: Some(300), epochs: 1 };
        let schedule = Spec::parse("inverse-sqrt").unwrap().resolve(&setting).unwrap();
        let rule = Rule { loss: &*loss, schedule: &*schedule };
        let order: Vec<u32> = (0..300).collect();
        let mut whole = Online::new(Averaged::new(vec![0.0; 80], penalty, method, 20), true).averaging_from(20);
        let mut parts = whole.clone();
        whole.learn(&rule, task.examples(), &order).unwrap();
        for part in order.chunks(1 + random.below(100) as usize) {
            parts.learn(&rule, task.examples(), part).unwrap();
            let _looked = parts.update.weights();
        }
        prop_assert_eq!(whole.update.weights(), parts.update.weights());
        prop_assert_eq!(whole.mean_bias().to_bits(), parts.mean_bias().to_bits());
        let dense = DenseMean { dense: Dense::new(vec![0.0; 80], penalty, method), sums: vec![0.0; 80], steps: 0, from: 20 };
        let mut dense = Online::new(dense, true).averaging_from(20);
        dense.learn(&rule, task.examples(), &order).unwrap();
        for (a, b) in whole.update.weights().iter().zip(dense.update.weights()) {
            prop_assert!((a - b).abs() < 1e-11, "{a} and {b}");
        }
        prop_assert!((whole.mean_bias() - dense.mean_bias()).abs() < 1e-12);
    }
}

#[test]
fn an_averaged_run_is_steadier_than_its_last_step() {
    let task = synth::documents(&synth::Shape { rows: 2_000, features: 200, ..Default::default() }).task;
    let settings = Settings {
        schedule: Spec::parse("constant").unwrap(),
        eta0: Some(0.5),
        precision: lazyglm::Precision::F64,
        ..Settings::default()
    };
    let objective = |average| {
        train(&task, None, &Settings { average, ..settings.clone() }, &mut |_| {}).unwrap().report.objective
    };
    assert!(objective(Some(0)) < objective(None));
}
