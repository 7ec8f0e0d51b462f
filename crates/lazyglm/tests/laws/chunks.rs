//! Laws of chunking: fit = any chunking = stop and go on; looking changes nothing; a row of weight zero is absent.

use crate::common::{METHODS, log_uniform, penalty};
use lazyglm::optim::kernel::{Averaged, Folded};
use lazyglm::optim::reference::Table;
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::schedule::{Setting, Spec};
use lazyglm::util::random::Random;
use lazyglm::{ClassWeight, Settings, Task, synth, train};
use proptest::prelude::*;

fn task(seed: u64) -> Task {
    synth::documents(&synth::Shape { rows: 300, features: 80, words: 10.0, planted: 10, seed }).task
}

/// Learns in chunks cut at random, looking at the weights between them; all the bits at the end.
fn learn<U: Update>(random: &mut Random, task: &Task, rule: &Rule, update: U, cuts: u64) -> (Vec<u64>, u64) {
    let order: Vec<u32> = (0..task.len() as u32).collect();
    let mut model = Online::new(update, true);
    let mut rest = &order[..];
    for _ in 0..cuts {
        let (now, later) = rest.split_at(random.below(rest.len() as u64 + 1) as usize);
        model.learn(rule, task.examples(), now).unwrap();
        let _looked = model.update.weights();
        rest = later;
    }
    model.learn(rule, task.examples(), rest).unwrap();
    (model.update.weights().iter().map(|w| w.to_bits()).collect(), model.bias.to_bits())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_chunks_give_the_bits_of_one_fit(seed in any::<u64>(), cuts in 1u64..20) {
        let mut random = Random::new(seed);
        let (task, penalty) = (task(seed % 20), penalty(&mut random, 0.1, 0.1));
        let method = METHODS[random.below(2) as usize];
        let setting = Setting { eta0: log_uniform(&mut random, 1e-3, 1.0), l2: penalty.l2, rows: Some(300), epochs: 1 };
        let schedule = Spec::parse("inverse-sqrt").unwrap().resolve(&setting).unwrap();
        let rule = Rule { loss: &*task.loss, schedule: &*schedule };
        let start = || vec![0.0; 80];
        for cuts in [1, cuts] {
            let lazy = || Folded::<f32>::new(start(), penalty, method);
            prop_assert_eq!(
                learn(&mut random, &task, &rule, lazy(), 0),
                learn(&mut random, &task, &rule, lazy(), cuts)
            );
            let table = || Table::new(start(), penalty, method, 37, None);
            prop_assert_eq!(
                learn(&mut random, &task, &rule, table(), 0),
                learn(&mut random, &task, &rule, table(), cuts)
            );
        }
    }

    #[test]
    fn a_stored_frame_goes_on_to_the_bit(seed in any::<u64>(), cut in 0usize..300) {
        let mut random = Random::new(seed);
        let (task, penalty) = (task(seed % 20), penalty(&mut random, 0.1, 0.1));
        let method = METHODS[random.below(2) as usize];
        let setting = Setting { eta0: log_uniform(&mut random, 1e-3, 1.0), l2: penalty.l2, rows: Some(300), epochs: 1 };
        let schedule = Spec::parse("inverse-sqrt").unwrap().resolve(&setting).unwrap();
        let rule = Rule { loss: &*task.loss, schedule: &*schedule };
        let order: Vec<u32> = (0..300).collect();
        let mut whole = Online::new(Folded::<f32>::new(vec![0.0; 80], penalty, method), true);
        whole.learn(&rule, task.examples(), &order[..cut]).unwrap();
        let mut thawed = Online::new(Folded::<f32>::from_state(whole.update.state(), penalty, method).unwrap(), true);
        (thawed.bias, thawed.t) = (whole.bias, whole.t);
        for model in [&mut whole, &mut thawed] {
            model.learn(&rule, task.examples(), &order[cut..]).unwrap();
        }
        prop_assert_eq!(whole.update.state(), thawed.update.state());
        prop_assert_eq!(whole.bias, thawed.bias);

        let mut whole = Online::new(Averaged::new(vec![0.0; 80], penalty, method, seed % 100), true);
        whole.learn(&rule, task.examples(), &order[..cut]).unwrap();
        let mut thawed = Online::new(Averaged::from_state(whole.update.state(), penalty, method).unwrap(), true);
        (thawed.bias, thawed.t) = (whole.bias, whole.t);
        for model in [&mut whole, &mut thawed] {
            model.learn(&rule, task.examples(), &order[cut..]).unwrap();
        }
        prop_assert_eq!(whole.update.state(), thawed.update.state());
    }

    #[test]
    fn rows_of_weight_zero_are_as_if_absent(seed in 0u64..50) {
        let mut random = Random::new(seed);
        let whole = task(seed);
        let weights: Vec<f64> =
            (0..300).map(|_| if random.below(3) == 0 { 0.0 } else { log_uniform(&mut random, 0.1, 10.0) }).collect();
        let kept: Vec<usize> = (0..300).filter(|&i| weights[i] > 0.0).collect();
        let kept_weights: Vec<f64> = kept.iter().map(|&i| weights[i]).collect();
        let with = Task::builder(whole.data.clone()).sample_weights(weights.clone()).build().unwrap();
        let without = Task::builder(whole.data.select(&kept)).sample_weights(kept_weights).build().unwrap();
        let tripled = Task::builder(whole.data.clone()).sample_weights(weights.iter().map(|w| 4.0 * w).collect::<Vec<f64>>()).build().unwrap();
        let fit = |task: &Task| train(task, None, &Settings::default(), &mut |_| {}).unwrap();
        let (a, b, c) = (fit(&with), fit(&without), fit(&tripled));
        prop_assert_eq!(&a.weights, &b.weights);
        prop_assert_eq!(a.report.objective, b.report.objective);
        prop_assert_eq!(&a.weights, &c.weights, "weights count relative to their mean");
    }
}

#[test]
fn weights_have_mean_one_and_balanced_classes_weigh_the_same() {
    let data = task(3).data;
    let task = Task::builder(data).class_weight(ClassWeight::Balanced).build().unwrap();
    let weights = task.weights.as_ref().unwrap();
    let sum_of = |sign: f64| -> f64 {
        weights.iter().zip(task.numbers()).filter(|(_, y)| **y == sign).map(|(w, _)| w).sum()
    };
    assert!((sum_of(1.0) - sum_of(-1.0)).abs() < 1e-9);
    assert!((sum_of(1.0) + sum_of(-1.0) - 300.0).abs() < 1e-9);
}

#[test]
fn the_same_run_gives_the_same_bits_and_another_seed_another_order() {
    let task = task(5);
    let fit =
        |seed| train(&task, None, &Settings { seed, ..Settings::default() }, &mut |_| {}).unwrap().weights;
    assert_eq!(fit(1), fit(1));
    assert_ne!(fit(1), fit(2));
}

#[test]
fn early_stopping_counts_only_gains_that_are_large_enough() {
    let (task, held_out) = (task(7), task(8));
    let run = |least_gain| {
        let (early_stop, eta0) = (Some(1), Some(1e-3)); // slow, so that every epoch is a small gain
        let settings = Settings { epochs: 12, early_stop, least_gain, eta0, ..Settings::default() };
        train(&task, Some(&held_out), &settings, &mut |_| {}).unwrap().report
    };
    let (any, large) = (run(0.0), run(0.5));
    assert!(any.epochs > 3, "small gains are gains: {}", any.epochs);
    assert_eq!(large.epochs, 2, "the second epoch does not halve the loss");
    assert_eq!(large.validation.unwrap().best_epoch, 2, "the best epoch is kept, however small its gain");
}

#[test]
fn early_stopping_returns_the_best_epoch() {
    let (task, held_out) = (task(7), task(8));
    let settings = Settings { epochs: 60, early_stop: Some(2), eta0: Some(1.0), ..Settings::default() };
    let stopped = train(&task, Some(&held_out), &settings, &mut |_| {}).unwrap();
    let losses: Vec<f64> =
        stopped.report.history.iter().map(|epoch| epoch.validation_loss.unwrap()).collect();
    let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let validation = stopped.report.validation.unwrap();
    assert!(stopped.report.epochs < 60, "it stopped");
    assert_eq!(validation.loss, best);
    assert_eq!(losses[validation.best_epoch as usize - 1], best);
    assert_eq!(stopped.report.epochs, validation.best_epoch + 2);
    let again =
        lazyglm::objective::mean_loss(held_out.examples(), &*task.loss, &stopped.weights, stopped.bias);
    assert_eq!(again, best, "the weights are those of the best epoch");
}

#[test]
fn weights_may_be_as_large_as_numbers_go() {
    let data = task(3).data;
    let fit = |weights: Vec<f64>, class_weight| {
        let task =
            Task::builder(data.clone()).sample_weights(weights).class_weight(class_weight).build().unwrap();
        train(&task, None, &Settings::default(), &mut |_| {}).unwrap().report.objective
    };
    let ones = fit(vec![1.0; 300], None);
    assert_eq!(fit(vec![1e308; 300], None), ones);
    let huge = ClassWeight::Given(vec![("1".into(), 1e308), ("-1".into(), 1e308)]);
    assert_eq!(fit(vec![1e308; 300], Some(huge)), ones);
}
