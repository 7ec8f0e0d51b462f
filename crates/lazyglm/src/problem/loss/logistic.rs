//! logistic: ℓ(s, y) = log(1 + e^(−ys)), y = ±1.
//!
//! slope −y/(1 + e^(ys)) · curvature ≤ ¼ · inverse link 1/(1 + e^(−s)), the probability of the positive class
//! gradient flow for time h: z = ys increases by d, where d + e^z(e^d − 1) = h (Karampatziakis & Langford 2011)
//! conjugate at u = −ya: a·ln a + (1−a)·ln(1−a) for a in [0, 1]

use super::{Admits, Derivatives, Loss, Make};
use crate::simd::{self, Work, exp_of_nonpositive, ln, ln_1p_of_unit};
use crate::util::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Make> =
    Entry { name: "logistic", formula: "log(1 + e^(-ys))", keys: &[], make: |_| Arc::new(Logistic) };

#[derive(Debug)]
struct Logistic;

/// The derivatives of many rows.
struct Rows<'a> {
    scores: &'a [f64],
    targets: &'a [f64],
    out: Derivatives<'a>,
}

impl Work for Rows<'_> {
    type Answer = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let Derivatives { values, slopes, second_derivatives } = self.out;
        let n = self.scores.len();
        let (scores, targets) = (&self.scores[..n], &self.targets[..n]);
        let (values, slopes, second_derivatives) =
            (&mut values[..n], &mut slopes[..n], &mut second_derivatives[..n]);
        for i in 0..n {
            let z = targets[i] * scores[i];
            let e = exp_of_nonpositive(-z.abs());
            let of_larger = 1.0 / (1.0 + e); // the probability of the likelier class
            let of_smaller = e * of_larger;
            values[i] = if z < 0.0 { -z } else { 0.0 } + ln_1p_of_unit(e);
            slopes[i] = -targets[i] * if z < 0.0 { of_larger } else { of_smaller };
            second_derivatives[i] = of_smaller * of_larger;
        }
    }
}

/// The conjugates of many rows.
struct Conjugates<'a> {
    slopes: &'a [f64],
    targets: &'a [f64],
    conjugates: &'a mut [f64],
}

impl Work for Conjugates<'_> {
    type Answer = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let n = self.slopes.len();
        let (slopes, targets, conjugates) =
            (&self.slopes[..n], &self.targets[..n], &mut self.conjugates[..n]);
        for i in 0..n {
            let a = -targets[i] * slopes[i];
            let entropy = a * ln(a) + (1.0 - a) * ln(1.0 - a); // 0·ln 0 is 0 here
            conjugates[i] = if (0.0..=1.0).contains(&a) { entropy } else { f64::INFINITY };
        }
    }
}

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

    fn taylor_of_rows(&self, scores: &[f64], targets: &[f64], out: Derivatives) {
        simd::fastest(Rows { scores, targets, out });
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

    fn conjugate_of_rows(&self, slopes: &[f64], targets: &[f64], conjugates: &mut [f64]) {
        simd::fastest(Conjugates { slopes, targets, conjugates });
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
