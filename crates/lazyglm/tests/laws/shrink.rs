//! Laws of the shrink: what the ledger does at once is what the definition does step by step.

use crate::common::{METHODS, log_uniform, penalty, sign};
use lazyglm::optim::ledger::Ledger;
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Method};
use proptest::prelude::*;

/// A penalty, a method, and rates it admits.
fn draw(random: &mut Random, steps: usize) -> (ElasticNet, Method, Vec<f64>) {
    let method = METHODS[random.below(2) as usize];
    let penalty = penalty(random, 1.0, 10.0);
    let most = if method == Method::Sgd { 0.95 / penalty.l2.max(0.1) } else { 10.0 };
    let etas = (0..steps).map(|_| log_uniform(random, most * 1e-7, most)).collect();
    (penalty, method, etas)
}

fn charged(penalty: ElasticNet, method: Method, etas: &[f64]) -> Ledger {
    let mut ledger = Ledger::new(penalty, method);
    etas.iter().for_each(|&eta| ledger.charge(eta));
    ledger
}

/// The weight after all these steps, at once.
fn at_once(penalty: ElasticNet, method: Method, etas: &[f64], weight: f64) -> f64 {
    charged(penalty, method, etas).settle(Ledger::new(penalty, method).store(weight))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_closed_form_equals_step_by_step_updates(seed in any::<u64>(), steps in 0usize..300) {
        let mut random = Random::new(seed);
        let (penalty, method, etas) = draw(&mut random, steps);
        let weight = sign(&mut random) * log_uniform(&mut random, 1e-6, 1e6);
        let dense = etas.iter().fold(weight, |w, &eta| method.step(penalty, eta, w));
        let lazy = at_once(penalty, method, &etas, weight);
        let tolerance = 1e-13 * weight.abs();
        prop_assert!((lazy - dense).abs() <= tolerance, "{lazy} for {dense}, from {weight}");
        prop_assert!((lazy == 0.0) == (dense == 0.0) || lazy.abs().max(dense.abs()) < tolerance);
    }

    #[test]
    fn paying_in_two_parts_is_paying_at_once(seed in any::<u64>(), first in 0usize..60, second in 0usize..60) {
        let mut random = Random::new(seed);
        let (penalty, method, etas) = draw(&mut random, first + second);
        let weight = sign(&mut random) * log_uniform(&mut random, 1e-6, 1e6);
        let half = at_once(penalty, method, &etas[..first], weight);
        let parts = at_once(penalty, method, &etas[first..], half);
        let whole = at_once(penalty, method, &etas, weight);
        prop_assert!((parts - whole).abs() <= 1e-14 * weight.abs(), "{parts} for {whole}");
    }

    #[test]
    fn the_shrink_is_odd_monotone_and_never_expands(seed in any::<u64>(), steps in 1usize..60) {
        let mut random = Random::new(seed);
        let (penalty, method, etas) = draw(&mut random, steps);
        let shrink = |w: f64| at_once(penalty, method, &etas, w);
        let a = sign(&mut random) * log_uniform(&mut random, 1e-6, 1e3);
        let b = sign(&mut random) * log_uniform(&mut random, 1e-6, 1e3);
        let (low, high) = (a.min(b), a.max(b));
        prop_assert_eq!(shrink(-a), -shrink(a));
        prop_assert!(shrink(low) <= shrink(high));
        let rounding = 1e-15 * a.abs().max(b.abs());
        prop_assert!(shrink(high) - shrink(low) <= high - low + rounding);
        prop_assert!(shrink(a).abs() <= a.abs());
        prop_assert_eq!(shrink(0.0), 0.0);
    }

    #[test]
    fn a_vanishing_l2_is_no_l2(seed in any::<u64>(), exponent in 8i32..20) {
        let mut random = Random::new(seed);
        let etas: Vec<f64> = (0..50).map(|_| log_uniform(&mut random, 1e-3, 1.0)).collect();
        let l1 = log_uniform(&mut random, 1e-4, 1e-1);
        let weight = log_uniform(&mut random, 1e-2, 1e2);
        for method in METHODS {
            let with = at_once(ElasticNet::new(l1, 10f64.powi(-exponent)).unwrap(), method, &etas, weight);
            let without = at_once(ElasticNet::new(l1, 0.0).unwrap(), method, &etas, weight);
            prop_assert!((with - without).abs() <= 100.0 * 10f64.powi(-exponent) * weight.max(1.0) + 1e-14 * weight);
        }
    }

    #[test]
    fn stored_and_settled_at_any_time_is_the_weight_itself(seed in any::<u64>(), steps in 0usize..100) {
        let mut random = Random::new(seed);
        let (penalty, method, etas) = draw(&mut random, steps);
        let ledger = charged(penalty, method, &etas);
        let weight = sign(&mut random) * log_uniform(&mut random, 1e-3, 1e3);
        let owed = ledger.debt() / ledger.stretch();
        prop_assert!((ledger.settle(ledger.store(weight)) - weight).abs() <= 4e-16 * (weight.abs() + owed));
    }
}

#[test]
fn a_million_steps_cost_the_ledger_no_digits() {
    // Exactly: n·log1p(ηλ₂) and its exponential, the fixed-rate closed form.
    let (eta, steps) = (0.1, 1_000_000);
    let penalty = ElasticNet::new(1e-6, 1e-5).unwrap();
    for method in METHODS {
        let log =
            if method == Method::Sgd { -(-eta * penalty.l2).ln_1p() } else { (eta * penalty.l2).ln_1p() };
        let shrunk = (-log * f64::from(steps)).exp_m1();
        let exact = 3.0 + 3.0 * shrunk + penalty.l1 / penalty.l2 * shrunk;
        let mut ledger = Ledger::new(penalty, method);
        let stored = ledger.store(3.0);
        (0..steps).for_each(|_| ledger.charge(eta));
        let error = (ledger.settle(stored) - exact).abs() / exact;
        assert!(error < 5e-15, "{method:?}: {error:e}");
    }
}
