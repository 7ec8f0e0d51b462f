//! The paper's theorems, as printed and as corrected (docs/maths/erratum.md).
//!
//! Lipton & Elkan (2015), Theorem 1, SGD with elastic net. With P(t) = Π(1 − ηλ₂) over steps 0..=t and P(−1) = 1, it says
//! |w| after steps ψ..k−1 is |w|·P(k−1)/P(ψ−1) − P(k−1)·(B(k−1) − B(ψ−1)), B(t) = Σ η_τ/P(τ−1). Two things are wrong:
//! λ₁ is missing, and the sum must divide by P(τ), for the penalty of step τ is shrunk by the later steps alone.

use lazyglm::{ElasticNet, Method};

const NET: ElasticNet = ElasticNet { l1: 0.01, l2: 0.1 };

/// Rates of the first steps: constant, and falling like 1/√t.
fn rates(constant: bool) -> Vec<f64> {
    (0..40).map(|t| if constant { 0.5 } else { 0.5 / f64::sqrt(t as f64 + 1.0) }).collect()
}

fn step_by_step(method: Method, etas: &[f64], weight: f64) -> f64 {
    etas.iter().fold(weight, |w, &eta| method.step(NET, eta, w))
}

/// Theorem 1, with the prefactor of the penalty and the divisor of the sum left open.
/// `products[t]` is P after t steps; the paper's P(t−1).
fn theorem_1(etas: &[f64], weight: f64, factor: f64, divide_by_later: bool) -> f64 {
    let mut products = vec![1.0];
    let mut sum = 0.0;
    for (t, eta) in etas.iter().enumerate() {
        products.push(products[t] * (1.0 - eta * NET.l2));
        sum += eta / products[if divide_by_later { t + 1 } else { t }];
    }
    let all = products[etas.len()];
    (weight * all - factor * all * sum).max(0.0)
}

#[test]
fn theorem_1_as_printed_is_wrong_by_a_hundred_per_cent() {
    for constant in [true, false] {
        let truth = step_by_step(Method::Sgd, &rates(constant), 1.0);
        let printed = theorem_1(&rates(constant), 1.0, 1.0, false); // no λ₁
        assert!(truth > 0.04, "{truth}");
        assert_eq!(printed, 0.0, "a penalty a hundred times too large kills the weight");
    }
}

#[test]
fn with_l1_restored_the_last_line_of_its_proof_is_still_wrong() {
    // Constant rate: the penalty comes out too small by exactly the factor 1 − ηλ₂ = 0.95.
    let etas = rates(true);
    let truth = step_by_step(Method::Sgd, &etas, 1.0);
    let proof = theorem_1(&etas, 1.0, NET.l1, false);
    let paid = |w: f64| (1.0 - 0.5 * NET.l2).powi(40) - w;
    assert!((paid(proof) / paid(truth) - 0.95).abs() < 1e-12);
    assert!((proof - truth) / truth > 0.04, "4 % off: {proof} for {truth}");
    // Falling rate: off as well, by no simple factor.
    let etas = rates(false);
    let (truth, proof) = (step_by_step(Method::Sgd, &etas, 1.0), theorem_1(&etas, 1.0, NET.l1, false));
    assert!((proof - truth) / truth > 1e-3, "{proof} for {truth}");
}

#[test]
fn theorem_1_corrected_is_exact() {
    for constant in [true, false] {
        for steps in 0..=40 {
            let etas = &rates(constant)[..steps];
            let truth = step_by_step(Method::Sgd, etas, 1.0);
            let corrected = theorem_1(etas, 1.0, NET.l1, true);
            assert!((corrected - truth).abs() < 1e-15 * 40.0, "{corrected} for {truth}");
        }
    }
}

#[test]
fn theorem_2_is_right_as_printed() {
    for constant in [true, false] {
        let etas = rates(constant);
        let (mut product, mut sum) = (1.0, 0.0);
        for eta in &etas {
            sum += eta / product; // β divides by Φ before the step
            product /= 1.0 + eta * NET.l2;
        }
        let theorem = product - NET.l1 * product * sum;
        assert!((theorem - step_by_step(Method::Fobos, &etas, 1.0)).abs() < 1e-15 * 40.0);
    }
}

#[test]
fn with_eta_l2_of_one_or_more_no_product_can_be_right() {
    // Two steps with 1 − ηλ₂ = −1.4 kill the weight; the product of the two is +1.96.
    let penalty = ElasticNet::new(0.0, 2.0).unwrap();
    let truth = [1.2, 1.2].iter().fold(1.0, |w, &eta| Method::Sgd.step(penalty, eta, w));
    assert_eq!(truth, 0.0);
    assert!((1.0 - 1.2 * penalty.l2) * (1.0 - 1.2 * penalty.l2) > 1.9);
    assert!(Method::Sgd.check(penalty, 1.2).unwrap_err().is_wrong_call(), "so such a rate is refused");
    assert!(Method::Fobos.check(penalty, 1.2).is_ok());
}
