//! logistic: ℓ(s, y) = log(1 + e^(−ys)), y = ±1.
//!
//! slope −y/(1 + e^(ys)) · curvature ≤ ¼ · inverse link 1/(1 + e^(−s)), the probability of the positive class
//! gradient flow for time h: z = ys increases by d, where d + e^z(e^d − 1) = h (Karampatziakis & Langford 2011)
//! conjugate at u = −ya: a·ln a + (1−a)·ln(1−a) for a in [0, 1]

use super::{Admits, Loss, Make};
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> =
    Entry { name: "logistic", formula: "log(1 + e^(-ys))", keys: &[], make: |_| Arc::new(Logistic) };

#[derive(Debug)]
struct Logistic;

impl Loss for Logistic {
    fn spec(&self) -> String {
        "logistic".into()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        let z = target * score;
        (-z).max(0.0) + (-z.abs()).exp().ln_1p() // avoids overflow of e^(+large)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        -target / (1.0 + (target * score).exp()) // e^(+large) = ∞ gives the right limit, 0
    }

    fn curvature(&self) -> Option<f64> {
        Some(0.25)
    }

    fn gradient_bound(&self) -> f64 {
        1.0
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        let e = (-(target * score).abs()).exp();
        Some(e / ((1.0 + e) * (1.0 + e)))
    }

    fn majoriser(&self, score: f64, _target: f64) -> Option<f64> {
        let half = 0.5 * score.abs(); // Jaakkola & Jordan 2000
        Some(if half < 1e-4 { 0.25 } else { half.tanh() / (4.0 * half) })
    }

    fn taylor(&self, score: f64, target: f64) -> [f64; 3] {
        let z = target * score;
        let e = (-z.abs()).exp(); // one exponential for all three
        let a = if z >= 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
        [(-z).max(0.0) + e.ln_1p(), -target * a, e / ((1.0 + e) * (1.0 + e))]
    }

    fn slide(&self, score: f64, target: f64, time: f64) -> Option<f64> {
        let e = (target * score).exp();
        // The equation is convex and increasing in d. Newton's method descends to the root from either of
        // these upper bounds.
        let mut d = (time / (1.0 + e)).min((time / e).ln_1p());
        for _ in 0..30 {
            let step = (d + e * d.exp_m1() - time) / (1.0 + e * d.exp());
            if step.is_nan() || step <= 1e-15 * d {
                break;
            }
            d -= step;
        }
        Some(-target * d)
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        let a = -target * slope;
        let x_ln_x = |x: f64| if x > 0.0 { x * x.ln() } else { 0.0 };
        super::inside((0.0..=1.0).contains(&a)) + x_ln_x(a) + x_ln_x(1.0 - a)
    }

    fn inverse_link(&self, score: f64) -> f64 {
        1.0 / (1.0 + (-score).exp())
    }

    fn gives_probability(&self) -> bool {
        true
    }

    fn admits(&self) -> Admits {
        Admits::Classes
    }
}
