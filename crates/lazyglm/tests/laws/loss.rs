//! Laws of the losses, for every entry of the table.

use crate::common::log_uniform;
use lazyglm::loss::{self, Admits, Loss};
use lazyglm::util::random::Random;
use proptest::prelude::*;
use std::sync::Arc;

/// Every loss, with its defaults and with other keys.
fn losses() -> Vec<Arc<dyn Loss>> {
    let plain = loss::TABLE.iter().map(|entry| entry.name.to_string());
    let keyed = [
        "huber:delta=0.3",
        "epsilon-insensitive:epsilon=0",
        "squared-epsilon-insensitive:epsilon=1",
        "quantile:tau=0.9",
        "tweedie:p=1.1",
        "tweedie:p=1.9",
    ];
    plain.chain(keyed.map(String::from)).map(|text| loss::parse(&text).unwrap()).collect()
}

#[test]
fn absolute_is_the_distance_of_score_and_target() {
    let loss = loss::parse("absolute").unwrap();
    assert_eq!([loss.value(3.0, 1.0), loss.value(-1.0, 1.5), loss.value(2.0, 2.0)], [2.0, 2.5, 0.0]);
    let same = loss::parse("epsilon-insensitive:epsilon=0").unwrap();
    assert_eq!([loss.spec(), same.spec()], ["absolute", "absolute"]);
    for name in ["mae", "l1", "absolute_error"] {
        let error = loss::parse(name).unwrap_err().to_string();
        assert!(error.contains("did you mean 'absolute'?"), "{error}");
    }
}

fn target(loss: &dyn Loss, random: &mut Random) -> f64 {
    match loss.admits() {
        Admits::Classes => crate::common::sign(random),
        Admits::Reals => crate::common::sign(random) * log_uniform(random, 1e-3, 20.0),
        Admits::NonNegative => random.below(20) as f64,
        Admits::Positive => log_uniform(random, 1e-3, 20.0),
    }
}

fn score(random: &mut Random) -> f64 {
    crate::common::sign(random) * log_uniform(random, 1e-3, 20.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn slope_is_the_derivative_of_value(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for loss in losses() {
            let (s, y) = (score(&mut random), target(&*loss, &mut random));
            if loss.kinks(y).iter().any(|kink| (kink - s).abs() < 1e-3) {
                continue;
            }
            let h = 1e-6 * s.abs().max(1e-2);
            let numeric = (loss.value(s + h, y) - loss.value(s - h, y)) / (2.0 * h);
            let size = loss.value(s, y).abs().max(1.0);
            prop_assert!((numeric - loss.slope(s, y)).abs() <= 1e-4 * size, "{}: {s} {y}: {numeric}", loss.spec());
        }
    }

    #[test]
    fn slopes_rise_no_faster_than_the_curvature_and_stay_below_the_gradient_bound(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for loss in losses() {
            let y = target(&*loss, &mut random);
            let (a, b) = (score(&mut random), score(&mut random));
            let (low, high) = (a.min(b), a.max(b));
            let rise = loss.slope(high, y) - loss.slope(low, y);
            prop_assert!(rise >= 0.0, "{} is not convex", loss.spec());
            if let Some(curvature) = loss.curvature() {
                prop_assert!(rise <= curvature * (high - low) * (1.0 + 1e-12) + 1e-12, "{}", loss.spec());
            }
            prop_assert!(loss.slope(a, y).abs() <= loss.gradient_bound(), "{}", loss.spec());
        }
    }

    #[test]
    fn the_second_derivative_is_that_of_slope_and_the_majoriser_is_above(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for loss in losses() {
            let (s, y) = (score(&mut random), target(&*loss, &mut random));
            let spec = loss.spec();
            prop_assert_eq!(loss.second_derivative(s, y).is_some(), loss.kinks(y).is_empty(), "{}", &spec);
            let Some(second_derivative) = loss.second_derivative(s, y) else { continue };
            let [value, slope, same] = loss.taylor(s, y);
            let off = (value - loss.value(s, y)).abs() + (slope - loss.slope(s, y)).abs() + (same - second_derivative).abs();
            prop_assert!(off <= 1e-14 * (1.0 + value.abs() + slope.abs() + second_derivative), "{}: {}", &spec, off);
            let h = 1e-6 * s.abs().max(1e-2);
            let near = |s: f64| loss.second_derivative(s, y).unwrap();
            if (near(s - h) - near(s + h)).abs() < 1e-3 * (1.0 + second_derivative) { // not at a corner of the slope
                let numeric = (loss.slope(s + h, y) - loss.slope(s - h, y)) / (2.0 * h);
                prop_assert!((numeric - second_derivative).abs() <= 1e-4 * (1.0 + second_derivative), "{}: {} {}: {}", &spec, s, y, numeric);
            }
            if let Some(above) = loss.majoriser(s, y) {
                let v = score(&mut random);
                let parabola = value + slope * (v - s) + 0.5 * above * (v - s) * (v - s);
                prop_assert!(parabola >= loss.value(v, y) - 1e-9 * (1.0 + parabola.abs()), "{}: {} {}", &spec, s, v);
            }
        }
    }

    #[test]
    fn value_and_conjugate_meet_at_the_slope(seed in any::<u64>()) {
        // Fenchel and Young: ℓ(s) + ℓ*(u) ≥ su, with equality where u is the slope at s.
        let mut random = Random::new(seed);
        for loss in losses() {
            let (s, y) = (score(&mut random), target(&*loss, &mut random));
            let u = loss.slope(s, y);
            let sum = loss.value(s, y) + loss.conjugate(u, y);
            let size = 1.0 + loss.value(s, y).abs() + (s * u).abs() + (y * u).abs();
            prop_assert!((sum - s * u).abs() <= 1e-9 * size, "{}: {s} {y}: {sum} for {}", loss.spec(), s * u);
            let other = loss.slope(score(&mut random), y) * random.uniform();
            let sum = loss.value(s, y) + loss.conjugate(other, y);
            prop_assert!(sum >= s * other - 1e-9 * size, "{}", loss.spec());
        }
    }

    #[test]
    fn slopes_jump_only_at_kinks(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for loss in losses() {
            let y = target(&*loss, &mut random);
            for kink in loss.kinks(y) {
                prop_assert!(loss.slope(kink + 1e-6, y) - loss.slope(kink - 1e-6, y) > 0.1, "{}", loss.spec());
            }
            let s = score(&mut random);
            if loss.kinks(y).iter().all(|kink| (kink - s).abs() > 1e-6) {
                let jump = loss.slope(s + 1e-9, y) - loss.slope(s - 1e-9, y);
                prop_assert!(jump.abs() <= 1e-7 * (1.0 + loss.slope(s, y).abs() + y.abs()) , "{}: {s} {y} {jump}", loss.spec());
            }
        }
    }
}

#[test]
fn the_values_of_the_table_in_the_documentation() {
    let value = |text: &str, s, y| loss::parse(text).unwrap().value(s, y);
    assert!((value("logistic", 2.0, -1.0) - (1.0 + 2f64.exp()).ln()).abs() < 1e-15);
    assert_eq!(value("hinge", 0.25, 1.0), 0.75);
    assert_eq!(value("squared-hinge", 0.5, -1.0), 2.25);
    assert_eq!(value("modified-huber", -3.0, 1.0), 12.0);
    assert_eq!(value("modified-huber", 0.0, 1.0), 1.0);
    assert_eq!(value("perceptron", -2.0, 1.0), 2.0);
    assert_eq!(value("squared", 3.0, 1.0), 2.0);
    assert_eq!(value("huber", 1.0, 0.0), 0.5);
    assert_eq!(value("huber:delta=1", 3.0, 0.0), 2.5);
    assert_eq!(value("epsilon-insensitive", 1.0, 0.0), 0.9);
    assert!((value("squared-epsilon-insensitive", 1.0, 0.0) - 0.81).abs() < 1e-15);
    assert_eq!(value("quantile:tau=0.9", 0.0, 2.0), 1.8);
    assert!((value("quantile:tau=0.9", 2.0, 0.0) - 0.2).abs() < 1e-15);
    assert_eq!(value("poisson", 0.0, 3.0), 1.0);
    assert_eq!(value("gamma", 0.0, 3.0), 3.0);
    assert_eq!(value("tweedie:p=1.75", 0.0, 3.0), 8.0);
}

#[test]
fn a_loss_reads_back_as_it_is_written() {
    for loss in losses() {
        assert_eq!(loss::parse(&loss.spec()).unwrap().spec(), loss.spec());
    }
}

#[test]
fn links_give_probabilities_or_predictions() {
    for loss in losses().iter().filter(|loss| loss.gives_probability()) {
        assert_eq!(loss.inverse_link(0.0), 0.5, "{}", loss.spec());
        assert!([-50.0, -1.0, 1.0, 50.0].iter().all(|&s| (0.0..=1.0).contains(&loss.inverse_link(s))));
        assert!(loss.inverse_link(1.0) > loss.inverse_link(-1.0));
    }
    for loss in losses().iter().filter(|loss| loss.variance_power().is_some()) {
        assert_eq!(loss.inverse_link(1.0), 1f64.exp(), "{}", loss.spec());
        let (p, mean, y) = (loss.variance_power().unwrap(), 2f64, 3.0);
        let slope = (mean - y) * mean.powf(1.0 - p);
        assert!((loss.slope(mean.ln(), y) - slope).abs() < 1e-14, "{}", loss.spec());
    }
    assert_eq!(loss::parse("squared").unwrap().inverse_link(1.25), 1.25);
}

#[test]
fn wrong_names_keys_and_numbers_are_wrong_calls_with_a_suggestion() {
    for (text, word) in [
        ("logstic", "did you mean 'logistic'?"),
        ("huber:dleta=1", "did you mean 'delta'?"),
        ("huber:delta", "key=value"),
        ("tweedie:2", "below 2"),
        ("tweedie:1.5,1.6", "twice"),
        ("huber:delta=-1", "above 0"),
        ("huber:delta=nan", "above 0"),
        ("quantile:tau=1", "below 1"),
        ("huber:delta=1,delta=2", "twice"),
        ("hinge:x=1", "takes none"),
        ("", "there are"),
    ] {
        let error = loss::parse(text).unwrap_err();
        assert!(error.is_wrong_call() && error.to_string().contains(word), "'{text}': {error}");
    }
}

#[test]
fn the_loss_of_a_score_that_is_no_number_is_no_number() {
    for loss in losses() {
        assert!(loss.value(f64::NAN, 1.0).is_nan(), "{}: {}", loss.spec(), loss.value(f64::NAN, 1.0));
    }
}
