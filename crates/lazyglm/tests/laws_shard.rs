//! Laws of the verbs that are asked of one shard of the rows.

mod common;

use common::{log_uniform, net, sign};
use lazyglm::random::Random;
use lazyglm::{Prices, shard};

/// g(u − w) + ½h(u − w)² + λ₁|u| + ½λ₂u²: what the zero test says is least at zero.
fn model(u: f64, w: f64, g: f64, h: f64, prices: &Prices) -> f64 {
    g * (u - w) + 0.5 * h * (u - w) * (u - w) + prices.value(&[u])
}

#[test]
fn the_zero_test_is_the_minimum_of_the_model() {
    let random = &mut Random::new(1);
    let mut outcomes = [0; 2];
    for draw in 0..4000 {
        let net = net(random, 1.0, 1.0);
        let prices = Prices { nonnegative: draw % 3 == 0, ..Prices::of(net) };
        let h = log_uniform(random, 1e-3, 1e3);
        let w = log_uniform(random, 1e-4, 1e2) * if prices.nonnegative { 1.0 } else { sign(random) };
        let g = h * w + sign(random) * net.l1 * log_uniform(random, 0.1, 10.0) * f64::from(draw % 5 != 0);
        let mut weights = [w];
        let zeroed = shard::zero_test(&mut weights, &[g], &[h], &prices);
        outcomes[zeroed] += 1;
        // Convex, so zero is the minimum if no step from it, however small, goes down.
        let slope = g - h * w;
        let step = 1e-3 * (slope.abs() - net.l1).abs() / (h + net.l2);
        let down = |u: f64| model(u, 0.0, slope, h, &prices) < 0.0;
        let least = !down(step) && (prices.nonnegative || !down(-step));
        assert_eq!(zeroed == 1, least, "w = {w}, g = {g}, h = {h}, {prices:?}");
    }
    assert!(outcomes.iter().all(|&times| times > 500), "both ways are drawn: {outcomes:?}");
}

#[test]
fn the_zero_test_knows_the_price_of_each_weight_and_leaves_what_is_not_a_number() {
    let prices =
        Prices { factors: Some(&[1.0, 0.0, 1.0]), ..Prices::of(lazyglm::ElasticNet { l1: 1.0, l2: 0.0 }) };
    let mut weights = [0.5, 0.5, f64::NAN];
    assert_eq!(shard::zero_test(&mut weights, &[0.0; 3], &[1.0; 3], &prices), 1);
    assert_eq!(weights[..2], [0.0, 0.5], "the second weight is free");
    assert!(weights[2].is_nan(), "a diverged run shows");
}
